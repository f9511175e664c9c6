/**
 * Turns stored events into events of the domain: decrypts sealed parts whose key exists, reads payloads from files, and
 * decodes. Says what a reader does at an event that a newer program wrote.
 */
import { UnreadableEvent, UnknownEvent, type Codec, type PlainApart, type SealedPart } from './codec.js';
import { eventDefinitions, type DomainEvent, type EventType, erasingEvents, type Recorded } from '../domain/events.js';
import type { EventMetadata } from '../domain/core/event.js';
import { decodeMetadata, isCertainlyMetadata, readableMetadata } from './hash-chain.js';
import { openApart, openSealed } from './encode.js';
import { allKeyIds, ownIn, type StreamKeys } from './stream-keys.js';
import { FileDamaged, type EventPlace } from '../domain/core/errors.js';
import { recipientPartsOf } from '../domain/email/recipient-parts.js';
import type { StoredEvent, Position } from '../domain/ports/event-store.js';
import type { Files } from '../domain/ports/files.js';
import type { Keys, SealingKey } from '../domain/ports/keys.js';
import { nextTurn } from '../shared/concurrency.js';
import type { Clock } from '../domain/ports/clock.js';

type ReadingPorts = Readonly<{ keys: Pick<Keys, 'getMany'>; files: Pick<Files, 'get'>; codec: Codec }>;

/**
 * An event that exists but cannot be read: it was changed, its file is missing, or a newer version of the program wrote
 * it.
 */
export type Unreadable = EventPlace & Readonly<{ unreadable: UnreadableEvent | UnknownEvent }>;

export const isReadable = (decoded: Recorded | Unreadable): decoded is Recorded => !('unreadable' in decoded);
export const isUnreadable = (decoded: Recorded | Unreadable): decoded is Unreadable => 'unreadable' in decoded;
/** True if this program does not know the type or version of the event. */
export const isUnknown = (decoded: Recorded | Unreadable): decoded is Unreadable =>
  'unreadable' in decoded && decoded.unreadable instanceof UnknownEvent;

/** Decoded events in memory. */
type RecentEvents = Readonly<{ find: (stored: StoredEvent) => Recorded | undefined }>;

/**
 * Encrypted parts that a read asks for: `types` are the stored names whose part is decrypted, absent for all.
 * `mayBeGone` tells whether the personal part of an event may be missing although its key exists.
 */
type Wanted = Readonly<{
  types: ReadonlySet<string> | undefined;
  part: SealedPart;
  mayBeGone: (event: StoredEvent) => boolean;
}>;

/**
 * In: stored events; the stored names whose sealed part is wanted, of that no more than the envelope (absent: of all
 * the whole). Out: what they are in the domain, in the same order; those that `recent` knows as they are there. Rejects
 * where a port fails.
 */
export const decodeAll = async (
  ports: ReadingPorts,
  recent: RecentEvents,
  stored: readonly StoredEvent[],
  types?: ReadonlySet<string>,
): Promise<readonly (Recorded | Unreadable)[]> => {
  const wanted: Wanted = {
    types,
    part: types === undefined ? 'whole' : 'envelope',
    mayBeGone: isBeingErased(ports.codec, stored, types),
  };
  const decoded: (Recorded | Unreadable | undefined)[] = stored.map(
    (event) => recent.find(event) ?? decodeOpen(ports.codec, event, wanted),
  );
  const sealers = new Set<string>();
  const metadatas = stored.map((event, at) => (decoded[at] === undefined ? readableMetadata(event) : undefined));
  metadatas.forEach((metadata, at) => {
    if (metadata !== undefined && isSealed(stored[at]!, metadata, wanted))
      for (const id of allKeyIds(metadata)) sealers.add(id);
  });
  const keys = sealers.size === 0 ? new Map<string, SealingKey>() : await ports.keys.getMany([...sealers]);
  for (const [at, event] of stored.entries()) {
    if (decoded[at] !== undefined) continue;
    const metadata = metadatas[at];
    const key = metadata !== undefined && isSealed(event, metadata, wanted) ? keys.get(metadata.keyId!) : undefined;
    const own = ownIn(keys, metadata?.recipientKeys);
    // Awaited only where a file is read: a rebuild decodes hundreds of thousands of events.
    decoded[at] =
      metadata?.sealedFile === undefined && metadata?.dataFile === undefined
        ? readable(event, () =>
            decodeParts(ports.codec, wanted, { event, metadata, key, own, data: event.data, sealed: event.sealed }),
          )
        : await decodeFromFiles(ports, wanted, event, { metadata, key, own });
  }
  return decoded as readonly (Recorded | Unreadable)[];
};

