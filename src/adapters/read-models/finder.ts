/**
 * Answers queries on one collection in SQL, with or without a search. Values are always bound; the names that enter the
 * SQL are declared fields.
 */
import type {
  CollectionSpec,
  Condition,
  Query,
  Counted,
  Document,
  SearchedQuery,
} from '../../domain/ports/read-models.js';
import {
  filteredMax,
  holding,
  isFiltered,
  isSearched,
  type CountQuery,
  type SearchLimits,
  type SearchQuery,
  type SearchResult,
} from './grams.js';
import { columnOf, indexOf, searchTableOf, tableOf, waitingTableOf } from './names.js';
import type { Database, Statement } from '../sqlite/database.js';
import { textSql, joinDocument, selectDocumentSql } from './personal.js';
import { matchOf } from './search-index.js';
import { boundedCache } from '../../shared/cache.js';

export type Finder = Readonly<{
  find: (query: Query) => Document[];
  count: (query: CountQuery, max: number) => number;
  findCounted: (query: SearchedQuery, max: number) => Counted;
}>;

/**
 * Finds the newest documents of one tenant whose text holds a phrase, that have all terms and that pass filters: goes
 * through candidates, newest first, and tests each. They are the hits of the search index and the documents that wait
 * for it, or the documents that pass the filters where these are few.
 */
type Searcher = (query: SearchQuery, limits: SearchLimits) => SearchResult<number>;

type Fragment = Readonly<{ sql: string; values: readonly (string | number | bigint)[] }>;

/** The order of a query: a column, then `seq` in the same direction. */
type Order = Readonly<{ column: string; direction: 'asc' | 'desc'; from: Fragment }>;

/** One of the sets of conditions that may hold: in SQL, and by field, for the choice of an index. */
type Alternative = Readonly<{ where: Fragment; byField: Query['where'] }>;

/** Conditions on rows of a table, and the index by which they are to be found, where SQLite is not to choose. */
type Rows = Readonly<{ where: Fragment; index?: string | undefined }>;

const operators = { eq: '=', gte: '>=', lt: '<', lte: '<=' } as const satisfies Record<
  Exclude<keyof Condition, 'in'>,
  string
>;
const operatorNames = Object.keys(operators) as (keyof typeof operators)[];

/** Hits that are tested at most to count beyond the page: this takes 5 to 10 ms. */
const countedHitsMax = 2_500;

const STATEMENTS_MAX = 256;

