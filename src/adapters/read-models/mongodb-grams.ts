/**
 * What the rows of a search have of a document: a number for each three characters that follow each other in its text, for each
 * ideographic character, and for each of its terms. Two characters begin three of which the last is one of a small alphabet, so they are found by
 * all of those; where another character follows, or none, the two have a number of their own. Numbers of two tenants differ, so a
 * search never goes through the hits of another. They are hashes: what is found by them is looked at.
 */
import { ideographsIn } from '../../domain/core/search-text.js';

export type Tenant = string | number;

/** What is hashed of characters and of terms begins with different seeds. */
const seeds = { characters: 0x1f3d, term: 0x7ab1 } as const;

/** What follows most characters of folded texts: a server goes through so many numbers at once in the order of `seq`. */
const alphabet: readonly number[] = [...'\n !"#$%&\'()*+,-./0123456789:;<=>?@[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~'].map((one) =>
  one.charCodeAt(0),
);
const isCommon = Uint8Array.from({ length: 128 }, (_, code) => (alphabet.includes(code) ? 1 : 0));

/** In: the text and the terms of a document, as they are searched. Out: its numbers, each once. */
export const gramsOf = (tenant: Tenant, text: string, terms: readonly string[]): number[] => {
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
