/**
 * The log as the rest of the program sees it: events of the domain in, events of the domain out. Between them and the store
 * stand the codec, the sealing under the stream's own key, the hash chain, and the files that hold what is too large.
 */
import { decodeMetadata, encodeEvent, encodeMetadata, namesOf } from './codec.js';
import { decodeAll, isReadable, isUnreadable, type RecentEvents, type Unreadable } from './decoding.js';
import type { DomainEvent, EventMetadata, EventType, Recorded } from '../domain/events.js';
import { chainHash, chainStart } from './hash-chain.js';
import type { StreamName } from '../domain/ids.js';
import type { Limits } from '../domain/limits.js';
import type { MaybePromise } from '../domain/maybe-promise.js';
import type { EventBatch, EventStore, EventToStore, Position, ReadAllOptions, StoredEvent } from '../domain/ports/event-store.js';
import type { Files } from '../domain/ports/files.js';
import type { Ids } from '../domain/ports/ids.js';
import type { Keys, NewKey, SealingKey } from '../domain/ports/keys.js';

/** Where a stream ends: the expected revision of the next append, the hash that it continues, and the key of the stream where it has one. */
export type Tail = Readonly<{ revision: number; hash: string; keyId: string | undefined }>;

/** `keyId`: a key that was made for the stream before its first event, for files that belong to it. */
export const startOf = (stream: string, keyId?: string): Tail => ({ revision: -1, hash: chainStart(stream), keyId });

/** The end of a stream whose last event is given. */
export const tailOf = ({ revision, hash, metadata }: Pick<Recorded, 'revision' | 'hash' | 'metadata'>): Tail => ({
  revision,
  hash,
  keyId: metadata.keyId,
});

/** On whose behalf, when and why events are appended. `at` is ISO 8601 in UTC. */
export type Cause = Readonly<{
  teamId: string;
  actor: string;
  correlationId: string;
  causationId: string;
  at: string;
  /** Of the lease under which the writer works. */
  fence?: number;
}>;

export type EventLog = Readonly<{
  /** The events of a stream from a revision on (default 0), in order. */
  load: (stream: StreamName, fromRevision?: number) => Promise<readonly Recorded[]>;
  /**
   * The stream as this process began it, while it is known to have gone no further here; undefined where it is not at hand. Another
   * process may have appended since: who appends after it is told so by WrongExpectedRevision.
   */
  recall: (stream: StreamName) => readonly Recorded[] | undefined;
  /** As that of the store: true where nothing comes after that revision, as far as it can tell without reading. */
  endsAt: (stream: StreamName, revision: number) => boolean;
  /** Appends after `tail`; all or nothing, durable when it resolves. Rejects with WrongExpectedRevision. */
  append: (stream: StreamName, tail: Tail, events: readonly DomainEvent[], cause: Cause) => Promise<Tail>;
  /** Stored events as events of the domain, in the same order. */
  decode: (stored: readonly StoredEvent[]) => Promise<readonly Recorded[]>;
  readAll: (after: Position, options?: ReadOptions) => AsyncIterable<RecordedBatch>;
  /** As readAll, then on and on, until the signal aborts. */
  subscribeAll: (after: Position, options: ReadOptions & Readonly<{ signal: AbortSignal }>) => AsyncIterable<RecordedBatch>;
  head: () => Promise<number>;
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
  limits: Limits;
  /** Told of each append of this process, after it is durable. */
  onAppended?: (stream: StreamName, teamId: string, position: number) => void;
  /** Told once of each event that a reader of the whole log cannot read. */
  onUnreadable?: (event: Unreadable) => void;
}>;

