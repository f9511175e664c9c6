/**
 * Rich text as rows: each paragraph a cell merged over the sheet's columns, headings larger, tables inside it as cells.
 */
import { argb } from '../../colors.js';
import {
  cutCell,
  lowEnough,
  ROW_POINTS_MAX,
  type CellStyle,
  type ComponentDrawer,
  type Prepared,
  type Sheet,
} from '../sheet.js';
import type { FieldError } from '../../../../domain/core/errors.js';
import { tooManyColumns, tooManyRows } from '../../../../domain/rendering/budget.js';
import { directionOfText, sideOf, type Direction } from '../../../../domain/rendering/direction.js';
import type { Html, TextStyle } from '../../../../domain/rendering/expand/expanded.js';
import { fontOfStyle, fontOnFill, linkColorOnFill, type RunFont, filled } from '../looks.js';
import { LINK_COLOR, richRows, type Paragraph, type RichRow, paragraphCell, type TextSpot } from '../rich-cells.js';
import { linesIn } from '../text.js';

const LINE_POINTS = { perFontPoint: 1.36, aroundHeading: 6, rule: 8 } as const;
/** A sheet of paper ends between two rows: rows of a long paragraph are low enough to fill it. */
const PART_POINTS = 200;
const RULE_COLOR = 'FFE5E7EB';

export const richText: ComponentDrawer<'rich-text'> = (
  { html, style: own, field },
  { limits, style: outer, linkColor, direction, tell },
) => {
  const style = { ...outer, ...own };
  const fill = argb(style.backgroundColor);
  const isColored = own.color !== undefined || (own.backgroundColor === undefined && outer.color !== undefined);
  const font = fill === undefined || isColored ? fontOfStyle(style) : fontOnFill(fontOfStyle(style), fill);
  const links = argb(linkColor);
  const rows = richRows(html, font, fill === undefined || isColored ? links : linkColorOnFill(fill, links, LINK_COLOR));
  if (rows.length > limits.excelRowsMax) throw tooManyRows(rows.length, limits.excelRowsMax);
  const columns = Math.max(1, ...rows.map((row) => (row.kind === 'cells' ? row.cells.length : 1)));
  if (columns > limits.excelColumnsMax) throw tooManyColumns(columns, limits.excelColumnsMax);
  const look: Look = {
    direction: directionIn(style, html, direction),
    font,
    align: style.align,
    fill,
    field,
    charsMax: limits.excelCellCharsMax,
    tell,
  };
  const prepared = (fitted: readonly RichRow[]): Prepared => ({
    kind: 'text',
    rows: fitted.length,
    widths: Array.from({ length: columns }, () => undefined),
    draw: async (sheet) => {
      for (const row of fitted) draw(row, look, sheet);
      await sheet.flush();
    },
  });
  return { ...prepared(rows), fit: (widths) => prepared(rows.flatMap((row) => partsOf(row, widths))) };
};

