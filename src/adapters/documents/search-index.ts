/**
 * The substring index of one collection: FTS5 with the trigram tokenizer, whose row id is the document's `seq`.
 * It holds no text of its own (the collection's row has it), so an entry is taken out by naming what went in.
 */
import type { CollectionSpec } from '../../domain/ports/documents.js';
import type { Database } from '../sqlite/database.js';
import { columnOf, searchTableOf, tableOf } from './names.js';
import { createScopeTable, openScopes, scopeFieldOf, scopeTableOf } from './scopes.js';

/** What the index has of a document; two equal entries are indexed alike. */
export type Entry = Readonly<{ text: string; scope: string | number | null }>;

export type SearchIndex = Readonly<{
  add: (seq: number, entry: Entry) => void;
  remove: (seq: number, entry: Entry) => void;
}>;

/** `secure-delete` takes an entry out of the pages at once, instead of marking it for a later merge. */
export const createSearchTable = (database: Database, collection: string): void => {
  const table = searchTableOf(collection);
  database.exec(`CREATE VIRTUAL TABLE ${table} USING fts5(scope, text, content='', columnsize=0, tokenize='trigram')`);
  database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('secure-delete', 1)`);
  createScopeTable(database, collection);
};

export const openSearchIndex = (database: Database, spec: CollectionSpec): SearchIndex => {
  const table = searchTableOf(spec.name);
  const scopes = openScopes(database, spec);
  const insert = database.prepare(`INSERT INTO ${table} (rowid, scope, text) VALUES (?, ?, ?)`);
  const remove = database.prepare(`INSERT INTO ${table} (${table}, rowid, scope, text) VALUES ('delete', ?, ?, ?)`);
  return {
    add: (seq, { scope, text }) => void insert.run(seq, scopes.trigramOf(scope), text),
    remove: (seq, { scope, text }) => void remove.run(seq, scopes.trigramOf(scope), text),
  };
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
  const scopeField = scopeFieldOf(spec);
  const scope = scopeField === undefined ? 'NULL' : `d.${columnOf(scopeField)}`;
  const setMemory = (sizeBytes: number): void => void database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('hashsize', ${sizeBytes})`);
  const nextStroke = database
    .prepare<[number], number | null>(`SELECT max(seq) FROM (SELECT seq FROM ${source} WHERE seq > ? ORDER BY seq LIMIT ${rowsPerStroke})`)
    .pluck();
  const fill = database.prepare(
    `INSERT INTO ${table} (rowid, scope, text)
     SELECT d.seq, (SELECT trigram FROM ${scopeTableOf(spec.name)} WHERE value IS ${scope}), d.text
     FROM ${source} AS d WHERE d.seq > ? AND d.seq <= ? AND d.text IS NOT NULL ORDER BY d.seq`,
  );
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
