/** Finds the newest documents whose text holds a phrase and that pass filters. */
import type { CollectionSpec, Query } from '../../domain/ports/read-models.js';
import type { Database, Statement } from '../sqlite/database.js';
import type { IndexChoice } from './index-choice.js';
import { searchTableOf } from './names.js';
import { conditionsOf } from './query.js';
import { openScopes, startOfScope } from './scopes.js';
import { containing, matchPhrase } from './search-index.js';
import { openTexts } from './search-texts.js';
import { openWalk, type Found, type Wanted } from './search-walk.js';
import { zonesWithin } from './zones.js';

export type SearchQuery = Pick<Query, 'where' | 'search' | 'after'>;
/** Finds what is wanted, newest first. */
export type Searcher = (query: SearchQuery, wanted: Wanted) => Found;

/** Above every `seq` that a row id can hold. */
const seqEnd = 2 ** 40 - 1;

export const openSearcher = (
  database: Database,
  spec: CollectionSpec,
  prepare: (sql: string) => Statement,
  chooseIndex: IndexChoice,
): Searcher => {
  const scopes = openScopes(database, spec);
  const { amongFew, amongWaiting, textOf } = openTexts(spec, prepare);
  const walk = openWalk(spec, prepare, textOf);

  /** The hits of the search index in one scope from `first` on and below `end`, newest first. A lazy one keeps a statement open. */
  const hitsInScope = (match: string, scope: number) => {
    const start = startOfScope(scope);
    const statement = prepare(
      `SELECT rowid - ? FROM ${searchTableOf(spec.name)} WHERE ${searchTableOf(spec.name)} MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?`,
    ).pluck() as Statement<[bigint, string, bigint, bigint, number], number>;
    const bound = (first: number, end: number, limit: number) => [start, match, start + BigInt(first), start + BigInt(end), limit] as const;
    return {
      lazy: (first: number, end: number): Iterator<number> => statement.iterate(...bound(first, end, -1)),
      some: (first: number, end: number, limit: number): number[] => statement.all(...bound(first, end, limit)),
    };
  };

  const hitsOf = (match: string, numbers: readonly number[]) => {
    const each = numbers.map((number) => hitsInScope(match, number));
    if (each.length === 1) return each[0]!;
    const some = (first: number, end: number, limit: number): number[] =>
      each
        .flatMap((one) => one.some(first, end, limit))
        .sort((a, b) => b - a)
        .slice(0, limit < 0 ? undefined : limit);
    return { some, lazy: (first: number, end: number): Iterator<number> => some(first, end, -1).values() };
  };

  const scopeNumbers = (where: Query['where']): readonly number[] => {
    const only = spec.searchScope === undefined ? null : where[spec.searchScope]?.eq;
    if (only === undefined) return scopes.all();
    const number = scopes.known(only);
    return number === undefined ? [] : [number];
  };

  return ({ where, search: phrase = '', after }, wanted) => {
    const match = matchPhrase(phrase);
    const numbers = match === undefined ? [] : scopeNumbers(where);
    if (match === undefined || numbers.length === 0) return { seqs: [], isWhole: true };
    const [contains, before] = [containing(phrase), after?.seq ?? seqEnd];
    const filters = conditionsOf(spec, where);
    const otherFilters = conditionsOf(spec, withoutScope(spec, where));
    const hits = hitsOf(match, numbers);
    const waiting = amongWaiting(filters, before, contains);
    if (otherFilters.sql === '') return merged(waiting, { seqs: hits.some(0, before, wanted.most), isWhole: true }, wanted.most);
    const index = chooseIndex(where);
    const few = amongFew(filters, index, before, contains, wanted.most);
    if (few !== undefined) return { seqs: few, isWhole: true };
    const { searchRange } = spec;
    const zoneFilters = conditionsOf(spec, where, searchRange);
    const insideFilters =
      searchRange === undefined ? otherFilters : conditionsOf(spec, { ...withoutScope(spec, where), [searchRange]: {} });
    const zones = searchRange === undefined ? [] : zonesWithin(spec, prepare, where[searchRange] ?? {}, before);
    const whole = { first: 0, end: before, bounds: undefined, isInside: false };
    const request = {
      before,
      zoneFilters,
      otherFilters,
      insideFilters,
      index,
      contains,
      hits,
      zones: searchRange === undefined ? [whole] : zones,
    };
    return merged(waiting, walk(request, wanted), wanted.most);
  };
};

const withoutScope = (spec: CollectionSpec, where: Query['where']): Query['where'] => {
  if (spec.searchScope === undefined || where[spec.searchScope] === undefined) return where;
  const { eq: _scope, ...rest } = where[spec.searchScope]!;
  return { ...where, [spec.searchScope]: rest };
};

/** Those that wait may stand anywhere among the others, and among those that a walk has found. */
const merged = (waiting: readonly number[], { seqs, isWhole }: Found, most: number): Found =>
  waiting.length === 0 ? { seqs, isWhole } : { seqs: [...new Set([...waiting, ...seqs])].sort((a, b) => b - a).slice(0, most), isWhole };
