/**
 * Compares the CPU per operation of two programs: interleaved pairs, median of the ratios, bootstrap interval, and the
 * limit against itself.
 */

export type Operation = () => unknown;

export type PairsOptions = Readonly<{
  name: string;
  /** One operation of ours; a promise is awaited. It throws where its result is wrong. */
  ours: Operation;
  /** One operation of the program that does the least that any program must do for the same promise. */
  limit: Operation;
  /** A ratio of fewer than 8 does not count. */
  pairs: number;
  /** Operations of one run: enough for some 200 ms. */
  operations: number;
  warmUp?: number;
  seed?: number;
}>;

export type Interval = Readonly<{ median: number; low: number; high: number }>;

export type PairsResult = Readonly<{
  name: string;
  oursUs: number;
  limitUs: number;
  ratio: Interval;
  /**
   * The limit against itself; where this is wider than 0.93 to 1.07, or there are fewer than 8 pairs, the run does not
   * count.
   */
  self: Interval;
  counts: boolean;
  pairs: number;
  operations: number;
  /** Ours against each program of `beside`. */
  beside: Readonly<Record<string, Readonly<{ us: number; ratio: Interval }>>>;
}>;

const PAIRS_MIN = 8;
const SELF_LOW = 0.93;
const SELF_HIGH = 1.07;

/** Compares two operations of this process. Answers the figures of `compareMeasures`. */
export const comparePairs = async (options: PairsOptions): Promise<PairsResult> => {
  const { ours, limit, operations, warmUp = 2_000, seed, ...rest } = options;
  await cpuUsOf(ours, warmUp);
  await cpuUsOf(limit, warmUp);
  return compareMeasures({
    ...rest,
    operations,
    ...(seed === undefined ? {} : { seed }),
    ours: () => cpuUsOf(ours, operations),
    limit: () => cpuUsOf(limit, operations),
  });
};

/** One run of a program, warmed up: µs of CPU per operation. Rejects where what the program did is wrong. */
export type Measure = () => Promise<number>;

export type MeasuresOptions = Readonly<{
  name: string;
  ours: Measure;
  limit: Measure;
  pairs: number;
  operations: number;
  seed?: number;
  /** Further programs, run once in each pair. */
  beside?: Readonly<Record<string, Measure>>;
}>;

/**
 * Runs ours, limit and limit again, `pairs` times in random order, prints one line and answers the figures (µs of CPU
 * per operation).
 */
export const compareMeasures = async (options: MeasuresOptions): Promise<PairsResult> => {
  const { name, ours, limit, pairs, operations, seed = 1, beside = {} } = options;
  const random = seeded(seed);
  const measures: Readonly<Record<string, Measure>> = { ...beside, ours, limit, again: limit };
  const found: Readonly<Record<string, number>>[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const times: Record<string, number> = {};
    for (const which of shuffled(['ours', 'limit', 'again', ...Object.keys(beside)], random))
      times[which] = await measures[which]!();
    found.push(times);
  }
  const of = (which: string): readonly number[] => found.map((times) => times[which]!);
  const against = (which: string, other: string): Interval =>
    interval(
      found.map((times) => times[which]! / times[other]!),
      random,
    );
  const [ratio, self] = [against('ours', 'limit'), against('again', 'limit')];
  const result: PairsResult = {
    name,
    oursUs: median(of('ours')),
    limitUs: median([...of('limit'), ...of('again')]),
    ratio,
    self,
    counts: pairs >= PAIRS_MIN && self.low >= SELF_LOW && self.high <= SELF_HIGH,
    pairs,
    operations,
    beside: Object.fromEntries(
      Object.keys(beside).map((which) => [which, { us: median(of(which)), ratio: against('ours', which) }]),
    ),
  };
  console.log(describe(result));
  return result;
};

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** The median and its 95 % interval by 2,000 bootstrap samples. */
export const interval = (values: readonly number[], random: () => number): Interval => {
  const medians = Array.from({ length: 2_000 }, () =>
    median(values.map(() => values[Math.floor(random() * values.length)]!)),
  );
  medians.sort((a, b) => a - b);
  return { median: median(values), low: medians[49]!, high: medians[1_949]! };
};

/** Mulberry32: the same seed, the same numbers. */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const shuffled = <T>(items: readonly T[], random: () => number): readonly T[] =>
  items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);

/** µs of user and system time per operation. */
const cpuUsOf = async (operation: Operation, operations: number): Promise<number> => {
  const start = process.cpuUsage();
  for (let at = 0; at < operations; at += 1) {
    const done = operation();
    if (done instanceof Promise) await done;
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / operations;
};

const describe = ({ name, oursUs, limitUs, ratio, self, counts, pairs }: PairsResult): string => {
  const shown = ({ median: middle, low, high }: Interval): string =>
    `${middle.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
  return `${name}: ours ${oursUs.toFixed(1)} µs, limit ${limitUs.toFixed(1)} µs, ratio ${shown(ratio)}, limit against itself ${shown(self)}, ${pairs} pairs${counts ? '' : ' (does not count: too few pairs, or the band is wider than 0.93 to 1.07)'}`;
};
