/**
 * Charts with axes: the scale of the values, the axes with their labels and grid, and the marks (bars, stacks, lines,
 * areas).
 */
import {
  n,
  type Area,
  LABEL_PT,
  TEXT_COLOR,
  axisNumbers,
  type AxisKind,
  fitted,
  textElement,
  type ChartText,
} from './chart-text.js';

/** The round numbers between which the values of a chart lie. */
type Scale = Readonly<{
  min: number;
  max: number;
  step: number;
  ticks: readonly number[];
  /** 0 at `min`, 1 at `max`. */ at: (value: number) => number;
}>;

export type Series = Readonly<{ name: string; color: string; values: readonly (number | null)[] }>;
type Plot = Readonly<{ area: Area; scale: Scale; categoryCount: number }>;

/** The bar from one value to another across a part of a band; lengths in points. */
type Bar = Readonly<{ from: number; to: number; start: number; size: number }>;

type Point = Readonly<{ x: number; y: number }>;

type Axes = Readonly<{
  categories: readonly string[];
  isHorizontal: boolean;
  xTitle: string;
  yTitle: string;
  lowest: number;
  highest: number;
  fromZero: boolean;
  kind: AxisKind;
}>;

/** `area` is what is left for the marks. */
type DrawnAxes = Readonly<{ area: Area; scale: Scale; grid: string; labels: string }>;

/** `overhang`: how far the labels reach to the left of the axis. */
type CategoryLabels = Readonly<{ height: number; overhang: number; draw: (left: number, top: number) => string }>;

/** Most steps of a scale: more are lost in the precision of the numbers. */
const TICKS_MAX = 20;

/** The share of a category's band that its bars fill. */
const FILLED = 0.72;
/** More points than this get no dots. */
const DOTTED_POINTS_MAX = 40;

/** Points closer than this are one stroke: of those the first, the highest, the lowest and the last are drawn. */
const COLUMN_PT = 0.5;

const GRID_COLOR = '#e5e7eb';
const AXIS_COLOR = '#9ca3af';
const TITLE_PT = 9;
/** From one line of labels to the next. */
const PITCH_PT = LABEL_PT * 1.35;
const ROTATED_DEGREES = -40;

export const drawAxes = (axes: Axes, outer: Area, text: ChartText): DrawnAxes =>
  axes.isHorizontal ? horizontal(axes, outer, text) : vertical(axes, outer, text);

/** Values upwards, categories along the bottom. */
const vertical = (axes: Axes, outer: Area, text: ChartText): DrawnAxes => {
  const xTitle = axes.xTitle === '' ? 0 : TITLE_PT + 6;
  const yTitle = axes.yTitle === '' ? 0 : TITLE_PT + 6;
  const scale = niceScale(axes.lowest, axes.highest, Math.min(8, Math.max(2, outer.height / 38)), axes.fromZero);
  const numbers = numberLabels(scale, outer.width * 0.3, axes.kind, text);
  const heightMax = Math.max(outer.height * 0.35, Math.min(60, outer.height / 2));
  const numbersWidth = yTitle + Math.max(0, ...numbers.map(({ width }) => width)) + 6;
  const { overhang } = categoryLabels(
    axes.categories,
    Math.max(10, outer.width - numbersWidth),
    heightMax,
    Infinity,
    text,
  );
  // Turned labels reach to the left of their place: as far as there is room to give, the axis makes way for the first.
  const leftRoom = Math.max(numbersWidth, Math.min(overhang, numbersWidth + outer.width * 0.12));
  const left = outer.x + leftRoom;
  const width = Math.max(10, outer.width - leftRoom);
  const below = categoryLabels(axes.categories, width, heightMax, leftRoom, text);
  const area: Area = {
    x: left,
    y: outer.y + LABEL_PT / 2,
    width,
    height: Math.max(10, outer.height - LABEL_PT / 2 - below.height - xTitle),
  };
  const yOf = (value: number): number => area.y + (1 - scale.at(value)) * area.height;
  const grid = scale.ticks
    .map((tick) => line(area.x, yOf(tick), area.x + area.width, yOf(tick), tick === 0 ? AXIS_COLOR : GRID_COLOR))
    .join('');
  const values = numbers.map(({ text: number }, index) =>
    textElement(
      number,
      area.x - 6,
      yOf(scale.ticks[index]!) + LABEL_PT * 0.35,
      { size: LABEL_PT, color: TEXT_COLOR, anchor: 'end' },
      text,
    ),
  );
  const bottom = area.y + area.height;
  return {
    area,
    scale,
    grid: grid + (scale.min === 0 ? '' : line(area.x, bottom, area.x + area.width, bottom, GRID_COLOR)),
    labels:
      values.join('') +
      below.draw(area.x, bottom) +
      title(axes.xTitle, area.x + area.width / 2, outer.y + outer.height - 3, area.width, undefined, text) +
      title(axes.yTitle, outer.x + TITLE_PT, area.y + area.height / 2, area.height, -90, text),
  };
};

