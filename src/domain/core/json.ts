/** JSON values as types, and what may be a name in them. */

/* Base64 as callers send it. */

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** Digits of six bits of which the last four, or two, are not zero: they stand for nothing before the padding. */
const BITS_LEFT = /[^AQgw]==$|[^AEIMQUYcgkosw048=]=$/;

/** What is said of a text that is none. */
export const NO_BASE64 =
  'must be base64 (RFC 4648, section 4): in one line, with its padding, and with zeros in the bits that stand for nothing';

/** In: base64 (RFC 4648, section 4) in its one form. Out: the bytes, or undefined where it is none. */
export const decodeBase64 = (text: string): Buffer | undefined =>
  text.length % 4 === 0 && BASE64.test(text) && !BITS_LEFT.test(text.slice(-4)) ? Buffer.from(text, 'base64') : undefined;

/** A UUID as its 16 bytes, and back: what tokens hold of an id. */
export const UUID_BYTES = 16;

export const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');

/** Of the 16 bytes from that place on. */
export const uuidOfBytes = (bytes: Buffer, at = 0): string => {
  const hex = bytes.toString('hex', at, at + UUID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** True for a JSON object (not null, not an array). */
export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether JSON can write a text only with an escape: it has a quotation mark, a backslash, a control character or half of a surrogate pair. */
export const needsEscape = (text: string): boolean => JSON.stringify(text).length > text.length + 2;
