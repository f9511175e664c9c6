/** The axes of a chart: the room that their labels need, the labels, and the lines of the grid. */
import { LABEL_PT, TEXT_COLOR, axisNumbers, fitted, n, textElement, type ChartText } from './chart-text.js';
import { niceScale, type Scale } from './charts-scale.js';
import type { Area } from './charts-round.js';

const GRID_COLOR = '#e5e7eb';
const AXIS_COLOR = '#9ca3af';
const TITLE_PT = 9;
/** From one line of labels to the next. */
const PITCH_PT = LABEL_PT * 1.35;
const ROTATED_DEGREES = -40;

export type Axes = Readonly<{
  categories: readonly string[];
  isHorizontal: boolean;
  xTitle: string;
  yTitle: string;
  lowest: number;
  highest: number;
  fromZero: boolean;
}>;

/** `area` is what is left for the marks. */
export type DrawnAxes = Readonly<{ area: Area; scale: Scale; grid: string; labels: string }>;

export const drawAxes = (axes: Axes, outer: Area, text: ChartText): DrawnAxes =>
  axes.isHorizontal ? horizontal(axes, outer, text) : vertical(axes, outer, text);

/** Values upwards, categories along the bottom. */
const vertical = (axes: Axes, outer: Area, text: ChartText): DrawnAxes => {
  const xTitle = axes.xTitle === '' ? 0 : TITLE_PT + 6;
  const yTitle = axes.yTitle === '' ? 0 : TITLE_PT + 6;
  const scale = niceScale(axes.lowest, axes.highest, Math.min(8, Math.max(2, outer.height / 38)), axes.fromZero);
  const numbers = numberLabels(scale, outer.width * 0.3, text);
  const heightMax = Math.max(outer.height * 0.35, Math.min(60, outer.height / 2));
  const numbersWidth = yTitle + Math.max(0, ...numbers.map(({ width }) => width)) + 6;
  const { overhang } = categoryLabels(axes.categories, Math.max(10, outer.width - numbersWidth), heightMax, Infinity, text);
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
    textElement(number, area.x - 6, yOf(scale.ticks[index]!) + LABEL_PT * 0.35, { size: LABEL_PT, color: TEXT_COLOR, anchor: 'end' }, text),
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

/** Categories downwards, values along the bottom. The title of the values is `yTitle`, as in a chart that stands upright. */
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
  const widest = Math.max(0, ...numberLabels(probe, outer.width * 0.3, text).map(({ width }) => width));
  const width = Math.max(10, outer.x + outer.width - left - widest / 2);
  const scale = niceScale(axes.lowest, axes.highest, Math.min(8, Math.max(1, width / (widest + 16))), true);
  const area: Area = { x: left, y: outer.y, width, height };
  const xOf = (value: number): number => area.x + scale.at(value) * area.width;
  const bottom = area.y + area.height;
  const values = numberLabels(scale, outer.width * 0.3, text).map(({ text: number }, index) =>
    textElement(number, xOf(scale.ticks[index]!), bottom + PITCH_PT, { size: LABEL_PT, color: TEXT_COLOR, anchor: 'middle' }, text),
  );
  return {
    area,
    scale,
    grid: scale.ticks.map((tick) => line(xOf(tick), area.y, xOf(tick), bottom, tick === 0 ? AXIS_COLOR : GRID_COLOR)).join(''),
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

const title = (words: string, x: number, y: number, widthMax: number, rotate: number | undefined, text: ChartText): string =>
  textElement(
    fitted(words, TITLE_PT, widthMax, text).text,
    x,
    y,
    { size: TITLE_PT, color: TEXT_COLOR, anchor: 'middle', ...(rotate === undefined ? {} : { rotate }) },
    text,
  );

const numberLabels = (scale: Scale, widthMax: number, text: ChartText): readonly Readonly<{ text: string; width: number }>[] => {
  const write = axisNumbers(scale.step, Math.max(Math.abs(scale.min), Math.abs(scale.max)), text.locale);
  return scale.ticks.map((tick) => fitted(write(tick), LABEL_PT, widthMax, text));
};

/** `overhang`: how far the labels reach to the left of the axis. */
type CategoryLabels = Readonly<{ height: number; overhang: number; draw: (left: number, top: number) => string }>;

/** Level where they fit, else turned; every second, third, … where even those would touch. `leftRoom` is free beside the first. */
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
          .map((label) => textElement(label.text, left + (label.at + 0.5) * band, top + PITCH_PT, { ...look, anchor: 'middle' }, text))
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
