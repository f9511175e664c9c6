/**
 * Compares the search index of a collection with the documents. The index can be read by its tokens only, so each occurrence of a token
 * becomes a number, and sums of these are compared: of all tokens at first, which SQLite adds up; where they differ, of the documents.
 */
import { randomInt } from 'node:crypto';
import type { CollectionSpec, LookupFault } from '../../domain/ports/read-models.js';
import type { Database } from '../sqlite/database.js';
import { columnOf, searchTableOf, tableOf, waitingTableOf } from './names.js';
import { textSql } from './personal.js';
import { SEARCH_TABLE_OPTIONS } from './search-index.js';
import { indexedSql } from './search-tokens.js';
import { rowIdSql } from './tenant-partitions.js';

/** Sums that are held at once, whatever the number of tokens or documents. */
const SUMS = 1 << 16;
/** Documents that are indexed together to see what the index should have of them. */
const WINDOW = 2_000;

/** What the index should have, for one window after another. */
type Expected = Readonly<{ windows: () => Generator<void>; vocabulary: string }>;

type Pass = (add: (vocabulary: string, sign: 1 | -1) => void) => Generator<undefined>;

/** Yields undefined after each window, so that others get their turn. */
export function* searchFaults(database: Database, spec: CollectionSpec): Generator<LookupFault | undefined> {
  if (spec.search === undefined) return;
  const live = `temp.audit_live_${spec.name}`;
  database.exec(`CREATE VIRTUAL TABLE ${live} USING fts5vocab(main, ${searchTableOf(spec.name)}, instance)`);
  const expected = openExpected(database, spec);
  const pass: Pass = function* (add) {
    add(live, 1);
    for (const _ of expected.windows()) {
      add(expected.vocabulary, -1);
      yield undefined;
    }
  };
  const sums = openSums(database);
  const byToken = new Int32Array(SUMS);
  yield* pass((vocabulary, sign) => sums.ofTokens(vocabulary, sign, byToken));
  if (byToken.every((sum) => sum === 0)) return;
  const byDocument = new Int32Array(SUMS);
  yield* pass((vocabulary, sign) => sums.ofDocuments(vocabulary, sign, byDocument));
  const slot = byDocument.findIndex((sum) => sum !== 0);
  const inSlot = new Map<string, number>();
  yield* pass((vocabulary, sign) => sums.ofSlot(vocabulary, sign, { slot, into: inSlot }));
  for (const [key, sum] of inSlot) if (sum !== 0) yield faultOf(database, spec, key);
}

/** In: the row id in the search index and the column there. */
const faultOf = (database: Database, spec: CollectionSpec, key: string): LookupFault => {
  const { name, search } = spec;
  const [row, column] = key.split(' ');
  const id = database
    .prepare<[string], string>(`SELECT id FROM ${tableOf(name)} AS d WHERE ${rowSql(spec)} = CAST(? AS INTEGER)`)
    .pluck()
    .get(row!);
  const field = column === 'text' ? search!.field : (search!.terms ?? search!.field);
  return { collection: name, id: id ?? `(row ${row} of the search index)`, field, in: 'search index' };
};

/** The row id of row `d` in the search index; below 0 where it has no partition. */
const rowSql = ({ name, search }: CollectionSpec): string => `coalesce(${rowIdSql(name, search!.within)}, -d.seq)`;