export const openFinder = (database: Database, spec: CollectionSpec): Finder => {
  // Queries come in few shapes; should they not, some statements are made again.
  const statements = boundedCache<string, Statement>({ entriesMax: STATEMENTS_MAX });
  const prepare = (sql: string): Statement => statements.getOrMake(sql, () => database.prepare(sql));
  const selectDoc = database.prepare<[number], [doc: string, rest: string | null]>(selectDocumentSql(spec)).raw(true);
  const bySeqs = (seqs: readonly number[]): Document[] =>
    seqs.flatMap((seq) => {
      const found = selectDoc.get(seq);
      return found === undefined ? [] : [joinDocument(spec, { doc: found[0], text: null, rest: found[1] })];
    });

  const { countRows, seqsInOrder } = openRows(spec, prepare);
  const search = openSearcher(spec, prepare, countRows);
  const searchUpTo = (query: SearchQuery, most: number): readonly number[] =>
    search(query, { least: most, most, hitsMax: Infinity }).places;

  return {
    find: (query) => {
      const skip = query.skip ?? 0;
      if (isSearched(query)) return bySeqs(searchUpTo(query, skip + query.limit).slice(skip));
      return bySeqs(seqsInOrder(query, skip));
    },
    count: (query, max) => (isSearched(query) ? searchUpTo(query, max).length : countRows(query, max)),
    findCounted: (query, max) => {
      const { skip = 0, limit, after, ...fromTop } = query;
      // The page begins at the cursor, but all matching documents are counted.
      const least = after === undefined ? skip + limit : 0;
      const most = Math.max(least, max);
      const { places: seqs, isWhole } = search(fromTop, { least, most, hitsMax: countedHitsMax });
      const page = after === undefined ? seqs.slice(skip, least) : searchUpTo(query, skip + limit).slice(skip);
      return {
        documents: bySeqs(page),
        count: Math.max(seqs.length, page.length),
        isLowerBound: !isWhole || seqs.length === most,
      };
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
    // `seq` alone is asked for first: then every index that has the conditions and the order covers the query, and the
    // narrowest is taken. The rows of several conditions are merged as they are read, each in the order of its index.
    const isOne = each.length === 1;
    const { sql, values } = rowsOf(table, isOne ? 'd.seq' : `d.seq AS seq, ${column} AS value`, each);
    const order = isOne ? `${column} ${direction}, d.seq ${direction}` : `value ${direction}, seq ${direction}`;
    return prepare(`${sql} ORDER BY ${order} LIMIT ? OFFSET ?`)
      .pluck()
      .all(...values, query.limit, skip) as number[];
  };

  return { countRows, seqsInOrder };
};

const openSearcher =
  (
    spec: CollectionSpec,
    prepare: (sql: string) => Statement,
    countRows: (query: CountQuery, max: number) => number,
  ): Searcher =>
  ({ where, anyOf, search: phrase, terms = [], after }, { least, most, hitsMax }) => {
    const { name, search } = spec;
    if (search === undefined) throw new RangeError(`${name} has no search`);
    const tenant = where[search.within]?.eq;
    if (tenant === undefined) throw new RangeError(`a search of ${name} names its ${search.within}`);
    const match = matchOf(tenant, phrase, terms);
    const seqs: number[] = [];
    if (match === undefined) return { places: seqs, isWhole: true };
    const holds = holding(phrase, terms);
    const query = { where, ...(anyOf && { anyOf }) };
    const isFew = isFiltered(query) && countRows(query, filteredMax + 1) <= filteredMax;
    const [table, index] = [tableOf(name), searchTableOf(name)];
    const candidates = isFew
      ? rowsOf(table, 'd.seq', alternativesOf(spec, query))
      : {
          sql: `SELECT seq FROM ${waitingTableOf(name)} UNION ALL SELECT rowid FROM ${index} WHERE ${index} MATCH ?`,
          values: [match],
        };
    const filters = testOf(spec, query);
    const text = `SELECT ${textSql(spec)} FROM ${table} AS d WHERE d.seq = hit.seq AND ${filters.sql}`;
    const hits = prepare(`SELECT seq, (${text}) FROM (${candidates.sql}) AS hit WHERE seq < ? ORDER BY seq DESC`).raw(
      true,
    ) as Statement<unknown[], [seq: number, text: string | null]>;
    // FTS5 seeks only to what the driver binds as an integer.
    const end = BigInt(after?.seq ?? Number.MAX_SAFE_INTEGER + 1);
    let tested = 0;
    for (const [seq, found] of hits.iterate(...filters.values, ...candidates.values, end)) {
      if (seqs.length >= most) break;
      if (tested >= hitsMax && seqs.length >= least) return { places: seqs, isWhole: false };
      tested += 1;
      if (found !== null && holds(found)) seqs.push(seq);
    }
    return { places: seqs, isWhole: true };
  };

/** Conditions on the row `d`; an empty text if there are none. Throws RangeError for a field that is not declared. */
const conditionsOf = (spec: CollectionSpec, where: Query['where']): Fragment => {
  const sql: string[] = [];
  const values: (string | number)[] = [];
  for (const [field, condition] of Object.entries(where)) {
    // A bound on `seq` is only tested: the plus keeps SQLite from going through the table in place of an index.
    const column = field === 'seq' ? '+d.seq' : `d.${columnOf(declared(spec, field))}`;
    if (condition.in !== undefined) {
      // The plus keeps it from being looked up in an index.
      sql.push(`+d.${field === 'seq' ? 'seq' : columnOf(field)} IN (${condition.in.map(() => '?').join(', ')})`);
      values.push(...condition.in);
    }
    for (const name of operatorNames) {
      const value = condition[name];
      if (value === undefined) continue;
      sql.push(`${column} ${operators[name]} ?`);
      values.push(value);
    }
  }
  return { sql: sql.join(' AND '), values };
};

/** `from`: the condition that continues the order after a cursor. Documents without the sort field are left out. */
const orderOf = (spec: CollectionSpec, { where, sort, after }: Query): Order => {
  if (sort === undefined || sort.field === 'seq') {
    const direction = sort?.direction ?? 'desc';
    const from =
      after === undefined
        ? { sql: '', values: [] }
        : { sql: `d.seq ${direction === 'desc' ? '<' : '>'} ?`, values: [after.seq] };
    return { column: 'd.seq', direction, from };
  }
  const column = `d.${columnOf(declared(spec, sort.field))}`;
  const { eq, gte, lt, lte } = where[sort.field] ?? {};
  const isBounded = [eq, gte, lt, lte].some((bound) => bound !== undefined);
  const from =
    after === undefined
      ? // Beside a bound, which says the same, it would make SQLite take another index.
        { sql: isBounded ? '' : `${column} IS NOT NULL`, values: [] }
      : { sql: `(${column}, d.seq) ${sort.direction === 'desc' ? '<' : '>'} (?, ?)`, values: [after.value, after.seq] };
  return { column, direction: sort.direction, from };
};

/** The sets of conditions of which one must hold, each together with the conditions of `where`. */
const alternativesOf = (
  spec: CollectionSpec,
  { where, anyOf }: Pick<Query, 'where' | 'anyOf'>,
): readonly Alternative[] => {
  const common = conditionsOf(spec, where);
  if (anyOf === undefined) return [{ where: common, byField: where }];
  return anyOf.map((one) => ({ where: allOf(common, conditionsOf(spec, one)), byField: bothByField(where, one) }));
};

const bothByField = (where: Query['where'], one: Query['where']): Query['where'] => ({
  ...where,
  ...Object.fromEntries(Object.entries(one).map(([field, condition]) => [field, { ...where[field], ...condition }])),
});

/** The conditions of a query as one condition on a row at hand. */
const testOf = (spec: CollectionSpec, { where, anyOf }: Pick<Query, 'where' | 'anyOf'>): Fragment => {
  const common = conditionsOf(spec, where);
  if (anyOf === undefined) return common;
  const each = anyOf.map((one) => conditionsOf(spec, one));
  const sql = each.length === 0 ? '0' : each.map((one) => one.sql || '1').join(' OR ');
  return allOf(common, { sql: `(${sql})`, values: each.flatMap(({ values }) => values) });
};

/**
 * The index that finds the documents of these conditions in that order without looking at others; undefined where none
 * is declared.
 */
export const indexFor = (
  { name, indexes }: CollectionSpec,
  where: Query['where'],
  sortField: string,
): string | undefined => {
  let [found, fixedMost] = [undefined as string | undefined, 0];
  for (const [at, fields] of indexes.entries()) {
    const fixed = fields.findIndex((field) => where[field]?.eq === undefined);
    if (fixed <= fixedMost || fields[fixed] !== sortField) continue;
    [found, fixedMost] = [indexOf(name, at), fixed];
  }
  return found;
};

/** The rows that meet one of the conditions, in SQL; `select` is what is selected of row `d`. */
const rowsOf = (table: string, select: string, alternatives: readonly Rows[]): Fragment => ({
  sql: (alternatives.length === 0 ? [{ where: { sql: '0', values: [] } }] : alternatives)
    .map(
      ({ where, index }: Rows) =>
        `SELECT ${select} FROM ${table} AS d${index === undefined ? '' : ` INDEXED BY ${index}`}${whereClause(where)}`,
    )
    .join(' UNION ALL '),
  values: alternatives.flatMap(({ where }) => where.values),
});

/** Joins the fragments that are not empty. */
const allOf = (...fragments: readonly Fragment[]): Fragment => {
  const some = fragments.filter((fragment) => fragment.sql !== '');
  return {
    sql: some.map((fragment) => fragment.sql).join(' AND '),
    values: some.flatMap((fragment) => fragment.values),
  };
};

const whereClause = ({ sql }: Fragment): string => (sql === '' ? '' : ` WHERE ${sql}`);

const declared = (spec: CollectionSpec, field: string): string => {
  if (!spec.fields.includes(field)) throw new RangeError(`${field} is no declared field of ${spec.name}`);
  return field;
};
