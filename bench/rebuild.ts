/** Rebuilding the read model of emails, against a raw scan of the same log that parses each event's data: CPU per event. */
import { join } from 'node:path';
import { readConfig, type Config } from '../src/config.js';
import { startOf } from '../src/domain/event-log.js';
import { openEngine, type Engine } from '../src/engine.js';
import { EMAILS, emailsProjection } from '../src/projections/emails.js';
import { rebuildProjection } from '../src/projections/rebuild.js';
import { scanLog } from './limits/rebuild.js';
import { lifeOf, orderVariables, teamA, teamB } from './support/email-life.js';
import { machineWithDisk } from './support/machine.js';
import { comparePairs, seeded, type PairsResult } from './support/pairs.js';
import { figuresOf, report } from './support/results.js';
import { withDirectory } from './support/scratch.js';

/** Events per second of a rebuild, as a share of those of the scan. */
const TARGET = 0.35;
const PAIRS = 8;
const EMAILS_IN_LOG = 100_000;
const EVENTS_PER_EMAIL = 4;
const EVENTS = EMAILS_IN_LOG * EVENTS_PER_EMAIL;
/** So many emails are under way at a time, so that their events lie between each other in the log. */
const UNDER_WAY = 250;
const DAY_MS = 86_400_000;
const START_MS = Date.parse('2026-11-01T00:00:00Z');
const SEED = 3;

const write = async ({ log }: Engine): Promise<void> => {
  const random = seeded(SEED);
  for (let first = 0; first < EMAILS_IN_LOG; first += UNDER_WAY) {
    const lives = Array.from({ length: UNDER_WAY }, (_, index) => {
      const n = first + index;
      return lifeOf({ n, atMs: START_MS + Math.floor((n / EMAILS_IN_LOG) * 20 * DAY_MS), random, allDelivered: true, variables: orderVariables[n % orderVariables.length]! });
    });
    let tails = lives.map(({ stream }) => startOf(stream));
    for (const [from, to] of [[0, 1], [1, 2], [2, EVENTS_PER_EMAIL]] as const) {
      tails = await Promise.all(lives.map(({ stream, events, cause }, index) => log.append(stream, tails[index]!, events.slice(from, to), cause)));
    }
  }
};

const checkRebuilt = async ({ documents }: Engine): Promise<void> => {
  let found = 0;
  for (const team of [teamA, teamB]) found += await documents.count(EMAILS, { where: { team: { eq: team }, status: { eq: 'delivered' } } }, EMAILS_IN_LOG);
  if (found !== EMAILS_IN_LOG) throw new Error(`the rebuilt read model has ${found} delivered emails, the log ${EMAILS_IN_LOG}`);
};

const measure = async (config: Config, engine: Engine): Promise<PairsResult> => {
  const projection = emailsProjection(engine.limits.retentionDays * DAY_MS);
  const file = join(config.dataDir, 'events.db');
  const perLog = await comparePairs({
    name: `rebuild of ${EMAILS_IN_LOG} emails (a whole log)`,
    ours: async () => {
      const events = await rebuildProjection(projection, engine);
      if (events !== EVENTS) throw new Error(`the rebuild read ${events} events, the log has ${EVENTS}`);
      await checkRebuilt(engine);
    },
    limit: () => scanLog(file, EVENTS),
    pairs: PAIRS,
    operations: 1,
    warmUp: 1,
    seed: SEED,
  });
  return { ...perLog, oursUs: perLog.oursUs / EVENTS, limitUs: perLog.limitUs / EVENTS };
};

const result = await withDirectory(async (directory) => {
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
report({
  name: 'rebuild',
  figures: [
    ...figuresOf(result, 'µs/event', undefined),
    { what: 'rate, ours to limit', value: 1 / ratio.median, low: 1 / ratio.high, high: 1 / ratio.low, unit: '', counts, target: { atLeast: TARGET } },
    { what: 'rate of a rebuild', value: 1e6 / result.oursUs, unit: 'events/s of CPU' },
  ],
  machine: machineWithDisk(),
  details: { ...result, events: EVENTS },
});
