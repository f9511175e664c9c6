/**
 * Turns events of the domain into stored events: encoded, sealed under the keys of their stream, chained by hashes, and
 * in files if they are large.
 */
import { UnreadableEvent, type PlainApart, type SealedPart, type Codec } from './codec.js';
import type { StoredEvent, EventToStore } from '../domain/ports/event-store.js';
import type { SealingKey, SealKey, Keys } from '../domain/ports/keys.js';
import { chainHash, encodeMetadata } from './hash-chain.js';
import { keysOfStream, recipientKeyCount, type StreamVersion } from './stream-keys.js';
import { putTogether, recipientPartsOf, takenApart } from '../domain/email/recipient-parts.js';
import type { CallOrigin } from '../domain/access/origins.js';
import type { DomainEvent } from '../domain/events.js';
import type { EventMetadata } from '../domain/core/event.js';
import type { StreamName } from '../domain/core/ids.js';
import type { Limits } from '../domain/core/limits.js';
import type { Files } from '../domain/ports/files.js';
import type { Ids } from '../domain/ports/ids.js';
import { nextTurn } from '../shared/concurrency.js';

type EncodingPorts = Readonly<{
  keys: Keys;
  files: Files;
  ids: Ids;
  limits: Limits;
  codec: Codec;
  sealKey?: SealedUnder;
}>;

/**
 * The key under which the log is sealed; undefined if it is sealed under none. Rejects if no event may be appended
 * under the key that is set.
 */
export type SealedUnder = () => Promise<SealKey | undefined>;

/** On whose behalf, when and why events are appended. `at` is ISO 8601 in UTC. */
export type Cause = Readonly<{
  teamId: string;
  actor: string;
  correlationId: string;
  causationId: string;
  at: string;
  /** The fence of the lease under which the writer works. */
  fence?: number;
  /** The origin of the call; called only if the audit log lists an event. */
  calledFrom?: (() => CallOrigin) | undefined;
  /** The reference to the stored origin. */
  origin?: string;
}>;

/** One cause for each event, if several calls share an append. */
export type EachCause = readonly [Cause, ...Cause[]];

const isEach = (cause: Cause | EachCause): cause is EachCause => Array.isArray(cause);

export const firstCause = (cause: Cause | EachCause): Cause => (isEach(cause) ? cause[0] : cause);

/** `key`: the key of the stream, if the event was sealed with it alone. */
export type Encoded = Readonly<{
  event: DomainEvent;
  toStore: EventToStore;
  metadata: EventMetadata;
  key: SealingKey | undefined;
}>;

/** `known`: the key of the stream where it is at hand. */
export const encodeAll = async (
  ports: EncodingPorts,
  stream: StreamName,
  version: StreamVersion,
  events: readonly DomainEvent[],
  cause: Cause | EachCause,
  known?: SealingKey,
): Promise<readonly Encoded[]> => {
  const recipients = recipientKeyCount(version, events[0]);
  const encoded: readonly Plain[] = events.map(recipients > 0 ? ports.codec.encodeApart : ports.codec.encode);
  const isPersonal = encoded.some(({ sealed, apart }) => sealed !== undefined || apart !== undefined);
  const { id: keyId, key, recipientKeys, own } = await keysOfStream(ports.keys, version, recipients, isPersonal, known);
  const sealKey = await ports.sealKey?.();
  const result: Encoded[] = [];
  let previous = version.hash;
  for (const [index, { type, data, sealed, apart }] of encoded.entries()) {
    const eventId = ports.ids.uuid();
    const text = apart === undefined ? sealed : apart.shared;
    const isLarge = text !== undefined && text.length > ports.limits.eventPayloadInlineBytesMax;
    const plain = isLarge ? await bytesInTurn(text) : text;
    const place = { stream, eventId };
    const ciphertext = key && ciphertextOf({ shared: key, own }, { plain, apart }, place);
    if (isLarge) await nextTurn();
    // Nearly every event is small and needs no await.
    const parts = isSmallEnough(ports.limits, data, ciphertext)
      ? { data, sealed: ciphertext, files: undefined }
      : await outsource(ports, data, ciphertext);
    const metadata = metadataOf(eventId, isEach(cause) ? cause[index]! : cause, { keyId, recipientKeys }, parts.files);
    const metadataText = encodeMetadata(metadata);
    const chained = chainHash(previous, stream, version.revision + 1 + index, {
      type,
      data: parts.data,
      metadata: metadataText,
      sealed: parts.sealed,
    });
    const hash = sealKey === undefined ? chained : chained + sealKey.tag(chained);
    const given = events[index]!;
    const isSealed = sealed !== undefined || apart !== undefined;
    const event = !isSealed ? given : key === undefined ? withSealed(given, undefined) : asReadable(given, apart, own);
    const toStore = { eventId, type, data: parts.data, metadata: metadataText, sealed: parts.sealed, hash };
    result.push({ event, toStore, metadata, key: sealed === undefined || recipients > 0 ? undefined : key });
    previous = hash;
  }
  return result;
};

