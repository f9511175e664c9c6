/** Short ids of attachment templates: `atpl_` and ten characters that people can read to each other. */

/** Crockford's base 32 (https://www.crockford.com/base32.html), in lower case: without i, l, o and u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const PREFIX = 'atpl_';
const CHARS = 10;

/** Of so many random bytes one is made. */
export const SHORT_ID_SIZE_BYTES = CHARS;

/** In: ten random bytes, of which five bits each are used. */
export const shortIdOf = (bytes: Uint8Array): string => {
  if (bytes.length !== SHORT_ID_SIZE_BYTES) throw new RangeError(`a short id is made of ${SHORT_ID_SIZE_BYTES} bytes`);
  return `${PREFIX}${Array.from(bytes, (byte) => ALPHABET[byte & 31]).join('')}`;
};

const SHORT_ID = /^atpl_[0-9a-hjkmnp-tv-z]{10}$/;

/** In: a short id as somebody wrote it. Out: the short id, or undefined. Capital letters and the look-alikes i, l and o are read as Crockford says. */
export const parseShortId = (text: string): string | undefined => {
  if (text.length !== PREFIX.length + CHARS) return undefined;
  const lower = text.toLowerCase();
  const id = lower.slice(0, PREFIX.length) + lower.slice(PREFIX.length).replace(/[il]/g, '1').replaceAll('o', '0');
  return SHORT_ID.test(id) ? id : undefined;
};
