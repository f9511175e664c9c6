/**
 * Finds the newest documents whose text holds a phrase. The search index alone answers where the scope is the only filter.
 * Other filters are looked up hit by hit, unless they leave so few documents that their texts are looked through instead.
 */
import type { CollectionSpec, Query } from '../../domain/ports/documents.js';
import type { Database, Statement } from '../sqlite/database.js';
import { searchTableOf, tableOf } from './names.js';
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
type Request = Readonly<{ match: string; filters: Fragment; before: bigint }>;

export const openSearcher = (database: Database, spec: CollectionSpec, prepare: (sql: string) => Statement): Searcher => {
  const table = tableOf(spec.name);
  const searchTable = searchTableOf(spec.name);
  const scopes = openScopes(database, spec);
  const scopeField = scopeFieldOf(spec);

  const hitsAlone = ({ match, before }: Request, wanted: number): number[] =>
    prepare(`SELECT rowid FROM ${searchTable} WHERE ${searchTable} MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?`)
      .pluck()
      .all(match, before, wanted) as number[];

  const hitsThatPass = ({ match, filters, before }: Request, wanted: number): number[] => {
    // Each hit comes back with its own seq, and again where the filters let it pass.
    const statement = prepare(`SELECT hits.seq, d.seq FROM
        (SELECT rowid AS seq FROM ${searchTable} WHERE ${searchTable} MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?) AS hits
        LEFT JOIN ${table} AS d ON d.seq = hits.seq AND ${filters.sql}`).raw(true);
    const found: number[] = [];
    let from = before;
    for (let limit = hitsFirst; ; limit = Math.min(limit * 4, hitsMax)) {
      const hits = statement.all(match, from, limit, ...filters.values) as [number, number | null][];
      for (const [, seq] of hits) if (seq !== null && found.push(seq) === wanted) return found;
      if (hits.length < limit) return found;
      from = BigInt(hits.at(-1)![0]);
    }
  };

  /** Undefined where the filters leave too many documents to look through. */
  const textsLookedThrough = (phrase: string, filters: Fragment, before: bigint, wanted: number): number[] | undefined => {
    const where = allOf(filters, { sql: 'd.seq < ?', values: [before] });
    const counted = prepare(`SELECT count(*) FROM (SELECT 1 FROM ${table} AS d${whereClause(where)} LIMIT ?)`)
      .pluck()
      .get(...where.values, filteredMax + 1) as number;
    if (counted > filteredMax) return undefined;
    const contains = containing(phrase);
    const rows = prepare(`SELECT d.seq, d.text FROM ${table} AS d${whereClause(where)} ORDER BY d.seq DESC`)
      .raw(true)
      .all(...where.values) as [number, string | null][];
    return rows.filter(([, text]) => text !== null && contains(text)).slice(0, wanted).map(([seq]) => seq);
  };

  return ({ where, search: phrase = '', after }, wanted) => {
    const phraseMatch = matchPhrase(phrase);
    if (phraseMatch === undefined) return [];
    const before = BigInt(after?.seq ?? Number.MAX_SAFE_INTEGER);
    const scope = scopeField === undefined ? undefined : where[scopeField]?.eq;
    if (scopeField === undefined || scope === undefined) {
      const filters = conditionsOf(spec, where);
      if (filters.sql === '') return hitsAlone({ match: phraseMatch, filters, before }, wanted);
      return textsLookedThrough(phrase, filters, before, wanted) ?? hitsThatPass({ match: phraseMatch, filters, before }, wanted);
    }
    const trigram = scopes.known(scope);
    if (trigram === undefined) return [];
    const match = scopes.onlyOne() ? phraseMatch : matchInScope(trigram, phraseMatch);
    const { eq: _scope, ...rest } = where[scopeField]!;
    const filters = conditionsOf(spec, { ...where, [scopeField]: rest });
    if (filters.sql === '') return hitsAlone({ match, filters, before }, wanted);
    return textsLookedThrough(phrase, conditionsOf(spec, where), before, wanted) ?? hitsThatPass({ match, filters, before }, wanted);
  };
};
