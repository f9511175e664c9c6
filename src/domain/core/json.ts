/** JSON values as types, numbers that a double cannot hold, and base64 as callers send it. */

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** A last digit before the padding whose unused bits (four or two) are not zero. */
const BITS_LEFT = /[^AQgw]==$|[^AEIMQUYcgkosw048=]=$/;

/** The message for a text that `decodeBase64` refuses. */
export const NO_BASE64 =
  'must be base64 (RFC 4648, section 4): in one line, with its padding, and with zeros in the bits that stand for nothing';

/** The bytes of a base64 text (RFC 4648, section 4) in its canonical form; undefined for any other text. */
export const decodeBase64 = (text: string): Buffer | undefined =>
  text.length % 4 === 0 && BASE64.test(text) && !BITS_LEFT.test(text.slice(-4))
    ? Buffer.from(text, 'base64')
    : undefined;

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** True for a JSON object (not null, not an array). */
export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * True if the JSON of the text needs an escape: for a quotation mark, a backslash, a control character or half of a
 * surrogate pair.
 */
export const needsEscape = (text: string): boolean => JSON.stringify(text).length > text.length + 2;

const SAFE_INTEGER_MAX = 2 ** 53;
/** A double written with more digits than this is refused; `toPrecision` writes no more. */
const SIGNIFICANT_DIGITS_MAX = 100;

/**
 * True if the double nearest to a number, written with the fewest digits and with as many as given, is another number;
 * and for whole numbers beyond 2^53, where doubles skip whole numbers. So each double is taken in every spelling, with
 * the 17 digits of some languages too.
 */
export const losesDigits = (number: string): boolean => {
  const value = Number(number);
  if (!Number.isFinite(value)) return true;
  if (Math.abs(value) > SAFE_INTEGER_MAX && /^-?\d+$/.test(number)) return true;
  const given = decimalOf(number);
  if (isEqual(given, decimalOf(String(value)))) return false;
  const digits = given.digits.length;
  return digits === 0 || digits > SIGNIFICANT_DIGITS_MAX || !isEqual(given, decimalOf(value.toPrecision(digits)));
};

type Decimal = Readonly<{ digits: string; power: number }>;

const isEqual = (one: Decimal, other: Decimal): boolean => one.digits === other.digits && one.power === other.power;

/**
 * In: a number as JSON or JavaScript writes it. Out: its significant digits, none for zero, and the power of ten behind
 * the last of them.
 */
const decimalOf = (number: string): Decimal => {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const written = whole + fraction;
  let start = 0;
  let end = written.length;
  while (start < end && written[start] === '0') start += 1;
  while (end > start && written[end - 1] === '0') end -= 1;
  if (start === end) return { digits: '', power: 0 };
  return { digits: written.slice(start, end), power: Number(exponent) - fraction.length + (written.length - end) };
};
