/** Counters of one process: fixed windows and concurrency slots, kept in memory. */
import type { Clock } from '../../domain/ports/clock.js';
import type { Slot, Window, Admission, Limiter } from '../../domain/ports/limiter.js';

/** The taken slots of one bucket, each with the moment at which it is free again. */
type Bucket = Map<symbol, number>;

/** Concurrency slots. One that nobody releases ends by the monotonic clock. */
type MemorySlots = Readonly<{
  acquire: (bucket: string, limit: number, ttlMs: number) => Slot | undefined;
  /** How many buckets are kept. */
  buckets: () => number;
  clear: () => void;
}>;

type Counter = { count: number; startedAtMs: number };

/** Buckets of one length of window in the order in which they started, which is the order in which they end. */
type Counters = Map<string, Counter>;

/** Fixed windows. The first hit begins one. */
type MemoryWindows = Readonly<{
  /** The counter of a window that is not over. */
  live: (window: Window, atMs: number) => Counter | undefined;
  /** Counts one hit, in a new window if there is none. */
  count: (window: Window, atMs: number) => void;
  buckets: () => number;
  clear: () => void;
}>;

/**
 * An acquisition looks at so many buckets beside its own, so that slots that nobody releases do not fill the memory.
 */
const sweptPerAcquire = 4;

/** Beyond so many live buckets of one length the oldest is dropped: memory stays bounded under a flood of names. */
const bucketsMaxDefault = 200_000;

/** A hit removes at most so many ended windows, so that no single hit pays for all. */
const sweptPerHit = 4;

/** Windows with one bucket name and different lengths are different windows. They last by the monotonic clock. */
export const openMemoryLimiter = ({
  clock,
  bucketsMax = bucketsMaxDefault,
}: Readonly<{ clock: Clock; bucketsMax?: number }>): Limiter & Readonly<{ buckets: () => number }> => {
  const windows = memoryWindows(bucketsMax);
  const slots = memorySlots(clock);
  return {
    hit: async (asked) => hit(windows, clock, asked),
    acquire: async (...given) => slots.acquire(...given),
    buckets: () => windows.buckets() + slots.buckets(),
    close: async () => {
      windows.clear();
      slots.clear();
    },
  };
};

const hit = (windows: MemoryWindows, clock: Clock, asked: readonly Window[]): Admission => {
  const atMs = clock.monotonic();
  const first = asked[0];
  if (first === undefined) throw new RangeError('a hit needs at least one window');
  let leftMs = 0;
  for (const window of asked) {
    const counter = windows.live(window, atMs);
    if ((counter?.count ?? 0) >= window.limit)
      leftMs = Math.max(leftMs, (counter?.startedAtMs ?? atMs) + window.windowMs - atMs);
  }
  const admitted = leftMs === 0;
  if (admitted) for (const window of asked) windows.count(window, atMs);
  const counter = windows.live(first, atMs);
  return {
    admitted,
    limit: first.limit,
    remaining: Math.max(0, first.limit - (counter?.count ?? 0)),
    resetAtMs: Math.round(clock.now() + (counter?.startedAtMs ?? atMs) + first.windowMs - atMs),
    retryAfterS: admitted ? 0 : Math.max(1, Math.ceil(leftMs / 1_000)),
  };
};

const memoryWindows = (bucketsMax: number): MemoryWindows => {
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
      // Deleted first, so that the new window goes to the end of the order.
      counters.delete(window.bucket);
      counters.set(window.bucket, { count: 1, startedAtMs: atMs });
      sweep(counters, { windowMs: window.windowMs, atMs, bucketsMax });
    },
    buckets: () => [...byLength.values()].reduce((sum, counters) => sum + counters.size, 0),
    clear: () => byLength.clear(),
  };
};

const isLive = (counter: Counter, windowMs: number, atMs: number): boolean => atMs < counter.startedAtMs + windowMs;

/** Removes the oldest windows that have ended, or are too many. */
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

const memorySlots = (clock: Clock): MemorySlots => {
  /** In the order of their last acquisition. */
  const buckets = new Map<string, Bucket>();

  const dropEnded = (name: string, bucket: Bucket, atMs: number): void => {
    for (const [slot, endMs] of bucket) if (endMs <= atMs) bucket.delete(slot);
    if (bucket.size === 0) buckets.delete(name);
  };

  const sweep = (atMs: number): void => {
    let left = sweptPerAcquire;
    for (const [name, bucket] of buckets) {
      if (left === 0) return;
      left -= 1;
      dropEnded(name, bucket, atMs);
    }
  };

  return {
    acquire: (name, limit, ttlMs) => {
      const atMs = clock.monotonic();
      sweep(atMs);
      const bucket = buckets.get(name) ?? new Map<symbol, number>();
      dropEnded(name, bucket, atMs);
      if (bucket.size >= limit) return undefined;
      const slot = Symbol();
      bucket.set(slot, atMs + ttlMs);
      buckets.delete(name);
      buckets.set(name, bucket);
      return {
        release: () => {
          if (bucket.delete(slot) && bucket.size === 0 && buckets.get(name) === bucket) buckets.delete(name);
        },
      };
    },
    buckets: () => buckets.size,
    clear: () => buckets.clear(),
  };
};
