/** One collection in one generation: a table with a column for each declared field, its indexes, its search index. */
import type { CollectionSpec, Document, Removal } from '../../domain/ports/read-models.js';
import type { Database, Statement } from '../sqlite/database.js';
import { boundedCache } from '../../shared/cache.js';
import { columnOf, indexOf, tableOf } from './names.js';
import {
  createPersonalTable,
  docSql,
  joinDocument,
  openPersonalTable,
  splitterOf,
  type Made,
  type Parts,
  type Personal,
  type PersonalTable,
} from './personal.js';
import { createSearchTable, openSearchIndex, type Entry } from './search-index.js';

export type Collection = Readonly<{
  /** Changes nothing where the document there has folded that position or a later one. */
  put: (stored: StoredDocument, made?: Made) => void;
  /** The texts of the document with that `seq`, where it was put lately. */
  made: (seq: number) => Made | undefined;
  /** Changes nothing if the document there has folded that position or a later one. */
  remove: (removal: Removal) => void;
  /** Inside a transaction, after its last write. */
  flush: () => void;
  /** Inside a transaction: puts into the search index whatever still waits for it. */
  indexAll: () => void;
  /** Called when somebody else may have written: rows that were written here are read again. */
  forget: () => void;
  /** The document for a query, without the searched text. */
  get: (id: string) => Document | undefined;
  /** The document as it was put. */
  getWhole: (id: string) => Document | undefined;
  /** At most `limit` whole documents with ids after `afterId`, by id. */
  pageById: (afterId: string, limit: number) => Document[];
}>;

type Value = string | number | null;

/** The index of the text in a row to be written, and in a selected row. The declared fields follow it. */
const TEXT_AT = 4;
const TEXT_SELECTED_AT = 1;

/** Rows that are kept after they were written, and the characters of one that is. */
const KEPT_ROWS_MAX = 2_048;
const KEPT_CHARS_MAX = 2_048;

/**
 * A document as it is stored: the value of each declared field, the searched text, and as JSON text whatever is neither
 * that nor personal.
 */
type Row = readonly [seq: number, id: string, position: number, doc: string, text: string | null, ...fields: Value[]];

export type StoredDocument = Readonly<{ row: Row; personal: Personal }>;

/** Documents in stored form as one list of values, which passes between threads far faster than objects. */
export type PackedDocuments = readonly Value[];

/** Values of a packed document behind its row: the two of `Personal`. */
const PERSONAL_VALUES = 2;

export const packDocuments = (stored: readonly StoredDocument[]): PackedDocuments => {
  const values: Value[] = [];
  for (const { row, personal } of stored) {
    for (const value of row) values.push(value);
    values.push(personal.text, personal.rest);
  }
  return values;
};

export function* unpackDocuments({ fields }: CollectionSpec, values: PackedDocuments): Generator<StoredDocument> {
  const rowLength = TEXT_AT + 1 + fields.length;
  for (let at = 0; at < values.length; at += rowLength + PERSONAL_VALUES) {
    const [end, text, rest] = [at + rowLength, values[at + rowLength], values[at + rowLength + 1]];
    yield { row: values.slice(at, end) as unknown as Row, personal: { text, rest } as Personal };
  }
}

/** A row as it is, as far as a change needs it: its id, text and declared fields, and what is personal of it. */
type KnownRow = Readonly<{ selected: readonly Value[]; personal: Personal; made?: Made | undefined }>;

/**
 * In: the spec of a collection. Out: what turns its documents into stored form. It takes the texts of the document
 * before again where they are the same.
 */
export const storerOf = (
  spec: CollectionSpec,
): ((document: Document, before?: Made) => Readonly<{ stored: StoredDocument; made: Made }>) => {
  const split = splitterOf(spec);
  const isTextPersonal = spec.search !== undefined && spec.personal?.includes(spec.search.field) === true;
  return (document, before) => {
    const { doc, made } = split(document, before);
    const { text, rest } = made;
    const fields = spec.fields.map((field) => fieldValue(document, field));
    return {
      stored: {
        row: [document.seq, document.id, document.position, doc, isTextPersonal ? null : text, ...fields],
        personal: { text: isTextPersonal ? text : null, rest },
      },
      made,
    };
  };
};

