/** Measures, boxes, borders and colours of a template, taken apart for controls and written again. */
import type { Json } from './place.js';

/** Units that people choose from; the first is that of a bare number. */
export const unitsOf = (isDocument: boolean, isShare: boolean): readonly string[] => [
  ...(isDocument ? ['pt', 'mm', 'cm', 'in', 'px', 'em'] : ['px', 'pt', 'em']),
  ...(isShare ? ['%'] : []),
];

export type Measure = Readonly<{ amount: string; unit: string }>;

const MEASURE = /^(\d{1,4}(?:\.\d{1,3})?)(px|pt|mm|cm|in|em|rem|%)?$/i;

/** Undefined for what is no single measure. */
export const measureOf = (value: unknown, bareUnit: string): Measure | undefined => {
  if (value === undefined || value === '') return { amount: '', unit: bareUnit };
  if (typeof value === 'number') return { amount: String(value), unit: bareUnit };
  const [, amount, unit] = (typeof value === 'string' ? MEASURE.exec(value.trim()) : null) ?? [];
  return amount === undefined ? undefined : { amount, unit: unit?.toLowerCase() ?? bareUnit };
};

/** A bare number where the unit is the usual one, as the API takes it; undefined where nothing is written. */
export const writtenMeasure = ({ amount, unit }: Measure, bareUnit: string): number | string | undefined => {
  const text = amount.trim().replace(',', '.');
  if (text === '') return undefined;
  return unit === bareUnit && MEASURE.test(text) ? Number(text) : `${text}${unit}`;
};

export const sides = ['top', 'right', 'bottom', 'left'] as const;
type Side = (typeof sides)[number];
export type Sides = Readonly<Record<Side, string>>;

/** In: one to four lengths. Out: one for each side, as text; undefined for what is no box. */
export const boxOf = (value: unknown): Sides | undefined => {
  if (value === undefined || value === '') return { top: '', right: '', bottom: '', left: '' };
  const words =
    typeof value === 'number' ? [String(value)] : typeof value === 'string' ? value.trim().split(/\s+/) : [];
  const [top, right = top, bottom = top, left = right] = words;
  if (words.length > 4 || !words.every((word) => MEASURE.test(word))) return undefined;
  if (top === undefined || right === undefined || bottom === undefined || left === undefined) return undefined;
  return { top, right, bottom, left };
};

/** The shortest form; a side that is empty beside others is 0. */
export const writtenBox = (box: Sides): number | string | undefined => {
  const [top, right, bottom, left] = sides.map((side) => box[side].trim().replace(',', '.'));
  if ([top, right, bottom, left].every((one) => one === '')) return undefined;
  const all = [top, right, bottom, left].map((one) => (one === undefined || one === '' ? '0' : one));
  const [t = '0', r = '0', b = '0', l = '0'] = all;
  if (t === r && t === b && t === l) return /^\d+(?:\.\d+)?$/.test(t) ? Number(t) : t;
  if (t === b && r === l) return `${t} ${r}`;
  return r === l ? `${t} ${r} ${b}` : all.join(' ');
};

export type Border = Readonly<{ width: string; style: string; color: string }>;
export const NO_BORDER = 'none';

