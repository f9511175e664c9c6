/**
 * A clock that ignores leaps of the system's time: work stays due at the moment it was, and nothing is early. On each call it compares the
 * system's time with the machine's monotonic time. Its record between two runs is two small files.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { AwayTime, ClockMark, ClockRecord } from '../../domain/ports/clock-record.js';
import type { Clock, ContinuedClock } from '../../domain/ports/clock.js';

type Reading = Readonly<{ nowMs: number; monotonicMs: number; uptimeMs: number }>;

/** Smaller differences count as the corrections that every machine makes. */
const LEAP_MS = 10_000;
/** Small corrections add up, so the comparison begins anew after so long. */
const COMPARED_FROM_MS = 60_000;

const READ_WITHIN_MS = 1_000;

export const continuedClock = (machine: Clock): ContinuedClock => {
  /** Reads all three clocks again if the process stood still between two of them. */
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

  /** Compares with `uptime`, which alone counts the time while the machine slept. */
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

/**
 * Two files in the data directory. If they are lost, nothing is destroyed by its age for a day.
 * In: the file for the mark; the confirmation is written beside it.
 */
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

/** Writes another file and renames it, so that the file is whole even if the program is killed. */
const put = (file: string, text: string): void => {
  writeFileSync(`${file}.partial`, text, { mode: 0o600 });
  renameSync(`${file}.partial`, file);
};

const isAwayTime = (value: unknown): value is AwayTime =>
  typeof value === 'object' && value !== null && 'fromMs' in value && 'toMs' in value && [value.fromMs, value.toMs].every(Number.isFinite);

/** Out: undefined if the text is no mark of ours. */
const parse = (text: string | undefined): ClockMark | undefined => {
  try {
    const { nowMs, uptimeMs, waitMs, confirmation, away } = JSON.parse(text ?? '') as Partial<Record<keyof ClockMark, unknown>>;
    if (typeof nowMs !== 'number' || typeof uptimeMs !== 'number' || typeof waitMs !== 'number') return undefined;
    return {
      nowMs,
      uptimeMs,
      waitMs,
      confirmation: typeof confirmation === 'string' ? confirmation : '',
      away: Array.isArray(away) ? away.filter(isAwayTime) : [],
    };
  } catch (fault) {
    if (fault instanceof SyntaxError) return undefined;
    throw fault;
  }
};
