/**
 * The collections of one projection at one generation, with its checkpoint: one database file, and the check of its
 * indexes against its documents.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type CollectionSpec,
  type LookupFault,
  type Document,
  CheckpointMoved,
  type Checkpoint,
  type CollectionWrites,
  type Removal,
} from '../../domain/ports/read-models.js';
import { type Database, inTransaction, openDatabase, logTruncation, type LogTruncation } from '../sqlite/database.js';
import { columnOf, tableOf, indexOf } from './names.js';
import { docSql, textSql, joinDocument, restSql, selectStraySql } from './personal.js';
import { searchFaults } from './search-index.js';
import {
  createCollection,
  createIndexes,
  openCollection,
  packDocuments,
  storerOf,
  unpackDocuments,
  type Collection,
  type CollectionUse,
  type PackedDocuments,
  type StoredDocument,
} from './collection.js';
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

/** The documents that one write puts and removes in one collection, in stored form. */
type RowWrites = Readonly<{ collection: string; put: readonly StoredDocument[]; remove: readonly Removal[] }>;

/** As RowWrites, for another thread. */
export type PackedWrites = Readonly<{ collection: string; put: PackedDocuments; remove: readonly Removal[] }>;

/** The checkpoint as a generation stores it. */
export type CheckpointRow = Omit<Checkpoint, 'generation'>;

export type NewGeneration = Pick<Generation, 'getMany' | 'close'> &
  Readonly<{
    pageById: (collection: string, afterId: string, limit: number) => Document[];
    /** Moves the checkpoint. */
    write: (writes: readonly PackedWrites[], to: CheckpointRow) => void;
    /** Closes the file when all of it survives a power loss. */
    finish: () => void;
  }>;

type Row = [
  seq: number,
  id: string,
  position: number,
  doc: string,
  text: string | null,
  rest: string | null,
  ...fields: unknown[],
];

const PAGE_SIZE = 500;

const liveSettings = { synchronous: 'normal', secureDelete: true } as const;
/**
 * Erased data may stay in the write-ahead log for so long. A truncation takes some milliseconds, so this is not
 * shorter.
 */
const erasedStaysMs = 3_000;
/** Only the rebuild knows the file, and after a crash it is thrown away. */
const rebuildSettings = { synchronous: 'off', journal: 'memory', secureDelete: true, cacheSizeKiB: 64 * 1024 } as const;

/**
 * Makes the file of a new, empty live generation; there must be none of that name. The file is on the disk when it is
 * complete: after a crash before that, the catalog does not name it and the next start deletes it.
 */
export const createGeneration = (file: string, specs: readonly CollectionSpec[]): void => {
  const database = openDatabase({ file, ...liveSettings, synchronous: 'off' });
  try {
    inTransaction(database, () => {
      createTables(database, specs);
      for (const spec of specs) createIndexes(database, spec);
    });
  } finally {
    database.close();
  }
  for (const path of [file, dirname(file)]) sync(path);
};

/** `onFault` is called if the write-ahead log, which holds erased data, cannot be emptied. */
export const openGeneration = (
  { file, number, specs }: GenerationFile,
  onFault: (fault: Error) => void,
): Generation => {
  const database = openDatabase({ file, ...liveSettings, mustExist: true });
  const truncation = logTruncation({ database, withinMs: erasedStaysMs, onFault });
  return generationOn(database, truncation, { file, number, specs });
};

