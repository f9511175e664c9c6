/**
 * A linear look over the bytes of a JSON text that bounds what JSON.parse will have to build, before it builds it.
 * A body of 7 MB with 600,000 distinct keys would hold the event loop for half a second; counting them takes a few milliseconds.
 */
import { beginsNumber, endOfNumber, isLossy } from './numbers.js';

export type JsonBounds = Readonly<{ membersMax: number; depthMax: number }>;
export type JsonExcess = 'members' | 'depth' | undefined;

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

/**
 * True where a text certainly exceeds no bound, whatever it says: a member takes a character, a level an opening bracket.
 * Most bodies are found harmless by this for a fraction of what a scan costs.
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

/**
 * `excess`: which bound is exceeded, if any; nothing behind that place was looked at. `members`: commas and opening brackets outside of
 * strings, so an empty container counts as one. `names`: how many members objects were given; undefined where a number loses digits.
 * `nameBytes`: of their names, as they are written. `hasEscapedName`: whether a name is written with an escape.
 */
export type JsonScan = Readonly<{
  excess: JsonExcess;
  members: number;
  names: number | undefined;
  nameBytes: number;
  hasEscapedName: boolean;
}>;

/** Infinity where there is none. */
const nextEscape = (bytes: Buffer, from: number): number => {
  const next = bytes.indexOf(BACKSLASH, from);
  return next < 0 ? Infinity : next;
};

/** In: UTF-8 bytes that may be JSON. Says nothing on whether they are. */
export const scanJson = (bytes: Buffer, { membersMax, depthMax }: JsonBounds): JsonScan => {
  const length = bytes.length;
  let members = 0;
  let names = 0;
  let nameBytes = 0;
  let stringBytes = 0;
  let hasEscapedName = false;
  /** Of the string that was looked at last. */
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
