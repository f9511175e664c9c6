/**
 * The substring index of one collection: FTS5 with the trigram tokenizer, whose row id is the document's `seq`.
 * It holds no text of its own (the collection's row has it), so an entry is taken out by naming what went in.
 * FTS5 is dear in small transactions: documents wait in a small table, whose texts a search looks through, and are
 * put into the index together.
 */
import type { CollectionSpec } from '../../domain/ports/documents.js';
import type { Database } from '../sqlite/database.js';
import { columnOf, searchTableOf, tableOf, waitingTableOf } from './names.js';
import { createScopeTable, openScopes, scopeFieldOf, scopeTableOf } from './scopes.js';

/** What the index has of a document; two equal entries are indexed alike. */
export type Entry = Readonly<{ text: string; scope: string | number | null }>;

/** All of it inside a transaction. */
export type SearchIndex = Readonly<{
  add: (seq: number, entry: Entry) => void;
  remove: (seq: number, entry: Entry) => void;
  /** At the end of a transaction, when the rows are as they shall be: indexes those that wait, where they have become many. */
  settle: () => void;
}>;

/** A search looks through so many texts in about a millisecond. */
const waitingMax = 1_000;

/** More than FTS5's own 4: fewer merges while writing, somewhat more to read in a search. */
const segmentsPerMerge = 8;

/** `secure-delete` takes an entry out of the pages at once, instead of marking it for a later merge. */
export const createSearchTable = (database: Database, collection: string): void => {
  const table = searchTableOf(collection);
  database.exec(`CREATE VIRTUAL TABLE ${table} USING fts5(scope, text, content='', columnsize=0, tokenize='trigram')`);
  database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('secure-delete', 1)`);
  database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('automerge', ${segmentsPerMerge})`);
  createScopeTable(database, collection);
  database.exec(`CREATE TABLE ${waitingTableOf(collection)} (seq INTEGER PRIMARY KEY)`);
};

export const openSearchIndex = (database: Database, spec: CollectionSpec): SearchIndex => {
  const table = searchTableOf(spec.name);
  const waiting = waitingTableOf(spec.name);
  const scopes = openScopes(database, spec);
  const wait = database.prepare(`INSERT INTO ${waiting} (seq) VALUES (?)`);
  const stopWaiting = database.prepare(`DELETE FROM ${waiting} WHERE seq = ?`);
  const remove = database.prepare(`INSERT INTO ${table} (${table}, rowid, scope, text) VALUES ('delete', ?, ?, ?)`);
  const countWaiting = database.prepare<[], number>(`SELECT count(*) FROM ${waiting}`).pluck();
  const index = database.prepare(`${insertFrom(spec)} WHERE d.seq IN (SELECT seq FROM ${waiting}) ORDER BY d.seq`);
  const clear = database.prepare(`DELETE FROM ${waiting}`);
  return {
    add: (seq, { scope }) => {
      scopes.trigramOf(scope);
      wait.run(seq);
    },
    remove: (seq, { scope, text }) => {
      if (stopWaiting.run(seq).changes === 0) remove.run(seq, scopes.trigramOf(scope), text);
    },
    settle: () => {
      if (countWaiting.get()! < waitingMax) return;
      index.run();
      clear.run();
    },
  };
};

/** Puts rows `d` of the collection into the index; their scopes have trigrams. */
const insertFrom = (spec: CollectionSpec): string => {
  const field = scopeFieldOf(spec);
  const scope = field === undefined ? 'NULL' : `d.${columnOf(field)}`;
  return `INSERT INTO ${searchTableOf(spec.name)} (rowid, scope, text)
    SELECT d.seq, (SELECT trigram FROM ${scopeTableOf(spec.name)} WHERE value IS ${scope}), d.text FROM ${tableOf(spec.name)} AS d`;
};

/** What FTS5 gathers in memory before it writes a segment: the more, the fewer merges. */
const bulkMemoryBytes = 32 * 1024 * 1024;
const memoryBytesDefault = 1024 * 1024;
/** FTS5 writes a segment after each stroke, so strokes are long. */
const rowsPerStroke = 50_000;

/** Inside a transaction: fills the index from the collection's rows; `turn` is awaited now and then, so that others get their turn. */
export const fillSearchTable = async (database: Database, spec: CollectionSpec, turn: () => Promise<unknown>): Promise<void> => {
  const table = searchTableOf(spec.name);
  const source = tableOf(spec.name);
  const setMemory = (sizeBytes: number): void => void database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('hashsize', ${sizeBytes})`);
  const nextStroke = database
    .prepare<[number], number | null>(`SELECT max(seq) FROM (SELECT seq FROM ${source} WHERE seq > ? ORDER BY seq LIMIT ${rowsPerStroke})`)
    .pluck();
  const fill = database.prepare(`${insertFrom(spec)} WHERE d.seq > ? AND d.seq <= ? AND d.text IS NOT NULL ORDER BY d.seq`);
  setMemory(bulkMemoryBytes);
  openScopes(database, spec).addAll();
  let from = 0;
  for (let to = nextStroke.get(from); typeof to === 'number'; to = nextStroke.get(from)) {
    fill.run(from, to);
    from = to;
    await turn();
  }
  setMemory(memoryBytesDefault);
};

/** A phrase in FTS5's syntax: everything in it is literal. Undefined where it is too short to have a trigram. */
export const matchPhrase = (phrase: string): string | undefined =>
  // FTS5 reads its query as a C string, so nothing after a NUL would count.
  [...phrase].length < 3 || phrase.includes('\0') ? undefined : `text : "${phrase.replaceAll('"', '""')}"`;

/** Only what is in that scope too. */
export const matchInScope = (trigram: string, match: string): string => `scope : "${trigram}" AND ${match}`;

/** The same test on a text at hand: case-insensitive, folded nearly as the tokenizer does it. */
export const containing = (phrase: string): ((text: string) => boolean) => {
  const folded = fold(phrase);
  return (text) => fold(text).includes(folded);
};

/** A capital sigma is lowered by its place in the word, which a substring does not know. */
const fold = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ');
