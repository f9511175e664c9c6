/**
 * Runs the work beside the requests: projections, processors and the workers that look after the stores; and their
 * supervisor.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { setMaxListeners } from 'node:events';
import type { Config } from './settings/config.js';
import { openProjectionLeases } from './stores/stores.js';
import type { Engine } from './engine.js';
import { projectionLease, underLease, type LeaseDeps } from '../processors/core/lease.js';
import { makeProjections } from '../projections/index.js';
import { rebuildProjection } from '../projections/core/rebuild.js';
import { makeRunner, type Runner } from '../projections/core/runner.js';
import type { Clock } from '../domain/ports/clock.js';
import type { Logger } from '../domain/ports/logger.js';
import type { Worker } from '../domain/ports/worker.js';
import type { WorkerHealth } from '../domain/core/readiness.js';
import { slicesOfLoop, turnsOfLoop } from '../adapters/clock/system.js';
import { tellOwners } from '../commands/webhooks/subscriptions.js';
import type { ClockTrust } from './ops/clock.js';
import { timersOf } from '../domain/ports/timers.js';
import { nameOf, type Processor, type ProcessorDeps, type StuckWork } from '../processors/core/declaration.js';
import { watchDomainRatesWorker } from '../processors/domains/sender-domains.js';
import { domainsOfDay } from '../projections/email/summaries.js';
import { dueWorkWorker } from '../processors/core/due-work.js';
import { endSessionsWorker } from '../processors/people/sessions.js';
import { eraseWorker } from '../processors/privacy/erasure.js';
import { makeProcessors } from '../processors/index.js';
import { openRoutes, type RelayState } from '../processors/email/routes.js';
import { lookAfterTeamsWorker } from '../processors/teams/teams.js';
import {
  forgetAuditWorker,
  mailSeal,
  noteLogWorker,
  openSealNotices,
  sealLedgerWorker,
} from '../processors/audit/ledger.js';
import { openUnpublishedWork, relayWorker } from '../processors/core/relay.js';
import { returnCreditsWorker } from '../processors/billing/billing.js';
import { sweepWorker } from '../processors/retention/removal.js';
import { storedAttachmentBytes } from '../projections/email/attachment-usage.js';
import { AUDIT, overdueAudit } from '../projections/audit/audit.js';
import { addressIndex } from '../projections/privacy/traces.js';
import { readBatchEnds } from '../projections/bulk/batches.js';
import { WEBHOOKS } from '../projections/webhooks/webhooks.js';
import { dueFailures, keptWebhooks, removableParts } from '../projections/webhooks/reads.js';
import { deliverWebhooksWorker, removeWebhookRecordsWorker } from '../processors/webhooks/delivery.js';
import { routeWebhooksWorker } from '../processors/webhooks/router.js';
import { unusedSessions } from '../projections/people/sessions.js';
import { returnedUpTo } from '../projections/billing/credits.js';
import { teamsToLapse, teamsToRemove } from '../projections/teams/teams.js';
import type { SignedSeal } from '../domain/ports/keys.js';
import type { Resources } from './resources.js';

/** The runners that keep the read models, by the name of the projection. */
export type Runners = ReadonlyMap<string, Runner>;

type ProjectionRunners = Readonly<{ runners: Runners; close: () => Promise<void> }>;

export type Supervisor = Readonly<{
  start: (workers: readonly Worker[]) => void;
  health: () => readonly WorkerHealth[];
  /** Signals the named workers (default: all) to end and waits until they have, or the signal aborts. */
  stop: (names: readonly string[] | undefined, deadline: AbortSignal) => Promise<void>;
}>;

type Running = { health: WorkerHealth; readonly stop: AbortController; readonly ended: Promise<void> };

type WorkerParts = Engine &
  Resources &
  LeaseDeps &
  Readonly<{ runners: Runners; stuckWork: StuckWork; clockTrust: ClockTrust; cutOff: AbortSignal }>;

export type Workers = Readonly<{
  /** The relays as this process sees them; none if it does not deliver. */
  relayStates: () => readonly RelayState[];
  projecting: readonly Worker[];
  processing: readonly Worker[];
  processors: readonly Processor[];
}>;

/**
 * The pause between two batches of a projection, so that under load more events share a write. A request for a list
 * that lags ends it.
 */
const PROJECTION_PAUSE_MS = 200;
/** How often a request that waits for the read models of another process looks how far they are. */
const LOOK_EVERY_MS = 25;

const PAUSE_FIRST_MS = 250;
const PAUSE_MAX_MS = 30_000;
/** A worker that ran this long starts again with the first pause. */
const STEADY_MS = 60_000;

