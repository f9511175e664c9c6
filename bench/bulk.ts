/**
 * Bulk sends of 1,000: how long the call takes, how long until the last mail is in the sink, what an email costs when
 * many batches wait, against single sends of the same mail; and with a document for each recipient, against the
 * documents alone by pdfmake.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { defaultLimits } from '../src/domain/core/limits.js';
import { readSampleCall } from '../src/service/samples.js';
import { pdfByHand } from './limits/documents.js';
import { invoiceOf, invoiceTemplate } from './support/documents.js';
import { percentile } from './support/load.js';
import { machineWithDisk } from './support/machine.js';
import { median } from './support/pairs.js';
import { pinToLoad, type Side } from './support/programs.js';
import { report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { startService, type Service } from './support/service.js';
import { startSink, type Sink } from './support/sink.js';

const RECIPIENTS = 1_000;
const POST_P95_MS = 60;
const LAST_MAIL_MS = 1_500;
const CPU_RATIO = 0.7;
const DOCUMENTS_RATIO = 0.8;
const ALONE = 12;
const QUEUED_BATCHES = 100;
const WARM_UP = 8_000;
const SINGLES = 10_000;
const DOCUMENT_RECIPIENTS = 300;
const SMTP_CONNECTIONS = 10;
const SINGLES_ALONE = 100;
const SINGLE_EVERY_MS = 50;
/** The longest P95 of a single call beside documents, as a multiple of its P95 alone. */
const BESIDE_RATIO = 1.5;
const DEADLINE_MS = 300_000;

const { templateId, variables } = readSampleCall('emails/sign-in-code');
const plain = (batch: number, count = RECIPIENTS) => ({
  templateId,
  baseVariables: variables,
  recipients: Array.from({ length: count }, (_, index) => ({
    email: `r${index}.${batch}@example.com`,
    name: `Recipient ${index}`,
  })),
});
const single = (n: number) => ({ templateId, to: [{ email: `r${n}@example.com`, name: `Recipient ${n}` }], variables });

/** `side`: with a core of its own where its CPU time is measured, anywhere where time that passes is. */
const withService = <T>(side: Side, work: (service: Service, sink: Sink, call: Call) => Promise<T>): Promise<T> =>
  withDirectory(async (directory) => {
    const sink = await startSink();
    const env = {
      SEALPOST_SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      SEALPOST_SMTP_CONNECTIONS: String(SMTP_CONNECTIONS),
    };
    const service = await startService({ directory, env, side });
    try {
      return await work(service, sink, await callerOf(service));
    } finally {
      service.kill();
      sink.kill();
    }
  });

/** Out: the body of the answer. */
type Call = (path: string, body?: unknown) => Promise<unknown>;

/**
 * With a key that no rate limit holds up; a call without a body is a GET. Rejects where a call is not answered 200 or
 * 201.
 */
