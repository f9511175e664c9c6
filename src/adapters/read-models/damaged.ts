/** Files of read models that are damaged: they are told from other failures, and moved out of the way, for all in them is derived. */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSqliteError } from '../sqlite/database.js';

/** Told of a file that was damaged, and where it is now; what it held is made anew. */
export type OnDamaged = (file: string, movedTo: string) => void;

const SUFFIXES = ['', '-wal', '-shm', '-journal'] as const;
const ENDING = '.damaged';

/** True where the content of a file is not what it should be; a full disk, a lock or a failing disk is no damage. */
export const isDamage = (error: unknown): boolean => isSqliteError(error, 'SQLITE_CORRUPT') || isSqliteError(error, 'SQLITE_NOTADB');

/** The same for the opening of a file that must have its tables: one that is missing, cut off or another's is damaged too. */
export const isDamagedAtOpening = (error: unknown, file: string): boolean =>
  isDamage(error) ||
  (isSqliteError(error, 'SQLITE_CANTOPEN') && !existsSync(file)) ||
  (isSqliteError(error, 'SQLITE_ERROR') && error instanceof Error && /^no such (table|column)/.test(error.message));

/** Out: where the file is now. It stays there until the next start. No connection of this process may be open on it. */
export const moveAside = (file: string): string => {
  const aside = `${file}${ENDING}`;
  for (const suffix of SUFFIXES) {
    rmSync(aside + suffix, { force: true });
    if (existsSync(file + suffix)) renameSync(file + suffix, aside + suffix);
  }
  return aside;
};

/** Deletes what was moved aside before, of files whose name begins so. */
export const forgetDamaged = (prefix: string): void => {
  const name = basename(prefix);
  for (const entry of readdirSync(dirname(prefix)))
    if (entry.startsWith(name) && /\.damaged(-wal|-shm|-journal)?$/.test(entry)) rmSync(join(dirname(prefix), entry), { force: true });
};