const readable = (event: StoredEvent, decode: () => Recorded): Recorded | Unreadable => {
  try {
    return decode();
  } catch (fault) {
    return unreadable(event, fault);
  }
};

const unreadable = ({ stream, revision, position, type }: StoredEvent, fault: unknown): Unreadable => {
  if (!(fault instanceof UnreadableEvent) && !(fault instanceof UnknownEvent)) throw fault;
  return { unreadable: fault, stream, revision, position, storedType: type };
};

/**
 * An event of which nothing is decrypted and nothing lies in a file: its metadata is parsed when somebody asks for it.
 */
const decodeOpen = (codec: Codec, event: StoredEvent, { types }: Wanted): Recorded | Unreadable | undefined =>
  types === undefined || types.has(event.type) || !isCertainlyMetadata(event.metadata)
    ? undefined
    : readable(
        event,
        () => new RecordedWithLazyMetadata(event, decodeTimed(codec, event.type, event.data, undefined, 'envelope')),
      );

/**
 * Erasing deletes the files before the key, after the event that says so. A reader of no more than envelopes shows an
 * event in the meantime as if the key were gone already.
 */
const isBeingErased = (
  codec: Codec,
  stored: readonly StoredEvent[],
  types: ReadonlySet<string> | undefined,
): Wanted['mayBeGone'] => {
  if (types !== undefined) return () => true;
  return ({ stream }) => {
    const erasing = codec.namesOf(erasingEvents);
    return stored.some((event) => event.stream === stream && erasing.has(event.type));
  };
};

/**
 * The first event of a stream that has a key never lacks its sealed part, so its key is asked for where that part is
 * gone too.
 */
const isSealed = (
  { type, sealed, revision }: StoredEvent,
  { keyId, sealedFile }: EventMetadata,
  { types, part }: Wanted,
): boolean =>
  keyId !== undefined &&
  (types === undefined || types.has(type)) &&
  (sealed !== undefined || sealedFile !== undefined || (revision === 0 && part === 'whole'));

type Parts = Readonly<{
  event: StoredEvent;
  metadata: EventMetadata | undefined;
  key: SealingKey | undefined;
  own: StreamKeys['own'];
  data: string;
  sealed: Uint8Array | undefined;
}>;

const decodeParts = (codec: Codec, wanted: Wanted, parts: Parts): Recorded =>
  recordedFrom(codec, wanted, parts, plainOf(codec, wanted, parts));

/** The plain text of the sealed part, undefined where there is none or its key is gone. */
const plainOf = (
  codec: Codec,
  { part }: Wanted,
  { event, metadata, key, own, sealed }: Parts,
): string | PlainApart | undefined => {
  // Check the type before the other fields: a newer program may have changed their form too.
  if (!codec.knows(event.type)) throw new UnknownEvent(event.type);
  if (metadata === undefined) decodeMetadata(event.metadata);
  if (sealed === undefined || key === undefined) return undefined;
  return metadata?.recipientKeys === undefined
    ? openSealed(key, sealed, event, part)
    : openApart({ shared: key, own }, sealed, event, part);
};

const recordedFrom = (
  codec: Codec,
  { part, mayBeGone }: Wanted,
  { event, metadata, key, own, data, sealed }: Parts,
  plain: string | PlainApart | undefined,
): Recorded => {
  const domainEvent = decodeTimed(codec, event.type, data, plain, part);
  if (key !== undefined && sealed === undefined && 'sealed' in domainEvent && !mayBeGone(event))
    throw new UnreadableEvent(`${event.type}: its sealed part is missing, though its key is there`);
  if (typeof plain === 'object' && isCutOut(domainEvent, plain, own) && !mayBeGone(event))
    throw new UnreadableEvent(
      `${event.type}: what belongs to one of its recipients is missing, though the key of that is there`,
    );
  return recordedOf(event, metadata!, domainEvent);
};

/** If the key of a recipient exists, no field of the recipient may be missing. */
const isCutOut = (event: DomainEvent, plain: PlainApart, own: StreamKeys['own']): boolean =>
  recipientPartsOf(event.type)!
    .placesOf(event.data as never)
    .some((place) => !plain.own.has(place) && own(place) !== undefined);

const decodeTimed = (
  codec: Codec,
  type: string,
  data: string,
  sealed: string | PlainApart | undefined,
  part: SealedPart,
): DomainEvent => {
  const event = codec.decode(type, data, sealed, part);
  assertTimes(event);
  return event;
};

