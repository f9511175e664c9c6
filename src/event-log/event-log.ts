/**
 * The event log as the program sees it: events of the domain in, events of the domain out. Between the log and the
 * store stand the codec, the sealing under the key of each stream, the hash chain, and files for large payloads.
 */
import {
  AppendUnknown,
  WrongExpectedRevision,
  EventUnknown,
  EventUnreadable,
  LeaseSuperseded,
} from '../domain/core/errors.js';
import type { Clock } from '../domain/ports/clock.js';
import type {
  AppendOutcome,
  EventStore,
  EventToStore,
  Position,
  StoredEvent,
  EventBatch,
  ReadAllOptions,
} from '../domain/ports/event-store.js';
import { type DomainEvent, type Recorded, erasingEvents, type EventType } from '../domain/events.js';
import type { EventMetadata } from '../domain/core/event.js';
import { boundedCache } from '../shared/cache.js';
import { codec as newestCodec, type Codec } from './codec.js';
import { decodeAll, isReadable, isUnknown, isUnreadable, type Unreadable, type GivingWay } from './decode.js';
import { encodeAll, firstCause, type Cause, type EachCause, type Encoded, type SealedUnder } from './encode.js';
import { readableMetadata } from './hash-chain.js';
import { allKeyIds, existingKey, type StreamVersion } from './stream-keys.js';
import type { StreamName } from '../domain/core/ids.js';
import type { Limits } from '../domain/core/limits.js';
import type { Files } from '../domain/ports/files.js';
import type { Ids } from '../domain/ports/ids.js';
import type { Keys, NewKey, SealingKey } from '../domain/ports/keys.js';

export { startOf, versionOf, type StreamVersion } from './stream-keys.js';
export type { Cause, EachCause } from './encode.js';

export type Appended = StreamVersion & Readonly<{ position: Position }>;

/** An event as its writer knows it. */
export type Written = Pick<Recorded, 'event' | 'metadata' | 'hash' | 'revision'>;

export type EventLog = Readonly<{
  /**
   * The events of a stream from a revision on (default 0), in order. Rejects with EventUnreadable where one is damaged
   * or missing, and with EventUnknown where a newer program wrote one. `decrypt`: as of those who read the whole log.
   */
  load: (stream: StreamName, fromRevision?: number, decrypt?: readonly EventType[]) => Promise<readonly Recorded[]>;
  /**
   * The events of a stream from the first to the one at `position`, if this process has written them all and has them
   * in memory; else undefined. Another process may have appended more: an append after them finds that out, and then
   * they are not kept any longer.
   */
  written: (stream: StreamName, position: Position) => readonly Written[] | undefined;
  /** All events of a stream, unreadable ones as values: for reports and for saving what is left. */
  inspect: (stream: StreamName) => Promise<readonly (Recorded | Unreadable)[]>;
  /**
   * Appends after `version`, all or nothing. Resolves with the version after and the position of the last event, once
   * the events are durable. Rejects with WrongExpectedRevision where the stream is elsewhere, with AppendUnknown where
   * it cannot be found out whether they were written, with LeaseSuperseded where the last event stands under a newer
   * lease, and with any other error where they certainly were not. `cause`: one of all of them, or one for each, of the
   * same team and lease.
   */
  append: (
    stream: StreamName,
    version: StreamVersion,
    events: readonly DomainEvent[],
    cause: Cause | EachCause,
  ) => Promise<Appended>;
  /**
   * The last revision of a stream and the stored name of its event, undefined for no stream. Does not decode the event.
   */
  last: (stream: StreamName) => Promise<Readonly<{ revision: number; storedType: string }> | undefined>;
  /** `types`: of these alone; what is left out costs little. */
  readAll: (
    after: Position,
    options?: ReadOptions & Readonly<{ types?: readonly EventType[] }>,
  ) => AsyncIterable<RecordedBatch>;
  /**
   * As readAll, then on and on, until the signal aborts. `only`: the types of event that are wanted; others that this
   * program knows are passed over as they stand, damaged or not.
   */
  subscribeAll: (
    after: Position,
    options: ReadOptions & Readonly<{ signal: AbortSignal; only?: readonly EventType[] }>,
  ) => AsyncIterable<RecordedBatch>;
  head: () => Promise<Position>;
  /** A key for a stream that is about to begin and has files that belong to it: its id goes to `startOf`. */
  newKey: () => Promise<NewKey>;
  /** The key of a stream where it still exists, found by any of its events that can be read. */
  existingKey: (stream: StreamName) => Promise<SealingKey | undefined>;
  /** Destroys the stream's key, and those of its recipients, and forgets what was opened with them. */
  destroyKey: (stream: StreamName) => Promise<void>;
  /** Destroys the keys of the recipients at those places alone. Safe to repeat. */
  destroyRecipientKeys: (stream: StreamName, places: readonly number[]) => Promise<void>;
}>;

