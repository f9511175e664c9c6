/** The id of a request: the caller's own where it is fit to be repeated in headers and logs, else a fresh one. */
import type { Ids } from '../../domain/ports/ids.js';

const FIT = /^[A-Za-z0-9._:-]+$/;

export type RequestIds = (header: string | readonly string[] | undefined) => string;

/**
 * In: how many characters a caller's id may have. Out: a function from the X-Request-Id header, if any, to the id.
 * A fresh id is the 96 random bits of this server and a count, for a call to the system's generator per request would
 * cost as much as the rest of the admission.
 */
export const requestIds = (ids: Ids, charsMax: number): RequestIds => {
  const server = ids.bytes(12).toString('hex');
  let count = 0;
  return (header) => {
    if (typeof header === 'string' && header.length <= charsMax && FIT.test(header)) return header;
    count += 1;
    return `${server}-${count.toString(36)}`;
  };
};
