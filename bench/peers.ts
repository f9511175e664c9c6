/**
 * An email from the call to the relay beside the usual stack (Fastify, BullMQ on Redis, Eta, nodemailer), in the same
 * run: CPU of each email, Redis included. Redis syncs each commit, as ours does; beside it the figure of a Redis that
 * syncs once a second, which loses the last second when the power fails.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import PostalMime from 'postal-mime';
import { assertPeerPackages } from './peers/bullmq.js';
import { redisServer, startRedis, type AppendFsync } from './peers/redis.js';
import { captureFrom, captureMail } from './support/captured-mail.js';
import { machineWithDisk } from './support/machine.js';
import { numbersGiven } from './support/options.js';
import { orderRequest } from './support/orders.js';
import { compareMeasures, median } from './support/pairs.js';
import { pinToLoad, startProgram, type Program } from './support/programs.js';
import { figuresOf, report } from './support/results.js';
import { assertSameMail } from './support/same-mail.js';
import { withDirectory } from './support/scratch.js';
import { EMAILS, MESSAGES_PER_CONNECTION, runService, SMTP_CONNECTIONS, WARM_UP } from './support/send-runs.js';
import { CONNECTIONS, post } from './support/service.js';
import { startSink } from './support/sink.js';

const TARGET = 0.5;
const DEADLINE_MS = 300_000;
const { pairs, emails, 'warm-up': warmUp } = numbersGiven({ pairs: 8, emails: EMAILS, 'warm-up': WARM_UP });

/** The call of the peer for the same order. */
const peerRequest = (n: number) => {
  const { templateId, to, variables } = orderRequest(n);
  return { template: templateId, to: to[0], variables };
};

/** The queue is empty, and nothing in it failed. */
const settled = async (port: number): Promise<void> => {
  for (let waitedMs = 0; ; waitedMs += 100) {
    const counts = (await (await fetch(`http://127.0.0.1:${port}/queue`)).json()) as Readonly<Record<string, number>>;
    if (Object.values(counts).every((count) => count === 0)) return;
    if (counts['failed'] !== 0 || waitedMs > DEADLINE_MS) throw new Error(`the queue has ${JSON.stringify(counts)}`);
    await wait(100);
  }
};

type Peer = Readonly<{
  program: Program;
  redis: Program;
  port: number;
  accept: (count: number) => Promise<unknown>;
}>;

const peerProgram = fileURLToPath(new URL('./peers/program.js', import.meta.url));

const withPeer = <Result>(fsync: AppendFsync, smtpPort: number, work: (peer: Peer) => Promise<Result>) =>
  withDirectory(async (directory): Promise<Result> => {
    const redis = await startRedis(directory, fsync);
    try {
      const key = randomUUID();
      const program = startProgram({
        command: process.execPath,
        args: [peerProgram, ...[redis.port, smtpPort, key, SMTP_CONNECTIONS, MESSAGES_PER_CONNECTION].map(String)],
        env: { NODE_ENV: 'production' },
        side: 'system',
      });
      try {
        const port = Number((await program.saw(/listening on http:\/\/[^\s:]+:(\d+)/))[1]);
        const accept = (count: number) => post(port, `Bearer ${key}`, count, peerRequest, '/emails');
        return await work({ program, redis: redis.program, port, accept });
      } finally {
        program.kill();
      }
    } finally {
      redis.program.kill();
    }
  });

type PeerRun = Readonly<{ programUs: number; redisUs: number }>;

/** µs of CPU of each email: of the program, and of its Redis. */
const runPeer = async (fsync: AppendFsync): Promise<PeerRun> => {
  const sink = await startSink();
  try {
    return await withPeer(fsync, sink.port, async ({ program, redis, port, accept }) => {
      const send = async (count: number, before: number): Promise<void> => {
        await accept(count);
        await sink.took(before + count);
        await settled(port);
      };
      await send(warmUp, 0);
      const [programUs, redisUs] = [program.cpuUs(), redis.cpuUs()];
      await send(emails, warmUp);
      return { programUs: (program.cpuUs() - programUs) / emails, redisUs: (redis.cpuUs() - redisUs) / emails };
    });
  } finally {
    sink.kill();
  }
};

/** The mail of the peer for the first order, as a relay gets it. */
const capturePeerMail = (): Promise<Buffer> =>
  captureFrom((smtpPort, taken) =>
    withPeer('always', smtpPort, async ({ accept }) => {
      await accept(1);
      await taken;
    }),
  );

/** Rejects where the two send something else. Out: the bytes of each. */
const compareMails = async (): Promise<Readonly<{ oursBytes: number; peerBytes: number }>> => {
  const ours = await withDirectory((directory) => captureMail(directory, {}));
  const peer = await capturePeerMail();
  const read = async (raw: Buffer) => {
    const { subject = '', html = '', text = '', from, to } = await PostalMime.parse(raw);
    return { head: JSON.stringify({ subject, from, to }), html, text: text.trimEnd() };
  };
  const [a, b] = [await read(ours), await read(peer)];
  if (a.head !== b.head) throw new Error(`the heads differ: ${a.head} and ${b.head}`);
  assertSameMail(a, b);
  return { oursBytes: ours.length, peerBytes: peer.length };
};

assertPeerPackages();
redisServer();
pinToLoad();
const sizes = await compareMails();
const runs: Record<AppendFsync, PeerRun[]> = { always: [], everysec: [] };
const peer = (fsync: AppendFsync) => async (): Promise<number> => {
  const run = await runPeer(fsync);
  runs[fsync].push(run);
  return run.programUs + run.redisUs;
};
const result = await compareMeasures({
  name: 'an email from the call to the relay, beside BullMQ on Redis',
  ours: () => withDirectory((own) => runService(own, { warmUp, emails }).then(({ cpuUs }) => cpuUs)),
  limit: peer('always'),
  pairs,
  operations: emails,
  beside: { everysec: peer('everysec') },
});
const { everysec } = result.beside;
if (everysec === undefined) throw new Error('the peer with everysec was not measured');
const [ours, always, ratio, self] = figuresOf(result, 'µs/email', { atMost: TARGET });
report({
  name: 'peers',
  figures: [
    ours!,
    { ...always!, what: 'peer, appendfsync always' },
    { what: 'of it Redis', value: median(runs.always.map(({ redisUs }) => redisUs)), unit: 'µs/email' },
    { ...ratio!, what: 'ours / peer' },
    { ...self!, what: 'peer / peer' },
    { what: 'peer, appendfsync everysec', value: everysec.us, unit: 'µs/email' },
    { what: 'of it Redis', value: median(runs.everysec.map(({ redisUs }) => redisUs)), unit: 'µs/email' },
    {
      what: 'ours / peer, everysec',
      value: everysec.ratio.median,
      low: everysec.ratio.low,
      high: everysec.ratio.high,
      counts: result.counts,
      unit: '',
    },
    { what: 'size of our mail', value: sizes.oursBytes, unit: 'bytes' },
    { what: 'size of the mail of the peer', value: sizes.peerBytes, unit: 'bytes' },
  ],
  machine: machineWithDisk(),
  details: { ...result, runs, connections: CONNECTIONS, smtpConnections: SMTP_CONNECTIONS },
});
