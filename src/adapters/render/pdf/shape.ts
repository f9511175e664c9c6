/** Runs of text as the fonts can show them. */
import type { Fonts } from './fonts.js';
import { directionOfText, type Direction, type TextDirection } from '../../../domain/rendering/direction.js';
import type { Run } from './nodes.js';

export type Shaping = Readonly<{
  fonts: Fonts;
  /** BCP 47 */ locale: string;
  /** For messages. */ field: string;
  /** Of the surroundings: for text without any letter. */ direction: Direction;
  textDirection: TextDirection;
  refuses: (character: string) => boolean;
}>;

/** In: the runs of one paragraph. Out: the same, split where a character needs another font. Throws FONT_MISSING. */
export const shapedRuns = (
  runs: readonly Run[],
  { fonts, locale, field, direction, textDirection, refuses }: Shaping,
): Readonly<{ runs: readonly Run[]; isRightToLeft: boolean }> => {
  const pieces = runs.map((run) => ({
    text: run.text,
    bold: run.bold === true,
    italic: run.italics === true,
    ...(run.family === undefined ? {} : { family: run.family }),
    run: withoutFamily(run),
  }));
  const shaped = fonts.shapeParagraph(pieces, { field, locale, refuses, ...directionOf(pieces, direction, textDirection) });
  return {
    runs: shaped.pieces.flatMap(({ piece, runs: parts }) =>
      parts.map(({ text, font, bidiLevel }) => ({ ...piece.run, text, font, ...(bidiLevel === 0 ? {} : { bidiLevel }) })),
    ),
    isRightToLeft: shaped.isRightToLeft,
  };
};

/** Most runs name none, and are not copied. */
const withoutFamily = (run: Run): Run => {
  if (run.family === undefined) return run;
  const { family: _family, ...plain } = run;
  return plain;
};

/** Undefined: as the first letter of the paragraph runs. */
const directionOf = (
  pieces: readonly Readonly<{ text: string }>[],
  direction: Direction,
  textDirection: TextDirection,
): Readonly<{ direction?: Direction }> => {
  if (textDirection !== 'auto') return textDirection === 'rtl' ? { direction: 'rtl' } : { direction: 'ltr' };
  const isBare = direction === 'rtl' && pieces.every(({ text }) => directionOfText(text) === undefined);
  return isBare ? { direction: 'rtl' } : {};
};
