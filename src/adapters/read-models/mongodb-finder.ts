/** Answers queries on one collection of one generation, with or without a search. */
import type { CollectionSpec, Counted, Document, Query, SearchedQuery } from '../../domain/ports/read-models.js';
import type { Filter } from '../mongodb/client.js';
import { shownOf, shownParts, type Stored, type StoredCollection } from './mongodb-documents.js';
import { gramsSearched } from './mongodb-grams.js';
import { clausesOf, filterOf, literally, orderOf, type Clauses, type Order } from './mongodb-query.js';
import { isAnswered } from './search-tokens.js';

type CountQuery = Pick<Query, 'where' | 'anyOf' | 'search' | 'terms'>;

export type Finder = Readonly<{
  get: (id: string) => Promise<Document | undefined>;
  find: (query: Query) => Promise<readonly Document[]>;
  count: (query: CountQuery, max: number) => Promise<number>;
  findCounted: (query: SearchedQuery, max: number) => Promise<Counted>;
}>;

/** So many hits are tested at most to count beyond the page. */
const countedHitsMax = 5_000;
/** How far it is counted how often a number occurs, to look for the rarest of a search first. */
const rarityCountedMax = 1_000;
/** Numbers of a long phrase that are looked for; the text is looked at anyway. */
const gramsLookedForMax = 10;
/** Documents that come in one answer of the server. */
const batchSizeMax = 2_000;

/** Nothing can be found, or all of `clauses` hold of what is; `hits` alone holds of at least as many. */
type SearchPlan = 'nothing' | Readonly<{ clauses: Clauses; hits: Filter<Stored> }>;

export const openFinder = (collection: StoredCollection, spec: CollectionSpec): Finder => {
  const counted = (filter: Filter<Stored>, max: number): Promise<number> =>
    max <= 0 ? Promise.resolve(0) : collection.countDocuments(filter, max === Number.MAX_SAFE_INTEGER ? {} : { limit: max });
  const read = async (
    filter: Filter<Stored>,
    order: Order,
    { limit, skip = 0 }: Pick<Query, 'limit' | 'skip'>,
  ): Promise<readonly Document[]> => {
    if (limit <= 0) return [];
    const batchSize = Math.min(limit, batchSizeMax);
    const found = await collection.find(filter, { projection: shownParts, sort: order, limit, skip, batchSize }).toArray();
    return found.flatMap((stored) => shownOf(stored) ?? []);
  };
  const planOf = searchPlans(spec, counted);

  const find = async (query: Query, plan?: SearchPlan): Promise<readonly Document[]> => {
    if (query.anyOf?.length === 0) return [];
    const { order, from } = orderOf(spec, query);
    if (!isSearched(query)) return read(filterOf(spec, query, from), order, query);
    const given = plan ?? (await planOf(query));
    return given === 'nothing' ? [] : read(filterOf(spec, query, [...given.clauses, ...from]), order, query);
  };

  return {
    get: async (id) => {
      const stored = await collection.findOne({ _id: id }, { projection: shownParts });
      return stored === null ? undefined : shownOf(stored);
    },
    find,
    count: async (query, max) => {
      if (query.anyOf?.length === 0) return 0;
      if (!isSearched(query)) return counted(filterOf(spec, query), max);
      const plan = await planOf(query);
      return plan === 'nothing' ? 0 : counted(filterOf(spec, query, plan.clauses), max);
    },
    findCounted: async (query, max) => {
      const plan = query.anyOf?.length === 0 ? 'nothing' : await planOf(query);
      if (plan === 'nothing') return { documents: [], count: 0, isLowerBound: false };
      const { limit, skip = 0, after } = query;
      const documents = await find(query, plan);
      const isLast = documents.length < limit && (documents.length > 0 || skip === 0);
      // The rows found are the last, and it is known how many stand before them.
      if (after === undefined && isLast) return { documents, count: skip + documents.length, isLowerBound: false };
      const least = after === undefined && documents.length > 0 ? skip + documents.length : 0;
      const most = Math.max(least, max);
      const { count, isWhole } = await countedHits(query, plan, most);
      return { documents, count: Math.max(count, least, documents.length), isLowerBound: !isWhole || count >= most };
    },
  };

  /** Counts all where few documents hold the rarest number or pass the filters; else the newest of those that hold it. */
  async function countedHits(query: CountQuery, { clauses, hits }: Exclude<SearchPlan, 'nothing'>, most: number) {
    const filter = filterOf(spec, query, clauses);
    const numbers = await Promise.all([counted(hits, countedHitsMax), counted(filterOf(spec, query), countedHitsMax)]);
    if (Math.min(...numbers) < countedHitsMax) return { count: await counted(filter, most), isWhole: true };
    const newest = [{ $match: hits }, { $sort: { seq: -1 } }, { $limit: countedHitsMax }, { $match: filter }, { $limit: most }];
    const [found] = await collection.aggregate<{ count: number }>([...newest, { $count: 'count' }]).toArray();
    return { count: found?.count ?? 0, isWhole: false };
  }
};

const isSearched = ({ search, terms = [] }: Pick<Query, 'search' | 'terms'>): boolean => search !== undefined || terms.length > 0;

/** Throws RangeError for a search of a collection that has none, or one that does not fix its tenant. */
const searchPlans = (spec: CollectionSpec, counted: (filter: Filter<Stored>, max: number) => Promise<number>) => {
  /** The server goes through the hits of the number that is named first. */
  const rarestFirst = async (grams: readonly number[]): Promise<readonly number[]> => {
    if (grams.length < 2) return grams;
    const counts = await Promise.all(grams.map(async (gram) => [gram, await counted({ grams: gram }, rarityCountedMax)] as const));
    if (counts.some(([, count]) => count === 0)) return [];
    return counts.sort(([, a], [, b]) => a - b).map(([gram]) => gram);
  };

  return async ({ where, search: phrase, terms = [] }: CountQuery): Promise<SearchPlan> => {
    const { search } = spec;
    if (search === undefined) throw new RangeError(`${spec.name} has no search`);
    const tenant = where[search.within]?.eq;
    if (tenant === undefined) throw new RangeError(`a search of ${spec.name} names its ${search.within}`);
    if (phrase === undefined ? terms.length === 0 : !isAnswered(phrase)) return 'nothing';
    const grams = await rarestFirst(spread(gramsSearched(tenant, phrase, terms), gramsLookedForMax));
    const [rarest] = grams;
    if (rarest === undefined) return 'nothing';
    const { seq } = where;
    return {
      clauses: [
        { grams: grams.length === 1 ? rarest : { $all: grams } },
        ...(phrase === undefined ? [] : [{ text: literally(phrase) }]),
        ...(terms.length === 0 ? [] : [{ terms: { $all: terms } }]),
      ],
      hits: { $and: [{ grams: rarest }, ...(seq === undefined ? [] : clausesOf(spec, { seq }))] } as Filter<Stored>,
    };
  };
};

/** At most `max` of them, from the first to the last. */
const spread = (values: readonly number[], max: number): readonly number[] =>
  values.length <= max ? values : Array.from({ length: max }, (_, at) => values[Math.floor((at * (values.length - 1)) / (max - 1))]!);
