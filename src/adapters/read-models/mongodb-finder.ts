/** Answers queries on one collection of one generation, with or without a search. */
import type { CollectionSpec, Query, Counted, Document, SearchedQuery } from '../../domain/ports/read-models.js';
import type { Filter } from '../mongodb/client.js';
import {
  type Stored,
  type StoredCollection,
  filterOf,
  literally,
  type Clauses,
  shownOf,
  shownParts,
  orderOf,
  type Row,
  type Rows,
} from './mongodb-documents.js';
import {
  filteredMax,
  gramsSearched,
  isFiltered,
  isSearched,
  type CountQuery,
  type SearchLimits,
  type SearchQuery,
  type SearchResult,
} from './grams.js';

export type Finder = Readonly<{
  get: (id: string) => Promise<Document | undefined>;
  find: (query: Query) => Promise<readonly Document[]>;
  count: (query: CountQuery, max: number) => Promise<number>;
  findCounted: (query: SearchedQuery, max: number) => Promise<Counted>;
}>;

/**
 * Finds the newest documents of one tenant whose text holds a phrase, that have all terms and that pass filters: the
 * search rows give candidates in windows, newest first, and their documents are tested. Where few documents pass the
 * filters, these are tested at once.
 */
type Searcher = (query: SearchQuery, limits: SearchLimits) => Promise<SearchResult<string>>;

/** Hits that are read and tested at once: few at first, for often a page is full soon. */
const windowMin = 64;
const windowMax = 4_096;

/** Hits that are tested at most to count beyond the page. */
const countedHitsMax = 4_096;
/** Documents that come in one answer of the server. */
const batchSizeMax = 2_000;

export const openFinder = (documents: StoredCollection, rows: Rows | undefined, spec: CollectionSpec): Finder => {
  const search = openSearcher(documents, rows, spec);

  const list = async (query: Query): Promise<readonly Document[]> => {
    const { limit, skip = 0, anyOf } = query;
    const { order, from } = orderOf(spec, query);
    const filter = filterOf(spec, query, from);
    if (limit <= 0 || anyOf?.length === 0) return [];
    const options = { projection: shownParts, sort: order, limit, skip, batchSize: Math.min(limit, batchSizeMax) };
    return (await documents.find(filter, options).toArray()).flatMap((stored) => shownOf(stored) ?? []);
  };
  const countRows = async (query: CountQuery, max: number): Promise<number> => {
    const filter = filterOf(spec, query);
    if (max <= 0 || query.anyOf?.length === 0) return 0;
    return documents.countDocuments(filter, max === Number.MAX_SAFE_INTEGER ? {} : { limit: max });
  };
  const searchUpTo = async (query: SearchQuery, most: number): Promise<readonly string[]> =>
    (await search(query, { least: most, most, hitsMax: Infinity })).places;

  return {
    get: async (id) => {
      const stored = await documents.findOne({ _id: id }, { projection: shownParts });
      return stored === null ? undefined : shownOf(stored);
    },
    find: async (query) => {
      if (!isSearched(query)) return list(query);
      const { skip = 0, limit } = query;
      return byIds(documents, (await searchUpTo(query, skip + limit)).slice(skip));
    },
    count: async (query, max) => (isSearched(query) ? (await searchUpTo(query, max)).length : countRows(query, max)),
    findCounted: async (query, max) => {
      const { skip = 0, limit, after, ...fromTop } = query;
      // The page begins at the cursor, but all matching documents are counted.
      const least = after === undefined ? skip + limit : 0;
      const most = Math.max(least, max);
      const { places: ids, isWhole } = await search(fromTop, { least, most, hitsMax: countedHitsMax });
      const page = after === undefined ? ids.slice(skip, least) : (await searchUpTo(query, skip + limit)).slice(skip);
      const count = Math.max(ids.length, page.length);
      return { documents: await byIds(documents, page), count, isLowerBound: !isWhole || ids.length === most };
    },
  };
};