export const openEventLog = (ports: EventLogPorts): EventLog => {
  const { store, keys } = ports;
  const recent = recentlyDecoded();
  let subscribers = 0;
  const decode = async (stored: readonly StoredEvent[]): Promise<readonly Recorded[]> => {
    const decoded = await decodeAll(ports, recent, stored);
    if (decoded.every(isReadable)) return decoded;
    throw decoded.find(isUnreadable)!.unreadable;
  };
  const unreadable = unreadableNotes(ports);

  async function* decodedBatches(batches: AsyncIterable<EventBatch>, decrypt: readonly EventType[] | undefined) {
    const wanted = decrypt === undefined ? undefined : namesOf(decrypt);
    for await (const { events, position } of batches) {
      const decoded = events.length === 0 ? [] : await decodeAll(ports, recent, events, wanted);
      if (decoded.every(isReadable)) yield { events: decoded, unreadable: [], position };
      else yield { events: decoded.filter(isReadable), unreadable: unreadable.note(decoded.filter(isUnreadable)), position };
    }
  }

  async function* subscribed(batches: AsyncIterable<EventBatch>, decrypt: readonly EventType[] | undefined) {
    subscribers += 1;
    try {
      yield* decodedBatches(batches, decrypt);
    } finally {
      subscribers -= 1;
    }
  }

  return {
    load: async (stream, fromRevision = 0) => {
      const stored = await store.readStream(stream, fromRevision);
      return stored.length === 0 ? [] : decode(stored);
    },
    append: async (stream, tail, events, cause) => {
      const destroyed = recent.forgotten();
      recent.wentOn(stream);
      const written = await encodeAll(ports, stream, tail, events, cause);
      const result = await store.append(
        stream,
        tail.revision,
        written.map(({ toStore }) => toStore),
      );
      // What was sealed while a key was destroyed is not remembered: it may have been this one.
      if (subscribers > 0 && recent.forgotten() === destroyed) {
        written.forEach(({ event, toStore, metadata }, index) => {
          const back = written.length - 1 - index;
          const place = { stream, revision: result.revision - back, position: result.position - back, hash: toStore.hash };
          if (isSmall(toStore)) recent.keep({ event, metadata, ...place });
        });
      }
      ports.onAppended?.(stream, cause.teamId, result.position);
      const last = written.at(-1)!;
      return { revision: result.revision, hash: last.toStore.hash, keyId: last.metadata.keyId };
    },
    recall: recent.begunAs,
    endsAt: store.endsAt,
    decode,
    readAll: (after, { decrypt, ...options } = {}) => decodedBatches(store.readAll(after, options), decrypt),
    subscribeAll: (after, { decrypt, ...options }) => subscribed(store.subscribeAll(after, options), decrypt),
    head: store.head,
    newKey: keys.create,
    existingKey: async (stream) => existing(keys, await keyIdOf(store, stream)),
    destroyKey: async (stream) => {
      const id = await keyIdOf(store, stream);
      if (id !== undefined) await keys.destroy([id]);
      recent.forget(stream);
    },
  };
};

/** Beyond it an event may be told of again. */
const UNREADABLE_NOTED_MAX = 1_000;

/** Tells of each unreadable event once, however many readers meet it. */
const unreadableNotes = ({ onUnreadable }: EventLogPorts) => {
  const noted = new Set<Position>();
  return {
    note: (events: readonly Unreadable[]): readonly Unreadable[] => {
      for (const event of events) {
        if (noted.has(event.position)) continue;
        if (noted.size >= UNREADABLE_NOTED_MAX) noted.clear();
        noted.add(event.position);
        onUnreadable?.(event);
      }
      return events;
    },
  };
};

type Encoded = Readonly<{ event: DomainEvent; toStore: EventToStore; metadata: EventMetadata }>;

/**
 * The key must be durable before the event that needs it; a key without an event harms nobody. It is made with the first event
 * of a stream and never anew: what comes after its destruction is written without its sealed part, for a second key could not
 * open what the first has sealed.
 */
const keyFor = (keys: Keys, { revision, keyId }: Tail): MaybePromise<Readonly<{ id: string | undefined; key: SealingKey | undefined }>> =>
  revision < 0 && keyId === undefined ? keys.create() : existing(keys, keyId).then((key) => ({ id: keyId, key }));

const existing = async (keys: Keys, id: string | undefined): Promise<SealingKey | undefined> =>
  id === undefined ? undefined : (await keys.getMany([id])).get(id);

const keyIdOf = async (store: EventStore, stream: StreamName): Promise<string | undefined> => {
  const last = await store.readLast(stream);
  return last && decodeMetadata(last.metadata).keyId;
};

const encodeAll = async (
  ports: EventLogPorts,
  stream: StreamName,
  tail: Tail,
  events: readonly DomainEvent[],
  cause: Cause,
): Promise<readonly Encoded[]> => {
  const encoded = events.map(encodeEvent);
  const { id: keyId, key } = encoded.some(({ sealed }) => sealed !== undefined)
    ? await keyFor(ports.keys, tail)
    : { id: tail.keyId, key: undefined };
  const result: Encoded[] = [];
  let previous = tail.hash;
  for (const [index, { type, data, sealed }] of encoded.entries()) {
    const eventId = ports.ids.uuid();
    const ciphertext = sealed === undefined ? undefined : key?.seal(sealed, eventId);
    // Awaited only where it is: nearly every event is small.
    const parts = isSmallEnough(ports.limits, data, ciphertext)
      ? { data, sealed: ciphertext, files: undefined }
      : await outsource(ports, data, ciphertext);
    const metadata = metadataOf(eventId, cause, keyId, parts.files);
    const metadataText = encodeMetadata(metadata);
    const hash = chainHash(previous, stream, tail.revision + 1 + index, {
      type,
      data: parts.data,
      metadata: metadataText,
      sealed: parts.sealed,
    });
    const given = events[index]!;
    const event = sealed !== undefined && key === undefined ? ({ ...given, sealed: undefined } as DomainEvent) : given;
    result.push({ event, toStore: { eventId, type, data: parts.data, metadata: metadataText, sealed: parts.sealed, hash }, metadata });
    previous = hash;
  }
  return result;
};

