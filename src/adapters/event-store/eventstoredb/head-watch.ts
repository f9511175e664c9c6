/** How far the log is known to go: what filtered subscriptions compare themselves with. Looks by itself only while one of them waits. */
import type { Clock } from '../../../domain/ports/clock.js';
import type { Position } from '../../../domain/ports/event-store.js';

export type HeadWatch = Readonly<{
  head: () => Position;
  note: (position: Position) => void;
  /** Resolves when the log is known to go beyond `position`, or the signal aborts. */
  beyond: (position: Position, signal: AbortSignal) => Promise<void>;
}>;

const LOOK_EVERY_MS = 250;

export const openHeadWatch = (look: () => Promise<Position>, clock: Clock, closed: AbortSignal): HeadWatch => {
  let head: Position = 0;
  const waiting = new Set<() => void>();
  let isLooking = false;

  const note = (position: Position): void => {
    if (position <= head) return;
    head = position;
    for (const wake of [...waiting]) wake();
  };

  const poll = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    while (waiting.size > 0 && !closed.aborted) {
      const before = head;
      await clock.sleep(LOOK_EVERY_MS, closed);
      if (waiting.size === 0 || closed.aborted || head > before) continue;
      // Where the server is away the subscriptions tell of it.
      await look().then(note, () => {});
    }
    isLooking = false;
  };

  return {
    head: () => head,
    note,
    beyond: (position, signal) =>
      new Promise((resolve) => {
        if (head > position || signal.aborted) return resolve();
        const wake = (): void => {
          if (head <= position && !signal.aborted) return;
          waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        waiting.add(wake);
        signal.addEventListener('abort', wake, { once: true });
        void poll();
      }),
  };
};
