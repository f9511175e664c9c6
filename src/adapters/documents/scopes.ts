/**
 * The scope of a search: where a collection declares a field for it (the team), searches are about one value of that
 * field, and the value is part of the search index. A team's search then never walks through other teams' hits,
 * so that its time tells nothing of them. A scope is written as one trigram of private-use characters.
 */
import type { CollectionSpec } from '../../domain/ports/documents.js';
import type { Database } from '../sqlite/database.js';
import { columnOf, tableOf } from './names.js';

type Value = string | number | null;

export type Scopes = Readonly<{
  /** The trigram of a value; inside a transaction, for it is given one where it has none. */
  trigramOf: (value: Value) => string;
  /** The trigram of a value, undefined where no document was ever indexed with it. */
  known: (value: Value) => string | undefined;
  /** True where all documents are in one scope. */
  onlyOne: () => boolean;
  /** Gives a trigram to every value in the collection's table. */
  addAll: () => void;
}>;

/** U+E000 to U+F8FF: no text that people write holds them, and even if it did, scope and text are columns of their own. */
const firstCharacter = 0xe000;
const characters = 6_400;

export const scopeFieldOf = (spec: CollectionSpec): string | undefined => spec.searchScope;

export const scopeTableOf = (collection: string): string => `t_${collection}`;

export const createScopeTable = (database: Database, collection: string): void => {
  database.exec(`CREATE TABLE ${scopeTableOf(collection)} (number INTEGER PRIMARY KEY, value UNIQUE, trigram TEXT)`);
};

export const openScopes = (database: Database, spec: CollectionSpec): Scopes => {
  const table = scopeTableOf(spec.name);
  const select = database.prepare<[Value], string>(`SELECT trigram FROM ${table} WHERE value IS ?`).pluck();
  const selectCount = database.prepare<[], number>(`SELECT count(*) FROM (SELECT 1 FROM ${table} LIMIT 2)`).pluck();
  const insert = database.prepare<[Value], number>(`INSERT INTO ${table} (value) VALUES (?) RETURNING number`).pluck();
  const setTrigram = database.prepare(`UPDATE ${table} SET trigram = ? WHERE number = ?`);
  const field = scopeFieldOf(spec);
  const column = field === undefined ? 'NULL' : columnOf(field);
  const selectValues = database.prepare<[], Value>(`SELECT DISTINCT ${column} FROM ${tableOf(spec.name)}`).pluck();

  const trigramOf = (value: Value): string => {
    const found = select.get(value);
    if (found !== undefined) return found;
    const number = insert.get(value)!;
    const trigram = asTrigram(number);
    setTrigram.run(trigram, number);
    return trigram;
  };

  return {
    trigramOf,
    known: (value) => select.get(value),
    onlyOne: () => selectCount.get() === 1,
    addAll: () => selectValues.all().forEach(trigramOf),
  };
};

/** The number in base 6,400, as three characters. */
const asTrigram = (number: number): string =>
  String.fromCodePoint(
    firstCharacter + (Math.floor(number / (characters * characters)) % characters),
    firstCharacter + (Math.floor(number / characters) % characters),
    firstCharacter + (number % characters),
  );
