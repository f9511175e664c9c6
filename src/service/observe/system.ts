/**
 * The operators' view of the instance: every process tells the others every ten seconds how it is doing, and the one
 * that answers adds what the stores know.
 */
import { createHash } from 'node:crypto';
import type { System, SystemProcess } from '../../api/core/system.js';
import { DEFAULT_RELAY, leftOfDay, relayDaysDecider } from '../../domain/email/relays.js';
import { StoreAway } from '../../domain/core/errors.js';
import { relayStream } from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import { readinessOf } from '../../domain/core/readiness.js';
import { isoTime } from '../../domain/core/time.js';
import type { Bus, priorities } from '../../domain/ports/bus.js';
import type { Disk } from '../../domain/ports/disk.js';
import type { Processes } from '../../domain/ports/processes.js';
import type { Health, Worker } from '../../domain/ports/worker.js';
import { loadState } from '../../commands/core/handle.js';
import { current } from '../../event-log/codec.js';
import { newestSeal } from '../../event-log/ledger.js';
import type { Processor } from '../../processors/core/declaration.js';
import type { RelayState, Relays } from '../../processors/email/routes.js';
import type { Runner } from '../../projections/core/runner.js';
import { waitingSince } from '../../projections/bulk/batches.js';
import { queueFigures } from '../../projections/email/queue.js';
import type { Engine } from '../engine.js';
import { readDone } from '../ops/done.js';
import type { Config } from '../settings/config.js';
import { kindOf } from '../settings/urls.js';
import { version } from '../version.js';

type SystemDeps = Pick<Engine, 'clock' | 'eventLog' | 'readModels' | 'store'> &
  Readonly<{
    config: Pick<Config, 'dataDir' | 'roles' | 'urls'>;
    /** The name of this run of the program. */
    worker: string;
    processes: Processes;
    health: Health;
    disk: Disk;
    bus: Pick<Bus, 'depth'>;
    processors: readonly Pick<Processor, 'name' | 'gate'>[];
    relays?: Pick<Relays, 'list'>;
    relayStates: () => readonly RelayState[];
    runners: ReadonlyMap<string, Pick<Runner, 'position' | 'isBehind'>>;
  }>;

export type SystemView = Readonly<{
  /** Tells the other processes how this one is doing. */
  worker: Worker;
  read: () => Promise<System>;
}>;

const TOLD_EVERY_MS = 10_000;
/** A process that has not told anything for so long is not shown. */
const SHOWN_FOR_MS = 35_000;

/** Names the stored forms of events that this version reads and writes. */
const schema = createHash('sha256').update(Object.values(current).sort().join()).digest('hex').slice(0, 12);

export const openSystemView = (deps: SystemDeps): SystemView => {
  const { clock, processes, worker: id } = deps;
  const [startedMs, startedAt] = [clock.monotonic(), isoTime(clock.now())];
  const lags = openLags(deps);

  const own = async (): Promise<SystemProcess> => {
    const { health, processors, bus, runners } = deps;
    const workers = health
      .workers()
      .map(({ name, state, restarts, lastFault, stuckWork = 0 }) => ({ name, state, restarts, lastFault, stuckWork }));
    const { status, reasons } = readinessOf({
      accepting: health.accepting(),
      workers,
      log: health.log(),
      noted: health.noted(),
    });
    await lags.look();
    return {
      id,
      answering: false,
      roles: [...deps.config.roles],
      service: version,
      node: process.versions.node,
      schema,
      startedAt,
      uptimeSeconds: Math.floor((clock.monotonic() - startedMs) / 1_000),
      memoryBytes: process.memoryUsage.rss(),
      seenAt: isoTime(clock.now()),
      status,
      reasons: [...reasons],
      workers,
      processors: await Promise.all(
        processors.map(async ({ name, gate }) => ({
          name,
          depth: await bus.depth(name),
          open: gate?.isOpen() ?? true,
        })),
      ),
      relays: await Promise.all(deps.relayStates().map((relay) => relayOf(deps, relay))),
      readModels: [...runners].map(([name, { position }]) => ({
        name,
        position: position(),
        lagSeconds: lags.secondsOf(name),
      })),
    };
  };

  /** Health tells of stores that are away; nothing else depends on this. */
  const tell = async (): Promise<void> => {
    try {
      await processes.tell(id, (await own()) as JsonObject, SHOWN_FOR_MS);
    } catch (fault) {
      if (!(fault instanceof StoreAway)) throw fault;
    }
  };

  return {
    worker: {
      name: 'tell-processes',
      run: async (signal) => {
        try {
          while (!signal.aborted) {
            await tell();
            await clock.sleep(TOLD_EVERY_MS, signal);
          }
        } finally {
          // The list forgets a process by itself, so this may fail.
          await processes.forget(id).catch(() => {});
        }
      },
    },
    read: async () => {
      const [mine, told, stores] = await Promise.all([own(), processes.read(), storesNow(deps)]);
      const others = (told as unknown as readonly SystemProcess[]).filter((one) => one.id !== id);
      return { ...stores, processes: [{ ...mine, answering: true }, ...others] };
    },
  };
};

