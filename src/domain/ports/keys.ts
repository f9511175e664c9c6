/**
 * Keys that seal personal data: one for each stream that holds any, kept apart from the log, destroyed for good.
 * Data that was sealed under a destroyed key cannot be opened again.
 */

export type SealingKey = Readonly<{
  /**
   * AES-256-GCM with a fresh nonce, of a text its UTF-8; `context` (for events: where they stand) is authenticated, not
   * stored. `prefix` stands before the sealed bytes, as it is.
   */
  seal: (plain: Uint8Array | string, context: string, prefix?: Uint8Array) => Uint8Array;
  /** Rejects tampered bytes and another context with an Error. */
  open: (sealed: Uint8Array, context: string) => Buffer;
}>;

export type NewKey = Readonly<{ id: string; key: SealingKey }>;

/** An event of the log, by its position and its hash. */
export type LogMark = Readonly<{ position: number; hash: string }>;

export type Keys = Readonly<{
  /**
   * A key that nobody else has been given, under an id that never comes again; it survives a power loss when this
   * resolves. Keys may be made ahead and are then given at once; one that was made and never given to anybody harms
   * nobody.
   */
  create: () => Promise<NewKey>;
  /** The keys that exist among `ids`; one that was destroyed is absent, and so is one that is damaged. */
  getMany: (ids: readonly string[]) => Promise<ReadonlyMap<string, SealingKey>>;
  /**
   * Irreversible, and harmless to repeat. When it resolves no reader is given the key any more. The engine's own
   * journal may still hold the wrapped key for at most `journalMs` (0: it stands nowhere), after which neither a file
   * nor a replica has it.
   */
  destroy: (ids: readonly string[]) => Promise<Readonly<{ journalMs: number }>>;
  /** Damaged or exchanged entries of the store, each as a text that names its place; empty if all are intact. */
  faults: () => Promise<readonly string[]>;
  /**
   * The mark that was set last, undefined before the first. It is kept with the keys: an older copy of them has an
   * older one.
   */
  mark: () => Promise<LogMark | undefined>;
  /** Notes up to which event of the log every key is destroyed that is to be destroyed. */
  setMark: (mark: LogMark) => Promise<void>;
  /**
   * HMAC-SHA256 in hex under a key derived from the master key and `purpose`: the only form in which something personal
   * is fingerprinted.
   */
  fingerprint: (purpose: string, text: string | Uint8Array) => string;
  close: () => Promise<void>;
}>;

/** A key under which the log is sealed. `id` names it and tells nothing of it. */
export type SealKey = Readonly<{
  id: string;
  /** The tag of an event that is appended under the key: 32 hex digits over its hash. */
  tag: (hash: string) => string;
}> &
  (KeyHere | SignerOutside);

/** The answer of the key to a text, always the same. */
type KeyHere = Readonly<{ isOutside?: never; sign: (text: string) => string }>;

/** A program that signs. `sign` rejects if it does not answer. */
type SignerOutside = Readonly<{ isOutside: true; sign: (text: string) => Promise<string> }>;

/** A seal as it is told outside. */
export type SignedSeal = Readonly<{
  at: string;
  position: number;
  count: number;
  root: string;
  key?: string;
  mac?: string;
}>;

/** The keys under which the log is sealed, and what is told of seals outside. */
export type Sealing = Readonly<{
  /**
   * The key of new seals first, then those that earlier seals were made with, the weakest last: it is derived from the
   * master key.
   */
  keys: () => Promise<readonly SealKey[]>;
  /** Whether the first of them is set, and is not the one that is derived from the master key. */
  isSet: boolean;
  /** Ids of keys that are lost: what was sealed under them is not proved, and no fault. */
  lost: readonly string[];
  /** Posts to this address, if there is one. */
  webhook: string | undefined;
  /** Appends the seal to the file that the settings name; does nothing if they name none. */
  keep: (seal: SignedSeal) => Promise<void>;
  /** The newest seals of that file, the root by position; empty if the settings name none. */
  kept: () => Promise<ReadonlyMap<number, string>>;
}>;
