/**
 * Words and numbers of a chart as SVG: each text in the fonts that have it, measured, and cut short where there is no
 * room.
 */
import { holdsRightToLeft, withoutIsolates, type Direction } from '../../../domain/rendering/direction.js';
import type { Fonts, TextLine } from './fonts.js';

/** How the texts of one chart are drawn, and the language of its numbers. */
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
  const options = {
    locale,
    field,
    ...(family === undefined ? {} : { family }),
    ...(refuses === undefined ? {} : { refuses }),
  };
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
export type Area = Readonly<{ x: number; y: number; width: number; height: number }>;

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
const widthOf = (text: string, size: number, { line }: ChartText, bold: boolean): number =>
  line(text, bold).widthAt(size);

/** The text, or as much of its beginning as fits, with an ellipsis. */
export const fitted = (given: string, size: number, widthMax: number, context: ChartText, bold = false): Label => {
  // Text all from the left needs none, and may be drawn by fonts that have no form for them.
  const plain = holdsRightToLeft(given) ? given : withoutIsolates(given);
  const text = plain.replace(/\s+/g, ' ').trim().slice(0, CHARACTERS_MAX);
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

/** The share of a line's width that lies to the left of its anchor. */
const shares = { start: 0, middle: 0.5, end: 1 } as const;

/** One line of text; `y` is its baseline. */
export const textElement = (words: string, x: number, y: number, look: TextLook, text: ChartText): string => {
  if (!text.isMirrored) return drawnText(words, x, y, look, text);
  const { rotate, anchor, ...rest } = look;
  const mirrored: TextLook = {
    ...rest,
    anchor: opposite[anchor],
    ...(rotate === undefined ? {} : { rotate: -rotate }),
  };
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

/** The format of the numbers of an axis, if they are not plain numbers. */
export type AxisKind = Readonly<{ style?: 'currency'; currency?: string } | { style: 'percent' }>;

/**
 * Numbers of an axis: as many decimals as tell its steps apart, large ones shortened as the language does, money and
 * shares as such.
 */
export const axisNumbers = (
  step: number,
  largest: number,
  locale: string,
  kind: AxisKind = {},
): ((value: number) => string) => {
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
  const decimals = decimalsOf((step / unit) * (kind.style === 'percent' ? 100 : 1));
  // Money has no or all of its decimals.
  const { maximumFractionDigits: whole = 0 } = new Intl.NumberFormat(locale, kind).resolvedOptions();
  const fractions = kind.style === 'currency' && decimals > 0 ? Math.max(decimals, whole) : decimals;
  const format = new Intl.NumberFormat(locale, {
    ...kind,
    signDisplay: 'negative',
    ...(isCompact
      ? { notation: 'compact', minimumFractionDigits: 0, maximumFractionDigits: decimals }
      : { minimumFractionDigits: fractions, maximumFractionDigits: fractions }),
  });
  return (value) => format.format(value);
};

/** 1 for 2.5. */
const decimalsOf = (value: number): number => {
  for (let decimals = 0; decimals < 10; decimals += 1) {
    if (Math.abs(value * 10 ** decimals - Math.round(value * 10 ** decimals)) < 1e-6) return decimals;
  }
  return 10;
};
