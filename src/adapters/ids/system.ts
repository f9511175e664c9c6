/** Fresh ids and secrets from the system's generator. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Ids } from '../../domain/ports/ids.js';

/** The counter has 26 bits and starts in their lower quarter, so that it has room to count on. */
const COUNTER_MAX = 0x3ff_ffff;
const COUNTER_START_DIGITS = 6;

/**
 * UUIDs of one process increase even within a millisecond and when the clock is set back: the counter goes on (RFC
 * 9562, section 6.2). Their random digits are those of `randomUUID`, which draws for many ids at once: the package
 * `uuid` draws for each, which is 3 % of the CPU of accepting an email.
 */
export const systemIds = (): Ids => {
  let msecs = 0;
  let time = '';
  let counter = COUNTER_MAX;
  return {
    uuid: () => {
      const random = randomUUID();
      const now = Date.now();
      if (now > msecs || counter === COUNTER_MAX) {
        msecs = Math.max(now, msecs + 1);
        const digits = msecs.toString(16).padStart(12, '0');
        time = `${digits.slice(0, 8)}-${digits.slice(8)}`;
        counter = parseInt(random.slice(0, COUNTER_START_DIGITS), 16);
      } else counter += 1;
      const high = (0x7000 | (counter >>> 14)).toString(16);
      const low = (0x8000 | (counter & 0x3fff)).toString(16);
      return `${time}-${high}-${low}-${random.slice(24)}`;
    },
    bytes: (sizeBytes) => randomBytes(sizeBytes),
  };
};