/** Facts of the stores, whichever process answers. */
const storesNow = async (deps: SystemDeps): Promise<Omit<System, 'processes'>> => {
  const { clock, config, disk, eventLog, readModels, store } = deps;
  const [head, seal, figures, diskFreeBytes] = await Promise.all([
    eventLog.head(),
    newestSeal(store),
    queueFigures(readModels, waitingSince(readModels)),
    disk.freeBytes(),
  ]);
  const { verify, log, keys } = readDone(config.dataDir);
  const queueOf = (priority: (typeof priorities)[number]): System['queue']['high'] => {
    const { queued, deferred, held, oldestDueAt } = figures.find((one) => one.priority === priority)!;
    return { queued, deferred, held, oldestDueAt: oldestDueAt ?? null };
  };
  return {
    asOf: isoTime(clock.now()),
    engine: {
      eventStore: kindOf(config.urls.eventStore),
      readModels: kindOf(config.urls.readModels),
      keys: kindOf(config.urls.keys),
      files: kindOf(config.urls.files),
      leases: kindOf(config.urls.leases),
      bus: kindOf(config.urls.bus),
      limiter: kindOf(config.urls.limiter),
    },
    log: {
      head,
      lastSeal: seal === undefined ? null : { at: seal.at, position: seal.position },
      lastVerify: verify ?? null,
    },
    backups: { log: log ?? null, keys: keys ?? null },
    queue: { high: queueOf('high'), normal: queueOf('normal'), low: queueOf('low') },
    diskFreeBytes,
  };
};

const relayOf = async (
  { clock, eventLog, relays }: SystemDeps,
  { relay: name, host, state: breaker }: RelayState,
): Promise<SystemProcess['relays'][number]> => {
  const { ratePerSecond, rampUp } = relays?.list.find((one) => one.name === name) ?? {};
  const left =
    rampUp === undefined || name === DEFAULT_RELAY
      ? undefined
      : leftOfDay((await loadState(eventLog, relayStream(name), relayDaysDecider)).state, isoTime(clock.now()), rampUp);
  return { name, host, breaker, ratePerSecond: ratePerSecond ?? null, leftToday: left ?? null };
};

/** Positions are opaque, so a lag is the time since this process first saw the log ahead of the read model. */
const openLags = ({ clock, eventLog, runners }: Pick<SystemDeps, 'clock' | 'eventLog' | 'runners'>) => {
  const seen = new Map<string, Readonly<{ head: number; atMs: number }>>();
  return {
    look: async (): Promise<void> => {
      const head = await eventLog.head();
      for (const [name, runner] of runners) {
        const first = seen.get(name);
        if (first !== undefined && runner.isBehind(first.head)) continue;
        if (runner.isBehind(head)) seen.set(name, { head, atMs: clock.monotonic() });
        else seen.delete(name);
      }
    },
    secondsOf: (name: string): number => {
      const first = seen.get(name);
      return first === undefined ? 0 : Math.floor((clock.monotonic() - first.atMs) / 1_000);
    },
  };
};
