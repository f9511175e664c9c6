/**
 * Services that run on the configured stores, known by leases and file locks. Keeps a second service, or a repair, from
 * running beside the first.
 */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from '../../domain/ports/worker.js';
import {
  underAnyLease,
  type LeaseDeps,
  DISPATCH_LEASE,
  LEASE_TTL_MS,
  projectionLease,
} from '../../processors/core/lease.js';
import { systemClock } from '../../adapters/clock/system.js';
import { systemIds } from '../../adapters/ids/system.js';
import { openLogger } from '../../adapters/logger/pino.js';
import { holdLock, isLockHeld } from '../../adapters/sqlite/database.js';
import { ConfigError, type Config } from '../settings/config.js';
import { openLeases } from './stores.js';
import type { Lease, Leases } from '../../domain/ports/lease.js';
import { makeProjections } from '../../projections/index.js';
import { isLocal, placeOf } from '../settings/urls.js';

type ServingLease = Readonly<{
  /** Holds the lease until it is stopped. */
  worker: Worker;
  /** Resolves when the other processes can see this one by its lease. It answers no request before. */
  whenSeen: Promise<void>;
  /** True if no other process answers requests; false if the leases cannot be read. */
  alone: () => Promise<boolean>;
}>;

type Held = Readonly<{ release: () => Promise<void> }>;

type DataLock = Readonly<{ release: () => void }>;

/** The most processes that may serve one set of stores. */
const SERVERS_MAX = 64;
/**
 * The leases `http-1`, `http-2`, …: each serving process holds one, so that every process can tell whether it serves
 * alone.
 */
const servingLeases: readonly string[] = Array.from({ length: SERVERS_MAX }, (_, index) => `http-${index + 1}`);

/** The lease of a command that no service may run beside. */
const STOPPED_LEASE = 'stopped';

/**
 * `follow` lets this process serve states from memory. It runs under the lease: a process that the others cannot see
 * reads the log for each state.
 */
export const openServingLease = (deps: LeaseDeps, follow: (signal: AbortSignal) => Promise<void>): ServingLease => {
  let seen = (): void => {};
  const whenSeen = new Promise<void>((resolve) => (seen = resolve));
  return {
    whenSeen,
    worker: {
      name: 'serving',
      run: (stop) =>
        underAnyLease(deps, servingLeases, stop, async ({ signal }) => {
          seen();
          await follow(signal);
        }),
    },
    alone: async () => {
      try {
        const held = await Promise.all(servingLeases.map((name) => deps.leases.read(name)));
        return held.every((lease) => lease === undefined || lease.holder === deps.worker);
      } catch {
        return false;
      }
    },
  };
};

/** Throws ConfigError while a command is at work that no service may run beside. */
export const assertMayServe = async (config: Config, leases: Leases): Promise<void> => {
  if (!isAlone(config) && (await leases.read(STOPPED_LEASE)) !== undefined)
    throw new ConfigError(
      `A command that needs the service stopped is at work on ${placeOf(config.urls.eventStore)}; start again when it has ended.`,
    );
};

/**
 * Takes the file locks that a service holds while it runs, whatever its roles. With a bus in the process, only one
 * process may deliver from a data directory. Throws ConfigError if a lock is taken.
 */
export const holdRole = (config: Config): DataLock => {
  const service = holdLock({ file: serviceLockOf(config), shared: true });
  if (service === undefined)
    throw new ConfigError(`A sealpost repair or restore works on ${config.dataDir}; start when it is done.`);
  if (!config.roles.includes('process') || !isLocal(config.urls.bus)) return service;
  const delivering = holdLock({ file: lockFileOf(config) });
  if (delivering !== undefined) return both(delivering, service);
  service.release();
  throw new ConfigError(
    `Another sealpost already delivers from ${config.dataDir}; stop it, or set SEALPOST_ROLES=http for this one, or SEALPOST_BUS_URL to a server of NATS, by which several share the work.`,
  );
};

/**
 * Keeps services from running until it is released. A service of an older version is noticed only if it delivers.
 * Throws ConfigError if a service runs.
 */
export const holdStopped = async (config: Config): Promise<Held> => {
  const local = holdData(config);
  if (isAlone(config)) return { release: async () => local.release() };
  try {
    const leases = await leasesOf(config);
    try {
      const lease = await leases.acquire(STOPPED_LEASE, systemIds().uuid(), LEASE_TTL_MS);
      if (lease === undefined || (await isAnyHeld(leases, everyLease(config))))
        throw stillRuns(placeOf(config.urls.eventStore));
      return keptAlive(leases, lease, local.release);
    } catch (fault) {
      await leases.close();
      throw fault;
    }
  } catch (fault) {
    local.release();
    throw fault;
  }
};

