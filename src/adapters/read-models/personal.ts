/**
 * Personal fields of documents, in a table of their own from which nothing of what is erased stays behind. SQLite moves rows from page to
 * page when their pages are rebuilt, and leaves the old bytes in the free space of a page, whatever `secure_delete` says. So the rows of
 * this table are appended in the order of `seq`, never deleted and never resized: erasing one overwrites it where it stands.
 */
import type { CollectionSpec, Document } from '../../domain/ports/read-models.js';
import type { JsonObject } from '../../domain/json.js';
import type { Database } from '../sqlite/database.js';
import { personalTableOf, tableOf } from './names.js';
import { searchedOf, splitSearched } from './search-tokens.js';

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
  if (personal !== undefined) database.exec(`CREATE TABLE ${personalTableOf(name)} (seq INTEGER PRIMARY KEY, text, rest)`);
};

/**
 * What was erased is a blob of zeros; of a collection without personal fields there is no table. `erased` is told, inside the
 * transaction, that something was erased.
 */
export const openPersonalTable = (database: Database, spec: CollectionSpec, erased: () => void): PersonalTable => {
  if (spec.personal === undefined) return { get: () => nothingPersonal, add: () => {}, change: () => {}, erase: () => {} };
  const table = personalTableOf(spec.name);
  const live = (column: string): string => `iif(typeof(${column}) = 'text', ${column}, NULL)`;
  const select = database.prepare<[number], Personal>(
    `SELECT ${live('text')} AS text, ${live('rest')} AS rest FROM ${table} WHERE seq = ?`,
  );
  const upsert = database.prepare(
    `INSERT INTO ${table} (seq, text, rest) VALUES (?, ?, ?) ON CONFLICT (seq) DO UPDATE SET text = excluded.text, rest = excluded.rest`,
  );
  const zeros = (column: string): string => `zeroblob(length(CAST(${column} AS BLOB)))`;
  const overwrite = database.prepare(`UPDATE ${table} SET text = ${zeros('text')}, rest = ${zeros('rest')} WHERE seq = ?`);
  const add: PersonalTable['add'] = (seq, personal) => {
    if (isSomething(personal)) upsert.run(seq, personal.text, personal.rest);
  };
  const erase = (seq: number): void => {
    if (overwrite.run(seq).changes > 0) erased();
  };
  return {
    get: (seq) => select.get(seq) ?? nothingPersonal,
    add,
    change: (seq, before, after) => {
      if (before.text === after.text && before.rest === after.rest) return;
      if (isSomething(after)) add(seq, after);
      else erase(seq);
    },
    erase,
  };
};

const isSomething = ({ text, rest }: Personal): boolean => text !== null || rest !== null;

/** The searched text of row `d` of the collection, wherever it stands, as SQL. */
export const textSql = ({ name, search, personal = [] }: CollectionSpec): string =>
  search !== undefined && personal.includes(search.field)
    ? `(SELECT iif(typeof(p.text) = 'text', p.text, NULL) FROM ${personalTableOf(name)} AS p WHERE p.seq = d.seq)`
    : 'd.text';

/** What is personal of row `d` beside the searched text, as SQL. */
export const restSql = ({ name, personal }: CollectionSpec): string =>
  personal === undefined
    ? 'NULL'
    : `(SELECT iif(typeof(p.rest) = 'text', p.rest, NULL) FROM ${personalTableOf(name)} AS p WHERE p.seq = d.seq)`;

/** Selects what a query answers of the document of one `seq`: its stored text, and what is personal of it beside the searched text. */
export const selectDocumentSql = ({ name, personal }: CollectionSpec): string =>
  personal === undefined
    ? `SELECT doc, NULL FROM ${tableOf(name)} WHERE seq = ?`
    : `SELECT d.doc, iif(typeof(p.rest) = 'text', p.rest, NULL) FROM ${tableOf(name)} AS d LEFT JOIN ${personalTableOf(name)} AS p ON p.seq = d.seq WHERE d.seq = ?`;

/** The stored text of a document, what is searched of it, and the other personal fields, each apart from the others. */
export type Parts = Readonly<{ doc: string; text: string | null; rest: string | null }>;

/** In: the spec of a collection. Out: what takes its documents apart; each field is looked up once for a batch of them. */
export const splitterOf = ({ search, personal = [] }: CollectionSpec): ((document: Document) => Parts) => {
  const searched = search === undefined ? [] : [search.field, ...(search.terms === undefined ? [] : [search.terms])];
  const others = personal.filter((field) => !searched.includes(field));
  const apart = new Set([...searched, ...others]);
  if (apart.size === 0) return (document) => ({ doc: JSON.stringify(document), text: null, rest: null });

  const textOf = (document: Document): string | null =>
    search === undefined || searched.every((field) => document[field] === undefined)
      ? null
      : searchedOf(document[search.field], search.terms && document[search.terms]);
  const restOf = (document: Document): string | null => {
    const rest: Record<string, unknown> = {};
    for (const field of others) if (document[field] !== undefined) rest[field] = document[field];
    return Object.keys(rest).length === 0 ? null : JSON.stringify(rest);
  };
  return (document) => {
    const left: Record<string, unknown> = {};
    for (const field in document) if (!apart.has(field)) left[field] = document[field];
    return { doc: JSON.stringify(left), text: textOf(document), rest: restOf(document) };
  };
};

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
