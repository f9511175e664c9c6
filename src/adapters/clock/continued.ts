/**
 * A clock that does not follow when somebody sets the time of day: what is due stays due at the moment it was, and nothing is early. It
 * compares the time of day with the machine's own count of time, each time that it is asked.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { ClockMark, ClockRecord } from '../../domain/ports/clock-record.js';
import type { Clock, ContinuedClock } from '../../domain/ports/clock.js';

/* What is kept of the time: two small files in the data directory. Losing them costs a day in which nothing is destroyed by its age. */

/** In: the file for the mark; the confirmation stands beside it. */
export const openClockRecord = (file: string): ClockRecord => {
  const confirmed = `${file}.confirmed`;
  return {
    read: () => parse(textOf(file)),
    write: (mark) => put(file, JSON.stringify(mark)),
    confirmation: () => textOf(confirmed) ?? '',
    confirm: (confirmation) => put(confirmed, confirmation),
  };
};

const textOf = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ENOENT') return undefined;
    throw fault;
  }
};

/** Under its name it is whole, whenever the program is killed. */
const put = (file: string, text: string): void => {
  writeFileSync(`${file}.partial`, text, { mode: 0o600 });
  renameSync(`${file}.partial`, file);
};

/** What is no mark of ours is none. */
const parse = (text: string | undefined): ClockMark | undefined => {
  try {
    const { nowMs, uptimeMs, waitMs, confirmation } = JSON.parse(text ?? '') as Partial<Record<keyof ClockMark, unknown>>;
    if (typeof nowMs !== 'number' || typeof uptimeMs !== 'number' || typeof waitMs !== 'number') return undefined;
    return { nowMs, uptimeMs, waitMs, confirmation: typeof confirmation === 'string' ? confirmation : '' };
  } catch (fault) {
    if (fault instanceof SyntaxError) return undefined;
    throw fault;
  }
};

/** Less is taken for the corrections that every machine makes. */
const LEAP_MS = 10_000;
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
