/**
 * Finds the newest documents of one tenant whose text holds a phrase, that have all terms and that pass filters. Where few documents pass
 * the filters their texts are looked through; else the hits of the search index are read in windows, newest first, and each is tested by the filters.
 */
import type { CollectionSpec, Query } from '../../domain/ports/read-models.js';
import type { Database, Statement } from '../sqlite/database.js';
import { searchTableOf, tableOf, waitingTableOf } from './names.js';
import { textSql } from './personal.js';
import { allOf, alternativesOf, rowsOf, testOf, whereClause, type Fragment } from './query.js';
import { holding, isAnswered, openMatches, termWithin } from './search-tokens.js';
import { blockSize, openTenantPartitions, type Partition, type Tenant } from './tenant-partitions.js';

export type SearchQuery = Pick<Query, 'where' | 'anyOf' | 'search' | 'terms' | 'after'>;

/** At least `least` are found where there are so many; beyond that at most `most`, and no more once `hitsMax` hits were tested. */
export type SearchLimits = Readonly<{ least: number; most: number; hitsMax: number }>;

/** `isWhole` is false where the search stopped at `hitsMax`. */
export type SearchResult = Readonly<{ seqs: readonly number[]; isWhole: boolean }>;

export type Searcher = (query: SearchQuery, limits: SearchLimits) => SearchResult;

/** Where the filters leave at most so many documents, their texts are looked through without the search index. */
const filteredMax = 2_000;
/** Hits that are read and tested in one statement: few at first, for often a page is full soon. */
const windowMin = 256;
const windowMax = 8_192;

/** The parts of a search that its steps share; `seq` lies from `first` on and below `end`. */
type Search = Readonly<{
  /** The hits of the index; undefined where it has none. */
  match: () => string | undefined;
  holds: (searched: string) => boolean;
  /** All conditions on fields; one of these holds. */
  filters: readonly Fragment[];
  /** The same for a row at hand. */
  test: Fragment;
  /** Those of them that the range of row ids does not answer, and what a hit of a mark is looked at for. */
  tests: Fragment;
  first: number;
  end: number;
  tenant: Tenant;
}>;

export const openSearcher = (database: Database, spec: CollectionSpec, prepare: (sql: string) => Statement): Searcher => {
  const { search } = spec;
  if (search === undefined) throw new RangeError(`${spec.name} has no search`);
  const partitions = openTenantPartitions(database, spec.name);
  const matchOf = openMatches(database, spec.name);
  const texts = openTexts(spec, prepare);
  const readHits = openHits(spec, prepare);

  const throughHits = (given: Search, { least, most, hitsMax }: SearchLimits): SearchResult => {
    const seqs: number[] = [];
    const match = given.match();
    if (match === undefined) return { seqs, isWhole: true };
    let tested = 0;
    for (const partition of partitions.ofTenant(given.tenant)) {
      let end = given.end;
      for (let size = windowMin; ; size = Math.min(2 * size, windowMax)) {
        if (seqs.length >= most) return { seqs: seqs.slice(0, most), isWhole: true };
        if (tested >= hitsMax && seqs.length >= least) return { seqs, isWhole: false };
        const window = readHits(match, { ...given, end }, partition, size);
        for (const [seq, passes] of window) if (passes === 1) seqs.push(seq);
        tested += window.length;
        if (window.length < size) break;
        end = window.at(-1)![0];
      }
    }
    return { seqs: seqs.slice(0, most), isWhole: true };
  };

  return ({ where, anyOf, search: phrase, terms = [], after }, limits) => {
    const tenant = where[search.within]?.eq;
    if (tenant === undefined) throw new RangeError(`a search of ${spec.name} names its ${search.within}`);
    if (phrase === undefined ? terms.length === 0 : !isAnswered(phrase)) return { seqs: [], isWhole: true };
    const { first, end } = seqRange(where, after?.seq);
    const { [search.within]: own, seq: _, ...others } = where;
    const { eq: _eq, ...bounds } = own ?? {};
    const conditions = testOf(spec, { where: { [search.within]: bounds, ...others }, ...(anyOf && { anyOf }) });
    const given: Search = {
      match: () => matchOf(phrase, terms),
      holds: holding(phrase, terms),
      filters: alternativesOf(spec, { where, ...(anyOf && { anyOf }) }).map((one) => one.where),
      test: testOf(spec, { where, ...(anyOf && { anyOf }) }),
      tests: allOf(conditions, markTests(spec, phrase, terms)),
      first,
      end,
      tenant,
    };
    const few = conditions.sql === '' ? undefined : texts.amongFew(given, limits.most);
    if (few !== undefined) return { seqs: few, isWhole: true };
    return merged(texts.amongWaiting(given), throughHits(given, limits), limits.most);
  };
};

