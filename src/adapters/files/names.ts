/** What names a file, and when it expires, as every store of files checks them. */

const HASH = /^[0-9a-f]{64}$/;

export const isHash = (text: string): boolean => HASH.test(text);

/** Throws RangeError where the text is no SHA-256 in hex. */
export const checkHash = (hash: string): void => {
  if (!isHash(hash)) throw new RangeError('a file is named by 64 hexadecimal digits in lower case');
};

/** In: an ISO time in any form. Out: the same in UTC with milliseconds, so that texts compare as times do. Throws RangeError for other texts. */
export const isoTimeOf = (text: string): string => {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new RangeError('the time is not an ISO 8601 time');
  return new Date(ms).toISOString();
};
