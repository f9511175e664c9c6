/** The runners that keep the read models, each led by one process, and who waits for them. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from './settings/config.js';
import { openProjectionLeases } from './stores/coordination.js';
import type { Engine } from './engine.js';
import { projectionLease, underLease, type LeaseDeps } from '../processors/core/lease.js';
import { makeProjections } from '../projections/index.js';
import { makeRunner, type Runner } from '../projections/core/runner.js';

/** By the name of the projection. */
export type Runners = ReadonlyMap<string, Runner>;

/** Between two batches of a projection: under load more events share a write. Who asks for a list that lags ends the pause. */
const PROJECTION_PAUSE_MS = 200;
/** How often a request that waits for the read models of another process looks how far they are. */
const LOOK_EVERY_MS = 25;

export type Projecting = Readonly<{ runners: Runners; close: () => Promise<void> }>;

export const openProjecting = async (config: Config, engine: Engine, leasing: LeaseDeps): Promise<Projecting> => {
  const own = await openProjectionLeases(config, engine);
  const deps: LeaseDeps = { ...leasing, leases: own ?? leasing.leases };
  const runners = new Map<string, Runner>();
  for (const projection of makeProjections(engine.limits)) {
    const store = await engine.readModels.projection(projection.name, projection.collections);
    const after = (ms: number) => (signal: AbortSignal) => wait(ms, undefined, { signal }).catch(() => {});
    const lead = (signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> =>
      underLease(deps, projectionLease(projection.name), signal, (held) => work(held.signal));
    const { eventLog, clock } = engine;
    const pauses = { pause: after(PROJECTION_PAUSE_MS), look: after(LOOK_EVERY_MS) };
    runners.set(projection.name, makeRunner(projection, { eventLog, clock, store, ...pauses, lead }));
  }
  return { runners, close: async () => own?.close() };
};

/** Resolves when they have everything that stands in the log now, or the signal aborts. */
export const caughtUp = async ({ eventLog }: Pick<Engine, 'eventLog'>, runners: Runners, signal: AbortSignal): Promise<void> => {
  const head = await eventLog.head();
  await Promise.all([...runners.values()].map((runner) => runner.caughtUp(head, signal)));
};

/** The runner of the projection that feeds a collection. */
export const feederOf = (runners: Runners, limits: Engine['limits'], collection: string): Runner => {
  const feeder = makeProjections(limits).find(({ collections }) => collections.some(({ name }) => name === collection));
  const runner = feeder && runners.get(feeder.name);
  if (runner === undefined) throw new Error(`no projection feeds ${collection}`);
  return runner;
};
