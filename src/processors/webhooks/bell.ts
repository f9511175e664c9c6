/** Wakes a worker before the time that it waits for. */
import type { Clock } from '../../domain/ports/clock.js';

export type Bell = Readonly<{ ring: () => void; wait: (ms: number, signal: AbortSignal) => Promise<void> }>;

/** The reason of each: a reason that is made anew costs more than a post. */
const RUNG = new Error('rung');

/** A ring that nobody waits for ends the next wait at once. */
export const openBell = (clock: Pick<Clock, 'sleep'>): Bell => {
  let hasRung = false;
  let wake: (() => void) | undefined;
  return {
    ring: () => {
      hasRung = true;
      wake?.();
    },
    wait: async (ms, signal) => {
      if (!hasRung && !signal.aborted) {
        const woken = new AbortController();
        const end = (): void => woken.abort(RUNG);
        wake = end;
        signal.addEventListener('abort', end);
        await clock.sleep(ms, woken.signal);
        signal.removeEventListener('abort', end);
      }
      hasRung = false;
      wake = undefined;
    },
  };
};
