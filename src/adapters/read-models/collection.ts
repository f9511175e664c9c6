/** One collection in one generation: a table with a column for each declared field, its indexes, its search index. */
import type { CollectionSpec, Document, Removal } from '../../domain/ports/read-models.js';
import type { Database, Statement } from '../sqlite/database.js';
import { boundedCache } from '../../shared/bounded-cache.js';
import { columnOf, tableOf } from './names.js';
import { createSearchTable, openSearchIndex, type Entry } from './search-index.js';

export type Collection = Readonly<{
  /** Changes nothing where the document there has folded that position or a later one. */
  put: (row: Row) => void;
  /** The same. */
  remove: (removal: Removal) => void;
  /** Inside a transaction, after its last write. */
  flush: () => void;
  /** Inside a transaction: puts into the search index whatever still waits for it. */
  indexAll: () => void;
  /** As queries answer it, without the searched text. */
  get: (id: string) => Document | undefined;
  /** As it was put. */
  getWhole: (id: string) => Document | undefined;
  /** At most `limit` whole documents with ids after `afterId`, by id. */
  pageById: (afterId: string, limit: number) => Document[];
}>;

type Value = string | number | null;

/** Where the text stands in a row, and in what is selected of one that is stored; the declared fields follow it. */
const TEXT_AT = 4;
const TEXT_SELECTED_AT = 1;

/** A document as it is stored: whole as JSON text without what is searched, that text, and the value of each declared field. */
export type Row = readonly [seq: number, id: string, position: number, doc: string, text: string | null, ...fields: Value[]];

export const rowOf = (document: Document, spec: CollectionSpec): Row => {
  const { doc, text } = split(document, spec);
  return [document.seq, document.id, document.position, doc, text, ...spec.fields.map((field) => fieldValue(document, field))];
};

/**
 * Columns of fields have no type: a string stays a string, a number a number. The implicit row id at the end of every index is `seq`.
 * They stand before the texts, so that a filter reads only the first page of a row.
 */
export const createCollection = (database: Database, spec: CollectionSpec): void => {
  const fields = spec.fields.map((field) => `, ${columnOf(field)}`).join('');
  database.exec(
    `CREATE TABLE ${tableOf(spec.name)} (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, position INTEGER NOT NULL${fields}, text TEXT, doc TEXT NOT NULL)`,
  );
  if (spec.search !== undefined) createSearchTable(database, spec.name);
};

export const createIndexes = (database: Database, spec: CollectionSpec): void => {
  spec.indexes.forEach((fields, index) => {
    database.exec(`CREATE INDEX ${tableOf(spec.name)}_${index} ON ${tableOf(spec.name)} (${fields.map(columnOf).join(', ')})`);
  });
};

const prepareStatements = (database: Database, spec: CollectionSpec) => {
  const table = tableOf(spec.name);
  const columns = spec.fields.map((field) => `, ${columnOf(field)}`).join('');
  const selectRow = database.prepare<[number], [id: string, ...Value[]]>(`SELECT id, text${columns} FROM ${table} WHERE seq = ?`).raw(true);
  const insert = database.prepare(
    `INSERT INTO ${table} (seq, id, position, doc, text${columns}) VALUES (?, ?, ?, ?, ?${', ?'.repeat(spec.fields.length)}) ON CONFLICT (id) DO NOTHING`,
  );
  const removeRow = database
    .prepare<[string, number], [seq: number, ...Value[]]>(
      `DELETE FROM ${table} WHERE id = ? AND position < ? RETURNING seq, text${columns}`,
    )
    .raw(true);
  const selectDocument = database.prepare<[string], string>(`SELECT doc FROM ${table} WHERE id = ?`).pluck();
  const selectWhole = database.prepare<[string], [string, string | null]>(`SELECT doc, text FROM ${table} WHERE id = ?`).raw(true);
  const selectPage = database
    .prepare<[string, number], [string, string | null]>(`SELECT doc, text FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`)
    .raw(true);
  return { selectRow, insert, removeRow, selectDocument, selectWhole, selectPage };
};

type EntryOf = (values: readonly Value[], textAt: number) => Entry | undefined;

const noEntry: EntryOf = () => undefined;

/** In: values, and where the text is among them. Out: what the search index has of them. */
const entriesOf = ({ fields, search }: CollectionSpec): EntryOf => {
  const tenantAt = search === undefined ? -1 : fields.indexOf(search.within);
  return (values, textAt) => {
    const [text, tenant = null] = [values[textAt], values[textAt + 1 + tenantAt]];
    return typeof text === 'string' && tenant !== null ? { text, tenant } : undefined;
  };
};

