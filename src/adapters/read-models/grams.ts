/**
 * Defines what a search matches, for every engine: the phrase stands in the text of a document, and the terms are among
 * its terms. An index gives candidates by numbers: each document has numbers of its text and its terms, and those of a
 * search are among them. Numbers are hashes, so each candidate is tested by its text.
 */
import { ideographsIn, isSearchable } from '../../domain/core/search-text.js';
import type { Query } from '../../domain/ports/read-models.js';
import { boundedCache } from '../../shared/cache.js';

export type Tenant = string | number;

export type CountQuery = Pick<Query, 'where' | 'anyOf' | 'search' | 'terms'>;

export type SearchQuery = CountQuery & Pick<Query, 'after'>;

/**
 * A search finds at least `least` documents if there are so many; beyond that at most `most`, and no more once
 * `hitsMax` hits were tested.
 */
export type SearchLimits = Readonly<{ least: number; most: number; hitsMax: number }>;

/** Newest first. `isWhole` is false if the search stopped at `hitsMax`. */
export type SearchResult<Place> = Readonly<{ places: readonly Place[]; isWhole: boolean }>;

/**
 * If at most so many documents pass the filters, these are the candidates: to go through the hits of a common word
 * within a team of 100,000 emails takes 0.2 s in SQLite, and longer on a server.
 */
export const filteredMax = 2_000;

export const isSearched = ({ search, terms = [] }: Pick<Query, 'search' | 'terms'>): boolean =>
  search !== undefined || terms.length > 0;

/** True where a search has conditions beside its tenant. */
export const isFiltered = ({ where, anyOf }: Pick<Query, 'where' | 'anyOf'>): boolean =>
  anyOf !== undefined || Object.keys(where).length > 1;

/** Stands between the text and the terms of a document, and after each term. Search texts do not contain it. */
const BREAK = '\u0001';

/**
 * The searched text and the terms of a document as one text. Throws TypeError where one of them could not be told from
 * the next.
 */
export const searchedOf = (text: unknown, terms: unknown): string => {
  if (typeof text !== 'string' || text.includes(BREAK))
    throw new TypeError('what is searched must be a text without control characters');
  if (terms === undefined) return text;
  if (
    !Array.isArray(terms) ||
    terms.length === 0 ||
    terms.some((term) => typeof term !== 'string' || term.includes(BREAK))
  )
    throw new TypeError('terms must be a list of texts without control characters, absent where there are none');
  return `${text}${BREAK}${terms.join(BREAK)}${BREAK}`;
};

/** The inverse. */
export const splitSearched = (searched: string): Readonly<{ text: string; terms: readonly string[] | undefined }> => {
  const end = searched.indexOf(BREAK);
  return end < 0
    ? { text: searched, terms: undefined }
    : { text: searched.slice(0, end), terms: searched.slice(end + 1, -1).split(BREAK) };
};

/** True where what is stored of a document has the phrase in its text, and all terms. */
export const holding =
  (phrase: string | undefined, wanted: readonly string[]): ((searched: string) => boolean) =>
  (searched) => {
    const { text, terms = [] } = splitSearched(searched);
    return (phrase === undefined || text.includes(phrase)) && wanted.every((term) => terms.includes(term));
  };

/** Hashes of characters and of terms begin with different seeds. */
const seeds = { characters: 0x1f3d, term: 0x7ab1 } as const;

/**
 * The characters that follow most characters of folded texts. A search for two characters makes the index go through
 * one number for each of them, in the order of `seq`.
 */
const alphabet: readonly number[] = [
  ...'\n !"#$%&\'()*+,-./0123456789:;<=>?@[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~',
].map((one) => one.charCodeAt(0));
const isCommon = Uint8Array.from({ length: 128 }, (_, code) => (alphabet.includes(code) ? 1 : 0));

/**
 * Numbers of a long phrase that are looked for; its text is looked at anyway. With few of them the one that is rare is
 * missed, and a phrase of common words that stands nowhere makes the search go through all documents with these words.
 */
const gramsSearchedMax = 64;

/**
 * The numbers of a document, each once: one for each three consecutive characters of its text, for each ideographic
 * character, and for each of its terms. A search for two characters uses the numbers of these two with each character
 * of a small alphabet behind them; if another character follows, or none, the two have a number of their own. Numbers
 * of two tenants differ, so a search never reads the hits of another tenant.
 */
