/**
 * How a document is taken apart to be stored, and put together again: the columns that it is found by, what is searched
 * of it, what is personal, and the rest. Personal fields are in tables of their own from which nothing of what is erased stays behind. SQLite moves
 * rows from page to page when their pages are rebuilt, and leaves the old bytes in the free space of a page, whatever
 * `secure_delete` says. So the rows of these tables are appended, never deleted and never resized: erasing one
 * overwrites it where it stands. The first text of a document is a row of the first table, which is in the order of
 * `seq`; one that takes its place, or that comes after those of newer documents, is appended to the second, whose index
 * by `seq` holds no text.
 */
import type { CollectionSpec, Document } from '../../domain/ports/read-models.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Database } from '../sqlite/database.js';
import { columnOf, laterPersonalIndexOf, laterPersonalTableOf, personalTableOf, tableOf } from './names.js';
import { searchedOf, splitSearched } from './grams.js';

/** The searched text, where that is personal, and the other personal fields as JSON. */
export type Personal = Readonly<{ text: string | null; rest: string | null }>;

export type PersonalTable = Readonly<{
  get: (seq: number) => Personal;
  add: (seq: number, personal: Personal) => void;
  /** In: what stands there, and what is to stand there. */
  change: (seq: number, before: Personal, after: Personal) => void;
  erase: (seq: number) => void;
}>;

export const nothingPersonal: Personal = { text: null, rest: null };

export const createPersonalTable = (database: Database, { name, personal }: CollectionSpec): void => {
  if (personal === undefined) return;
  const later = laterPersonalTableOf(name);
  database.exec(`CREATE TABLE ${personalTableOf(name)} (seq INTEGER PRIMARY KEY, text, rest)`);
  database.exec(`CREATE TABLE ${later} (number INTEGER PRIMARY KEY, seq INTEGER NOT NULL, text, rest)`);
  database.exec(`CREATE INDEX ${laterPersonalIndexOf(name)} ON ${later} (seq)`);
};

/**
 * Opens the table of personal fields. Erased or replaced values are blobs of zeros. A collection without personal
 * fields has no table. `erased` is called inside the transaction that erases something. `inBulk`: the table is empty,
 * and nobody else writes.
 */
export const openPersonalTable = (
  database: Database,
  spec: CollectionSpec,
  { inBulk, erased }: Readonly<{ inBulk: boolean; erased: () => void }>,
): PersonalTable => {
  if (spec.personal === undefined)
    return { get: () => nothingPersonal, add: () => {}, change: () => {}, erase: () => {} };
  const statements = prepareStatements(database, spec);
  const { getFirst, getLater, append, addFirst, addLater, overwriteFirst, overwriteLater } = statements;
  let last = -Infinity;
  const addedFirst = (seq: number, { text, rest }: Personal): boolean => {
    if (!inBulk) return addFirst.run(seq, text, rest, seq).changes > 0;
    if (seq <= last) return false;
    append.run(seq, text, rest);
    last = seq;
    return true;
  };
  const add: PersonalTable['add'] = (seq, personal) => {
    if (!isSomething(personal)) return;
    // A row in the midst of others would have their pages rebuilt.
    if (!addedFirst(seq, personal)) addLater.run(seq, personal.text, personal.rest);
  };
  /** Out: whether there was anything. */
  const overwrite = (seq: number): boolean =>
    overwriteFirst.run(seq).changes > 0 || overwriteLater.run(seq).changes > 0;
  const erase = (seq: number): void => {
    if (overwrite(seq)) erased();
  };
  return {
    get: (seq) => {
      const first = getFirst.get(seq);
      return first !== undefined && isSomething(first) ? first : (getLater.get(seq) ?? nothingPersonal);
    },
    add,
    change: (seq, before, after) => {
      if (before.text === after.text && before.rest === after.rest) return;
      erase(seq);
      add(seq, after);
    },
    erase,
  };
};

const isSomething = ({ text, rest }: Personal): boolean => text !== null || rest !== null;

type Column = 'text' | 'rest';

const isLive = `(typeof(text) = 'text' OR typeof(rest) = 'text')`;
const liveOf = (column: Column): string => `iif(typeof(${column}) = 'text', ${column}, NULL)`;

const prepareStatements = (database: Database, { name }: CollectionSpec) => {
  const [first, later] = [personalTableOf(name), laterPersonalTableOf(name)];
  const live = `${liveOf('text')} AS text, ${liveOf('rest')} AS rest`;
  const zeros = (column: Column): string => `${column} = zeroblob(length(CAST(${column} AS BLOB)))`;
  const overwriteIn = (table: string) =>
    database.prepare(`UPDATE ${table} SET ${zeros('text')}, ${zeros('rest')} WHERE seq = ? AND ${isLive}`);
  return {
    getFirst: database.prepare<[number], Personal>(`SELECT ${live} FROM ${first} WHERE seq = ?`),
    getLater: database.prepare<[number], Personal>(
      `SELECT ${live} FROM ${later} WHERE seq = ? ORDER BY number DESC LIMIT 1`,
    ),
    append: database.prepare(`INSERT INTO ${first} (seq, text, rest) VALUES (?, ?, ?)`),
    /** Adds nothing unless the row is behind all others. */
    addFirst: database.prepare(
      `INSERT INTO ${first} (seq, text, rest) SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM ${first} WHERE seq >= ?)`,
    ),
    addLater: database.prepare(`INSERT INTO ${later} (seq, text, rest) VALUES (?, ?, ?)`),
    overwriteFirst: overwriteIn(first),
    overwriteLater: overwriteIn(later),
  };
};

/**
 * One column of what is personal of row `d` of the collection, as SQL. The second table is looked at where the first
 * has nothing.
 */
