/** Counters of one process: fixed windows and concurrency slots, kept in memory. */
import type { Clock } from '../../domain/ports/clock.js';
import type { Admission, Limiter, Window } from '../../domain/ports/limiter.js';
import { memorySlots } from './slots.js';

type Counter = { count: number; startedAtMs: number };

/** Buckets of one length of window in the order in which they started, which is the order in which they end. */
type Counters = Map<string, Counter>;

/** Beyond this many live buckets of one length the oldest is forgotten: memory stays bounded under a flood of names. */
const bucketsMaxDefault = 200_000;
/** How many ended windows a hit sweeps away at most, so that no single hit pays for all. */
const sweptPerHit = 4;

/** Windows with one bucket name and different lengths are different windows. They last by the monotonic clock. */
export const openMemoryLimiter = ({
  clock,
  bucketsMax = bucketsMaxDefault,
}: Readonly<{ clock: Clock; bucketsMax?: number }>): Limiter & Readonly<{ buckets: () => number }> => {
  const byLength = new Map<number, Counters>();
  const slots = memorySlots(clock);

  const countersOf = (windowMs: number): Counters => {
    let counters = byLength.get(windowMs);
    if (counters === undefined) byLength.set(windowMs, (counters = new Map()));
    return counters;
  };

  const live = (counters: Counters, window: Window, atMs: number): Counter | undefined => {
    const counter = counters.get(window.bucket);
    return counter !== undefined && isLive(counter, window.windowMs, atMs) ? counter : undefined;
  };

  const sweep = (counters: Counters, windowMs: number, atMs: number): void => {
    let left = sweptPerHit;
    for (const [bucket, counter] of counters) {
      const over = !isLive(counter, windowMs, atMs);
      if ((!over && counters.size <= bucketsMax) || left === 0) return;
      counters.delete(bucket);
      left -= 1;
    }
  };

  const count = (window: Window, atMs: number): void => {
    const counters = countersOf(window.windowMs);
    const counter = live(counters, window, atMs);
    if (counter !== undefined) {
      counter.count += 1;
      return;
    }
    // Deleted first, so that the renewed window goes to the end of the order.
    counters.delete(window.bucket);
    counters.set(window.bucket, { count: 1, startedAtMs: atMs });
    sweep(counters, window.windowMs, atMs);
  };

  const hit = (windows: readonly Window[]): Admission => {
    const atMs = clock.monotonic();
    const first = windows[0];
    if (first === undefined) throw new RangeError('a hit needs at least one window');
    let leftMs = 0;
    for (const window of windows) {
      const counter = live(countersOf(window.windowMs), window, atMs);
      if ((counter?.count ?? 0) >= window.limit) leftMs = Math.max(leftMs, (counter?.startedAtMs ?? atMs) + window.windowMs - atMs);
    }
    const admitted = leftMs === 0;
    if (admitted) for (const window of windows) count(window, atMs);
    const counter = live(countersOf(first.windowMs), first, atMs);
    return {
      admitted,
      limit: first.limit,
      remaining: Math.max(0, first.limit - (counter?.count ?? 0)),
      resetAtMs: Math.round(clock.now() + (counter?.startedAtMs ?? atMs) + first.windowMs - atMs),
      retryAfterS: admitted ? 0 : Math.max(1, Math.ceil(leftMs / 1_000)),
    };
  };

  return {
    hit,
    acquire: slots.acquire,
    buckets: () => [...byLength.values()].reduce((sum, counters) => sum + counters.size, 0) + slots.buckets(),
    close: async () => {
      byLength.clear();
      slots.clear();
    },
  };
};

const isLive = (counter: Counter, windowMs: number, atMs: number): boolean => atMs < counter.startedAtMs + windowMs;
