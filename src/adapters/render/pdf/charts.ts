/**
 * Charts as SVG for the PDF, in the fonts of the document: title and legend around a pie, a doughnut, or axes with
 * marks.
 */
import { chartPalette } from '../../../domain/rendering/css.js';
import type { ExpandedChart } from '../../../domain/rendering/expand/expanded.js';
import { drawAxes, drawBars, drawLines, drawStacks, type Series } from './chart-axes.js';
import {
  type Area,
  type AxisKind,
  LABEL_PT,
  TEXT_COLOR,
  TITLE_COLOR,
  chartText,
  fitted,
  n,
  textElement,
  type ChartPlace,
  type ChartText,
} from './chart-text.js';
import { pdfColor } from '../colors.js';

export type ChartDrawing = Readonly<{ svg: string; /** In points. */ width: number; height: number }>;

const TITLE_PT = 12;
const MARGIN_PT = 6;
const SMALLEST_PT = 40;
const HEIGHT_PER_WIDTH = 0.55;
const LEGEND_BOX_PT = 8;
/** Beyond it the numbers of an axis are lost in their own precision. */
const LARGEST = 1e300;

/** More slices cannot be told apart. */
const SLICES_MAX = 12;
const SMALLEST_SHARE_WITH_TEXT = 0.05;
const REST_COLOR = '#9ca3af';
const HOLE = 0.58;

/**
 * In: a chart, and the room in points that it may fill in width. Out: an SVG of that size in points, with text in the
 * fonts of the document, families by their names in `fonts.descriptors`. Equal charts give equal text. Throws
 * DomainError FONT_MISSING.
 */
export const chartSvg = (chart: ExpandedChart, widthPt: number, place: ChartPlace): ChartDrawing => {
  const text = chartText(place, chart.field);
  const width = Math.max(SMALLEST_PT, Math.min(chart.width ?? widthPt, widthPt));
  const height = Math.max(SMALLEST_PT, chart.height ?? naturalHeight(chart, width));
  const outer: Area = { x: MARGIN_PT, y: MARGIN_PT, width: width - 2 * MARGIN_PT, height: height - 2 * MARGIN_PT };
  const title = fitted(chart.title, TITLE_PT, outer.width, text, true).text;
  const heading = textElement(
    title,
    width / 2,
    outer.y + TITLE_PT,
    { size: TITLE_PT, color: TITLE_COLOR, anchor: 'middle', bold: true },
    text,
  );
  const body = title === '' ? outer : below(outer, TITLE_PT * 1.8);
  const drawn = heading + drawBody(chart, body, text);
  const sides = text.isMirrored ? `<g transform="translate(${n(width)} 0)scale(-1 1)">${drawn}</g>` : drawn;
  return {
    svg: `<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}">${sides}</svg>`,
    width,
    height,
  };
};

/** Bars lie below each other: many of them need more height. */
const naturalHeight = ({ chartType, categories, series }: ExpandedChart, width: number): number => {
  const height = width * HEIGHT_PER_WIDTH;
  return chartType === 'bar'
    ? Math.max(height, Math.min(width * 1.2, 70 + categories.length * Math.max(12, series.length * 6)))
    : height;
};

const below = (area: Area, points: number): Area => ({
  ...area,
  y: area.y + points,
  height: Math.max(10, area.height - points),
});
const above = (area: Area, points: number): Area => ({ ...area, height: Math.max(10, area.height - points) });

const drawBody = (chart: ExpandedChart, area: Area, text: ChartText): string => {
  switch (chart.chartType) {
    case 'pie':
    case 'doughnut':
      return roundBody(chart, area, text);
    case 'bar':
    case 'column':
    case 'stacked-column':
    case 'line':
    case 'area':
      return axesBody(chart, area, text);
  }
};

const nothing = (area: Area, text: ChartText): string =>
  `<path d="M${n(area.x)} ${n(area.y)}h${n(area.width)}v${n(area.height)}h${n(-area.width)}z" fill="#f9fafb" stroke="#e5e7eb" stroke-width="0.6"/>` +
  textElement(
    'No data',
    area.x + area.width / 2,
    area.y + area.height / 2 + 3,
    { size: 9, color: '#6b7280', anchor: 'middle' },
    text,
  );

