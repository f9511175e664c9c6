/**
 * Folding of texts for search: stored text and search text are folded by the same rule and then compared as plain
 * substrings. The rule is the compatibility caseless match of Unicode (NFKC, full case folding, NFKC: ß is ss). In
 * addition the four letters i of Turkish are one, and control characters are spaces.
 */

const PLAIN = /^[\x20-\x7e]*$/;

const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Half of a surrogate pair; stores refuse texts with one. */
const LONE = /\p{Surrogate}/gu;

/** Folding is idempotent. */
export const foldForSearch = (text: string): string => (PLAIN.test(text) ? text.toLowerCase() : foldAny(text));

const foldAny = (text: string): string =>
  // Upper case and back is the full folding: ß becomes SS, the final sigma a sigma. ẞ is its own capital, so it is
  // lowered first.
  text
    .replace(LONE, '\ufffd')
    .normalize('NFKC')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    // toLowerCase writes ς at the end of a word; a substring does not know where its word ends.
    .replaceAll('ς', 'σ')
    .replace(/i\u0307+/g, 'i')
    .normalize('NFKC')
    .replace(CONTROLS, ' ');

const IDEOGRAPHIC = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]$/u;

/**
 * True for one character of Chinese, Japanese or Korean, which means as much as a word or syllable of other scripts.
 */
export const isIdeographic = (text: string): boolean => IDEOGRAPHIC.test(text);

/** A quick test: ideographs stand behind the letters of Europe and India. */
const FAR = /[\u1100-\uffff]/;
const IDEOGRAPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/gu;

/** The ideographic characters of a text, each once. */
export const ideographsIn = (text: string): readonly string[] => {
  const found = FAR.test(text) ? text.match(IDEOGRAPHS) : null;
  return found === null ? [] : [...new Set(found)];
};

/** In: a folded text. Out: true if it is long enough for a search: two characters, or one ideographic one. */
export const isSearchable = (folded: string): boolean => {
  const [first = '', second] = folded;
  return second !== undefined || isIdeographic(first);
};
