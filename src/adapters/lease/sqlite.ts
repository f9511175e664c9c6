/**
 * Leases as rows of a SQLite file of their own. A lease ends when its time is over, and at once when the process that
 * holds it dies: beside its row stands a lock of the operating system. A frozen process keeps that lock, and loses the
 * lease after its time.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { holdLock, isLockHeld, inTransaction, openDatabase, type Database } from '../sqlite/database.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Lease, Leases } from '../../domain/ports/lease.js';

type SqliteLeasesOptions = Readonly<{
  /** The database file; the lock files stand in a directory of the same name with `-locks`. */
  file: string;
  /** Its monotonic time must be that of the machine, so that every process measures a lease alike. */
  clock: Clock;
  /** A name that never comes again, for this open instance. */
  freshName: () => string;
}>;

type Row = Readonly<{ holder: string; instance: string; fence: number; endMs: number }>;

/**
 * Tells which open instances live: each holds a lock of the operating system on a file of its own, which ends with its
 * process.
 */
type Presence = Readonly<{
  /** The unique name of this instance. */
  instance: string;
  isAlive: (instance: string) => boolean;
  /** From then on this instance counts as dead. */
  close: () => void;
}>;

const attemptsMax = 100;

const cacheSizeKiB = 256;

export const openSqliteLeases = ({ file, clock, freshName }: SqliteLeasesOptions): Leases => {
  const database = openDatabase({ file, synchronous: 'normal', cacheSizeKiB });
  const presence = openPresence(`${file}-locks`, freshName);
  const table = leaseTable(database, clock.now());

  const leaseOf = (name: string, { holder, fence, endMs }: Omit<Row, 'instance'>): Lease => ({
    name,
    holder,
    fence,
    untilMs: Math.ceil(clock.now() + endMs - clock.monotonic()),
  });
  const isHeld = ({ endMs, instance }: Row): boolean => endMs > clock.monotonic() && presence.isAlive(instance);
  const held = (name: string): Row | undefined => {
    const row = table.find(name);
    return row !== undefined && isHeld(row) ? row : undefined;
  };

  const acquire = (name: string, holder: string, ttlMs: number): Lease | undefined => {
    const current = held(name);
    if (current !== undefined && current.holder !== holder) return undefined;
    const fence = current?.fence ?? table.nextFence();
    const row = { holder, instance: presence.instance, fence, endMs: clock.monotonic() + ttlMs };
    table.put(name, row);
    return leaseOf(name, row);
  };

  const renew = (lease: Lease, ttlMs: number): Lease | undefined => {
    const current = held(lease.name);
    if (current?.fence !== lease.fence) return undefined;
    const row = { ...current, endMs: clock.monotonic() + ttlMs };
    table.put(lease.name, row);
    return leaseOf(lease.name, row);
  };

  return {
    acquire: async (name, holder, ttlMs) => durably(database, () => acquire(name, holder, ttlMs)),
    renew: async (lease, ttlMs) => inTransaction(database, () => renew(lease, ttlMs)),
    release: async ({ name, fence }) => table.remove(name, fence),
    read: async (name) => {
      const row = held(name);
      return row && leaseOf(name, row);
    },
    close: async () => {
      if (!database.open) return;
      table.removeOf(presence.instance);
      presence.close();
      database.close();
    },
  };
};

/**
 * Commits to the disk: a fence must never be given out twice, so it has to survive a power loss. Other changes need
 * not.
 */
const durably = <Result>(database: Database, work: () => Result): Result => {
  database.pragma('synchronous = full');
  try {
    return inTransaction(database, work);
  } finally {
    database.pragma('synchronous = normal');
  }
};

/**
 * The rows of leases. One fence counts over all names, so that it goes on when a row is removed. In a new file it
 * begins with the time, so that it is above those of a file that was deleted.
 */
const leaseTable = (database: Database, nowMs: number) => {
  database.exec(`
    CREATE TABLE IF NOT EXISTS leases (
      name TEXT PRIMARY KEY, holder TEXT NOT NULL, instance TEXT NOT NULL, fence INTEGER NOT NULL, endMs REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS lastFence (id INTEGER PRIMARY KEY CHECK (id = 1), fence INTEGER NOT NULL) STRICT;
    INSERT OR IGNORE INTO lastFence (id, fence) VALUES (1, ${Math.floor(nowMs)});
  `);
  const find = database.prepare<[string], Row>('SELECT holder, instance, fence, endMs FROM leases WHERE name = ?');
  const put = database.prepare<[string, string, string, number, number]>(
    `INSERT INTO leases (name, holder, instance, fence, endMs) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, instance = excluded.instance, fence = excluded.fence, endMs = excluded.endMs`,
  );
  const next = database.prepare<[], { fence: number }>('UPDATE lastFence SET fence = fence + 1 RETURNING fence');
  const remove = database.prepare<[string, number]>('DELETE FROM leases WHERE name = ? AND fence = ?');
  const removeOf = database.prepare<[string]>('DELETE FROM leases WHERE instance = ?');
  return {
    find: (name: string): Row | undefined => find.get(name),
    put: (name: string, { holder, instance, fence, endMs }: Row): void =>
      void put.run(name, holder, instance, fence, endMs),
    nextFence: (): number => next.get()!.fence,
    remove: (name: string, fence: number): void => void remove.run(name, fence),
    removeOf: (instance: string): void => void removeOf.run(instance),
  };
};

/** In: the directory of the lock files, made if there is none. */
const openPresence = (directory: string, freshName: () => string): Presence => {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const fileOf = (instance: string): string => join(directory, `${instance}.lock`);
  sweep(directory);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const instance = freshName();
    const file = fileOf(instance);
    const lock = holdLock({ file });
    // The sweep of another process may have removed the file before it was locked: others would not find the lock.
    if (lock === undefined || !existsSync(file)) {
      lock?.release();
      continue;
    }
    return {
      instance,
      isAlive: (other) => other === instance || isLockHeld({ file: fileOf(other) }),
      close: () => {
        rmSync(file, { force: true });
        lock.release();
      },
    };
  }
  throw new Error(`no lock file in ${directory} could be held`);
};

/** Removes the files of dead instances, each under its lock, so that no process takes it in between. */
const sweep = (directory: string): void => {
  for (const name of readdirSync(directory)) {
    if (!name.endsWith('.lock')) continue;
    const file = join(directory, name);
    const lock = holdLock({ file });
    if (lock === undefined) continue;
    rmSync(file, { force: true });
    lock.release();
  }
};
