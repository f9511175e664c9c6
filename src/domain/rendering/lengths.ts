/** Lengths in documents: a number is points, a text may have a unit. What is no length gives undefined. */
import type { Border, Box, Width } from './boxes.js';
import { cssColor } from './css.js';

export const DOCUMENT_LENGTH = /^(\d{1,4}(?:\.\d{1,3})?)(pt|px|mm|cm|in|em|rem)?$/i;
export const DOCUMENT_PERCENT = /^(\d{1,3}(?:\.\d{1,3})?)%$/;
const POINTS_MAX = 9_999;

/** `em` and `rem` are the 12 points that browsers print 16 pixels with: a document has no other font to measure by. */
const pointsPer: Readonly<Record<string, number>> = { pt: 1, px: 0.75, mm: 72 / 25.4, cm: 720 / 25.4, in: 72, em: 12, rem: 12 };

/** In: 24, "24", "18pt", "24px", "20mm", "2cm", "1in", "1.5em". Out: points, at most 9,999. */
export const pointsOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value >= 0 && value <= POINTS_MAX ? round(value) : undefined;
  if (typeof value !== 'string') return undefined;
  const match = DOCUMENT_LENGTH.exec(value.trim());
  if (match === null) return undefined;
  const points = Number(match[1]) * (pointsPer[(match[2] ?? 'pt').toLowerCase()] ?? 1);
  return points <= POINTS_MAX ? round(points) : undefined;
};

/** A length, or a share from 0 to 100 % of what is there. */
export const widthOf = (value: unknown): Exclude<Width, string> | undefined => {
  const points = pointsOf(value);
  if (points !== undefined) return { points };
  const match = typeof value === 'string' ? DOCUMENT_PERCENT.exec(value.trim()) : null;
  const percent = Number(match?.[1]);
  return match !== null && percent <= 100 ? { percent } : undefined;
};

/** Padding and margin: one to four lengths, in the order of CSS. */
export const boxOf = (value: unknown): Box | undefined => {
  const sides = typeof value === 'string' ? value.trim().split(/\s+/, 5).map(pointsOf) : [pointsOf(value)];
  const [top, right = top, bottom = top, left = right] = sides;
  if (sides.length > 4 || sides.includes(undefined)) return undefined;
  if (top === undefined || right === undefined || bottom === undefined || left === undefined) return undefined;
  return { top, right, bottom, left };
};

export const noBox: Box = { top: 0, right: 0, bottom: 0, left: 0 };

const LINE_COLOR = '#e5e7eb';
export const noBorder: Border = { width: 0, style: 'none', color: LINE_COLOR };
/** The thin line that `true` asks for. */
export const thinBorder: Border = { width: 0.75, style: 'solid', color: LINE_COLOR };

const lineStyles: Readonly<Record<string, Border['style']>> = {
  solid: 'solid',
  dashed: 'dashed',
  dotted: 'dotted',
  double: 'solid',
  none: 'none',
};

/** A border in the shorthand of CSS in any order (`0.5pt dashed #ddd`), a number (points of a solid line), true or false. */
export const borderOf = (value: unknown): Border | undefined => {
  if (value === 'none' || value === 0 || value === '0' || value === false) return noBorder;
  if (value === true) return thinBorder;
  if (typeof value === 'number') {
    const width = pointsOf(value);
    return width === undefined ? undefined : { ...thinBorder, width };
  }
  if (typeof value !== 'string' || value.length > 100) return undefined;
  let width: number | undefined;
  let style: Border['style'] | undefined;
  let color: string | undefined;
  for (const word of value.trim().split(/\s+(?![^(]*\))/)) {
    const known = Object.hasOwn(lineStyles, word.toLowerCase()) ? lineStyles[word.toLowerCase()] : undefined;
    if (width === undefined && pointsOf(word) !== undefined) width = pointsOf(word);
    else if (style === undefined && known !== undefined) style = known;
    else if (color === undefined && cssColor(word) !== undefined) color = cssColor(word);
    else return undefined;
  }
  return style === 'none' ? noBorder : { width: width ?? thinBorder.width, style: style ?? 'solid', color: color ?? LINE_COLOR };
};

/** A factor (1.5) or a length, which becomes a factor of the font size. */
export const lineHeightOf = (value: unknown, fontSizePoints: number): number | undefined => {
  const factor =
    typeof value === 'number' ? value : typeof value === 'string' && /^\d(?:\.\d{1,3})?$/.test(value.trim()) ? Number(value) : undefined;
  if (factor !== undefined && factor > 0 && factor < 10) return round(factor);
  const points = pointsOf(value);
  return points === undefined || points === 0 || fontSizePoints === 0 ? undefined : round(points / fontSizePoints);
};

const round = (value: number): number => Math.round(value * 1_000) / 1_000;
