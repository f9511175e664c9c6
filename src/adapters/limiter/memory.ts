/** Counters of one process: fixed windows and places, kept in memory. */
import type { Clock } from '../../domain/ports/clock.js';
import type { Admission, Limiter, Window } from '../../domain/ports/limiter.js';

type Counter = { count: number; startedAtMs: number };

/** Buckets of one length of window in the order in which they started, which is the order in which they end. */
type Counters = Map<string, Counter>;

/** Beyond this many live buckets of one length the oldest is forgotten: memory stays bounded under a flood of names. */
const bucketsMaxDefault = 200_000;
/** How many ended windows a hit sweeps away at most, so that no single hit pays for all. */
const sweptPerHit = 4;

/**
 * Windows with one bucket name and different lengths are different windows.
 * When the clock is set back behind the start of a window, the window is over.
 */
export const openMemoryLimiter = ({
  clock,
  bucketsMax = bucketsMaxDefault,
}: Readonly<{ clock: Clock; bucketsMax?: number }>): Limiter & Readonly<{ buckets: () => number }> => {
  const byLength = new Map<number, Counters>();
  const places = new Map<string, number>();

  const countersOf = (windowMs: number): Counters => {
    let counters = byLength.get(windowMs);
    if (counters === undefined) byLength.set(windowMs, (counters = new Map()));
    return counters;
  };

  const live = (counters: Counters, window: Window, nowMs: number): Counter | undefined => {
    const counter = counters.get(window.bucket);
    return counter !== undefined && isLive(counter, window.windowMs, nowMs) ? counter : undefined;
  };

  const sweep = (counters: Counters, windowMs: number, nowMs: number): void => {
    let left = sweptPerHit;
    for (const [bucket, counter] of counters) {
      const over = !isLive(counter, windowMs, nowMs);
      if ((!over && counters.size <= bucketsMax) || left === 0) return;
      counters.delete(bucket);
      left -= 1;
    }
  };

  const count = (window: Window, nowMs: number): void => {
    const counters = countersOf(window.windowMs);
    const counter = live(counters, window, nowMs);
    if (counter !== undefined) {
      counter.count += 1;
      return;
    }
    // Deleted first, so that the renewed window goes to the end of the order.
    counters.delete(window.bucket);
    counters.set(window.bucket, { count: 1, startedAtMs: nowMs });
    sweep(counters, window.windowMs, nowMs);
  };

  const hit = (windows: readonly Window[]): Admission => {
    const nowMs = clock.now();
    const first = windows[0];
    if (first === undefined) throw new RangeError('a hit needs at least one window');
    let endMs = 0;
    for (const window of windows) {
      const counter = live(countersOf(window.windowMs), window, nowMs);
      if ((counter?.count ?? 0) >= window.limit) endMs = Math.max(endMs, (counter?.startedAtMs ?? nowMs) + window.windowMs);
    }
    const admitted = endMs === 0;
    if (admitted) for (const window of windows) count(window, nowMs);
    const counter = live(countersOf(first.windowMs), first, nowMs);
    return {
      admitted,
      limit: first.limit,
      remaining: Math.max(0, first.limit - (counter?.count ?? 0)),
      resetAtMs: (counter?.startedAtMs ?? nowMs) + first.windowMs,
      retryAfterS: admitted ? 0 : Math.max(1, Math.ceil((endMs - nowMs) / 1_000)),
    };
  };

  const enter = (bucket: string, limit: number): (() => void) | undefined => {
    const taken = places.get(bucket) ?? 0;
    if (taken >= limit) return undefined;
    places.set(bucket, taken + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const now = (places.get(bucket) ?? 0) - 1;
      if (now > 0) places.set(bucket, now);
      else places.delete(bucket);
    };
  };

  return {
    hit,
    enter,
    buckets: () => [...byLength.values()].reduce((sum, counters) => sum + counters.size, 0) + places.size,
    close: async () => {
      byLength.clear();
      places.clear();
    },
  };
};

const isLive = (counter: Counter, windowMs: number, nowMs: number): boolean =>
  nowMs >= counter.startedAtMs && nowMs < counter.startedAtMs + windowMs;
