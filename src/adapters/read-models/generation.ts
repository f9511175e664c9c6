/** The collections of one projection at one generation, with its checkpoint: one database file. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  CheckpointMoved,
  type Checkpoint,
  type CollectionSpec,
  type CollectionWrites,
  type Document,
  type LookupFault,
  type Removal,
} from '../../domain/ports/read-models.js';
import { inTransaction, openDatabase, type Database } from '../sqlite/database.js';
import { logTruncation, type LogTruncation } from '../sqlite/log-truncation.js';
import {
  createCollection,
  createIndexes,
  openCollection,
  storerOf,
  type Collection,
  type CollectionUse,
  type StoredDocument,
} from './collection.js';
import { columnFaults } from './column-audit.js';
import { searchFaults } from './search-audit.js';
import { openFinder, type Finder } from './finder.js';

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
/** How long what was erased may stay in the write-ahead log. A truncation takes some milliseconds, so this is not shorter. */
const erasedStaysMs = 3_000;
/** Nobody else knows the file, and after a crash it is thrown away. */
const rebuildSettings = { synchronous: 'off', journal: 'memory', secureDelete: true, cacheSizeKiB: 64 * 1024 } as const;

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

/** `onFault` is told where the write-ahead log cannot be emptied of what was erased. */
export const openGeneration = ({ file, number, specs }: GenerationFile, onFault: (fault: Error) => void): Generation => {
  const database = openDatabase({ file, ...liveSettings, mustExist: true });
  const truncation = logTruncation({ database, withinMs: erasedStaysMs, onFault });
  return generationOn(database, truncation, { file, number, specs });
};

/** What one write puts and removes in one collection, as it is stored. */
export type RowWrites = Readonly<{ collection: string; put: readonly StoredDocument[]; remove: readonly Removal[] }>;

export type NewGeneration = Pick<Generation, 'getMany' | 'close'> &
  Readonly<{
    pageById: (collection: string, afterId: string, limit: number) => Document[];
    /** Moves the checkpoint to `position`. */
    write: (writes: readonly RowWrites[], position: number) => void;
    /** Closes the file when all of it survives a power loss. */
    finish: () => void;
  }>;

/** A new generation, to be filled fast by one writer while nobody reads it. */
export const openNewGeneration = (place: GenerationFile): NewGeneration => {
  const database = openDatabase({ file: place.file, ...rebuildSettings });
  // One transaction from the first write to the last: what is changed again and again is written to the disk once.
  database.exec('BEGIN');
  createTables(database, place.specs);
  const collections = openCollections(database, place.specs, { inBulk: true, erased: () => {} });
  const updatePosition = database.prepare('UPDATE checkpoint SET position = ?');
  return {
    getMany: (name, ids) => getMany(known(collections, name), ids),
    pageById: (name, afterId, limit) => known(collections, name).pageById(afterId, limit),
    write: (writes, position) => {
      for (const write of writes) apply(known(collections, write.collection), write);
      updatePosition.run(position);
    },
    finish: () => {
      for (const collection of collections.values()) collection.indexAll();
      for (const spec of place.specs) createIndexes(database, spec);
      database.exec('COMMIT');
      database.close();
      sync(place.file);
      sync(dirname(place.file));
    },
    close: () => void database.close(),
  };
};

/** What is wrong in the file of a generation that nobody else uses; undefined where others may have their turn. */
export function* generationFaults(file: string, specs: readonly CollectionSpec[]): Generator<LookupFault | undefined> {
  const database = openDatabase({ file, synchronous: 'off', journal: 'memory', mustExist: true });
  try {
    for (const spec of specs) {
      yield* columnFaults(database, spec);
      yield* searchFaults(database, spec);
    }
  } finally {
    database.close();
  }
}

const createTables = (database: Database, specs: readonly CollectionSpec[]): void => {
  database.exec('CREATE TABLE checkpoint (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL) STRICT');
  database.exec('INSERT INTO checkpoint (one, position) VALUES (1, 0)');
  for (const spec of specs) createCollection(database, spec);
};

const openCollections = (database: Database, specs: readonly CollectionSpec[], use: CollectionUse): ReadonlyMap<string, Collection> =>
  new Map(specs.map((spec) => [spec.name, openCollection(database, spec, use)]));

const getMany = (collection: Collection, ids: readonly string[]): ReadonlyMap<string, Document> => {
  const found = new Map<string, Document>();
  for (const id of ids) {
    const document = collection.getWhole(id);
    if (document !== undefined) found.set(id, document);
  }
  return found;
};

const apply = (collection: Collection, { put, remove }: RowWrites): void => {
  for (const stored of put) collection.put(stored);
  for (const removal of remove) collection.remove(removal);
  collection.flush();
};

/** In: writes of documents. Out: the same as rows, for collections of those specs. */
export const rowWrites = (writes: readonly CollectionWrites[], specs: readonly CollectionSpec[]): readonly RowWrites[] =>
  writes.map(({ collection, put, remove }) => {
    const spec = specs.find(({ name }) => name === collection);
    if (spec === undefined) throw new Error(`there is no collection ${collection}`);
    return { collection, put: put.map(storerOf(spec)), remove };
  });

/** Throws where the checkpoint is not the one that the writer has read. */
export const assertUnmoved = (now: Checkpoint, from: Checkpoint): void => {
  if (from.generation === now.generation && from.position === now.position) return;
  throw new CheckpointMoved(
    `the checkpoint is at position ${now.position} of generation ${now.generation}, not at ${from.position} of generation ${from.generation}`,
  );
};

const generationOn = (database: Database, truncation: LogTruncation, { number, specs }: GenerationFile): Generation => {
  const selectPosition = database.prepare<[], number>('SELECT position FROM checkpoint').pluck();
  const updatePosition = database.prepare('UPDATE checkpoint SET position = ?');
  const collections = openCollections(database, specs, { inBulk: false, erased: truncation.soon });
  const finders = new Map(specs.map((spec) => [spec.name, openFinder(database, spec)]));
  const collection = (name: string): Collection => known(collections, name);
  const position = (): number => selectPosition.get() ?? 0;
  // A process that was killed may have left in the log what it had erased.
  let hasWritten = false;

  return {
    number,
    collection,
    finder: (name) => known(finders, name),
    checkpoint: () => ({ position: position(), generation: number }),
    getMany: (name, ids) => getMany(collection(name), ids),
    write: (writes, from, to) => {
      if (!hasWritten) truncation.soon();
      hasWritten = true;
      inTransaction(database, () => {
        assertUnmoved({ position: position(), generation: number }, from);
        for (const write of rowWrites(writes, specs)) apply(collection(write.collection), write);
        updatePosition.run(to);
      });
    },
    close: () => {
      truncation.close();
      database.close();
    },
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
