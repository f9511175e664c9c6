/** One deadline for all answers of a server: nothing waits longer for one. */
import type { Clock } from '../../domain/ports/clock.js';

/** The answer did not come in time. */
export class TooLate extends Error {
  constructor() {
    super('the server did not answer in time');
  }
}

/** Settles as the promise does, or rejects with TooLate. */
export type Within = <Value>(answer: Promise<Value>) => Promise<Value>;

const LOOK_EVERY_MS = 50;

/** The last look at an answer comes after what has arrived was read: an event loop that was held up does not make a server late. */
export const openDeadline = (clock: Clock, withinMs: number, signal: AbortSignal): Within => {
  const waiting = new Set<Readonly<{ dueMs: number; reject: (fault: Error) => void }>>();
  let looking = false;

  const look = async (): Promise<void> => {
    looking = true;
    while (waiting.size > 0 && !signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, signal);
      const atMs = clock.monotonic();
      await new Promise((resolve) => setImmediate(resolve));
      for (const one of waiting) {
        if (one.dueMs > atMs) break;
        waiting.delete(one);
        one.reject(new TooLate());
      }
    }
    looking = false;
  };
  return (answer) =>
    new Promise((resolve, reject) => {
      const one = { dueMs: clock.monotonic() + withinMs, reject };
      waiting.add(one);
      answer.then(
        (value) => {
          waiting.delete(one);
          resolve(value);
        },
        (fault: unknown) => {
          waiting.delete(one);
          reject(fault instanceof Error ? fault : new Error('not an Error'));
        },
      );
      if (!looking) void look();
    });
};
