/** A lock for a role that only one process per data directory may have; the operating system frees it when the process dies. */
import Sqlite from 'better-sqlite3';
import { createPrivately, isSqliteError } from './database.js';

/** In: the lock's own file (made where there is none). Out: the lock, or undefined where another holder lives. */
export const holdLock = ({ file }: Readonly<{ file: string }>): { release: () => void } | undefined => {
  createPrivately(file);
  const database = new Sqlite(file, { timeout: 0 });
  try {
    // An open exclusive transaction of a rollback journal is a lock on the file itself; nothing is ever written.
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isSqliteError(error, 'SQLITE_BUSY')) return undefined;
    throw error;
  }
  return { release: () => void database.close() };
};
