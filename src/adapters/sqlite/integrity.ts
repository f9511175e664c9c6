/** Whether a database is whole: SQLite looks at every page of it. */
import { existsSync } from 'node:fs';
import { isSqliteError, openDatabase } from './database.js';

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
