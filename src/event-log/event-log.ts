/**
 * The log as the rest of the program sees it: events of the domain in, events of the domain out. Between them and the store
 * stand the codec, the sealing under the stream's own key, the hash chain, and the files that hold what is too large.
 */
import { appendForCertain } from './appending.js';
import { decodeMetadata, namesOf } from './codec.js';
import { openDecodedCache, type DecodedCache } from './decoded-cache.js';
import { decodeAll, isReadable, isUnreadable, type Unreadable } from './decoding.js';
import { encodeAll, existingKey, type Cause, type Encoded } from './encoding.js';
import type { StreamVersion } from './stream-version.js';
import type { DomainEvent, EventType, Recorded } from '../domain/events.js';
import type { StreamName } from '../domain/ids.js';
import type { Limits } from '../domain/limits.js';
import type { MaybePromise } from '../domain/maybe-promise.js';
import type { Clock } from '../domain/ports/clock.js';
import type { EventBatch, EventStore, Position, ReadAllOptions, StoredEvent } from '../domain/ports/event-store.js';
import type { Files } from '../domain/ports/files.js';
import type { Ids } from '../domain/ports/ids.js';
import type { Keys, NewKey, SealingKey } from '../domain/ports/keys.js';

export { startOf, versionOf, type StreamVersion } from './stream-version.js';
export type { Cause } from './encoding.js';

export type EventLog = Readonly<{
  /** The events of a stream from a revision on (default 0), in order. Rejects with UnreadableEvent where one cannot be read. */
  load: (stream: StreamName, fromRevision?: number) => Promise<readonly Recorded[]>;
  /**
   * Appends after `version`, all or nothing. Resolves with the version after, once the events are durable. Rejects with
   * WrongExpectedRevision where the stream is elsewhere, with AppendUnknown where it cannot be found out whether they were written,
   * and with any other error where they certainly were not.
   */
  append: (stream: StreamName, version: StreamVersion, events: readonly DomainEvent[], cause: Cause) => Promise<StreamVersion>;
  readAll: (after: Position, options?: ReadOptions) => AsyncIterable<RecordedBatch>;
  /** As readAll, then on and on, until the signal aborts. */
  subscribeAll: (after: Position, options: ReadOptions & Readonly<{ signal: AbortSignal }>) => AsyncIterable<RecordedBatch>;
  head: () => Promise<Position>;
  /** A key for a stream that is about to begin and has files that belong to it: its id goes to `startOf`. */
  newKey: () => MaybePromise<NewKey>;
  /** The key of a stream where it still exists. */
  existingKey: (stream: StreamName) => Promise<SealingKey | undefined>;
  /** Destroys the stream's key and forgets what was opened with it. */
  destroyKey: (stream: StreamName) => Promise<void>;
}>;

/**
 * A part of the log in order; everything up to `position` has been looked at, and there may be no event in it that was asked for.
 * An event that cannot be read stands in `unreadable` instead of stopping the reader.
 */
export type RecordedBatch = Readonly<{ events: readonly Recorded[]; unreadable: readonly Unreadable[]; position: Position }>;

/**
 * `decrypt`: the types of event whose sealed part is wanted, and of that no more than the envelope where it has one (default: of all
 * the whole). Of others it is left out as if the key were destroyed. What is at hand anyway may come whole.
 */
type ReadOptions = ReadAllOptions & Readonly<{ decrypt?: readonly EventType[] }>;

export type EventLogPorts = Readonly<{
  store: EventStore;
  keys: Keys;
  files: Files;
  ids: Ids;
  clock: Pick<Clock, 'sleep'>;
  limits: Limits;
  /** Told of each append of this process, after it is durable. */
  onAppended?: (stream: StreamName, teamId: string, position: Position) => void;
  /** Told once of each event that a reader of the whole log cannot read. */
  onUnreadable?: (event: Unreadable) => void;
}>;

