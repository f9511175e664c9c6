/** The marks of charts with axes: bars, columns, stacks, lines and areas. */
import { n } from './chart-text.js';
import type { Scale } from './charts-scale.js';
import type { Area } from './charts-round.js';

export type Series = Readonly<{ name: string; color: string; values: readonly (number | null)[] }>;
export type Plot = Readonly<{ area: Area; scale: Scale; categoryCount: number }>;

/** The share of a category's band that its bars fill. */
const FILLED = 0.72;
/** More points than this get no dots. */
const DOTTED_POINTS_MAX = 40;

const rectangle = (x: number, y: number, width: number, height: number): string =>
  `M${n(x)} ${n(y)}h${n(width)}v${n(height)}h${n(-width)}z`;

/** The bar from one value to another across a part of a band; lengths in points. */
type Bar = Readonly<{ from: number; to: number; start: number; size: number }>;

const barPath = ({ area, scale }: Plot, isHorizontal: boolean, { from, to, start, size }: Bar): string => {
  const [low, high] = [scale.at(Math.min(from, to)), scale.at(Math.max(from, to))];
  return isHorizontal
    ? rectangle(area.x + low * area.width, area.y + start, (high - low) * area.width, size)
    : rectangle(area.x + start, area.y + (1 - high) * area.height, size, (high - low) * area.height);
};

const bandOf = ({ area, categoryCount }: Plot, isHorizontal: boolean): number => (isHorizontal ? area.height : area.width) / categoryCount;

/** Side by side within each category, from zero. */
export const drawBars = (series: readonly Series[], plot: Plot, isHorizontal: boolean): string => {
  const band = bandOf(plot, isHorizontal);
  const size = (band * FILLED) / series.length;
  const gap = size > 6 ? 1 : 0;
  return series
    .map(({ color, values }, index) => {
      const bars = values.map((value, at) =>
        value === null
          ? ''
          : barPath(plot, isHorizontal, {
              from: 0,
              to: value,
              start: at * band + (band * (1 - FILLED)) / 2 + index * size,
              size: size - gap,
            }),
      );
      return filled(bars.join(''), color);
    })
    .join('');
};

/** On top of each other: what is above zero upwards, what is below downwards. */
export const drawStacks = (series: readonly Series[], plot: Plot): string => {
  const band = bandOf(plot, false);
  const tops = new Float64Array(plot.categoryCount);
  const bottoms = new Float64Array(plot.categoryCount);
  return series
    .map(({ color, values }) => {
      const bars = values.map((value, at) => {
        if (value === null || value === 0) return '';
        const side = value > 0 ? tops : bottoms;
        const from = side[at]!;
        side[at] = from + value;
        return barPath(plot, false, { from, to: from + value, start: at * band + (band * (1 - FILLED)) / 2, size: band * FILLED });
      });
      return filled(bars.join(''), color);
    })
    .join('');
};

const filled = (path: string, color: string): string => (path === '' ? '' : `<path d="${path}" fill="${color}"/>`);

type Point = Readonly<{ x: number; y: number }>;

/** A line for each series, broken where there is no value; areas are filled down to zero. */
export const drawLines = (series: readonly Series[], plot: Plot, isFilled: boolean): string => {
  const { area, scale, categoryCount } = plot;
  const zero = area.y + (1 - Math.min(1, Math.max(0, scale.at(0)))) * area.height;
  const band = area.width / categoryCount;
  const drawn = series.map(({ color, values }) => {
    const pieces = piecesOf(values, (value, at) => ({ x: area.x + (at + 0.5) * band, y: area.y + (1 - scale.at(value)) * area.height }));
    const thinned = pieces.map((piece) => thin(piece));
    const fills = isFilled
      ? thinned.map((piece) => `${lineOf(piece)}L${n(piece.at(-1)!.x)} ${n(zero)}L${n(piece[0]!.x)} ${n(zero)}z`).join('')
      : '';
    const lines = thinned
      .filter((piece) => piece.length > 1)
      .map(lineOf)
      .join('');
    const dots = pieces.flatMap((piece) => (categoryCount <= DOTTED_POINTS_MAX || piece.length === 1 ? piece : []));
    return {
      fill: fills === '' ? '' : `<path d="${fills}" fill="${color}" fill-opacity="0.22"/>`,
      line:
        (lines === ''
          ? ''
          : `<path d="${lines}" fill="none" stroke="${color}" stroke-width="1.6" stroke-linejoin="round" stroke-linecap="round"/>`) +
        dots.map(({ x, y }) => `<circle cx="${n(x)}" cy="${n(y)}" r="${isFilled ? 1.4 : 2}" fill="${color}"/>`).join(''),
    };
  });
  return drawn.map(({ fill }) => fill).join('') + drawn.map(({ line }) => line).join('');
};

const lineOf = (points: readonly Point[]): string => points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${n(x)} ${n(y)}`).join('');

const piecesOf = (values: readonly (number | null)[], pointOf: (value: number, at: number) => Point): readonly (readonly Point[])[] => {
  const pieces: Point[][] = [];
  let isOpen = false;
  for (const [at, value] of values.entries()) {
    if (value !== null) {
      if (isOpen) pieces.at(-1)!.push(pointOf(value, at));
      else pieces.push([pointOf(value, at)]);
    }
    isOpen = value !== null;
  }
  return pieces;
};

/** Points closer than this are one stroke: of those the first, the highest, the lowest and the last are drawn. */
const COLUMN_PT = 0.5;

const thin = (points: readonly Point[]): readonly Point[] => {
  const kept: Point[] = [];
  for (let start = 0; start < points.length;) {
    let end = start;
    while (end + 1 < points.length && points[end + 1]!.x - points[start]!.x < COLUMN_PT) end += 1;
    const column = points.slice(start, end + 1);
    const lowest = column.reduce((best, point) => (point.y > best.y ? point : best));
    const highest = column.reduce((best, point) => (point.y < best.y ? point : best));
    kept.push(...column.filter((point, index) => index === 0 || index === column.length - 1 || point === lowest || point === highest));
    start = end + 1;
  }
  return kept;
};
