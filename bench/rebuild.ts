/**
 * Rebuilding the read model of emails, against a raw scan of the same log that parses each event's data: events per
 * second by the clock, for a rebuild reads, folds and writes in three threads. The CPU cost is given beside it.
 */
import { join } from 'node:path';
import { readConfig, type Config } from '../src/service/settings/config.js';
import { startOf } from '../src/event-log/event-log.js';
import { openEngine, type Engine } from '../src/service/engine.js';
import { EMAILS } from '../src/projections/email/emails.js';
import { emailsProjection } from '../src/projections/bulk/emails.js';
import { rebuildProjection } from '../src/projections/core/rebuild.js';
import { scanLog } from './limits/rebuild.js';
import { lifeOf, orderVariables, teamA, teamB } from './support/email-life.js';
import { machineWithDisk } from './support/machine.js';
import { compareMeasures, interval, median, seeded, type Measure, type PairsResult } from './support/pairs.js';
import { figuresOf, report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { DAY_MS } from '../src/domain/core/time.js';

/** Events per second of a rebuild, as a share of those of the scan. */
const TARGET = 0.35;
/** Time by the clock takes more pairs than CPU does. */
const PAIRS = 30;
const EMAILS_IN_LOG = 100_000;
const EVENTS_PER_EMAIL = 4;
const EVENTS = EMAILS_IN_LOG * EVENTS_PER_EMAIL;
/** Emails that are in progress at once, so that their events interleave in the log. */
const UNDER_WAY = 250;
const START_MS = Date.parse('2026-11-01T00:00:00Z');
const SEED = 3;

const write = async ({ eventLog }: Engine): Promise<void> => {
  const random = seeded(SEED);
  for (let first = 0; first < EMAILS_IN_LOG; first += UNDER_WAY) {
    const lives = Array.from({ length: UNDER_WAY }, (_, index) => {
      const n = first + index;
      return lifeOf({
        n,
        atMs: START_MS + Math.floor((n / EMAILS_IN_LOG) * 20 * DAY_MS),
        random,
        allDelivered: true,
        variables: orderVariables[n % orderVariables.length]!,
      });
    });
    let tails = lives.map(({ stream }) => startOf(stream));
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, EVENTS_PER_EMAIL],
    ] as const) {
      tails = await Promise.all(
        lives.map(({ stream, events, cause }, index) =>
          eventLog.append(stream, tails[index]!, events.slice(from, to), cause),
        ),
      );
    }
  }
};

const checkRebuilt = async ({ readModels }: Engine): Promise<void> => {
  let found = 0;
  for (const team of [teamA, teamB])
    found += await readModels.count(
      EMAILS,
      { where: { team: { eq: team }, status: { eq: 'delivered' } } },
      EMAILS_IN_LOG,
    );
  if (found !== EMAILS_IN_LOG)
    throw new Error(`the rebuilt read model has ${found} delivered emails, the log ${EMAILS_IN_LOG}`);
};

type Cpu = { ours: number[]; limit: number[] };

/** In: the work of a whole log. Out: its µs by the clock per event; its µs of CPU per event go to `cpuUs`. */
const timed =
  (work: () => unknown, cpuUs: number[]): Measure =>
  async () => {
    const startCpu = process.cpuUsage();
    const start = process.hrtime.bigint();
    await work();
    const wallUs = Number(process.hrtime.bigint() - start) / 1_000;
    const { user, system } = process.cpuUsage(startCpu);
    cpuUs.push((user + system) / EVENTS);
    return wallUs / EVENTS;
  };

const measure = async (config: Config, engine: Engine): Promise<{ result: PairsResult; cpu: Cpu }> => {
  const projection = emailsProjection({
    retentionMs: engine.limits.retentionDays * DAY_MS,
    archiveMs: engine.limits.archiveDays * DAY_MS,
  });
  const file = join(config.dataDir, 'events.db');
  const cpu: Cpu = { ours: [], limit: [] };
  const ours = timed(async () => {
    const events = await rebuildProjection(projection, engine);
    if (events !== EVENTS) throw new Error(`the rebuild read ${events} events, the log has ${EVENTS}`);
  }, cpu.ours);
  const limit = timed(() => scanLog(file, EVENTS), cpu.limit);
  await ours();
  await checkRebuilt(engine);
  await limit();
  cpu.ours.length = cpu.limit.length = 0;
  const result = await compareMeasures({
    name: `rebuild of ${EMAILS_IN_LOG} emails, µs by the clock per event`,
    ours,
    limit,
    pairs: PAIRS,
    operations: EVENTS,
    seed: SEED,
  });
  await checkRebuilt(engine);
  return { result, cpu };
};

const { result, cpu } = await withDirectory(async (directory) => {
  const config = { ...readConfig({ SEALPOST_DATA_DIR: directory }), logLevel: 'silent' as const };
  const engine = await openEngine(config);
  try {
    console.log(`writing a log of ${EMAILS_IN_LOG} emails …`);
    await write(engine);
    return await measure(config, engine);
  } finally {
    await engine.close();
  }
});
const { ratio, counts } = result;
// The limit ran twice as often, in no order that pairs could be made of: the ratio of CPU is one of medians.
const cpuUs = { ours: interval(cpu.ours, seeded(SEED)), limit: median(cpu.limit) };
report({
  name: 'rebuild',
  figures: [
    ...figuresOf(result, 'µs/event', undefined),
    {
      what: 'rate, ours to limit',
      value: 1 / ratio.median,
      low: 1 / ratio.high,
      high: 1 / ratio.low,
      unit: '',
      counts,
      target: { atLeast: TARGET },
    },
    { what: 'rate of a rebuild', value: 1e6 / result.oursUs, unit: 'events/s' },
    { what: 'CPU, ours', value: cpuUs.ours.median, low: cpuUs.ours.low, high: cpuUs.ours.high, unit: 'µs/event' },
    { what: 'CPU, limit', value: cpuUs.limit, unit: 'µs/event' },
    { what: 'CPU, limit to ours', value: cpuUs.limit / cpuUs.ours.median, unit: '' },
  ],
  machine: machineWithDisk(),
  details: { ...result, cpu, events: EVENTS },
});
