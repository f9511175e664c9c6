/**
 * One timeout for many calls, by the injected clock. Calls that begin at about the same time share a bucket with one signal, which
 * aborts when the time of its first call is over: a signal and a timer for each call would cost more than the rest of its bookkeeping.
 */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../domain/ports/clock.js';

export type Deadlines = Readonly<{
  /** A signal that aborts when the time of a call that begins now is over (up to a hundredth of it early), or with the parent; `over` ends the call. */
  begin: () => Readonly<{ signal: AbortSignal; over: () => void }>;
  /** The same for a call that is all of `work`; resolves or rejects as `work` does. */
  within: <Result>(work: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  /** Ends the timer; calls under way keep the parent's signal only. */
  close: () => void;
}>;

/** Calls that share a timeout; `fromMs` is by the monotonic clock. */
type Bucket = { readonly fromMs: number; readonly controller: AbortController; open: number };

/** A bucket takes calls for this part of the timeout. */
const SHARED_PART = 0.01;

export const openDeadlines = (clock: Clock, timeoutMs: number, parent: AbortSignal): Deadlines => {
  /** The oldest first; only the last takes new calls. */
  const buckets: Bucket[] = [];
  const closed = new AbortController();
  let watching = false;

  const abortAll = (): void => {
    for (const { controller } of buckets) controller.abort();
  };
  parent.addEventListener('abort', abortAll, { once: true });

  /** Sleeps until the oldest bucket is due. Where its calls have ended long before, it goes on with the one that is the oldest then. */
  const watch = async (): Promise<void> => {
    watching = true;
    for (let [oldest] = buckets; oldest !== undefined && !closed.signal.aborted; [oldest] = buckets) {
      await clock.sleep(oldest.fromMs + timeoutMs - clock.monotonic(), closed.signal);
      const dueFromMs = clock.monotonic() - timeoutMs;
      while (buckets[0] !== undefined && (buckets[0].open === 0 || buckets[0].fromMs <= dueFromMs)) buckets.shift()!.controller.abort();
    }
    watching = false;
  };

  const bucketOfNow = (): Bucket => {
    const nowMs = clock.monotonic();
    const last = buckets.at(-1);
    if (last !== undefined && !last.controller.signal.aborted && nowMs - last.fromMs < timeoutMs * SHARED_PART) return last;
    const bucket = { fromMs: nowMs, controller: new AbortController(), open: 0 };
    // As many listen as there are calls.
    setMaxListeners(0, bucket.controller.signal);
    buckets.push(bucket);
    if (!watching) void watch();
    return bucket;
  };

  const begin: Deadlines['begin'] = () => {
    const bucket = bucketOfNow();
    bucket.open += 1;
    if (parent.aborted) bucket.controller.abort();
    return { signal: bucket.controller.signal, over: () => void (bucket.open -= 1) };
  };

  return {
    begin,
    within: async (work) => {
      const { signal, over } = begin();
      try {
        return await work(signal);
      } finally {
        over();
      }
    },
    close: () => {
      closed.abort();
      if (buckets.every(({ open }) => open === 0)) parent.removeEventListener('abort', abortAll);
    },
  };
};
