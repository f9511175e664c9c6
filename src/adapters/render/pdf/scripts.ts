/** What a character belongs to: names for messages, and what the choice of a font asks. */

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
};

/** Whose forms of the shared Han characters a paragraph is drawn with: what it holds besides says it, else the language of the template. */
export const hanOrderOf = (paragraph: string, locale: string): readonly ('zh' | 'ja' | 'ko')[] => {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(paragraph)) return ['ja', 'zh', 'ko'];
  if (/\p{Script=Hangul}/u.test(paragraph)) return ['ko', 'ja', 'zh'];
  const language = locale.slice(0, 2).toLowerCase();
  return language === 'ja' ? ['ja', 'zh', 'ko'] : language === 'ko' ? ['ko', 'ja', 'zh'] : ['zh', 'ja', 'ko'];
};

/** Characters without a form of their own: joiners, variation selectors, marks of direction, soft hyphens, control characters. */
export const isInvisible = (character: string): boolean =>
  /[\p{Default_Ignorable_Code_Point}\p{Cc}]/u.test(character) && !/[\t\n\r]/.test(character);

/** What joins or parts letters, and so is kept where the font knows it. */
export const isJoiner = (character: string): boolean => character === '\u200c' || character === '\u200d' || character === '\u034f';

export const isSpace = (character: string): boolean => /\p{Zs}/u.test(character);
/** Neither letter nor mark of a script: it looks well in the font of its neighbours. */
export const isNeutral = (character: string): boolean =>
  /[\p{Zs}\p{P}\p{N}\p{S}]/u.test(character) && /[\p{Script=Common}\p{Script=Inherited}]/u.test(character);

const SET_ONE_AFTER_THE_OTHER =
  /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Common}]*$/u;
const COMBINED = /\p{M}|\u200c|\u200d|\p{Regional_Indicator}|\p{Emoji_Modifier}/u;

/** Whether each letter is drawn by itself, from left to right: none joins, stacks, or stands in another order than it is written. */
export const isSetInOrder = (text: string): boolean => SET_ONE_AFTER_THE_OTHER.test(text) && !COMBINED.test(text);