type PayloadFiles = Pick<EventMetadata, 'dataFile' | 'sealedFile'>;

const metadataOf = (eventId: string, cause: Cause, keyId: string | undefined, files: PayloadFiles | undefined): EventMetadata => {
  const { at: occurredAt, teamId, actor, correlationId, causationId, fence } = cause;
  const metadata =
    keyId === undefined
      ? { eventId, teamId, occurredAt, actor, correlationId, causationId }
      : { eventId, teamId, occurredAt, actor, correlationId, causationId, keyId };
  return files === undefined && fence === undefined ? metadata : { ...metadata, ...files, ...(fence === undefined ? {} : { fence }) };
};

const isSmallEnough = ({ eventPayloadInlineBytesMax: max }: Limits, data: string, sealed: Uint8Array | undefined): boolean =>
  data.length <= max && (sealed?.byteLength ?? 0) <= max;

/** A payload too large for one event goes into a file; the event keeps its hash, which the chain covers. */
const outsource = async (ports: EventLogPorts, data: string, sealed: Uint8Array | undefined) => {
  const max = ports.limits.eventPayloadInlineBytesMax;
  const dataFile = data.length > max ? await ports.files.put(Buffer.from(data)) : undefined;
  const sealedFile = sealed !== undefined && sealed.byteLength > max ? await ports.files.put(sealed) : undefined;
  return {
    data: dataFile === undefined ? data : '{}',
    sealed: sealedFile === undefined ? sealed : undefined,
    files: { ...(dataFile === undefined ? {} : { dataFile }), ...(sealedFile === undefined ? {} : { sealedFile }) },
  };
};

const RECENT_EVENTS_MAX = 768;
/** A stream that begins so is soon gone on with. Those that wait longest are kept, for they are taken up next. */
const TAKEN_UP: EventType = 'EmailQueued';
const BEGUN_MAX = 1_024;
const SMALL_CHARS_MAX = 16_384;
const isSmall = (event: EventToStore): boolean => event.data.length + (event.sealed?.byteLength ?? 0) <= SMALL_CHARS_MAX;

type Recent = RecentEvents &
  Readonly<{
    keep: (recorded: Recorded) => void;
    begunAs: (stream: string) => readonly Recorded[] | undefined;
    /** More is appended to the stream, or tried to be. */
    wentOn: (stream: string) => void;
    forget: (stream: string) => void;
    /** How often something was forgotten. */
    forgotten: () => number;
  }>;

/**
 * The events that this process wrote last, and the first ones of streams that wait for somebody to go on with them, as they are in
 * the domain: relay, processors and projections all read what was just written, and need not open and parse it each for itself. The
 * hash decides, so another's event is never taken for ours. A process that nobody reads in remembers nothing.
 */
const recentlyDecoded = (): Recent => {
  const byPosition = new Map<number, Recorded>();
  const begun = new Map<string, readonly [Recorded]>();
  let forgotten = 0;
  return {
    forgotten: () => forgotten,
    keep: (recorded) => {
      byPosition.set(recorded.position, recorded);
      if (byPosition.size > RECENT_EVENTS_MAX) byPosition.delete(byPosition.keys().next().value!);
      if (recorded.revision === 0 && recorded.event.type === TAKEN_UP && begun.size < BEGUN_MAX) begun.set(recorded.stream, [recorded]);
    },
    begunAs: (stream) => begun.get(stream),
    wentOn: (stream) => void begun.delete(stream),
    find: ({ stream, position, hash }) => {
      const known = byPosition.get(position) ?? begun.get(stream)?.[0];
      return known?.hash === hash ? known : undefined;
    },
    forget: (stream) => {
      forgotten += 1;
      begun.delete(stream);
      for (const [position, recorded] of byPosition) if (recorded.stream === stream) byPosition.delete(position);
    },
  };
};
