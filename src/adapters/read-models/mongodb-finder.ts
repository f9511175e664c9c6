/** Answers queries on one collection of one generation, with or without a search. */
import type { CollectionSpec, Query, Counted, Document, SearchedQuery } from '../../domain/ports/read-models.js';
import type { Filter } from '../mongodb/client.js';
import {
  type Stored,
  type StoredCollection,
  clausesOf,
  filterOf,
  literally,
  type Clauses,
  shownOf,
  shownParts,
  orderOf,
  gramsSearched,
  type SearchedGrams,
  type Row,
  type Rows,
} from './mongodb-documents.js';
import { isAnswered } from './search-tokens.js';

export type Finder = Readonly<{
  get: (id: string) => Promise<Document | undefined>;
  find: (query: Query) => Promise<readonly Document[]>;
  count: (query: CountQuery, max: number) => Promise<number>;
  findCounted: (query: SearchedQuery, max: number) => Promise<Counted>;
}>;

type SearchQuery = Pick<Query, 'where' | 'anyOf' | 'search' | 'terms' | 'after'>;

/**
 * A search finds at least `least` documents if there are so many; beyond that at most `most`, and no more once
 * `hitsMax` hits were tested.
 */
type SearchLimits = Readonly<{ least: number; most: number; hitsMax: number }>;

/** Newest first. `isWhole` is false if the search stopped at `hitsMax`. */
type SearchResult = Readonly<{ ids: readonly string[]; isWhole: boolean }>;

/**
 * Finds the newest documents of one tenant whose text holds a phrase, that have all terms and that pass filters. The
 * search rows are read in windows, newest first, and their documents are tested. If few documents pass the filters,
 * these are tested instead.
 */
type Searcher = (query: SearchQuery, limits: SearchLimits) => Promise<SearchResult>;

type CountQuery = Pick<Query, 'where' | 'anyOf' | 'search' | 'terms'>;

type Found = Readonly<{ id: string; seq: number }>;

/** `test`: what holds of a document that is found. */
type Plan = Readonly<{ hits: Clauses; test: Filter<Stored>; filters: Filter<Stored> | undefined }>;

/** At most `size` of them, newest first, below `end`. */
type ReadHits = (hits: Clauses, end: number | undefined, size: number) => Promise<readonly Found[]>;

/** Hits that are read and tested at once: few at first, for often a page is full soon. */
const windowMin = 64;
const windowMax = 4_096;
/** If at most so many documents pass the filters, these are tested without the search rows. */
const filteredMax = 2_000;
/** How far it is counted how often a number occurs, to look for the rarest first. */
const rarityCountedMax = 1_000;
/** Numbers of a long phrase that are looked for; the text is looked at anyway. */
const gramsLookedForMax = 10;

/** Hits that are tested at most to count beyond the page. */
const countedHitsMax = 4_096;
/** Documents that come in one answer of the server. */
const batchSizeMax = 2_000;

const nothing: SearchResult = { ids: [], isWhole: true };

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
    (await search(query, { least: most, most, hitsMax: Infinity })).ids;

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
      const { ids, isWhole } = await search(fromTop, { least, most, hitsMax: countedHitsMax });
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

const isSearched = ({ search, terms = [] }: Pick<Query, 'search' | 'terms'>): boolean =>
  search !== undefined || terms.length > 0;

