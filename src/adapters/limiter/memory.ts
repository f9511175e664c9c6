/** Counters of one process: fixed windows and concurrency slots, kept in memory. */
import type { Clock } from '../../domain/ports/clock.js';
import type { Admission, Limiter, Window } from '../../domain/ports/limiter.js';
import { memorySlots } from './slots.js';
import { memoryWindows, type MemoryWindows } from './windows.js';

/** Beyond this many live buckets of one length the oldest is forgotten: memory stays bounded under a flood of names. */
const bucketsMaxDefault = 200_000;

/** Windows with one bucket name and different lengths are different windows. They last by the monotonic clock. */
export const openMemoryLimiter = ({
  clock,
  bucketsMax = bucketsMaxDefault,
}: Readonly<{ clock: Clock; bucketsMax?: number }>): Limiter & Readonly<{ buckets: () => number }> => {
  const windows = memoryWindows(bucketsMax);
  const slots = memorySlots(clock);
  return {
    hit: (asked) => hit(windows, clock, asked),
    acquire: slots.acquire,
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
    if ((counter?.count ?? 0) >= window.limit) leftMs = Math.max(leftMs, (counter?.startedAtMs ?? atMs) + window.windowMs - atMs);
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