/**
 * Categories downwards, values along the bottom. The title of the values is `yTitle`, as in a chart that stands
 * upright.
 */
const horizontal = (axes: Axes, outer: Area, text: ChartText): DrawnAxes => {
  const below = axes.yTitle === '' ? 0 : TITLE_PT + 6;
  const beside = axes.xTitle === '' ? 0 : TITLE_PT + 6;
  const height = Math.max(10, outer.height - PITCH_PT - 4 - below);
  const band = height / axes.categories.length;
  const every = Math.max(1, Math.ceil(PITCH_PT / band));
  const names = axes.categories.flatMap((name, at) =>
    at % every === 0 ? [{ at, ...fitted(name, LABEL_PT, outer.width * 0.35, text) }] : [],
  );
  const left = outer.x + beside + names.reduce((widest, { width }) => Math.max(widest, width), 0) + 6;
  const probe = niceScale(axes.lowest, axes.highest, 5, true);
  const widest = Math.max(0, ...numberLabels(probe, outer.width * 0.3, axes.kind, text).map(({ width }) => width));
  const width = Math.max(10, outer.x + outer.width - left - widest / 2);
  const scale = niceScale(axes.lowest, axes.highest, Math.min(8, Math.max(1, width / (widest + 16))), true);
  const area: Area = { x: left, y: outer.y, width, height };
  const xOf = (value: number): number => area.x + scale.at(value) * area.width;
  const bottom = area.y + area.height;
  const values = numberLabels(scale, outer.width * 0.3, axes.kind, text).map(({ text: number }, index) =>
    textElement(
      number,
      xOf(scale.ticks[index]!),
      bottom + PITCH_PT,
      { size: LABEL_PT, color: TEXT_COLOR, anchor: 'middle' },
      text,
    ),
  );
  return {
    area,
    scale,
    grid: scale.ticks
      .map((tick) => line(xOf(tick), area.y, xOf(tick), bottom, tick === 0 ? AXIS_COLOR : GRID_COLOR))
      .join(''),
    labels:
      values.join('') +
      names
        .map(({ at, text: name }) =>
          textElement(
            name,
            area.x - 6,
            area.y + (at + 0.5) * band + LABEL_PT * 0.35,
            { size: LABEL_PT, color: TEXT_COLOR, anchor: 'end' },
            text,
          ),
        )
        .join('') +
      title(axes.yTitle, area.x + area.width / 2, outer.y + outer.height - 3, area.width, undefined, text) +
      title(axes.xTitle, outer.x + TITLE_PT, area.y + area.height / 2, area.height, -90, text),
  };
};

const line = (x1: number, y1: number, x2: number, y2: number, color: string): string =>
  `<path d="M${n(x1)} ${n(y1)}L${n(x2)} ${n(y2)}" stroke="${color}" stroke-width="0.6" fill="none"/>`;

