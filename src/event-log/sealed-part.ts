/**
 * The sealed part of an event: bound to its stream and its event by what is authenticated with it, so that it opens in no other place.
 * The format stands in its first byte. Before there were formats a part began with the random nonce and was bound to the id of the
 * event alone; such a part may begin with the same byte, and is then opened at the second try.
 */
import { UnreadableEvent, type PlainApart, type SealedPart } from './codec.js';
import { BOUND_SEALS_FROM } from '../domain/core/write-level.js';
import type { StoredEvent } from '../domain/ports/event-store.js';
import type { SealingKey } from '../domain/ports/keys.js';

const FORMAT_BOUND = 2;
const formatByte = Uint8Array.of(FORMAT_BOUND);

type Place = Pick<StoredEvent, 'stream' | 'eventId'>;

const boundTo = ({ stream, eventId }: Place): string => `sealpost event\n${stream}\n${eventId}`;

/** As the write level says. */
export const sealPart = (key: SealingKey, plain: string | Uint8Array, place: Place, level: number): Uint8Array =>
  level < BOUND_SEALS_FROM ? key.seal(plain, place.eventId) : key.seal(plain, boundTo(place), formatByte);

/** Out: the plain text, or its first line where only the envelope is wanted. Throws UnreadableEvent where it does not open here. */
export const openSealed = (key: SealingKey, sealed: Uint8Array, place: Place, part: SealedPart): string =>
  firstLine(open(key, sealed, place), part);

/** All of it where the whole is wanted. */
const firstLine = (plain: Buffer, part: SealedPart): string => {
  const lineEnd = part === 'envelope' ? plain.indexOf('\n') : -1;
  return lineEnd < 0 ? plain.toString() : plain.toString('utf8', 0, lineEnd);
};

const open = (key: SealingKey, sealed: Uint8Array, place: Place): Buffer => {
  const bound = sealed[0] === FORMAT_BOUND ? tryOpen(key, sealed.subarray(1), boundTo(place)) : undefined;
  const opened = bound instanceof Buffer ? bound : tryOpen(key, sealed, place.eventId);
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
 * Of an email with several recipients: pieces behind each other, each sealed under a key of its own, behind two bytes that say to which
 * recipient it belongs and four that say how long it is.
 */
const FORMAT_APART = 3;
const SHARED = 0xff_ff;
const HEAD_BYTES = 6;

/** The keys of such an event; of recipients whose key is destroyed there is none. */
export type KeysApart = Readonly<{ shared: SealingKey; own: (place: number) => SealingKey | undefined }>;

const boundToPiece = (place: Place, piece: number): string => `${boundTo(place)}\n${piece === SHARED ? 'shared' : `recipient ${piece}`}`;

/** What has no key any more is left out. */
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
 * Out: the plain text, in pieces where it was sealed in pieces, of what belongs to all no more than the first line where only the envelope
 * is wanted. Throws UnreadableEvent where it does not open here.
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
