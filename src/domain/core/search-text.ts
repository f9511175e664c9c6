/**
 * How texts are compared in a search: what is written and what is asked for are folded by the same rule, and the one is then a plain
 * substring of the other. The rule is Unicode's compatibility caseless match (NFKC, full case folding, NFKC), in which ß is ss, and
 * beyond it the four letters i of Turkish are one, and control characters are spaces.
 */

const PLAIN = /^[\x20-\x7e]*$/;

const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** A half of a character is none, and a store keeps no such text. */
const LONE = /\p{Surrogate}/gu;

/** Folded once or twice, a text is the same. */
export const foldForSearch = (text: string): string => (PLAIN.test(text) ? text.toLowerCase() : foldAny(text));

const foldAny = (text: string): string =>
  // Through capitals and back is the full folding: ß becomes SS, and the final sigma a sigma. ẞ is its own capital, so it is lowered first.
  text
    .replace(LONE, '\ufffd')
    .normalize('NFKC')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    // Lowering looks at the place in the word, which a substring does not know.
    .replaceAll('ς', 'σ')
    .replace(/i\u0307+/g, 'i')
    .normalize('NFKC')
    .replace(CONTROLS, ' ');

const IDEOGRAPHIC = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]$/u;

/** True for one character of Chinese, Japanese or Korean, which says as much as a word or a syllable of other scripts. */
export const isIdeographic = (text: string): boolean => IDEOGRAPHIC.test(text);

/** All of them stand beyond the letters of Europe and India. */
const FAR = /[\u1100-\uffff]/;
const IDEOGRAPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/gu;

/** Each of those characters in a text, once. */
export const ideographsIn = (text: string): readonly string[] => {
  const found = FAR.test(text) ? text.match(IDEOGRAPHS) : null;
  return found === null ? [] : [...new Set(found)];
};

/** In: a folded text. Out: whether a search for it is answered: two characters, or one that is ideographic. */
export const isSearchable = (folded: string): boolean => {
  const [first = '', second] = folded;
  return second !== undefined || isIdeographic(first);
};
