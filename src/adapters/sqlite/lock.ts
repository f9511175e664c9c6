/** Locks of the operating system, which frees them when the process that holds them dies, however it dies. */
import { existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { createPrivately, isSqliteError } from './database.js';

export type Lock = Readonly<{ release: () => void }>;

/** `shared`: many may hold it so at once, and nobody alone meanwhile. Default: alone. */
export type LockOptions = Readonly<{ file: string; shared?: boolean }>;

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
