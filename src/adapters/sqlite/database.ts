/** Opens SQLite databases with the settings that every adapter here relies on; this folder alone imports the driver. */
import { closeSync, openSync, existsSync, fsyncSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { makeDirectory } from '../../shared/files.js';
import type { LogNote, NotedStore } from '../../domain/ports/log-note.js';

export type Database = Sqlite.Database;
export type Statement<Parameters extends unknown[] = unknown[], Row = unknown> = Sqlite.Statement<Parameters, Row>;

type DatabaseOptions = Readonly<{
  file: string;
  /** `full`: a commit survives a power loss; `normal`: it survives a crash of the process; `off`: for a file that is thrown away after any crash. */
  synchronous: 'full' | 'normal' | 'off';
  /** `wal` lets other processes read and write beside us; `memory` is for a file that only we know of. Default `wal`. */
  journal?: 'wal' | 'memory';
  /** Overwrite what is deleted with zeros. */
  secureDelete?: boolean;
  cacheSizeKiB?: number;
  /** Reject a file that does not exist instead of creating it. */
  mustExist?: boolean;
}>;

/** How long a statement waits for another process's lock before it fails with SQLITE_BUSY. */
export const busyTimeoutMs = 5_000;
const cacheSizeKiBDefault = 4 * 1024;
/** Pages in the write-ahead log at which a commit also copies them into the database file. */
const walPagesBeforeCheckpoint = 2_000;
const walSizeBytesMax = 64 * 1024 * 1024;

/**
 * Opens (and where needed creates, readable by the owner only) a database file.
 * Throws the driver's SqliteError where the file cannot be opened or is no database.
 */
export const openDatabase = (options: DatabaseOptions): Database => {
  if (options.mustExist !== true) createPrivately(options.file);
  const database = new Sqlite(options.file, { timeout: busyTimeoutMs, fileMustExist: true });
  try {
    database.pragma(`journal_mode = ${options.journal ?? 'wal'}`);
    database.pragma(`synchronous = ${options.synchronous}`);
    database.pragma(`secure_delete = ${options.secureDelete === true ? 'on' : 'off'}`);
    database.pragma(`cache_size = -${options.cacheSizeKiB ?? cacheSizeKiBDefault}`);
    // Sorting a whole table takes more memory than we have to give; everything else is small and stays off the disk.
    database.pragma(`temp_store = ${options.journal === 'memory' ? 'file' : 'memory'}`);
    if (options.journal === 'memory') database.pragma('locking_mode = exclusive');
    database.pragma(`wal_autocheckpoint = ${walPagesBeforeCheckpoint}`);
    database.pragma(`journal_size_limit = ${walSizeBytesMax}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

/**
 * Makes the file, readable by its owner only, where there is none; its log and index take their mode from it.
 * A file that exists is not even opened: closing it would drop every lock that this process holds on it (POSIX).
 */
const createPrivately = (file: string): void => {
  makeDirectory(dirname(file));
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
};

/** True where the driver reports that code, e.g. `SQLITE_BUSY`; extended codes such as `SQLITE_BUSY_SNAPSHOT` count too. */
export const isSqliteError = (error: unknown, code: string): boolean =>
  error instanceof Sqlite.SqliteError && (error.code === code || error.code.startsWith(`${code}_`));

/** Runs `work` in one write transaction (or as a part of the open one): all of it is done, or nothing where it throws. */
export const inTransaction = <Result>(database: Database, work: () => Result): Result => {
  const [begin, end, undo] = database.inTransaction ? part : whole;
  database.exec(begin);
  try {
    const result = work();
    database.exec(end);
    return result;
  } catch (error) {
    // Some errors, such as a full disk, have ended the transaction already.
    if (database.inTransaction) database.exec(undo);
    throw error;
  }
};

const whole = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'] as const;
const part = ['SAVEPOINT part', 'RELEASE part', 'ROLLBACK TO part; RELEASE part'] as const;

/* A copy of a database while others read and write it. */

/** More than any database has: all is copied in one step, for which the source is read as it is at one moment. */
const ALL_PAGES = 0x7fff_ffff;

/** Resolves when the copy, readable by its owner only, survives a power loss. There must be no file of that name. */
export const copyDatabase = async ({ from, to }: Readonly<{ from: string; to: string }>): Promise<void> => {
  if (existsSync(to)) throw new Error(`${to} is there already`);
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  createPrivately(to);
  const source = openDatabase({ file: from, synchronous: 'normal', cacheSizeKiB: 64, mustExist: true });
  try {
    await source.backup(to, { progress: () => ALL_PAGES });
  } finally {
    source.close();
  }
  for (const path of [to, dirname(to)]) syncPath(path);
};

const syncPath = (path: string): void => {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
};

/* Whether a database is whole: SQLite looks at every page of it. */

/** Out: undefined where it is whole or not there, else what is wrong in SQLite's words. It may run beside those who use the file. */
export const damageOf = ({ file }: Readonly<{ file: string }>): string | undefined => {
  if (!existsSync(file)) return undefined;
  try {
    const database = openDatabase({ file, synchronous: 'normal', cacheSizeKiB: 1_024, mustExist: true });
    try {
      const said = String(database.pragma('quick_check(1)', { simple: true }));
      return said === 'ok' ? undefined : said;
    } finally {
      database.close();
    }
  } catch (error) {
    // Somebody fills it right now.
    if (isSqliteError(error, 'SQLITE_BUSY')) return undefined;
    return error instanceof Error ? error.message : 'cannot be opened';
  }
};

/* Locks of the operating system, which frees them when the process that holds them dies, however it dies. */

type Lock = Readonly<{ release: () => void }>;

/** `shared`: many may hold it so at once, and nobody alone meanwhile. Default: alone. */
type LockOptions = Readonly<{ file: string; shared?: boolean }>;

/** In: the lock's own file (made where there is none). Out: the lock, or undefined where another holder stands against it. */
export const holdLock = ({ file, shared = false }: LockOptions): Lock | undefined => {
  createPrivately(file);
  const database = new Sqlite(file, { timeout: 0 });
  try {
    // A journal on disk would be left behind by a process that is killed.
    database.pragma('journal_mode = memory');
    // An open transaction of a rollback journal is a lock on the file itself; nothing is ever written.
    database.exec(shared ? 'BEGIN; SELECT count(*) FROM sqlite_schema' : 'BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isSqliteError(error, 'SQLITE_BUSY')) return undefined;
    throw error;
  }
  return { release: () => void database.close() };
};

/** True where somebody holds the lock of that file, in this process or another. Asking does not keep another from taking it. */
export const isLockHeld = ({ file }: Readonly<{ file: string }>): boolean => {
  if (!existsSync(file)) return false;
  const database = new Sqlite(file, { timeout: 0 });
  try {
    // Reading takes a shared lock, which an exclusive one refuses.
    database.pragma('user_version');
    return false;
  } catch (error) {
    if (isSqliteError(error, 'SQLITE_BUSY')) return true;
    throw error;
  } finally {
    database.close();
  }
};

/* The note of the log in a SQLite database: one row beside what the database holds. */

const schema = `
  CREATE TABLE IF NOT EXISTS log_note (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    instance TEXT NOT NULL,
    position INTEGER NOT NULL,
    hash TEXT NOT NULL
  ) STRICT`;

/** In: a database file, which exists; the note has a connection of its own, for it is written beside all other work. */
export const openLogNote = ({ file }: Readonly<{ file: string }>): NotedStore => {
  const database = openDatabase({ file, synchronous: 'full', cacheSizeKiB: 64, mustExist: true });
  database.exec(schema);
  const select = database.prepare<[], LogNote>('SELECT instance, position, hash FROM log_note');
  const upsert = database.prepare('INSERT OR REPLACE INTO log_note (one, instance, position, hash) VALUES (1, ?, ?, ?)');
  return {
    place: file,
    note: async () => select.get(),
    setNote: async ({ instance, position, hash }) => void upsert.run(instance, position, hash),
    close: async () => void database.close(),
  };
};

/* Empties the write-ahead log of a database, in which pages still stand as they were before something was erased from them. */

export type LogTruncation = Readonly<{
  /** Copies the log into the database and cuts it to nothing; where another process reads at this moment, it is tried again soon. */
  now: () => void;
  /** The same within `withinMs`; calls until then share one truncation. */
  soon: () => void;
  /** Does what was asked for and is not done. */
  close: () => void;
}>;

type LogTruncationOptions = Readonly<{
  database: Database;
  /** A truncation waits for the disk, so this also bounds how often it is done. */
  withinMs: number;
  /** Told of a fault of the disk; it is tried again. */
  onFault: (fault: Error) => void;
}>;

export const logTruncation = ({ database, withinMs, onFault }: LogTruncationOptions): LogTruncation => {
  let timer: NodeJS.Timeout | undefined;

  const now = (): void => {
    clearTimeout(timer);
    timer = undefined;
    // Another process may be reading the file: it is not waited for, since that would hold the event loop.
    database.pragma('busy_timeout = 0');
    const busy = database.pragma('wal_checkpoint(TRUNCATE)', { simple: true });
    database.pragma(`busy_timeout = ${busyTimeoutMs}`);
    if (busy !== 0) soon();
  };

  const soon = (): void => {
    timer ??= setTimeout(() => {
      try {
        now();
      } catch (fault) {
        onFault(fault instanceof Error ? fault : new Error('not an Error'));
        soon();
      }
    }, withinMs).unref();
  };

  return {
    now,
    soon,
    close: () => {
      if (timer !== undefined) now();
      clearTimeout(timer);
    },
  };
};
