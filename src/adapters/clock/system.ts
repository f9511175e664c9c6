/** The system's clock. */
import type { Clock } from '../../domain/ports/clock.js';

/** Timers count elapsed time, not the time of day: looking again this often keeps a wait right when the clock is set. Far below the 2^31 ms that a timer can hold. */
const lookAgainEveryMs = 60_000;

export const systemClock = (): Clock => ({
  now: () => Date.now(),
  until: (atMs, signal) =>
    new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const look = (): void => {
        const leftMs = atMs - Date.now();
        // Not a number and infinity never come due; only the signal ends such a wait.
        if (leftMs <= 0) return end();
        timer = setTimeout(look, Math.min(Math.ceil(leftMs) || lookAgainEveryMs, lookAgainEveryMs));
      };
      if (signal.aborted) return resolve();
      signal.addEventListener('abort', end, { once: true });
      look();
    }),
});
