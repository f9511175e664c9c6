/**
 * The scope of a search: where a collection declares a field for it (the team), searches are about one value of that
 * field. Each value has a number, and the documents of one scope stand together in the search index: the row id there
 * is the number of the scope and after it `seq`. A team's search is one over a range of row ids and never walks
 * through other teams' hits, so that its time tells nothing of them.
 */
import type { CollectionSpec } from '../../domain/ports/read-models.js';
import type { Database } from '../sqlite/database.js';
import { columnOf } from './names.js';

type Value = string | number | null;

export type Scopes = Readonly<{
  /** The number of a value; inside a transaction, for it is given one where it has none. */
  numberOf: (value: Value) => number;
  /** The number of a value, undefined where no document was ever indexed with it. */
  known: (value: Value) => number | undefined;
  /** The numbers of all values. */
  all: () => readonly number[];
}>;

/** Bits of a row id that are left to `seq`: a trillion events, and eight million scopes. */
const seqBits = 40;

/** The row id at which a scope begins; that of a document is so much more as its `seq` is. A bigint, for FTS5 seeks only to what the driver binds as an integer. */
export const startOfScope = (number: number): bigint => BigInt(number) << BigInt(seqBits);

export const scopeFieldOf = (spec: CollectionSpec): string | undefined => spec.searchScope;

export const scopeTableOf = (collection: string): string => `t_${collection}`;

export const createScopeTable = (database: Database, collection: string): void => {
  database.exec(`CREATE TABLE ${scopeTableOf(collection)} (number INTEGER PRIMARY KEY, value UNIQUE)`);
};

/** The row id of row `d` of the collection, whose scope has a number, as SQL. */
export const rowIdOf = (spec: CollectionSpec): string =>
  `((SELECT number FROM ${scopeTableOf(spec.name)} WHERE value IS ${valueOf(spec)}) << ${seqBits}) + d.seq`;

const valueOf = (spec: CollectionSpec): string => (spec.searchScope === undefined ? 'NULL' : `d.${columnOf(spec.searchScope)}`);

export const openScopes = (database: Database, spec: CollectionSpec): Scopes => {
  const table = scopeTableOf(spec.name);
  const select = database.prepare<[Value], number>(`SELECT number FROM ${table} WHERE value IS ?`).pluck();
  const selectAll = database.prepare<[], number>(`SELECT number FROM ${table} ORDER BY number`).pluck();
  const insert = database.prepare<[Value], number>(`INSERT INTO ${table} (value) VALUES (?) RETURNING number`).pluck();
  const numberOf = (value: Value): number => select.get(value) ?? insert.get(value)!;

  return {
    numberOf,
    known: (value) => select.get(value),
    all: () => selectAll.all(),
  };
};
