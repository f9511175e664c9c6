/** For log lines that a flood of requests would repeat. */
import type { Clock } from '../../domain/ports/clock.js';

const MINUTE_MS = 60_000;

/** Out: does `act`, at most once a minute. */
export const seldom = (clock: Pick<Clock, 'monotonic'>, act: () => void): (() => void) => {
  let silentUntilMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = clock.monotonic();
    if (nowMs < silentUntilMs) return;
    silentUntilMs = nowMs + MINUTE_MS;
    act();
  };
};
