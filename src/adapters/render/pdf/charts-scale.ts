/** Where the values of a chart lie between round numbers. */

export type Scale = Readonly<{
  min: number;
  max: number;
  step: number;
  ticks: readonly number[];
  /** 0 at `min`, 1 at `max`. */ at: (value: number) => number;
}>;

/** Beyond it a step is lost in the numbers' own precision. */
const TICKS_MAX = 20;

/**
 * Round numbers around the values: about `count` steps of 1, 2, 2.5 or 5 times a power of ten. With `fromZero` the axis holds zero;
 * without, it does so unless the values are close together far from it.
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
