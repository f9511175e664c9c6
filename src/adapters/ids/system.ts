/** Fresh ids and secrets from the system's generator. */
import { randomBytes, randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import type { Ids } from '../../domain/ports/ids.js';

const UUID_BYTES = 16;
/** One draw from the system's generator costs as much as many ids, so they share it. */
const POOL_BYTES = UUID_BYTES * 256;
/** The counter of UUIDv7 has 32 bits and starts in their lower half, so that it has room to count on. */
const SEQUENCE_START_MAX = 0x7fff_ffff;
const SEQUENCE_MAX = 0xffff_ffff;

const DIGITS = Buffer.from('0123456789abcdef');
/** The index of the two digits of each byte. */
const DIGITS_AT = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/** UUIDs of one process increase even within a millisecond and when the clock is set back: the counter goes on (RFC 9562, section 6.2). */
export const systemIds = (): Ids => {
  const pool = Buffer.alloc(POOL_BYTES);
  const parts = Array.from({ length: POOL_BYTES / UUID_BYTES }, (_, at) => pool.subarray(at * UUID_BYTES, (at + 1) * UUID_BYTES));
  let used = parts.length;
  const bytes = new Uint8Array(UUID_BYTES);
  const written = uuidWriter();
  let msecs = 0;
  let seq = 0;

  const sixteenBytes = (): Buffer => {
    if (used === parts.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += 1;
    return parts[used - 1]!;
  };

  return {
    uuid: () => {
      const random = sixteenBytes();
      const now = Date.now();
      if (now > msecs || seq === SEQUENCE_MAX) {
        msecs = Math.max(now, msecs + 1);
        seq = random.readUInt32BE(0) & SEQUENCE_START_MAX;
      } else {
        seq += 1;
      }
      return written(v7({ random, msecs, seq }, bytes));
    },
    bytes: (sizeBytes) => randomBytes(sizeBytes),
  };
};

/** Out: a function that writes 16 bytes as a UUID. It reuses one buffer, because a text joined of many parts is copied once more. */
const uuidWriter = (): ((bytes: Uint8Array) => string) => {
  const text = Buffer.alloc(36, '-');
  return (bytes) => {
    for (let at = 0; at < UUID_BYTES; at += 1) {
      const byte = bytes[at]!;
      const to = DIGITS_AT[at]!;
      text[to] = DIGITS[byte >> 4]!;
      text[to + 1] = DIGITS[byte & 15]!;
    }
    return text.toString('latin1');
  };
};
