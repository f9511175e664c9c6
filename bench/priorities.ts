/**
 * High mails while 50,000 low ones are queued and leave: how long until each is in its SMTP dialogue, and what the low
 * ones do meanwhile.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { percentile } from './support/load.js';
import { machineWithDisk } from './support/machine.js';
import { orderRequest } from './support/orders.js';
import { report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { startService, type Service } from './support/service.js';
import { startTimedSink, type TimedSink } from './support/timed-sink.js';

const LOW = 50_000;
const HIGH = 500;
/** The low ones must not have left before the last high one comes. */
const EVERY_MS = 40;
const TARGET_MS = 100;
const DEADLINE_MS = 300_000;

const senderOf = (n: number): string => `high-${n}@example.com`;

const until = async (holds: () => boolean | Promise<boolean>, what: string): Promise<void> => {
  for (let waitedMs = 0; !(await holds()); waitedMs += 20) {
    if (waitedMs > DEADLINE_MS) throw new Error(`it never came true that ${what}`);
    await wait(20);
  }
};

/** `ahead`: dialogues that began after its answer and before its own. */
type Measured = Readonly<{ fromCallMs: number; fromAnswerMs: number; ahead: number }>;

/** Sends one, and waits until its dialogue has begun. */
const sendHigh = async (service: Service, sink: TimedSink, n: number): Promise<Measured> => {
  const sender = senderOf(n);
  const calledMs = performance.now();
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/emails/send`, {
    method: 'POST',
    headers: { authorization: service.authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ ...orderRequest(n), from: { email: sender }, priority: 'high' }),
  });
  await answer.arrayBuffer();
  const [answeredMs, begunThen] = [performance.now(), sink.dialogues()];
  if (answer.status !== 201) throw new Error(`a high mail was answered ${answer.status}`);
  await until(() => sink.beganAt(sender) !== undefined, `${sender} is in its dialogue`);
  const { atMs: beganMs, place } = sink.beganAt(sender)!;
  // Its dialogue may begin before the client has read the answer.
  return {
    fromCallMs: beganMs - calledMs,
    fromAnswerMs: Math.max(0, beganMs - answeredMs),
    ahead: Math.max(0, place - 1 - begunThen),
  };
};

const run = async (directory: string): Promise<void> => {
  const sink = await startTimedSink((sender) => sender.startsWith('high-'));
  const service = await startService({
    directory,
    side: 'any',
    env: { SEALPOST_SMTP_URL: `smtp://127.0.0.1:${sink.port}?tls=off` },
  });
  try {
    await service.accept(LOW, (n) => ({ ...orderRequest(n), priority: 'low' }));
    await until(
      async () => (await service.listed('queued')) + (await service.listed('processing')) === LOW,
      `${LOW} emails wait`,
    );
    sink.open();
    await until(() => sink.mails() > 0, 'the first has left');
    const [lowBefore, beganMs] = [sink.mails(), performance.now()];
    const high: Promise<Measured>[] = [];
    for (let n = 0; n < HIGH; n += 1) {
      high.push(sendHigh(service, sink, n));
      await wait(EVERY_MS);
    }
    const measured = await Promise.all(high);
    const left = sink.mails();
    if (left >= LOW) throw new Error(`the low mails had left before the last high one: ${left}`);
    const lowPerSecond = ((left - lowBefore - HIGH) * 1_000) / (performance.now() - beganMs);
    const { rssBytes, peakBytes } = service.program.memory();
    const sorted = (of: (one: Measured) => number): Float64Array => Float64Array.from(measured, of).sort();
    const ahead = sorted((one) => one.ahead);
    const [fromAnswer, fromCall] = [sorted(({ fromAnswerMs }) => fromAnswerMs), sorted(({ fromCallMs }) => fromCallMs)];
    report({
      name: 'priorities',
      figures: [
        { what: 'from the answer to the dialogue, P50', value: percentile(fromAnswer, 0.5), unit: 'ms' },
        {
          what: 'from the answer to the dialogue, P99',
          value: percentile(fromAnswer, 0.99),
          unit: 'ms',
          target: { atMost: TARGET_MS },
        },
        { what: 'from the call to the dialogue, P50', value: percentile(fromCall, 0.5), unit: 'ms' },
        { what: 'from the call to the dialogue, P99', value: percentile(fromCall, 0.99), unit: 'ms' },
        { what: 'mails that began between, P50', value: percentile(ahead, 0.5), unit: '' },
        { what: 'mails that began between, P99', value: percentile(ahead, 0.99), unit: '' },
        { what: 'low mails that left meanwhile', value: lowPerSecond, unit: 'emails/s', target: { atLeast: 1 } },
        { what: 'memory then', value: rssBytes / 1_000_000, unit: 'MB' },
        { what: 'memory, at most', value: peakBytes / 1_000_000, unit: 'MB' },
      ],
      machine: machineWithDisk(),
      details: { low: LOW, high: HIGH },
    });
  } finally {
    service.kill();
    sink.close();
  }
};

await withDirectory(run);
