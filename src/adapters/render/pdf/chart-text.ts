/** Words and numbers of a chart as SVG: each text in the fonts that have it, measured, and cut short where there is no room. */
import { holdsRightToLeft } from './bidi.js';
import type { Direction } from '../../../domain/rendering/direction.js';
import type { Fonts, TextLine } from './fonts.js';
import { chartPalette } from '../../../domain/rendering/css.js';
import type { ExpandedChart } from '../../../domain/rendering/expand/expanded.js';

/** What texts need to know: how they are drawn, and the language of numbers. */
export type ChartText = Readonly<{
  line: (text: string, bold: boolean) => TextLine;
  /** BCP 47 */ locale: string;
  /** The whole drawing is turned round from left to right, and each text turned back about its anchor. */ isMirrored: boolean;
}>;

/** `locale`: BCP 47, for numbers and Han characters. */
export type ChartPlace = Readonly<{
  fonts: Fonts;
  locale: string;
  direction: Direction;
  family?: string | undefined;
  refuses?: (character: string) => boolean;
}>;

/** Keeps each line of one chart, for labels are measured several times. Throws DomainError FONT_MISSING. */
export const chartText = ({ fonts, locale, direction, family, refuses }: ChartPlace, field: string): ChartText => {
  const isMirrored = direction === 'rtl';
  const options = { locale, field, ...(family === undefined ? {} : { family }), ...(refuses === undefined ? {} : { refuses }) };
  const lines = new Map<string, TextLine>();
  return {
    locale,
    isMirrored,
    line: (text, bold) => {
      const key = `${bold ? 'b' : 'n'}${text}`;
      const rightToLeft = isMirrored && holdsRightToLeft(text) ? { direction: 'rtl' as const } : {};
      const line = lines.get(key) ?? fonts.line(text, { bold, italic: false }, { ...options, ...rightToLeft });
      lines.set(key, line);
      return line;
    },
  };
};

type TextLook = Readonly<{
  size: number;
  color: string;
  anchor: 'start' | 'middle' | 'end';
  bold?: boolean;
  /** Degrees, clockwise, about the anchor. */ rotate?: number;
}>;
type Label = Readonly<{ text: string; width: number }>;

export const LABEL_PT = 8.5;
export const TEXT_COLOR = '#374151';
export const TITLE_COLOR = '#111827';

/** Longer texts are cut before they are measured. */
const CHARACTERS_MAX = 200;
const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** A coordinate with two decimals: more are not seen, and the same chart gives the same text. */
export const n = (value: number): string => String(Math.round(value * 100) / 100 + 0);