const callerOf = async ({ port, firstKey }: Service): Promise<Call> => {
  const ask = (key: string, path: string, body: unknown): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
  const made = await ask(firstKey, '/api/api-keys', {
    name: 'bench',
    permissions: ['emails:send', 'emails:read', 'templates:write', 'templates:read'],
    rateLimit: defaultLimits.apiKeyRateLimitMax,
  });
  const { key } = (await made.json()) as { key: string };
  return async (path, body) => {
    const answer = await ask(key, path, body);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${text}`);
    return JSON.parse(text);
  };
};

const BULK = '/api/emails/send/bulk';

/** One batch after the other, each when the one before has left. */
const oneByOne = () =>
  withService('any', async (_, sink, call) => {
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
  withService('system', async (service, sink, call) => {
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

const untilCompleted = async (call: Call, batchId: string): Promise<void> => {
  for (let waitedMs = 0; ; waitedMs += 50) {
    const { status } = (await call(`/api/emails/batch/${batchId}/status`)) as { status: string };
    if (status === 'completed') return;
    if (waitedMs > DEADLINE_MS) throw new Error(`batch ${batchId} is ${status} after ${waitedMs} ms`);
    await wait(50);
  }
};

/** Single sends at a steady rate, until told otherwise: how long each call took, in ms. */
const singlesUntil = async (call: Call, isOver: (sent: number) => boolean): Promise<readonly number[]> => {
  const tookMs: number[] = [];
  while (!isOver(tookMs.length)) {
    const fromMs = performance.now();
    await call('/api/emails/send', single(tookMs.length));
    tookMs.push(performance.now() - fromMs);
    await wait(SINGLE_EVERY_MS);
  }
  return tookMs;
};

/** Documents a second, through batches and by pdfmake alone; and what a single send takes alone and beside them. */
const documents = () =>
  withService('any', async (_, sink, call) => {
    const example = invoiceOf(10);
    await call('/api/templates/attachment', {
      slug: 'bench-invoice',
      name: 'Invoice',
      ...invoiceTemplate(example),
      publish: true,
    });
    const attachments = [{ attachmentTemplateId: 'bench-invoice', baseVariables: example, outputFormats: ['pdf'] }];
    const batch = (number: number, count: number) => ({ ...plain(number, count), attachments });
    await call(BULK, batch(0, 50));
    await sink.took(50);
    const alone = await singlesUntil(call, (sent) => sent === SINGLES_ALONE);
    await sink.took(50 + SINGLES_ALONE);
    const fromMs = performance.now();
    const { batchId } = (await call(BULK, batch(1, DOCUMENT_RECIPIENTS))) as { batchId: string };
    let isOver = false;
    const besides = singlesUntil(call, () => isOver);
    await untilCompleted(call, batchId);
    const ours = (DOCUMENT_RECIPIENTS * 1_000) / (performance.now() - fromMs);
    isOver = true;
    const beside = await besides;
    for (let run = 0; run < 50; run += 1) await pdfByHand(example);
    const rawFromMs = performance.now();
    for (let run = 0; run < DOCUMENT_RECIPIENTS; run += 1) await pdfByHand(example);
    const raw = (DOCUMENT_RECIPIENTS * 1_000) / (performance.now() - rawFromMs);
    return { ours, raw, alone, beside };
  });

const { posts, lasts } = await oneByOne();
const made = await documents();
pinToLoad();
const cpu = await cpuOfBoth();
const p95 = (values: readonly number[]): number => percentile(Float64Array.from(values).sort(), 0.95);
report({
  name: 'bulk',
  figures: [
    { what: `POST of ${RECIPIENTS} recipients, P50`, value: median(posts), unit: 'ms' },
    { what: `POST of ${RECIPIENTS} recipients, P95`, value: p95(posts), unit: 'ms', target: { atMost: POST_P95_MS } },
    {
      what: 'from the call to the last mail, median',
      value: median(lasts),
      unit: 'ms',
      target: { atMost: LAST_MAIL_MS },
    },
    { what: 'single sends', value: cpu.singleUs, unit: 'µs/email' },
    { what: `${QUEUED_BATCHES} batches queued at once`, value: cpu.bulkUs, unit: 'µs/email' },
    { what: 'bulk / single', value: cpu.ratio, unit: '', target: { atMost: CPU_RATIO } },
    { what: 'one document for each recipient', value: made.ours, unit: 'documents/s' },
    { what: 'pdfmake alone', value: made.raw, unit: 'documents/s' },
    { what: 'a single send alone, P95', value: p95(made.alone), unit: 'ms' },
    { what: 'a single send beside them, P95', value: p95(made.beside), unit: 'ms' },
    { what: 'beside / alone', value: p95(made.beside) / p95(made.alone), unit: '', target: { atMost: BESIDE_RATIO } },
    { what: 'bulk / pdfmake', value: made.ours / made.raw, unit: '', target: { atLeast: DOCUMENTS_RATIO } },
  ],
  machine: machineWithDisk(),
});