/**
 * Columns of fields have no type: a string stays a string, a number a number. The implicit row id at the end of every
 * index is `seq`. They stand before the texts, so that a filter reads only the first page of a row.
 */
export const createCollection = (database: Database, spec: CollectionSpec): void => {
  const fields = spec.fields.map((field) => `, ${columnOf(field)}`).join('');
  database.exec(
    `CREATE TABLE ${tableOf(spec.name)} (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, position INTEGER NOT NULL${fields}, text TEXT, doc TEXT NOT NULL)`,
  );
  createPersonalTable(database, spec);
  if (spec.search !== undefined) createSearchTable(database, spec);
};

export const createIndexes = (database: Database, spec: CollectionSpec): void => {
  spec.indexes.forEach((fields, index) => {
    database.exec(
      `CREATE INDEX ${indexOf(spec.name, index)} ON ${tableOf(spec.name)} (${fields.map(columnOf).join(', ')})`,
    );
  });
};

const prepareStatements = (database: Database, spec: CollectionSpec) => {
  const table = tableOf(spec.name);
  const columns = spec.fields.map((field) => `, ${columnOf(field)}`).join('');
  const selectRow = database
    .prepare<[number], [id: string, ...Value[]]>(`SELECT id, text${columns} FROM ${table} WHERE seq = ?`)
    .raw(true);
  const insert = database.prepare(
    `INSERT INTO ${table} (seq, id, position, doc, text${columns}) VALUES (?, ?, ?, ?, ?${', ?'.repeat(spec.fields.length)}) ON CONFLICT DO NOTHING`,
  );
  const removeRow = database
    .prepare<[string, number], [seq: number, ...Value[]]>(
      `DELETE FROM ${table} WHERE id = ? AND position < ? RETURNING seq, text${columns}`,
    )
    .raw(true);
  const selectWhole = database.prepare<[string], MainPart>(
    `SELECT seq, ${docSql(spec)} AS doc, text FROM ${table} AS d WHERE id = ?`,
  );
  const selectPage = database.prepare<[string, number], MainPart>(
    `SELECT seq, ${docSql(spec)} AS doc, text FROM ${table} AS d WHERE id > ? ORDER BY id LIMIT ?`,
  );
  return { selectRow, insert, removeRow, selectWhole, selectPage };
};

/** The part of a document's text in the collection's own table. */
type MainPart = Readonly<{ seq: number } & Omit<Parts, 'rest'>>;

type EntryOf = (values: readonly Value[], textAt: number, personal: Personal) => Entry | undefined;

const noEntry: EntryOf = () => undefined;

/**
 * In: values, where the text is among them, and what is personal of the document. Out: what the search index has of it.
 */
const entriesOf = ({ fields, search }: CollectionSpec): EntryOf => {
  const tenantAt = search === undefined ? -1 : fields.indexOf(search.within);
  return (values, textAt, personal) => {
    const [text, tenant = null] = [personal.text ?? values[textAt], values[textAt + 1 + tenantAt]];
    return typeof text === 'string' && tenant !== null ? { text, tenant } : undefined;
  };
};

export type CollectionUse = Readonly<{
  /** An empty collection, with one writer who has much to put and nobody who searches meanwhile. */
  inBulk: boolean;
  /**
   * Called inside a transaction when something personal was erased, whose old pages are still in the write-ahead log.
   */
  erased: () => void;
}>;

