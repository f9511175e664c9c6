/**
 * SQLite for all adapters: opening databases with the settings that they rely on, transactions, copies, checks, locks,
 * the note of the log and the truncation of the write-ahead log. Only this folder imports the driver.
 */
import { closeSync, openSync, existsSync, fsyncSync, mkdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { accessFault, makeDirectory } from '../../shared/files.js';
import { tellingFaults } from '../../shared/port-faults.js';
import { StoreAway } from '../../domain/core/errors.js';
import type { LogNote, NotedStore } from '../../domain/ports/log-note.js';

export type Database = Sqlite.Database;
export type Statement<Parameters extends unknown[] = unknown[], Row = unknown> = Sqlite.Statement<Parameters, Row>;

type DatabaseOptions = Readonly<{
  file: string;
  /**
   * `full`: a commit survives a power loss; `normal`: it survives a crash of the process; `off`: for a file that is
   * deleted after any crash.
   */
  synchronous: 'full' | 'normal' | 'off';
  /**
   * `wal` lets other processes read and write at the same time; `memory` is for a file that only this process uses.
   * Default `wal`.
   */
  journal?: 'wal' | 'memory';
  /** Overwrite deleted rows with zeros. */
  secureDelete?: boolean;
  cacheSizeKiB?: number;
  /** The size of the pages of a file that is made: one that exists keeps its own. Default: 4,096. */
  pageSizeBytes?: number;
  /** Reject a file that does not exist instead of creating it. */
  mustExist?: boolean;
}>;

/** A lock of the operating system, which frees it when the process that holds it dies, however it dies. */
type Lock = Readonly<{ release: () => void }>;

/** `shared`: many may hold the lock at once, but no one exclusively meanwhile. Default: exclusive. */
type LockOptions = Readonly<{ file: string; shared?: boolean }>;

/** Empties the write-ahead log of a database, which still holds pages from before something was erased in them. */
export type LogTruncation = Readonly<{
  /**
   * Copies the log into the database and cuts it to nothing. If another process reads at this moment, it is tried again
   * soon.
   */
  now: () => void;
  /** Truncates within `withinMs`. Calls until then share one truncation. */
  soon: () => void;
  /** Does a truncation that is due. */
  close: () => void;
}>;

type LogTruncationOptions = Readonly<{
  database: Database;
  /** A truncation waits for the disk, so this also bounds how often it is done. */
  withinMs: number;
  /** Called with a fault of the disk. The truncation is tried again. */
  onFault: (fault: Error) => void;
}>;

/** How long a statement waits for another process's lock before it fails with SQLITE_BUSY. */
export const busyTimeoutMs = 5_000;
const cacheSizeKiBDefault = 4 * 1024;
/** Bytes of pages in the write-ahead log at which a commit also copies them into the database file. */
const walBytesBeforeCheckpoint = 8_192_000;
const walSizeBytesMax = 64 * 1024 * 1024;

/** Error codes of SQLite while a disk is full, fails or is read-only, or while another process holds the file. */
const refusals = ['SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_READONLY', 'SQLITE_CANTOPEN', 'SQLITE_BUSY'];

/** More pages than any database has: all are copied in one step, which reads the source as it is at one moment. */
const ALL_PAGES = 0x7fff_ffff;

const whole = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'] as const;
const part = ['SAVEPOINT part', 'RELEASE part', 'ROLLBACK TO part; RELEASE part'] as const;

const schema = `
  CREATE TABLE IF NOT EXISTS log_note (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    instance TEXT NOT NULL,
    position INTEGER NOT NULL,
    hash TEXT NOT NULL
  ) STRICT`;

/**
 * Opens a database file, and creates it, readable by its owner only, if there is none. Throws the driver's SqliteError
 * if the file cannot be opened or is no database. An error that says that the file is damaged, of whatever later call,
 * names the file in its message and its base name in `damagedFile`.
 */
export const openDatabase = (options: DatabaseOptions): Database => {
  if (options.mustExist !== true) createPrivately(options.file);
  return tellingAccess(options.file, () => openExisting(options));
};

const openExisting = (options: DatabaseOptions): Database => {
  const database = namingDamage(
    new Sqlite(options.file, { timeout: busyTimeoutMs, fileMustExist: true }),
    options.file,
  );
  try {
    if (options.pageSizeBytes !== undefined) database.pragma(`page_size = ${options.pageSizeBytes}`);
    database.pragma(`synchronous = ${options.synchronous}`);
    database.pragma(`journal_mode = ${options.journal ?? 'wal'}`);
    database.pragma(`secure_delete = ${options.secureDelete === true ? 'on' : 'off'}`);
    database.pragma(`cache_size = -${options.cacheSizeKiB ?? cacheSizeKiBDefault}`);
    // Sorting a whole table, as for a file with the journal in memory, takes too much memory. All other temporary data
    // is small.
    database.pragma(`temp_store = ${options.journal === 'memory' ? 'file' : 'memory'}`);
    if (options.journal === 'memory') database.pragma('locking_mode = exclusive');
    const pageSizeBytes = Number(database.pragma('page_size', { simple: true }));
    database.pragma(`wal_autocheckpoint = ${Math.floor(walBytesBeforeCheckpoint / pageSizeBytes)}`);
    database.pragma(`journal_size_limit = ${walSizeBytesMax}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

/** The message of SQLite about the damage, by error. The message of the error also names the file. */
const saidOf = new WeakMap<Error, string>();

/** Whether an error says that the content of a file is damaged. A full disk, a lock or a failing disk is no damage. */
export const isDamage = (error: unknown): boolean =>
  isSqliteError(error, 'SQLITE_CORRUPT') || isSqliteError(error, 'SQLITE_NOTADB');

/** The words of SQLite alone. */
export const wordsOfDamage = (error: Error): string => saidOf.get(error) ?? error.message;

/** The driver's calls with errors that name the file. */
const namingDamage = (database: Database, file: string): Database => {
  const rethrow = (error: unknown): never => {
    if (error instanceof Error && isDamage(error) && !saidOf.has(error)) {
      saidOf.set(error, error.message);
      Object.assign(error, { damagedFile: basename(file) });
      error.message = `${file} is damaged (${error.message}); sealpost doctor tells what helps`;
    }
    throw error;
  };
  const named =
    <Given extends unknown[], Result>(call: (...given: Given) => Result): ((...given: Given) => Result) =>
    (...given) => {
      try {
        return call(...given);
      } catch (error) {
        return rethrow(error);
      }
    };
  const ofStatement = (statement: Statement): Statement => {
    const iterate = named(statement.iterate.bind(statement));
    return Object.assign(statement, {
      run: named(statement.run.bind(statement)),
      get: named(statement.get.bind(statement)),
      all: named(statement.all.bind(statement)),
      iterate: (...given: unknown[]) => {
        const rows = iterate(...given);
        return Object.assign(rows, { next: named(rows.next.bind(rows)) });
      },
    });
  };
  const prepare = named(database.prepare.bind(database));
  return Object.assign(database, {
    prepare: (sql: string) => ofStatement(prepare(sql)),
    exec: named(database.exec.bind(database)),
    pragma: named(database.pragma.bind(database)),
  }) as Database;
};

/** Does the work. A fault of the driver that comes from missing access to the file says so, with owner and mode. */
const tellingAccess = <Result>(file: string, work: () => Result): Result => {
  try {
    return work();
  } catch (fault) {
    const isAccess = fault instanceof Sqlite.SqliteError && !isDamage(fault) && !isSqliteError(fault, 'SQLITE_BUSY');
    const why = isAccess ? accessFault(file) : undefined;
    if (why !== undefined) (fault as Error).message = why;
    throw fault;
  }
};

/**
 * Whether the driver reports that code, e.g. `SQLITE_BUSY`; extended codes such as `SQLITE_BUSY_SNAPSHOT` count too.
 */
export const isSqliteError = (error: unknown, code: string): boolean =>
  error instanceof Sqlite.SqliteError && (error.code === code || error.code.startsWith(`${code}_`));

/**
 * Wraps a port, so that its functions, and those of the ports that they answer, reject with StoreAway while the disk
 * refuses or the file stays locked. `what` names the data in the message.
 */
export const tellingRefusals = <Port extends object>(what: string, port: Port): Port =>
  tellingFaults(port, (fault) => {
    const code = refusals.some((refusal) => isSqliteError(fault, refusal))
      ? (fault as InstanceType<typeof Sqlite.SqliteError>).code
      : undefined;
    return code === undefined
      ? fault
      : new StoreAway(`the disk that keeps the ${what} refuses (${code})`, { cause: fault, code });
  });

/** Runs `work` in one write transaction, or as a part of the open one. If it throws, nothing of it is done. */
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

/**
 * Copies a database while others read and write it. Resolves when the copy, readable by its owner only, survives a
 * power loss. There must be no file of that name.
 */
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

/**
 * Checks every page of a database, which others may use meanwhile. Out: undefined if it is whole or not there, else
 * what is damaged in SQLite's words. Throws where it cannot be used for another reason.
 */
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
    // Another process is filling the file.
    if (isSqliteError(error, 'SQLITE_BUSY')) return undefined;
    if (error instanceof Error && isDamage(error)) return wordsOfDamage(error);
    throw error;
  }
};

/** In: the lock's own file, made if there is none. Out: the lock, or undefined if another holder prevents it. */
export const holdLock = ({ file, shared = false }: LockOptions): Lock | undefined => {
  createPrivately(file);
  return tellingAccess(file, () => lockOn({ file, shared }));
};

const lockOn = ({ file, shared }: Required<LockOptions>): Lock | undefined => {
  const database = new Sqlite(file, { timeout: 0 });
  try {
    // A killed process would leave a journal on disk behind.
    database.pragma('journal_mode = memory');
    // An open transaction with a rollback journal is a lock on the file itself. The transaction writes nothing.
    database.exec(shared ? 'BEGIN; SELECT count(*) FROM sqlite_schema' : 'BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isSqliteError(error, 'SQLITE_BUSY')) return undefined;
    throw error;
  }
  return { release: () => void database.close() };
};

/** Whether this process or another holds the lock of that file. The check does not keep others from taking it. */
export const isLockHeld = ({ file }: Readonly<{ file: string }>): boolean => {
  if (!existsSync(file)) return false;
  return tellingAccess(file, () => isLocked(file));
};

const isLocked = (file: string): boolean => {
  const database = new Sqlite(file, { timeout: 0 });
  try {
    // Reading takes a shared lock, which fails beside an exclusive one.
    database.pragma('user_version');
    return false;
  } catch (error) {
    if (isSqliteError(error, 'SQLITE_BUSY')) return true;
    throw error;
  } finally {
    database.close();
  }
};

/**
 * The note of the log in a database file that exists: one row beside its other tables. It has a connection of its own,
 * because it is written beside all other work.
 */
export const openLogNote = ({ file }: Readonly<{ file: string }>): NotedStore => {
  const database = openDatabase({ file, synchronous: 'full', cacheSizeKiB: 64, mustExist: true });
  database.exec(schema);
  const select = database.prepare<[], LogNote>('SELECT instance, position, hash FROM log_note');
  const upsert = database.prepare(
    'INSERT OR REPLACE INTO log_note (one, instance, position, hash) VALUES (1, ?, ?, ?)',
  );
  return {
    place: file,
    note: async () => select.get(),
    setNote: async ({ instance, position, hash }) => void upsert.run(instance, position, hash),
    close: async () => void database.close(),
  };
};

export const logTruncation = ({ database, withinMs, onFault }: LogTruncationOptions): LogTruncation => {
  let timer: NodeJS.Timeout | undefined;

  const now = (): void => {
    clearTimeout(timer);
    timer = undefined;
    // Another process may be reading the file. Waiting for it would block the event loop.
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

/**
 * Makes the file, readable by its owner only, if there is none; its log and index take their mode from it.
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
