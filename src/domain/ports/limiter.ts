/** Counters that are shared by every process that serves requests. */
import type { MaybePromise } from '../maybe-promise.js';

/** A fixed window of `windowMs` that starts with its first hit and admits `limit` hits. */
export type Window = Readonly<{ bucket: string; limit: number; windowMs: number }>;

export type Admission = Readonly<{
  admitted: boolean;
  /** Of the first window given: what the X-RateLimit headers say. */
  limit: number;
  remaining: number;
  resetAtMs: number;
  /** Until the window that refused is over, rounded up to whole seconds, at least 1; 0 where admitted. */
  retryAfterS: number;
}>;

export type Limiter = Readonly<{
  /** Counts one hit in every window, atomically: where any is full none is counted. */
  hit: (windows: readonly Window[]) => MaybePromise<Admission>;
  /** Takes one of `limit` places of `bucket`; undefined where all are taken. The answer gives the place back; calling it twice is harmless. */
  enter: (bucket: string, limit: number) => MaybePromise<(() => void) | undefined>;
  close: () => Promise<void>;
}>;
