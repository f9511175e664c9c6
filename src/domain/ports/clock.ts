/** Time as it is injected: nothing else in the program knows what time it is. */

export type Clock = Readonly<{
  /** The time of day in milliseconds since the Unix epoch, for facts only: somebody may set it back or forward at any moment. */
  now: () => number;
  /**
   * Milliseconds that have elapsed since a moment that every process of this machine shares, for pauses and deadlines.
   * It never goes back, and setting the time of day does not change it.
   */
  monotonic: () => number;
  /** Resolves when that many milliseconds have elapsed by `monotonic()`, or when the signal aborts; never rejects. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}>;

/** ISO 8601 in UTC with milliseconds, the only form in which times enter events. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();
