/** Answers queries on one collection, with or without a search. */
import type { CollectionSpec, Counted, Document, Query, SearchedQuery } from '../../domain/ports/read-models.js';
import type { Database, Statement } from '../sqlite/database.js';
import { boundedCache } from '../../shared/cache.js';
import { tableOf } from './names.js';
import { joinDocument, selectDocumentSql } from './personal.js';
import { allOf, alternativesOf, indexFor, orderOf, rowsOf } from './query.js';
import { openSearcher, type SearchLimits, type SearchQuery, type SearchResult } from './searcher.js';

type CountQuery = Pick<Query, 'where' | 'anyOf' | 'search' | 'terms'>;

export type Finder = Readonly<{
  find: (query: Query) => Document[];
  count: (query: CountQuery, max: number) => number;
  findCounted: (query: SearchedQuery, max: number) => Counted;
}>;

/** So many hits are tested at most to count beyond the page: some 5 to 10 ms. */
const countedHitsMax = 1_500;

const STATEMENTS_MAX = 256;

const isSearched = ({ search, terms = [] }: Pick<Query, 'search' | 'terms'>): boolean => search !== undefined || terms.length > 0;

export const openFinder = (database: Database, spec: CollectionSpec): Finder => {
  // Queries come in few shapes; should they not, some statements are made again.
  const statements = boundedCache<string, Statement>({ entriesMax: STATEMENTS_MAX });
  const prepare = (sql: string): Statement => statements.getOrMake(sql, () => database.prepare(sql));
  const searcher = spec.search === undefined ? undefined : openSearcher(database, spec, prepare);
  const search = (query: SearchQuery, limits: SearchLimits): SearchResult => {
    if (searcher === undefined) throw new RangeError(`${spec.name} has no search`);
    return searcher(query, limits);
  };
  const searchUpTo = (query: SearchQuery, most: number): readonly number[] => search(query, { least: most, most, hitsMax: Infinity }).seqs;
  const selectDoc = database.prepare<[number], [doc: string, rest: string | null]>(selectDocumentSql(spec)).raw(true);
  const bySeqs = (seqs: readonly number[]): Document[] =>
    seqs.flatMap((seq) => {
      const found = selectDoc.get(seq);
      return found === undefined ? [] : [joinDocument(spec, { doc: found[0], text: null, rest: found[1] })];
    });

  const { countRows, seqsInOrder } = openRows(spec, prepare);

  return {
    find: (query) => {
      const skip = query.skip ?? 0;
      if (isSearched(query)) return bySeqs(searchUpTo(query, skip + query.limit).slice(skip));
      return bySeqs(seqsInOrder(query, skip));
    },
    count: (query, max) => (isSearched(query) ? searchUpTo(query, max).length : countRows(query, max)),
    findCounted: (query, max) => {
      const { skip = 0, limit, after, ...fromTop } = query;
      // What comes after a cursor is found from there, yet all is counted.
      const least = after === undefined ? skip + limit : 0;
      const most = Math.max(least, max);
      const { seqs, isWhole } = search(fromTop, { least, most, hitsMax: countedHitsMax });
      const page = after === undefined ? seqs.slice(skip, least) : searchUpTo(query, skip + limit).slice(skip);
      return { documents: bySeqs(page), count: Math.max(seqs.length, page.length), isLowerBound: !isWhole || seqs.length === most };
    },
  };
};

/** Answers queries without a search from the indexes of the collection. */
const openRows = (spec: CollectionSpec, prepare: (sql: string) => Statement) => {
  const table = tableOf(spec.name);

  const countRows = (query: CountQuery, max: number): number => {
    const each = alternativesOf(spec, query).map(({ where }) => ({ where }));
    const rows = rowsOf(table, '1', each);
    // Without a bound, and of one condition, SQLite counts twice as fast.
    if (max === Number.MAX_SAFE_INTEGER && each.length === 1)
      return prepare(rowsOf(table, 'count(*)', each).sql)
        .pluck()
        .get(...rows.values) as number;
    return prepare(`SELECT count(*) FROM (${rows.sql} LIMIT ?)`)
      .pluck()
      .get(...rows.values, max) as number;
  };

  const seqsInOrder = (query: Query, skip: number): readonly number[] => {
    const { column, direction, from } = orderOf(spec, query);
    const alternatives = alternativesOf(spec, query);
    const sortField = query.sort?.field ?? 'seq';
    const each = alternatives.map(({ where, byField }) => ({
      where: allOf(where, from),
      ...(alternatives.length === 1 ? {} : { index: indexFor(spec, byField, sortField) }),
    }));
    // `seq` alone is asked for first: then every index that has the conditions and the order covers the query, and the narrowest is taken.
    // The rows of several conditions are merged as they are read, each in the order of its index.
    const isOne = each.length === 1;
    const { sql, values } = rowsOf(table, isOne ? 'd.seq' : `d.seq AS seq, ${column} AS value`, each);
    const order = isOne ? `${column} ${direction}, d.seq ${direction}` : `value ${direction}, seq ${direction}`;
    return prepare(`${sql} ORDER BY ${order} LIMIT ? OFFSET ?`)
      .pluck()
      .all(...values, query.limit, skip) as number[];
  };

  return { countRows, seqsInOrder };
};