const escapeXml = (text: string): string =>
  text
    .replace(/[\x00-\x1f\x7f]/g, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

/** In points. */
const widthOf = (text: string, size: number, { line }: ChartText, bold: boolean): number => line(text, bold).widthAt(size);

/** The text, or as much of its beginning as fits, with an ellipsis. */
export const fitted = (given: string, size: number, widthMax: number, context: ChartText, bold = false): Label => {
  const text = given.replace(/\s+/g, ' ').trim().slice(0, CHARACTERS_MAX);
  const width = widthOf(text, size, context, bold);
  if (width <= widthMax && given.length <= CHARACTERS_MAX) return { text, width };
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  let [low, high] = [0, characters.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (widthOf(`${characters.slice(0, middle).join('').trimEnd()}…`, size, context, bold) <= widthMax) low = middle;
    else high = middle - 1;
  }
  if (low === 0) return { text: '', width: 0 };
  const cut = `${characters.slice(0, low).join('').trimEnd()}…`;
  return { text: cut, width: widthOf(cut, size, context, bold) };
};

/** Where a line begins, as a share of its width to the left of its anchor. */
const shares = { start: 0, middle: 0.5, end: 1 } as const;

/** One line of text; `y` is its baseline. */
export const textElement = (words: string, x: number, y: number, look: TextLook, text: ChartText): string => {
  if (!text.isMirrored) return drawnText(words, x, y, look, text);
  const { rotate, anchor, ...rest } = look;
  const mirrored: TextLook = { ...rest, anchor: opposite[anchor], ...(rotate === undefined ? {} : { rotate: -rotate }) };
  return `<g transform="translate(${n(2 * x)} 0)scale(-1 1)">${drawnText(words, x, y, mirrored, text)}</g>`;
};

const opposite = { start: 'end', middle: 'middle', end: 'start' } as const;

const drawnText = (
  text: string,
  x: number,
  y: number,
  { size, color, anchor, bold = false, rotate }: TextLook,
  { line }: ChartText,
): string => {
  const {
    runs: [run],
    widthAt,
    outline,
  } = line(text, bold);
  if (run === undefined) return '';
  const turn = rotate === undefined ? '' : `rotate(${n(rotate)} ${n(x)} ${n(y)})`;
  const path = outline();
  if (path !== undefined) {
    return `<path transform="${turn}translate(${n(x - widthAt(size) * shares[anchor])} ${n(y)})scale(${size / 1_000})" fill="${color}" d="${path}"/>`;
  }
  const look = `font-family="${escapeXml(run.font)}" font-size="${n(size)}" fill="${color}" text-anchor="${anchor}"${bold ? ' font-weight="bold"' : ''}`;
  return `<text x="${n(x)}" y="${n(y)}" ${look}${turn === '' ? '' : ` transform="${turn}"`}>${escapeXml(run.text)}</text>`;
};

/** Numbers of an axis: as many decimals as tell its steps apart, large ones shortened as the language does. */
export const axisNumbers = (step: number, largest: number, locale: string): ((value: number) => string) => {
  const isCompact = largest >= 1_000_000;
  if (largest >= 1e15 || step < 1e-8)
    return (value) =>
      value === 0
        ? '0'
        : value
            .toExponential(2)
            .replace(/\.?0+e/, 'e')
            .replace('e+', 'e');
  const unit = isCompact ? 1_000 ** Math.floor(Math.log10(largest) / 3) : 1;
  const decimals = decimalsOf(step / unit);
  const format = new Intl.NumberFormat(
    locale,
    isCompact
      ? { notation: 'compact', maximumFractionDigits: decimals }
      : { minimumFractionDigits: decimals, maximumFractionDigits: decimals },
  );
  return (value) => format.format(value === 0 ? 0 : value);
};

/** Of 2.5: 1. */
const decimalsOf = (value: number): number => {
  for (let decimals = 0; decimals < 10; decimals += 1) {
    if (Math.abs(value * 10 ** decimals - Math.round(value * 10 ** decimals)) < 1e-6) return decimals;
  }
  return 10;
};

/* Pies and doughnuts: the shares of the first series that has any. */

type Slice = Readonly<{ label: string; value: number; color: string }>;
export type Area = Readonly<{ x: number; y: number; width: number; height: number }>;

/** More cannot be told apart. */
export const SLICES_MAX = 12;
const SMALLEST_SHARE_WITH_TEXT = 0.05;
const REST_COLOR = '#9ca3af';
const HOLE = 0.58;

/** Values of zero and below have no share. The order is that of the data; of more than `slicesMax` the smallest are one slice, the last. */
export const slicesOf = ({ categories, series }: ExpandedChart, slicesMax: number): readonly Slice[] => {
  const values = series.find((one) => one.values.some((value) => value !== null && value > 0))?.values ?? [];
  const all = values.flatMap((value, at) => (value !== null && value > 0 ? [{ label: categories[at] ?? '', value, at }] : []));
  const kept =
    all.length <= slicesMax
      ? all
      : [...all]
          .sort((a, b) => b.value - a.value || a.at - b.at)
          .slice(0, slicesMax - 1)
          .sort((a, b) => a.at - b.at);
  const slices = kept.map(({ label, value }, index) => ({ label, value, color: chartPalette[index % chartPalette.length]! }));
  if (kept.length === all.length) return slices;
  const keptPlaces = new Set(kept.map(({ at }) => at));
  const rest = all.filter(({ at }) => !keptPlaces.has(at));
  return [...slices, { label: `… (${rest.length})`, value: rest.reduce((sum, { value }) => sum + value, 0), color: REST_COLOR }];
};

/** The share of each slice, for its label; of values of any size. */
export const sharesOf = (slices: readonly Slice[]): readonly number[] => {
  const largest = Math.max(...slices.map(({ value }) => value));
  const total = slices.reduce((sum, { value }) => sum + value / largest, 0);
  return slices.map(({ value }) => value / largest / total);
};

export const drawRound = (slices: readonly Slice[], isDoughnut: boolean, area: Area, text: ChartText): string => {
  const radius = Math.max(4, Math.min(area.width, area.height) / 2);
  const [cx, cy] = [area.x + area.width / 2, area.y + area.height / 2];
  const percent = new Intl.NumberFormat(text.locale, { style: 'percent', maximumFractionDigits: 0 });
  const inner = isDoughnut ? radius * HOLE : 0;
  const size = Math.min(9, radius / 5);
  let from = 0;
  const parts: string[] = [];
  const labels: string[] = [];
  for (const [index, share] of sharesOf(slices).entries()) {
    const { color } = slices[index]!;
    const middle = (from + share / 2) * 2 * Math.PI;
    parts.push(
      `<path d="${ring(cx, cy, radius, inner, from, share)}" fill="${color}" fill-rule="evenodd" stroke="#ffffff" stroke-width="${slices.length > 1 ? 1 : 0}"/>`,
    );
    if (share >= SMALLEST_SHARE_WITH_TEXT && size >= 5) {
      const distance = isDoughnut ? (radius + inner) / 2 : radius * (slices.length === 1 ? 0 : 0.66);
      labels.push(
        textElement(
          percent.format(share),
          cx + distance * Math.sin(middle),
          cy - distance * Math.cos(middle) + size * 0.35,
          { size, color: inkOn(color), anchor: 'middle', bold: true },
          text,
        ),
      );
    }
    from += share;
  }
  return parts.join('') + labels.join('');
};

/** A slice from `from` on, both in turns; a whole circle is two halves, for an arc cannot end where it begins. */
const ring = (cx: number, cy: number, outer: number, inner: number, from: number, share: number): string => {
  const point = (radius: number, turn: number): string =>
    `${n(cx + radius * Math.sin(turn * 2 * Math.PI))} ${n(cy - radius * Math.cos(turn * 2 * Math.PI))}`;
  const circle = (radius: number): string =>
    `M${point(radius, 0)}A${n(radius)} ${n(radius)} 0 0 1 ${point(radius, 0.5)}A${n(radius)} ${n(radius)} 0 0 1 ${point(radius, 1)}Z`;
  if (share > 0.9999) return circle(outer) + (inner > 0 ? circle(inner) : '');
  const to = from + share;
  const large = share > 0.5 ? 1 : 0;
  const arc = `M${point(outer, from)}A${n(outer)} ${n(outer)} 0 ${large} 1 ${point(outer, to)}`;
  return inner === 0
    ? `${arc}L${n(cx)} ${n(cy)}Z`
    : `${arc}L${point(inner, to)}A${n(inner)} ${n(inner)} 0 ${large} 0 ${point(inner, from)}Z`;
};

/** Black or white, whichever is read better on the colour (WCAG 2.2, relative luminance). */
export const inkOn = (color: string): string => {
  const [red = 0, green = 0, blue = 0] = (color.slice(1).match(/../g) ?? []).map((pair) => {
    const channel = parseInt(pair, 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#111827' : '#ffffff';
};
