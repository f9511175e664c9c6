/** How far the log is known to go: what filtered subscriptions compare themselves with. Looks by itself only while one of them waits. */
import type { Clock } from '../../../domain/ports/clock.js';
import type { Position } from '../../../domain/ports/event-store.js';
import type { Head } from './reads.js';

export type HeadWatch = Readonly<{
  head: () => Head;
  note: (head: Head) => void;
  /** Resolves when the log is known to go beyond `position`, or the signal aborts. */
  beyond: (position: Position, signal: AbortSignal) => Promise<void>;
}>;

const LOOK_EVERY_MS = 1_000;

export const openHeadWatch = (look: () => Promise<Head>, clock: Clock, closed: AbortSignal): HeadWatch => {
  let head: Head = { position: 0, stream: '' };
  const waiting = new Set<() => void>();
  let isLooking = false;

  const note = (found: Head): void => {
    if (found.position <= head.position) return;
    head = { position: found.position, stream: found.stream };
    for (const wake of [...waiting]) wake();
  };

  const poll = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    while (waiting.size > 0 && !closed.aborted) {
      const before = head;
      await clock.sleep(LOOK_EVERY_MS, closed);
      if (waiting.size === 0 || closed.aborted || head !== before) continue;
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
        if (head.position > position || signal.aborted) return resolve();
        const wake = (): void => {
          if (head.position <= position && !signal.aborted) return;
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
