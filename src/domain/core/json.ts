/** JSON values as types, and base64 as callers send it. */

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** A last digit before the padding whose unused bits (four or two) are not zero. */
const BITS_LEFT = /[^AQgw]==$|[^AEIMQUYcgkosw048=]=$/;

/** The message for a text that `decodeBase64` refuses. */
export const NO_BASE64 =
  'must be base64 (RFC 4648, section 4): in one line, with its padding, and with zeros in the bits that stand for nothing';

/** The bytes of a base64 text (RFC 4648, section 4) in its canonical form; undefined for any other text. */
export const decodeBase64 = (text: string): Buffer | undefined =>
  text.length % 4 === 0 && BASE64.test(text) && !BITS_LEFT.test(text.slice(-4)) ? Buffer.from(text, 'base64') : undefined;

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** True for a JSON object (not null, not an array). */
export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** True if the JSON of the text needs an escape: for a quotation mark, a backslash, a control character or half of a surrogate pair. */
export const needsEscape = (text: string): boolean => JSON.stringify(text).length > text.length + 2;