const ciphertextOf = (
  keys: KeysApart,
  { plain, apart }: Readonly<{ plain: string | Uint8Array | undefined; apart: PlainApart | undefined }>,
  place: Pick<StoredEvent, 'stream' | 'eventId'>,
): Uint8Array | undefined => {
  if (apart !== undefined) return sealApart(keys, { shared: plain, own: apart.own }, place);
  return plain === undefined ? undefined : sealPart(keys.shared, plain, place);
};

type Plain = ReturnType<Codec['encode']> & Readonly<{ apart?: PlainApart | undefined }>;

const withSealed = (event: DomainEvent, sealed: unknown): DomainEvent => ({ ...event, sealed }) as DomainEvent;

/** The event as later readers will see it: without what belongs to recipients whose key is destroyed. */
const asReadable = (
  event: DomainEvent,
  apart: PlainApart | undefined,
  own: (place: number) => unknown,
): DomainEvent => {
  const parts = recipientPartsOf(event.type);
  if (apart === undefined || parts === undefined || [...apart.own.keys()].every((place) => own(place) !== undefined))
    return event;
  const given = takenApart(
    parts,
    event.data,
    (event as Readonly<{ sealed: Readonly<Record<string, unknown>> }>).sealed,
  );
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

const metadataOf = (
  eventId: string,
  cause: Cause,
  { keyId, recipientKeys }: KeyNames,
  files: PayloadFiles | undefined,
): EventMetadata => {
  const { at: occurredAt, teamId, actor, correlationId, causationId, fence, origin } = cause;
  const metadata =
    keyId === undefined
      ? { eventId, teamId, occurredAt, actor, correlationId, causationId }
      : { eventId, teamId, occurredAt, actor, correlationId, causationId, keyId };
  if (files === undefined && fence === undefined && recipientKeys === undefined && origin === undefined)
    return metadata;
  return {
    ...metadata,
    ...(recipientKeys && { recipientKeys }),
    ...files,
    ...(fence === undefined ? {} : { fence }),
    ...(origin === undefined ? {} : { origin }),
  };
};

const isSmallEnough = (
  { eventPayloadInlineBytesMax: max }: Limits,
  data: string,
  sealed: Uint8Array | undefined,
): boolean => data.length <= max && (sealed?.byteLength ?? 0) <= max;

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

/**
 * The first byte of a sealed part. The part is bound to its stream and event by authenticated data, so that it opens in
 * no other place.
 */
const FORMAT_BOUND = 2;

const formatByte = Uint8Array.of(FORMAT_BOUND);

type Place = Pick<StoredEvent, 'stream' | 'eventId'>;

const boundTo = ({ stream, eventId }: Place): string => `sealpost event\n${stream}\n${eventId}`;

const sealPart = (key: SealingKey, plain: string | Uint8Array, place: Place): Uint8Array =>
  key.seal(plain, boundTo(place), formatByte);

/**
 * The plain text of a sealed part, or only its first line for the envelope. Throws UnreadableEvent if it does not open
 * at this place.
 */
export const openSealed = (key: SealingKey, sealed: Uint8Array, place: Place, part: SealedPart): string =>
  firstLine(open(key, sealed, place), part);

/** All of it where the whole is wanted. */
const firstLine = (plain: Buffer, part: SealedPart): string => {
  const lineEnd = part === 'envelope' ? plain.indexOf('\n') : -1;
  return lineEnd < 0 ? plain.toString() : plain.toString('utf8', 0, lineEnd);
};

const open = (key: SealingKey, sealed: Uint8Array, place: Place): Buffer => {
  if (sealed[0] !== FORMAT_BOUND)
    throw new UnreadableEvent(`the sealed part begins with ${sealed[0]}, which is no format of this version`);
  const opened = tryOpen(key, sealed.subarray(1), boundTo(place));
  if (opened instanceof Error) throw new UnreadableEvent(opened.message, { cause: opened });
  return opened;
};

const tryOpen = (key: SealingKey, sealed: Uint8Array, context: string): Buffer | Error => {
  try {
    return key.open(sealed, context);
  } catch (fault) {
    return fault instanceof Error ? fault : new Error('cannot be decrypted');
  }
};

/**
 * The first byte of the sealed part of an email with several recipients. Pieces follow, each sealed under its own key:
 * two bytes for the recipient, four for the length, then the ciphertext.
 */
const FORMAT_APART = 3;

const SHARED = 0xff_ff;

const HEAD_BYTES = 6;

/** The keys of such an event; a destroyed key of a recipient is undefined. */
type KeysApart = Readonly<{ shared: SealingKey; own: (place: number) => SealingKey | undefined }>;

const boundToPiece = (place: Place, piece: number): string =>
  `${boundTo(place)}\n${piece === SHARED ? 'shared' : `recipient ${piece}`}`;

/** Seals the pieces. Pieces whose key is destroyed are left out. */
export const sealApart = ({ shared, own }: KeysApart, plain: SealablePieces, place: Place): Buffer => {
  const pieces: Uint8Array[] = [Uint8Array.of(FORMAT_APART)];
  const add = (piece: number, key: SealingKey, text: string | Uint8Array): void => {
    const sealed = key.seal(text, boundToPiece(place, piece));
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt16BE(piece, 0);
    head.writeUInt32BE(sealed.byteLength, 2);
    pieces.push(head, sealed);
  };
  if (plain.shared !== undefined) add(SHARED, shared, plain.shared);
  for (const [piece, text] of plain.own) {
    const key = own(piece);
    if (key !== undefined) add(piece, key, text);
  }
  return Buffer.concat(pieces);
};

type SealablePieces = Readonly<{ shared: string | Uint8Array | undefined; own: ReadonlyMap<number, string> }>;

/**
 * The plain text, in pieces if it was sealed in pieces. For the envelope only the first line of the shared piece.
 * Throws UnreadableEvent if it does not open at this place.
 */
export const openApart = (keys: KeysApart, sealed: Uint8Array, place: Place, part: SealedPart): string | PlainApart => {
  if (sealed[0] !== FORMAT_APART) return openSealed(keys.shared, sealed, place, part);
  let shared: string | undefined;
  const own = new Map<number, string>();
  for (const [piece, bytes] of piecesOf(sealed)) {
    const key = piece === SHARED ? keys.shared : keys.own(piece);
    if (key === undefined) continue;
    const opened = tryOpen(key, bytes, boundToPiece(place, piece));
    if (opened instanceof Error) throw new UnreadableEvent(opened.message, { cause: opened });
    if (piece === SHARED) shared = firstLine(opened, part);
    else own.set(piece, opened.toString());
  }
  return { shared, own };
};

const piecesOf = (sealed: Uint8Array): ReadonlyMap<number, Uint8Array> => {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const pieces = new Map<number, Uint8Array>();
  for (let at = 1; at < bytes.length;) {
    const from = at + HEAD_BYTES;
    const end = from > bytes.length ? Infinity : from + bytes.readUInt32BE(at + 2);
    const piece = from > bytes.length ? undefined : bytes.readUInt16BE(at);
    if (piece === undefined || end > bytes.length || pieces.has(piece))
      throw new UnreadableEvent('its sealed part is too short, or has a piece twice');
    pieces.set(piece, bytes.subarray(from, end));
    at = end;
  }
  return pieces;
};
