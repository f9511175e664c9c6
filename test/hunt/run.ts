/**
 * The hunt as a program: `npm run test:hunt -- --histories 100000 --seed 1`. Prints every history that broke a promise,
 * with its seed; one of them alone is played again by `--histories 1 --seed <seed>`. `--plant <name>` plants a fault of
 * plants.ts.
 */
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { parseArgs } from 'node:util';
import { foundingWorld } from './founding.js';
import { playHistory, type HistoryResult } from './history.js';
import { plants, type PlantName } from './plants.js';

/** Every `step`-th seed from `first` on, below `end`. */
type Share = Readonly<{ first: number; end: number; step: number; plant: PlantName | undefined }>;

type Found = Readonly<{ result: HistoryResult; unhandled: readonly string[] }>;

const playShare = async ({ first, end, step, plant }: Share, tell: (found: Found) => void): Promise<void> => {
  let unhandled: string[] = [];
  // A rejection that nobody handles would end a process of the service.
  process.on('unhandledRejection', (fault) => unhandled.push(String(fault)));
  const base = await foundingWorld();
  for (let seed = first; seed < end; seed += step) {
    const result = await playHistory(base, seed, plant === undefined ? undefined : plants[plant]);
    tell({ result, unhandled });
    unhandled = [];
  }
};

const sums = { histories: 0, findings: 0, emails: 0, posts: 0, dialogues: 0, crashes: 0, steps: 0 };
const struck = new Map<string, number>();

const count = ({ result, unhandled }: Found): void => {
  sums.histories += 1;
  for (const name of ['emails', 'posts', 'dialogues', 'crashes', 'steps'] as const) sums[name] += result[name];
  for (const [fault, times] of result.struck) struck.set(fault, (struck.get(fault) ?? 0) + times);
  const messages = [
    ...result.findings.map(({ oracle, message }) => `${oracle}: ${message}`),
    ...unhandled.map((text) => `unhandled: ${text}`),
  ];
  if (messages.length === 0) return;
  sums.findings += 1;
  for (const message of messages.slice(0, 3)) console.log(`seed ${result.seed}: ${message.slice(0, 600)}`);
};

const play = (share: Share): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: share,
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    });
    worker.on('message', count);
    worker.on('error', reject);
    worker.on('exit', () => resolve());
  });

if (isMainThread) {
  const { values } = parseArgs({
    options: {
      histories: { type: 'string', default: '1000' },
      seed: { type: 'string', default: '1' },
      jobs: { type: 'string', default: String(availableParallelism()) },
      plant: { type: 'string' },
    },
  });
  const [histories, seed, jobs] = [Number(values.histories), Number(values.seed), Number(values.jobs)];
  const begunMs = performance.now();
  const plant = values.plant as PlantName | undefined;
  await Promise.all(
    Array.from({ length: jobs }, (_, job) => play({ first: seed + job, end: seed + histories, step: jobs, plant })),
  );
  const seconds = (performance.now() - begunMs) / 1_000;
  const { user, system } = process.cpuUsage();
  console.log(
    `${sums.histories} histories from seed ${seed} in ${seconds.toFixed(1)} s, ${((user + system) / 1_000_000).toFixed(1)} s of processors: ` +
      `${sums.findings} with findings; ${sums.emails} emails, ${sums.dialogues} dialogues, ${sums.posts} webhooks, ${sums.crashes} crashes, ${sums.steps} messages and sleeps`,
  );
  console.log(
    [...struck]
      .sort()
      .map(([fault, times]) => `${fault} ${times}`)
      .join(', '),
  );
  process.exitCode = sums.findings === 0 ? 0 : 1;
} else {
  await playShare(workerData as Share, (found) => parentPort!.postMessage(found));
}
