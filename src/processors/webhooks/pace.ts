/** No more than so many events a second to one subscription. */
import type { Clock } from '../../domain/ports/clock.js';

/** The contract's. */
const PER_SECOND_MAX = 100;
const SECOND_MS = 1_000;

export type Pace = Readonly<{
  mayStart: () => boolean;
  started: () => void;
  /** How long until so many may be started, at most as many as in a second. */
  pauseMs: (count: number) => number;
}>;

export const openPace = (clock: Pick<Clock, 'monotonic'>): Pace => {
  /** When each of the last ones was started, in a ring. */
  const startedMs: number[] = [];
  let count = 0;
  const waitMs = (more = 1): number => {
    const earlier = startedMs[(count + more - 1) % PER_SECOND_MAX];
    return earlier === undefined ? 0 : Math.max(0, earlier + SECOND_MS - clock.monotonic());
  };
  return {
    mayStart: () => waitMs() === 0,
    started: () => {
      startedMs[count % PER_SECOND_MAX] = clock.monotonic();
      count += 1;
    },
    pauseMs: (more) => Math.max(1, waitMs(more)),
  };
};
