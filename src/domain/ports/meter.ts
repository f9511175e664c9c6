/**
 * Figures of a running process, for whoever watches it. A label is one of few fixed words (a priority, a status, the
 * name of a worker), or one of a bounded number of mail domains: never an address, a subject, a key, a token or an id,
 * for figures are kept long and by others.
 */

export type Labels = Readonly<Record<string, string>>;

/**
 * `name` is in the words of Prometheus: it begins with `sealpost_` and ends with its unit, or with `_total` for a
 * counter.
 */
export type Figure = Readonly<{ name: string; help: string; labels?: readonly string[] }>;

export type Reading = Readonly<{ value: number; labels?: Labels }>;

export type Meter = Readonly<{
  /** Adds to a count that only rises. */
  counter: (figure: Figure) => (labels?: Labels, by?: number) => void;
  /** Adds one value to a distribution with these upper bounds. */
  histogram: (figure: Figure & Readonly<{ buckets: readonly number[] }>) => (value: number, labels?: Labels) => void;
  /** Read whenever somebody asks for the figures; where `read` rejects, this figure is left out of that answer. */
  gauge: (figure: Figure, read: () => readonly Reading[] | Promise<readonly Reading[]>) => void;
}>;
