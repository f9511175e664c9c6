/** Turns queries into SQL. Values are always bound; the names that enter the text are declared fields. */
import type { CollectionSpec, Condition, Query } from '../../domain/ports/read-models.js';
import { columnOf } from './names.js';

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
      sql.push(`${column} IN (${condition.in.map(() => '?').join(', ')})`);
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
export const orderOf = (spec: CollectionSpec, { sort, after }: Query): Order => {
  if (sort === undefined || sort.field === 'seq') {
    const direction = sort?.direction ?? 'desc';
    const from =
      after === undefined ? { sql: '', values: [] } : { sql: `d.seq ${direction === 'desc' ? '<' : '>'} ?`, values: [after.seq] };
    return { column: 'd.seq', direction, from };
  }
  const column = `d.${columnOf(declared(spec, sort.field))}`;
  const from =
    after === undefined
      ? { sql: `${column} IS NOT NULL`, values: [] }
      : { sql: `(${column}, d.seq) ${sort.direction === 'desc' ? '<' : '>'} (?, ?)`, values: [after.value, after.seq] };
  return { column, direction: sort.direction, from };
};

/** The conditions with each value of the first list of values in it; they share no document. */
export const alternativesOf = (where: Query['where']): readonly Query['where'][] => {
  const listed = Object.entries(where).find(([, condition]) => condition.in !== undefined);
  if (listed === undefined) return [where];
  const [field, { in: values = [], ...bounds }] = listed;
  // No value at all is a condition that nothing meets.
  if (values.length === 0) return [where];
  return [...new Set(values)].map((value) => ({ ...where, [field]: { ...bounds, in: [value] } }));
};

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
