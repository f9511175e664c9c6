/**
 * How a document stands in MongoDB: its JSON as one text, so that any JSON comes back as it was, and beside it what is asked for: the
 * declared fields, the searched text and its terms.
 */
import type { CollectionSpec, Document, LookupFault, Removal } from '../../domain/ports/read-models.js';
import type { Collection } from '../mongodb/client.js';
import { changing, type Change, type Rest } from './mongodb-changes.js';
import { searchedOf } from './search-tokens.js';

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
  ...put.map((document) => changing<Stored>(document.id, document.position, replacementOf(document, spec))),
  ...remove.map(({ id, position }) => changing<Stored>(id, position, { position, goneAt })),
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
const searchedPart = (document: Document, { search }: CollectionSpec): Pick<Stored, 'body' | 'text' | 'terms'> | undefined => {
  if (search === undefined) return undefined;
  const { field, terms: termsField } = search;
  const [text, terms] = [document[field], termsField === undefined ? undefined : document[termsField]];
  if (text === undefined && terms === undefined) return undefined;
  searchedOf(text, terms);
  const rest: Record<string, unknown> = { ...document, [field]: undefined };
  if (termsField !== undefined) rest[termsField] = undefined;
  const termsFound = terms as readonly string[] | undefined;
  return { body: JSON.stringify(rest), text: text as string, ...(termsFound === undefined ? {} : { terms: [...termsFound] }) };
};

/** What is read of a document to answer a query, and to fold into it. */
export const shownParts = { _id: 0, body: 1 } as const;
export const wholeParts = { _id: 1, body: 1, text: 1, terms: 1 } as const;

/** As queries answer it; undefined for what is left of a removed one. */
export const shownOf = ({ body }: Pick<Stored, 'body'>): Document | undefined =>
  body === undefined ? undefined : (JSON.parse(body) as Document);

/** As it was put. */
export const wholeOf = (stored: Pick<Stored, 'body' | 'text' | 'terms'>, { search }: CollectionSpec): Document | undefined => {
  const document = shownOf(stored);
  if (document === undefined || search === undefined || stored.text === undefined) return document;
  return {
    ...document,
    [search.field]: stored.text,
    ...(search.terms === undefined || stored.terms === undefined ? {} : { [search.terms]: stored.terms }),
  };
};

/** Where a document is filtered and sorted by what it does not hold. */
export function* fieldFaultsOf(stored: Stored, document: Document, spec: CollectionSpec): Generator<LookupFault> {
  const right = replacementOf(document, spec);
  const fault = (field: string): LookupFault => ({ collection: spec.name, id: stored._id, field, in: 'column' });
  for (const field of ['seq', ...spec.fields]) if (stored[fieldOf(field)] !== right[fieldOf(field)]) yield fault(field);
  if (stored.position !== right.position) yield fault('position');
}
