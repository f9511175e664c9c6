/**
 * Keys that seal personal data: one for each stream that holds any, kept apart from the log, destroyed for good.
 * What was sealed under a destroyed key can be opened by nobody.
 */

export type SealingKey = Readonly<{
  /** AES-256-GCM with a fresh nonce; `context` (for events: the event id) is authenticated, not stored. */
  seal: (plain: Uint8Array, context: string) => Uint8Array;
  /** Rejects tampered bytes and another context with an Error. */
  open: (sealed: Uint8Array, context: string) => Buffer;
}>;

export type Keys = Readonly<{
  /**
   * The key of `id`, made where there is none; resolves only when it survives a power loss.
   * Two concurrent calls for one id get the same key; concurrent calls share a commit.
   */
  create: (id: string) => Promise<SealingKey>;
  /** The keys that exist among `ids`; one that was destroyed is absent. */
  getMany: (ids: readonly string[]) => Promise<ReadonlyMap<string, SealingKey>>;
  /** Irreversible: when it resolves, the wrapped key is gone from the database file and its WAL too. Repeating it is harmless. */
  destroy: (ids: readonly string[]) => Promise<void>;
  /** HMAC-SHA256 in hex under a key derived from the master key and `purpose`: the only form in which something personal is fingerprinted. */
  fingerprint: (purpose: string, text: string) => string;
  close: () => Promise<void>;
}>;