export const openEventLog = (ports: EventLogPorts): EventLog => {
  const { store, keys } = ports;
  const cache = openDecodedCache();
  const readers = batchReaders(ports, cache);
  return {
    load: async (stream, fromRevision = 0) => {
      const stored = await store.readStream(stream, fromRevision);
      return stored.length === 0 ? [] : decodeStream(ports, cache, stored);
    },
    append: async (stream, version, events, cause) => {
      const forgotten = cache.forgotten();
      const encoded = await encodeAll(ports, stream, version, events, cause);
      const toStore = encoded.map((one) => one.toStore);
      const done = await appendForCertain(ports, { stream, expectedRevision: version.revision, events: toStore });
      // What was sealed while a key was destroyed is not cached: it may have been this one.
      if (readers.subscribers() > 0 && cache.forgotten() === forgotten) keepWritten(cache, stream, encoded);
      ports.onAppended?.(stream, cause.teamId, done.position);
      const last = encoded.at(-1)!;
      return { revision: done.revision, hash: last.toStore.hash, keyId: last.metadata.keyId };
    },
    readAll: (after, { decrypt, ...options } = {}) => readers.decoded(store.readAll(after, options), decrypt),
    subscribeAll: (after, { decrypt, ...options }) => readers.subscribed(store.subscribeAll(after, options), decrypt),
    head: store.head,
    newKey: keys.create,
    existingKey: async (stream) => existingKey(keys, await keyIdOf(store, stream)),
    destroyKey: async (stream) => {
      const id = await keyIdOf(store, stream);
      if (id !== undefined) await keys.destroy([id]);
      cache.forget(stream);
    },
  };
};

const keyIdOf = async (store: EventStore, stream: StreamName): Promise<string | undefined> => {
  const last = await store.readLast(stream);
  return last && decodeMetadata(last.metadata).keyId;
};

const decodeStream = async (ports: EventLogPorts, cache: DecodedCache, stored: readonly StoredEvent[]): Promise<readonly Recorded[]> => {
  const decoded = await decodeAll(ports, cache, stored);
  if (decoded.every(isReadable)) return decoded;
  throw decoded.find(isUnreadable)!.unreadable;
};

const keepWritten = (cache: DecodedCache, stream: string, encoded: readonly Encoded[]): void => {
  for (const { event, metadata, toStore } of encoded) {
    cache.keep(stream, { event, metadata, hash: toStore.hash, sizeBytes: toStore.data.length + (toStore.sealed?.byteLength ?? 0) });
  }
};

/** Readers of the whole log, and how many of them follow it. */
const batchReaders = (ports: EventLogPorts, cache: DecodedCache) => {
  const note = unreadableNotes(ports.onUnreadable);
  let subscribers = 0;

  async function* decoded(batches: AsyncIterable<EventBatch>, decrypt: readonly EventType[] | undefined): AsyncGenerator<RecordedBatch> {
    const types = decrypt === undefined ? undefined : namesOf(decrypt);
    for await (const { events, position } of batches) {
      const all = events.length === 0 ? [] : await decodeAll(ports, cache, events, types);
      if (all.every(isReadable)) yield { events: all, unreadable: [], position };
      else yield { events: all.filter(isReadable), unreadable: note(all.filter(isUnreadable)), position };
    }
  }

  async function* subscribed(batches: AsyncIterable<EventBatch>, decrypt: readonly EventType[] | undefined): AsyncGenerator<RecordedBatch> {
    subscribers += 1;
    try {
      yield* decoded(batches, decrypt);
    } finally {
      subscribers -= 1;
    }
  }

  return { decoded, subscribed, subscribers: () => subscribers };
};

/** Beyond it an event may be told of again. */
const UNREADABLE_NOTED_MAX = 1_000;

/** Tells of each unreadable event once, however many readers meet it. */
const unreadableNotes = (tell: EventLogPorts['onUnreadable']) => {
  const noted = new Set<Position>();
  return (events: readonly Unreadable[]): readonly Unreadable[] => {
    for (const event of events) {
      if (noted.has(event.position)) continue;
      if (noted.size >= UNREADABLE_NOTED_MAX) noted.clear();
      noted.add(event.position);
      tell?.(event);
    }
    return events;
  };
};