/** As the text says, else as the sheet runs. */
const directionIn = ({ direction: own }: TextStyle, html: Html, sheet: Direction): Direction =>
  own === 'auto' ? (directionOfText(html.replace(/<[^>]*>|&[a-z0-9#]{1,8};/gi, '')) ?? sheet) : (own ?? sheet);

type Look = Readonly<{
  direction: Direction;
  font: RunFont;
  align: Paragraph['align'];
  fill: string | undefined;
  field: string;
  charsMax: number;
  tell: (warning: FieldError) => void;
}>;

const draw = (row: RichRow, look: Look, sheet: Sheet): void => {
  const at = sheet.nextRow();
  const spot = (column: number): TextSpot => ({
    sheet,
    field: look.field,
    where: () => `row ${at} of the sheet`,
    charsMax: look.charsMax,
    row: at,
    column,
    font: look.font,
  });
  switch (row.kind) {
    case 'line':
      sheet.writeMerged(
        { value: null, style: { border: { bottom: { style: 'thin', color: { argb: RULE_COLOR } } } } },
        LINE_POINTS.rule,
      );
      return;
    case 'cells': {
      const border = { style: 'thin', color: { argb: RULE_COLOR } } as const;
      const box = { border: { top: border, right: border, bottom: border, left: border } };
      sheet.writeRow(
        row.cells.map((cell, index) =>
          paragraphCell(cell, spot(index + 1), (_, code) => ({ ...styleOf(cell, look, code), ...box })),
        ),
        rowHeight(row.cells, sheet.widths, (column) =>
          look.tell(cutCell(look.field, `row ${at} of the sheet, column ${column + 1}`)),
        ),
      );
      return;
    }
    case 'paragraph': {
      const { paragraph } = row;
      sheet.writeMerged(
        paragraphCell(paragraph, spot(1), (_, code) => styleOf(paragraph, look, code)),
        lowEnough(heightOf(paragraph, charsFor(paragraph, sheet.widths)), () =>
          look.tell(cutCell(look.field, `row ${at} of the sheet`)),
        ),
      );
    }
  }
};

const styleOf = ({ align, fill, indent, heading, runs }: Paragraph, look: Look, code: string): CellStyle => {
  const horizontal = sideOf(align ?? look.align ?? 'start', look.direction);
  const reading = look.direction === 'rtl' ? { readingOrder: 'rtl' as const } : {};
  const background = fill ?? look.fill;
  return {
    font: runs[0]?.font ?? look.font,
    alignment: {
      horizontal,
      vertical: heading === undefined ? 'top' : 'middle',
      wrapText: true,
      ...reading,
      ...(indent > 0 ? { indent } : {}),
    },
    ...(background === undefined ? {} : { fill: filled(background) }),
    ...(code === '' ? {} : { numFmt: code }),
  };
};

/** The height of a row of cells, because not every reader makes it grow; undefined if all have one line. */
const rowHeight = (
  cells: readonly Paragraph[],
  widths: readonly number[],
  tellCut: (column: number) => void,
): number | undefined => {
  if (cells.every((cell, at) => linesOf(cell, widths[at] ?? 0) === 1)) return undefined;
  const heights = cells.map((cell, at) => heightOf(cell, widths[at] ?? 0));
  const highest = Math.max(...heights);
  return lowEnough(highest, () => tellCut(heights.indexOf(highest)));
};

const heightOf = (paragraph: Paragraph, chars: number): number =>
  Math.ceil(linesOf(paragraph, chars) * linePoints(paragraph)) +
  (paragraph.heading === undefined ? 1 : LINE_POINTS.aroundHeading);

const linePoints = (paragraph: Paragraph): number => sizeOf(paragraph) * LINE_POINTS.perFontPoint;

/**
 * A paragraph that one row cannot show as parts with a row each, which end with a sentence where one ends there: no
 * program prints a cell over two sheets of paper.
 */
const partsOf = (row: RichRow, widths: readonly number[]): readonly RichRow[] => {
  if (row.kind !== 'paragraph') return [row];
  const { paragraph } = row;
  const chars = charsFor(paragraph, widths);
  if (heightOf(paragraph, chars) <= ROW_POINTS_MAX) return [row];
  const linesMax = Math.max(1, Math.floor(PART_POINTS / linePoints(paragraph)));
  const parts: RichRow[] = [];
  for (let from = 0; from < paragraph.text.length;) {
    const to =
      from + endOfPart(paragraph.text.slice(from), (text) => linesOf({ ...paragraph, text }, chars) <= linesMax);
    const part = partOf(paragraph, from, to);
    if (part.text.trim() !== '') parts.push({ kind: 'paragraph', paragraph: part });
    from = to;
  }
  return parts;
};

const charsFor = ({ indent }: Paragraph, widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) - indent * 2;

/**
 * The length of the first part of a text: as long as it `fits`, and ended by a line, a sentence or a word in its second
 * half.
 */
const endOfPart = (text: string, fits: (text: string) => boolean): number => {
  if (fits(text)) return text.length;
  let [fitting, tooLong] = [1, text.length];
  while (tooLong - fitting > 1) {
    const middle = Math.floor((fitting + tooLong) / 2);
    if (fits(text.slice(0, middle))) fitting = middle;
    else tooLong = middle;
  }
  const half = Math.floor(fitting / 2);
  const second = text.slice(half, fitting);
  for (const end of [
    /^[^]*\n/,
    /^[^]*[.!?\u2026\u0964][)"'\u201d\u2019\u00bb]*\s+/,
    /^[^]*[\u3002\uff01\uff1f]/,
    /^[^]*\s/,
  ]) {
    const found = end.exec(second);
    if (found !== null) return half + found[0].length;
  }
  // No character is cut in two.
  return fitting > 1 && /[\ud800-\udbff]/.test(text.charAt(fitting - 1)) ? fitting - 1 : fitting;
};

const partOf = (paragraph: Paragraph, from: number, to: number): Paragraph => {
  let at = 0;
  const runs = paragraph.runs.flatMap((run) => {
    const text = run.text.slice(Math.max(0, from - at), Math.max(0, to - at));
    at += run.text.length;
    return text === '' ? [] : [{ ...run, text }];
  });
  const last = runs.at(-1);
  if (last !== undefined) last.text = last.text.trimEnd();
  return { ...paragraph, runs, text: runs.map(({ text }) => text).join('') };
};

const linesOf = (paragraph: Paragraph, chars: number): number => {
  const widthFactor = paragraph.runs.some(({ font }) => font?.bold) ? 1.1 : 1;
  return linesIn(paragraph.text, (chars * 11) / (sizeOf(paragraph) * widthFactor));
};

const sizeOf = ({ runs }: Paragraph): number =>
  runs.reduce((size, { font }) => Math.max(size, font?.size ?? 11), runs.length === 0 ? 11 : 0);
