/** Concurrency slots of one process: leases in memory, which end by the monotonic clock where nobody releases them. */
import type { Clock } from '../../domain/ports/clock.js';
import type { Slot } from '../../domain/ports/limiter.js';

/** The slots of one bucket that are taken, each with the moment at which it is free again. */
type Bucket = Map<symbol, number>;

export type MemorySlots = Readonly<{
  acquire: (bucket: string, limit: number, ttlMs: number) => Slot | undefined;
  /** How many buckets are kept. */
  buckets: () => number;
  clear: () => void;
}>;

/** How many buckets an acquisition looks at beside its own, so that slots that nobody released do not fill the memory. */
const sweptPerAcquire = 4;

export const memorySlots = (clock: Clock): MemorySlots => {
  /** The bucket of which a slot was taken last stands at the end. */
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
