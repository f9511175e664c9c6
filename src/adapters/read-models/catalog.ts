/**
 * Which generation of each projection is the live one. The collections of a generation live in a database file of
 * their own beside the catalog, so that a rebuild disturbs nobody, is put in place by changing one row,
 * and leaves nothing of the old behind: its file is deleted.
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSqliteError, inTransaction, openDatabase, type Database } from '../sqlite/database.js';
import type { CollectionSpec } from '../../domain/ports/read-models.js';

/* Files of read models that are damaged: they are told from other failures, and moved out of the way, for all in them is derived. */

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
const forgetDamaged = (prefix: string): void => {
  const name = basename(prefix);
  for (const entry of readdirSync(dirname(prefix)))
    if (entry.startsWith(name) && /\.damaged(-wal|-shm|-journal)?$/.test(entry)) rmSync(join(dirname(prefix), entry), { force: true });
};

/* The files of all read models, by their names alone. */

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

export type Projection = Readonly<{ name: string; generation: number; specs: readonly CollectionSpec[] }>;

/** How the tables of a generation are laid out; a generation of another layout is made anew, like one of other specs. */
const LAYOUT = 4;
/** As it stands in the catalog; before layout 2 the specs stood alone. */
const shapeText = (specs: readonly CollectionSpec[]): string => JSON.stringify({ layout: LAYOUT, specs });
const specsOf = (shape: string): readonly CollectionSpec[] => {
  const parsed = JSON.parse(shape) as readonly CollectionSpec[] | Readonly<{ specs: readonly CollectionSpec[] }>;
  return 'specs' in parsed ? parsed.specs : parsed;
};

export type Catalog = Readonly<{
  /** As of now; looked up again only when something changed, here or in another process. */
  projection: (name: string) => Projection | undefined;
  projectionOf: (collection: string) => Projection | undefined;
  /** The projection with these very specs: where they are new, `create` fills the file of a new generation. */
  ensure: (name: string, specs: readonly CollectionSpec[], create: (file: string) => void) => Projection;
  /** A number that no generation of this projection has had. */
  nextGeneration: (name: string) => number;
  /** Makes `to` the live generation; false where `from` is no longer the live one. */
  replace: (name: string, from: number, to: number) => boolean;
  /** Puts an empty generation, which `create` makes, in the place of `from`, which is damaged; false where that is not the live one. */
  renew: (name: string, from: number, create: (file: string) => void) => boolean;
  fileOf: (name: string, generation: number) => string;
  rebuildLockOf: (name: string) => string;
  /** Deletes the files of every generation that `isDead` names; generations never come back. */
  deleteGenerations: (name: string, isDead: (generation: number) => boolean) => void;
  close: () => void;
}>;

type Row = { name: string; generation: number; specs: string };

const schema = `
  CREATE TABLE IF NOT EXISTS projections (
    name TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    last_generation INTEGER NOT NULL,
    specs TEXT NOT NULL
  ) STRICT`;

/** Deletes the files of dead generations, whose names go on with the number after the prefix. */
const deleteFiles = (directory: string, prefix: string, isDead: (generation: number) => boolean): void => {
  for (const entry of readdirSync(directory)) {
    const generation = /^(\d+)\.db(?:-wal|-shm|-journal)?$/.exec(entry.startsWith(prefix) ? entry.slice(prefix.length) : '')?.[1];
    if (generation !== undefined && isDead(Number(generation))) rmSync(join(directory, entry), { force: true });
  }
};

type Listed = Projection & Readonly<{ shape: string }>;

