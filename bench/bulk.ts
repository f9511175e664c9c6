/**
 * Bulk sends of 1,000: how long the call takes, how long until the last mail is in the sink, what an email costs when many batches wait,
 * against single sends of the same mail; and with a document for each recipient, against the documents alone by pdfmake.
 */
import { defaultLimits } from '../src/domain/limits.js';
import { signInCode } from '../src/samples/sign-in-code.js';
import { pdfByHand } from './limits/documents.js';
import { invoiceOf, invoiceTemplate } from './support/documents.js';
import { percentile } from './support/load.js';
import { machineWithDisk } from './support/machine.js';
import { median } from './support/pairs.js';
import { pinToLoad } from './support/programs.js';
import { report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { startService, type Service } from './support/service.js';
import { startSink, type Sink } from './support/sink.js';

const RECIPIENTS = 1_000;
const POST_P95_MS = 60;
const LAST_MAIL_MS = 1_500;
const CPU_RATIO = 1.1;
const DOCUMENTS_RATIO = 0.8;
const ALONE = 12;
const QUEUED_BATCHES = 100;
const WARM_UP = 8_000;
const SINGLES = 10_000;
const DOCUMENT_RECIPIENTS = 300;
const SMTP_CONNECTIONS = 10;

const variables = signInCode.exampleVariables;
const plain = (batch: number, count = RECIPIENTS) => ({
  templateId: signInCode.slug,
  baseVariables: variables,
  recipients: Array.from({ length: count }, (_, index) => ({ email: `r${index}.${batch}@example.com`, name: `Recipient ${index}` })),
});
const single = (n: number) => ({ templateId: signInCode.slug, to: [{ email: `r${n}@example.com`, name: `Recipient ${n}` }], variables });

const withService = <T>(work: (service: Service, sink: Sink, call: Call) => Promise<T>): Promise<T> =>
  withDirectory(async (directory) => {
    const sink = await startSink();
    const env = { SEALPOST_SMTP_URL: `smtp://127.0.0.1:${sink.port}`, SEALPOST_SMTP_CONNECTIONS: String(SMTP_CONNECTIONS) };
    const service = await startService({ directory, env });
    try {
      return await work(service, sink, await callerOf(service));
    } finally {
      service.kill();
      sink.kill();
    }
  });

type Call = (path: string, body: unknown) => Promise<void>;

/** With a key that no rate limit holds up. Rejects where a call is not answered 201. */
const callerOf = async ({ port, firstKey }: Service): Promise<Call> => {
  const post = (key: string, path: string, body: unknown): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const made = await post(firstKey, '/api/api-keys', {
    name: 'bench',
    permissions: ['emails:send', 'emails:read', 'templates:write', 'templates:read'],
    rateLimit: defaultLimits.apiKeyRateLimitMax,
  });
  const { key } = (await made.json()) as { key: string };
  return async (path, body) => {
    const answer = await post(key, path, body);
    const text = await answer.text();
    if (answer.status !== 201) throw new Error(`${path} was answered ${answer.status}: ${text}`);
  };
};

const BULK = '/api/emails/send/bulk';

/** One batch after the other, each when the one before has left. */
const oneByOne = () =>
  withService(async (_, sink, call) => {
    const posts: number[] = [];
    const lasts: number[] = [];
    for (let batch = 0; batch < WARM_UP / RECIPIENTS + ALONE; batch += 1) {
      const startMs = performance.now();
      await call(BULK, plain(batch));
      const postMs = performance.now() - startMs;
      await sink.took((batch + 1) * RECIPIENTS);
      if (batch < WARM_UP / RECIPIENTS) continue;
      posts.push(postMs);
      lasts.push(performance.now() - startMs);
    }
    return { posts, lasts };
  });

/** µs of CPU for each email: of single sends, and of batches that all wait at once. */
const cpuOfBoth = () =>
  withService(async (service, sink, call) => {
    let mails = 0;
    const measured = async (count: number, send: () => Promise<unknown>): Promise<number> => {
      const fromUs = service.program.cpuUs();
      await send();
      mails += count;
      await sink.took(mails);
      return (service.program.cpuUs() - fromUs) / count;
    };
    const batches = (count: number) => async (): Promise<void> => {
      for (let batch = 0; batch < count; batch += 1) await call(BULK, plain(mails + batch));
    };
    await measured(WARM_UP, () => service.accept(WARM_UP, single));
    await measured(WARM_UP, batches(WARM_UP / RECIPIENTS));
    const before = await measured(SINGLES, () => service.accept(SINGLES, single));
    const bulkUs = await measured(QUEUED_BATCHES * RECIPIENTS, batches(QUEUED_BATCHES));
    const after = await measured(SINGLES, () => service.accept(SINGLES, single));
    const singleUs = (before + after) / 2;
    return { singleUs, bulkUs, ratio: bulkUs / singleUs };
  });

/** Documents a second, through batches and by pdfmake alone. */
const documents = () =>
  withService(async (_, sink, call) => {
    const example = invoiceOf(10);
    await call('/api/templates/attachment', { slug: 'bench-invoice', name: 'Invoice', ...invoiceTemplate(example), publish: true });
    const attachments = [{ attachmentTemplateId: 'bench-invoice', baseVariables: example, outputFormats: ['pdf'] }];
    const batch = (number: number, count: number) => ({ ...plain(number, count), attachments });
    await call(BULK, batch(0, 50));
    await sink.took(50);
    const fromMs = performance.now();
    await call(BULK, batch(1, DOCUMENT_RECIPIENTS));
    await sink.took(50 + DOCUMENT_RECIPIENTS);
    const ours = (DOCUMENT_RECIPIENTS * 1_000) / (performance.now() - fromMs);
    for (let run = 0; run < 50; run += 1) await pdfByHand(example);
    const rawFromMs = performance.now();
    for (let run = 0; run < DOCUMENT_RECIPIENTS; run += 1) await pdfByHand(example);
    const raw = (DOCUMENT_RECIPIENTS * 1_000) / (performance.now() - rawFromMs);
    return { ours, raw };
  });

pinToLoad();
const { posts, lasts } = await oneByOne();
const cpu = await cpuOfBoth();
const made = await documents();
const sorted = (values: readonly number[]): Float64Array => Float64Array.from(values).sort();
report({
  name: 'bulk',
  figures: [
    { what: `POST of ${RECIPIENTS} recipients, P50`, value: median(posts), unit: 'ms' },
    { what: `POST of ${RECIPIENTS} recipients, P95`, value: percentile(sorted(posts), 0.95), unit: 'ms', target: { atMost: POST_P95_MS } },
    { what: 'from the call to the last mail, median', value: median(lasts), unit: 'ms', target: { atMost: LAST_MAIL_MS } },
    { what: 'single sends', value: cpu.singleUs, unit: 'µs/email' },
    { what: `${QUEUED_BATCHES} batches queued at once`, value: cpu.bulkUs, unit: 'µs/email' },
    { what: 'bulk / single', value: cpu.ratio, unit: '', target: { atMost: CPU_RATIO } },
    { what: 'one document for each recipient', value: made.ours, unit: 'documents/s' },
    { what: 'pdfmake alone', value: made.raw, unit: 'documents/s' },
    { what: 'bulk / pdfmake', value: made.ours / made.raw, unit: '', target: { atLeast: DOCUMENTS_RATIO } },
  ],
  machine: machineWithDisk(),
});
