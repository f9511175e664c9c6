/**
 * Read models: documents that projections derive from the log and that queries find again.
 * Everything here can be rebuilt, so durability follows the checkpoint: what is lost with a crash is projected again.
 */
import type { JsonObject } from '../json.js';

/** Every document has an id, the position of the event that made it, and that of the last event folded into it. */
export type Document = JsonObject & Readonly<{ id: string; seq: number; position: number }>;

/**
 * A declared collection. `fields` are the top-level fields that queries filter and sort by (strings or numbers, absent allowed);
 * `indexes` lists the field orders to index, each is extended by `seq` where it does not name it itself. `search` names the top-level field that holds
 * the text (string) for substring search; it is kept in the search index only, not in the document.
 * A change of shape takes a new `version`: the collection is then rebuilt.
 */
export type CollectionSpec = Readonly<{
  name: string;
  version: number;
  fields: readonly string[];
  indexes: readonly (readonly string[])[];
  search?: string;
  /** A declared field, such as the team: a search that fixes it by `eq` never walks through the hits of others. */
  searchScope?: string;
  /** A declared field that rises with `seq`, or nearly so, such as the time of creation: a search that bounds it looks only where such documents lie. */
  searchRange?: string;
}>;

export type Condition = Readonly<{ eq?: string | number; gte?: string | number; lt?: string | number; lte?: string | number }>;

export type Query = Readonly<{
  /** All conditions hold; keys are declared fields. */
  where: Readonly<Record<string, Condition>>;
  /** Case-insensitive substring (at least 3 characters) of the searched text. With it the order is `seq`, descending. */
  search?: string;
  /** A declared field; ties are broken by `seq` in the same direction. Default: `seq`. */
  sort?: Readonly<{ field: string; direction: 'asc' | 'desc' }>;
  limit: number;
  /** Continue after this place in the order (keyset): as fast as the first page. */
  after?: Place;
  /** Rows to pass over; for page numbers. */
  skip?: number;
}>;

/** Where a document stands in an order: its value in the sort field (or its `seq`) and its `seq`. */
export type Place = Readonly<{ value: string | number; seq: number }>;

/** What one write puts and removes, in one collection. */
export type CollectionWrites = Readonly<{ collection: string; put: readonly Document[]; remove: readonly string[] }>;

/** The progress of a projection. `generation` changes when a rebuild has put other collections in the place of the old. */
export type Checkpoint = Readonly<{ position: number; generation: number }>;

/** The checkpoint was not where the writer had read it: another process projects too, or a rebuild was switched in. */
export class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
}

/** The collections of one projection at one generation. */
export type ProjectionStore = Readonly<{
  checkpoint: () => Promise<Checkpoint>;
  getMany: (collection: string, ids: readonly string[]) => Promise<ReadonlyMap<string, Document>>;
  /**
   * Writes in the order given, then moves the checkpoint from `from` to position `to`; all or nothing.
   * Rejects with CheckpointMoved where the checkpoint is not `from`.
   */
  write: (writes: readonly CollectionWrites[], from: Checkpoint, to: number) => Promise<void>;
}>;

/** A query with a search, whose order is fixed. */
export type SearchedQuery = Omit<Query, 'sort'> & Readonly<{ search: string }>;

/** `isLowerBound`: there may be more than `count`. */
export type Counted = Readonly<{ documents: readonly Document[]; count: number; isLowerBound: boolean }>;

export type ReadModels = Readonly<{
  /** Opens (and where needed creates) the collections of a projection. A new version of any spec starts again at position 0. */
  projection: (name: string, specs: readonly CollectionSpec[]) => Promise<ProjectionStore>;
  get: (collection: string, id: string) => Promise<Document | undefined>;
  find: (collection: string, query: Query) => Promise<readonly Document[]>;
  /** How many documents match, counted no further than `max`. */
  count: (collection: string, query: Pick<Query, 'where' | 'search'>, max: number) => Promise<number>;
  /**
   * One page of a search, as `find`, and how many documents it finds in all, wherever the page begins. Beyond what the page
   * takes they are counted no further than `max`, and no further than a bounded effort reaches: where hits are many and the
   * filters let few of them pass, counting would walk through them all. The effort is counted in steps, so the same
   * documents give the same answer.
   */
  findCounted: (collection: string, query: SearchedQuery, max: number) => Promise<Counted>;
  /**
   * Empty collections beside the live ones. `commit` puts them in the place of the live ones in one step
   * (checkpoint included, generation raised) and gives the freed pages back, so that nothing of the old stays in any file;
   * `discard` drops them. `scan` walks a collection of either side in id order, for comparison.
   */
  rebuild: (name: string) => Promise<Rebuild>;
  close: () => Promise<void>;
}>;

export type Rebuild = Readonly<{
  store: ProjectionStore;
  scan: (collection: string, side: 'live' | 'rebuilt') => AsyncIterable<Document>;
  commit: () => Promise<void>;
  discard: () => Promise<void>;
}>;