/**
 * A part of the log in order; everything up to `position` has been looked at, and there may be no event in it that was
 * asked for. An event that is damaged stands in `unreadable` and does not stop the reader. At one that a newer program
 * wrote the reader ends with EventUnknown, after the events before it, unless it passes over it.
 */
type RecordedBatch = Readonly<{ events: readonly Recorded[]; unreadable: readonly Unreadable[]; position: Position }>;

/**
 * `decrypt`: the event types whose encrypted part is needed, without the rest of the part if it has an envelope
 * (default: all types, whole). Other types come without their encrypted part, as if the key were destroyed; cached
 * events may come whole. `unknown`: 'listed' puts events of a newer program into `unreadable` too; a function decides
 * for each such event.
 */
type ReadOptions = ReadAllOptions &
  Readonly<{ decrypt?: readonly EventType[]; unknown?: 'listed' | GivingWay['passes'] }>;

export type EventLogPorts = Readonly<{
  store: EventStore;
  keys: Keys;
  files: Files;
  ids: Ids;
  clock: Pick<Clock, 'sleep'>;
  limits: Limits;
  /** Versions that are read and written; default: all versions, the newest of each. */
  codec?: Codec;
  /** The key under which each event gets its tag; absent: no event gets one. */
  sealKey?: SealedUnder;
  /** Called for each append of this process, after it is durable. */
  onAppended?: (stream: StreamName, teamId: string, position: Position) => void;
  /** Called once for each event that a reader cannot read. */
  onUnreadable?: (event: Unreadable) => void;
}>;

type Ports = EventLogPorts & Readonly<{ codec: Codec }>;

