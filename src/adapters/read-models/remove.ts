/** The files of all read models, by their names alone. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

type Place = Readonly<{ /** The file of the catalog. */ file: string }>;

/** Deletes them all. No process may have them open. */
export const removeSqliteReadModels = (place: Place): void => {
  for (const file of matching(place, /\.db(\.damaged)?(-wal|-shm|-journal)?$/)) rmSync(file, { force: true });
};

/** The catalog and the generations, without what belongs to each. */
export const sqliteReadModelFiles = (place: Place): readonly string[] => matching(place, /\.db$/);

const matching = ({ file }: Place, ending: RegExp): readonly string[] => {
  const stem = `${basename(file).replace(/\.db$/, '')}.`;
  if (!existsSync(dirname(file))) return [];
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(stem) && ending.test(name))
    .map((name) => join(dirname(file), name));
};
