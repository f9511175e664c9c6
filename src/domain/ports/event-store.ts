/**
 * The log of events: the truth from which everything else is derived.
 * The store keeps texts and bytes as they were given and knows nothing of what they mean.
 */

/** One event as it is written. `data` and `metadata` are JSON texts, `sealed` is ciphertext, `hash` is hex. */
export type EventToStore = Readonly<{
  /** The stored, versioned name, e.g. `EmailQueued.v1`. */
  type: string;
  data: string;
  metadata: string;
  sealed: Uint8Array | undefined;
  /** The link of the stream's hash chain; computed by the writer, see domain/hash-chain.ts. */
  hash: string;
}>;

/** One event as it is read. `revision` counts from 0 in its stream, `position` rises over the whole log from 1. */
export type StoredEvent = EventToStore & Readonly<{ stream: string; revision: number; position: number }>;

export type AppendResult = Readonly<{ revision: number; position: number }>;

export type EventFilter = Readonly<{
  /** Kinds of stream, the part of a stream name before its first hyphen; all where absent. */
  kinds?: readonly string[];
}>;

export type EventStore = Readonly<{
  /**
   * Appends all events or none, after revision `expectedRevision` (-1: the stream must not exist).
   * Resolves only when the events survive a power loss, with the revision and position of the last one;
   * concurrent calls share a commit. Positions are given in commit order.
   * Rejects with WrongExpectedRevision, having written nothing, where the stream is elsewhere;
   * rejects with the cause, having written nothing, where the disk refuses, and works again when it recovers.
   */
  append: (stream: string, expectedRevision: number, events: readonly EventToStore[]) => Promise<AppendResult>;
  /** The events of a stream in order from revision `fromRevision` (default 0); empty where there are none. */
  readStream: (stream: string, fromRevision?: number) => Promise<readonly StoredEvent[]>;
  /**
   * True where the stream ends with that revision, as far as the store can tell without reading: what another process appends may
   * show a turn of the event loop later. False says nothing.
   */
  endsAt: (stream: string, revision: number) => boolean;
  /** The last event of a stream, or undefined where there is none. */
  readLast: (stream: string) => Promise<StoredEvent | undefined>;
  /**
   * All events after position `after` (0: from the beginning) up to the head of now, in batches of at most `batchSize` (default 1,000).
   * `whole`: the stored names of the events that are read whole (default: all). Of others nothing but the data may be asked for: `metadata`
   * and `hash` may be empty and `sealed` undefined, unless their data is `{}`.
   */
  readAll: (
    after: number,
    options?: Readonly<{ filter?: EventFilter; whole?: readonly string[]; batchSize?: number; signal?: AbortSignal }>,
  ) => AsyncIterable<readonly StoredEvent[]>;
  /**
   * All events after position `after`, then every later one as it is committed, by this process or another,
   * in one total order, nothing skipped, nothing twice; never an empty batch. Ends when the signal aborts.
   */
  subscribeAll: (
    after: number,
    options: Readonly<{ filter?: EventFilter; batchSize?: number; signal: AbortSignal }>,
  ) => AsyncIterable<readonly StoredEvent[]>;
  /** The position of the newest event in the log, 0 where it is empty. */
  head: () => Promise<number>;
  close: () => Promise<void>;
}>;
