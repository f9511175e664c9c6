/** The collections of one projection at one generation, with its checkpoint: one database file. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { CheckpointMoved, type Checkpoint, type CollectionSpec, type CollectionWrites, type Document } from '../../domain/ports/documents.js';
import { inTransaction, openDatabase, type Database } from '../sqlite/database.js';
import { createCollection, createIndexes, openCollection, type Collection } from './collection.js';
import { openFinder, type Finder } from './finder.js';
import { fillSearchTable } from './search-index.js';

export type Generation = Readonly<{
  number: number;
  collection: (name: string) => Collection;
  finder: (name: string) => Finder;
  checkpoint: () => Checkpoint;
  getMany: (collection: string, ids: readonly string[]) => ReadonlyMap<string, Document>;
  /** Throws CheckpointMoved where the checkpoint is not `from`; nothing is written where it throws. */
  write: (writes: readonly CollectionWrites[], from: Checkpoint, to: number) => void;
  close: () => void;
}>;

export type GenerationFile = Readonly<{ file: string; number: number; specs: readonly CollectionSpec[] }>;

const liveSettings = { synchronous: 'normal', secureDelete: true } as const;
/** Nobody else knows the file, and after a crash it is thrown away. */
const rebuildSettings = { synchronous: 'off', journal: 'memory', cacheSizeKiB: 64 * 1024 } as const;

/** Makes the file of a new, empty live generation; there must be none of that name. */
export const createGeneration = (file: string, specs: readonly CollectionSpec[]): void => {
  const database = openDatabase({ file, ...liveSettings });
  try {
    inTransaction(database, () => {
      createTables(database, specs);
      for (const spec of specs) createIndexes(database, spec);
    });
  } finally {
    database.close();
  }
};

export const openGeneration = ({ file, number, specs }: GenerationFile): Generation =>
  generationOn(openDatabase({ file, ...liveSettings, mustExist: true }), { file, number, specs }, true);

export type NewGeneration = Generation & Readonly<{
  /** Makes the indexes, and closes the file when all of it survives a power loss. `turn` is awaited now and then. */
  finish: (turn: () => Promise<unknown>) => Promise<void>;
}>;

/** A new generation without indexes, to be filled fast. */
export const openNewGeneration = (place: GenerationFile): NewGeneration => {
  const database = openDatabase({ file: place.file, ...rebuildSettings });
  // One transaction from the first write to the last: what is changed again and again is written to the disk once.
  database.exec('BEGIN');
  createTables(database, place.specs);
  return {
    ...generationOn(database, place, false),
    finish: async (turn) => {
      for (const spec of place.specs) {
        createIndexes(database, spec);
        if (spec.search !== undefined) await fillSearchTable(database, spec, turn);
      }
      database.exec('COMMIT');
      database.close();
      sync(place.file);
      sync(dirname(place.file));
    },
  };
};

const createTables = (database: Database, specs: readonly CollectionSpec[]): void => {
  database.exec('CREATE TABLE checkpoint (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL) STRICT');
  database.exec('INSERT INTO checkpoint (one, position) VALUES (1, 0)');
  for (const spec of specs) createCollection(database, spec);
};

const generationOn = (database: Database, { number, specs }: GenerationFile, indexed: boolean): Generation => {
  const selectPosition = database.prepare<[], number>('SELECT position FROM checkpoint').pluck();
  const updatePosition = database.prepare('UPDATE checkpoint SET position = ?');
  const collections = new Map(specs.map((spec) => [spec.name, openCollection(database, spec, indexed)]));
  const finders = new Map(specs.map((spec) => [spec.name, openFinder(database, spec)]));
  const collection = (name: string): Collection => known(collections, name);
  const position = (): number => selectPosition.get() ?? 0;

  return {
    number,
    collection,
    finder: (name) => known(finders, name),
    checkpoint: () => ({ position: position(), generation: number }),
    getMany: (name, ids) => {
      const found = new Map<string, Document>();
      for (const id of ids) {
        const document = collection(name).getWhole(id);
        if (document !== undefined) found.set(id, document);
      }
      return found;
    },
    write: (writes, from, to) =>
      inTransaction(database, () => {
        const now = position();
        if (from.generation !== number || from.position !== now) {
          throw new CheckpointMoved(
            `the checkpoint is at position ${now} of generation ${number}, not at ${from.position} of generation ${from.generation}`,
          );
        }
        for (const { collection: name, put, remove } of writes) {
          const { put: putOne, remove: removeOne, settle } = collection(name);
          for (const document of put) putOne(document);
          for (const id of remove) removeOne(id);
          settle();
        }
        updatePosition.run(to);
      }),
    close: () => void database.close(),
  };
};

const known = <Value>(map: ReadonlyMap<string, Value>, name: string): Value => {
  const value = map.get(name);
  if (value === undefined) throw new Error(`there is no collection ${name}`);
  return value;
};

const sync = (path: string): void => {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
