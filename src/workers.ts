/** What runs beside the requests: the runners of the projections, the processors, and the workers that look after the stores. */
import { setTimeout as wait } from 'node:timers/promises';
import { turnsOfLoop } from './adapters/clock/turns.js';
import type { ClockTrust } from './clock-trust.js';
import type { Config } from './config.js';
import type { Worker } from './domain/ports/worker.js';
import { timersOf } from './domain/timers.js';
import type { Engine } from './engine.js';
import type { Processor } from './processors/declaration.js';
import type { ProcessorDeps } from './processors/deps.js';
import { dueWorkWorker } from './processors/due-work.js';
import { eraseWorker } from './processors/erase.js';
import { makeProcessors } from './processors/index.js';
import { underLease, type LeaseDeps } from './processors/lease.js';
import { noteLogWorker } from './processors/note-log.js';
import { openOverflow } from './processors/overflow.js';
import { relayWorker } from './processors/relay.js';
import { sealLedgerWorker } from './processors/seal-ledger.js';
import type { StuckWork } from './processors/stuck.js';
import { sweepWorker } from './processors/sweep.js';
import { makeProjections } from './projections/index.js';
import { makeRunner, type Runner } from './projections/runner.js';
import type { Surroundings } from './surroundings.js';

/** Between two batches of a projection: under load more events share a write. Who asks for a list that lags ends the pause. */
const PROJECTION_PAUSE_MS = 200;
/** How often a request that waits for the read models of another process looks how far they are. */
const LOOK_EVERY_MS = 25;

export type Runners = ReadonlyMap<string, Runner>;

export const openRunners = async (engine: Engine, leasing: LeaseDeps): Promise<Runners> => {
  const runners = new Map<string, Runner>();
  for (const projection of makeProjections(engine.limits)) {
    const store = await engine.readModels.projection(projection.name, projection.collections);
    const after = (ms: number) => (signal: AbortSignal) => wait(ms, undefined, { signal }).catch(() => {});
    const lead = (signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> =>
      underLease(leasing, `project-${projection.name}`, signal, (held) => work(held.signal));
    runners.set(
      projection.name,
      makeRunner(projection, {
        eventLog: engine.eventLog,
        clock: engine.clock,
        store,
        pause: after(PROJECTION_PAUSE_MS),
        look: after(LOOK_EVERY_MS),
        lead,
      }),
    );
  }
  return runners;
};

export type WorkerParts = Engine &
  Surroundings &
  LeaseDeps &
  Readonly<{ runners: Runners; stuck: StuckWork; clockTrust: ClockTrust; cutOff: AbortSignal }>;

export type Workers = Readonly<{ projecting: readonly Worker[]; processing: readonly Worker[]; processors: readonly Processor[] }>;

export const makeWorkers = (config: Config, parts: WorkerParts): Workers => {
  const { runners, limits, clockTrust } = parts;
  const { mayDestroy, awayMs } = clockTrust;
  const deps: ProcessorDeps = {
    ...parts,
    mayDestroy,
    timersCaughtUp: (kind, position, signal) => feederOf(runners, limits, timersOf(kind)).caughtUp(position, signal),
    nextTurn: turnsOfLoop(),
    inFlightMax: limits.lanes,
  };
  const processors = makeProcessors({ ...parts, ...composedOf(parts), mayDestroy, schedule: { delaysMs: config.retryDelaysMs } });
  const overflow = openOverflow();
  return {
    processors: config.roles.includes('process') ? processors : [],
    projecting: config.roles.includes('project') ? [...runners.values()].map(({ worker }) => worker) : [],
    processing: config.roles.includes('process')
      ? [
          relayWorker(deps, processors, overflow),
          dueWorkWorker(deps, processors, overflow),
          ...processors.map(({ worker }) => worker(deps)),
          sealLedgerWorker({ ...parts, awayMs }),
          eraseWorker(parts),
          noteLogWorker(parts),
          sweepWorker({ ...parts, mayDestroy, mailbox: parts.mailbox?.mailbox }),
        ]
      : [],
  };
};

const composedOf = ({ metrics: { composed } }: Surroundings) => (composed === undefined ? {} : { composed });

/** The runner of the projection that feeds a collection. */
const feederOf = (runners: Runners, limits: Engine['limits'], collection: string): Runner => {
  const feeder = makeProjections(limits).find(({ collections }) => collections.some(({ name }) => name === collection));
  const runner = feeder && runners.get(feeder.name);
  if (runner === undefined) throw new Error(`no projection feeds ${collection}`);
  return runner;
};
