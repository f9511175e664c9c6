/**
 * Scans the bytes of a JSON text in linear time, without parsing it: counts members, names and depth, finds the ends of
 * strings and numbers, and numbers that a double cannot hold. It also inspects a parsed value for dangerous keys and
 * broken Unicode.
 */
import type { FieldError } from '../../../domain/core/errors.js';
import { losesDigits } from '../../../domain/core/json.js';

export type JsonBounds = Readonly<{ membersMax: number; depthMax: number }>;
type JsonExcess = 'members' | 'depth' | undefined;

/**
 * `excess`: which bound is exceeded, if any; nothing behind that place was looked at. `members`: commas and opening
 * brackets outside of strings, so an empty container counts as one. `names`: how many members objects were given;
 * undefined where a number loses digits. `nameBytes`: of their names, as they are written. `hasEscapedName`: whether a
 * name is written with an escape.
 */
export type JsonScan = Readonly<{
  excess: JsonExcess;
  members: number;
  names: number | undefined;
  nameBytes: number;
  hasEscapedName: boolean;
}>;

const BLANK = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A string longer than this is skipped by a native search for its end, so that base64 costs next to nothing. */
const SHORT_STRING_BYTES = 48;

const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_E = 0x45;
const LOWER_E = 0x65;

/** A decimal of at most this length comes back from a double as it was written, unless it has an exponent. */
const SAFE_NUMBER_CHARS = 15;
/** Longer numbers count as lossy unread: no double is written with so many digits. */
const NUMBER_CHARS_MAX = 2_000;

const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;
const KEY_CHARS_MAX = 64;

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * In: UTF-8 bytes that may be JSON; the scan does not tell whether they are. Bounds what JSON.parse will build before
 * it builds it: parsing a body of 7 MB with 600,000 distinct keys would hold the event loop for half a second, counting
 * them takes a few milliseconds.
 */
export const scanJson = (bytes: Buffer, { membersMax, depthMax }: JsonBounds): JsonScan => {
  const length = bytes.length;
  let members = 0;
  let names = 0;
  let nameBytes = 0;
  let stringBytes = 0;
  let hasEscapedName = false;
  /** Whether the last string has an escape. */
  let isEscaped = false;
  let escape = nextEscape(bytes, 0);
  let depth = 0;
  let isExact = true;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at]!;
    if (byte <= BLANK) continue;
    if (byte === QUOTE) {
      const end = endOfString(bytes, at + 1);
      stringBytes = end - at - 1;
      if (escape < at) escape = nextEscape(bytes, at);
      isEscaped = escape < end;
      at = end;
    } else if (byte === COMMA) {
      members += 1;
      if (members > membersMax) return { excess: 'members', members, names: undefined, nameBytes, hasEscapedName };
    } else if (byte === COLON) {
      names += 1;
      hasEscapedName ||= isEscaped;
      nameBytes += stringBytes;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      members += 1;
      depth += 1;
      if (depth > depthMax) return { excess: 'depth', members, names: undefined, nameBytes, hasEscapedName };
      if (members > membersMax) return { excess: 'members', members, names: undefined, nameBytes, hasEscapedName };
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth -= 1;
    } else if (beginsNumber(byte)) {
      const end = endOfNumber(bytes, at);
      isExact &&= !isLossy(bytes, at, end);
      at = end - 1;
    }
  }
  return { excess: undefined, members, names: isExact ? names : undefined, nameBytes, hasEscapedName };
};

/**
 * True if the text cannot exceed a bound, whatever it says: each member takes a character, each level an opening
 * bracket. This clears most bodies for a fraction of what a scan costs.
 */
export const isSurelyWithin = (text: string, { membersMax, depthMax }: JsonBounds): boolean => {
  if (text.length > membersMax) return false;
  let left = depthMax;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      left -= 1;
      if (left < 0) return false;
    }
  }
  return true;
};

/** Out: the offset of the next backslash; Infinity if there is none. */
const nextEscape = (bytes: Buffer, from: number): number => {
  const next = bytes.indexOf(BACKSLASH, from);
  return next < 0 ? Infinity : next;
};

/**
 * In: UTF-8 bytes, and the offset of the byte behind an opening quote. Out: the offset of the closing quote, or the
 * length where there is none. Linear even for strings made of nothing but escapes: each native search is paid for by
 * the bytes looked at before it.
 */