/** A mark may stand for several terms or characters, so what it finds is looked at. A longer phrase is found by itself. */
const markTests = (spec: CollectionSpec, phrase: string | undefined, terms: readonly string[]): Fragment => {
  const values = terms.map(termWithin);
  if (phrase !== undefined && [...phrase].length === 1) values.push(phrase);
  return { sql: values.map(() => `instr(${textSql(spec)}, ?) > 0`).join(' AND '), values };
};

/** The `seq` of a document that holds the phrase, and 1 where it passes the tests. */
type Hit = readonly [seq: number, passes: number | null];

/** Reads at most `size` hits of a partition, newest first. */
const openHits = (spec: CollectionSpec, prepare: (sql: string) => Statement) => {
  const table = searchTableOf(spec.name);
  return (match: string, { tests, first, end: before }: Search, { firstRowId, firstSeq }: Partition, size: number): readonly Hit[] => {
    const low = Math.max(first, firstSeq);
    const high = Math.min(before, firstSeq + blockSize);
    if (low >= high) return [];
    const rowOf = (seq: number): bigint => firstRowId + BigInt(seq - firstSeq);
    const passes = tests.sql === '' ? '1' : `(SELECT 1 FROM ${tableOf(spec.name)} AS d WHERE d.seq = hit.seq AND ${tests.sql})`;
    const statement = prepare(
      `SELECT hit.seq, ${passes} FROM (SELECT rowid - ? AS seq FROM ${table} WHERE ${table} MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?) AS hit`,
    ).raw(true);
    return statement.all(...tests.values, firstRowId - BigInt(firstSeq), match, rowOf(low), rowOf(high), size) as Hit[];
  };
};

/** Looks for a phrase and terms in the texts of documents themselves. */
const openTexts = (spec: CollectionSpec, prepare: (sql: string) => Statement) => {
  const table = tableOf(spec.name);
  const selectText = prepare(`SELECT ${textSql(spec)} FROM ${table} AS d WHERE d.seq = ?`).pluck() as Statement<[number], string | null>;

  /** Of those that pass the filters; undefined where too many pass to look through. */
  const amongFew = ({ filters, holds, first, end }: Search, most: number): number[] | undefined => {
    const rows = rowsOf(
      table,
      'd.seq',
      filters.map((where) => ({ where })),
    );
    const seqs = prepare(`${rows.sql} LIMIT ?`)
      .pluck()
      .all(...rows.values, filteredMax + 1) as number[];
    if (seqs.length > filteredMax) return undefined;
    const found: number[] = [];
    for (const seq of seqs.sort((a, b) => b - a)) {
      if (found.length === most) break;
      if (seq >= first && seq < end && holds(selectText.get(seq) ?? '')) found.push(seq);
    }
    return found;
  };

  /** Of those that wait for the search index. */
  const amongWaiting = ({ test, holds, first, end }: Search): number[] => {
    const where = allOf({ sql: 'w.seq >= ? AND w.seq < ?', values: [first, end] }, test);
    const rows = prepare(
      `SELECT d.seq, ${textSql(spec)} FROM ${waitingTableOf(spec.name)} AS w CROSS JOIN ${table} AS d ON d.seq = w.seq${whereClause(where)}`,
    )
      .raw(true)
      .all(...where.values) as [number, string | null][];
    return rows.filter(([, text]) => text !== null && holds(text)).map(([seq]) => seq);
  };

  return { amongFew, amongWaiting };
};

/** Where `seq` may lie: `after` is the last one that was shown. */
const seqRange = (where: Query['where'], after: number | undefined): Readonly<{ first: number; end: number }> => {
  const { eq, gte, lt, lte } = where['seq'] ?? {};
  const numbers = (...bounds: readonly (string | number | undefined)[]): number[] =>
    bounds.flatMap((bound) => (typeof bound === 'number' ? bound : []));
  return {
    first: Math.max(0, ...numbers(eq, gte)),
    end: Math.min(Infinity, ...numbers(lt, after), ...numbers(eq, lte).map((bound) => bound + 1)),
  };
};

/** Those that wait may stand anywhere among the others, and another process may have indexed some of them in between. */
const merged = (waiting: readonly number[], { seqs, isWhole }: SearchResult, most: number): SearchResult =>
  waiting.length === 0 ? { seqs, isWhole } : { seqs: [...new Set([...waiting, ...seqs])].sort((a, b) => b - a).slice(0, most), isWhole };
