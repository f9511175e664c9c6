/** A clock that stands still until the test moves it; moving it wakes every wait that is then due, in the order of their times. */
import type { Clock } from '../../src/domain/ports/clock.js';

export type FakeClock = Clock &
  Readonly<{
    /** Moves the clock on and lets what was due run before it resolves. */
    advance: (ms: number) => Promise<void>;
    /** Sets the clock, backwards too. */
    set: (ms: number) => Promise<void>;
    /** How many waits are open. */
    waiting: () => number;
    /** Resolves when at least `count` waits are open. */
    whenWaiting: (count: number) => Promise<void>;
  }>;

type Wait = Readonly<{ atMs: number; end: () => void }>;

export const fakeClock = (startMs: number = Date.parse('2026-01-01T00:00:00.000Z')): FakeClock => {
  let nowMs = startMs;
  const waits = new Set<Wait>();
  let watchers: Readonly<{ count: number; resolve: () => void }>[] = [];

  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  const set = async (ms: number): Promise<void> => {
    nowMs = ms;
    for (const wait of [...waits].sort((a, b) => a.atMs - b.atMs)) if (wait.atMs <= nowMs) wait.end();
    await settle();
  };

  return {
    now: () => nowMs,
    until: (atMs, signal) =>
      new Promise((resolve) => {
        if (signal.aborted || atMs <= nowMs) return resolve();
        const end = (): void => {
          waits.delete(wait);
          signal.removeEventListener('abort', end);
          resolve();
        };
        const wait: Wait = { atMs, end };
        waits.add(wait);
        signal.addEventListener('abort', end);
        const reached = watchers.filter(({ count }) => waits.size >= count);
        watchers = watchers.filter((watcher) => !reached.includes(watcher));
        for (const watcher of reached) watcher.resolve();
      }),
    advance: (ms) => set(nowMs + ms),
    set,
    waiting: () => waits.size,
    whenWaiting: (count) =>
      new Promise((resolve) => {
        if (waits.size >= count) resolve();
        else watchers.push({ count, resolve });
      }),
  };
};