export const endOfString = (bytes: Buffer, from: number): number => {
  const length = bytes.length;
  let at = from;
  for (;;) {
    const near = Math.min(length, at + SHORT_STRING_BYTES);
    while (at < near) {
      const byte = bytes[at]!;
      if (byte === QUOTE) return at;
      at += byte === BACKSLASH ? 2 : 1;
    }
    if (at >= length) return length;
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0) return length;
    let slashes = 0;
    while (quote - slashes > at && bytes[quote - slashes - 1] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote;
    at = quote + 1;
  }
};

/** True for a byte with which a number begins. */
export const beginsNumber = (byte: number): boolean => byte === MINUS || isDigit(byte);

/** In: the offset of the first byte of a number. Out: the offset behind its last. */
export const endOfNumber = (bytes: Buffer, from: number): number => {
  let end = from + 1;
  while (isOfNumber(bytes[end])) end += 1;
  return end;
};

const isExponentSign = (byte: number | undefined): boolean => byte === LOWER_E || byte === UPPER_E;
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;
const isOfNumber = (byte: number | undefined): boolean =>
  isDigit(byte) || byte === DOT || byte === MINUS || byte === PLUS || isExponentSign(byte);

/** In: the first offset of a number and the one behind its last. Out: true if reading it as a double loses digits. */
export const isLossy = (bytes: Buffer, from: number, end: number): boolean => {
  if (end - from > NUMBER_CHARS_MAX) return true;
  let plain = end - from <= SAFE_NUMBER_CHARS;
  for (let at = from; plain && at < end; at += 1) plain = !isExponentSign(bytes[at]);
  return !plain && losesDigits(bytes.toString('latin1', from, end));
};

/**
 * In: the offset of a number in a text. Out: true if it is short and has no exponent, as nearly all are: then `isLossy`
 * is false for it.
 */
export const isSurelyExact = (text: string, from: number): boolean => {
  let end = from + 1;
  let code = text.charCodeAt(end);
  while (isOfNumber(code) && end - from <= SAFE_NUMBER_CHARS) {
    if (isExponentSign(code)) return false;
    end += 1;
    code = text.charCodeAt(end);
  }
  return end - from <= SAFE_NUMBER_CHARS;
};

/**
 * In: a value as JSON.parse made it, of bounded depth. Out: the first key that reaches for a prototype, or text with
 * half of a surrogate pair; undefined if there is none. `mayHide` tells by the text whether the walk is needed.
 */
export const inspectJson = (value: unknown, path = ''): FieldError | undefined => {
  if (typeof value === 'string') {
    return LONE_SURROGATE.test(value)
      ? { field: path, message: 'holds half of a surrogate pair (U+D800 to U+DFFF); write the whole character' }
      : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const found = inspectJson(value[index], childPath(path, index));
      if (found !== undefined) return found;
    }
    return undefined;
  }
  for (const [key, member] of Object.entries(value)) {
    const message = keyFault(key, member);
    if (message !== undefined) return { field: childPath(path, key), message };
    const found = inspectJson(member, childPath(path, key));
    if (found !== undefined) return found;
  }
  return undefined;
};

/**
 * In: a JSON text that was decoded from valid UTF-8. Out: false if `inspectJson` cannot find a fault in it: such a text
 * has lone surrogates only as escapes, and the two keys in plain letters unless escapes are used.
 */
export const mayHide = (text: string): boolean =>
  text.includes('\\u') || text.includes('__proto__') || text.includes('"constructor"');

const hasPrototype = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');

const keyFault = (key: string, value: unknown): string | undefined => {
  if (key === '__proto__') return 'is not allowed as a name, for it could change how programs read the object';
  if (key === 'constructor' && hasPrototype(value))
    return 'must not hold `prototype`, for it could change how programs read the object';
  if (LONE_SURROGATE.test(key)) return 'has a name with half of a surrogate pair; write the whole character';
  return undefined;
};

/** Appends an array index or a key to a path such as `to[2].email`. Keys are shortened: they come from the caller. */
export const childPath = (path: string, key: string | number): string => {
  if (typeof key === 'number') return `${path}[${key}]`;
  const short = key.length > KEY_CHARS_MAX ? `${key.slice(0, KEY_CHARS_MAX)}…` : key;
  if (!PLAIN_KEY.test(key)) return `${path}[${JSON.stringify(short)}]`;
  return path === '' ? short : `${path}.${short}`;
};
