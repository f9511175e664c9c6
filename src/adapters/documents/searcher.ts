/**
 * Finds the newest documents whose text holds a phrase. The search index alone answers where the scope is the only filter.
 * Other filters are looked up hit by hit, unless they leave so few documents that their texts are looked through instead.
 */
import type { CollectionSpec, Query } from '../../domain/ports/documents.js';
import type { Database, Statement } from '../sqlite/database.js';
import { searchTableOf, tableOf, waitingTableOf } from './names.js';
import { allOf, conditionsOf, whereClause, type Fragment } from './query.js';
import { openScopes, scopeFieldOf } from './scopes.js';
import { containing, matchInScope, matchPhrase } from './search-index.js';

export type SearchQuery = Pick<Query, 'where' | 'search' | 'after'>;
/** Answers with `seq` of the documents, newest first, at most `wanted`. */
export type Searcher = (query: SearchQuery, wanted: number) => number[];

/** Where the filters leave at most so many documents, their texts are looked through. */
const filteredMax = 2_000;
/** Hits of the search index that are looked up at a time; few first, for often they suffice. */
const hitsFirst = 256;
const hitsMax = 8_192;

/** The bound is a bigint, for FTS5 seeks only to what the driver binds as an integer. */
type Request = Readonly<{
  contains: (text: string) => boolean;
  before: bigint;
  /** In FTS5's syntax, with the scope. */
  match: string;
  /** What `match` leaves open. */
  otherFilters: Fragment;
  filters: Fragment;
}>;

export const openSearcher = (database: Database, spec: CollectionSpec, prepare: (sql: string) => Statement): Searcher => {
  const table = tableOf(spec.name);
  const searchTable = searchTableOf(spec.name);
  const waitingTable = waitingTableOf(spec.name);
  const scopes = openScopes(database, spec);
  const scopeField = scopeFieldOf(spec);

  const hitsAlone = ({ match, before }: Request, wanted: number): number[] =>
    prepare(`SELECT rowid FROM ${searchTable} WHERE ${searchTable} MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?`)
      .pluck()
      .all(match, before, wanted) as number[];

  const hitsThatPass = ({ match, otherFilters, before }: Request, wanted: number): number[] => {
    // Each hit comes back with its own seq, and again where the filters let it pass.
    const statement = prepare(`SELECT hits.seq, d.seq FROM
        (SELECT rowid AS seq FROM ${searchTable} WHERE ${searchTable} MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?) AS hits
        LEFT JOIN ${table} AS d ON d.seq = hits.seq AND ${otherFilters.sql}`).raw(true);
    const found: number[] = [];
    let from = before;
    for (let limit = hitsFirst; ; limit = Math.min(limit * 4, hitsMax)) {
      const hits = statement.all(match, from, limit, ...otherFilters.values) as [number, number | null][];
      for (const [, seq] of hits) if (seq !== null && found.push(seq) === wanted) return found;
      if (hits.length < limit) return found;
      from = BigInt(hits.at(-1)![0]);
    }
  };

  const lookThrough = ({ contains }: Request, source: string, where: Fragment): number[] => {
    const rows = prepare(`SELECT d.seq, d.text FROM ${source}${whereClause(where)} ORDER BY d.seq DESC`)
      .raw(true)
      .all(...where.values) as [number, string | null][];
    return rows.filter(([, text]) => text !== null && contains(text)).map(([seq]) => seq);
  };

  /** Undefined where the filters leave too many documents to look through. */
  const amongFew = (request: Request): number[] | undefined => {
    const where = allOf(request.filters, { sql: 'd.seq < ?', values: [request.before] });
    const counted = prepare(`SELECT count(*) FROM (SELECT 1 FROM ${table} AS d${whereClause(where)} LIMIT ?)`)
      .pluck()
      .get(...where.values, filteredMax + 1) as number;
    return counted > filteredMax ? undefined : lookThrough(request, `${table} AS d`, where);
  };

  /** What is not in the index yet. */
  const amongWaiting = (request: Request): number[] =>
    lookThrough(
      request,
      `${waitingTable} AS w CROSS JOIN ${table} AS d ON d.seq = w.seq`,
      allOf({ sql: 'w.seq < ?', values: [request.before] }, request.filters),
    );

  /** Undefined where nothing can match. */
  const requestOf = ({ where, search: phrase = '', after }: SearchQuery): Request | undefined => {
    const phraseMatch = matchPhrase(phrase);
    if (phraseMatch === undefined) return undefined;
    const filters = conditionsOf(spec, where);
    const request = { contains: containing(phrase), before: BigInt(after?.seq ?? Number.MAX_SAFE_INTEGER), filters };
    const scopeCondition = scopeField === undefined ? undefined : where[scopeField];
    if (scopeField === undefined || scopeCondition?.eq === undefined) return { ...request, match: phraseMatch, otherFilters: filters };
    const trigram = scopes.known(scopeCondition.eq);
    if (trigram === undefined) return undefined;
    const { eq: _scope, ...rest } = scopeCondition;
    const otherFilters = conditionsOf(spec, { ...where, [scopeField]: rest });
    return { ...request, match: scopes.onlyOne() ? phraseMatch : matchInScope(trigram, phraseMatch), otherFilters };
  };

  return (query, wanted) => {
    const request = requestOf(query);
    if (request === undefined) return [];
    if (request.otherFilters.sql === '') return newest(amongWaiting(request), hitsAlone(request, wanted), wanted);
    return amongFew(request)?.slice(0, wanted) ?? newest(amongWaiting(request), hitsThatPass(request, wanted), wanted);
  };
};

const newest = (some: readonly number[], others: readonly number[], wanted: number): number[] =>
  some.length === 0 ? others.slice(0, wanted) : [...some, ...others].sort((a, b) => b - a).slice(0, wanted);
