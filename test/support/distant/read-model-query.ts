/** Queries over documents in memory, as every store of read models answers them. */
import { isSearchable } from '../../../src/domain/core/search-text.js';
import type { CollectionSpec, Condition, Document, Query } from '../../../src/domain/ports/read-models.js';

type Scalar = string | number;

const scalarOf = (document: Document, field: string): Scalar | undefined => {
  const value = document[field];
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
};

/** Numbers stand before strings. */
const compare = (a: Scalar, b: Scalar): number => {
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
};

const holds = (value: Scalar | undefined, { eq, in: listed, gte, lt, lte }: Condition): boolean => {
  if (eq === undefined && listed === undefined && gte === undefined && lt === undefined && lte === undefined)
    return true;
  return (
    value !== undefined &&
    (eq === undefined || value === eq) &&
    (listed === undefined || listed.includes(value)) &&
    (gte === undefined || compare(value, gte) >= 0) &&
    (lt === undefined || compare(value, lt) < 0) &&
    (lte === undefined || compare(value, lte) <= 0)
  );
};

/** Throws RangeError for a field that is not declared, and for a search that does not say within which value. */
export const checkDeclared = (
  spec: CollectionSpec,
  query: Pick<Query, 'where' | 'anyOf' | 'sort' | 'search' | 'terms'>,
): void => {
  const { where, anyOf = [], sort } = query;
  if (isSearched(query) && (spec.search === undefined || where[spec.search.within]?.eq === undefined))
    throw new RangeError(`a search of ${spec.name} names the value that it searches within`);
  for (const field of [
    ...[where, ...anyOf].flatMap((one) => Object.keys(one)),
    ...(sort === undefined ? [] : [sort.field]),
  ]) {
    if (field !== 'seq' && !spec.fields.includes(field))
      throw new RangeError(`${field} is no declared field of ${spec.name}`);
  }
};

const isSearched = ({ search, terms = [] }: Pick<Query, 'search' | 'terms'>): boolean =>
  search !== undefined || terms.length > 0;

const termsOf = (document: Document, field: string | undefined): readonly unknown[] => {
  const terms = field === undefined ? undefined : document[field];
  return Array.isArray(terms) ? terms : [];
};

/** The documents that match, in no order. */
export const matching = (
  spec: CollectionSpec,
  documents: Iterable<Document>,
  { where, anyOf = [{}], search, terms = [] }: Pick<Query, 'where' | 'anyOf' | 'search' | 'terms'>,
): Document[] => {
  const meets = (document: Document, conditions: Query['where']): boolean =>
    Object.entries(conditions).every(([field, condition]) => holds(scalarOf(document, field), condition));
  if (search !== undefined && !isSearchable(search)) return [];
  const found: Document[] = [];
  for (const document of documents) {
    if (!meets(document, where) || !anyOf.some((one) => meets(document, one))) continue;
    const text = spec.search === undefined ? undefined : document[spec.search.field];
    if (search !== undefined && !(typeof text === 'string' && text.includes(search))) continue;
    const own = termsOf(document, spec.search?.terms);
    if (!terms.every((term) => own.includes(term))) continue;
    found.push(document);
  }
  return found;
};

/** The page of those documents that the query asks for. */
export const pageOf = (documents: readonly Document[], query: Query): readonly Document[] => {
  const { sort, after, skip = 0, limit } = query;
  const newest = { field: 'seq', direction: 'desc' as const };
  const { field, direction } = isSearched(query) ? newest : (sort ?? newest);
  const sign = direction === 'asc' ? 1 : -1;
  const valueOf = (document: Document): Scalar | undefined =>
    field === 'seq' ? document.seq : scalarOf(document, field);
  const order = (a: Readonly<{ value: Scalar; seq: number }>, b: Readonly<{ value: Scalar; seq: number }>): number =>
    sign * (compare(a.value, b.value) || a.seq - b.seq);
  const start = after === undefined ? undefined : { value: field === 'seq' ? after.seq : after.value, seq: after.seq };
  return documents
    .flatMap((document) => {
      const value = valueOf(document);
      return value === undefined ? [] : [{ value, seq: document.seq, document }];
    })
    .filter((place) => start === undefined || order(start, place) < 0)
    .sort(order)
    .slice(skip, skip + limit)
    .map(({ document }) => document);
};