const title = (
  words: string,
  x: number,
  y: number,
  widthMax: number,
  rotate: number | undefined,
  text: ChartText,
): string =>
  textElement(
    fitted(words, TITLE_PT, widthMax, text).text,
    x,
    y,
    { size: TITLE_PT, color: TEXT_COLOR, anchor: 'middle', ...(rotate === undefined ? {} : { rotate }) },
    text,
  );

const numberLabels = (
  scale: Scale,
  widthMax: number,
  kind: AxisKind,
  text: ChartText,
): readonly Readonly<{ text: string; width: number }>[] => {
  const write = axisNumbers(scale.step, Math.max(Math.abs(scale.min), Math.abs(scale.max)), text.locale, kind);
  return scale.ticks.map((tick) => fitted(write(tick), LABEL_PT, widthMax, text));
};

/**
 * Level where they fit, else turned; every second, third, … where even those would touch. `leftRoom` is free beside the
 * first.
 */
const categoryLabels = (
  categories: readonly string[],
  width: number,
  heightMax: number,
  leftRoom: number,
  text: ChartText,
): CategoryLabels => {
  const band = width / categories.length;
  const look = { size: LABEL_PT, color: TEXT_COLOR };
  const everyLevel = Math.max(1, Math.ceil((LABEL_PT * 3.5) / band));
  const level = categories.flatMap((name, at) =>
    at % everyLevel === 0 ? [{ at, ...fitted(name, LABEL_PT, Math.max(band * everyLevel * 2, 60), text) }] : [],
  );
  if (level.every((label) => label.width <= band * everyLevel - 4 && !label.text.endsWith('…'))) {
    return {
      height: PITCH_PT + 4,
      overhang: 0,
      draw: (left, top) =>
        level
          .map((label) =>
            textElement(
              label.text,
              left + (label.at + 0.5) * band,
              top + PITCH_PT,
              { ...look, anchor: 'middle' },
              text,
            ),
          )
          .join(''),
    };
  }
  const [sine, cosine] = [Math.sin((-ROTATED_DEGREES * Math.PI) / 180), Math.cos((ROTATED_DEGREES * Math.PI) / 180)];
  const every = Math.max(1, Math.ceil(PITCH_PT / sine / band));
  const turned = categories.flatMap((name, at) => {
    if (at % every !== 0) return [];
    const room = Math.min((heightMax - LABEL_PT) / sine, (leftRoom + (at + 0.5) * band) / cosine);
    return [{ at, ...fitted(name, LABEL_PT, Math.max(room, 16), text) }];
  });
  const longest = turned.reduce((found, label) => Math.max(found, label.width), 0);
  return {
    height: longest * sine + LABEL_PT + 4,
    overhang: turned.reduce((reach, { at, width: own }) => Math.max(reach, own * cosine - (at + 0.5) * band), 0),
    draw: (left, top) =>
      turned
        .map((label) =>
          textElement(
            label.text,
            left + (label.at + 0.5) * band + LABEL_PT * 0.3,
            top + LABEL_PT + 2,
            { ...look, anchor: 'end', rotate: ROTATED_DEGREES },
            text,
          ),
        )
        .join(''),
  };
};

/**
 * Round numbers around the values: about `count` steps of 1, 2, 2.5 or 5 times a power of ten. With `fromZero` the axis
 * holds zero; without, it does so unless the values are close together far from it.
 */
export const niceScale = (lowest: number, highest: number, count: number, fromZero: boolean): Scale => {
  const isClose =
    highest - lowest < 0.2 * Math.max(Math.abs(highest), Math.abs(lowest)) &&
    highest !== lowest &&
    Math.sign(highest) === Math.sign(lowest);
  let low = fromZero || !isClose ? Math.min(0, lowest) : lowest;
  let high = fromZero || !isClose ? Math.max(0, highest) : highest;
  if (low === high) [low, high] = [0, 1];
  const step = niceStep(high / count - low / count);
  low = Math.floor(low / step + 1e-9) * step;
  high = Math.ceil(high / step - 1e-9) * step;
  const steps = Math.min(TICKS_MAX, Math.max(1, Math.round(high / step - low / step)));
  const ticks = Array.from({ length: steps + 1 }, (_, index) => rounded(low + index * step, step));
  return { min: low, max: high, step, ticks, at: (value) => (value / step - low / step) / (high / step - low / step) };
};

