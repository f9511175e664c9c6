/**
 * The sealed part of an event: bound to its stream and its event by what is authenticated with it, so that it opens in no other place.
 * The format stands in its first byte. Before there were formats a part began with the random nonce and was bound to the id of the
 * event alone; such a part may begin with the same byte, and is then opened at the second try.
 */
import { UnreadableEvent, type SealedPart } from './codec.js';
import { BOUND_SEALS_FROM } from '../domain/write-level.js';
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
export const openSealed = (key: SealingKey, sealed: Uint8Array, place: Place, part: SealedPart): string => {
  const plain = open(key, sealed, place);
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