export const gramsOf = (tenant: Tenant, text: string, terms: readonly string[]): number[] => {
  const [ofCharacters, ofTerm] = seedsOf(tenant);
  const grams = uniqueNumbers(3 * text.length + terms.length + 1);
  for (const term of terms) grams.add(hashOf(ofTerm, term));
  for (const character of ideographsIn(text)) grams.add(hashOf(ofCharacters, character));
  /** The two characters before, hashed with the tenant: the last alone, and both. */
  let [last, two, count] = [0, 0, 0];
  for (let at = 0; at < text.length; count += 1) {
    const code = text.codePointAt(at)!;
    at += code > LAST_OF_ONE_UNIT ? 2 : 1;
    if (count > 1) {
      grams.add(finished(mixed(two, code), 3));
      if (isCommon[code] !== 1) grams.add(finished(two, 2));
    }
    if (count > 0) two = mixed(last, code);
    last = mixed(ofCharacters, code);
  }
  if (count > 1) grams.add(finished(two, 2));
  return grams.numbers;
};

/** The last character that is one code unit of a string. */
const LAST_OF_ONE_UNIT = 0xff_ff;

/** A hash table with linear probing. A slot is taken if it has the stamp of the document under way. */
type Table = { readonly slots: Int32Array; readonly stamps: Uint32Array; stamp: number };

const tableOf = (size: number): Table => ({ slots: new Int32Array(size), stamps: new Uint32Array(size), stamp: 0 });

/** The table for documents of usual size. A larger one is dropped after its document. */
let usual = tableOf(4_096);

/** Collects numbers, each once, in the order in which they are first added. `max`: how many are added at most. */
const uniqueNumbers = (max: number): Readonly<{ numbers: number[]; add: (number: number) => void }> => {
  if (usual.stamp === 0xff_ff_ff_ff) usual = tableOf(usual.slots.length);
  const table = 2 * max > usual.slots.length ? tableOf(2 ** Math.ceil(Math.log2(2 * max))) : usual;
  const stamp = (table.stamp += 1);
  const { slots, stamps } = table;
  const mask = slots.length - 1;
  const numbers: number[] = [];
  return {
    numbers,
    add: (number) => {
      let slot = number & mask;
      for (; stamps[slot] === stamp; slot = (slot + 1) & mask) if (slots[slot] === number) return;
      stamps[slot] = stamp;
      slots[slot] = number;
      numbers.push(number);
    },
  };
};

/** A document that is searched for has all of `all`, and where there are some one of `any`. */
export type SearchedGrams = Readonly<{ all: readonly number[]; any: readonly number[] }>;

/** Undefined where the search finds nothing: its phrase is too short, or it has neither a phrase nor terms. */
export const gramsSearched = (
  tenant: Tenant,
  phrase: string | undefined,
  terms: readonly string[],
): SearchedGrams | undefined => {
  if (phrase === undefined ? terms.length === 0 : !isSearchable(phrase)) return undefined;
  const [ofCharacters, ofTerm] = seedsOf(tenant);
  const all = terms.map((term) => hashOf(ofTerm, term));
  const codes = codesOf(phrase ?? '');
  if (codes.length === 2) {
    const two = codes.reduce(mixed, ofCharacters);
    return { all, any: [finished(two, 2), ...alphabet.map((code) => finished(mixed(two, code), 3))] };
  }
  const size = Math.min(codes.length, 3);
  const ofPhrase = Array.from({ length: size === 0 ? 0 : codes.length - size + 1 }, (_, at) =>
    finished(codes.slice(at, at + size).reduce(mixed, ofCharacters), size),
  );
  return { all: [...new Set([...all, ...spread(ofPhrase, gramsSearchedMax)])], any: [] };
};

/** At most `max` of them, from the first to the last. */
const spread = (values: readonly number[], max: number): readonly number[] =>
  values.length <= max
    ? values
    : Array.from({ length: max }, (_, at) => values[Math.floor((at * (values.length - 1)) / (max - 1))]!);

type Seeds = readonly [ofCharacters: number, ofTerm: number];

const seedsKept = boundedCache<Tenant, Seeds>({ entriesMax: 256 });

const seedsOf = (tenant: Tenant): Seeds => seedsKept.getOrMake(tenant, () => seedsMade(tenant));

const seedsMade = (tenant: Tenant): Seeds => {
  const codes = codesOf(`${typeof tenant === 'number' ? 'n' : 's'}${tenant}`);
  return [codes.reduce(mixed, seeds.characters), codes.reduce(mixed, seeds.term)];
};

const hashOf = (seed: number, text: string): number => {
  let [hash, length] = [seed, 0];
  for (let at = 0; at < text.length; length += 1) {
    const code = text.codePointAt(at)!;
    at += code > LAST_OF_ONE_UNIT ? 2 : 1;
    hash = mixed(hash, code);
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
