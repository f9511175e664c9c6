/**
 * Read models: documents that projections derive from the log and that queries find again.
 * Everything here can be rebuilt, so durability follows the checkpoint: what is lost with a crash is projected again.
 */
import type { JsonObject } from '../core/json.js';

/** Every document has an id, the position of the event that made it, and that of the last event folded into it. */
export type Document = JsonObject & Readonly<{ id: string; seq: number; position: number }>;

/**
 * A declared collection. `fields` are the top-level fields that queries filter and sort by (strings or numbers, absent
 * allowed); `indexes` lists the field orders to index, each is extended by `seq` where it does not name it itself.
 * Filters that are used together stand in one index, so that no engine has to choose by how often a value occurs.
 * `search` names the top-level field that holds the text (string) for substring search, and `terms` the one that holds
 * a list of exact terms of a document that has a text; queries answer neither. Both are without control characters, but
 * for line breaks. `within` is a declared field (the team) that every search fixes by `eq`: a search never goes through
 * the hits of another value. `personal` names top-level fields of which nothing may be left in any file, seconds after
 * a document was written without them or removed; the terms go with the text. Their values do not change once they are
 * written. A change of shape takes a new `version`: the collection is then rebuilt.
 */
export type CollectionSpec = Readonly<{
  name: string;
  version: number;
  fields: readonly string[];
  indexes: readonly (readonly string[])[];
  search?: Readonly<{ field: string; within: string; terms?: string }>;
  personal?: readonly string[];
}>;

/** `in`: one of these; it is tested, not looked up. */
export type Condition = Readonly<{
  eq?: string | number;
  in?: readonly (string | number)[];
  gte?: string | number;
  lt?: string | number;
  lte?: string | number;
}>;

export type Query = Readonly<{
  /** All conditions hold; keys are declared fields, or `seq`. */
  where: Readonly<Record<string, Condition>>;
  /**
   * One of these holds too, beside all that `where` says, also of the same field; no document meets two of them. Each
   * is looked up by itself, as if its conditions stood in `where`, and the documents are in one order.
   */
  anyOf?: readonly Readonly<Record<string, Condition>>[];
  /**
   * A substring of the searched text, as both are written: who writes and who asks fold them alike. It has two
   * characters at least, or is one of those that `isIdeographic` names; a shorter one finds nothing. `where` then fixes
   * the field `within` by `eq`, and the order is `seq`, descending.
   */
  search?: string;
  /** All of these are among the document's terms; for `where` and the order the same holds as for a search. */
  terms?: readonly string[];
  /** A declared field; ties are broken by `seq` in the same direction. Default: `seq`. */
  sort?: Readonly<{ field: string; direction: 'asc' | 'desc' }>;
  limit: number;
  /** Continue after this document in the order (keyset): as fast as the first page. */
  after?: Cursor;
  /** Rows to pass over; for page numbers. */
  skip?: number;
}>;

/** Place of a document in an order: its value in the sort field (or its `seq`) and its `seq`. */
export type Cursor = Readonly<{ value: string | number; seq: number }>;

/** A document that is to be removed, and the position of the event that removes it. */
export type Removal = Readonly<{ id: string; position: number }>;

/** Documents that one write puts and removes, in one collection. */
export type CollectionWrites = Readonly<{ collection: string; put: readonly Document[]; remove: readonly Removal[] }>;

/**
 * The progress of a projection. `generation` changes when a rebuild has put other collections in the place of the old.
 * `passedOver`: the first event of a newer program that is not folded although the checkpoint is behind it.
 */
export type Checkpoint = Readonly<{ position: number; generation: number; passedOver?: number }>;

/** The checkpoint was not where the writer had read it: another process projects too, or a rebuild was switched in. */
export class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
}

