/** Fixed windows, each begun by its first hit and counted until its length is over. */
import type { Window } from '../../domain/ports/limiter.js';

export type Counter = { count: number; startedAtMs: number };

export type MemoryWindows = Readonly<{
  /** The counter of a window that is not over. */
  live: (window: Window, atMs: number) => Counter | undefined;
  /** Counts one hit, in a new window where there is none. */
  count: (window: Window, atMs: number) => void;
  buckets: () => number;
  clear: () => void;
}>;

/** Buckets of one length of window in the order in which they started, which is the order in which they end. */
type Counters = Map<string, Counter>;

/** How many ended windows a hit sweeps away at most, so that no single hit pays for all. */
const sweptPerHit = 4;

export const memoryWindows = (bucketsMax: number): MemoryWindows => {
  const byLength = new Map<number, Counters>();

  const countersOf = (windowMs: number): Counters => {
    let counters = byLength.get(windowMs);
    if (counters === undefined) byLength.set(windowMs, (counters = new Map()));
    return counters;
  };

  const live = ({ bucket, windowMs }: Window, atMs: number): Counter | undefined => {
    const counter = countersOf(windowMs).get(bucket);
    return counter !== undefined && isLive(counter, windowMs, atMs) ? counter : undefined;
  };

  return {
    live,
    count: (window, atMs) => {
      const counters = countersOf(window.windowMs);
      const counter = live(window, atMs);
      if (counter !== undefined) {
        counter.count += 1;
        return;
      }
      // Deleted first, so that the renewed window goes to the end of the order.
      counters.delete(window.bucket);
      counters.set(window.bucket, { count: 1, startedAtMs: atMs });
      sweep(counters, { windowMs: window.windowMs, atMs, bucketsMax });
    },
    buckets: () => [...byLength.values()].reduce((sum, counters) => sum + counters.size, 0),
    clear: () => byLength.clear(),
  };
};

const isLive = (counter: Counter, windowMs: number, atMs: number): boolean => atMs < counter.startedAtMs + windowMs;

/** Takes out the oldest that are over, or too many. */
const sweep = (
  counters: Counters,
  { windowMs, atMs, bucketsMax }: Readonly<{ windowMs: number; atMs: number; bucketsMax: number }>,
): void => {
  let left = sweptPerHit;
  for (const [bucket, counter] of counters) {
    const over = !isLive(counter, windowMs, atMs);
    if ((!over && counters.size <= bucketsMax) || left === 0) return;
    counters.delete(bucket);
    left -= 1;
  }
};