/** `inBulk`: an empty collection, with one writer who has much to put and nobody who searches meanwhile. */
export const openCollection = (database: Database, spec: CollectionSpec, inBulk: boolean): Collection => {
  const search = openSearchIndex(database, spec, inBulk);
  const { selectRow, insert, removeRow, selectDocument, selectWhole, selectPage } = prepareStatements(database, spec);
  const update = changedColumns(database, spec);
  const entryOf = search === undefined ? noEntry : entriesOf(spec);
  const whole = ([doc, text]: [string, string | null]): Document => wholeOf(spec, doc, text);
  const remove = ({ id, position }: Removal): boolean => {
    const removed = removeRow.get(id, position);
    if (removed === undefined) return false;
    const entry = entryOf(removed, TEXT_SELECTED_AT);
    if (entry !== undefined) search?.remove(removed[0], entry);
    return true;
  };

  /** The only writer of a collection that was empty need not look for what is newer than all it has put. */
  let newest = 0;

  const add = (row: Row): void => {
    const [seq, id, position] = row;
    if (insert.run(row).changes === 0) {
      // The id was made anew by another event: the newest stands.
      if (!remove({ id, position })) return;
      insert.run(row);
    }
    const entry = entryOf(row, TEXT_AT);
    if (entry !== undefined) search?.add(seq, entry);
  };

  return {
    put: (row) => {
      const [seq, id] = row;
      const isNew = inBulk && seq > newest;
      if (isNew) newest = seq;
      const known = isNew ? undefined : selectRow.get(seq);
      if (known === undefined) return add(row);
      if (known[0] !== id)
        throw new Error(`two documents of ${spec.name} have the same seq ${seq}: one event makes one document in a collection`);
      if (!update(row, known) || search === undefined) return;
      const [oldEntry, entry] = [entryOf(known, TEXT_SELECTED_AT), entryOf(row, TEXT_AT)];
      if (oldEntry?.text === entry?.text && oldEntry?.tenant === entry?.tenant) return;
      if (oldEntry !== undefined) search.remove(seq, oldEntry);
      if (entry !== undefined) search.add(seq, entry);
    },
    remove: (removal) => void remove(removal),
    flush: () => search?.flush(),
    indexAll: () => search?.indexAll(),
    get: (id) => {
      const doc = selectDocument.get(id);
      return doc === undefined ? undefined : (JSON.parse(doc) as Document);
    },
    getWhole: (id) => {
      const row = selectWhole.get(id);
      return row === undefined ? undefined : whole(row);
    },
    pageById: (afterId, limit) => selectPage.all(afterId, limit).map(whole),
  };
};

/** Puts together what `split` has taken apart. */
const wholeOf = ({ search }: CollectionSpec, doc: string, text: string | null): Document => {
  const document = JSON.parse(doc) as Document;
  return search === undefined || text === null ? document : { ...document, [search.field]: text };
};

/** The stored text of a document, and apart from it the text that is searched. */
const split = (document: Document, { search }: CollectionSpec): { doc: string; text: string | null } => {
  const text = search === undefined ? undefined : document[search.field];
  if (search === undefined || text === undefined) return { doc: JSON.stringify(document), text: null };
  if (typeof text !== 'string') throw new TypeError(`the field ${search.field}, which is searched, must be a string`);
  return { doc: JSON.stringify({ ...document, [search.field]: undefined }), text };
};

const fieldValue = (document: Document, field: string): Value => {
  const value = document[field] ?? null;
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError(`the field ${field} must be a string or a number to be filtered and sorted by`);
};

const STATEMENTS_MAX = 128;

/**
 * Writes only the columns that changed, for an index is rewritten for each of its columns that is named, changed or not.
 * In: the row as it is to be, and what was selected of it as it is. Out: false where it has folded that position or a later one,
 * and was left as it is.
 */
const changedColumns = (database: Database, spec: CollectionSpec) => {
  const names = ['text', ...spec.fields.map(columnOf)];
  const statements = boundedCache<string, Statement>({ entriesMax: STATEMENTS_MAX });
  return (row: Row, selected: readonly Value[]): boolean => {
    const [seq, , position, doc] = row;
    const values: Value[] = [position, doc];
    let assignments = 'position = ?, doc = ?';
    for (const [at, name] of names.entries()) {
      const value = row[TEXT_AT + at]!;
      if (value === selected[TEXT_SELECTED_AT + at]) continue;
      assignments += `, ${name} = ?`;
      values.push(value);
    }
    const statement = statements.getOrMake(assignments, () =>
      database.prepare(`UPDATE ${tableOf(spec.name)} SET ${assignments} WHERE seq = ? AND position < ?`),
    );
    values.push(seq, position);
    return statement.run(values).changes > 0;
  };
};