/** Undefined for what is no border in the forms that the service takes. `style` is empty where nothing is set. */
export const borderOf = (value: unknown): Border | undefined => {
  if (value === undefined || value === '') return { width: '', style: '', color: '' };
  if (value === false || value === 0 || value === '0' || value === NO_BORDER)
    return { width: '', style: NO_BORDER, color: '' };
  if (value === true) return { width: '1', style: 'solid', color: '' };
  if (typeof value === 'number') return { width: String(value), style: 'solid', color: '' };
  if (typeof value !== 'string') return undefined;
  let [width, style, color]: (string | undefined)[] = [];
  for (const word of value.trim().split(/\s+(?![^(]*\))/)) {
    if (width === undefined && MEASURE.test(word)) width = word;
    else if (style === undefined && /^(?:solid|dashed|dotted|double)$/i.test(word)) style = word.toLowerCase();
    else if (color === undefined && /^(?:#[0-9a-f]{3,8}|[a-z]+(?:\([^)]*\))?)$/i.test(word)) color = word;
    else return undefined;
  }
  return { width: width ?? '1', style: style ?? 'solid', color: color ?? '' };
};

export const writtenBorder = ({ width, style, color }: Border): string | boolean | undefined => {
  if (style === '') return undefined;
  if (style === NO_BORDER) return false;
  const amount = width.trim() === '' ? '1' : width.trim().replace(',', '.');
  return [/\d$/.test(amount) ? `${amount}px` : amount, style, color.trim()].filter((word) => word !== '').join(' ');
};

/** Six hex digits for the colour field of a browser; undefined for what it cannot show, such as a name. */
export const hexOf = (value: unknown): string | undefined => {
  const [, digits = ''] = (typeof value === 'string' ? /^#([0-9a-f]{3,8})$/i.exec(value.trim()) : null) ?? [];
  if (digits.length === 3 || digits.length === 4)
    return `#${[...digits.slice(0, 3)].map((digit) => digit + digit).join('')}`.toLowerCase();
  return digits.length === 6 || digits.length === 8 ? `#${digits.slice(0, 6)}`.toLowerCase() : undefined;
};

const COLOR_NAMES = /^(?:color|backgroundColor|linkColor|contentBackgroundColor|headerBackgroundColor|headerColor)$/;
const COLORS_MAX = 16;

/** The colours that a template uses, those used most first. */
export const colorsOf = (content: Json): readonly string[] => {
  const counts = new Map<string, number>();
  const count = (color: string): void => {
    counts.set(color, (counts.get(color) ?? 0) + 1);
  };
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    else if (typeof value === 'object' && value !== null)
      for (const [name, one] of Object.entries(value)) {
        if (typeof one !== 'string') walk(one);
        else if (COLOR_NAMES.test(name)) {
          const hex = hexOf(one);
          if (hex !== undefined) count(hex);
        } else if (name === 'content') for (const [hex] of one.matchAll(/#[0-9a-f]{6}\b/gi)) count(hex.toLowerCase());
      }
  };
  walk(content['schema']);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, COLORS_MAX)
    .map(([color]) => color);
};

/** In: what somebody wrote for a value of any type. `as`: how it is meant. */
export type ScalarType = 'text' | 'number' | 'true' | 'false' | 'null';

export const scalarTypeOf = (value: unknown): ScalarType =>
  value === null
    ? 'null'
    : typeof value === 'boolean'
      ? value
        ? 'true'
        : 'false'
      : typeof value === 'number'
        ? 'number'
        : 'text';

/** The value in another type, with what was written as far as that type can hold it. */
export const scalarAs = (type: ScalarType, text: string): string | number | boolean | null => {
  if (type === 'null') return null;
  if (type === 'true' || type === 'false') return type === 'true';
  if (type === 'text') return text;
  const number = Number(text.trim().replace(',', '.'));
  return text.trim() !== '' && Number.isFinite(number) ? number : 0;
};

export const hasBraces = (value: unknown): value is string => typeof value === 'string' && value.includes('{{');

/** Equal shares of a hundred, the last one with what is left. */
export const equalWidths = (count: number): readonly string[] => {
  const share = Math.floor(100 / count);
  return Array.from({ length: count }, (_, at) => `${at === count - 1 ? 100 - share * (count - 1) : share}%`);
};

/**
 * In: the widths of columns as a template has them, and the width of one of them, or undefined for its equal share.
 * Out: a width for each column; undefined where all are equal shares again. The first share that is written leaves the
 * rest to the other columns.
 */
export const withWidth = (
  widths: unknown,
  count: number,
  at: number,
  width: unknown,
): readonly unknown[] | undefined => {
  const given: readonly unknown[] = Array.isArray(widths) ? widths : [];
  const columns = Math.max(count, at + 1);
  const equal = equalWidths(columns);
  const share = given.length === 0 ? Number(/^(\d{1,2}(?:\.\d{1,3})?)%$/.exec(String(width))?.[1] ?? NaN) : NaN;
  const rest = Math.round(((100 - share) / (columns - 1)) * 100) / 100;
  const other = (place: number): unknown => given[place] ?? (Number.isFinite(rest) ? `${rest}%` : equal[place]);
  const next = equal.map((one, place) => (place === at ? (width ?? one) : other(place)));
  return next.every((one, place) => one === equal[place]) ? undefined : next;
};
