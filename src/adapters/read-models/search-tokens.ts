/**
 * How a search is asked of the trigram index. A phrase of three characters is found by its trigrams. One of two is the
 * beginning of trigrams, of which the index has a list; so that the end of a text begins some too, it is padded. Terms
 * and single ideographic characters have a mark each: three characters that stand for them, and so one trigram.
 */
import { ideographsIn, isSearchable } from '../../domain/core/search-text.js';
import type { Database } from '../sqlite/database.js';
import { searchTableOf } from './names.js';

/**
 * Stands between the text and the terms of a document, after each term, and twice behind a text in the index. Search
 * texts do not contain it.
 */
const BREAK = '\u0001';

/**
 * The searched text and the terms of a document, as they are stored. Throws TypeError where one of them could not be
 * told from the next.
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

/** The stored text of every document with that term contains this. */
export const termWithin = (term: string): string => `${BREAK}${term}${BREAK}`;

/** True where what is stored of a document has the phrase in its text, and all terms. */
export const holding = (phrase: string | undefined, terms: readonly string[]): ((searched: string) => boolean) => {
  const wanted = terms.map(termWithin);
  const inText = (searched: string, of: string): boolean => {
    const at = searched.indexOf(of);
    if (at < 0) return false;
    const end = searched.indexOf(BREAK);
    return end < 0 || at < end;
  };
  return (searched) =>
    (phrase === undefined || inText(searched, phrase)) && wanted.every((term) => searched.includes(term));
};

/** The private use area of the basic plane: no letter case, three bytes each. */
const [PRIVATE_FIRST, PRIVATE_COUNT] = [0xe000, 6_400];

/** Two hashes of 32 bits give about 38; what is found by a mark is looked at, so that two terms may share one. */
const markOf = (kind: 't' | 'c', text: string): string => {
  let [a, b] = [0x811c9dc5, kind.charCodeAt(0)];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x5bd1e995) ^ (b >>> 15);
  }
  const low = (a ^ b) >>> 0;
  return String.fromCharCode(
    PRIVATE_FIRST + (low % PRIVATE_COUNT),
    PRIVATE_FIRST + (Math.floor(low / PRIVATE_COUNT) % PRIVATE_COUNT),
    PRIVATE_FIRST + ((b >>> 0) % PRIVATE_COUNT),
  );
};

/** The index entry of a document. In: its text and terms as they are stored. */
export const indexedOf = (searched: string): Readonly<{ text: string; marks: string }> => {
  const { text, terms = [] } = splitSearched(searched);
  let marks = '';
  for (const term of terms) marks += markOf('t', term);
  for (const character of ideographsIn(text)) marks += markOf('c', character);
  return { text: `${text}${BREAK}${BREAK}`, marks };
};

/** Searched text and marks of a column as SQL; undefined columns are empty. */
export const indexedSql = (database: Database): Readonly<Record<'text' | 'marks', (searched: string) => string>> => {
  for (const part of ['text', 'marks'] as const)
    database.function(
      `indexed_${part}`,
      { deterministic: true },
      (searched: unknown) => indexedOf(String(searched))[part],
    );
  return { text: (searched) => `indexed_text(${searched})`, marks: (searched) => `indexed_marks(${searched})` };
};

/** A phrase that a search answers: FTS5 reads its query as a C string, so nothing after a NUL would count. */
export const isAnswered = (phrase: string): boolean => isSearchable(phrase) && !/[\0\u0001]/.test(phrase);

/**
 * In: a phrase that is answered, or none, and terms. Out: the search in FTS5's syntax; undefined where nothing in the
 * index is like it.
 */
type MatchOf = (phrase: string | undefined, terms: readonly string[]) => string | undefined;

export const openMatches = (database: Database, collection: string): MatchOf => {
  const vocabulary = `temp.v_${collection}`;
  database.exec(
    `CREATE VIRTUAL TABLE IF NOT EXISTS ${vocabulary} USING fts5vocab(main, ${searchTableOf(collection)}, instance)`,
  );
  const nextTrigram = database
    .prepare<[string], string>(`SELECT term FROM ${vocabulary} WHERE term >= ? LIMIT 1`)
    .pluck();

  /** Goes from one trigram to the next, whatever their number of places. */
  const trigramsFrom = (start: string): readonly string[] => {
    const found: string[] = [];
    for (
      let trigram = nextTrigram.get(start);
      trigram?.startsWith(start);
      trigram = nextTrigram.get(`${trigram}\u0001`)
    )
      found.push(trigram);
    return found;
  };

  const phraseMatch = (phrase: string): string | undefined => {
    const chars = [...phrase].length;
    if (chars >= 3) return `text : ${quoted(phrase)}`;
    if (chars === 1) return `marks : ${quoted(markOf('c', phrase))}`;
    const trigrams = trigramsFrom(phrase);
    return trigrams.length === 0 ? undefined : `text : (${trigrams.map(quoted).join(' OR ')})`;
  };

  return (phrase, terms) => {
    const parts = terms.map((term) => `marks : ${quoted(markOf('t', term))}`);
    if (phrase === undefined) return parts.join(' AND ');
    const match = phraseMatch(phrase);
    return match && [...parts, match].join(' AND ');
  };
};

/** Everything in it is literal. */
const quoted = (phrase: string): string => `"${phrase.replaceAll('"', '""')}"`;
