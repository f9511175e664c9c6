/** How the cells of a table look; the same look is always the same object, so that the writer writes each style once. */
import type { Borders, Fill } from 'exceljs';
import { sideOf, type Direction, type Side } from '../../../domain/rendering/direction.js';
import type { ExpandedTable, HorizontalAlign, TextStyle } from '../../../domain/rendering/expand/expanded.js';
import type { Border } from '../../../domain/rendering/boxes.js';
import { argb, isDark, pdfColor } from '../colors.js';
import { fontOfStyle, type RunFont } from './fonts.js';
import type { CellStyle } from './sheet.js';

/** What the author leaves open. */
const HEADER_FILL = 'FFF3F4F6';
const STRIPE_FILL = 'FFF9FAFB';

export type Looks = Readonly<{
  font: RunFont;
  headerFont: RunFont;
  footerFont: RunFont;
  header: (align: HorizontalAlign) => CellStyle;
  /** `code` is the code of the format, '' for none. */
  body: (align: HorizontalAlign, striped: boolean, code: string, wrap: boolean) => CellStyle;
  footer: (align: HorizontalAlign, code: string, wrap: boolean) => CellStyle;
  empty: CellStyle;
}>;

/** `style` is the text of the section around. */
export const createLooks = (table: ExpandedTable, style: TextStyle, direction: Direction): Looks => {
  const aligned = alignedIn(direction);
  const font = fontOfStyle({
    ...style,
    ...(table.color === undefined ? {} : { color: table.color }),
    ...(table.fontSize === undefined ? {} : { fontSize: table.fontSize }),
  });
  const isHeaderDark = isDark(pdfColor(table.headerBackgroundColor) ?? '#ffffff');
  const headerColor = argb(table.headerColor ?? (isHeaderDark ? '#ffffff' : undefined));
  const headerFont: RunFont = { ...font, bold: true, ...(headerColor === undefined ? {} : { color: { argb: headerColor } }) };
  const footerFont: RunFont = { ...font, bold: true };
  const line = lineOf(table.border);
  const border =
    line === undefined
      ? {}
      : { border: table.borderLines === 'rows' ? { bottom: line } : { top: line, right: line, bottom: line, left: line } };
  const kept = createKept();
  return {
    font,
    headerFont,
    footerFont,
    header: (align) =>
      kept(`h${align}`, () => ({
        font: headerFont,
        fill: filled(argb(table.headerBackgroundColor) ?? HEADER_FILL),
        ...border,
        alignment: { ...aligned(align), vertical: 'middle', wrapText: true },
      })),
    body: (align, striped, code, wrap) =>
      kept(`${align}|${striped}|${wrap}|${code}`, () => ({
        font,
        ...border,
        ...coded(code),
        ...(striped ? { fill: filled(STRIPE_FILL) } : {}),
        alignment: { ...aligned(align), vertical: 'top', ...(wrap ? { wrapText: true } : {}) },
      })),
    footer: (align, code, wrap) =>
      kept(`f${align}|${wrap}|${code}`, () => ({
        font: footerFont,
        ...coded(code),
        border: { ...border.border, top: { style: 'medium', color: { argb: argb(table.border.color) ?? 'FF9CA3AF' } } },
        alignment: { ...aligned(align), vertical: 'top', ...(wrap ? { wrapText: true } : {}) },
      })),
    empty: { font: { ...font, italic: true }, ...border, alignment: { horizontal: 'center', vertical: 'middle', wrapText: true } },
  };
};

/** Numbers at the edge where cells end keep off the text of the next column. */
const alignedIn =
  (direction: Direction) =>
  (align: HorizontalAlign): Readonly<{ horizontal: Side; indent?: number }> => {
    const horizontal = sideOf(align, direction);
    return horizontal === sideOf('end', direction) ? { horizontal, indent: 1 } : { horizontal };
  };

const createKept = (): ((key: string, make: () => CellStyle) => CellStyle) => {
  const styles = new Map<string, CellStyle>();
  return (key, make) => {
    const known = styles.get(key);
    if (known !== undefined) return known;
    const made = make();
    styles.set(key, made);
    return made;
  };
};

const coded = (code: string): CellStyle => (code === '' ? {} : { numFmt: code });

export const filled = (color: string): Fill => ({ type: 'pattern', pattern: 'solid', fgColor: { argb: color } });

const lineOf = ({ width, style, color }: Border): Borders['top'] | undefined => {
  const lineColor = argb(color);
  if (width === 0 || style === 'none' || lineColor === undefined) return undefined;
  const solid = width < 1.6 ? 'thin' : width < 2.6 ? 'medium' : 'thick';
  return {
    style: style === 'solid' ? solid : style === 'dashed' ? (width < 1.6 ? 'dashed' : 'mediumDashed') : 'dotted',
    color: { argb: lineColor },
  };
};