const niceStep = (rough: number): number => {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate >= rough / power - 1e-9) ?? 10;
  return factor * power;
};

/** Without the last digits that binary fractions leave: 0.30000000000000004 is 0.3. */
const rounded = (value: number, step: number): number => {
  const near = Math.round(value / step) * step;
  return Number(near.toPrecision(12));
};

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
        return barPath(plot, false, {
          from,
          to: from + value,
          start: at * band + (band * (1 - FILLED)) / 2,
          size: band * FILLED,
        });
      });
      return filled(bars.join(''), color);
    })
    .join('');
};

/** A line for each series, broken where there is no value; areas are filled down to zero. */
export const drawLines = (series: readonly Series[], plot: Plot, isFilled: boolean): string => {
  const { area, scale, categoryCount } = plot;
  const zero = area.y + (1 - Math.min(1, Math.max(0, scale.at(0)))) * area.height;
  const band = area.width / categoryCount;
  const drawn = series.map(({ color, values }) => {
    const pieces = piecesOf(values, (value, at) => ({
      x: area.x + (at + 0.5) * band,
      y: area.y + (1 - scale.at(value)) * area.height,
    }));
    const thinned = pieces.map((piece) => thin(piece));
    const fills = isFilled
      ? thinned
          .map((piece) => `${lineOf(piece)}L${n(piece.at(-1)!.x)} ${n(zero)}L${n(piece[0]!.x)} ${n(zero)}z`)
          .join('')
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
        dots
          .map(({ x, y }) => `<circle cx="${n(x)}" cy="${n(y)}" r="${isFilled ? 1.4 : 2}" fill="${color}"/>`)
          .join(''),
    };
  });
  return drawn.map(({ fill }) => fill).join('') + drawn.map(({ line }) => line).join('');
};

const rectangle = (x: number, y: number, width: number, height: number): string =>
  `M${n(x)} ${n(y)}h${n(width)}v${n(height)}h${n(-width)}z`;

const barPath = ({ area, scale }: Plot, isHorizontal: boolean, { from, to, start, size }: Bar): string => {
  const [low, high] = [scale.at(Math.min(from, to)), scale.at(Math.max(from, to))];
  return isHorizontal
    ? rectangle(area.x + low * area.width, area.y + start, (high - low) * area.width, size)
    : rectangle(area.x + start, area.y + (1 - high) * area.height, size, (high - low) * area.height);
};

const bandOf = ({ area, categoryCount }: Plot, isHorizontal: boolean): number =>
  (isHorizontal ? area.height : area.width) / categoryCount;

const filled = (path: string, color: string): string => (path === '' ? '' : `<path d="${path}" fill="${color}"/>`);

const lineOf = (points: readonly Point[]): string =>
  points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${n(x)} ${n(y)}`).join('');

const piecesOf = (
  values: readonly (number | null)[],
  pointOf: (value: number, at: number) => Point,
): readonly (readonly Point[])[] => {
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

const thin = (points: readonly Point[]): readonly Point[] => {
  const kept: Point[] = [];
  for (let start = 0; start < points.length;) {
    let end = start;
    while (end + 1 < points.length && points[end + 1]!.x - points[start]!.x < COLUMN_PT) end += 1;
    const column = points.slice(start, end + 1);
    const lowest = column.reduce((best, point) => (point.y > best.y ? point : best));
    const highest = column.reduce((best, point) => (point.y < best.y ? point : best));
    kept.push(
      ...column.filter(
        (point, index) => index === 0 || index === column.length - 1 || point === lowest || point === highest,
      ),
    );
    start = end + 1;
  }
  return kept;
};
