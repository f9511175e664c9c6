/** The collections of one projection at one generation in MongoDB: made, written, read and dropped. */
import type { CollectionSpec, CollectionWrites, Document, LookupFault } from '../../domain/ports/read-models.js';
import type { Collection, Db, Filter } from '../mongodb/client.js';
import {
  carryOutAll,
  type Change,
  type Rest,
  documentChangesOf,
  fieldFaultsOf,
  fieldOf,
  wholeOf,
  wholeParts,
  type Stored,
  type StoredCollection,
  gramsExpected,
  knownRows,
  markOf,
  rowChangesOf,
  type KnownRows,
  type Row,
  type Rows,
} from './mongodb-documents.js';
import { openFinder, type Finder } from './mongodb-finder.js';

export type Generation = Readonly<{
  number: number;
  finder: (collection: string) => Finder;
  getMany: (collection: string, ids: readonly string[]) => Promise<ReadonlyMap<string, Document>>;
  /**
   * Throws TypeError or Error where something of it cannot be written. In: the time of now. Out: what sends it, in the
   * order given.
   */
  prepare: (writes: readonly CollectionWrites[], now: number) => () => Promise<void>;
  /** Clears the cache of this generation, so the next call reads it again. */
  forget: () => void;
  scan: (collection: string) => AsyncIterable<Document>;
  /** Compares the lookup fields of all collections with the documents. */
  lookupFaults: () => AsyncIterable<LookupFault>;
}>;

type GenerationOf = Readonly<{
  projection: string;
  number: number;
  specs: readonly CollectionSpec[];
  /** True if no other process writes it. */
  isAlone?: boolean;
}>;

/** A late writer may write an older state for so long after a removal; then nothing is left of what was removed. */
const removedIsKeptSeconds = 24 * 3_600;
const idsMax = 1_000;
const scannedMax = 500;

const nameOf = ({ projection, number }: Pick<GenerationOf, 'projection' | 'number'>, collection: string): string =>
  `rm.${projection}.${number}.${collection}`;
const rowsNameOf = (generation: GenerationOf, collection: string): string => `${nameOf(generation, collection)}.search`;

/**
 * Makes the collections, empty, each with all its indexes in one call. Collections that a crash has left are dropped
 * first.
 */
export const createGeneration = async (db: Db, generation: GenerationOf): Promise<void> => {
  await dropGenerations(db, generation.projection, (number) => number === generation.number);
  for (const spec of generation.specs) {
    await db.collection(nameOf(generation, spec.name)).createIndexes([...indexesOf(spec), ofRemoved]);
    if (spec.search !== undefined)
      await db.collection(rowsNameOf(generation, spec.name)).createIndexes([ofSearch, ofRemoved]);
  }
};

const ofRemoved = {
  key: { goneAt: 1 },
  name: 'removed',
  sparse: true,
  expireAfterSeconds: removedIsKeptSeconds,
} as const;
const ofSearch = { key: { grams: 1, seq: 1 }, name: 'search' } as const;

const indexesOf = ({ indexes }: CollectionSpec) => {
  const declared = indexes.map((fields, at) => {
    const all = fields.includes('seq') ? fields : [...fields, 'seq'];
    return { key: Object.fromEntries(all.map((field) => [fieldOf(field), 1 as const])), name: `declared_${at}` };
  });
  return [{ key: { seq: 1 as const }, name: 'seq' }, ...declared];
};

/** Drops the collections of those generations of a projection. */
export const dropGenerations = async (
  db: Db,
  projection: string,
  isDead: (number: number) => boolean,
): Promise<void> => {
  const found = await db.listCollections({ name: { $regex: `^rm\\.${projection}\\.` } }, { nameOnly: true }).toArray();
  for (const { name } of found) if (isDead(Number(name.split('.')[2]))) await db.collection(name).drop();
};

type Opened = Readonly<{
  spec: CollectionSpec;
  documents: StoredCollection;
  rows: Rows | undefined;
  known: KnownRows;
  finder: Finder;
}>;

