/**
 * The health of a running service: its workers, and what a watch finds every ten seconds although no worker fails:
 * refused commits, old queues, read models that lag, servers that are away, the relay among them, the disk, the clock.
 */
import { StoreAway } from '../../domain/core/errors.js';
import type { HealthCode, HealthReason, WorkerHealth } from '../../domain/core/readiness.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Disk } from '../../domain/ports/disk.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Worker, Health } from '../../domain/ports/worker.js';
import { type QueueHealth, queueHealth } from '../../projections/email/queue.js';
import type { Runner } from '../../projections/core/runner.js';
import type { ClockTrust } from '../ops/clock.js';
import { hasRelay, type Config } from '../settings/config.js';
import type { Relays } from '../../processors/email/routes.js';
import { copyFault } from '../stores/instances.js';
import { type OpenLimiter, diskOf } from '../stores/stores.js';
import type { Leases } from '../../domain/ports/lease.js';
import { type Engine, logHealth } from '../engine.js';
import { DISPATCH_LEASE } from '../../processors/core/lease.js';
import type { Gate, StuckWork } from '../../processors/core/declaration.js';
import type { Mailer } from '../../domain/ports/mailer.js';
import { counted } from '../../shared/text.js';
import type { Supervisor, Workers } from '../workers.js';

type CommitWatch = Readonly<{
  watched: (store: EventStore) => EventStore;
  /** Watches the keys, because no mail is accepted without a new one. */
  watchedKeys: (keys: Keys) => Keys;
  noted: () => readonly HealthReason[];
}>;

export type HealthWatchDeps = Readonly<{
  clock: Clock;
  logger: Logger;
  disk: Disk;
  eventLog: Readonly<{ head: () => Promise<number> }>;
  /** The runners of this process. */
  runners: readonly Pick<Runner, 'isBehind'>[];
  queue: () => Promise<QueueHealth>;
  leapMs: () => number;
  /** Whether any process has the lease under which mail is delivered; absent if this one delivers. */
  isDelivered?: () => Promise<boolean>;
  commits: Pick<CommitWatch, 'noted'>;
  /** Whether rates are counted for all processes at this moment; absent if each process always counts by itself. */
  limiterMode?: () => 'shared' | 'per-process';
  /** The relays that this process hands mail to; absent if there are none. */
  relays?: readonly Relay[];
  /** Why the data directory is taken for a copy of another; absent if it is not. */
  copied?: string;
  /** Takes renewed certificates and says what is wrong with those in use; absent if this process serves none. */
  certificates?: () => readonly HealthReason[];
}>;

/** `name`: absent if it is set by its URL alone. `isOpen`: whether mail is handed to it. */
type Relay = Pick<Mailer, 'host' | 'probe'> & Pick<Gate, 'isOpen'> & Readonly<{ name?: string }>;

type HealthWatch = Readonly<{ worker: Worker; noted: () => readonly HealthReason[] }>;

type ServiceHealthDeps = Readonly<{
  config: Config;
  engine: Engine;
  leases: Leases;
  supervisor: Supervisor;
  stuckWork: StuckWork;
  runners: ReadonlyMap<string, Runner>;
  commits: CommitWatch;
  clockTrust: ClockTrust;
  limiter: OpenLimiter;
  mailer: Mailer;
  relays?: Relays;
  workers: Pick<Workers, 'relayStates'>;
  certificates: () => readonly HealthReason[];
}>;

type ServiceHealth = Readonly<{
  /** Watches queues, read models and the disk. */
  worker: Worker;
  of: (accepting: () => boolean) => Health;
}>;

const LOOK_EVERY_MS = 10_000;
/** How long after a refused commit the service gets requests again, to find out whether the next commit succeeds. */
const REFUSED_FOR_MS = 10_000;
const QUEUE_OLD_MS = 5 * 60_000;
export const DEFERRED_MAX = 1_000;
const DISK_LOW_BYTES = 512 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;

const logAway: HealthReason = {
  code: 'LOG_AWAY',
  message: 'the server of the log does not answer, or its disk refuses: nothing is accepted and nothing delivered',
};
const readModelsAway: HealthReason = {
  code: 'READ_MODELS_AWAY',
  message:
    'the server or disk of the read models or of the leases does not answer: there are no lists, and what is due later waits',
};

const nobodyDelivers: HealthReason = {
  code: 'NOBODY_DELIVERS',
  message: 'no process with the role `process` runs beside this one: mail is accepted and waits',
};

