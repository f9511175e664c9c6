/** One line of text that is not broken: its runs from left to right, its width, and its outline where letters are put together. */
import { layoutIn } from './font-files.js';
import { isSetInOrder } from './scripts.js';
import type { FontRun } from './fonts.js';

export type TextLine = Readonly<{
  /** As they are drawn, from left to right. */
  runs: readonly FontRun[];
  isRightToLeft: boolean;
  /** In points. */
  widthAt: (fontSize: number) => number;
  /**
   * The line as a path of SVG in thousandths of the font size, y downwards, where its letters join, stack or run from the right or are of
   * several fonts: what draws SVG sets letters one after the other and parts in different fonts with a space between them. Else undefined.
   */
  outline: () => string | undefined;
}>;

/** Told by the text alone: what a font answers depends on what it was asked before. Two fonts in one line are placed here, too. */
const isPlain = ([run, ...others]: readonly FontRun[]): boolean =>
  others.length === 0 && (run === undefined || (run.bidiLevel === 0 && isSetInOrder(run.text)));

/** In: the runs in the order in which they are drawn; `fileOf` names the file of a run. */
export const textLine = (runs: readonly FontRun[], fileOf: (run: FontRun) => string, isRightToLeft: boolean): TextLine => {
  const em = runs.reduce((sum, run) => sum + widthInEm(run.text, fileOf(run)), 0);
  return {
    runs,
    isRightToLeft,
    widthAt: (fontSize) => em * fontSize,
    outline: () => (isPlain(runs) ? undefined : outlineOf(runs, fileOf)),
  };
};

const widthInEm = (text: string, file: string): number => {
  const { run, unitsPerEm } = layoutIn(file, text);
  return run.advanceWidth / unitsPerEm;
};

const outlineOf = (runs: readonly FontRun[], fileOf: (run: FontRun) => string): string => {
  let x = 0;
  return runs
    .map((run) => {
      const {
        run: { glyphs, positions },
        unitsPerEm,
      } = layoutIn(fileOf(run), run.text);
      const scale = 1_000 / unitsPerEm;
      return glyphs
        .map((glyph, index) => {
          const { xOffset, yOffset, xAdvance } = positions[index]!;
          const moved = glyph.path.transform(scale, 0, 0, -scale, x + xOffset * scale, -yOffset * scale).toSVG();
          x += xAdvance * scale;
          return moved;
        })
        .join('');
    })
    .join('');
};