export const openEventLog = (given: EventLogPorts): EventLog => {
  const ports: Ports = { ...given, codec: given.codec ?? newestCodec };
  const { store, keys } = ports;
  const cache = openDecodedCache(ports.limits.hotBytesMax);
  const note = unreadableNotes(ports.onUnreadable);
  const decode = decoderOf(ports, cache);
  const readers = batchReaders(decode, ports.codec, note);
  const inspect = async (stream: StreamName) => decode(await store.readStream(stream));
  return {
    load: async (stream, fromRevision = 0, decrypt) => {
      const stored = await store.readStream(stream, fromRevision);
      const types = decrypt && ports.codec.namesOf(decrypt);
      return stored.length === 0 ? [] : decodeStream(await decode(stored, types), fromRevision, note);
    },
    written: cache.upTo,
    inspect,
    append: async (stream, version, events, cause) => {
      const { fence, teamId } = firstCause(cause);
      if (fence !== undefined && version.fence !== undefined && fence < version.fence)
        throw new LeaseSuperseded(stream, fence, version.fence);
      const forgotten = cache.forgotten();
      let encoded: readonly Encoded[];
      let done: Done;
      try {
        encoded = await encodeAll(ports, stream, version, events, cause, cache.keyAfter(stream, version));
        const toStore = encoded.map((one) => one.toStore);
        done = await appendForCertain(ports, { stream, expectedRevision: version.revision, events: toStore });
      } catch (fault) {
        // Another process may have continued the stream.
        cache.drop(stream);
        throw fault;
      }
      // Events that were sealed while a key was destroyed are not cached: it may have been their key.
      if (readers.subscribers() > 0 && cache.forgotten() === forgotten) keepWritten(cache, stream, encoded, done);
      else cache.drop(stream);
      ports.onAppended?.(stream, teamId, done.position);
      const last = encoded.at(-1)!;
      const { keyId, recipientKeys } = last.metadata;
      const after = { revision: done.revision, hash: last.toStore.hash, keyId, position: done.position };
      if (fence === undefined && recipientKeys === undefined) return after;
      return { ...after, ...(recipientKeys && { recipientKeys }), ...(fence === undefined ? {} : { fence }) };
    },
    last: async (stream) => {
      const stored = await store.readLast(stream);
      return stored && { revision: stored.revision, storedType: stored.type };
    },
    readAll: (after, { decrypt, unknown, types, ...options } = {}) => {
      const wanted = types === undefined ? options : { ...options, types: [...ports.codec.namesOf(types)] };
      return readers.decoded(store.readAll(after, wanted), decrypt, unknown);
    },
    subscribeAll: (after, { decrypt, unknown, only, ...options }) => {
      const batches = store.subscribeAll(after, options);
      return readers.subscribed(only === undefined ? batches : wantedIn(batches, ports.codec, only), decrypt, unknown);
    },
    head: store.head,
    newKey: keys.create,
    existingKey: async (stream) => existingKey(keys, (await keyNamesOf(store, stream)).keyId),
    destroyKey: async (stream) => {
      const ids = allKeyIds(await keyNamesOf(store, stream));
      if (ids.length > 0) await keys.destroy(ids);
      cache.forget(stream);
    },
    destroyRecipientKeys: async (stream, places) => {
      const { recipientKeys = [] } = await keyNamesOf(store, stream);
      const ids = places.flatMap((place) => recipientKeys[place] ?? []);
      if (ids.length > 0) await keys.destroy(ids);
      cache.forget(stream);
    },
  };
};

type AppendingPorts = Readonly<{ store: Pick<EventStore, 'append' | 'readStream'>; clock: Pick<Clock, 'sleep'> }>;

type Append = Readonly<{ stream: string; expectedRevision: number; events: readonly EventToStore[] }>;
type Done = Readonly<{ revision: number; position: Position }>;

const ATTEMPTS_MAX = 6;
const PAUSE_MS = 50;
const never = new AbortController().signal;

/**
 * Appends until the outcome is certain: after a lost answer it reads the stream. Resolves when the events are durable.
 * Rejects with WrongExpectedRevision, or as the store does, if they are certainly not in the log, and with
 * AppendUnknown if a bounded number of attempts did not find out.
 */
const appendForCertain = async (ports: AppendingPorts, append: Append): Promise<Done> => {
  const { stream, expectedRevision } = append;
  let outcome = await ports.store.append(stream, expectedRevision, append.events);
  for (let attempt = 1; outcome.kind === 'unknown'; attempt += 1) {
    if (attempt > ATTEMPTS_MAX)
      throw new AppendUnknown(stream, outcome.cause, {
        after: expectedRevision,
        eventIds: append.events.map(({ eventId }) => eventId),
      });
    // The first look is at once: most answers are lost after the append was done.
    if (attempt > 1) await ports.clock.sleep(PAUSE_MS * 2 ** (attempt - 2), never);
    outcome = await settle(ports, append);
  }
  if (outcome.kind === 'conflict') throw new WrongExpectedRevision(stream, expectedRevision, outcome.actualRevision);
  return outcome;
};

