/**
 * A clock that stands still until the test moves it. Moving it ends every sleep that is over by then, one moment after
 * the other, so that what sleeps again and again (a lease that is renewed) does so in between.
 */
import type { Clock } from '../../src/domain/ports/clock.js';

export type FakeClock = Clock &
  Readonly<{
    /** Lets that much time pass, and what was due run before it resolves. */
    advance: (ms: number) => Promise<void>;
    /** Lets time pass until that moment of the day. */
    set: (ms: number) => Promise<void>;
    /** Sets the time of day back or forward, as an operator does: no time passes. */
    shift: (ms: number) => void;
    /** How many sleeps are open. */
    waiting: () => number;
    /** Resolves when at least `count` sleeps are open. */
    whenWaiting: (count: number) => Promise<void>;
  }>;

const MOMENTS_MAX = 3_000;
/** The clock jumps over longer times at once, as a machine that slept does. */
const STEPPED_MS_MAX = 600_000 - 1;

/**
 * The beginning of this day (UTC), where the clock of a test starts whose service stores files. The sweep compares the
 * age of unfinished files, which the file system tells, with this clock: with one years ahead it deletes files that are
 * being written.
 */
export const startOfToday = (): number => Math.floor(Date.now() / 86_400_000) * 86_400_000;

type Sleep = Readonly<{ dueMs: number; end: () => void }>;

export const fakeClock = (startMs: number = Date.parse('2026-01-01T00:00:00.000Z')): FakeClock => {
  let nowMs = startMs;
  let elapsedMs = 7_000;
  const sleeps = new Set<Sleep>();
  let watchers: Readonly<{ count: number; resolve: () => void }>[] = [];

  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  const moveTo = async (atMs: number): Promise<void> => {
    nowMs += atMs - elapsedMs;
    elapsedMs = atMs;
    for (const sleep of [...sleeps].sort((a, b) => a.dueMs - b.dueMs)) if (sleep.dueMs <= elapsedMs) sleep.end();
    await settle();
  };

  const advance = async (ms: number): Promise<void> => {
    if (ms < 0) throw new RangeError('time does not go back; shift sets the time of day');
    const untilMs = elapsedMs + ms;
    for (let moment = 0; moment < MOMENTS_MAX && ms <= STEPPED_MS_MAX; moment += 1) {
      const nextMs = [...sleeps].reduce((least, { dueMs }) => Math.min(least, dueMs), Number.POSITIVE_INFINITY);
      if (nextMs >= untilMs) break;
      await moveTo(nextMs);
    }
    await moveTo(untilMs);
  };

  return {
    now: () => nowMs,
    monotonic: () => elapsedMs,
    uptime: () => elapsedMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal.aborted || ms <= 0) return resolve();
        const end = (): void => {
          sleeps.delete(sleep);
          signal.removeEventListener('abort', end);
          resolve();
        };
        const sleep: Sleep = { dueMs: elapsedMs + ms, end };
        sleeps.add(sleep);
        signal.addEventListener('abort', end);
        const reached = watchers.filter(({ count }) => sleeps.size >= count);
        watchers = watchers.filter((watcher) => !reached.includes(watcher));
        for (const watcher of reached) watcher.resolve();
      }),
    advance,
    set: (ms) => advance(ms - nowMs),
    shift: (ms) => {
      nowMs += ms;
    },
    waiting: () => sleeps.size,
    whenWaiting: (count) =>
      new Promise((resolve) => {
        if (sleeps.size >= count) resolve();
        else watchers.push({ count, resolve });
      }),
  };
};

/** Lets time pass, by leaps, until the work is done: some commands look again and again. */
export const inLeaps = async <Result>(clock: FakeClock, work: Promise<Result>): Promise<Result> => {
  let isDone = false;
  void work.catch(() => {}).then(() => (isDone = true));
  while (!isDone) await clock.advance(clock.waiting() === 0 ? 0 : STEPPED_MS_MAX + 1);
  return work;
};
