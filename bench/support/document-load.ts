/**
 * Measures how documents slow down send calls: a steady stream of plain mails to a service of its own, alone and while
 * documents are made beside it.
 */
import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { CreatedApiKey } from '../../src/api/keys.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { readSampleCall } from '../../src/service/samples.js';
import { invoiceTemplate, type Invoice } from './documents.js';
import { percentile } from './load.js';
import { pinToLoad } from './programs.js';
import { startService } from './service.js';

export type Latencies = Readonly<{ p50Ms: number; p95Ms: number; p99Ms: number; mostMs: number; calls: number }>;

const { templateId, variables } = readSampleCall('emails/sign-in-code');
const CALLS = 2_000;
const WARM_UP = 400;
/** So that calls do not wait for each other: far below what the service can take. */
const EVERY_MS = 5;

/**
 * In: an invoice of many pages. Out: the latencies of send calls, and how many documents were made beside the second
 * series.
 */
export const sendLatencies = async (
  directory: string,
  example: Invoice,
): Promise<Readonly<{ alone: Latencies; beside: Latencies; documents: number }>> => {
  pinToLoad();
  const service = await startService({ directory, env: { SEALPOST_LOG_LEVEL: 'error' } });
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  try {
    const headers = {
      authorization: `Bearer ${await keyOf(service.port, service.firstKey)}`,
      'content-type': 'application/json',
    };
    const call = caller({ port: service.port, agent, headers });
    const created = await call('POST', '/api/templates/attachment', {
      slug: 'bench-invoice',
      name: 'Invoice',
      ...invoiceTemplate(example),
      publish: true,
    });
    if (created.status !== 201)
      throw new Error(`the template was answered ${created.status}: ${created.body.toString()}`);
    const document = async (): Promise<void> => {
      const made = await call('GET', '/api/templates/attachment/bench-invoice/preview?format=pdf');
      if (made.status !== 200 || made.body.toString('latin1', 0, 5) !== '%PDF-')
        throw new Error(`the document was answered ${made.status}: ${made.body.toString('utf8', 0, 500)}`);
    };
    await series(call, WARM_UP);
    await document();
    await wait(1_000);
    const alone = await series(call, CALLS);
    let documents = 0;
    let isOver = false;
    const making = (async () => {
      for (; !isOver; documents += 1) await document();
    })();
    const beside = await series(call, CALLS);
    isOver = true;
    await making;
    await service.stop();
    return { alone, beside, documents };
  } finally {
    agent.destroy();
    service.kill();
  }
};

type Answer = Readonly<{ status: number; body: Buffer }>;
type Call = (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<Answer>;

const caller =
  ({
    port,
    agent,
    headers,
  }: Readonly<{ port: number; agent: Agent; headers: Readonly<Record<string, string>> }>): Call =>
  (method, path, body) =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, agent, headers, method, path }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => void chunks.push(chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });

/** One call every few milliseconds, whether the ones before are answered or not. */
const series = async (call: Call, calls: number): Promise<Latencies> => {
  const times = new Float64Array(calls);
  const one = async (n: number): Promise<void> => {
    const start = performance.now();
    const { status, body } = await call('POST', '/api/emails/send', {
      templateId,
      to: [{ email: `to${n}@example.com` }],
      variables,
    });
    times[n] = performance.now() - start;
    if (status !== 201) throw new Error(`a send call was answered ${status}: ${body.toString()}`);
  };
  const start = performance.now();
  const open: Promise<void>[] = [];
  for (let n = 0; n < calls; n += 1) {
    await wait(Math.max(0, start + n * EVERY_MS - performance.now()));
    open.push(one(n));
  }
  await Promise.all(open);
  times.sort();
  return {
    p50Ms: percentile(times, 0.5),
    p95Ms: percentile(times, 0.95),
    p99Ms: percentile(times, 0.99),
    mostMs: times[calls - 1]!,
    calls,
  };
};

const keyOf = async (port: number, firstKey: string): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}/api/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${firstKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'bench documents',
      permissions: ['emails:send', 'templates:read', 'templates:write'],
      rateLimit: defaultLimits.apiKeyRateLimitMax,
    }),
  });
  if (answer.status !== 201) throw new Error(`no key was made: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as CreatedApiKey).key;
};
