/** A bounded number of places with a bounded queue before them, first come, first served. */
import type { Clock } from '../../../domain/ports/clock.js';

export type PlacesOptions = Readonly<{
  placesMax: number;
  queueMax: number;
  /** How long one waits in the queue. */ waitMs: number;
  clock: Clock;
}>;

export type Places = Readonly<{
  /** `entered`: a place was taken, to be given back by `leave`. `not-in-time`: the wait was too long, or the signal aborted. */
  enter: (signal: AbortSignal) => Promise<'entered' | 'full' | 'not-in-time'>;
  leave: () => void;
  /** How many stand in the queue. */
  waiting: () => number;
}>;

export const openPlaces = ({ placesMax, queueMax, waitMs, clock }: PlacesOptions): Places => {
  /** Each gives its place to one that waits. */
  const queue = new Set<() => void>();
  let taken = 0;

  const wait = async (signal: AbortSignal): Promise<'entered' | 'not-in-time'> => {
    const called = new AbortController();
    let hasPlace = false;
    const call = (): void => {
      hasPlace = true;
      called.abort();
    };
    queue.add(call);
    await clock.sleep(waitMs, AbortSignal.any([signal, called.signal]));
    queue.delete(call);
    return hasPlace ? 'entered' : 'not-in-time';
  };

  return {
    enter: async (signal) => {
      if (signal.aborted) return 'not-in-time';
      if (taken < placesMax) {
        taken += 1;
        return 'entered';
      }
      return queue.size < queueMax ? wait(signal) : 'full';
    },
    leave: () => {
      const [next] = queue;
      if (next === undefined) {
        taken -= 1;
        return;
      }
      // The place changes hands, so that nobody who comes now can take it first.
      queue.delete(next);
      next();
    },
    waiting: () => queue.size,
  };
};
