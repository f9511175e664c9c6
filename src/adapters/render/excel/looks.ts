/** Fonts and cell styles of a sheet. Equal looks are one object, so that the writer writes each style once. */
import type { Font, Borders, Fill } from 'exceljs';
import type { TextStyle, ExpandedTable, HorizontalAlign } from '../../../domain/rendering/expand/expanded.js';
import type { TreeElement } from '../rich-tree.js';
import { argb, isDark, pdfColor } from '../colors.js';
import { sideOf, type Direction, type Side } from '../../../domain/rendering/direction.js';
import type { Border } from '../../../domain/rendering/lengths.js';
import type { CellStyle } from './sheet.js';

export type RunFont = Partial<Font>;

/** Fonts of a sheet where the author says nothing. */
export const BASE_FONT: RunFont = { name: 'Calibri', size: 11 };

/** The font of a component; where it says nothing, the sheet's own. */
export const fontOfStyle = ({ color, fontFamily, fontSize }: TextStyle): RunFont => {
  const [name, rgb] = [fontName(fontFamily), argb(color)];
  return {
    ...BASE_FONT,
    ...(fontSize === undefined ? {} : { size: fontSize }),
    ...(name === undefined ? {} : { name }),
    ...(rgb === undefined ? {} : { color: { argb: rgb } }),
  };
};

const WHITE = 'FFFFFFFF';
const isDarkFill = (fill: string): boolean => isDark(`#${fill.slice(2).toLowerCase()}`);

/**
 * The font on a background, where nothing within it names a colour: white on a dark one, for readers draw letters black
 * on any.
 */
export const fontOnFill = (font: RunFont, fill: string): RunFont => {
  if (isDarkFill(fill)) return { ...font, color: { argb: WHITE } };
  const { color: around, ...rest } = font;
  return around?.argb === WHITE ? rest : font;
};

/** The colour of links on a background: `usual` instead of a white that was for a dark one around it. */
export const linkColorOnFill = (fill: string, around: string | undefined, usual: string): string =>
  isDarkFill(fill) ? WHITE : around === undefined || around === WHITE ? usual : around;

/**
 * The font of an element inside another; the same object where the element changes nothing, so that runs flow together.
 */
export const fontOf = ({ tag, style }: TreeElement, outer: RunFont): RunFont => {
  const own: RunFont = { ...tagFonts[tag] };
  const weight = style.get('font-weight');
  if (weight !== undefined) own.bold = /^(?:bold|bolder|[6-9]00)$/.test(weight);
  const slant = style.get('font-style');
  if (slant !== undefined) own.italic = /^(?:italic|oblique)/.test(slant);
  const decoration = style.get('text-decoration') ?? '';
  if (decoration.includes('underline')) own.underline = true;
  if (decoration.includes('line-through')) own.strike = true;
  const color = argb(style.get('color'));
  if (color !== undefined) own.color = { argb: color };
  const size = sizeOf(style.get('font-size'), outer.size ?? 11);
  if (size !== undefined) own.size = size;
  const name = fontName(style.get('font-family'));
  if (name !== undefined) own.name = name;
  return Object.keys(own).length === 0 ? outer : { ...outer, ...own };
};

const tagFonts: Readonly<Record<string, RunFont | undefined>> = Object.assign(
  Object.create(null) as Record<string, RunFont | undefined>,
  {
    b: { bold: true },
    strong: { bold: true },
    th: { bold: true },
    dt: { bold: true },
    i: { italic: true },
    em: { italic: true },
    var: { italic: true },
    u: { underline: true },
    ins: { underline: true },
    s: { strike: true },
    del: { strike: true },
    strike: { strike: true },
    sub: { vertAlign: 'subscript' },
    sup: { vertAlign: 'superscript' },
    code: { name: 'Consolas' },
    kbd: { name: 'Consolas' },
    pre: { name: 'Consolas' },
  } satisfies Record<string, RunFont>,
);

const sizeOf = (css: string | undefined, outer: number): number | undefined => {
  const match = /^([\d.]+)(px|pt|em|rem|%)$/.exec(css ?? '');
  if (match === null) return undefined;
  const number = Number(match[1]);
  const points =
    match[2] === 'px'
      ? number * 0.75
      : match[2] === 'pt'
        ? number
        : match[2] === '%'
          ? (outer * number) / 100
          : number * (match[2] === 'rem' ? 11 : outer);
  return points >= 1 && points <= 409 ? Math.round(points * 2) / 2 : undefined;
};

/** The first name of a list, where it is the name of a font and no word such as `sans-serif`. */
const fontName = (family: string | undefined): string | undefined => {
  const name = /^\s*['"]?([^,'"]{1,31})/.exec(family ?? '')?.[1]?.trim();
  return name === undefined ||
    name === '' ||
    /^(?:sans-serif|serif|monospace|cursive|fantasy|system-ui|inherit|-apple-system)$/i.test(name)
    ? undefined
    : name;
};

/** Colours of a table without colour props. */
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
  const headerFont: RunFont = {
    ...font,
    bold: true,
    ...(headerColor === undefined ? {} : { color: { argb: headerColor } }),
  };
  const footerFont: RunFont = { ...font, bold: true };
  const line = lineOf(table.border);
  const border =
    line === undefined
      ? {}
      : {
          border:
            table.borderLines === 'rows' ? { bottom: line } : { top: line, right: line, bottom: line, left: line },
        };
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
    empty: {
      font: { ...font, italic: true },
      ...border,
      alignment: { horizontal: 'center', vertical: 'middle', wrapText: true },
    },
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
