/** Compares what a collection is filtered and sorted by, its columns and their indexes, with the documents themselves. */
import type { CollectionSpec, Document, LookupFault } from '../../domain/ports/read-models.js';
import type { Database } from '../sqlite/database.js';
import { columnOf, indexOf, tableOf } from './names.js';
import { joinDocument, restSql, selectStraySql, textSql } from './personal.js';

type Row = [seq: number, id: string, position: number, doc: string, text: string | null, rest: string | null, ...fields: unknown[]];

const PAGE_SIZE = 500;

/** Yields after each page, so that others get their turn; in the order of `seq`. */
export function* columnFaults(database: Database, spec: CollectionSpec): Generator<LookupFault | undefined> {
  yield* indexFaults(database, spec);
  const columns = ['seq', 'id', 'position', ...spec.fields];
  const fields = spec.fields.map((field) => `, d.${columnOf(field)}`).join('');
  const selectPage = database
    .prepare<[number, number], Row>(
      `SELECT d.seq, d.id, d.position, d.doc, ${textSql(spec)}, ${restSql(spec)}${fields} FROM ${tableOf(spec.name)} AS d WHERE d.seq > ? ORDER BY d.seq LIMIT ?`,
    )
    .raw(true);
  for (let after = Number.MIN_SAFE_INTEGER; ;) {
    const page = selectPage.all(after, PAGE_SIZE);
    for (const [seq, id, position, doc, text, rest, ...values] of page) {
      const document = joinDocument(spec, { doc, text, rest });
      const stored = [seq, id, position, ...values];
      const field = columns.find((name, at) => (document[name] ?? null) !== stored[at]);
      if (field !== undefined) yield faultIn(spec, document, field);
    }
    if (page.length < PAGE_SIZE) break;
    after = page.at(-1)![0];
    yield undefined;
  }
  yield* strayPersonal(database, spec);
}

const faultIn = ({ name }: CollectionSpec, { id }: Document, field: string): LookupFault => ({ collection: name, id, field, in: 'column' });

/** An index that is missing, or that is not what its columns are; SQLite names the entry. */
function* indexFaults(database: Database, { name, indexes }: CollectionSpec): Generator<LookupFault> {
  const has = database.prepare<[string, string], number>(`SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ? AND tbl_name = ?`);
  const table = tableOf(name);
  for (const [at, fields] of indexes.entries())
    if (has.get(indexOf(name, at), table) === undefined) yield { collection: name, id: '', field: fields.join(', '), in: 'index' };
  const said = String(database.pragma(`integrity_check(${table})`, { simple: true }));
  if (said !== 'ok') yield { collection: name, id: '', field: said, in: 'index' };
}

/** Something personal for which there is no document. */
function* strayPersonal(database: Database, { name, personal }: CollectionSpec): Generator<LookupFault> {
  if (personal === undefined) return;
  const seq = database.prepare<[], number>(selectStraySql(name)).pluck().get();
  if (seq !== undefined) yield { collection: name, id: `(seq ${seq})`, field: personal.join(', '), in: 'column' };
}
