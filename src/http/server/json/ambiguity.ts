/**
 * What JSON.parse takes without a word although the sender cannot have meant what comes out: a member given twice, of
 * which it keeps the last, and a number whose digits it does not keep.
 */
import type { FieldError } from '../../../domain/core/errors.js';
import { childPath } from './inspect.js';
import { beginsNumber, endOfNumber, isLossy, isSurelyExact } from './numbers.js';
import { endOfString, type JsonScan } from './scan.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const PLAIN_STRING_BYTES = 48;

/** In: the bytes of a JSON text. Out: how many members its objects were given, or undefined where a number in it loses digits. */
const givenMembers = (bytes: Buffer): number | undefined => {
  const length = bytes.length;
  let members = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at += 1;
      // Every send comes by here: the end of a short string without an escape is found without a call.
      const near = Math.min(length, at + PLAIN_STRING_BYTES);
      while (at < near && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at += 1;
      if (bytes[at] !== QUOTE) at = endOfString(bytes, at);
    } else if (byte === COLON) {
      members += 1;
    } else if (beginsNumber(byte)) {
      const end = endOfNumber(bytes, at);
      if (isLossy(bytes, at, end)) return undefined;
      at = end - 1;
    }
  }
  return members;
};

const BLANK = 0x20;

/**
 * In: a JSON text without a backslash. Out: how many members its objects were given, and one more for each string that begins with a
 * colon; NaN where a blank stands before a colon, or where the number of a member is not surely exact. Native searches find the colons.
 */
const plainlyGivenMembers = (text: string): number => {
  let members = 0;
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    const before = text.charCodeAt(colon - 1);
    if (before <= BLANK) return Number.NaN;
    // Another colon within a string.
    if (before !== QUOTE) continue;
    members += 1;
    let at = colon + 1;
    while (text.charCodeAt(at) <= BLANK) at += 1;
    if (beginsNumber(text.charCodeAt(at)) && !isSurelyExact(text, at)) return Number.NaN;
  }
  return members;
};

/**
 * Without a list of the members of each object: most bodies are looked at by this alone. `bare` is added for each number that is
 * an element of an array.
 */
const keptMembers = (value: object, bare: number): number => {
  let members = 0;
  if (Array.isArray(value)) {
    for (const element of value as readonly unknown[]) {
      if (isContainer(element)) members += keptMembers(element, bare);
      else if (typeof element === 'number') members += bare;
    }
    return members;
  }
  for (const name in value) {
    members += 1;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (isContainer(member)) members += keptMembers(member, bare);
  }
  return members;
};

/**
 * True where the text, which has no backslash, certainly holds nothing of the kind. The colons that are counted are those of all members
 * given, at least; no more than these can be kept, so that where the counts agree none was given twice. The numbers of members were
 * looked at with the colons, and others make the count NaN, which equals nothing.
 */
const isSurelyClear = (text: string, value: object): boolean => plainlyGivenMembers(text) === keptMembers(value, Number.NaN);

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A container that is open: an object with the names it has so far, or an array; `key` is where in it the reading is. */
type Open = { key: string | number; names: Set<string> | undefined; expectsName: boolean };

const pathOf = (open: readonly Open[]): string => open.reduce((path, { key }) => childPath(path, key), '');

const lossyNumber = (number: string): string => {
  const shown = number.length > 40 ? `${number.slice(0, 40)}…` : number;
  return `is ${shown}, a number that would lose digits (whole numbers are exact up to 2^53); send it as a string`;
};

/** In: the bytes of a JSON text that was parsed. Out: the first fault with its path; walks the whole text. */
const findFault = (bytes: Buffer): FieldError | undefined => {
  const open: Open[] = [];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    const inner = open[open.length - 1];
    if (byte === QUOTE) {
      const end = endOfString(bytes, at + 1);
      if (inner?.names !== undefined && inner.expectsName) {
        inner.key = JSON.parse(bytes.toString('utf8', at, end + 1)) as string;
        inner.expectsName = false;
        if (inner.names.has(inner.key)) return { field: pathOf(open), message: 'is given twice; give it once' };
        inner.names.add(inner.key);
      }
      at = end;
    } else if (beginsNumber(byte)) {
      const end = endOfNumber(bytes, at);
      if (isLossy(bytes, at, end)) return { field: pathOf(open), message: lossyNumber(bytes.toString('latin1', at, end)) };
      at = end - 1;
    } else if (byte === COMMA && inner !== undefined) {
      if (inner.names === undefined) inner.key = Number(inner.key) + 1;
      else inner.expectsName = true;
    } else if (byte === OPEN_OBJECT) {
      open.push({ key: '', names: new Set(), expectsName: true });
    } else if (byte === OPEN_ARRAY) {
      open.push({ key: 0, names: undefined, expectsName: false });
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      open.pop();
    }
  }
  return undefined;
};

/**
 * In: the bytes of a JSON text, the text, the value that JSON.parse made of it, of bounded depth, and what a scan has counted, where
 * there was one. Out: the first member that is given twice or number that loses digits, or undefined. Most texts are cleared by counting:
 * an object that was given a member twice keeps fewer than it was given.
 */
export const ambiguityOf = (bytes: Buffer, text: string, value: unknown, scan?: JsonScan): FieldError | undefined => {
  if (scan === undefined && isContainer(value) && !text.includes('\\') && isSurelyClear(text, value)) return undefined;
  const given = scan === undefined ? givenMembers(bytes) : scan.names;
  return given === (isContainer(value) ? keptMembers(value, 0) : 0) ? undefined : findFault(bytes);
};
