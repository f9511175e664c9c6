/** A chart of counts by day, week or month, drawn by uPlot in the colours of the theme. The table beside it has the same figures. */
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import styles from './chart.module.css';

/** `token`: a colour of the style sheet, such as `--good`. */
export type Drawn = Readonly<{ look: 'bars' | 'line' | 'dashes'; token: string }>;

type Props = Readonly<{
  /** The names of the points on the axis. */
  names: readonly string[];
  series: readonly Drawn[];
  /** The counts of each series. */
  counts: readonly (readonly number[])[];
  /** Stands for the picture, for readers who do not see it. */
  label: string;
  /** Called with the point below the cursor; null: it is elsewhere. */
  onPoint: (index: number | null) => void;
}>;

const HEIGHT = 168;
const Y_AXIS_WIDTH = 46;
/** Lines of so few points have dots. */
const DOTS_MAX = 45;
const WHOLE_NUMBERS = Array.from({ length: 10 }, (_, tens) => [1, 2, 5].map((step) => step * 10 ** tens)).flat();
const STEPS = [1, 2, 3, 4, 7, 14, 21, 28, 56, 112];

const compact = new Intl.NumberFormat(undefined, { notation: 'compact' });

const Chart = ({ names, series, counts, label, onPoint }: Props) => {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef({ names, onPoint });
  latest.current = { names, onPoint };
  const kind = JSON.stringify([series, names.length]);

  useEffect(() => {
    const host = place.current;
    if (host === null) return;
    const colours = themeOf(host);
    const made = new uPlot(
      optionsOf(host.clientWidth, series, names.length, colours.of, {
        nameOf: (index) => latest.current.names[index] ?? '',
        onPoint: (index) => latest.current.onPoint(index),
      }),
      dataOf(counts),
      host,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: host.clientWidth, height: HEIGHT }));
    resized.observe(host);
    const ends = colours.follow(() => made.redraw(false));
    return () => {
      ends();
      resized.disconnect();
      made.destroy();
      plot.current = undefined;
    };
    // Counts alone are changed in place, below.
  }, [kind]);
  useEffect(() => plot.current?.setData(dataOf(counts)), [counts, names]);

  return <div ref={place} className={styles['plot']} role="img" aria-label={label} />;
};

export default Chart;

const dataOf = (counts: Props['counts']): uPlot.AlignedData => [
  (counts[0] ?? []).map((_, index) => index),
  ...counts.map((one) => [...one]),
];

type Colours = (token: string, alpha?: number) => string;

/** Points are numbered, so that weeks and months of different lengths stand evenly. */
const optionsOf = (
  width: number,
  series: readonly Drawn[],
  count: number,
  colourOf: Colours,
  { nameOf, onPoint }: Readonly<{ nameOf: (index: number) => string; onPoint: (index: number | null) => void }>,
): uPlot.Options => {
  const axis = {
    stroke: () => colourOf('--soft'),
    font: '12px system-ui, sans-serif',
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      x: { time: false, range: () => [-0.5, count - 0.5] },
      y: { range: (_plot, _min, max) => [0, Math.max(1, (max ?? 0) * 1.08)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        gap: 6,
        space: 64,
        incrs: STEPS,
        values: (_plot, places) => places.map((place) => (Number.isInteger(place) ? nameOf(place) : '')),
      },
      {
        ...axis,
        grid: { stroke: () => colourOf('--line'), width: 1 },
        size: Y_AXIS_WIDTH,
        gap: 6,
        space: 34,
        incrs: WHOLE_NUMBERS,
        values: (_plot, values) => values.map((value) => compact.format(value)),
      },
    ],
    series: [{}, ...series.map((one) => seriesOf(one, count, colourOf))],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
  };
};

const seriesOf = ({ look, token }: Drawn, count: number, colourOf: Colours): uPlot.Series => {
  const stroke = (): string => colourOf(token);
  if (look === 'bars')
    return {
      stroke,
      fill: () => colourOf(token, 0.28),
      width: 1,
      points: { show: false },
      paths: uPlot.paths.bars!({ size: [0.7, 44] }),
    };
  return {
    stroke,
    width: 2,
    points: { show: count <= DOTS_MAX, size: 5, width: 1, fill: stroke },
    ...(look === 'dashes' ? { dash: [5, 4] } : {}),
  };
};

/** The colours of the theme for a canvas, which reads no style sheet. */
const themeOf = (host: HTMLElement) => {
  const probe = document.createElement('span');
  probe.hidden = true;
  host.append(probe);
  const known = new Map<string, string>();
  const read = (token: string): string => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  return {
    of: (token: string, alpha = 1): string => {
      const colour = known.get(token) ?? read(token);
      known.set(token, colour);
      return alpha === 1 ? colour : colour.replace(/^rgb\((.+)\)$/, `rgba($1, ${alpha})`);
    },
    /** Calls `changed` when the theme is another. Out: ends that. */
    follow: (changed: () => void): (() => void) => {
      const forget = (): void => {
        known.clear();
        changed();
      };
      const system = window.matchMedia('(prefers-color-scheme: dark)');
      const chosen = new MutationObserver(forget);
      system.addEventListener('change', forget);
      chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
      return () => {
        system.removeEventListener('change', forget);
        chosen.disconnect();
        probe.remove();
      };
    },
  };
};
