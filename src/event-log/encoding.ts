/** From events of the domain to events as they are stored: encoded, sealed under the keys of their stream, chained, and in files where they are large. */
import type { Codec, PlainApart } from './codec.js';
import { chainHash } from './hash-chain.js';
import { encodeMetadata } from './metadata.js';
import { sealApart, sealPart, type KeysApart } from './sealed-part.js';
import { keysOfStream, recipientKeyCount } from './stream-keys.js';
import type { StreamVersion } from './stream-version.js';
import { putTogether, recipientPartsOf, takenApart } from '../domain/email/recipient-parts.js';
import type { CallOrigin } from '../domain/access/origins.js';
import type { DomainEvent, EventMetadata } from '../domain/events.js';
import type { StreamName } from '../domain/core/ids.js';
import type { Limits } from '../domain/core/limits.js';
import type { EventToStore, StoredEvent } from '../domain/ports/event-store.js';
import type { Files } from '../domain/ports/files.js';
import type { Ids } from '../domain/ports/ids.js';
import type { Keys } from '../domain/ports/keys.js';
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
  /** From where somebody called; read only where an event is listed in the audit log. */
  calledFrom?: (() => CallOrigin) | undefined;
  /** Where that is kept. */
  origin?: string;
}>;

/** For each event its own: those of several calls that share an append. */
export type EachCause = readonly [Cause, ...Cause[]];

const isEach = (cause: Cause | EachCause): cause is EachCause => Array.isArray(cause);

export const firstCause = (cause: Cause | EachCause): Cause => (isEach(cause) ? cause[0] : cause);

export type Encoded = Readonly<{ event: DomainEvent; toStore: EventToStore; metadata: EventMetadata }>;

export const encodeAll = async (
  ports: EncodingPorts,
  stream: StreamName,
  version: StreamVersion,
  events: readonly DomainEvent[],
  cause: Cause | EachCause,
): Promise<readonly Encoded[]> => {
  const recipients = recipientKeyCount(version, events[0], ports.codec.level);
  const encoded: readonly Plain[] = events.map(recipients > 0 ? ports.codec.encodeApart : ports.codec.encode);
  const isPersonal = encoded.some(({ sealed, apart }) => sealed !== undefined || apart !== undefined);
  const found = keysOfStream(ports.keys, version, recipients, isPersonal);
  const { id: keyId, key, recipientKeys, own } = found instanceof Promise ? await found : found;
  const result: Encoded[] = [];
  let previous = version.hash;
  for (const [index, { type, data, sealed, apart }] of encoded.entries()) {
    const eventId = ports.ids.uuid();
    const text = apart === undefined ? sealed : apart.shared;
    const isLarge = text !== undefined && text.length > ports.limits.eventPayloadInlineBytesMax;
    const plain = isLarge ? await bytesInTurn(text) : text;
    const place = { stream, eventId };
    const ciphertext = key && ciphertextOf({ shared: key, own }, { plain, apart }, place, ports.codec.level);
    if (isLarge) await nextTurn();
    // Awaited only where it is: nearly every event is small.
    const parts = isSmallEnough(ports.limits, data, ciphertext)
      ? { data, sealed: ciphertext, files: undefined }
      : await outsource(ports, data, ciphertext);
    const metadata = metadataOf(eventId, isEach(cause) ? cause[index]! : cause, { keyId, recipientKeys }, parts.files);
    const metadataText = encodeMetadata(metadata);
    const hash = chainHash(previous, stream, version.revision + 1 + index, {
      type,
      data: parts.data,
      metadata: metadataText,
      sealed: parts.sealed,
    });
    const given = events[index]!;
    const isSealed = sealed !== undefined || apart !== undefined;
    const event = !isSealed ? given : key === undefined ? withSealed(given, undefined) : asReadable(given, apart, own);
    result.push({ event, toStore: { eventId, type, data: parts.data, metadata: metadataText, sealed: parts.sealed, hash }, metadata });
    previous = hash;
  }
  return result;
};

const ciphertextOf = (
  keys: KeysApart,
  { plain, apart }: Readonly<{ plain: string | Uint8Array | undefined; apart: PlainApart | undefined }>,
  place: Pick<StoredEvent, 'stream' | 'eventId'>,
  level: number,
): Uint8Array | undefined => {
  if (apart !== undefined) return sealApart(keys, { shared: plain, own: apart.own }, place);
  return plain === undefined ? undefined : sealPart(keys.shared, plain, place, level);
};

type Plain = ReturnType<Codec['encode']> & Readonly<{ apart?: PlainApart | undefined }>;

const withSealed = (event: DomainEvent, sealed: unknown): DomainEvent => ({ ...event, sealed }) as DomainEvent;

/** The event as those will read it who come after: without what belongs to recipients who have no key any more. */
const asReadable = (event: DomainEvent, apart: PlainApart | undefined, own: (place: number) => unknown): DomainEvent => {
  const parts = recipientPartsOf(event.type);
  if (apart === undefined || parts === undefined || [...apart.own.keys()].every((place) => own(place) !== undefined)) return event;
  const given = takenApart(parts, event.data, (event as Readonly<{ sealed: Readonly<Record<string, unknown>> }>).sealed);
  const kept = new Map([...given.own].filter(([place]) => own(place) !== undefined));
  return withSealed(event, putTogether(parts, event.data, { shared: given.shared, own: kept }));
};

/** A large text is encoded in one turn of the event loop and sealed in the next. */
const bytesInTurn = async (text: string): Promise<Buffer> => {
  await nextTurn();
  const bytes = Buffer.from(text);
  await nextTurn();
  return bytes;
};

type PayloadFiles = Pick<EventMetadata, 'dataFile' | 'sealedFile'>;

type KeyNames = Readonly<{ keyId: string | undefined; recipientKeys: readonly string[] | undefined }>;

const metadataOf = (eventId: string, cause: Cause, { keyId, recipientKeys }: KeyNames, files: PayloadFiles | undefined): EventMetadata => {
  const { at: occurredAt, teamId, actor, correlationId, causationId, fence, origin } = cause;
  const metadata =
    keyId === undefined
      ? { eventId, teamId, occurredAt, actor, correlationId, causationId }
      : { eventId, teamId, occurredAt, actor, correlationId, causationId, keyId };
  if (files === undefined && fence === undefined && recipientKeys === undefined && origin === undefined) return metadata;
  return {
    ...metadata,
    ...(recipientKeys && { recipientKeys }),
    ...files,
    ...(fence === undefined ? {} : { fence }),
    ...(origin === undefined ? {} : { origin }),
  };
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