/** In the order of the ids; one that is gone meanwhile is left out. */
const byIds = async (documents: StoredCollection, ids: readonly string[]): Promise<readonly Document[]> => {
  if (ids.length === 0) return [];
  const among: Filter<Stored> = { _id: { $in: [...ids] } };
  const found = new Map<string, Document>();
  for (const stored of await documents.find(among, { projection: { body: 1 }, batchSize: batchSizeMax }).toArray()) {
    const document = shownOf(stored);
    if (document !== undefined) found.set(stored._id, document);
  }
  return ids.flatMap((id) => found.get(id) ?? []);
};

/** Rejects with RangeError for a search of a collection that has none, or one that does not fix its tenant. */
const openSearcher =
  (documents: StoredCollection, rows: Rows | undefined, spec: CollectionSpec): Searcher =>
  async (query, { least, most, hitsMax }) => {
    const { where, anyOf, search: phrase, terms = [], after } = query;
    if (rows === undefined) throw new RangeError(`${spec.name} has no search`);
    const within = spec.search?.within ?? '';
    const tenant = where[within]?.eq;
    if (tenant === undefined) throw new RangeError(`a search of ${spec.name} names its ${within}`);
    const grams = gramsSearched(tenant, phrase, terms);
    const ids: string[] = [];
    if (grams === undefined || anyOf?.length === 0 || most <= 0) return { places: ids, isWhole: true };
    const test = filterOf(spec, query, [
      ...(phrase === undefined ? [] : [{ text: literally(phrase) }]),
      ...(terms.length === 0 ? [] : [{ terms: { $all: terms } }]),
      ...(after === undefined ? [] : [{ seq: { $lt: after.seq } }]),
    ]);
    if (
      isFiltered(query) &&
      (await documents.countDocuments(filterOf(spec, query), { limit: filteredMax + 1 })) <= filteredMax
    ) {
      const options = { projection: { seq: 1 }, sort: { seq: -1 }, limit: most, batchSize: batchSizeMax } as const;
      return { places: (await documents.find(test, options).toArray()).map(({ _id }) => _id), isWhole: true };
    }
    const candidates: Clauses = [
      ...(grams.all.length === 0 ? [] : [{ grams: { $all: grams.all } }]),
      ...(grams.any.length === 0 ? [] : [{ grams: { $in: grams.any } }]),
    ];
    let [end, size, tested] = [after?.seq, Math.min(Math.max(windowMin, 2 * least), windowMax), 0];
    for (;;) {
      const below = { $and: [...candidates, ...(end === undefined ? [] : [{ seq: { $lt: end } }])] } as Filter<Row>;
      const options = { projection: { seq: 1 }, sort: { seq: -1 }, limit: size, batchSize: size } as const;
      const hits = await rows.find(below, options).toArray();
      const passed = hits.length === 0 ? new Map<string, number>() : await passing(documents, test, hits);
      // A row that was left behind has another `seq` than the document that bears its id now.
      for (const { _id, seq } of hits) if (seq !== undefined && passed.get(_id) === seq) ids.push(_id);
      if (ids.length >= most) return { places: ids.slice(0, most), isWhole: true };
      if (hits.length < size) return { places: ids, isWhole: true };
      tested += hits.length;
      if (tested >= hitsMax && ids.length >= least) return { places: ids, isWhole: false };
      end = hits.at(-1)!.seq;
      size = Math.min(2 * size, windowMax);
    }
  };

/** The `seq` of each document that passes, by its id. */
const passing = async (
  documents: StoredCollection,
  test: Filter<Stored>,
  hits: readonly Row[],
): Promise<ReadonlyMap<string, number | undefined>> => {
  const tested: Filter<Stored> = { $and: [{ _id: { $in: hits.map(({ _id }) => _id) } }, test] };
  const found = await documents.find(tested, { projection: { seq: 1 }, batchSize: windowMax }).toArray();
  return new Map(found.map(({ _id, seq }) => [_id, seq]));
};