const decodeFromFiles = async (
  { files, codec }: ReadingPorts,
  wanted: Wanted,
  event: StoredEvent,
  { metadata, key, own }: Readonly<{ metadata: EventMetadata }> & Pick<Parts, 'key' | 'own'>,
): Promise<Recorded | Unreadable> => {
  const { dataFile, sealedFile } = metadata;
  try {
    const data = dataFile === undefined ? event.data : (await soundFile(files, dataFile))?.toString();
    const sealed = key === undefined || sealedFile === undefined ? event.sealed : await soundFile(files, sealedFile);
    const parts = { event, metadata, key, own, data: data ?? '', sealed };
    if (data === undefined) throw new UnreadableEvent(`its file ${dataFile} is missing`);
    if (key !== undefined && sealedFile !== undefined && sealed === undefined && !wanted.mayBeGone(event))
      throw new UnreadableEvent(`its file ${sealedFile} is missing`);
    const plain = plainOf(codec, wanted, parts);
    // A part in a file is large: wait for a turn of the event loop before each.
    await nextTurn();
    const recorded = recordedFrom(codec, wanted, parts, plain);
    await nextTurn();
    return recorded;
  } catch (fault) {
    return unreadable(event, fault);
  }
};

/** A file that is not what was put there is damage of its event alone; any other fault is that of the port. */
const soundFile = async (files: ReadingPorts['files'], hash: string): Promise<Buffer | undefined> => {
  try {
    return await files.get(hash);
  } catch (fault) {
    if (fault instanceof FileDamaged) throw new UnreadableEvent(`its file ${hash} is damaged`, { cause: fault });
    throw fault;
  }
};

const recordedOf = (
  { stream, revision, position, hash }: StoredEvent,
  metadata: EventMetadata,
  event: DomainEvent,
): Recorded => ({
  event,
  stream,
  revision,
  position,
  hash,
  metadata,
});

class RecordedWithLazyMetadata implements Recorded {
  readonly event: DomainEvent;
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly hash: string;
  #metadata: string | EventMetadata;

  constructor({ stream, revision, position, hash, metadata }: StoredEvent, event: DomainEvent) {
    this.event = event;
    this.stream = stream;
    this.revision = revision;
    this.position = position;
    this.hash = hash;
    this.#metadata = metadata;
  }

  get metadata(): EventMetadata {
    return (this.#metadata = typeof this.#metadata === 'string' ? decodeMetadata(this.#metadata) : this.#metadata);
  }
}

const isTimeName = (name: string): boolean => name === 'at' || name.endsWith('At');

const timesOf: ReadonlyMap<EventType, readonly string[]> = new Map(
  (Object.keys(eventDefinitions) as EventType[]).map((type) => [
    type,
    Object.keys(eventDefinitions[type].data.properties).filter(isTimeName),
  ]),
);

/**
 * Throws UnreadableEvent if a time of the event is no time: folds compute with times, so the fault is found when the
 * event is read.
 */
const assertTimes = ({ type, data }: DomainEvent): void => {
  for (const name of timesOf.get(type) ?? []) {
    const time = (data as Readonly<Record<string, unknown>>)[name];
    if (typeof time === 'string' && Number.isNaN(Date.parse(time)))
      throw new UnreadableEvent(`${type}/${name}: is no time`);
  }
};

/**
 * Behaviour of a reader of the whole log at an event that a newer program wrote. It stops, so that a newer program
 * beside it takes over its lease; if none has done so in a bounded time, it passes over the event as over a damaged
 * one, so that one stream waits and all else goes on.
 */
export type GivingWay = Readonly<{
  /** Notes that a run of the reader begins, while the log ends at `head`. */
  begin: (head: Position) => void;
  /** Whether the reader passes over this event of a newer program. If not, it ends its run and begins another later. */
  passes: (event: Pick<Unreadable, 'position'>) => boolean;
}>;

/** Several times as long as a process waits before it asks for a lease again. */
export const GIVE_WAY_MS = 10_000;

export const openGivingWay = (clock: Pick<Clock, 'monotonic'>): GivingWay => {
  let head: Position = 0;
  let passedUpTo: Position = 0;
  let stoppedFirstMs: number | undefined;
  return {
    begin: (now) => {
      head = now;
    },
    passes: ({ position }) => {
      if (position <= passedUpTo) return true;
      stoppedFirstMs ??= clock.monotonic();
      // An event behind the head was appended in this run: the newer program is at work, and has not had the lease yet.
      if (position > head || clock.monotonic() - stoppedFirstMs < GIVE_WAY_MS) return false;
      passedUpTo = head;
      stoppedFirstMs = undefined;
      return true;
    },
  };
};