const roundBody = (chart: ExpandedChart, area: Area, text: ChartText): string => {
  const slices = slicesOf(
    chart,
    chart.showLegend ? Math.max(2, Math.min(SLICES_MAX, Math.floor(area.height / ROW_PT))) : SLICES_MAX,
  );
  if (slices.length === 0) return nothing(area, text);
  const entries = slices.map(({ label, color }) => ({ name: label, color }));
  if (!chart.showLegend) return circleOf(slices, chart, area, text);
  // Beside the circle where there is room for both, for it is as high as it is wide.
  if (area.width >= 1.4 * area.height) {
    const circle: Area = { ...area, width: Math.min(area.height, area.width * 0.55) };
    const space = area.width - circle.width;
    const column = legendColumn(entries, { ...area, x: 0, width: space - 18 }, text);
    const start = area.x + (space - column.width - 18) / 2;
    return (
      circleOf(slices, chart, { ...circle, x: start }, text) +
      `<g transform="translate(${n(start + circle.width + 18)} 0)">${column.svg}</g>`
    );
  }
  const legend = legendRows(entries, area, text);
  return circleOf(slices, chart, above(area, legend.height), text) + legend.svg;
};

/** Slices follow each other clockwise in every language: in a drawing that is turned round they are turned back. */
const circleOf = (slices: readonly Slice[], { chartType }: ExpandedChart, area: Area, text: ChartText): string => {
  const circle = drawRound(slices, chartType === 'doughnut', area, { ...text, isMirrored: false });
  return text.isMirrored
    ? `<g transform="translate(${n(2 * area.x + area.width)} 0)scale(-1 1)">${circle}</g>`
    : circle;
};

type Slice = Readonly<{ label: string; value: number; color: string }>;

/**
 * Values of zero and below have no share. The order is that of the data; of more than `slicesMax` the smallest are one
 * slice, the last.
 */
export const slicesOf = ({ categories, series }: ExpandedChart, slicesMax: number): readonly Slice[] => {
  const values = series.find((one) => one.values.some((value) => value !== null && value > 0))?.values ?? [];
  const all = values.flatMap((value, at) =>
    value !== null && value > 0 ? [{ label: categories[at] ?? '', value, at }] : [],
  );
  const kept =
    all.length <= slicesMax
      ? all
      : [...all]
          .sort((a, b) => b.value - a.value || a.at - b.at)
          .slice(0, slicesMax - 1)
          .sort((a, b) => a.at - b.at);
  const slices = kept.map(({ label, value }, index) => ({
    label,
    value,
    color: chartPalette[index % chartPalette.length]!,
  }));
  if (kept.length === all.length) return slices;
  const keptPlaces = new Set(kept.map(({ at }) => at));
  const rest = all.filter(({ at }) => !keptPlaces.has(at));
  return [
    ...slices,
    { label: `… (${rest.length})`, value: rest.reduce((sum, { value }) => sum + value, 0), color: REST_COLOR },
  ];
};

/** The share of each slice, for its label; of values of any size. */
export const sharesOf = (slices: readonly Slice[]): readonly number[] => {
  const largest = Math.max(...slices.map(({ value }) => value));
  const total = slices.reduce((sum, { value }) => sum + value / largest, 0);
  return slices.map(({ value }) => value / largest / total);
};

