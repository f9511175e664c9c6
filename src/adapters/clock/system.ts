/** The clocks of the machine. */
import { uptime } from 'node:os';
import type { Clock, ContinuedClock } from '../../domain/ports/clock.js';
import { priorities, type Priority } from '../../domain/ports/bus.js';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { AwayTime, ClockMark, ClockRecord } from '../../domain/ports/clock-record.js';

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

// Spreads work over turns of the event loop, which would be blocked if all work that is ready were done at once.

/** A slice takes no new work after so long. */
const SLICE_MS = 8;

/**
 * Out: a function whose promises resolve in slices, one slice in each turn of the event loop. The first promise of a
 * slice is of each priority in turn, so that none starves; then higher priorities come before lower ones, and each in
 * the order of its calls. Code that runs after a promise, up to its first wait for anything outside, belongs to the
 * slice.
 */
export const slicesOfLoop = (sliceMs = SLICE_MS): ((priority: Priority) => Promise<void>) => {
  const waiting: Readonly<Record<Priority, (() => void)[]>> = { high: [], normal: [], low: [] };
  let slices = 0;
  let isOpen = false;

  const next = (order: readonly Priority[]): (() => void) | undefined => {
    for (const priority of order) {
      const goOn = waiting[priority].shift();
      if (goOn !== undefined) return goOn;
    }
    return undefined;
  };
  const isEmpty = (): boolean => priorities.every((priority) => waiting[priority].length === 0);

  const slice = async (): Promise<void> => {
    // Inside a promise job ticks come after the microtasks that it queues; outside they would come before.
    await undefined;
    const beganMs = performance.now();
    slices += 1;
    let goOn = next([priorities[slices % priorities.length]!, ...priorities]);
    while (goOn !== undefined) {
      goOn();
      // The tick runs when all microtasks that follow have run.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      goOn = performance.now() - beganMs < sliceMs ? next(priorities) : undefined;
    }
    isOpen = !isEmpty();
    if (isOpen) setImmediate(() => void slice());
  };

  return (priority) =>
    new Promise((resolve) => {
      waiting[priority].push(resolve);
      if (isOpen) return;
      isOpen = true;
      setImmediate(() => void slice());
    });
};

/**
 * Out: a function whose promises resolve in the order in which it was called, each in a turn of the event loop of its
 * own.
 */
export const turnsOfLoop = (): (() => Promise<void>) => {
  let last = Promise.resolve();
  return () => (last = last.then(() => new Promise((resolve) => setImmediate(resolve))));
};

// * A clock that ignores leaps of the system's time: work stays due at the moment it was, and nothing is early. On each
// call it compares the system's time with the machine's monotonic time. Its record between two runs is two small files.

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
  typeof value === 'object' &&
  value !== null &&
  'fromMs' in value &&
  'toMs' in value &&
  [value.fromMs, value.toMs].every(Number.isFinite);

/** Out: undefined if the text is no mark of ours. */
const parse = (text: string | undefined): ClockMark | undefined => {
  try {
    const { nowMs, uptimeMs, waitMs, confirmation, away } = JSON.parse(text ?? '') as Partial<
      Record<keyof ClockMark, unknown>
    >;
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
