/** The id of a request: the caller's own where it is fit to be repeated in headers and logs, else a fresh one. */
import type { Ids } from '../../domain/ports/ids.js';

const FIT = /^[A-Za-z0-9._:-]+$/;

export type RequestIds = (header: string | readonly string[] | undefined) => string;

/** One prefix serves so many requests. */
const COUNT_MAX = 0xffff_ffff;
/** Odd, so that no two counts give the same product in 32 bits, which is spread over all of them. */
const SPREAD = 0x9e37_79b1;

/**
 * In: how many characters a caller's id may have. Out: a function from the X-Request-Id header, if any, to the id.
 * A fresh id has 32 hex digits, so that it can be the id of a trace as it is: 96 random bits of this server and a count, for a call to
 * the system's generator per request would cost as much as the rest of the admission.
 */
export const requestIds = (ids: Ids, charsMax: number): RequestIds => {
  let prefix = ids.bytes(12).toString('hex');
  let count = 0;
  return (header) => {
    if (typeof header === 'string' && header.length <= charsMax && FIT.test(header)) return header;
    if (count === COUNT_MAX) {
      prefix = ids.bytes(12).toString('hex');
      count = 0;
    }
    count += 1;
    return prefix + (Math.imul(count, SPREAD) >>> 0).toString(16).padStart(8, '0');
  };
};
