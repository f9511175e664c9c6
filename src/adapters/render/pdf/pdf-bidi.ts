/** Text that runs from right to left: levels of a paragraph, what mirrors, and the order in which the parts of a line are drawn (UAX #9). */
import bidiModule, { type Bidi } from 'bidi-js';

// The package types a default export; what is there at run time is the factory itself.
const factory: unknown = bidiModule;
const bidi = (factory as () => Bidi)();

const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** Letters and digits of scripts that fontkit draws from right to left whatever their level. */
const DRAWN_RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}]/u;

/** Whether any of it could run from right to left; most text does not, and is spared the algorithm. */
export const holdsRightToLeft = (text: string): boolean => RIGHT_TO_LEFT.test(text);

/** An embedding level for each UTF-16 unit; odd ones run from right to left. The first strong letter sets the direction where none is given. */
export const levelsOf = (paragraph: string, direction?: 'ltr' | 'rtl'): Readonly<{ levels: Uint8Array; isRightToLeft: boolean }> => {
  const { levels, paragraphs } = bidi.getEmbeddingLevels(paragraph, direction);
  return { levels, isRightToLeft: (paragraphs[0]?.level ?? 0) % 2 === 1 };
};

/**
 * The text of one level as it must be given to the font, which draws letters of right-to-left scripts from the right and all else from the left:
 * brackets mirrored and signs without a script turned round at odd levels, digits of a right-to-left script turned round at even ones.
 */
export const asDrawn = (text: string, level: number): string => {
  const fromRight = DRAWN_RIGHT_TO_LEFT.test(text);
  if (level % 2 === 0) return fromRight ? turned(text) : text;
  const mirrored = [...text].map((character) => bidi.getMirroredCharacter(character) ?? character).join('');
  return fromRight ? mirrored : turned(mirrored);
};

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
const turned = (text: string): string =>
  Array.from(segmenter.segment(text), ({ segment }) => segment)
    .reverse()
    .join('');

/** The indices of a line's parts in the order in which they are drawn, from left to right (rule L2). */
export const visualOrder = (levels: readonly number[]): readonly number[] => {
  const order = levels.map((_, index) => index);
  const odd = levels.filter((level) => level % 2 === 1);
  for (let level = Math.max(0, ...levels); level >= Math.min(...odd); level -= 1) {
    for (let start = 0; start < order.length; start += 1) {
      if (levels[start]! < level) continue;
      let end = start;
      while (end + 1 < order.length && levels[end + 1]! >= level) end += 1;
      order.splice(start, end - start + 1, ...order.slice(start, end + 1).reverse());
      start = end;
    }
  }
  return order;
};
