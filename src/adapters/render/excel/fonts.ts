/** Fonts of a sheet: what a component, an element or a style asks for. */
import type { Font } from 'exceljs';
import type { TextStyle } from '../../../domain/rendering/expand/expanded.js';
import type { TreeElement } from '../rich-tree.js';
import { argb, isDark } from '../colors.js';

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

/** The font on a background, where nothing within it names a colour: white on a dark one, for readers draw letters black on any. */
export const fontOnFill = (font: RunFont, fill: string): RunFont => {
  if (isDarkFill(fill)) return { ...font, color: { argb: WHITE } };
  const { color: around, ...rest } = font;
  return around?.argb === WHITE ? rest : font;
};

/** The colour of links on a background: `usual` instead of a white that was for a dark one around it. */
export const linkColorOnFill = (fill: string, around: string | undefined, usual: string): string =>
  isDarkFill(fill) ? WHITE : around === undefined || around === WHITE ? usual : around;

/** The font of an element inside another; the same object where the element changes nothing, so that runs flow together. */
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

const tagFonts: Readonly<Record<string, RunFont | undefined>> = Object.assign(Object.create(null) as Record<string, RunFont | undefined>, {
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
} satisfies Record<string, RunFont>);

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
  return name === undefined || name === '' || /^(?:sans-serif|serif|monospace|cursive|fantasy|system-ui|inherit|-apple-system)$/i.test(name)
    ? undefined
    : name;
};
