/**
 * One deadline for many calls, by the injected clock. Calls that begin at about the same time share one signal, which is due when
 * the time of the first of them is over: a signal for each call would cost more than the rest of its bookkeeping. One timer serves all.
 */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../domain/ports/clock.js';

export type Deadlines = Readonly<{
  /** Gives `work` a signal that aborts when its time is over (up to a hundredth of it early), or with the parent; resolves or rejects as `work` does. */
  within: <Result>(work: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  /** Ends the timer; calls under way keep the parent's signal only. */
  close: () => void;
}>;

/** Calls that share a deadline. */
type Shift = { readonly fromMs: number; readonly call: AbortController; open: number };

/** Of the time of a call: so much later another may begin and share its deadline. */
const SHARED_PART = 0.01;

export const openDeadlines = (clock: Clock, timeoutMs: number, parent: AbortSignal): Deadlines => {
  /** The oldest first; only the last takes new calls. */
  const shifts: Shift[] = [];
  const closed = new AbortController();
  let watching = false;

  const abortAll = (): void => {
    for (const { call } of shifts) call.abort();
  };
  parent.addEventListener('abort', abortAll, { once: true });

  /** It sleeps until the oldest shift is due. The calls of that one may have ended long before: then it only looks which is the oldest now. */
  const watch = async (): Promise<void> => {
    watching = true;
    for (let [oldest] = shifts; oldest !== undefined && !closed.signal.aborted; [oldest] = shifts) {
      await clock.until(oldest.fromMs + timeoutMs, closed.signal);
      while (shifts[0] !== undefined && (shifts[0].open === 0 || shifts[0].fromMs + timeoutMs <= clock.now())) shifts.shift()!.call.abort();
    }
    watching = false;
  };

  const shiftOfNow = (): Shift => {
    const nowMs = clock.now();
    const last = shifts.at(-1);
    if (last !== undefined && !last.call.signal.aborted && nowMs >= last.fromMs && nowMs - last.fromMs < timeoutMs * SHARED_PART)
      return last;
    const shift = { fromMs: nowMs, call: new AbortController(), open: 0 };
    // As many listen as there are calls.
    setMaxListeners(0, shift.call.signal);
    shifts.push(shift);
    if (!watching) void watch();
    return shift;
  };

  return {
    within: async (work) => {
      const shift = shiftOfNow();
      shift.open += 1;
      try {
        if (parent.aborted) shift.call.abort();
        return await work(shift.call.signal);
      } finally {
        shift.open -= 1;
      }
    },
    close: () => {
      closed.abort();
      if (shifts.every(({ open }) => open === 0)) parent.removeEventListener('abort', abortAll);
    },
  };
};