const columnSql = (name: string, column: Column): string => {
  const first = `SELECT ${liveOf(column)} FROM ${personalTableOf(name)} WHERE seq = d.seq`;
  const later = `SELECT ${liveOf(column)} FROM ${laterPersonalTableOf(name)} WHERE seq = d.seq ORDER BY number DESC LIMIT 1`;
  return `coalesce((${first}), (${later}))`;
};

/** The searched text of row `d` of the collection, wherever it stands, as SQL. */
export const textSql = ({ name, search, personal = [] }: CollectionSpec): string =>
  search !== undefined && personal.includes(search.field) ? columnSql(name, 'text') : 'd.text';

/** The personal fields of row `d` beside the searched text, as SQL. */
export const restSql = ({ name, personal }: CollectionSpec): string =>
  personal === undefined ? 'NULL' : columnSql(name, 'rest');

/**
 * The JSON text of row `d` of the collection without what is searched or personal, as SQL: the values that only its
 * columns have, and the stored rest. A value that the rest has too counts, because it stands behind.
 */
export const docSql = ({ fields }: CollectionSpec): string => {
  const values = fields.map((field) => {
    const column = `d.${columnOf(field)}`;
    return `iif(typeof(${column}) = 'text', '"${field}":' || json_quote(${column}) || ',', '')`;
  });
  const numbers = `',"seq":' || d.seq || ',"position":' || d.position`;
  const rest = `iif(d.doc = '{}', '}', ',' || substr(d.doc, 2))`;
  return ["'{'", ...values, `'"id":' || json_quote(d.id)`, numbers, rest].join(' || ');
};

/** Characters that SQLite does not give back as they were. */
const LOST = /[\0\ud800-\udfff]/u;
/** Whether a column alone has the value. Numbers are in the rest too, because SQLite shortens them as text. */
const isInColumnOnly = (value: unknown): boolean => typeof value === 'string' && !LOST.test(value);

/**
 * Selects what a query answers of the document of one `seq`: its JSON text, and what is personal of it beside the
 * searched text.
 */
export const selectDocumentSql = (spec: CollectionSpec): string =>
  `SELECT ${docSql(spec)}, ${restSql(spec)} FROM ${tableOf(spec.name)} AS d WHERE d.seq = ?`;

/** Selects a `seq` that has something personal and no document. */
export const selectStraySql = (name: string): string =>
  [personalTableOf(name), laterPersonalTableOf(name)]
    .map((table) => `SELECT seq FROM ${table} WHERE ${isLive} AND seq NOT IN (SELECT seq FROM ${tableOf(name)})`)
    .join(' UNION ALL ')
    .concat(' LIMIT 1');

/** The JSON text of a document, what is searched of it, and the other personal fields, each apart from the others. */
export type Parts = Readonly<{ doc: string; text: string | null; rest: string | null }>;

/** The searched and personal texts of a document, and the values that they were made of. */
export type Made = Readonly<{ values: readonly unknown[] } & Pick<Parts, 'text' | 'rest'>>;

/**
 * In: the spec of a collection. Out: what takes its documents apart, without the values that only the columns have.
 * The texts that were made of the document before are taken again where its values are the same.
 */
export const splitterOf = ({
  fields,
  search,
  personal = [],
}: CollectionSpec): ((document: Document, before?: Made) => Readonly<{ doc: string; made: Made }>) => {
  const searched = search === undefined ? [] : [search.field, ...(search.terms === undefined ? [] : [search.terms])];
  const others = personal.filter((field) => !searched.includes(field));
  const places = new Map<string, 'apart' | 'column'>([
    ...['id', ...fields].map((field) => [field, 'column'] as const),
    ...['seq', 'position', ...searched, ...others].map((field) => [field, 'apart'] as const),
  ]);
  const sources = [...searched, ...others];

  const textOf = (document: Document): string | null =>
    search === undefined || searched.every((field) => document[field] === undefined)
      ? null
      : searchedOf(document[search.field], search.terms && document[search.terms]);
  const restOf = (document: Document): string | null => {
    const rest: Record<string, unknown> = {};
    for (const field of others) if (document[field] !== undefined) rest[field] = document[field];
    return Object.keys(rest).length === 0 ? null : JSON.stringify(rest);
  };
  const docOf = (document: Document): string => {
    let left: Record<string, unknown> | undefined;
    for (const field in document) {
      const place = places.get(field);
      if (place === undefined || (place === 'column' && !isInColumnOnly(document[field])))
        (left ??= {})[field] = document[field];
    }
    return left === undefined ? '{}' : JSON.stringify(left);
  };
  const madeOf = (document: Document, before?: Made): Made => {
    if (sources.length === 0) return NOTHING_MADE;
    if (before !== undefined && sources.every((field, at) => document[field] === before.values[at])) return before;
    const values = sources.map((field) => document[field]);
    return { values, text: textOf(document), rest: restOf(document) };
  };
  return (document, before) => ({ doc: docOf(document), made: madeOf(document, before) });
};

const NOTHING_MADE: Made = { values: [], text: null, rest: null };

/** Puts together what `splitterOf` has taken apart; without what is searched where `text` is null. */
export const joinDocument = ({ search }: CollectionSpec, { doc, text, rest }: Parts): Document => {
  const document = JSON.parse(doc) as Document;
  if (rest === null && text === null) return document;
  const others = rest === null ? {} : (JSON.parse(rest) as JsonObject);
  if (search === undefined || text === null) return { ...document, ...others };
  const searched = splitSearched(text);
  return {
    ...document,
    ...others,
    [search.field]: searched.text,
    ...(search.terms === undefined || searched.terms === undefined ? {} : { [search.terms]: [...searched.terms] }),
  };
};
