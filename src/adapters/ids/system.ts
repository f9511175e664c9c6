/** Fresh ids and secrets from the system's generator. */
import { randomBytes } from 'node:crypto';
import type { Ids } from '../../domain/ports/ids.js';

/** The counter has 26 bits and starts in their lower quarter, so that it has room to count on. */
const COUNTER_MAX = 0x3ff_ffff;
const COUNTER_START_DIGITS = 6;
/** The digits of ids are no secret, so they are drawn for many ids at once: a draw costs more than all else of an id. */
const POOL_BYTES = 4_096;

/**
 * UUIDs of one process increase even within a millisecond and when the clock is set back: the counter goes on (RFC
 * 9562, section 6.2).
 */
export const systemIds = (): Ids => {
  let msecs = 0;
  let time = '';
  let counter = COUNTER_MAX;
  let digits = '';
  const random = (count: number): string => {
    if (digits.length < count) digits = randomBytes(POOL_BYTES).toString('hex');
    const drawn = digits.slice(0, count);
    digits = digits.slice(count);
    return drawn;
  };
  return {
    uuid: () => {
      const now = Date.now();
      if (now > msecs || counter === COUNTER_MAX) {
        msecs = Math.max(now, msecs + 1);
        const written = msecs.toString(16).padStart(12, '0');
        time = `${written.slice(0, 8)}-${written.slice(8)}`;
        counter = parseInt(random(COUNTER_START_DIGITS), 16);
      } else counter += 1;
      const high = (0x7000 | (counter >>> 14)).toString(16);
      const low = (0x8000 | (counter & 0x3fff)).toString(16);
      return `${time}-${high}-${low}-${random(12)}`;
    },
    bytes: (sizeBytes) => randomBytes(sizeBytes),
  };
};
