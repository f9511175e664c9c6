/**
 * Search rows: each document with a text has a row with the numbers (hashes) of its text and terms, which is written again only if these
 * change. A row gives candidates only: the text itself is in the document. Rows are written before their documents, so a document with a
 * text has its row.
 */
import { hash } from 'node:crypto';
import { ideographsIn } from '../../domain/core/search-text.js';
import type { CollectionSpec, Document, Removal } from '../../domain/ports/read-models.js';
import type { Collection } from '../mongodb/client.js';
import { changing, type Change, type Rest } from './mongodb-documents.js';

type Tenant = string | number;

/** Hashes of characters and of terms begin with different seeds. */
const seeds = { characters: 0x1f3d, term: 0x7ab1 } as const;

/** What follows most characters of folded texts: a server goes through so many numbers at once in the order of `seq`. */
const alphabet: readonly number[] = [...'\n !"#$%&\'()*+,-./0123456789:;<=>?@[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~'].map((one) =>
  one.charCodeAt(0),
);
const isCommon = Uint8Array.from({ length: 128 }, (_, code) => (alphabet.includes(code) ? 1 : 0));

/**
 * The numbers of a document, each once: one for each three consecutive characters of its text, for each ideographic character, and for each
 * of its terms. A search for two characters uses the numbers of these two with each character of a small alphabet behind them; if another
 * character follows, or none, the two have a number of their own. Numbers of two tenants differ, so a search never reads the hits of
 * another tenant. They are hashes, so documents found by them are tested.
 */
const gramsOf = (tenant: Tenant, text: string, terms: readonly string[]): number[] => {
  const [ofCharacters, ofTerm] = seedsOf(tenant);
  const grams = new Set<number>();
  for (const term of terms) grams.add(hashOf(ofTerm, term));
  for (const character of ideographsIn(text)) grams.add(hashOf(ofCharacters, character));
  /** The two characters before, hashed with the tenant: the last alone, and both. */
  let [last, two] = [undefined as number | undefined, undefined as number | undefined];
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if (two !== undefined) {
      grams.add(finished(mixed(two, code), 3));
      if (isCommon[code] !== 1) grams.add(finished(two, 2));
    }
    two = last === undefined ? undefined : mixed(last, code);
    last = mixed(ofCharacters, code);
  }
  if (two !== undefined) grams.add(finished(two, 2));
  return [...grams];
};

/** A document that is searched for has all of `all`, and where there are some one of `any`. */
export type SearchedGrams = Readonly<{ all: readonly number[]; any: readonly number[] }>;

/** In: a phrase that is answered, or none, and terms. */
export const gramsSearched = (tenant: Tenant, phrase: string | undefined, terms: readonly string[]): SearchedGrams => {
  const [ofCharacters, ofTerm] = seedsOf(tenant);
  const all = new Set(terms.map((term) => hashOf(ofTerm, term)));
  const codes = codesOf(phrase ?? '');
  if (codes.length === 2) {
    const two = codes.reduce(mixed, ofCharacters);
    return { all: [...all], any: [finished(two, 2), ...alphabet.map((code) => finished(mixed(two, code), 3))] };
  }
  const size = Math.min(codes.length, 3);
  for (let at = 0; size > 0 && at + size <= codes.length; at += 1)
    all.add(finished(codes.slice(at, at + size).reduce(mixed, ofCharacters), size));
  return { all: [...all], any: [] };
};

const seedsOf = (tenant: Tenant): readonly [ofCharacters: number, ofTerm: number] => {
  const codes = codesOf(`${typeof tenant === 'number' ? 'n' : 's'}${tenant}`);
  return [codes.reduce(mixed, seeds.characters), codes.reduce(mixed, seeds.term)];
};

const hashOf = (seed: number, text: string): number => {
  let [hash, length] = [seed, 0];
  for (const character of text) {
    hash = mixed(hash, character.codePointAt(0)!);
    length += 1;
  }
  return finished(hash, length);
};

const codesOf = (text: string): readonly number[] => [...text].map((character) => character.codePointAt(0)!);

/** The steps of MurmurHash3 with 32 bits. */
const mixed = (hash: number, value: number): number => {
  let part = Math.imul(value, 0xcc9e2d51);
  part = (part << 15) | (part >>> 17);
  const next = hash ^ Math.imul(part, 0x1b873593);
  return (Math.imul((next << 13) | (next >>> 19), 5) + 0xe6546b64) | 0;
};

const finished = (hash: number, length: number): number => {
  let result = hash ^ length;
  result = Math.imul(result ^ (result >>> 16), 0x85ebca6b);
  result = Math.imul(result ^ (result >>> 13), 0xc2b2ae35);
  return (result ^ (result >>> 16)) | 0;
};

/** The row of a document that has no text any more keeps its id, its position and a date, like that of a removed document. */
export type Row = Rest & { seq?: number; grams?: number[] };
export type Rows = Collection<Row>;

/** Known rows at the server: undefined if nothing is known, false if there is no row, else `markOf` its document. */
export type KnownRows = Readonly<{
  get: (id: string) => string | false | undefined;
  set: (id: string, mark: string | false) => void;
  clear: () => void;
}>;

const knownMax = 16_384;

export const knownRows = (): KnownRows => {
  const rows = new Map<string, string | false>();
  return {
    get: (id) => rows.get(id),
    set: (id, mark) => {
      rows.delete(id);
      rows.set(id, mark);
      if (rows.size > knownMax) for (const oldest of rows.keys()) return void rows.delete(oldest);
    },
    clear: () => rows.clear(),
  };
};

type RowWrites = Readonly<{ put: readonly Document[]; remove: readonly Removal[]; goneAt: Date }>;

/** Equal for two documents exactly if their rows are equal; false if a document has no row. */
export const markOf = (document: Document, { search }: CollectionSpec): string | false => {
  const text = search === undefined ? undefined : document[search.field];
  if (search === undefined || typeof text !== 'string') return false;
  const terms = search.terms === undefined ? undefined : document[search.terms];
  return hash('sha256', JSON.stringify([document.seq, document[search.within], text, terms ?? []]), 'base64');
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
    if (mayBe(id)) changes.push(changing(id, position, { position, goneAt }));
  };
  for (const document of put) {
    const { id, seq, position } = document;
    const mark = markOf(document, spec);
    if (mark !== false && known.get(id) === mark) continue;
    const grams = gramsExpected(document, spec);
    if (grams === undefined) remain(document);
    else changes.push(changing(id, position, { position, seq, grams: [...grams] }));
  }
  for (const removal of remove) remain(removal);
  return changes;
};

/** The numbers that the row of a document must hold; undefined if the document has no text. */
export const gramsExpected = (document: Document, { search }: CollectionSpec): readonly number[] | undefined => {
  const text = search === undefined ? undefined : document[search.field];
  if (search === undefined || typeof text !== 'string') return undefined;
  const tenant = document[search.within];
  if (typeof tenant !== 'string' && typeof tenant !== 'number') return undefined;
  const terms = search.terms === undefined ? undefined : document[search.terms];
  return gramsOf(tenant, text, (terms ?? []) as readonly string[]);
};