export const openGeneration = (db: Db, generation: GenerationOf): Generation => {
  const opened = new Map(
    generation.specs.map((spec): [string, Opened] => [spec.name, openCollection(db, generation, spec)]),
  );
  const named = (name: string): Opened => {
    const found = opened.get(name);
    if (found === undefined) throw new Error(`there is no collection ${name}`);
    return found;
  };
  return {
    number: generation.number,
    finder: (name) => named(name).finder,
    getMany: (name, ids) => getMany(named(name), ids),
    prepare: (writes, now) => {
      const goneAt = new Date(now);
      const steps = writes.map(({ collection, put, remove }) => {
        const { spec, ...at } = named(collection);
        const given = { put, remove, goneAt };
        const documents = documentChangesOf(spec, given);
        const rows = rowChangesOf(spec, given, at.known, generation.isAlone === true);
        return () => send({ spec, ...at }, { ...given, documents, rows });
      });
      return async () => {
        for (const step of steps) await step();
      };
    },
    forget: () => {
      for (const { known } of opened.values()) known.clear();
    },
    scan: async function* (name) {
      const { documents, spec } = named(name);
      for await (const stored of scanned(documents, wholeParts)) {
        const document = wholeOf(stored, spec);
        if (document !== undefined) yield document;
      }
    },
    lookupFaults: async function* () {
      for (const collection of opened.values()) yield* lookupFaults(collection);
    },
  };
};

const openCollection = (db: Db, generation: GenerationOf, spec: CollectionSpec): Opened => {
  const documents = db.collection<Stored>(nameOf(generation, spec.name));
  const rows = spec.search === undefined ? undefined : db.collection<Row>(rowsNameOf(generation, spec.name));
  return { spec, documents, rows, known: knownRows(spec), finder: openFinder(documents, rows, spec) };
};

type Sent = Omit<CollectionWrites, 'collection'> &
  Readonly<{ documents: readonly Change<Stored>[]; rows: readonly Change<Row>[] }>;

/** Rows first: a document with a text has its row. */
const send = async ({ spec, documents, rows, known }: Opened, sent: Sent): Promise<void> => {
  if (rows === undefined || spec.search === undefined) return carryOutAll(documents, sent.documents);
  try {
    await carryOutAll(rows, sent.rows);
    await carryOutAll(documents, sent.documents);
  } catch (error) {
    known.clear();
    throw error;
  }
  for (const document of sent.put) known.set(document.id, markOf(document, spec));
  for (const { id } of sent.remove) known.set(id, false);
};

const getMany = async (
  { spec, documents, known }: Opened,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Document>> => {
  const found = new Map<string, Document>();
  const unique = [...new Set(ids)];
  for (let at = 0; at < unique.length; at += idsMax) {
    const among: Filter<Stored> = { _id: { $in: unique.slice(at, at + idsMax) } };
    for (const stored of await documents.find(among, { projection: wholeParts, batchSize: idsMax }).toArray()) {
      const document = wholeOf(stored, spec);
      if (document === undefined) continue;
      found.set(stored._id, document);
      known.set(stored._id, markOf(document, spec));
    }
  }
  return found;
};

async function* lookupFaults({ spec, documents, rows }: Opened): AsyncGenerator<LookupFault> {
  for await (const stored of scanned(documents, {})) {
    const document = wholeOf(stored, spec);
    if (document === undefined) continue;
    yield* fieldFaultsOf(stored, document, spec);
    const grams = gramsExpected(document, spec);
    if (rows === undefined || spec.search === undefined || grams === undefined) continue;
    const row = await rows.findOne({ _id: stored._id });
    if (String(row?.grams) !== String(grams) || row?.seq !== stored.seq)
      yield { collection: spec.name, id: stored._id, field: spec.search.field, in: 'search index' };
  }
}

/** In the order of ids; each part is asked for by itself, so that a slow reader holds nothing open. */
async function* scanned<Kept extends Rest & { seq?: number }>(
  collection: Collection<Kept>,
  projection: Readonly<Record<string, 1>>,
): AsyncGenerator<Kept> {
  let after: string | undefined;
  for (;;) {
    const where = { seq: { $gte: 0 }, ...(after === undefined ? {} : { _id: { $gt: after } }) } as Filter<Kept>;
    const options = { projection, sort: { _id: 1 as const }, limit: scannedMax, batchSize: scannedMax };
    const part = (await collection.find(where, options).toArray()) as Kept[];
    yield* part;
    if (part.length < scannedMax) return;
    after = part.at(-1)!._id;
  }
}