/** The collections of one projection at one generation. */
export type ProjectionStore = Readonly<{
  checkpoint: () => Promise<Checkpoint>;
  getMany: (collection: string, ids: readonly string[]) => Promise<ReadonlyMap<string, Document>>;
  /**
   * Writes in the order given, the checkpoint last: from `from` to position `to`, between which all positions in
   * `writes` lie. A crash may tear it anywhere: then a first part is written, the checkpoint has not moved, and the
   * same events are folded and written again. Each put and each removal is conditional at the server: it changes
   * nothing where the document there, or what is left of a removed one, has folded the same position or a later one. So
   * a writer that was frozen, and wakes after another has gone on, harms nothing. Rejects with CheckpointMoved where
   * position and generation of the checkpoint are not those of `from`. `passedOver` becomes that of `from`.
   */
  write: (writes: readonly CollectionWrites[], from: Checkpoint, to: number) => Promise<void>;
}>;

/** A query with a search, with terms or with both, whose order is fixed. */
export type SearchedQuery = Omit<Query, 'sort'> &
  (Readonly<{ search: string }> | Readonly<{ terms: readonly string[] }>);

/** `isLowerBound`: there may be more than `count`. */
export type Counted = Readonly<{ documents: readonly Document[]; count: number; isLowerBound: boolean }>;

export type ReadModels = Readonly<{
  /**
   * Opens (and where needed creates) the collections of a projection. A new version of any spec starts again at
   * position 0.
   */
  projection: (name: string, specs: readonly CollectionSpec[]) => Promise<ProjectionStore>;
  get: (collection: string, id: string) => Promise<Document | undefined>;
  find: (collection: string, query: Query) => Promise<readonly Document[]>;
  /** How many documents match, counted no further than `max`. */
  count: (
    collection: string,
    query: Pick<Query, 'where' | 'anyOf' | 'search' | 'terms'>,
    max: number,
  ) => Promise<number>;
  /**
   * One page of a search, as `find`, and how many documents it finds in all, wherever the page begins. Beyond what the
   * page takes they are counted no further than `max`, and no further than a bounded number of hits (or time) allows.
   */
  findCounted: (collection: string, query: SearchedQuery, max: number) => Promise<Counted>;
  /**
   * Empty collections beside the live ones. `commit` puts them in the place of the live ones in one step (checkpoint
   * included, generation raised) and gives the freed pages back, so that nothing of the old stays in any file;
   * `discard` drops them.
   */
  rebuild: (name: string) => Promise<Rebuild>;
  /**
   * Opens the live collections of a projection for comparison, exactly as they are: none is made, mended, emptied or
   * replaced. Out: undefined if there are none of these specs. Rejects while a rebuild or another inspection of the
   * projection is under way. Each reader of damaged live collections rejects with ReadModelDamaged.
   */
  inspect: (name: string, specs: readonly CollectionSpec[]) => Promise<Inspection | undefined>;
  close: () => Promise<void>;
}>;

/**
 * A field of a document whose value is not that by which the document is found. `id` is empty where it is a whole
 * index, which `field` then describes.
 */
export type LookupFault = Readonly<{
  collection: string;
  id: string;
  field: string;
  in: 'column' | 'index' | 'search index';
}>;

export type Rebuild = Readonly<{
  store: ProjectionStore;
  commit: () => Promise<void>;
  discard: () => Promise<void>;
}>;

/** The live collections cannot be read as they were written. `place`: their file. */
export class ReadModelDamaged extends Error {
  override readonly name = 'ReadModelDamaged';
  readonly place: string;
  constructor(place: string, reason: string, options?: ErrorOptions) {
    super(`${place} is damaged (${reason})`, options);
    this.place = place;
  }
}

/**
 * The live collections of a projection, which cannot be written here, and empty ones beside them, which never take
 * their place.
 */
export type Inspection = Readonly<{
  live: Pick<ProjectionStore, 'checkpoint' | 'getMany'>;
  /** Collections to be filled from the log for comparison. */
  rebuilt: ProjectionStore;
  /** Reads a collection of either side in the order of ids. */
  scan: (collection: string, side: 'live' | 'rebuilt') => AsyncIterable<Document>;
  /** Compares what the live side is filtered, sorted and searched by with its documents, as they are at one moment. */
  lookupFaults: () => AsyncIterable<LookupFault>;
  /** Drops the collections beside the live ones. */
  close: () => Promise<void>;
}>;
