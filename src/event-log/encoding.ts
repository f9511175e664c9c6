/** From events of the domain to events as they are stored: encoded, sealed under the stream's own key, chained, and in files where they are large. */
import type { Codec } from './codec.js';
import { chainHash } from './hash-chain.js';
import { encodeMetadata } from './metadata.js';
import { sealPart } from './sealed-part.js';
import type { StreamVersion } from './stream-version.js';
import type { DomainEvent, EventMetadata } from '../domain/events.js';
import type { StreamName } from '../domain/ids.js';
import type { Limits } from '../domain/limits.js';
import type { MaybePromise } from '../domain/maybe-promise.js';
import type { EventToStore } from '../domain/ports/event-store.js';
import type { Files } from '../domain/ports/files.js';
import type { Ids } from '../domain/ports/ids.js';
import type { Keys, SealingKey } from '../domain/ports/keys.js';
import { nextTurn } from '../shared/next-turn.js';

export type EncodingPorts = Readonly<{ keys: Keys; files: Files; ids: Ids; limits: Limits; codec: Codec }>;

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

/** For each event its own: those of several calls that share an append. */
export type EachCause = readonly [Cause, ...Cause[]];

const isEach = (cause: Cause | EachCause): cause is EachCause => Array.isArray(cause);

export const firstCause = (cause: Cause | EachCause): Cause => (isEach(cause) ? cause[0] : cause);

export type Encoded = Readonly<{ event: DomainEvent; toStore: EventToStore; metadata: EventMetadata }>;

/**
 * The key must be durable before the event that needs it; a key without an event harms nobody. It is made with the first event
 * of a stream and never anew: what comes after its destruction is written without its sealed part, for a second key could not
 * open what the first has sealed.
 */
const keyFor = (
  keys: Keys,
  { revision, keyId }: StreamVersion,
): MaybePromise<Readonly<{ id: string | undefined; key: SealingKey | undefined }>> =>
  revision < 0 && keyId === undefined ? keys.create() : existingKey(keys, keyId).then((key) => ({ id: keyId, key }));

export const existingKey = async (keys: Keys, id: string | undefined): Promise<SealingKey | undefined> =>
  id === undefined ? undefined : (await keys.getMany([id])).get(id);

export const encodeAll = async (
  ports: EncodingPorts,
  stream: StreamName,
  version: StreamVersion,
  events: readonly DomainEvent[],
  cause: Cause | EachCause,
): Promise<readonly Encoded[]> => {
  const encoded = events.map(ports.codec.encode);
  const found = encoded.some(({ sealed }) => sealed !== undefined) ? keyFor(ports.keys, version) : { id: version.keyId, key: undefined };
  const { id: keyId, key } = found instanceof Promise ? await found : found;
  const result: Encoded[] = [];
  let previous = version.hash;
  for (const [index, { type, data, sealed }] of encoded.entries()) {
    const eventId = ports.ids.uuid();
    const isLarge = sealed !== undefined && sealed.length > ports.limits.eventPayloadInlineBytesMax;
    const plain = isLarge ? await bytesInTurn(sealed) : sealed;
    const ciphertext = plain === undefined ? undefined : key && sealPart(key, plain, { stream, eventId }, ports.codec.level);
    if (isLarge) await nextTurn();
    // Awaited only where it is: nearly every event is small.
    const parts = isSmallEnough(ports.limits, data, ciphertext)
      ? { data, sealed: ciphertext, files: undefined }
      : await outsource(ports, data, ciphertext);
    const metadata = metadataOf(eventId, isEach(cause) ? cause[index]! : cause, keyId, parts.files);
    const metadataText = encodeMetadata(metadata);
    const hash = chainHash(previous, stream, version.revision + 1 + index, {
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

/** A large text is encoded in one turn of the event loop and sealed in the next. */
const bytesInTurn = async (text: string): Promise<Buffer> => {
  await nextTurn();
  const bytes = Buffer.from(text);
  await nextTurn();
  return bytes;
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
const outsource = async (ports: EncodingPorts, data: string, sealed: Uint8Array | undefined) => {
  const max = ports.limits.eventPayloadInlineBytesMax;
  const dataFile = data.length > max ? await ports.files.put(Buffer.from(data)) : undefined;
  const sealedFile = sealed !== undefined && sealed.byteLength > max ? await ports.files.put(sealed) : undefined;
  return {
    data: dataFile === undefined ? data : '{}',
    sealed: sealedFile === undefined ? sealed : undefined,
    files: { ...(dataFile === undefined ? {} : { dataFile }), ...(sealedFile === undefined ? {} : { sealedFile }) },
  };
};
