/** From stored events to events of the domain: opens what is sealed where its key lives, fetches what lies in files, and decodes. */
import { decodeEvent, decodeMetadata, type SealedPart } from './codec.js';
import type { DomainEvent, EventMetadata, Recorded } from '../domain/events.js';
import type { StoredEvent } from '../domain/ports/event-store.js';
import type { Files } from '../domain/ports/files.js';
import type { Keys, SealingKey } from '../domain/ports/keys.js';

export type ReadingPorts = Readonly<{ keys: Keys; files: Files }>;

/** Events that are at hand decoded. */
export type RecentEvents = Readonly<{ find: (stored: StoredEvent) => Recorded | undefined }>;

/**
 * In: stored events; the stored names whose sealed part is wanted, of that no more than the envelope (absent: of all the whole).
 * Out: what they are in the domain, in the same order; those that `recent` knows as they are there.
 */
export const decodeAll = async (
  ports: ReadingPorts,
  recent: RecentEvents,
  stored: readonly StoredEvent[],
  opens?: ReadonlySet<string>,
): Promise<readonly Recorded[]> => {
  const part = opens === undefined ? 'whole' : 'envelope';
  const known = stored.map((event) => recent.find(event));
  // Who names what it opens reads much, and asks few events for their metadata.
  const metadatas = stored.map((event, at) =>
    known[at] === undefined && (isWanted(event, opens) || event.metadata.includes('"dataFile"'))
      ? decodeMetadata(event.metadata)
      : undefined,
  );
  const sealers = new Set<string>();
  metadatas.forEach((metadata, at) => {
    if (
      metadata?.keyId !== undefined &&
      isWanted(stored[at]!, opens) &&
      (stored[at]!.sealed !== undefined || metadata.sealedFile !== undefined)
    )
      sealers.add(metadata.keyId);
  });
  const keys = sealers.size === 0 ? new Map<string, SealingKey>() : await ports.keys.getMany([...sealers]);
  const result: Recorded[] = [];
  for (const [at, event] of stored.entries()) {
    const found = known[at];
    const metadata = metadatas[at];
    if (found !== undefined) result.push(found);
    else if (metadata === undefined) result.push(new RecordedInPassing(event, decodeEvent(event.type, event.data, undefined)));
    else {
      const key = metadata.keyId !== undefined && isWanted(event, opens) ? keys.get(metadata.keyId) : undefined;
      // Awaited only where a file is read: a rebuild decodes hundreds of thousands of events.
      const sealed =
        metadata.sealedFile === undefined ? opened(event.sealed, metadata, key, part) : await openSealedFile(ports, metadata, key, part);
      const data = metadata.dataFile === undefined ? event.data : (await mustGet(ports.files, metadata.dataFile)).toString();
      const { stream, revision, position, hash } = event;
      result.push({ event: decodeEvent(event.type, data, sealed, part), stream, revision, position, hash, metadata });
    }
  }
  return result;
};

/** An event whose metadata is parsed when somebody asks for it; a fault of the program where it was not read. */
class RecordedInPassing implements Recorded {
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

const isWanted = ({ type }: StoredEvent, opens: ReadonlySet<string> | undefined): boolean => opens === undefined || opens.has(type);

const opened = (
  sealed: Uint8Array | undefined,
  metadata: EventMetadata,
  key: SealingKey | undefined,
  part: SealedPart,
): string | undefined => {
  if (sealed === undefined || key === undefined) return undefined;
  const plain = key.open(sealed, metadata.eventId);
  const lineEnd = part === 'envelope' ? plain.indexOf('\n') : -1;
  return lineEnd < 0 ? plain.toString() : plain.toString('utf8', 0, lineEnd);
};

const openSealedFile = async (
  ports: ReadingPorts,
  metadata: EventMetadata,
  key: SealingKey | undefined,
  part: SealedPart,
): Promise<string | undefined> =>
  key === undefined ? undefined : opened(await ports.files.get(metadata.sealedFile!), metadata, key, part);

const mustGet = async (files: Files, hash: string): Promise<Buffer> => {
  const bytes = await files.get(hash);
  if (bytes === undefined) throw new Error(`the file ${hash} of an event is missing`);
  return bytes;
};