/** What the table says, held in memory until it was written by another process or `reload` is called. */
const openEntries = (database: Database) => {
  const selectAll = database.prepare<[], Row>('SELECT name, generation, specs FROM projections');
  const selectVersion = database.prepare<[], number>('PRAGMA data_version').pluck();
  let version: number | undefined;
  let projections = new Map<string, Listed>();
  let byCollection = new Map<string, Listed>();
  const reload = (): void => {
    const all = selectAll.all().map(({ name, generation, specs }) => ({ name, generation, specs: specsOf(specs), shape: specs }));
    projections = new Map(all.map((projection) => [projection.name, projection]));
    byCollection = new Map(all.flatMap((projection) => projection.specs.map((spec) => [spec.name, projection])));
  };
  return {
    reload,
    refresh: (): void => {
      const now = selectVersion.get();
      if (now === version) return;
      version = now;
      reload();
    },
    projection: (name: string): Listed | undefined => projections.get(name),
    projectionOf: (collection: string): Listed | undefined => byCollection.get(collection),
  };
};

/** A catalog that is damaged is moved aside, and all read models begin anew. */
export const openCatalog = (file: string, onDamaged: OnDamaged): Catalog => {
  forgetDamaged(file.replace(/\.db$/, '.'));
  try {
    return catalogOn(openTable(file), file);
  } catch (error) {
    if (!isDamage(error)) throw error;
    const movedTo = moveAside(file);
    onDamaged(file, movedTo);
    return catalogOn(openTable(file), file);
  }
};

const openTable = (file: string): Database => {
  const database = openDatabase({ file, synchronous: 'full', cacheSizeKiB: 256 });
  try {
    database.exec(schema);
    // A damaged page may be found by reading alone.
    database.prepare('SELECT count(*) FROM projections WHERE length(specs) > 0').get();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

const statementsOn = (database: Database) => ({
  take: database
    .prepare<[string], number>('UPDATE projections SET last_generation = last_generation + 1 WHERE name = ? RETURNING last_generation')
    .pluck(),
  setLive: database.prepare('UPDATE projections SET generation = ? WHERE name = ? AND generation = ?'),
  upsert: database.prepare(
    `INSERT INTO projections (name, generation, last_generation, specs) VALUES (?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET generation = excluded.generation, last_generation = excluded.last_generation, specs = excluded.specs`,
  ),
});

const catalogOn = (database: Database, file: string): Catalog => {
  const { take, setLive, upsert } = statementsOn(database);
  const entries = openEntries(database);
  const stem = file.replace(/\.db$/, '');
  const fileOf = (name: string, generation: number): string => `${stem}.${name}.${generation}.db`;

  return {
    projection: (name) => {
      entries.refresh();
      return entries.projection(name);
    },
    projectionOf: (collection) => {
      entries.refresh();
      return entries.projectionOf(collection);
    },
    ensure: (name, specs, create) => {
      inTransaction(database, () => {
        entries.reload();
        const known = entries.projection(name);
        if (known?.shape === shapeText(specs)) return;
        for (const spec of specs) {
          const owner = entries.projectionOf(spec.name);
          if (owner !== undefined && owner.name !== name)
            throw new Error(`the collection ${spec.name} belongs to the projection ${owner.name}`);
        }
        const generation = known === undefined ? 1 : take.get(name)!;
        create(fileOf(name, generation));
        upsert.run(name, generation, generation, shapeText(specs));
      });
      entries.reload();
      return entries.projection(name)!;
    },
    nextGeneration: (name) => {
      const generation = take.get(name);
      if (generation === undefined) throw new Error(`there is no projection ${name}`);
      return generation;
    },
    replace: (name, from, to) => {
      const { changes } = setLive.run(to, name, from);
      entries.reload();
      return changes === 1;
    },
    renew: (name, from, create) => {
      const renewed = inTransaction(database, () => {
        entries.reload();
        if (entries.projection(name)?.generation !== from) return false;
        const to = take.get(name)!;
        create(fileOf(name, to));
        return setLive.run(to, name, from).changes === 1;
      });
      entries.reload();
      return renewed;
    },
    fileOf,
    rebuildLockOf: (name) => `${stem}.${name}.rebuild.lock`,
    deleteGenerations: (name, isDead) => deleteFiles(dirname(file), `${basename(stem)}.${name}.`, isDead),
    close: () => void database.close(),
  };
};
