/**
 * The log of events: the truth from which everything else is derived.
 * The store keeps texts and bytes as they were given and knows nothing of what they mean.
 */

/**
 * Place of an event in the total order: ordered and opaque, so positions are compared and never added to. 0 stands
 * before the first event.
 */
export type Position = number;

/** One event as it is written. `data` and `metadata` are JSON texts, `sealed` is ciphertext, `hash` is hex. */
export type EventToStore = Readonly<{
  /** Unique in the log: by it an append whose answer was lost is found again. */
  eventId: string;
  /** The stored, versioned name, e.g. `EmailQueued.v1`. */
  type: string;
  data: string;
  metadata: string;
  sealed: Uint8Array | undefined;
  /** The link of the stream's hash chain, computed by the writer. */
  hash: string;
}>;

/** One event as it is read. `revision` counts from 0 in its stream. */
export type StoredEvent = EventToStore & Readonly<{ stream: string; revision: number; position: Position }>;

export type AppendOutcome =
  /** Durable. `revision` and `position` are those of the last event. */
  | Readonly<{ kind: 'done'; revision: number; position: Position }>
  /** The append wrote nothing: the stream is at another revision (-1 if there is no stream). */
  | Readonly<{ kind: 'conflict'; actualRevision: number }>
  /** The answer was lost: the events are written, or not, or will be. */
  | Readonly<{ kind: 'unknown'; cause: Error }>;

/**
 * Events in order; everything up to `position` has been looked at. A filtered reader gets batches without events, so
 * that its checkpoint moves.
 */
export type EventBatch = Readonly<{ events: readonly StoredEvent[]; position: Position }>;

export type ReadAllOptions = Readonly<{
  /** Kinds of stream, the part of a stream name before its first hyphen; all where absent. */
  kinds?: readonly string[];
  /** How many events a batch has at most; default 1,000. */
  batchSize?: number;
  signal?: AbortSignal;
}>;

/**
 * `types`: stored names of events, beside `kinds` where both are given; all where absent. Events of other types cost
 * little, at the server or here.
 */
export type ReadLogOptions = ReadAllOptions & Readonly<{ types?: readonly string[] }>;

export type EventStore = Readonly<{
  /**
   * Appends all events or none, after revision `expectedRevision` (-1: the stream must not exist). `done` means that
   * they survive a power loss; an append whose events, by their ids, stand there already is done too. Concurrent calls
   * may share a commit. Rejects only where it is certain that nothing was written, and works again when the fault is
   * mended.
   */
  append: (stream: string, expectedRevision: number, events: readonly EventToStore[]) => Promise<AppendOutcome>;
  /** The events of a stream in order from revision `fromRevision` (default 0); empty where there are none. */
  readStream: (stream: string, fromRevision?: number) => Promise<readonly StoredEvent[]>;
  /** The last event of a stream, or undefined where there is none. */
  readLast: (stream: string) => Promise<StoredEvent | undefined>;
  /**
   * All events after position `after` (0: from the beginning) up to the head of now. The position of the last batch is
   * that head; there is no batch where `after` is the head already. Ends when the signal aborts.
   */
  readAll: (after: Position, options?: ReadLogOptions) => AsyncIterable<EventBatch>;
  /**
   * All events after position `after`, then every later one as it is committed, by this process or another,
   * in one total order, nothing skipped, nothing twice; the position of each batch is after that of the one before.
   * Ends when the signal aborts.
   */
  subscribeAll: (
    after: Position,
    options: ReadAllOptions & Readonly<{ signal: AbortSignal }>,
  ) => AsyncIterable<EventBatch>;
  /** The position of the newest event in the log, 0 where it is empty. */
  head: () => Promise<Position>;
  /**
   * The stored names of which the log has events, each with the position of one; a name that has only old events may be
   * missing.
   */
  types: () => Promise<ReadonlyMap<string, Position>>;
  /**
   * Whether each position is followed by the next whole number, so that a gap is a removed event. Only verification
   * looks at it.
   */
  positions: 'dense' | 'sparse';
  close: () => Promise<void>;
}>;