export const openServiceHealth = ({
  config,
  engine,
  leases,
  supervisor,
  stuckWork,
  runners,
  commits,
  clockTrust,
  limiter,
  mailer,
  relays,
  workers,
  certificates,
}: ServiceHealthDeps): ServiceHealth => {
  const copied = copyFault(config);
  const watched = hasRelay(config) ? watchedRelays(mailer, relays, workers) : [];
  const watch = openHealthWatch({
    ...engine,
    disk: diskOf(config),
    runners: [...runners.values()],
    queue: () => queueHealth(engine.readModels, DEFERRED_MAX),
    leapMs: clockTrust.leapMs,
    commits,
    ...(config.roles.includes('process')
      ? {}
      : { isDelivered: async () => (await leases.read(DISPATCH_LEASE)) !== undefined }),
    limiterMode: () => limiter.mode?.() ?? 'shared',
    certificates,
    ...(copied === undefined ? {} : { copied }),
    relays: watched,
  });
  return {
    worker: watch.worker,
    of: (accepting) => ({
      accepting,
      workers: () => supervisor.health().map((worker) => withStuckWork(worker, stuckWork)),
      log: () => logHealth(engine),
      noted: watch.noted,
      ...(relays === undefined ? {} : { relays: workers.relayStates }),
    }),
  };
};

/** None if this process does not deliver. */
const watchedRelays = (
  mailer: Mailer,
  relays: Relays | undefined,
  { relayStates }: ServiceHealthDeps['workers'],
): readonly Relay[] =>
  relayStates().map(({ relay }) => ({
    ...(relays?.list.find(({ name }) => name === relay)?.mailer ?? mailer),
    ...(relays === undefined ? {} : { name: relay }),
    isOpen: () => relayStates().find((one) => one.relay === relay)?.state === 'closed',
  }));

const withStuckWork = (worker: WorkerHealth, stuckWork: StuckWork): WorkerHealth => {
  const waiting = stuckWork.of(worker.name);
  return waiting === undefined ? worker : { ...worker, stuckWork: waiting.count, lastFault: waiting.fault };
};

