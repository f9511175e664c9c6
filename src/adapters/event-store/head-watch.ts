/**
 * Tells subscribers that the log has grown: at once where this process wrote, within some milliseconds
 * where another did. One timer serves all subscribers, and runs only while there are any.
 */
import type { LogTable } from './log-table.js';

export type HeadWatch = Readonly<{
  /** The newest position that this process knows of. */
  head: () => number;
  /** This process has committed up to `position`. */
  notify: (position: number) => void;
  /** Resolves with true when the head is beyond `position`, with false when the signal aborts or the store is closed; rejects where the log cannot be read. */
  beyond: (position: number, signal: AbortSignal) => Promise<boolean>;
  /** Keeps the watch going until the function that it gives is called. */
  subscribe: () => () => void;
  hasSubscribers: () => boolean;
  closed: () => boolean;
  close: () => void;
}>;

const pollEveryMs = 15;

export const createHeadWatch = (table: Pick<LogTable, 'head' | 'foreignCommits'>): HeadWatch => {
  let head = table.head();
  let version = table.foreignCommits();
  let subscribers = 0;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const waiting = new Set<(error?: unknown) => void>();

  const wake = (error?: unknown): void => {
    const woken = [...waiting];
    waiting.clear();
    for (const resume of woken) resume(error);
  };

  const notify = (position: number): void => {
    if (position <= head) return;
    head = position;
    wake();
  };

  const poll = (): void => {
    try {
      const now = table.foreignCommits();
      if (now === version) return;
      // The version is noted before the head is read: what is committed in between is seen twice, never missed.
      version = now;
      notify(table.head());
    } catch (error) {
      wake(error);
    }
  };

  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };

  return {
    head: () => head,
    notify,
    subscribe: () => {
      subscribers += 1;
      if (!closed) notify(table.head());
      if (timer === undefined && !closed) timer = setInterval(poll, pollEveryMs).unref();
      return () => {
        subscribers -= 1;
        if (subscribers === 0) stop();
      };
    },
    beyond: (position, signal) =>
      new Promise((resolve, reject) => {
        if (closed || signal.aborted) return resolve(false);
        if (head > position) return resolve(true);
        const settle = (error?: unknown): void => {
          waiting.delete(settle);
          signal.removeEventListener('abort', onAbort);
          if (error !== undefined) reject(error instanceof Error ? error : new Error('the log cannot be read', { cause: error }));
          else resolve(!closed && !signal.aborted);
        };
        const onAbort = (): void => settle();
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.add(settle);
      }),
    hasSubscribers: () => subscribers > 0,
    closed: () => closed,
    close: () => {
      closed = true;
      stop();
      wake();
    },
  };
};