/** A pie or a doughnut with the percentage of each slice that has room for it. */
const drawRound = (slices: readonly Slice[], isDoughnut: boolean, area: Area, text: ChartText): string => {
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

const axesBody = (chart: ExpandedChart, area: Area, text: ChartText): string => {
  const count = chart.categories.length;
  const series = chart.series.map(({ name, color, values }, index): Series => ({
    name,
    color: pdfColor(color) ?? chartPalette[index % chartPalette.length]!,
    values: chart.categories.map((_, at) => bounded(values[at] ?? null)),
  }));
  const isStacked = chart.chartType === 'stacked-column';
  const range = isStacked ? stackedRange(series, count) : plainRange(series);
  if (range === undefined) return nothing(area, text);
  const legend = chart.showLegend ? legendRows(series, area, text) : { svg: '', height: 0 };
  const isHorizontal = chart.chartType === 'bar';
  const axes = drawAxes(
    {
      categories: chart.categories,
      isHorizontal,
      xTitle: chart.xTitle,
      yTitle: chart.yTitle,
      lowest: range[0],
      highest: range[1],
      fromZero: chart.chartType !== 'line',
      kind: kindOf(chart),
    },
    above(area, legend.height),
    text,
  );
  const plot = { area: axes.area, scale: axes.scale, categoryCount: count };
  const marks = isStacked
    ? drawStacks(series, plot)
    : chart.chartType === 'line' || chart.chartType === 'area'
      ? drawLines(series, plot, chart.chartType === 'area')
      : drawBars(series, plot, isHorizontal);
  return axes.grid + marks + axes.labels + legend.svg;
};

/** The axis is written as the first series, as in a workbook. */
const kindOf = ({ series: [first] }: ExpandedChart): AxisKind => {
  const format = first?.displayFormat?.format;
  if (format?.style === 'percent') return { style: 'percent' };
  return format?.style === 'currency' && format.currency !== undefined
    ? { style: 'currency', currency: format.currency }
    : {};
};

const bounded = (value: number | null): number | null =>
  value === null || !Number.isFinite(value)
    ? null
    : Math.abs(value) < 1 / LARGEST
      ? 0
      : Math.min(LARGEST, Math.max(-LARGEST, value));

type Range = readonly [lowest: number, highest: number];

const plainRange = (series: readonly Series[]): Range | undefined => {
  let range: Range | undefined;
  for (const { values } of series) {
    for (const value of values) {
      if (value !== null)
        range = range === undefined ? [value, value] : [Math.min(range[0], value), Math.max(range[1], value)];
    }
  }
  return range;
};

const stackedRange = (series: readonly Series[], count: number): Range | undefined => {
  if (plainRange(series) === undefined) return undefined;
  let [lowest, highest] = [0, 0];
  for (let at = 0; at < count; at += 1) {
    const values = series.map((one) => one.values[at] ?? 0);
    lowest = Math.min(
      lowest,
      values.reduce((sum, value) => sum + Math.min(0, value), 0),
    );
    highest = Math.max(
      highest,
      values.reduce((sum, value) => sum + Math.max(0, value), 0),
    );
  }
  return [lowest, highest];
};

type Entry = Readonly<{ name: string; color: string }>;

const ROW_PT = LABEL_PT * 1.6;
/** A legend with more entries than this says how many it leaves out. */
const ENTRIES_MAX = 24;

const entry = ({ name, color }: Entry, x: number, baseline: number, text: ChartText): string =>
  `<path d="M${n(x)} ${n(baseline - LEGEND_BOX_PT + 1)}h${LEGEND_BOX_PT}v${LEGEND_BOX_PT}h-${LEGEND_BOX_PT}z" fill="${color}"/>` +
  textElement(name, x + LEGEND_BOX_PT + 4, baseline, { size: LABEL_PT, color: TEXT_COLOR, anchor: 'start' }, text);

const legible = (entries: readonly Entry[], max: number): readonly Entry[] =>
  entries.length <= max
    ? entries
    : [...entries.slice(0, max - 1), { name: `… (${entries.length - max + 1})`, color: '#9ca3af' }];

/** Rows at the bottom of an area, each in its middle. */
const legendRows = (
  entries: readonly Entry[],
  area: Area,
  text: ChartText,
): Readonly<{ svg: string; height: number }> => {
  const rowsMax = Math.max(1, Math.floor((area.height * 0.4) / ROW_PT));
  const rows: { items: (Entry & Readonly<{ width: number }>)[]; width: number }[] = [];
  for (const given of legible(entries, ENTRIES_MAX)) {
    const name = fitted(given.name, LABEL_PT, Math.min(area.width - LEGEND_BOX_PT - 4, 180), text);
    const width = LEGEND_BOX_PT + 4 + name.width + 14;
    const row = rows.at(-1);
    if (row !== undefined && row.width + width - 14 <= area.width) {
      row.items.push({ ...given, name: name.text, width });
      row.width += width;
    } else if (rows.length < rowsMax) {
      rows.push({ items: [{ ...given, name: name.text, width }], width });
    }
  }
  const height = rows.length * ROW_PT + 6;
  const svg = rows
    .map((row, index) => {
      let x = area.x + (area.width - (row.width - 14)) / 2;
      const baseline = area.y + area.height - (rows.length - index) * ROW_PT + LABEL_PT + 2;
      return row.items
        .map((item) => {
          const drawn = entry(item, x, baseline, text);
          x += item.width;
          return drawn;
        })
        .join('');
    })
    .join('');
  return { svg, height };
};

/** One entry below the other, in the middle of the area's height. */
const legendColumn = (
  entries: readonly Entry[],
  area: Area,
  text: ChartText,
): Readonly<{ svg: string; width: number }> => {
  const shown = legible(entries, Math.max(1, Math.floor(area.height / ROW_PT))).map((given) => ({
    ...given,
    ...fitted(given.name, LABEL_PT, area.width - LEGEND_BOX_PT - 4, text),
  }));
  const top = area.y + (area.height - shown.length * ROW_PT) / 2;
  return {
    svg: shown
      .map(({ text: name, color }, index) => entry({ name, color }, area.x, top + index * ROW_PT + LABEL_PT + 1, text))
      .join(''),
    width: Math.max(...shown.map(({ width }) => width)) + LEGEND_BOX_PT + 4,
  };
};
