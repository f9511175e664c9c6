/**
 * A clock that does not follow when somebody sets the time of day: what is due stays due at the moment it was, and nothing is early. It
 * compares the time of day with the machine's own count of time, each time that it is asked.
 */
import type { Clock, ContinuedClock } from '../../domain/ports/clock.js';

/** Less is taken for the corrections that every machine makes. */
export const LEAP_MS = 10_000;
/** Small corrections add up: so often the comparison begins anew. */
const COMPARED_FROM_MS = 60_000;

const READ_WITHIN_MS = 1_000;

type Reading = Readonly<{ nowMs: number; monotonicMs: number; uptimeMs: number }>;

export const continuedClock = (machine: Clock): ContinuedClock => {
  /** A process that stood still between two of the counts reads all of them again. */
  const read = (): Reading => {
    for (;;) {
      const monotonicMs = machine.monotonic();
      const reading = { nowMs: machine.now(), monotonicMs, uptimeMs: machine.uptime() };
      if (machine.monotonic() - monotonicMs < READ_WITHIN_MS) return reading;
    }
  };
  let from = read();
  let leapMs = 0;
  let leaps = 0;

  /** A machine that slept counts that time in `uptime` alone. */
  const lookAgain = (): number => {
    const reading = read();
    const aheadMs = reading.nowMs - from.nowMs - (reading.uptimeMs - from.uptimeMs);
    if (Math.abs(aheadMs) > LEAP_MS) {
      leapMs += aheadMs;
      leaps += 1;
    }
    from = reading;
    return reading.nowMs;
  };

  const machineNow = (): number => {
    const nowMs = machine.now();
    const elapsedMs = machine.monotonic() - from.monotonicMs;
    return elapsedMs > COMPARED_FROM_MS || Math.abs(nowMs - from.nowMs - elapsedMs) > LEAP_MS ? lookAgain() : nowMs;
  };

  return {
    now: () => machineNow() - Math.round(leapMs),
    monotonic: machine.monotonic,
    uptime: machine.uptime,
    sleep: machine.sleep,
    leapMs: () => {
      machineNow();
      return leapMs;
    },
    leaps: () => {
      machineNow();
      return leaps;
    },
    believe: () => {
      leapMs = 0;
    },
    machineNow,
  };
};
