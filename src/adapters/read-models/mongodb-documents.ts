/**
 * Documents in MongoDB: their stored form, their conditional changes, and the filters and orders of queries. A
 * document's JSON is stored as one text, so that any JSON comes back unchanged, and beside it the fields that queries
 * use: the declared fields, the searched text and its terms.
 */
import {
  isDuplicateKey,
  type AnyBulkWriteOperation,
  type Collection,
  type Filter,
  type WithoutId,
} from '../mongodb/client.js';
import type {
  CollectionSpec,
  Document,
  LookupFault,
  Removal,
  Condition,
  Query,
} from '../../domain/ports/read-models.js';
import { gramsOf, searchedOf } from './grams.js';
import { hash } from 'node:crypto';
import { boundedCache, type BoundedCache } from '../../shared/cache.js';

/** The fields of every document. `goneAt` is the moment of its removal; a removed document has no other fields. */
export type Rest = { _id: string; position: number; goneAt?: Date };

/**
 * One put or removal: changes nothing where the document, or what is left of it, has folded that position or a later
 * one.
 */
export type Change<Stored extends Rest> = Readonly<{
  id: string;
  position: number;
  operation: AnyBulkWriteOperation<Stored>;
}>;

export const replaceIfOlder = <Stored extends Rest>(
  id: string,
  position: number,
  replacement: WithoutId<Stored>,
): Change<Stored> => ({
  id,
  position,
  operation: {
    replaceOne: { filter: { _id: id, position: { $lt: position } } as Filter<Stored>, replacement, upsert: true },
  },
});

/** Changes of one message: so many take the slowest of servers a few seconds. */
const changesMax = 500;

/** Rejects where the server cannot carry them out; a first part of them may be carried out then. */
export const carryOutAll = async <Stored extends Rest>(
  collection: Collection<Stored>,
  changes: readonly Change<Stored>[],
): Promise<void> => {
  for (let at = 0; at < changes.length; at += changesMax)
    await carryOut(collection, changes.slice(at, at + changesMax));
};

/** Goes on after each change that was refused because the document there, or what is left of it, has folded as much. */
const carryOut = async <Stored extends Rest>(
  collection: Collection<Stored>,
  changes: readonly Change<Stored>[],
): Promise<void> => {
  let left = changes;
  while (left.length > 0) {
    try {
      await collection.bulkWrite(
        left.map(({ operation }) => operation),
        { ordered: true },
      );
      return;
    } catch (error) {
      const at = isDuplicateKey(error) ? firstRefused(error) : undefined;
      if (at === undefined) throw error;
      left = await notFolded(collection, left.slice(at));
    }
  }
};

/**
 * Another writer may have put the document at the same moment: then it has folded less, and the change is tried again.
 */
const notFolded = async <Stored extends Rest>(
  collection: Collection<Stored>,
  changes: readonly Change<Stored>[],
): Promise<readonly Change<Stored>[]> => {
  const positions = new Map<string, number>();
  const among = { _id: { $in: changes.map(({ id }) => id) } } as Filter<Stored>;
  for (const { _id, position } of await collection.find<Rest>(among, { projection: { position: 1 } }).toArray())
    positions.set(_id, position);
  return changes.filter(({ id, position }) => (positions.get(id) ?? -1) < position);
};

/** The number of the first operation of a bulk that was refused. */
const firstRefused = (error: unknown): number | undefined => {
  const refused = (error as Readonly<{ writeErrors?: unknown }>).writeErrors;
  const first: unknown = Array.isArray(refused) ? refused[0] : refused;
  const { index } = (first ?? {}) as Readonly<{ index?: unknown }>;
  return typeof index === 'number' ? index : undefined;
};

export type Stored = Rest & {
  seq?: number;
  body?: string;
  text?: string;
  terms?: string[];
  [field: `f_${string}`]: string | number;
};

export type StoredCollection = Collection<Stored>;

/** Keeps declared fields apart from ours. */
export const fieldOf = (field: string): 'seq' | `f_${string}` => (field === 'seq' ? 'seq' : `f_${field}`);

