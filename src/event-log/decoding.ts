/** From stored events to events of the domain: decrypts what is sealed where its key lives, fetches what lies in files, and decodes. */
import { decodeEvent, decodeMetadata, UnreadableEvent, type SealedPart } from './codec.js';
import type { DomainEvent, EventMetadata, Recorded } from '../domain/events.js';
import type { StoredEvent } from '../domain/ports/event-store.js';
import type { Files } from '../domain/ports/files.js';
import type { Keys, SealingKey } from '../domain/ports/keys.js';
import { nextTurn } from '../shared/next-turn.js';

export type ReadingPorts = Readonly<{ keys: Keys; files: Files }>;

/** An event that is there and cannot be read: written by a newer version, changed, or without its file. */
export type Unreadable = Readonly<{ unreadable: UnreadableEvent; stream: string; revision: number; position: number; storedType: string }>;

export const isReadable = (decoded: Recorded | Unreadable): decoded is Recorded => !('unreadable' in decoded);
export const isUnreadable = (decoded: Recorded | Unreadable): decoded is Unreadable => 'unreadable' in decoded;

/** Events that are at hand decoded. */
export type RecentEvents = Readonly<{ find: (stored: StoredEvent) => Recorded | undefined }>;

/** What is wanted of the sealed parts: `types` are the stored names whose part is decrypted, absent for all. */
type Wanted = Readonly<{ types: ReadonlySet<string> | undefined; part: SealedPart }>;

/**
 * In: stored events; the stored names whose sealed part is wanted, of that no more than the envelope (absent: of all the whole).
 * Out: what they are in the domain, in the same order; those that `recent` knows as they are there. Rejects where a port fails.
 */
export const decodeAll = async (
  ports: ReadingPorts,
  recent: RecentEvents,
  stored: readonly StoredEvent[],
  types?: ReadonlySet<string>,
): Promise<readonly (Recorded | Unreadable)[]> => {
  const wanted: Wanted = { types, part: types === undefined ? 'whole' : 'envelope' };
  const decoded: (Recorded | Unreadable | undefined)[] = stored.map((event) => recent.find(event) ?? decodeOpen(event, wanted));
  const sealers = new Set<string>();
  const metadatas = stored.map((event, at) => (decoded[at] === undefined ? readMetadata(event) : undefined));
  metadatas.forEach((metadata, at) => {
    if (metadata !== undefined && isSealed(stored[at]!, metadata, wanted)) sealers.add(metadata.keyId!);
  });
  const keys = sealers.size === 0 ? new Map<string, SealingKey>() : await ports.keys.getMany([...sealers]);
  for (const [at, event] of stored.entries()) {
    if (decoded[at] !== undefined) continue;
    const metadata = metadatas[at];
    const key = metadata !== undefined && isSealed(event, metadata, wanted) ? keys.get(metadata.keyId!) : undefined;
    // Awaited only where a file is read: a rebuild decodes hundreds of thousands of events.
    decoded[at] =
      metadata?.sealedFile === undefined && metadata?.dataFile === undefined
        ? readable(event, () => decodeInline(event, metadata, key, wanted.part))
        : await decodeFromFiles(ports, event, metadata, key, wanted.part);
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
  if (!(fault instanceof UnreadableEvent)) throw fault;
  return { unreadable: fault, stream, revision, position, storedType: type };
};

/** An event of which nothing is decrypted and nothing lies in a file: its metadata is parsed when somebody asks for it. */
const decodeOpen = (event: StoredEvent, { types }: Wanted): Recorded | Unreadable | undefined =>
  types === undefined || types.has(event.type) || event.metadata.includes('"dataFile"')
    ? undefined
    : readable(event, () => new RecordedWithLazyMetadata(event, decodeEvent(event.type, event.data, undefined)));

/** undefined where the metadata is no JSON. */
const readMetadata = ({ metadata }: StoredEvent): EventMetadata | undefined => {
  try {
    return decodeMetadata(metadata);
  } catch {
    return undefined;
  }
};

const isSealed = ({ type, sealed }: StoredEvent, { keyId, sealedFile }: EventMetadata, { types }: Wanted): boolean =>
  keyId !== undefined && (types === undefined || types.has(type)) && (sealed !== undefined || sealedFile !== undefined);

const decodeInline = (event: StoredEvent, metadata: EventMetadata | undefined, key: SealingKey | undefined, part: SealedPart): Recorded => {
  if (metadata === undefined) throw new UnreadableEvent(`${event.type} (metadata): is not JSON`);
  return recordedOf(event, metadata, decodeEvent(event.type, event.data, decrypted(event.sealed, event.eventId, key, part), part));
};

const decodeFromFiles = async (
  { files }: ReadingPorts,
  event: StoredEvent,
  metadata: EventMetadata,
  key: SealingKey | undefined,
  part: SealedPart,
): Promise<Recorded | Unreadable> => {
  const { dataFile, sealedFile } = metadata;
  const data = dataFile === undefined ? event.data : (await files.get(dataFile))?.toString();
  const sealed = key === undefined || sealedFile === undefined ? event.sealed : await files.get(sealedFile);
  try {
    if (data === undefined) throw new UnreadableEvent(`the file ${dataFile} of an event is missing`);
    const plain = decrypted(sealed, event.eventId, key, part);
    // What lies in a file is large: each part of the work has a turn of the event loop.
    await nextTurn();
    const recorded = recordedOf(event, metadata, decodeEvent(event.type, data, plain, part));
    await nextTurn();
    return recorded;
  } catch (fault) {
    return unreadable(event, fault);
  }
};

const recordedOf = ({ stream, revision, position, hash }: StoredEvent, metadata: EventMetadata, event: DomainEvent): Recorded => ({
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

const decrypted = (sealed: Uint8Array | undefined, eventId: string, key: SealingKey | undefined, part: SealedPart): string | undefined => {
  if (sealed === undefined || key === undefined) return undefined;
  const plain = open(key, sealed, eventId);
  const lineEnd = part === 'envelope' ? plain.indexOf('\n') : -1;
  return lineEnd < 0 ? plain.toString() : plain.toString('utf8', 0, lineEnd);
};

const open = (key: SealingKey, sealed: Uint8Array, eventId: string): Buffer => {
  try {
    return key.open(sealed, eventId);
  } catch (cause) {
    throw new UnreadableEvent(cause instanceof Error ? cause.message : 'cannot be decrypted', { cause });
  }
};
