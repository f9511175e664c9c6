/** The few CSS values that props may hold, in the one spelling that all mail clients take. Anything else is refused, so no value can leave its property. */
import { colorNames } from './color-names.js';

const HEX = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i;
export const FUNCTIONAL_COLOR = /^(?:rgb|hsl)a?\(\s*-?\d{1,3}(?:\.\d{1,3})?(?:deg|%)?(?:\s*[,\s/]\s*\d{1,3}(?:\.\d{1,3})?%?){2,3}\s*\)$/i;
export const CSS_LENGTH = /^(\d{1,4}(?:\.\d{1,3})?)(px|pt|em|rem|%)?$/i;
export const FONT_FAMILY = /^[A-Za-z0-9 ,'"_-]{1,200}$/;
const LINE_STYLES = ['solid', 'dashed', 'dotted', 'double', 'none'];

/** In: a colour (hex, rgb(), hsl() or a CSS name). Out: the same in lower case, or undefined. */
export const cssColor = (value: unknown): string | undefined => {
  if (typeof value !== 'string' || value.length > 60) return undefined;
  const color = value.trim().toLowerCase();
  if (HEX.test(color) || FUNCTIONAL_COLOR.test(color) || color === 'transparent') return color;
  return colorNames.has(color) ? color : undefined;
};

/** In: a number (pixels) or a string with a unit (px, pt, em, rem, %). Out: CSS, or undefined. */
export const cssLength = (value: unknown): string | undefined => {
  if (typeof value === 'number')
    return Number.isFinite(value) && value >= 0 && value <= 9_999 ? (value === 0 ? '0' : `${round(value)}px`) : undefined;
  if (typeof value !== 'string') return undefined;
  const match = CSS_LENGTH.exec(value.trim());
  if (match === null) return undefined;
  const number = Number(match[1]);
  return number === 0 ? '0' : `${number}${(match[2] ?? 'px').toLowerCase()}`;
};

/** Pixels of a length where they are known without the page: a number, px or pt. */
export const pixels = (css: string): number | undefined => {
  const match = /^([\d.]+)(px|pt)?$/.exec(css);
  return match === null ? undefined : Number(match[1]) * (match[2] === 'pt' ? 4 / 3 : 1);
};

/** Padding and margin: one to four lengths, as in CSS. */
export const cssBox = (value: unknown): string | undefined => {
  if (typeof value === 'number') return cssLength(value);
  if (typeof value !== 'string') return undefined;
  const sides = value.trim().split(/\s+/, 5).map(cssLength);
  return sides.length > 4 || sides.includes(undefined) ? undefined : sides.join(' ');
};

/** A border in CSS shorthand in any order (`1px solid #ddd`), a number (pixels of a solid line), or `none`. */
export const cssBorder = (value: unknown): string | undefined => {
  if (value === 'none' || value === 0 || value === '0' || value === false) return 'none';
  if (typeof value === 'number') return cssLength(value) === undefined ? undefined : `${cssLength(value)} solid #e5e7eb`;
  if (value === true) return '1px solid #e5e7eb';
  if (typeof value !== 'string' || value.length > 100) return undefined;
  let [width, style, color]: (string | undefined)[] = [];
  for (const word of value.trim().split(/\s+(?![^(]*\))/)) {
    const asLength = cssLength(word);
    if (asLength !== undefined && width === undefined) width = asLength;
    else if (LINE_STYLES.includes(word.toLowerCase()) && style === undefined) style = word.toLowerCase();
    else if (cssColor(word) !== undefined && color === undefined) color = cssColor(word);
    else return undefined;
  }
  return `${width ?? '1px'} ${style ?? 'solid'} ${color ?? '#e5e7eb'}`;
};

/** A list of font names; double quotes become single ones, for the value stands in an attribute. */
export const cssFontFamily = (value: unknown): string | undefined =>
  typeof value === 'string' && FONT_FAMILY.test(value.trim()) ? value.trim().replaceAll('"', "'") : undefined;

/** A factor (1.5) or a length. */
export const cssLineHeight = (value: unknown): string | undefined => {
  const factor =
    typeof value === 'number' ? value : typeof value === 'string' && /^\d(\.\d{1,3})?$/.test(value.trim()) ? Number(value) : undefined;
  if (factor !== undefined && factor > 0 && factor < 10) return String(round(factor));
  return typeof value === 'string' ? cssLength(value) : cssLength(value);
};

const round = (value: number): number => Math.round(value * 1_000) / 1_000;
