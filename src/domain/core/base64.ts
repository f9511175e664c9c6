/** Base64 as callers send it. */

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** Digits of six bits of which the last four, or two, are not zero: they stand for nothing before the padding. */
const BITS_LEFT = /[^AQgw]==$|[^AEIMQUYcgkosw048=]=$/;

/** What is said of a text that is none. */
export const NO_BASE64 =
  'must be base64 (RFC 4648, section 4): in one line, with its padding, and with zeros in the bits that stand for nothing';

/** In: base64 (RFC 4648, section 4) in its one form. Out: the bytes, or undefined where it is none. */
export const decodeBase64 = (text: string): Buffer | undefined =>
  text.length % 4 === 0 && BASE64.test(text) && !BITS_LEFT.test(text.slice(-4)) ? Buffer.from(text, 'base64') : undefined;
