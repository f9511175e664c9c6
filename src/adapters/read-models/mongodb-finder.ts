/** Answers queries on one collection of one generation, with or without a search. */
import type { CollectionSpec, Counted, Document, Query, SearchedQuery } from '../../domain/ports/read-models.js';
import type { Filter } from '../mongodb/client.js';
import { shownOf, shownParts, type Stored, type StoredCollection } from './mongodb-documents.js';
import { filterOf, orderOf } from './mongodb-query.js';
import type { Rows } from './mongodb-search-rows.js';
import { openSearcher, type SearchQuery } from './mongodb-searcher.js';

type CountQuery = Pick<Query, 'where' | 'anyOf' | 'search' | 'terms'>;

export type Finder = Readonly<{
  get: (id: string) => Promise<Document | undefined>;
  find: (query: Query) => Promise<readonly Document[]>;
  count: (query: CountQuery, max: number) => Promise<number>;
  findCounted: (query: SearchedQuery, max: number) => Promise<Counted>;
}>;

/** So many hits are tested at most to count beyond the page. */
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
      // What comes after a cursor is found from there, yet all is counted.
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

const isSearched = ({ search, terms = [] }: Pick<Query, 'search' | 'terms'>): boolean => search !== undefined || terms.length > 0;