/** Rejects with RangeError for a search of a collection that has none, or one that does not fix its tenant. */
const openSearcher = (documents: StoredCollection, rows: Rows | undefined, spec: CollectionSpec): Searcher => {
  const passing = async (test: Filter<Stored>, hits: readonly Found[]): Promise<readonly Found[]> => {
    const seqs = new Map(hits.map(({ id, seq }) => [id, seq]));
    const tested: Filter<Stored> = { $and: [{ _id: { $in: [...seqs.keys()] } }, test] };
    const found = await documents.find(tested, { projection: { seq: 1 }, batchSize: windowMax }).toArray();
    // A row that was left behind has another `seq` than the document that bears its id now.
    const passed = new Set(found.filter(({ _id, seq }) => seqs.get(_id) === seq).map(({ _id }) => _id));
    return hits.filter(({ id }) => passed.has(id));
  };

  /** Undefined where too many pass the filters. */
  const amongFew = async ({ test, filters }: Plan, most: number): Promise<SearchResult | undefined> => {
    if (filters === undefined || (await documents.countDocuments(filters, { limit: filteredMax + 1 })) > filteredMax)
      return undefined;
    const found = await documents
      .find(test, { projection: { seq: 1 }, sort: { seq: -1 }, limit: most, batchSize: windowMax })
      .toArray();
    return { ids: found.map(({ _id }) => _id), isWhole: true };
  };

  const throughHits = async (
    read: ReadHits,
    plan: Plan,
    { least, most, hitsMax }: SearchLimits,
  ): Promise<SearchResult> => {
    const ids: string[] = [];
    let [tested, end, size] = [0, undefined as number | undefined, Math.min(Math.max(windowMin, 2 * least), windowMax)];
    for (;;) {
      if (ids.length >= most) return { ids: ids.slice(0, most), isWhole: true };
      if (tested >= hitsMax && ids.length >= least) return { ids, isWhole: false };
      const hits = await read(plan.hits, end, size);
      if (hits.length > 0) for (const { id } of await passing(plan.test, hits)) ids.push(id);
      if (hits.length < size) return { ids: ids.slice(0, most), isWhole: true };
      if (tested === 0 && ids.length < most) {
        const few = await amongFew(plan, most);
        if (few !== undefined) return few;
      }
      tested += hits.length;
      end = hits.at(-1)!.seq;
      size = Math.min(2 * size, windowMax);
    }
  };

  return async (query, limits) => {
    if (rows === undefined) throw new RangeError(`${spec.name} has no search`);
    const plan = await planOf(rows, spec, query);
    return plan === undefined || limits.most <= 0 ? nothing : throughHits(hitsOf(rows), plan, limits);
  };
};

/** Undefined where nothing can be found. */
const planOf = async (rows: Rows, spec: CollectionSpec, query: SearchQuery): Promise<Plan | undefined> => {
  const { where, anyOf, search: phrase, terms = [], after } = query;
  const within = spec.search?.within ?? '';
  const tenant = where[within]?.eq;
  if (tenant === undefined) throw new RangeError(`a search of ${spec.name} names its ${within}`);
  const { seq, [within]: _, ...others } = where;
  const continued: Clauses = after === undefined ? [] : [{ seq: { $lt: after.seq } }];
  const looked = [
    ...(phrase === undefined ? [] : [{ text: literally(phrase) }]),
    ...(terms.length === 0 ? [] : [{ terms: { $all: terms } }]),
  ];
  const test = filterOf(spec, query, [...looked, ...continued]);
  const isAsked = phrase === undefined ? terms.length > 0 : isAnswered(phrase);
  const grams =
    isAsked && anyOf?.length !== 0 ? await gramClauses(rows, gramsSearched(tenant, phrase, terms)) : undefined;
  if (grams === undefined) return undefined;
  const isFiltered = anyOf !== undefined || Object.keys(others).length > 0;
  return {
    hits: [...grams, ...(seq === undefined ? [] : clausesOf(spec, { seq })), ...continued],
    test,
    filters: isFiltered ? filterOf(spec, query, continued) : undefined,
  };
};

const hitsOf =
  (rows: Rows): ReadHits =>
  async (hits, end, size) => {
    const all = { $and: [...hits, ...(end === undefined ? [] : [{ seq: { $lt: end } }])] } as Filter<Row>;
    const read = rows.find(all, { projection: { seq: 1 }, sort: { seq: -1 }, limit: size, batchSize: size });
    return (await read.toArray()).flatMap(({ _id: id, seq }) => (seq === undefined ? [] : { id, seq }));
  };

/**
 * The server goes through the hits of the number that is named first: the rarest. Undefined where one of them occurs
 * nowhere.
 */
const gramClauses = async (rows: Rows, { all, any }: SearchedGrams): Promise<Clauses | undefined> => {
  const oneOf = any.length === 0 ? [] : [{ grams: { $in: any } }];
  if (all.length === 0) return oneOf;
  if (all.length === 1) return [{ grams: all[0] }, ...oneOf];
  const counted = await Promise.all(
    spread(all, gramsLookedForMax).map(async (gram) => ({
      gram,
      count: await rows.countDocuments({ grams: gram }, { limit: rarityCountedMax }),
    })),
  );
  if (counted.some(({ count }) => count === 0)) return undefined;
  return [{ grams: { $all: counted.sort((a, b) => a.count - b.count).map(({ gram }) => gram) } }, ...oneOf];
};

/** At most `max` of them, from the first to the last. */
const spread = (values: readonly number[], max: number): readonly number[] =>
  values.length <= max
    ? values
    : Array.from({ length: max }, (_, at) => values[Math.floor((at * (values.length - 1)) / (max - 1))]!);
