/** The collections of one projection at one generation in MongoDB: made, written, read and dropped. */
import type { CollectionSpec, Document, LookupFault } from '../../domain/ports/read-models.js';
import { isDuplicateKey, type Db } from '../mongodb/client.js';
import { fieldOf, lookupFaultsOf, wholeOf, wholeParts, type Change, type Stored, type StoredCollection } from './mongodb-documents.js';
import { openFinder, type Finder } from './mongodb-finder.js';

export type Generation = Readonly<{
  number: number;
  finder: (collection: string) => Finder;
  getMany: (collection: string, ids: readonly string[]) => Promise<ReadonlyMap<string, Document>>;
  /** In the order given. */
  write: (collection: string, changes: readonly Change[]) => Promise<void>;
  scan: (collection: string) => AsyncIterable<Document>;
  /** Of all collections: what documents are found by, compared with what they hold. */
  lookupFaults: () => AsyncIterable<LookupFault>;
}>;

export type GenerationOf = Readonly<{ projection: string; number: number; specs: readonly CollectionSpec[] }>;

/** A late writer may write an older state for so long after a removal; then nothing is left of what was removed. */
const removedIsKeptSeconds = 24 * 3_600;
/** Changes of one message: so many take the slowest of servers a few seconds. */
const changesMax = 500;
const idsMax = 1_000;
const scannedMax = 500;

const nameOf = ({ projection, number }: Pick<GenerationOf, 'projection' | 'number'>, collection: string): string =>
  `rm.${projection}.${number}.${collection}`;

/** Makes the collections, empty, each with all its indexes in one call. What a crash has left of them is dropped. */
export const createGeneration = async (db: Db, generation: GenerationOf): Promise<void> => {
  await dropGenerations(db, generation.projection, (number) => number === generation.number);
  for (const spec of generation.specs) await db.collection(nameOf(generation, spec.name)).createIndexes(indexesOf(spec));
};

const indexesOf = ({ indexes, search }: CollectionSpec) => {
  const ofSeq = { key: { seq: 1 }, name: 'seq' } as const;
  const declared = indexes.map((fields, at) => {
    const all = fields.includes('seq') ? fields : [...fields, 'seq'];
    return { key: Object.fromEntries(all.map((field) => [fieldOf(field), 1 as const])), name: `declared_${at}` };
  });
  const ofSearch = search === undefined ? [] : [{ key: { grams: 1, seq: 1 } as const, name: 'search' }];
  const ofRemoved = { key: { goneAt: 1 }, name: 'removed', sparse: true, expireAfterSeconds: removedIsKeptSeconds } as const;
  return [ofSeq, ...declared, ...ofSearch, ofRemoved];
};

/** Drops the collections of those generations of a projection. */
export const dropGenerations = async (db: Db, projection: string, isDead: (number: number) => boolean): Promise<void> => {
  const found = await db.listCollections({ name: { $regex: `^rm\\.${projection}\\.` } }, { nameOnly: true }).toArray();
  for (const { name } of found) if (isDead(Number(name.split('.')[2]))) await db.collection(name).drop();
};

export const openGeneration = (db: Db, generation: GenerationOf): Generation => {
  const opened = new Map(
    generation.specs.map((spec) => {
      const collection = db.collection<Stored>(nameOf(generation, spec.name));
      return [spec.name, { spec, collection, finder: openFinder(collection, spec) }] as const;
    }),
  );
  const known = (name: string) => {
    const found = opened.get(name);
    if (found === undefined) throw new Error(`there is no collection ${name}`);
    return found;
  };
  return {
    number: generation.number,
    finder: (name) => known(name).finder,
    getMany: async (name, ids) => {
      const { collection, spec } = known(name);
      const found = new Map<string, Document>();
      for (const part of parts([...new Set(ids)], idsMax)) {
        const read = collection.find({ _id: { $in: [...part] } }, { projection: wholeParts, batchSize: idsMax });
        for (const stored of await read.toArray()) {
          const document = wholeOf(stored, spec);
          if (document !== undefined) found.set(stored._id, document);
        }
      }
      return found;
    },
    write: async (name, changes) => {
      for (const part of parts(changes, changesMax)) await carryOut(known(name).collection, part);
    },
    scan: async function* (name) {
      const { collection, spec } = known(name);
      for await (const stored of scanned(collection, wholeParts)) {
        const document = wholeOf(stored, spec);
        if (document !== undefined) yield document;
      }
    },
    lookupFaults: async function* () {
      for (const { collection, spec } of opened.values())
        for await (const stored of scanned(collection, {})) yield* lookupFaultsOf(stored, spec);
    },
  };
};

/** Goes on after each change that was refused because the document there, or what is left of it, has folded as much. */
const carryOut = async (collection: StoredCollection, changes: readonly Change[]): Promise<void> => {
  let left = changes;
  while (left.length > 0) {
    try {
      await collection.bulkWrite(
        left.map(({ operation }) => operation),
        { ordered: true },
      );
      return;
    } catch (error) {
      const at = isDuplicateKey(error) ? firstRefused(error) : undefined;
      if (at === undefined) throw error;
      left = await notFolded(collection, left.slice(at));
    }
  }
};

/** Another writer may have put the document at the same moment: then it has folded less, and the change is tried again. */
const notFolded = async (collection: StoredCollection, changes: readonly Change[]): Promise<readonly Change[]> => {
  const positions = new Map<string, number>();
  const ids = changes.map(({ id }) => id);
  for (const { _id, position } of await collection.find({ _id: { $in: ids } }, { projection: { position: 1 } }).toArray())
    positions.set(_id, position);
  return changes.filter(({ id, position }) => (positions.get(id) ?? -1) < position);
};

/** The number of the first operation of a bulk that was refused. */
const firstRefused = (error: unknown): number | undefined => {
  const refused = (error as Readonly<{ writeErrors?: unknown }>).writeErrors;
  const first: unknown = Array.isArray(refused) ? refused[0] : refused;
  const { index } = (first ?? {}) as Readonly<{ index?: unknown }>;
  return typeof index === 'number' ? index : undefined;
};

/** In the order of ids; each part is asked for by itself, so that a slow reader holds nothing open. */
async function* scanned(collection: StoredCollection, projection: Readonly<Record<string, 1>>): AsyncGenerator<Stored> {
  let after: string | undefined;
  for (;;) {
    const where = { seq: { $gte: 0 }, ...(after === undefined ? {} : { _id: { $gt: after } }) };
    const part = await collection.find(where, { projection, sort: { _id: 1 }, limit: scannedMax, batchSize: scannedMax }).toArray();
    yield* part;
    if (part.length < scannedMax) return;
    after = part.at(-1)!._id;
  }
}

const parts = function* <Value>(values: readonly Value[], size: number): Iterable<readonly Value[]> {
  for (let at = 0; at < values.length; at += size) yield values.slice(at, at + size);
};
