/** Turns queries into filters and orders of MongoDB. Throws RangeError for a field that is not declared. */
import type { CollectionSpec, Condition, Query } from '../../domain/ports/read-models.js';
import type { Filter } from '../mongodb/client.js';
import { fieldOf, type Stored } from './mongodb-documents.js';

/** Conditions that all hold, each on its own. */
export type Clauses = readonly Readonly<Record<string, unknown>>[];
export type Order = Readonly<Record<string, 1 | -1>>;

/** Every document has a position that is no less; what is left of a removed one has none. */
const isDocument = { seq: { $gte: 0 } } as const;

const operators = { eq: '$eq', in: '$in', gte: '$gte', lt: '$lt', lte: '$lte' } as const satisfies Record<keyof Condition, string>;
const operatorNames = Object.keys(operators) as (keyof Condition)[];

export const clausesOf = (spec: CollectionSpec, where: Query['where']): Clauses =>
  Object.entries(where).flatMap(([field, condition]) => {
    const tests: Record<string, unknown> = {};
    for (const name of operatorNames) if (condition[name] !== undefined) tests[operators[name]] = condition[name];
    const stored = fieldOf(declared(spec, field));
    return Object.keys(tests).length === 0 ? [] : [{ [stored]: tests }];
  });

/** All of the conditions, and where there are several to choose from one of these; each is complete, so that an index answers it. */
export const filterOf = (spec: CollectionSpec, { where, anyOf }: Pick<Query, 'where' | 'anyOf'>, more: Clauses = []): Filter<Stored> => {
  const common = [...clausesOf(spec, where), ...more];
  const each = anyOf?.map((one) => joined([...common, ...clausesOf(spec, one)]));
  if (each === undefined) return joined(common);
  return each.length === 1 ? each[0]! : { $or: each };
};

const joined = (clauses: Clauses): Filter<Stored> => {
  if (clauses.length === 0) return isDocument;
  return (clauses.length === 1 ? clauses[0]! : { $and: clauses }) as Filter<Stored>;
};

/** The order of a query, and what continues it after a cursor. Documents without the sort field are left out. */
export const orderOf = (spec: CollectionSpec, { where, sort, after }: Query): Readonly<{ order: Order; from: Clauses }> => {
  const { field, direction } = sort ?? { field: 'seq', direction: 'desc' };
  const [sign, beyond, upTo] = direction === 'asc' ? ([1, '$gt', '$gte'] as const) : ([-1, '$lt', '$lte'] as const);
  if (field === 'seq') return { order: { seq: sign }, from: after === undefined ? [] : [{ seq: { [beyond]: after.seq } }] };
  const stored = fieldOf(declared(spec, field));
  const order = { [stored]: sign, seq: sign } as const;
  if (after !== undefined) {
    const ties = { $or: [{ [stored]: { [beyond]: after.value } }, { seq: { [beyond]: after.seq } }] };
    return { order, from: [{ [stored]: { [upTo]: after.value } }, ties] };
  }
  const { eq, gte, lt, lte } = where[field] ?? {};
  const isBounded = [eq, gte, lt, lte].some((bound) => bound !== undefined);
  return { order, from: isBounded ? [] : [{ [stored]: { $exists: true } }] };
};

/** A pattern that is found where the phrase stands, each of its characters for itself. */
export const literally = (phrase: string): Readonly<Record<'$regex', string>> => ({
  $regex: phrase.replace(/[!-/:-@[-`{-~]/g, '\\$&'),
});

const declared = (spec: CollectionSpec, field: string): string => {
  if (field !== 'seq' && !spec.fields.includes(field)) throw new RangeError(`${field} is no declared field of ${spec.name}`);
  return field;
};