export const makeWorkers = (config: Config, parts: WorkerParts): Workers => {
  const { runners, limits, clockTrust } = parts;
  const { mayDestroy, awayMs, unwatchedMs } = clockTrust;
  const deps: ProcessorDeps = {
    ...parts,
    mayDestroy,
    timersCaughtUp: (kind, position, signal) => feederOf(runners, limits, timersOf(kind)).caughtUp(position, signal),
    nextTurn: turnsOfLoop(),
    inFlightMax: limits.lanes,
  };
  const routes = openRoutes(parts);
  const processors = makeProcessors({
    ...parts,
    routes,
    ...composedOf(parts),
    mayDestroy,
    unwatchedMs,
    turnFor: slicesOfLoop(),
    schedule: { delaysMs: config.retryDelaysMs },
    batchEnds: readBatchEnds(parts.readModels),
    addressIndex: addressIndex(parts.readModels),
    emailsCaughtUp: async (signal) => {
      const head = await parts.eventLog.head();
      for (const kind of ['email', 'approval'] as const) await deps.timersCaughtUp(kind, head, signal);
    },
    storedBytes: storedAttachmentBytes(parts),
  });
  const unpublished = openUnpublishedWork();
  const { kept, due } = webhookReading(parts);
  return {
    relayStates: () => (config.roles.includes('process') ? routes.states() : []),
    processors: config.roles.includes('process') ? processors : [],
    projecting: config.roles.includes('project') ? [...runners.values()].map(({ worker }) => worker) : [],
    processing: config.roles.includes('process')
      ? [
          ...(config.roles.includes('http') ? [] : [{ name: 'follow-states', run: parts.followStates }]),
          relayWorker(deps, processors, unpublished),
          dueWorkWorker(deps, processors, unpublished),
          ...processors.map(({ worker }) => worker(deps)),
          sealLedgerWorker({ ...parts, awayMs, tell: openSealNotices({ ...parts, ...mailingSeals(config, parts) }) }),
          eraseWorker(parts),
          endSessionsWorker({
            ...parts,
            ...deps,
            unused: (upTo, limit) => unusedSessions(parts.readModels, upTo, limit),
          }),
          returnCreditsWorker({ ...parts, returnedUpTo }),
          watchDomainRatesWorker({
            ...parts,
            domainsOfDay: (day) => domainsOfDay(parts.readModels, day),
            ...alertsOf(parts),
          }),
          routeWebhooksWorker({ ...parts, keptUpTo: kept }),
          deliverWebhooksWorker({
            ...parts,
            webhookDelaysMs: config.webhookDelaysMs,
            unwatchedMs,
            keptUpTo: kept,
            due,
            tellOwners: (disabled, cause) => tellOwners(parts, disabled, cause),
          }),
          removeWebhookRecordsWorker({
            ...parts,
            ...deps,
            removable: (upTo, limit) => removableParts(parts.readModels, upTo, limit),
          }),
          lookAfterTeamsWorker({ ...parts, mayDestroy, ...teamReading(parts) }),
          forgetAuditWorker({
            ...parts,
            ...deps,
            overdue: (now, entriesUpTo, limit) => overdueAudit(parts.readModels, now, entriesUpTo, limit),
            auditCaughtUp: (position, signal) => feederOf(runners, limits, AUDIT).caughtUp(position, signal),
          }),
          noteLogWorker(parts),
          sweepWorker({ ...parts, ...deps, mailbox: parts.mailbox?.mailbox }),
        ]
      : [],
  };
};

const teamReading = ({ readModels }: WorkerParts) => ({
  toRemove: (deletedUpTo: string, limit: number) => teamsToRemove(readModels, deletedUpTo, limit),
  toLapse: (upTo: string, limit: number) => teamsToLapse(readModels, upTo, limit),
});

/** Reads of the webhook workers, each after the read models have reached the position that the worker asks for. */
const webhookReading = ({ runners, limits, readModels }: WorkerParts) => {
  const upTo = (position: number, signal: AbortSignal): Promise<void> =>
    feederOf(runners, limits, WEBHOOKS).caughtUp(position, signal);
  const kept: Parameters<typeof routeWebhooksWorker>[0]['keptUpTo'] = async (position, signal) => {
    await upTo(position, signal);
    return keptWebhooks(readModels);
  };
  const due: Parameters<typeof deliverWebhooksWorker>[0]['due'] = async (id, position, limit, signal) => {
    await upTo(position, signal);
    return (await dueFailures(readModels, id, limit)).map(({ sent, attempt, dueAt }) => ({ sent, attempt, dueAt }));
  };
  return { kept, due };
};

const composedOf = ({ metrics: { composed } }: Resources) => (composed === undefined ? {} : { composed });