const openExpected = (database: Database, spec: CollectionSpec): Expected => {
  const { name, search } = spec;
  const table = `audit_${name}`;
  const vocabulary = `temp.audit_expected_${name}`;
  database.exec(`CREATE VIRTUAL TABLE temp.${table} USING fts5(${SEARCH_TABLE_OPTIONS})`);
  database.exec(`CREATE VIRTUAL TABLE ${vocabulary} USING fts5vocab(temp, ${table}, instance)`);
  const indexed = indexedSql(database);
  const selectEnd = database
    .prepare<[number, number], number | null>(`SELECT max(seq) FROM (SELECT seq FROM ${tableOf(name)} WHERE seq > ? ORDER BY seq LIMIT ?)`)
    .pluck();
  const fill = database.prepare<[number, number]>(
    `INSERT INTO temp.${table} (rowid, text, marks) SELECT row, ${indexed.text('searched')}, ${indexed.marks('searched')}
     FROM (SELECT ${rowSql(spec)} AS row, ${textSql(spec)} AS searched FROM ${tableOf(name)} AS d
     WHERE d.seq > ? AND d.seq <= ? AND d.${columnOf(search!.within)} IS NOT NULL AND d.seq NOT IN (SELECT seq FROM ${waitingTableOf(name)}))
     WHERE searched IS NOT NULL ORDER BY row`,
  );
  const windows = function* (): Generator<void> {
    for (let after = Number.MIN_SAFE_INTEGER; ;) {
      const end = selectEnd.get(after, WINDOW) ?? undefined;
      if (end === undefined) return;
      fill.run(after, end);
      yield;
      database.exec(`INSERT INTO temp.${table} (${table}) VALUES ('delete-all')`);
      after = end;
    }
  };
  return { windows, vocabulary };
};

/** Numbers of occurrences that nobody knows beforehand; all of it stays below 2^63. */
const openSums = (database: Database) => {
  const factor = (): number => randomInt(1 << 20, 1 << 28) | 1;
  const place = `((doc & 4294967295) * ${factor()} + ((doc >> 32) & 1048575) * ${factor()} + (offset & 16777215) * ${factor()} + (col = 'text') * ${factor()} + ${factor()}) & 2147483647`;
  const squared = `((place * place) >> 16) & 4294967295`;
  const salt = randomInt(0x7fff_ffff);
  const hashOf = (token: string): number => {
    let hash = salt;
    for (let at = 0; at < token.length; at += 1) hash = Math.imul(hash ^ token.charCodeAt(at), 0x01000193) ^ (hash >>> 13);
    return hash;
  };
  const slotOf = (row: number): number => Math.abs(row % SUMS);
  /** Every occurrence of a token, with its number. */
  const occurrences = (vocabulary: string): Iterable<[token: string, row: number, column: string, number: number]> =>
    database
      .prepare<[], [string, number, string, number]>(
        `SELECT term, doc, col, ${squared} FROM (SELECT term, doc, col, ${place} AS place FROM ${vocabulary})`,
      )
      .raw(true)
      .iterate();
  const worth = (token: string, number: number, sign: 1 | -1): number => Math.imul(Math.imul(hashOf(token) | 1, number), sign);

  return {
    ofTokens: (vocabulary: string, sign: 1 | -1, sums: Int32Array): void => {
      // The vocabulary comes in the order of its tokens: nothing is sorted or held.
      const tokens = database
        .prepare<[], [string, number]>(
          `SELECT term, sum(${squared}) & 4294967295 FROM (SELECT term, ${place} AS place FROM ${vocabulary}) GROUP BY term`,
        )
        .raw(true);
      for (const [token, number] of tokens.iterate()) sums[hashOf(token) & (SUMS - 1)]! += worth(token, number, sign);
    },
    ofDocuments: (vocabulary: string, sign: 1 | -1, sums: Int32Array): void => {
      for (const [token, row, , number] of occurrences(vocabulary)) sums[slotOf(row)]! += worth(token, number, sign);
    },
    /** The sums of the documents that share a slot, by row and column. */
    ofSlot: (vocabulary: string, sign: 1 | -1, { slot, into }: Readonly<{ slot: number; into: Map<string, number> }>): void => {
      for (const [token, row, column, number] of occurrences(vocabulary)) {
        if (slotOf(row) !== slot) continue;
        const key = `${row} ${column}`;
        into.set(key, ((into.get(key) ?? 0) + worth(token, number, sign)) | 0);
      }
    },
  };
};
