/** Opens SQLite databases with the settings that every adapter here relies on; this folder alone imports the driver. */
import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { makeDirectory } from '../../shared/files.js';

export type Database = Sqlite.Database;
export type Statement<Parameters extends unknown[] = unknown[], Row = unknown> = Sqlite.Statement<Parameters, Row>;

export type DatabaseOptions = Readonly<{
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
export const createPrivately = (file: string): void => {
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