const alertsOf = ({ metrics: { domainAlert } }: Resources) =>
  domainAlert === undefined ? {} : { alerted: domainAlert };

const mailingSeals = ({ seals: { mail } }: Config, parts: WorkerParts) =>
  mail === undefined ? {} : { mail: (seal: SignedSeal) => mailSeal(parts, mail, seal) };

/** The runner of the projection that feeds a collection. */
const feederOf = (runners: Runners, limits: Engine['limits'], collection: string): Runner => {
  const feeder = makeProjections(limits).find(({ collections }) => collections.some(({ name }) => name === collection));
  const runner = feeder && runners.get(feeder.name);
  if (runner === undefined) throw new Error(`no projection feeds ${collection}`);
  return runner;
};

/** Opens the runner of each projection. A lease makes one process lead it. */
export const openProjectionRunners = async (
  config: Config,
  engine: Engine,
  leasing: LeaseDeps,
): Promise<ProjectionRunners> => {
  const own = await openProjectionLeases(config, engine);
  const deps: LeaseDeps = { ...leasing, leases: own ?? leasing.leases };
  const runners = new Map<string, Runner>();
  for (const projection of makeProjections(engine.limits)) {
    const store = await engine.readModels.projection(projection.name, projection.collections);
    const after = (ms: number) => (signal: AbortSignal) => wait(ms, undefined, { signal }).catch(() => {});
    const lead = (signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> =>
      underLease(deps, projectionLease(projection.name), signal, (held) => work(held.signal));
    const { eventLog, clock } = engine;
    const makeAnew = async (): Promise<void> => void (await rebuildProjection(projection, engine));
    const pauses = { pause: after(PROJECTION_PAUSE_MS), look: after(LOOK_EVERY_MS) };
    runners.set(projection.name, makeRunner(projection, { eventLog, clock, store, makeAnew, ...pauses, lead }));
  }
  return { runners, close: async () => own?.close() };
};

/** Resolves when the runners have every event that is in the log now, or the signal aborts. */
export const caughtUp = async (
  { eventLog }: Pick<Engine, 'eventLog'>,
  runners: Runners,
  signal: AbortSignal,
): Promise<void> => {
  const head = await eventLog.head();
  await Promise.all([...runners.values()].map((runner) => runner.caughtUp(head, signal)));
};

/** Runs workers, restarts a failed one after a growing pause, and stops them within a deadline. */
export const makeSupervisor = (deps: Readonly<{ clock: Clock; logger: Logger }>): Supervisor => {
  const running = new Map<string, Running>();

  const launch = (worker: Worker): void => {
    const stop = new AbortController();
    // Every lane and timer of a worker may listen at once; that is not a leak.
    setMaxListeners(0, stop.signal);
    const note = (change: Partial<WorkerHealth>): void => {
      const entry = running.get(worker.name);
      if (entry !== undefined) entry.health = { ...entry.health, ...change };
    };
    const ended = keepRunning(deps, worker, stop.signal, note);
    running.set(worker.name, {
      health: { name: worker.name, state: 'running', restarts: 0, lastFault: null },
      stop,
      ended,
    });
  };

  return {
    start: (workers) => workers.forEach(launch),
    health: () => [...running.values()].map(({ health }) => health),
    stop: async (names, deadline) => {
      const chosen = [...running].flatMap(([name, entry]) =>
        names === undefined || names.includes(name) ? [entry] : [],
      );
      for (const { stop } of chosen) stop.abort();
      await Promise.race([Promise.all(chosen.map(({ ended }) => ended)), aborted(deadline)]);
    },
  };
};

const keepRunning = async (
  { clock, logger }: Readonly<{ clock: Clock; logger: Logger }>,
  worker: Worker,
  signal: AbortSignal,
  note: (change: Partial<WorkerHealth>) => void,
): Promise<void> => {
  let pauseMs = PAUSE_FIRST_MS;
  // The entry that `note` changes is made in the same turn as this call.
  await Promise.resolve();
  for (let restarts = 0; !signal.aborted; restarts += 1) {
    const startedMs = clock.monotonic();
    note({ state: 'running', restarts });
    try {
      await worker.run(signal);
    } catch (fault) {
      const err = fault instanceof Error ? fault : new Error('not an Error');
      if (!signal.aborted) logger.error({ worker: worker.name, restarts, err }, 'worker fault, will be started again');
      note({ state: 'restarting', lastFault: nameOf(err) });
    }
    if (signal.aborted) break;
    pauseMs = clock.monotonic() - startedMs > STEADY_MS ? PAUSE_FIRST_MS : Math.min(pauseMs * 2, PAUSE_MAX_MS);
    await clock.sleep(pauseMs, signal);
  }
  note({ state: 'stopped' });
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