export const openCollection = (database: Database, spec: CollectionSpec, use: CollectionUse): Collection => {
  const { inBulk } = use;
  const search = openSearchIndex(database, spec, inBulk);
  const statements = prepareStatements(database, spec);
  const { selectRow, insert, removeRow } = statements;
  const personals = openPersonalTable(database, spec, use);
  const update = changedColumns(database, spec);
  const entryOf = search === undefined ? noEntry : entriesOf(spec);
  /** Most rows are changed again soon after they were written. */
  const kept = new Map<number, KnownRow>();
  const keep = ({ row, personal }: StoredDocument, made: Made | undefined): void => {
    // A rebuild changes few of the documents that it has written.
    if (inBulk) return;
    const [seq, id] = row;
    kept.delete(seq);
    const chars = (row[TEXT_AT]?.length ?? 0) + (personal.text?.length ?? 0) + (personal.rest?.length ?? 0);
    if (chars > KEPT_CHARS_MAX) return;
    kept.set(seq, { selected: [id, ...(row.slice(TEXT_AT) as Value[])], personal, made });
    if (kept.size <= KEPT_ROWS_MAX) return;
    const [oldest] = kept.keys();
    kept.delete(oldest!);
  };
  const read = (seq: number): KnownRow | undefined => {
    const selected = selectRow.get(seq);
    return selected === undefined ? undefined : { selected, personal: personals.get(seq) };
  };
  const remove = ({ id, position }: Removal): boolean => {
    const removed = removeRow.get(id, position);
    if (removed === undefined) return false;
    const [seq] = removed;
    kept.delete(seq);
    const entry = entryOf(removed, TEXT_SELECTED_AT, personals.get(seq));
    if (entry !== undefined) search?.remove(seq, entry);
    personals.erase(seq);
    return true;
  };

  /** A document with a higher number is most likely new: it is inserted without a look at what is there. */
  let newest = 0;

  /** Out: false where there is a document of that `seq` or id. */
  const insertNew = (stored: StoredDocument, made: Made | undefined): boolean => {
    const { row, personal } = stored;
    if (insert.run(row).changes === 0) return false;
    const [seq] = row;
    personals.add(seq, personal);
    const entry = entryOf(row, TEXT_AT, personal);
    if (entry !== undefined) search?.add(seq, entry);
    keep(stored, made);
    return true;
  };

  return {
    put: (stored, made) => {
      const { row, personal } = stored;
      const [seq, id, position] = row;
      if (seq > newest) {
        newest = seq;
        if (insertNew(stored, made)) return;
      }
      const known = kept.get(seq) ?? read(seq);
      if (known === undefined) {
        // The id was made anew by another event: the newest stands.
        if (insertNew(stored, made) || !remove({ id, position })) return;
        insertNew(stored, made);
        return;
      }
      const { selected, personal: before } = known;
      if (selected[0] !== id)
        throw new Error(
          `two documents of ${spec.name} have the same seq ${seq}: one event makes one document in a collection`,
        );
      if (!update(row, selected)) return;
      keep(stored, made);
      personals.change(seq, before, personal);
      if (search === undefined) return;
      const [oldEntry, entry] = [entryOf(selected, TEXT_SELECTED_AT, before), entryOf(row, TEXT_AT, personal)];
      if (oldEntry?.text === entry?.text && oldEntry?.tenant === entry?.tenant) return;
      if (oldEntry !== undefined) search.remove(seq, oldEntry);
      if (entry !== undefined) search.add(seq, entry);
    },
    made: (seq) => kept.get(seq)?.made,
    remove: (removal) => void remove(removal),
    flush: () => search?.flush(),
    indexAll: () => search?.indexAll(),
    forget: () => {
      kept.clear();
      search?.forget();
    },
    ...openReads(spec, statements, personals),
  };
};

const openReads = (
  spec: CollectionSpec,
  { selectWhole, selectPage }: Pick<ReturnType<typeof prepareStatements>, 'selectWhole' | 'selectPage'>,
  personals: PersonalTable,
): Pick<Collection, 'get' | 'getWhole' | 'pageById'> => {
  const whole = ({ seq, doc, text }: MainPart): Document => {
    const personal = personals.get(seq);
    return joinDocument(spec, { doc, text: personal.text ?? text, rest: personal.rest });
  };
  return {
    get: (id) => {
      const part = selectWhole.get(id);
      return part === undefined
        ? undefined
        : joinDocument(spec, { doc: part.doc, text: null, rest: personals.get(part.seq).rest });
    },
    getWhole: (id) => {
      const part = selectWhole.get(id);
      return part === undefined ? undefined : whole(part);
    },
    pageById: (afterId, limit) => selectPage.all(afterId, limit).map(whole),
  };
};

const fieldValue = (document: Document, field: string): Value => {
  const value = document[field] ?? null;
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError(`the field ${field} must be a string or a number to be filtered and sorted by`);
};

const STATEMENTS_MAX = 128;

/**
 * Writes only the columns that changed, for an index is rewritten for each of its columns that is named, changed or
 * not. In: the row as it is to be, and what was selected of it as it is. Out: false where it has folded that position
 * or a later one, and was left as it is.
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