/**
 * Names its own inode. A copy of the file has another; a directory that is mounted elsewhere, or moved on its disk,
 * keeps it.
 */
const placeFileOf = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'place.json');

/**
 * A sentence where the data directory is a copy of one on which a service has run, for the log is in it; undefined
 * where it is not.
 */
export const copyFault = (config: Config): string | undefined => {
  const file = placeFileOf(config);
  const noted = isLocal(config.urls.eventStore) ? notedInode(file) : undefined;
  return noted === undefined || noted === inodeOf(file)
    ? undefined
    : `${config.dataDir} is a copy of a data directory on which a service has run: two services on copies deliver the same mails twice. ` +
        `If none runs on the other, delete ${file} and start again`;
};

/** undefined if the file is not there, or a start broke off while it was written. */
const notedInode = (file: string): string | undefined =>
  existsSync(file) ? /^\{"inode":"(\d+)"\}$/.exec(readFileSync(file, 'utf8').trim())?.[1] : undefined;

const inodeOf = (file: string): string => String(statSync(file, { bigint: true }).ino);

/** Notes the place of a data directory that has none. */
export const notePlace = (config: Config): void => {
  const file = placeFileOf(config);
  if (!isLocal(config.urls.eventStore) || notedInode(file) !== undefined) return;
  writeFileSync(file, '', { mode: 0o600 });
  writeFileSync(file, `${JSON.stringify({ inode: inodeOf(file) })}\n`);
};

/** The directory is a place of its own from the next start on. */
export const forgetPlace = (config: Config): void => rmSync(placeFileOf(config), { force: true });

/** Whether a service delivers from these stores now. */
export const isRunning = async (config: Config): Promise<boolean> => {
  if (isAlone(config) && isLocal(config.urls.bus)) return isLockHeld({ file: lockFileOf(config) });
  const leases = await leasesOf(config);
  try {
    return await isAnyHeld(leases, [DISPATCH_LEASE]);
  } finally {
    await leases.close();
  }
};

const stillRuns = (place: string): ConfigError =>
  new ConfigError(
    `A sealpost runs on ${place} (of whatever role, or another repair or restore); stop it, then repeat this.`,
  );

const holdData = (config: Config): DataLock => {
  const service = holdLock({ file: serviceLockOf(config) });
  const delivering = service && holdLock({ file: lockFileOf(config) });
  if (service !== undefined && delivering !== undefined) return both(delivering, service);
  service?.release();
  throw stillRuns(config.dataDir);
};

const lockFileOf = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'process.lock');
const serviceLockOf = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'service.lock');

/** Whether file locks of this machine tell of every service; otherwise leases do. */
const isAlone = ({ urls }: Pick<Config, 'urls'>): boolean => isLocal(urls.eventStore) && isLocal(urls.leases);

const both = (one: DataLock, other: DataLock): DataLock => ({
  release: () => {
    one.release();
    other.release();
  },
});

const leasesOf = (config: Config): Promise<Leases> =>
  openLeases(config, { clock: systemClock(), ids: systemIds(), logger: openLogger({ level: 'silent' }) });

/** Each running service holds at least one of these. */
const everyLease = ({ limits }: Config): readonly string[] => [
  DISPATCH_LEASE,
  ...servingLeases,
  ...makeProjections(limits).map(({ name }) => projectionLease(name)),
];

const isAnyHeld = async (leases: Leases, names: readonly string[]): Promise<boolean> =>
  (await Promise.all(names.map((name) => leases.read(name)))).some((lease) => lease !== undefined);

const keptAlive = (leases: Leases, lease: Lease, released: () => void): Held => {
  const ended = new AbortController();
  const renewing = (async () => {
    for (;;) {
      await systemClock().sleep(LEASE_TTL_MS / 3, ended.signal);
      if (ended.signal.aborted) return;
      // A failed renewal is followed by the next.
      await leases.renew(lease, LEASE_TTL_MS).catch(() => {});
    }
  })();
  return {
    release: async () => {
      ended.abort();
      await renewing;
      await leases.release(lease).catch(() => {});
      await leases.close();
      released();
    },
  };
};