/** Looks for the events in the stream; if they are missing, appends them again under the same ids. */
const settle = async ({ store }: AppendingPorts, append: Append): Promise<AppendOutcome> => {
  try {
    const written = await find(store, append);
    if (written !== undefined) return written;
    const outcome = await store.append(append.stream, append.expectedRevision, append.events);
    // The conflicting events may be those of the first attempt, written late.
    return outcome.kind === 'conflict' ? ((await find(store, append)) ?? outcome) : outcome;
  } catch (cause) {
    // A failure of this attempt says nothing about the attempt before.
    return { kind: 'unknown', cause: cause instanceof Error ? cause : new Error('not an Error', { cause }) };
  }
};

const find = async (
  store: AppendingPorts['store'],
  { stream, expectedRevision, events }: Append,
): Promise<AppendOutcome | undefined> => {
  const stored = await store.readStream(stream, expectedRevision + 1);
  const last = stored[events.length - 1];
  if (last === undefined || events.some(({ eventId }, index) => stored[index]!.eventId !== eventId)) return undefined;
  return { kind: 'done', revision: last.revision, position: last.position };
};

/** `hash` is that of the event, and so names its place in the stream too. */
type Decoded = Written &
  Readonly<{
    /** Undefined for an event that was appended together with later ones. */
    position: Position | undefined;
    /** The key of the stream, if the event was sealed with it. */
    key: SealingKey | undefined;
    /** Size of its stored parts. */
    sizeBytes: number;
  }>;

/**
 * The decoded events that this process wrote last: relay, processors and projections read them without decrypting and
 * parsing again. An event is found by its hash, so an event of another process is never mistaken for it.
 */
type DecodedCache = Readonly<{
  find: (stored: StoredEvent) => Recorded | undefined;
  upTo: EventLog['written'];
  /**
   * The key of a stream that ends with that version, if no other process has continued it. An event is appended before
   * a key is destroyed.
   */
  keyAfter: (stream: string, version: StreamVersion) => SealingKey | undefined;
  keep: (stream: string, decoded: Decoded) => void;
  /** Removes what is cached of the stream. */
  drop: (stream: string) => void;
  /** As `drop`, because a key is destroyed. */
  forget: (stream: string) => void;
  /** How often `forget` was called. */
  forgotten: () => number;
}>;

/** Streams that wait take three quarters of the memory at most, those that were continued or read last one quarter. */
const WAITING_SHARE = 3 / 4;
/** A larger event is not cached. */
const EVENT_SHARE = 1 / 64;
/** Memory of a cached event beside its parts. */
const OVERHEAD_BYTES = 512;

const RECENT_STREAMS_MAX = 4_096;
const EVENTS_PER_STREAM_MAX = 8;

/**
 * A stream that still waits after this many newer ones is dropped: it is scheduled, or another process continues it.
 */
const WAITING_AGE_MAX = 16_384;

const sizeOf = ({ sizeBytes }: Decoded): number => sizeBytes + OVERHEAD_BYTES;

const openDecodedCache = (sizeBytesMax: number): DecodedCache => {
  const waitingBytesMax = Math.floor(sizeBytesMax * WAITING_SHARE);
  const recent = boundedCache<string, readonly Decoded[]>({
    entriesMax: RECENT_STREAMS_MAX,
    size: { max: sizeBytesMax - waitingBytesMax, of: (events) => events.reduce((sum, one) => sum + sizeOf(one), 0) },
  });
  const waiting = openWaiting(waitingBytesMax);
  let forgotten = 0;
  const drop = (stream: string): void => {
    waiting.take(stream);
    recent.delete(stream);
  };
  const known = (stream: string): readonly Decoded[] => {
    const begun = waiting.get(stream);
    return begun === undefined ? (recent.get(stream) ?? []) : [begun];
  };
  return {
    upTo: (stream, position) => {
      const events = known(stream);
      const isWhole = events.at(-1)?.position === position && events.every(({ revision }, index) => revision === index);
      return isWhole ? events : undefined;
    },
    keyAfter: (stream, { hash, keyId }) => {
      if (keyId === undefined) return undefined;
      const events = known(stream);
      if (events.at(-1)?.hash !== hash) return undefined;
      return events.find(({ key, metadata }) => key !== undefined && metadata.keyId === keyId)?.key;
    },
    drop,
    find: ({ stream, revision, position, hash }) => {
      // A rebuild asks for each event of the log.
      if (waiting.isEmpty() && recent.entries() === 0) return undefined;
      const begun = waiting.get(stream);
      const known = begun?.hash === hash ? begun : recent.get(stream)?.find((one) => one.hash === hash);
      return known && { event: known.event, stream, revision, position, hash, metadata: known.metadata };
    },
    keep: (stream, decoded) => {
      if (decoded.sizeBytes > sizeBytesMax * EVENT_SHARE) return drop(stream);
      const begun = waiting.take(stream);
      const known = begun === undefined ? recent.get(stream) : [begun];
      if (known === undefined && waiting.add(stream, decoded)) return;
      recent.set(stream, known === undefined ? [decoded] : [...known.slice(1 - EVENTS_PER_STREAM_MAX), decoded]);
    },
    forget: (stream) => {
      forgotten += 1;
      drop(stream);
    },
    forgotten: () => forgotten,
  };
};

