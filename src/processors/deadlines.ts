/** One deadline for many calls, by the injected clock: all have the same time, so they are over in the order in which they began, and one timer serves them all. */
import type { Clock } from '../domain/ports/clock.js';

export type Deadlines = Readonly<{
  /** Gives `work` a signal that aborts when its time is over, or with the parent; resolves or rejects as `work` does. */
  within: <Result>(work: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  /** Ends the timer; calls under way keep the parent's signal only. */
  close: () => void;
}>;

export const openDeadlines = (clock: Clock, timeoutMs: number, parent: AbortSignal): Deadlines => {
  /** The calls under way, the oldest first, each with the moment when its time is over. */
  const open = new Map<AbortController, number>();
  const closed = new AbortController();
  let watching = false;

  const abortAll = (): void => {
    for (const call of open.keys()) call.abort();
  };
  parent.addEventListener('abort', abortAll, { once: true });

  /** It sleeps until the oldest call is due. That one may have ended long before: then it only looks which is the oldest now. */
  const watch = async (): Promise<void> => {
    watching = true;
    for (let [dueMs] = open.values(); dueMs !== undefined && !closed.signal.aborted; [dueMs] = open.values()) {
      await clock.until(dueMs, closed.signal);
      for (const [call, atMs] of open) {
        if (atMs > clock.now()) break;
        open.delete(call);
        call.abort();
      }
    }
    watching = false;
  };

  return {
    within: async (work) => {
      const call = new AbortController();
      open.set(call, clock.now() + timeoutMs);
      if (!watching) void watch();
      try {
        if (parent.aborted) call.abort();
        return await work(call.signal);
      } finally {
        open.delete(call);
      }
    },
    close: () => {
      closed.abort();
      if (open.size === 0) parent.removeEventListener('abort', abortAll);
    },
  };
};
