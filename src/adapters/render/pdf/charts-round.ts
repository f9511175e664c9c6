/** Pies and doughnuts: the shares of the first series that has any. */
import { chartPalette } from '../../../domain/rendering/chart-palette.js';
import type { ExpandedChart } from '../../../domain/rendering/expand/expanded.js';
import { n, textElement, type ChartText } from './chart-text.js';

export type Slice = Readonly<{ label: string; value: number; color: string }>;
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
