/** Turns queries into SQL. Values are always bound; the names that enter the text are declared fields. */
import type { CollectionSpec, Condition, Query } from '../../domain/ports/read-models.js';
import { columnOf, indexOf } from './names.js';

export type Fragment = Readonly<{ sql: string; values: readonly (string | number | bigint)[] }>;

const operators = { eq: '=', gte: '>=', lt: '<', lte: '<=' } as const satisfies Record<Exclude<keyof Condition, 'in'>, string>;
const operatorNames = Object.keys(operators) as (keyof typeof operators)[];

/** Conditions on the row `d`; an empty text where there are none. Throws RangeError for a field that is not declared. */
export const conditionsOf = (spec: CollectionSpec, where: Query['where']): Fragment => {
  const sql: string[] = [];
  const values: (string | number)[] = [];
  for (const [field, condition] of Object.entries(where)) {
    // A bound on `seq` is only tested: the plus keeps SQLite from going through the table in place of an index.
    const column = field === 'seq' ? '+d.seq' : `d.${columnOf(declared(spec, field))}`;
    if (condition.in !== undefined) {
      // The plus keeps it from being looked up in an index.
      sql.push(`+d.${field === 'seq' ? 'seq' : columnOf(field)} IN (${condition.in.map(() => '?').join(', ')})`);
      values.push(...condition.in);
    }
    for (const name of operatorNames) {
      const value = condition[name];
      if (value === undefined) continue;
      sql.push(`${column} ${operators[name]} ?`);
      values.push(value);
    }
  }
  return { sql: sql.join(' AND '), values };
};

/** The order of a query: a column, then `seq` in the same direction. */
export type Order = Readonly<{ column: string; direction: 'asc' | 'desc'; from: Fragment }>;

/** `from`: the condition that continues the order after a cursor. Documents without the sort field are left out. */
export const orderOf = (spec: CollectionSpec, { where, sort, after }: Query): Order => {
  if (sort === undefined || sort.field === 'seq') {
    const direction = sort?.direction ?? 'desc';
    const from =
      after === undefined ? { sql: '', values: [] } : { sql: `d.seq ${direction === 'desc' ? '<' : '>'} ?`, values: [after.seq] };
    return { column: 'd.seq', direction, from };
  }
  const column = `d.${columnOf(declared(spec, sort.field))}`;
  const { eq, gte, lt, lte } = where[sort.field] ?? {};
  const isBounded = [eq, gte, lt, lte].some((bound) => bound !== undefined);
  const from =
    after === undefined
      ? // Beside a bound, which says the same, it would make SQLite take another index.
        { sql: isBounded ? '' : `${column} IS NOT NULL`, values: [] }
      : { sql: `(${column}, d.seq) ${sort.direction === 'desc' ? '<' : '>'} (?, ?)`, values: [after.value, after.seq] };
  return { column, direction: sort.direction, from };
};

/** One of the sets of conditions that may hold: in SQL, and by field, for the choice of an index. */
export type Alternative = Readonly<{ where: Fragment; byField: Query['where'] }>;

/** All that may hold, each with all its conditions: what `where` says of a field holds beside what the set says of it. */
export const alternativesOf = (spec: CollectionSpec, { where, anyOf }: Pick<Query, 'where' | 'anyOf'>): readonly Alternative[] => {
  const common = conditionsOf(spec, where);
  if (anyOf === undefined) return [{ where: common, byField: where }];
  return anyOf.map((one) => ({ where: allOf(common, conditionsOf(spec, one)), byField: bothByField(where, one) }));
};

const bothByField = (where: Query['where'], one: Query['where']): Query['where'] => ({
  ...where,
  ...Object.fromEntries(Object.entries(one).map(([field, condition]) => [field, { ...where[field], ...condition }])),
});

/** The same as one condition, for a row at hand. */
export const testOf = (spec: CollectionSpec, { where, anyOf }: Pick<Query, 'where' | 'anyOf'>): Fragment => {
  const common = conditionsOf(spec, where);
  if (anyOf === undefined) return common;
  const each = anyOf.map((one) => conditionsOf(spec, one));
  const sql = each.length === 0 ? '0' : each.map((one) => one.sql || '1').join(' OR ');
  return allOf(common, { sql: `(${sql})`, values: each.flatMap(({ values }) => values) });
};

/** The index that finds the documents of these conditions in that order without looking at others; undefined where none is declared. */
export const indexFor = ({ name, indexes }: CollectionSpec, where: Query['where'], sortField: string): string | undefined => {
  let [found, fixedMost] = [undefined as string | undefined, 0];
  for (const [at, fields] of indexes.entries()) {
    const fixed = fields.findIndex((field) => where[field]?.eq === undefined);
    if (fixed <= fixedMost || fields[fixed] !== sortField) continue;
    [found, fixedMost] = [indexOf(name, at), fixed];
  }
  return found;
};

/** Conditions on rows of a table, and the index by which they are to be found, where SQLite is not to choose. */
export type Rows = Readonly<{ where: Fragment; index?: string | undefined }>;

/** The rows that meet one of the conditions, in SQL; `select` is what is selected of row `d`. */
export const rowsOf = (table: string, select: string, alternatives: readonly Rows[]): Fragment => ({
  sql: (alternatives.length === 0 ? [{ where: { sql: '0', values: [] } }] : alternatives)
    .map(
      ({ where, index }: Rows) =>
        `SELECT ${select} FROM ${table} AS d${index === undefined ? '' : ` INDEXED BY ${index}`}${whereClause(where)}`,
    )
    .join(' UNION ALL '),
  values: alternatives.flatMap(({ where }) => where.values),
});

/** Joins what is not empty. */
export const allOf = (...fragments: readonly Fragment[]): Fragment => {
  const some = fragments.filter((fragment) => fragment.sql !== '');
  return { sql: some.map((fragment) => fragment.sql).join(' AND '), values: some.flatMap((fragment) => fragment.values) };
};

export const whereClause = ({ sql }: Fragment): string => (sql === '' ? '' : ` WHERE ${sql}`);

const declared = (spec: CollectionSpec, field: string): string => {
  if (!spec.fields.includes(field)) throw new RangeError(`${field} is no declared field of ${spec.name}`);
  return field;
};
