/** Rich text as rows: each paragraph a cell merged over the sheet's columns, headings larger, tables inside it as cells. */
import { argb } from '../../colors.js';
import { ROW_POINTS_MAX, type ComponentDrawer, type CellStyle, type Sheet } from '../sheet.js';
import { tooManyColumns, tooManyRows } from '../../../../domain/rendering/budget.js';
import { directionOfText, sideOf, type Direction } from '../../../../domain/rendering/direction.js';
import type { Html, TextStyle } from '../../../../domain/rendering/expand/expanded.js';
import { fontOfStyle, fontOnFill, linkColorOnFill, type RunFont, filled } from '../looks.js';
import { LINK_COLOR, richRows, type Paragraph, type RichRow, paragraphCell, type TextSpot } from '../rich-cells.js';
import { linesIn } from '../text.js';

const LINE_POINTS = { perFontPoint: 1.36, aroundHeading: 6, rule: 8 } as const;
const RULE_COLOR = 'FFE5E7EB';

export const richText: ComponentDrawer<'rich-text'> = ({ html, style: own, field }, { limits, style: outer, linkColor, direction }) => {
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
  };
  return {
    kind: 'text',
    rows: rows.length,
    widths: Array.from({ length: columns }, () => undefined),
    draw: async (sheet) => {
      for (const row of rows) draw(row, look, sheet);
      await sheet.flush();
    },
  };
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
      sheet.writeMerged({ value: null, style: { border: { bottom: { style: 'thin', color: { argb: RULE_COLOR } } } } }, LINE_POINTS.rule);
      return;
    case 'cells': {
      const border = { style: 'thin', color: { argb: RULE_COLOR } } as const;
      const box = { border: { top: border, right: border, bottom: border, left: border } };
      sheet.writeRow(
        row.cells.map((cell, index) => paragraphCell(cell, spot(index + 1), (_, code) => ({ ...styleOf(cell, look, code), ...box }))),
        rowHeight(row.cells, sheet),
      );
      return;
    }
    case 'paragraph': {
      const { paragraph } = row;
      const chars = sheet.widths.reduce((sum, width) => sum + width, 0) - paragraph.indent * 2;
      sheet.writeMerged(
        paragraphCell(paragraph, spot(1), (_, code) => styleOf(paragraph, look, code)),
        heightOf(paragraph, chars),
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
const rowHeight = (cells: readonly Paragraph[], { widths }: Sheet): number | undefined =>
  cells.every((cell, at) => linesOf(cell, widths[at] ?? 0) === 1)
    ? undefined
    : Math.max(...cells.map((cell, at) => heightOf(cell, widths[at] ?? 0)));

/** Merged cells do not grow by themselves. */
const heightOf = (paragraph: Paragraph, chars: number): number =>
  Math.min(
    ROW_POINTS_MAX,
    Math.ceil(linesOf(paragraph, chars) * sizeOf(paragraph) * LINE_POINTS.perFontPoint) +
      (paragraph.heading === undefined ? 1 : LINE_POINTS.aroundHeading),
  );

const linesOf = (paragraph: Paragraph, chars: number): number => {
  const widthFactor = paragraph.runs.some(({ font }) => font?.bold) ? 1.1 : 1;
  return linesIn(paragraph.text, (chars * 11) / (sizeOf(paragraph) * widthFactor));
};

const sizeOf = ({ runs }: Paragraph): number =>
  runs.reduce((size, { font }) => Math.max(size, font?.size ?? 11), runs.length === 0 ? 11 : 0);