/** Throws TypeError where a declared field or what is searched is not what it must be. */
export const documentChangesOf = (
  spec: CollectionSpec,
  { put, remove, goneAt }: Readonly<{ put: readonly Document[]; remove: readonly Removal[]; goneAt: Date }>,
): Change<Stored>[] => [
  ...put.map((document) => replaceIfOlder<Stored>(document.id, document.position, replacementOf(document, spec))),
  ...remove.map(({ id, position }) => replaceIfOlder<Stored>(id, position, { position, goneAt })),
];

const replacementOf = (document: Document, spec: CollectionSpec): Omit<Stored, '_id'> => {
  const stored: Omit<Stored, '_id'> = { position: document.position, seq: document.seq };
  for (const field of spec.fields) {
    const value = document[field] ?? null;
    if (value === null) continue;
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new TypeError(`the field ${field} must be a string or a number to be filtered and sorted by`);
    stored[`f_${field}`] = value;
  }
  return Object.assign(stored, searchedPart(document, spec) ?? { body: JSON.stringify(document) });
};

/** The searched text and the terms stand beside the body, for queries do not answer them. */
const searchedPart = (
  document: Document,
  { search }: CollectionSpec,
): Pick<Stored, 'body' | 'text' | 'terms'> | undefined => {
  if (search === undefined) return undefined;
  const { field, terms: termsField } = search;
  const [text, terms] = [document[field], termsField === undefined ? undefined : document[termsField]];
  if (text === undefined && terms === undefined) return undefined;
  searchedOf(text, terms);
  const rest: Record<string, unknown> = { ...document, [field]: undefined };
  if (termsField !== undefined) rest[termsField] = undefined;
  const termsFound = terms as readonly string[] | undefined;
  return {
    body: JSON.stringify(rest),
    text: text as string,
    ...(termsFound === undefined ? {} : { terms: [...termsFound] }),
  };
};

/** The parts of a document that are read to answer a query, and to fold into it. */
export const shownParts = { _id: 0, body: 1 } as const;
export const wholeParts = { _id: 1, body: 1, text: 1, terms: 1 } as const;

/** The document for a query; undefined if it was removed. */
export const shownOf = ({ body }: Pick<Stored, 'body'>): Document | undefined =>
  body === undefined ? undefined : (JSON.parse(body) as Document);

/** The document as it was put. */
export const wholeOf = (
  stored: Pick<Stored, 'body' | 'text' | 'terms'>,
  { search }: CollectionSpec,
): Document | undefined => {
  const document = shownOf(stored);
  if (document === undefined || search === undefined || stored.text === undefined) return document;
  return {
    ...document,
    [search.field]: stored.text,
    ...(search.terms === undefined || stored.terms === undefined ? {} : { [search.terms]: stored.terms }),
  };
};

/** The fields in which the stored values differ from the document itself. */
export function* fieldFaultsOf(stored: Stored, document: Document, spec: CollectionSpec): Generator<LookupFault> {
  const right = replacementOf(document, spec);
  const fault = (field: string): LookupFault => ({ collection: spec.name, id: stored._id, field, in: 'column' });
  for (const field of ['seq', ...spec.fields]) if (stored[fieldOf(field)] !== right[fieldOf(field)]) yield fault(field);
  if (stored.position !== right.position) yield fault('position');
}

/** Conditions of a filter. All must hold. */
export type Clauses = readonly Readonly<Record<string, unknown>>[];
type Order = Readonly<Record<string, 1 | -1>>;

/** Every document has a position that is no less; what is left of a removed one has none. */
const isDocument = { seq: { $gte: 0 } } as const;

const operators = { eq: '$eq', in: '$in', gte: '$gte', lt: '$lt', lte: '$lte' } as const satisfies Record<
  keyof Condition,
  string
>;
const operatorNames = Object.keys(operators) as (keyof Condition)[];

export const clausesOf = (spec: CollectionSpec, where: Query['where']): Clauses =>
  Object.entries(where).flatMap(([field, condition]) => {
    const tests: Record<string, unknown> = {};
    for (const name of operatorNames) if (condition[name] !== undefined) tests[operators[name]] = condition[name];
    const stored = fieldOf(declared(spec, field));
    return Object.keys(tests).length === 0 ? [] : [{ [stored]: tests }];
  });

