/**
 * What the index of a search has of a document: a number for each two and each three characters that follow each other in its text, for
 * each ideographic character, and for each of its terms. Numbers of two tenants differ, so a search never goes through the hits of
 * another. They are hashes: what is found by them is looked at.
 */
import { ideographsIn } from '../../domain/search-text.js';

export type Tenant = string | number;

/** The kinds of what is hashed begin with different seeds. */
const kinds = { characters: 0x1f3d, term: 0x7ab1 } as const;

/** In: the text and the terms of a document, as they are searched. Out: its numbers, each once. */
export const gramsOf = (tenant: Tenant, text: string, terms: readonly string[]): number[] => {
  const [ofCharacters, ofTerm] = seedsOf(tenant);
  const grams = new Set<number>();
  for (const term of terms) grams.add(hashOf(ofTerm, term));
  for (const character of ideographsIn(text)) grams.add(hashOf(ofCharacters, character));
  let [before, last] = [-1, -1];
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if (last >= 0) {
      const two = mixed(mixed(ofCharacters, last), code);
      grams.add(finished(two, 2));
      if (before >= 0) grams.add(finished(mixed(mixed(mixed(ofCharacters, before), last), code), 3));
    }
    [before, last] = [last, code];
  }
  return [...grams];
};

/** In: a phrase that is answered, or none, and terms. Out: the numbers of every document that has them all, each once. */
export const gramsSearched = (tenant: Tenant, phrase: string | undefined, terms: readonly string[]): number[] => {
  const [ofCharacters, ofTerm] = seedsOf(tenant);
  const grams = new Set(terms.map((term) => hashOf(ofTerm, term)));
  const codes = [...(phrase ?? '')].map((character) => character.codePointAt(0)!);
  const size = Math.min(codes.length, 3);
  for (let at = 0; size > 0 && at + size <= codes.length; at += 1) {
    const gram = codes.slice(at, at + size).reduce(mixed, ofCharacters);
    grams.add(finished(gram, size));
  }
  return [...grams];
};

const seedsOf = (tenant: Tenant): readonly [ofCharacters: number, ofTerm: number] => {
  const text = `${typeof tenant === 'number' ? 'n' : 's'}${tenant}`;
  return [unitsMixed(kinds.characters, text), unitsMixed(kinds.term, text)];
};

const hashOf = (seed: number, text: string): number =>
  finished([...text].map((one) => one.codePointAt(0)!).reduce(mixed, seed), lengthOf(text));

const lengthOf = (text: string): number => [...text].length;

const unitsMixed = (seed: number, text: string): number => {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1) hash = mixed(hash, text.charCodeAt(at));
  return hash;
};

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
