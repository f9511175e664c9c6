/** Deletes the files of all read models. */
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** In: the file of the catalog. No process may have it open. */
export const removeSqliteReadModels = ({ file }: Readonly<{ file: string }>): void => {
  const stem = basename(file).replace(/\.db$/, '');
  const isOurs = (name: string): boolean => name.startsWith(`${stem}.`) && /\.db(\.damaged)?(-wal|-shm|-journal)?$/.test(name);
  for (const name of readdirSync(dirname(file)).filter(isOurs)) rmSync(join(dirname(file), name), { force: true });
};