/** A new generation, to be filled fast by one writer while nobody reads it. */
export const openNewGeneration = (place: GenerationFile): NewGeneration => {
  const database = openDatabase({ file: place.file, ...rebuildSettings });
  // One transaction from the first write to the last: what is changed again and again is written to the disk once.
  database.exec('BEGIN');
  createTables(database, place.specs);
  const collections = openCollections(database, place.specs, { inBulk: true, erased: () => {} });
  const moveTo = checkpointMover(database);
  return {
    getMany: (name, ids) => getMany(known(collections, name), ids),
    pageById: (name, afterId, limit) => known(collections, name).pageById(afterId, limit),
    write: (writes, to) => {
      for (const { collection, put, remove } of writes)
        apply(known(collections, collection), {
          put: unpackDocuments(specNamed(place.specs, collection), put),
          remove,
        });
      moveTo(to);
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

/** The faults in the file of a generation that nobody else uses. Yields undefined when other work may have its turn. */
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
  database.exec(
    'CREATE TABLE checkpoint (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, passed_over INTEGER) STRICT',
  );
  database.exec('INSERT INTO checkpoint (one, position) VALUES (1, 0)');
  for (const spec of specs) createCollection(database, spec);
};

const checkpointMover = (database: Database): ((to: CheckpointRow) => void) => {
  const update = database.prepare('UPDATE checkpoint SET position = ?, passed_over = ?');
  return ({ position, passedOver }) => void update.run(position, passedOver ?? null);
};

const openCollections = (
  database: Database,
  specs: readonly CollectionSpec[],
  use: CollectionUse,
): ReadonlyMap<string, Collection> => new Map(specs.map((spec) => [spec.name, openCollection(database, spec, use)]));

const getMany = (collection: Collection, ids: readonly string[]): ReadonlyMap<string, Document> => {
  const found = new Map<string, Document>();
  for (const id of ids) {
    const document = collection.getWhole(id);
    if (document !== undefined) found.set(id, document);
  }
  return found;
};

type Applied = Readonly<{ put: Iterable<StoredDocument>; remove: readonly Removal[] }>;

const apply = (collection: Collection, { put, remove }: Applied): void => {
  for (const stored of put) collection.put(stored);
  for (const removal of remove) collection.remove(removal);
  collection.flush();
};

/** As `apply`, with documents that are put into stored form one after the other. */
const storeAll = (
  collection: Collection,
  store: ReturnType<typeof storerOf>,
  { put, remove }: CollectionWrites,
): void => {
  for (const document of put) {
    const { stored, made } = store(document, collection.made(document.seq));
    collection.put(stored, made);
  }
  for (const removal of remove) collection.remove(removal);
  collection.flush();
};

/** Turns writes of documents into writes of rows, for collections of those specs. */
const rowWrites = (writes: readonly CollectionWrites[], specs: readonly CollectionSpec[]): readonly RowWrites[] =>
  writes.map(({ collection, put, remove }) => {
    const store = storerOf(specNamed(specs, collection));
    return { collection, put: put.map((document) => store(document).stored), remove };
  });

export const packedWrites = (
  writes: readonly CollectionWrites[],
  specs: readonly CollectionSpec[],
): readonly PackedWrites[] => rowWrites(writes, specs).map((one) => ({ ...one, put: packDocuments(one.put) }));

const specNamed = (specs: readonly CollectionSpec[], collection: string): CollectionSpec => {
  const spec = specs.find(({ name }) => name === collection);
  if (spec === undefined) throw new Error(`there is no collection ${collection}`);
  return spec;
};

/** Throws if the checkpoint is not the one that the writer has read. */
export const assertUnmoved = (now: Checkpoint, from: Checkpoint): void => {
  if (from.generation === now.generation && from.position === now.position) return;
  throw new CheckpointMoved(
    `the checkpoint is at position ${now.position} of generation ${now.generation}, not at ${from.position} of generation ${from.generation}`,
  );
};

const generationOn = (database: Database, truncation: LogTruncation, { number, specs }: GenerationFile): Generation => {
  const selectCheckpoint = database.prepare<[], { position: number; passedOver: number | null }>(
    'SELECT position, passed_over AS passedOver FROM checkpoint',
  );
  const moveTo = checkpointMover(database);
  const collections = openCollections(database, specs, { inBulk: false, erased: truncation.soon });
  const storers = new Map(specs.map((spec) => [spec.name, storerOf(spec)]));
  const finders = new Map(specs.map((spec) => [spec.name, openFinder(database, spec)]));
  const collection = (name: string): Collection => known(collections, name);
  const checkpoint = (): Checkpoint => {
    const { position, passedOver } = selectCheckpoint.get() ?? { position: 0, passedOver: null };
    return { position, generation: number, ...(passedOver === null ? {} : { passedOver }) };
  };
  // The write-ahead log may still hold data that a killed process had erased.
  let hasWritten = false;
  /** The checkpoint after the last write of this process. Every write moves it: if it is equal, nobody else wrote. */
  let leftAt: number | undefined;

  return {
    number,
    collection,
    finder: (name) => known(finders, name),
    checkpoint,
    getMany: (name, ids) => getMany(collection(name), ids),
    write: (writes, from, to) => {
      if (!hasWritten) truncation.soon();
      hasWritten = true;
      const isAlone = from.position === leftAt;
      leftAt = undefined;
      inTransaction(database, () => {
        assertUnmoved(checkpoint(), from);
        if (!isAlone) for (const one of collections.values()) one.forget();
        for (const write of writes) storeAll(collection(write.collection), known(storers, write.collection), write);
        moveTo({ ...from, position: to });
      });
      leftAt = to;
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

/**
 * Compares the columns that a collection is filtered and sorted by with the documents, in the order of `seq`. Yields
 * after each page, so that other work gets its turn.
 */
function* columnFaults(database: Database, spec: CollectionSpec): Generator<LookupFault | undefined> {
  yield* indexFaults(database, spec);
  const columns = ['seq', 'id', 'position', ...spec.fields];
  const fields = spec.fields.map((field) => `, d.${columnOf(field)}`).join('');
  const selectPage = database
    .prepare<[number, number], Row>(
      `SELECT d.seq, d.id, d.position, ${docSql(spec)}, ${textSql(spec)}, ${restSql(spec)}${fields} FROM ${tableOf(spec.name)} AS d WHERE d.seq > ? ORDER BY d.seq LIMIT ?`,
    )
    .raw(true);
  for (let after = Number.MIN_SAFE_INTEGER; ;) {
    const page = selectPage.all(after, PAGE_SIZE);
    for (const [seq, id, position, doc, text, rest, ...values] of page) {
      const document = joinDocument(spec, { doc, text, rest });
      const stored = [seq, id, position, ...values];
      const field = columns.find((name, at) => (document[name] ?? null) !== stored[at]);
      if (field !== undefined) yield faultIn(spec, document, field);
    }
    if (page.length < PAGE_SIZE) break;
    after = page.at(-1)![0];
    yield undefined;
  }
  yield* strayPersonal(database, spec);
}

const faultIn = ({ name }: CollectionSpec, { id }: Document, field: string): LookupFault => ({
  collection: name,
  id,
  field,
  in: 'column',
});

/** An index that is missing, or that is not what its columns are; SQLite names the entry. */
function* indexFaults(database: Database, { name, indexes }: CollectionSpec): Generator<LookupFault> {
  const has = database.prepare<[string, string], number>(
    `SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ? AND tbl_name = ?`,
  );
  const table = tableOf(name);
  for (const [at, fields] of indexes.entries())
    if (has.get(indexOf(name, at), table) === undefined)
      yield { collection: name, id: '', field: fields.join(', '), in: 'index' };
  const said = String(database.pragma(`integrity_check(${table})`, { simple: true }));
  if (said !== 'ok') yield { collection: name, id: '', field: said, in: 'index' };
}

/** Something personal for which there is no document. */
function* strayPersonal(database: Database, { name, personal }: CollectionSpec): Generator<LookupFault> {
  if (personal === undefined) return;
  const seq = database.prepare<[], number>(selectStraySql(name)).pluck().get();
  if (seq !== undefined) yield { collection: name, id: `(seq ${seq})`, field: personal.join(', '), in: 'column' };
}
