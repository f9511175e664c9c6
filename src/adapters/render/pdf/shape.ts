/** Runs of text as the fonts can show them. */
import type { Fonts } from './fonts.js';
import type { Run } from './nodes.js';

export type Shaping = Readonly<{ fonts: Fonts; /** BCP 47 */ locale: string; /** For messages. */ field: string }>;

/** In: the runs of one paragraph. Out: the same, split where a character needs another font. Throws FONT_MISSING. */
export const shapedRuns = (
  runs: readonly Run[],
  { fonts, locale, field }: Shaping,
): Readonly<{ runs: readonly Run[]; isRightToLeft: boolean }> => {
  const pieces = runs.map((run) => ({ text: run.text, bold: run.bold === true, italic: run.italics === true, run }));
  const shaped = fonts.shapeParagraph(pieces, { field, locale });
  return {
    runs: shaped.pieces.flatMap(({ piece, runs: parts }) =>
      parts.map(({ text, font, bidiLevel }) => ({ ...piece.run, text, font, ...(bidiLevel === 0 ? {} : { bidiLevel }) })),
    ),
    isRightToLeft: shaped.isRightToLeft,
  };
};
