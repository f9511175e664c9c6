/**
 * How a document stands in MongoDB: its JSON as one text, so that any JSON comes back as it was, and beside it what is asked for: the
 * declared fields, the searched text, its terms and their numbers. What is left of a removed one is its id, its position and a date.
 */
import type { CollectionSpec, CollectionWrites, Document, LookupFault, Removal } from '../../domain/ports/read-models.js';
import type { AnyBulkWriteOperation, Collection } from '../mongodb/client.js';
import { gramsOf } from './mongodb-grams.js';
import { searchedOf } from './search-tokens.js';

export type Stored = {
  _id: string;
  position: number;
  seq?: number;
  body?: string;
  text?: string;
  terms?: string[];
  grams?: number[];
  /** When it was removed. */
  goneAt?: Date;
  [field: `f_${string}`]: string | number;
};

export type StoredCollection = Collection<Stored>;

/** Keeps declared fields apart from ours. */
export const fieldOf = (field: string): 'seq' | `f_${string}` => (field === 'seq' ? 'seq' : `f_${field}`);

/** One put or removal: changes nothing where the document, or what is left of it, has folded that position or a later one. */
export type Change = Readonly<{ id: string; position: number; operation: AnyBulkWriteOperation<Stored> }>;

/**
 * Throws TypeError where a declared field or what is searched is not what it must be, and Error where there is no such collection.
 * In: the time of now, from which on the rest of a removed document is kept.
 */
export const changesOf = (
  specs: readonly CollectionSpec[],
  writes: readonly CollectionWrites[],
  now: number,
): readonly Readonly<{ collection: string; changes: readonly Change[] }>[] =>
  writes.map(({ collection, put, remove }) => {
    const spec = specs.find(({ name }) => name === collection);
    if (spec === undefined) throw new Error(`there is no collection ${collection}`);
    const goneAt = new Date(now);
    return {
      collection,
      changes: [...put.map((document) => putting(document, spec)), ...remove.map((removal) => removing(removal, goneAt))],
    };
  });

const putting = (document: Document, spec: CollectionSpec): Change =>
  changing(document.id, document.position, replacementOf(document, spec));

const removing = ({ id, position }: Removal, goneAt: Date): Change => changing(id, position, { position, goneAt });

const changing = (id: string, position: number, replacement: Omit<Stored, '_id'>): Change => ({
  id,
  position,
  operation: { replaceOne: { filter: { _id: id, position: { $lt: position } }, replacement, upsert: true } },
});

const replacementOf = (document: Document, spec: CollectionSpec): Omit<Stored, '_id'> => {
  const stored: Omit<Stored, '_id'> = { position: document.position, seq: document.seq };
  for (const field of spec.fields) {
    const value = document[field] ?? null;
    if (value === null) continue;
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new TypeError(`the field ${field} must be a string or a number to be filtered and sorted by`);
    stored[`f_${field}`] = value;
  }
  const searched = searchedPart(document, spec);
  if (searched === undefined) return { ...stored, body: JSON.stringify(document) };
  return { ...stored, ...searched };
};

/** The searched text and the terms stand beside the body, for queries do not answer them. */
const searchedPart = (document: Document, { search }: CollectionSpec): Pick<Stored, 'body' | 'text' | 'terms' | 'grams'> | undefined => {
  if (search === undefined) return undefined;
  const { field, terms: termsField, within } = search;
  const [text, terms] = [document[field], termsField === undefined ? undefined : document[termsField]];
  if (text === undefined && terms === undefined) return undefined;
  searchedOf(text, terms);
  const [textFound, termsFound] = [text as string, terms as readonly string[] | undefined];
  const rest: Record<string, unknown> = { ...document, [field]: undefined };
  if (termsField !== undefined) rest[termsField] = undefined;
  const tenant = document[within];
  return {
    body: JSON.stringify(rest),
    text: textFound,
    ...(termsFound === undefined ? {} : { terms: [...termsFound] }),
    ...(typeof tenant === 'string' || typeof tenant === 'number' ? { grams: gramsOf(tenant, textFound, termsFound ?? []) } : {}),
  };
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

/** Where what the document is found by is not what its content says. */
export function* lookupFaultsOf(stored: Stored, spec: CollectionSpec): Generator<LookupFault> {
  const document = wholeOf(stored, spec);
  if (document === undefined) return;
  const right = replacementOf(document, spec);
  const fault = (field: string, place: LookupFault['in']): LookupFault => ({ collection: spec.name, id: stored._id, field, in: place });
  for (const field of ['seq', ...spec.fields]) if (stored[fieldOf(field)] !== right[fieldOf(field)]) yield fault(field, 'column');
  if (stored.position !== right.position) yield fault('position', 'column');
  if (spec.search === undefined) return;
  if (String(stored.grams) !== String(right.grams)) yield fault(spec.search.field, 'search index');
}
