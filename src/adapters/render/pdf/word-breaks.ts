/** Where lines may end in scripts that write words without spaces between them: the library that breaks lines knows none of their words. */

/** Ends a word and has no form: a line may end after it. */
export const WORD_BREAK = '\u200b';

/** Thai, Lao, Burmese, Khmer. */
const WITHOUT_SPACES = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]/;
/** Signs that shorten or repeat the word before them begin no line. */
const CLOSING = /^[\u0e2f\u0e46\u0eaf\u0ec6\u17d4-\u17d9\u104a\u104b]/;

const words = new Intl.Segmenter('th', { granularity: 'word' });

/** In: the texts of one paragraph, which may end within a word. Out: the same with a sign after each word that no space follows. */
export const withWordBreaks = (texts: readonly string[]): readonly string[] => {
  if (!texts.some((text) => WITHOUT_SPACES.test(text))) return texts;
  const paragraph = texts.join('');
  const ends = new Set(
    Array.from(words.segment(paragraph), ({ index }) => index).filter(
      (index) => index > 0 && WITHOUT_SPACES.test(paragraph.charAt(index - 1)) && isBeginning(paragraph.slice(index, index + 1)),
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

export const withoutBreaks = (text: string): string => (text.includes(WORD_BREAK) ? text.replaceAll(WORD_BREAK, '') : text);
