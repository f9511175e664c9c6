/** The clocks of the machine. */
import { uptime } from 'node:os';
import type { Clock } from '../../domain/ports/clock.js';

/** Far below 2^31 ms, the longest time of a timer. */
const timerMaxMs = 60_000;

export const systemClock = (): Clock => ({
  now: () => Date.now(),
  monotonic,
  uptime: () => uptime() * 1_000,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const dueMs = monotonic() + ms;
      let timer: NodeJS.Timeout | undefined;
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const look = (): void => {
        const leftMs = dueMs - monotonic();
        // A sleep of NaN or Infinity ms ends by the signal only.
        if (leftMs <= 0) return end();
        timer = setTimeout(look, Math.min(Math.ceil(leftMs) || timerMaxMs, timerMaxMs));
      };
      if (signal.aborted) return resolve();
      signal.addEventListener('abort', end, { once: true });
      look();
    }),
});

/** The machine's monotonic clock, which counts from its start: every process reads the same. */
const monotonic = (): number => {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1_000_000;
};