type Waiting = Readonly<{
  isEmpty: () => boolean;
  get: (stream: string) => Decoded | undefined;
  /** Out: false if there is no room. */
  add: (stream: string, decoded: Decoded) => boolean;
  /** Removes the stream. */
  take: (stream: string) => Decoded | undefined;
}>;

/**
 * Keeps the streams that wait longest, because they are continued next; in a backlog the newest would displace just
 * these.
 */
const openWaiting = (sizeBytesMax: number): Waiting => {
  const begun = new Map<string, Readonly<{ decoded: Decoded; number: number }>>();
  let sizeBytes = 0;
  let count = 0;

  const take = (stream: string): Decoded | undefined => {
    const known = begun.get(stream);
    if (known === undefined) return undefined;
    begun.delete(stream);
    sizeBytes -= sizeOf(known.decoded);
    return known.decoded;
  };

  return {
    isEmpty: () => begun.size === 0,
    get: (stream) => begun.get(stream)?.decoded,
    take,
    add: (stream, decoded) => {
      count += 1;
      const [oldest] = begun;
      if (oldest !== undefined && count - oldest[1].number > WAITING_AGE_MAX) take(oldest[0]);
      if (sizeBytes + sizeOf(decoded) > sizeBytesMax) return false;
      begun.set(stream, { decoded, number: count });
      sizeBytes += sizeOf(decoded);
      return true;
    },
  };
};

type KeyNames = Pick<EventMetadata, 'keyId' | 'recipientKeys'>;

/** The keys of a stream, from any event with readable metadata: every event of a stream with keys names them. */
const keyNamesOf = async (store: EventStore, stream: StreamName): Promise<KeyNames> => {
  const last = await store.readLast(stream);
  const metadata = last && readableMetadata(last);
  if (last === undefined || metadata !== undefined) return metadata ?? {};
  for (const event of await store.readStream(stream)) {
    const readable = readableMetadata(event);
    if (readable?.keyId !== undefined) return readable;
  }
  return {};
};

/** Throws for the first event that is missing, damaged or unknown: a decision without it would be wrong. */
const decodeStream = (
  decoded: readonly (Recorded | Unreadable)[],
  fromRevision: number,
  note: Note,
): readonly Recorded[] => {
  const recorded: Recorded[] = [];
  let expected = fromRevision;
  for (const event of decoded) {
    if (isUnknown(event)) throw new EventUnknown(event);
    if (isUnreadable(event)) {
      note([event]);
      throw new EventUnreadable(event, event.unreadable.message, { cause: event.unreadable });
    }
    if (event.revision !== expected)
      throw new EventUnreadable(
        { ...event, storedType: event.event.type },
        `revision ${expected} of the stream is missing before it`,
      );
    recorded.push(event);
    expected += 1;
  }
  return recorded;
};

