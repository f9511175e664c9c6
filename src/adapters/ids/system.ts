/** Fresh ids and secrets from the system's generator. */
import { randomBytes, randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import type { Ids } from '../../domain/ports/ids.js';

const UUID_BYTES = 16;
/** One draw from the system costs as much as many ids, so they share it. */
const POOL_BYTES = UUID_BYTES * 256;
/** The counter of UUIDv7 has 32 bits; it starts in the lower half of them, so that it has room to count on. */
const SEQUENCE_START_MAX = 0x7fff_ffff;
const SEQUENCE_MAX = 0xffff_ffff;

/** UUIDs of one process rise even within a millisecond and when the clock is set back: the counter goes on (RFC 9562, section 6.2). */
export const systemIds = (): Ids => {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  let msecs = 0;
  let seq = 0;

  const sixteenBytes = (): Buffer => {
    if (used === POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    used += UUID_BYTES;
    return pool.subarray(used - UUID_BYTES, used);
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
      return v7({ random, msecs, seq });
    },
    bytes: (sizeBytes) => randomBytes(sizeBytes),
  };
};
