const scriptNames = [
  'Adlam',
  'Arabic',
  'Armenian',
  'Balinese',
  'Bengali',
  'Bopomofo',
  'Braille',
  'Buginese',
  'Canadian_Aboriginal',
  'Cham',
  'Cherokee',
  'Coptic',
  'Cuneiform',
  'Cyrillic',
  'Devanagari',
  'Egyptian_Hieroglyphs',
  'Ethiopic',
  'Georgian',
  'Glagolitic',
  'Gothic',
  'Greek',
  'Gujarati',
  'Gurmukhi',
  'Han',
  'Hangul',
  'Hebrew',
  'Hiragana',
  'Javanese',
  'Kannada',
  'Katakana',
  'Khmer',
  'Lao',
  'Latin',
  'Malayalam',
  'Mongolian',
  'Myanmar',
  'Nko',
  'Ogham',
  'Ol_Chiki',
  'Old_Italic',
  'Oriya',
  'Phoenician',
  'Runic',
  'Sinhala',
  'Sundanese',
  'Syriac',
  'Tagalog',
  'Tai_Le',
  'Tamil',
  'Telugu',
  'Thaana',
  'Thai',
  'Tibetan',
  'Tifinagh',
  'Vai',
  'Yi',
] as const;

const testers = new Map<string, RegExp>();

/** `Devanagari`; for a sign that no script owns, its kind, for example `symbol`. */
export const scriptOf = (character: string): string => {
  for (const name of scriptNames) {
    let tester = testers.get(name);
    if (tester === undefined) {
      tester = new RegExp(`\\p{Script=${name}}`, 'u');
      testers.set(name, tester);
    }
    if (tester.test(character)) return name.replaceAll('_', ' ');
  }
  if (/\p{Extended_Pictographic}/u.test(character)) return 'pictograph';
  if (/\p{S}/u.test(character)) return 'symbol';
  if (/\p{Co}/u.test(character)) return 'private use';
  if (/\p{Cn}|\p{Cs}/u.test(character)) return 'unassigned';
  return 'other';
}; /** The scripts of a text: names for messages, the font that suits a character, and where lines may end in scripts without spaces between words. */

/** Ends a word and has no form: a line may end after it. */
export const WORD_BREAK = '\u200b';

/** A word may be parted here, with a hyphen at the end of the line. */
export const SOFT_HYPHEN = '\u00ad';

/** Thai, Lao, Burmese, Khmer. */
const WITHOUT_SPACES = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]/;
/** Signs that shorten or repeat the word before them begin no line. */
const CLOSING = /^[\u0e2f\u0e46\u0eaf\u0ec6\u17d4-\u17d9\u104a\u104b]/;

const words = new Intl.Segmenter('th', { granularity: 'word' });

/**
 * Adds WORD_BREAK after each word that no space follows, because the library that breaks lines knows no words of these
 * scripts. In: the texts of one paragraph, which may end within a word.
 */
export const withWordBreaks = (texts: readonly string[]): readonly string[] => {
  if (!texts.some((text) => WITHOUT_SPACES.test(text))) return texts;
  const paragraph = texts.join('');
  const ends = new Set(
    Array.from(words.segment(paragraph), ({ index }) => index).filter(
      (index) =>
        index > 0 && WITHOUT_SPACES.test(paragraph.charAt(index - 1)) && isBeginning(paragraph.slice(index, index + 1)),
    ),
  );
  let at = 0;
  return texts.map((text) => {
    let broken = '';
    for (const unit of text) {
      if (ends.has(at)) broken += WORD_BREAK;
      broken += unit;
      at += unit.length;
    }
    return broken;
  });
};

const isBeginning = (unit: string): boolean => WITHOUT_SPACES.test(unit) && !CLOSING.test(unit);

export const withoutBreaks = (text: string): string =>
  /[\u00ad\u200b]/.test(text) ? text.replace(/[\u00ad\u200b]/g, '') : text;

/** Thai and Lao vowel AM, after the marks above the letter. */
const SARA_AM = /([\u0e31\u0e34-\u0e37\u0e47-\u0e4e\u0eb1\u0eb4-\u0eb7\u0ebb\u0ec8-\u0ecd]*)([\u0e33\u0eb3])/g;

/**
 * The text of a word as a font is asked to shape it: AM is a ring, which stands nearest to the letter, and AA, as
 * HarfBuzz takes it apart.
 */
export const shapedText = (
  text: string,
  face: Readonly<{ hasGlyphForCodePoint: (codePoint: number) => boolean }>,
): string => {
  const plain = withoutBreaks(text);
  if (!/[\u0e33\u0eb3]/.test(plain)) return plain;
  return plain.replace(SARA_AM, (whole, marks: string, am: string) => {
    const [ring, vowel] = am === '\u0e33' ? ['\u0e4d', '\u0e32'] : ['\u0ecd', '\u0eb2'];
    return face.hasGlyphForCodePoint(ring.charCodeAt(0)) && face.hasGlyphForCodePoint(vowel.charCodeAt(0))
      ? ring + marks + vowel
      : whole;
  });
};

/** A letter and its marks, or a Korean syllable in parts. */
const IN_PARTS = /[^\p{M}\s]\p{M}+|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?/gu;

/**
 * Text whose letters are one character with their accents where Unicode has one: fonts have it more often than the
 * accent alone.
 */
export const composed = (text: string): string => {
  if (!/[\u0300-\uffff]/.test(text)) return text;
  return text.replace(IN_PARTS, (parts) => {
    const whole = parts.normalize('NFC');
    // Without this check a rare form of a Han character, which is a single character already, would lose its form.
    return whole.length < parts.length ? whole : parts;
  });
};

/**
 * The language whose forms of the shared Han characters a paragraph is drawn with: told by its other characters, else
 * by the language of the template.
 */
export const hanOrderOf = (paragraph: string, locale: string): readonly ('zh' | 'ja' | 'ko')[] => {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(paragraph)) return ['ja', 'zh', 'ko'];
  if (/\p{Script=Hangul}/u.test(paragraph)) return ['ko', 'ja', 'zh'];
  const language = locale.slice(0, 2).toLowerCase();
  return language === 'ja' ? ['ja', 'zh', 'ko'] : language === 'ko' ? ['ko', 'ja', 'zh'] : ['zh', 'ja', 'ko'];
};

/**
 * Characters without a form of their own: joiners, variation selectors, marks of direction, soft hyphens, control
 * characters.
 */
export const isInvisible = (character: string): boolean =>
  /[\p{Default_Ignorable_Code_Point}\p{Cc}]/u.test(character) && !/[\t\n\r]/.test(character);

/** Joins or parts letters, and so is kept if the font knows it. */
export const isJoiner = (character: string): boolean =>
  character === '\u200c' || character === '\u200d' || character === '\u034f';

export const isSpace = (character: string): boolean => /\p{Zs}/u.test(character);
/** True for characters of no script, neither letter nor mark, which are drawn in the font of their neighbours. */
export const isNeutral = (character: string): boolean =>
  /[\p{Zs}\p{P}\p{N}\p{S}]/u.test(character) && /[\p{Script=Common}\p{Script=Inherited}]/u.test(character);

const SET_ONE_AFTER_THE_OTHER =
  /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Common}]*$/u;
const COMBINED = /\p{M}|\u200c|\u200d|\p{Regional_Indicator}|\p{Emoji_Modifier}/u;

/**
 * True if each letter is drawn by itself, from left to right: none joins, stacks, or is drawn in another order than it
 * is written.
 */
export const isSetInOrder = (text: string): boolean => SET_ONE_AFTER_THE_OTHER.test(text) && !COMBINED.test(text);
