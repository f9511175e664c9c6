/**
 * The catalog of read models in SQLite: which generation of each projection is live, and the files of all generations.
 * Each generation has a database file beside the catalog, so a rebuild disturbs no reader, is put in place by changing
 * one row, and leaves nothing of the old generation, whose file is deleted. Damaged files are moved aside, because
 * everything in them can be derived again.
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDamage, isSqliteError, inTransaction, openDatabase, type Database } from '../sqlite/database.js';
import type { CollectionSpec } from '../../domain/ports/read-models.js';

/** Called when a damaged file was moved. Its data is made anew. */
export type OnDamaged = (file: string, movedTo: string) => void;

type Place = Readonly<{ /** The file of the catalog. */ file: string }>;

export type Projection = Readonly<{ name: string; generation: number; specs: readonly CollectionSpec[] }>;

export type Catalog = Readonly<{
  /** Read again only when something changed, here or in another process. */
  projection: (name: string) => Projection | undefined;
  projectionOf: (collection: string) => Projection | undefined;
  /** The projection with these very specs. If they are new, `create` fills the file of a new generation. */
  ensure: (name: string, specs: readonly CollectionSpec[], create: (file: string) => void) => Projection;
  /** A number that no generation of this projection has had. */
  nextGeneration: (name: string) => number;
  /** Makes `to` the live generation. Out: false if `from` is no longer the live one. */
  replace: (name: string, from: number, to: number) => boolean;
  /**
   * Replaces the damaged generation `from` by an empty one, which `create` makes. Out: false if `from` is not the live
   * one.
   */
  renew: (name: string, from: number, create: (file: string) => void) => boolean;
  fileOf: (name: string, generation: number) => string;
  rebuildLockOf: (name: string) => string;
  /** Deletes the files of every generation that `isDead` names; generations never come back. */
  deleteGenerations: (name: string, isDead: (generation: number) => boolean) => void;
  /** A file that is compared with the live generation and never takes its place. */
  inspectionFileOf: (name: string, part: InspectionPart) => string;
  /** Deletes such files. The caller holds the lock of rebuilds. Default: both. */
  deleteInspection: (name: string, part?: InspectionPart) => void;
  close: () => void;
}>;

/** The two files of an inspection: the documents that a rebuild writes, and a copy of the live generation. */
type InspectionPart = 'rebuilt' | 'copy';

type Row = { name: string; generation: number; specs: string };

type Listed = Projection & Readonly<{ shape: string }>;

const INSPECTION_PARTS: readonly InspectionPart[] = ['rebuilt', 'copy'];
const SUFFIXES = ['', '-wal', '-shm', '-journal'] as const;
const ENDING = '.damaged';

/** The layout of the tables of a generation. A generation of another layout is made anew, like one of other specs. */
const LAYOUT = 7;

const schema = `
  CREATE TABLE IF NOT EXISTS projections (
    name TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    last_generation INTEGER NOT NULL,
    specs TEXT NOT NULL
  ) STRICT`;

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

/**
 * The catalog as it is: nothing is made or moved aside. Out: undefined if there is none. Throws the driver's error if
 * it is damaged.
 */
export const readCatalog = (file: string): Catalog | undefined => {
  if (!existsSync(file)) return undefined;
  const database = openDatabase({ file, synchronous: 'full', cacheSizeKiB: 256, mustExist: true });
  try {
    return catalogOn(database, file);
  } catch (error) {
    database.close();
    throw error;
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
    .prepare<[string], number>(
      'UPDATE projections SET last_generation = last_generation + 1 WHERE name = ? RETURNING last_generation',
    )
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
  const inspectionFileOf = (name: string, part: InspectionPart): string => `${stem}.${name}.inspected-${part}.db`;

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
    inspectionFileOf,
    deleteInspection: (name, part) => {
      for (const one of part === undefined ? INSPECTION_PARTS : [part])
        for (const suffix of SUFFIXES) rmSync(inspectionFileOf(name, one) + suffix, { force: true });
    },
    close: () => void database.close(),
  };
};

/** The rows of the table, cached until another process writes it or `reload` is called. */
const openEntries = (database: Database) => {
  const selectAll = database.prepare<[], Row>('SELECT name, generation, specs FROM projections');
  const selectVersion = database.prepare<[], number>('PRAGMA data_version').pluck();
  let version: number | undefined;
  let projections = new Map<string, Listed>();
  let byCollection = new Map<string, Listed>();
  const reload = (): void => {
    const all = selectAll
      .all()
      .map(({ name, generation, specs }) => ({ name, generation, specs: specsOf(specs), shape: specs }));
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

/** The layout and specs as the catalog stores them. Before layout 2 it stored the specs only. */
const shapeText = (specs: readonly CollectionSpec[]): string => JSON.stringify({ layout: LAYOUT, specs });

const specsOf = (shape: string): readonly CollectionSpec[] => {
  const parsed = JSON.parse(shape) as readonly CollectionSpec[] | Readonly<{ specs: readonly CollectionSpec[] }>;
  return 'specs' in parsed ? parsed.specs : parsed;
};

/** Deletes the files of dead generations, whose names go on with the number after the prefix. */
const deleteFiles = (directory: string, prefix: string, isDead: (generation: number) => boolean): void => {
  for (const entry of readdirSync(directory)) {
    const generation = /^(\d+)\.db(?:-wal|-shm|-journal)?$/.exec(
      entry.startsWith(prefix) ? entry.slice(prefix.length) : '',
    )?.[1];
    if (generation !== undefined && isDead(Number(generation))) rmSync(join(directory, entry), { force: true });
  }
};

/**
 * Whether an error at opening says that a file is damaged. A file that is missing, cut off or has other tables is
 * damaged too.
 */
export const isDamagedAtOpening = (error: unknown, file: string): boolean =>
  isDamage(error) ||
  (isSqliteError(error, 'SQLITE_CANTOPEN') && !existsSync(file)) ||
  (isSqliteError(error, 'SQLITE_ERROR') && error instanceof Error && /^no such (table|column)/.test(error.message));

/**
 * Renames a file and its log. Out: the new name, which it keeps until the next start. This process must have no open
 * connection on it.
 */
export const moveAside = (file: string): string => {
  const aside = `${file}${ENDING}`;
  for (const suffix of SUFFIXES) {
    rmSync(aside + suffix, { force: true });
    if (existsSync(file + suffix)) renameSync(file + suffix, aside + suffix);
  }
  return aside;
};

/** Deletes files that were moved aside earlier. In: the beginning of their names. */
const forgetDamaged = (prefix: string): void => {
  const name = basename(prefix);
  for (const entry of readdirSync(dirname(prefix)))
    if (entry.startsWith(name) && /\.damaged(-wal|-shm|-journal)?$/.test(entry))
      rmSync(join(dirname(prefix), entry), { force: true });
};

/** Deletes the files of all read models. No process may have them open. */
export const removeSqliteReadModels = (place: Place): void => {
  for (const file of matching(place, /\.db(\.damaged)?(-wal|-shm|-journal)?$/)) rmSync(file, { force: true });
};

/** The files of the catalog and the generations, without their write-ahead logs. */
export const sqliteReadModelFiles = (place: Place): readonly string[] => matching(place, /\.db$/);

const matching = ({ file }: Place, ending: RegExp): readonly string[] => {
  const stem = `${basename(file).replace(/\.db$/, '')}.`;
  if (!existsSync(dirname(file))) return [];
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(stem) && ending.test(name))
    .map((name) => join(dirname(file), name));
};
