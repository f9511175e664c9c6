/** A bounded number of concurrency slots with a bounded queue before them, first come, first served. */
import type { Clock } from '../../../domain/ports/clock.js';

export type SlotsOptions = Readonly<{
  slotsMax: number;
  queueMax: number;
  /** How long one waits in the queue. */ waitMs: number;
  clock: Clock;
}>;

export type Slots = Readonly<{
  /** `acquired`: a slot was taken, to be given back by `release`. `not-in-time`: the wait was too long, or the signal aborted. */
  acquire: (signal: AbortSignal) => Promise<'acquired' | 'full' | 'not-in-time'>;
  release: () => void;
  /** How many stand in the queue. */
  waiting: () => number;
}>;

export const openSlots = ({ slotsMax, queueMax, waitMs, clock }: SlotsOptions): Slots => {
  /** Each entry hands a slot to one that waits. */
  const queue = new Set<() => void>();
  let taken = 0;

  const wait = async (signal: AbortSignal): Promise<'acquired' | 'not-in-time'> => {
    const called = new AbortController();
    let hasSlot = false;
    const call = (): void => {
      hasSlot = true;
      called.abort();
    };
    queue.add(call);
    await clock.sleep(waitMs, AbortSignal.any([signal, called.signal]));
    queue.delete(call);
    return hasSlot ? 'acquired' : 'not-in-time';
  };

  return {
    acquire: async (signal) => {
      if (signal.aborted) return 'not-in-time';
      if (taken < slotsMax) {
        taken += 1;
        return 'acquired';
      }
      return queue.size < queueMax ? wait(signal) : 'full';
    },
    release: () => {
      const [next] = queue;
      if (next === undefined) {
        taken -= 1;
        return;
      }
      // The slot changes hands here, so that a caller who comes now cannot take it before the one who waited.
      queue.delete(next);
      next();
    },
    waiting: () => queue.size,
  };
};
