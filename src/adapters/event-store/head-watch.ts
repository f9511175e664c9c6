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
  /** Looks where the log ends now; waiting subscribers are told of a fault. */
  look: () => void;
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
  let subscribers = 0;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const waiters = createWaiters();

  const notify = (position: number): void => {
    if (position <= head) return;
    head = position;
    waiters.wake();
  };

  const look = (): void => {
    try {
      notify(table.head());
    } catch (error) {
      waiters.wake(error);
    }
  };

  const poll = foreignCommitPoll(table, look, waiters.wake);
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };

  return {
    head: () => head,
    notify,
    look,
    subscribe: () => {
      subscribers += 1;
      if (!closed) notify(table.head());
      if (timer === undefined && !closed) timer = setInterval(poll, pollEveryMs).unref();
      return () => {
        subscribers -= 1;
        if (subscribers === 0) stop();
      };
    },
    beyond: async (position, signal) => {
      if (closed || signal.aborted) return false;
      if (head > position) return true;
      await waiters.wait(signal);
      return !closed && !signal.aborted;
    },
    hasSubscribers: () => subscribers > 0,
    closed: () => closed,
    close: () => {
      closed = true;
      stop();
      waiters.wake();
    },
  };
};

/** Calls `look` where another process has committed since the last call, `fail` where that cannot be found out. */
const foreignCommitPoll = (table: Pick<LogTable, 'foreignCommits'>, look: () => void, fail: (error: unknown) => void): (() => void) => {
  let version = table.foreignCommits();
  return () => {
    try {
      const now = table.foreignCommits();
      if (now === version) return;
      // The version is noted before the head is read: what is committed in between is seen twice, never missed.
      version = now;
      look();
    } catch (error) {
      fail(error);
    }
  };
};

type Waiters = Readonly<{
  /** Resolves when woken or when the signal aborts; rejects where it is woken with an error. */
  wait: (signal: AbortSignal) => Promise<void>;
  wake: (error?: unknown) => void;
}>;

const createWaiters = (): Waiters => {
  const waiting = new Set<(error?: unknown) => void>();
  return {
    wake: (error) => {
      const woken = [...waiting];
      waiting.clear();
      for (const resume of woken) resume(error);
    },
    wait: (signal) =>
      new Promise((resolve, reject) => {
        const resume = (error?: unknown): void => {
          waiting.delete(resume);
          signal.removeEventListener('abort', onAbort);
          if (error === undefined) resolve();
          else reject(error instanceof Error ? error : new Error('the log cannot be read', { cause: error }));
        };
        const onAbort = (): void => resume();
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.add(resume);
      }),
  };
};
