/** A deadline for one call, by the injected clock. */
import type { Clock } from '../domain/ports/clock.js';

const DONE = 'done';

/** Gives `work` a signal that aborts after `timeoutMs`, or with `parent`; resolves or rejects as `work` does. */
export const withDeadline = async <Result>(
  clock: Clock,
  timeoutMs: number,
  parent: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const expired = new AbortController();
  const done = new AbortController();
  const abort = (): void => expired.abort();
  parent.addEventListener('abort', abort, { once: true });
  void clock.until(clock.now() + timeoutMs, done.signal).then(() => done.signal.aborted || abort());
  try {
    if (parent.aborted) abort();
    return await work(expired.signal);
  } finally {
    // With a reason of its own: without one, a DOMException with a stack is made for each call.
    done.abort(DONE);
    parent.removeEventListener('abort', abort);
  }
};