async function* wantedIn(
  batches: AsyncIterable<EventBatch>,
  codec: Codec,
  only: readonly EventType[],
): AsyncGenerator<EventBatch> {
  const names = codec.namesOf(only);
  for await (const { events, position } of batches)
    yield { events: events.filter(({ type }) => names.has(type) || !codec.knows(type)), position };
}

const keepWritten = (
  cache: DecodedCache,
  stream: string,
  encoded: readonly Encoded[],
  { revision, position }: Done,
): void => {
  for (const [index, { event, metadata, toStore, key }] of encoded.entries()) {
    const behind = encoded.length - 1 - index;
    cache.keep(stream, {
      event,
      metadata,
      hash: toStore.hash,
      revision: revision - behind,
      position: behind === 0 ? position : undefined,
      key,
      sizeBytes: toStore.data.length + (toStore.sealed?.byteLength ?? 0),
    });
  }
};

type Decode = (stored: readonly StoredEvent[], types?: ReadonlySet<string>) => ReturnType<typeof decodeAll>;

/**
 * When the log says that personal data of a stream is destroyed, by any process, the cached events of the stream are
 * dropped too.
 */
const decoderOf = (ports: Ports, cache: DecodedCache): Decode => {
  const erasing = ports.codec.namesOf([...erasingEvents, 'RecipientsErased']);
  return (stored, types) => {
    for (const { type, stream } of stored) if (erasing.has(type)) cache.forget(stream);
    return decodeAll(ports, cache, stored, types);
  };
};

/** Readers of the whole log, and how many of them follow it. */
const batchReaders = (decode: Decode, codec: Codec, note: Note) => {
  let subscribers = 0;

  async function* decoded(
    batches: AsyncIterable<EventBatch>,
    decrypt: readonly EventType[] | undefined,
    unknown: ReadOptions['unknown'],
  ): AsyncGenerator<RecordedBatch> {
    const types = decrypt === undefined ? undefined : codec.namesOf(decrypt);
    for await (const { events, position } of batches) {
      const all = events.length === 0 ? [] : await decode(events, types);
      if (all.every(isReadable)) yield { events: all, unreadable: [], position };
      else yield* withUnreadable(all, position, note, unknown);
    }
  }

  async function* subscribed(...given: Parameters<typeof decoded>): AsyncGenerator<RecordedBatch> {
    subscribers += 1;
    try {
      yield* decoded(...given);
    } finally {
      subscribers -= 1;
    }
  }

  return { decoded, subscribed, subscribers: () => subscribers };
};

/** The batch up to the first event that is unknown and not passed over, then the error that says so. */
function* withUnreadable(
  all: readonly (Recorded | Unreadable)[],
  position: Position,
  note: Note,
  unknown: ReadOptions['unknown'],
): Generator<RecordedBatch> {
  const unknownAt = unknown === 'listed' ? -1 : all.findIndex((event) => isUnknown(event) && unknown?.(event) !== true);
  const read = unknownAt < 0 ? all : all.slice(0, unknownAt);
  const unreadable = note(read.filter(isUnreadable));
  if (unknownAt < 0) return yield { events: read.filter(isReadable), unreadable, position };
  if (read.length > 0) yield { events: read.filter(isReadable), unreadable, position: read.at(-1)!.position };
  const stop = all[unknownAt] as Unreadable;
  note([stop]);
  throw new EventUnknown(stop);
}

/** Positions that are remembered; beyond them an event may be reported again. */
const UNREADABLE_NOTED_MAX = 1_000;

type Note = (events: readonly Unreadable[]) => readonly Unreadable[];

/** Reports each unreadable event once, however many readers meet it. */
const unreadableNotes = (tell: EventLogPorts['onUnreadable']): Note => {
  const noted = new Set<Position>();
  return (events) => {
    for (const event of events) {
      if (noted.has(event.position)) continue;
      if (noted.size >= UNREADABLE_NOTED_MAX) noted.clear();
      noted.add(event.position);
      tell?.(event);
    }
    return events;
  };
};