/**
 * All of the conditions, and where there are several to choose from one of these; each is complete, so that an index
 * answers it.
 */
export const filterOf = (
  spec: CollectionSpec,
  { where, anyOf }: Pick<Query, 'where' | 'anyOf'>,
  more: Clauses = [],
): Filter<Stored> => {
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
export const orderOf = (
  spec: CollectionSpec,
  { where, sort, after }: Query,
): Readonly<{ order: Order; from: Clauses }> => {
  const { field, direction } = sort ?? { field: 'seq', direction: 'desc' };
  const [sign, beyond, upTo] = direction === 'asc' ? ([1, '$gt', '$gte'] as const) : ([-1, '$lt', '$lte'] as const);
  if (field === 'seq')
    return { order: { seq: sign }, from: after === undefined ? [] : [{ seq: { [beyond]: after.seq } }] };
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
  if (field !== 'seq' && !spec.fields.includes(field))
    throw new RangeError(`${field} is no declared field of ${spec.name}`);
  return field;
};

// * Search rows: each document with a text has a row with the numbers (hashes) of its text and terms, which is written
// again only if these change. A row gives candidates only: the text itself is in the document. Rows are written before
// their documents, so a document with a text has its row.

/**
 * The row of a document that has no text any more keeps its id, its position and a date, like that of a removed
 * document.
 */
export type Row = Rest & { seq?: number; grams?: number[] };
export type Rows = Collection<Row>;

/** Known rows at the server: undefined if nothing is known, false if there is no row, else `markOf` its document. */
export type KnownRows = BoundedCache<string, string | false>;

const knownMax = 16_384;

export const knownRows = ({ search }: CollectionSpec): KnownRows =>
  boundedCache({ entriesMax: search === undefined ? 1 : knownMax });

type RowWrites = Readonly<{ put: readonly Document[]; remove: readonly Removal[]; goneAt: Date }>;

/** The searched parts of a document; undefined if it has no text or no tenant, and so no row. */
const searchedIn = (document: Document, { search }: CollectionSpec) => {
  if (search === undefined) return undefined;
  const { [search.field]: text, [search.within]: tenant } = document;
  if (typeof text !== 'string' || (typeof tenant !== 'string' && typeof tenant !== 'number')) return undefined;
  const terms = search.terms === undefined ? undefined : document[search.terms];
  return { tenant, text, terms: (terms ?? []) as readonly string[] };
};

/** Equal for two documents exactly if their rows are equal; false if a document has no row. */
export const markOf = (document: Document, spec: CollectionSpec): string | false => {
  const searched = searchedIn(document, spec);
  return searched !== undefined && hash('sha256', JSON.stringify([document.seq, searched]), 'base64');
};

/** `isAlone`: nobody else writes these collections, so what is not known is not there. */
export const rowChangesOf = (
  spec: CollectionSpec,
  { put, remove, goneAt }: RowWrites,
  known: KnownRows,
  isAlone: boolean,
): Change<Row>[] => {
  if (spec.search === undefined) return [];
  const mayBe = (id: string): boolean => (known.get(id) ?? (isAlone ? false : undefined)) !== false;
  const changes: Change<Row>[] = [];
  const remain = ({ id, position }: Removal): void => {
    if (mayBe(id)) changes.push(replaceIfOlder(id, position, { position, goneAt }));
  };
  for (const document of put) {
    const { id, seq, position } = document;
    const mark = markOf(document, spec);
    if (mark !== false && known.get(id) === mark) continue;
    const grams = gramsExpected(document, spec);
    if (grams === undefined) remain(document);
    else changes.push(replaceIfOlder(id, position, { position, seq, grams: [...grams] }));
  }
  for (const removal of remove) remain(removal);
  return changes;
};

/** The numbers that the row of a document must hold; undefined if it has no row. */
export const gramsExpected = (document: Document, spec: CollectionSpec): readonly number[] | undefined => {
  const searched = searchedIn(document, spec);
  return searched && gramsOf(searched.tenant, searched.text, searched.terms);
};
