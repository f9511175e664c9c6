/**
 * Bytes too large for an event, put by the SHA-256 of their content. Callers seal what is personal before they put it.
 */

export type Files = Readonly<{
  /** Resolves with the SHA-256 (hex) when the bytes survive a power loss. Putting the same bytes twice is harmless. */
  put: (bytes: Uint8Array, options?: Readonly<{ expiresAt?: string }>) => Promise<string>;
  /**
   * The bytes, checked against their hash, or undefined where they are gone. Rejects with FileDamaged where they are
   * others, or unreadable.
   */
  get: (hash: string) => Promise<Buffer | undefined>;
  delete: (hash: string) => Promise<void>;
  /**
   * Deletes every file whose `expiresAt` is at or before `now` (ISO time); answers how many. A file put again without
   * expiry stays. Unfinished files of a crash are deleted too if they are older than `abandonedBefore` (default: a
   * day).
   */
  sweep: (now: string, options?: Readonly<{ abandonedBefore?: string }>) => Promise<number>;
  /** How many files a sweep at that time would delete. */
  expired: (now: string) => Promise<number>;
}>;
