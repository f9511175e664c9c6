/**
 * Counters that are shared by every process that serves requests. No call rejects because the shared counters are away:
 * each process then counts by itself with the same limits, says so in the log once, and goes back to the shared ones
 * when they answer. So a limit is exact while they are there, and for a while at most as many times as large as there
 * are processes; no request is refused for that.
 */

/** A fixed window of `windowMs` that starts with its first hit and admits `limit` hits. */
export type Window = Readonly<{ bucket: string; limit: number; windowMs: number }>;

export type Admission = Readonly<{
  admitted: boolean;
  /** Limit of the first window given, for the X-RateLimit headers. */
  limit: number;
  remaining: number;
  /** When that window ends, by the time of day. */
  resetAtMs: number;
  /** Until the window that refused is over, rounded up to whole seconds, at least 1; 0 where admitted. */
  retryAfterS: number;
}>;

/** A concurrency slot. Releasing it twice, or after its time, is harmless. */
export type Slot = Readonly<{ release: () => void }>;

export type Limiter = Readonly<{
  /** Counts one hit in every window, atomically: where any is full none is counted. */
  hit: (windows: readonly Window[]) => Promise<Admission>;
  /**
   * Takes one of `limit` concurrency slots of `bucket`; undefined where all are taken. A slot is free again after
   * `ttlMs` where nobody releases it, so that a process that died holds none for good.
   */
  acquire: (bucket: string, limit: number, ttlMs: number) => Promise<Slot | undefined>;
  close: () => Promise<void>;
}>;