export const openHealthWatch = (deps: HealthWatchDeps): HealthWatch => {
  const { clock, logger } = deps;
  let found: readonly HealthReason[] = [];
  const told = new Set<HealthCode>();
  let lastHead = 0;
  let isDelivered = true;

  const unseen = new Set<Relay>();

  const current = (): readonly HealthReason[] => [
    ...deps.commits.noted(),
    ...clockReasons(deps),
    ...limiterReasons(deps),
    ...copyReasons(deps),
    ...relayReasons(deps, unseen),
    ...found,
  ];

  /** Logs one line when a reason begins and one when it ends. */
  const logChanges = (): void => {
    const reasons = current();
    for (const { code, message } of reasons) if (!told.has(code)) logger.warn({ code }, message);
    for (const code of told) if (!reasons.some((reason) => reason.code === code)) logger.info({ code }, 'that is over');
    told.clear();
    for (const { code } of reasons) told.add(code);
  };

  const lookAtLog = async (): Promise<readonly HealthReason[]> => {
    const behind = deps.runners.filter((runner) => runner.isBehind(lastHead)).length;
    lastHead = await deps.eventLog.head();
    return lagReasons(behind);
  };

  const lookAtWork = async (): Promise<readonly HealthReason[]> => {
    const wasDelivered = isDelivered;
    isDelivered = (await deps.isDelivered?.()) ?? true;
    // Processes that start together, or take over from each other, have no lease for a moment.
    const undelivered = wasDelivered || isDelivered ? [] : [nobodyDelivers];
    return [...undelivered, ...(await queueReasons(deps))];
  };

  /** Asks the relay until it takes the first session: a wrong address or password is told before the first mail. */
  const lookAtRelay = async (relay: Relay, signal: AbortSignal): Promise<void> => {
    for (;;) {
      const isTaken = await relay.probe({ signal });
      if (signal.aborted) return;
      if (isTaken) unseen.delete(relay);
      else unseen.add(relay);
      if (isTaken) return;
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  };

  return {
    noted: current,
    worker: {
      name: 'watch-health',
      run: async (signal) => {
        const relaysSeen = Promise.all((deps.relays ?? []).map((relay) => lookAtRelay(relay, signal)));
        while (!signal.aborted) {
          found = [
            ...(await unlessAway(logAway, lookAtLog)),
            ...(await unlessAway(readModelsAway, lookAtWork)),
            ...(await diskReasons(deps)),
            ...(deps.certificates?.() ?? []),
          ];
          logChanges();
          await clock.sleep(LOOK_EVERY_MS, signal);
        }
        await relaysSeen;
      },
    },
  };
};

/** Out: what `look` finds, or `away` if the server that it asks does not answer. */
const unlessAway = async (
  away: HealthReason,
  look: () => Promise<readonly HealthReason[]>,
): Promise<readonly HealthReason[]> => {
  try {
    return await look();
  } catch (fault) {
    if (fault instanceof StoreAway) return [away];
    throw fault;
  }
};

const clockReasons = ({ leapMs }: HealthWatchDeps): readonly HealthReason[] => {
  const ms = Math.round(leapMs());
  const message = `the time of day was set by ${ms} ms; the service goes on by its own clock until that of the machine is confirmed`;
  return ms === 0 ? [] : [{ code: 'CLOCK_SET', message }];
};

const copyReasons = ({ copied }: HealthWatchDeps): readonly HealthReason[] =>
  copied === undefined ? [] : [{ code: 'DATA_COPIED', message: copied }];

const limiterReasons = ({ limiterMode }: HealthWatchDeps): readonly HealthReason[] =>
  limiterMode?.() === 'per-process'
    ? [
        {
          code: 'LIMITER_AWAY',
          message: 'the server of the limiter does not answer: each process counts requests by itself',
        },
      ]
    : [];

const relayReasons = (
  { relays = [] }: HealthWatchDeps,
  unseen: { has: (relay: Relay) => boolean },
): readonly HealthReason[] => {
  const away = relays.filter((relay) => !relay.isOpen() || unseen.has(relay));
  if (away.length === 0) return [];
  const named = away.map(({ name, host }) => (name === undefined ? host : `${name} (${host})`)).join(', ');
  const takes = `the ${away.length === 1 ? `relay ${named} takes` : `relays ${named} take`} no session`;
  const effect = away.length === relays.length ? 'mail is held until it does' : 'mail goes by the others, or is held';
  return [{ code: 'RELAY_AWAY', message: `${takes}: ${effect}` }];
};

const lagReasons = (behind: number): readonly HealthReason[] =>
  behind === 0
    ? []
    : [
        {
          code: 'READ_MODELS_BEHIND',
          message: `${counted(behind, 'read model is', 'read models are')} more than 10 seconds behind the log`,
        },
      ];

const queueReasons = async ({ queue, clock }: HealthWatchDeps): Promise<readonly HealthReason[]> => {
  const { oldestDueAt, deferred } = await queue();
  const reasons: HealthReason[] = [];
  const ageMs = oldestDueAt === undefined ? 0 : clock.now() - Date.parse(oldestDueAt);
  if (ageMs >= QUEUE_OLD_MS)
    reasons.push({ code: 'QUEUE_OLD', message: `an email has been due for ${Math.floor(ageMs / 60_000)} minutes` });
  if (deferred >= DEFERRED_MAX)
    reasons.push({ code: 'MAIL_DEFERRED', message: `${DEFERRED_MAX} emails or more wait for another attempt` });
  return reasons;
};

const diskReasons = async ({ disk }: HealthWatchDeps): Promise<readonly HealthReason[]> => {
  const freeBytes = await disk.freeBytes();
  const message = `the disk of the data directory has ${Math.floor(freeBytes / MEBIBYTE)} MiB left`;
  return freeBytes >= DISK_LOW_BYTES ? [] : [{ code: 'DISK_LOW', message }];
};

/** Notes whether appends to the log succeed, and whether new keys can be kept. */
export const watchCommits = (clock: Clock): CommitWatch => {
  let refusedMs: number | undefined;
  let keyRefusedMs: number | undefined;
  return {
    watched: (store) => ({
      ...store,
      append: async (...given) => {
        try {
          const outcome = await store.append(...given);
          refusedMs = outcome.kind === 'unknown' ? clock.monotonic() : undefined;
          return outcome;
        } catch (fault) {
          refusedMs = clock.monotonic();
          throw fault;
        }
      },
    }),
    watchedKeys: (keys) => ({
      ...keys,
      create: async () => {
        try {
          const made = await keys.create();
          keyRefusedMs = undefined;
          return made;
        } catch (fault) {
          keyRefusedMs = clock.monotonic();
          throw fault;
        }
      },
    }),
    noted: () => {
      const lastMs = Math.max(refusedMs ?? Number.NEGATIVE_INFINITY, keyRefusedMs ?? Number.NEGATIVE_INFINITY);
      if (lastMs === Number.NEGATIVE_INFINITY) return [];
      const code = clock.monotonic() - lastMs < REFUSED_FOR_MS ? 'COMMITS_FAIL' : 'COMMITS_FAILED';
      const what =
        refusedMs === undefined
          ? 'no new key could be kept'
          : 'the log did not take the last events that were appended';
      return [{ code, message: `${what}; the disk is full or refuses, or the server is away` }];
    },
  };
};
