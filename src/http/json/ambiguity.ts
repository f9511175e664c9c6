/**
 * What JSON.parse takes without a word although the sender cannot have meant what comes out: a member given twice, of
 * which it keeps the last, and a number whose digits it does not keep.
 */
import type { FieldError } from '../../domain/errors.js';
import { childPath } from './inspect.js';
import { endOfString } from './scan.js';

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const UPPER_E = 0x45;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const LOWER_E = 0x65;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const isExponentSign = (byte: number | undefined): boolean => byte === LOWER_E || byte === UPPER_E;
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;
const isOfNumber = (byte: number | undefined): boolean =>
  isDigit(byte) || byte === DOT || byte === MINUS || byte === PLUS || isExponentSign(byte);

const endOfNumber = (bytes: Buffer, from: number): number => {
  let end = from + 1;
  while (isOfNumber(bytes[end])) end += 1;
  return end;
};

/** Every decimal of so few characters comes back from a double as it was written, unless it has an exponent. */
const SAFE_NUMBER_CHARS = 15;
const SAFE_INTEGER_MAX = 2 ** 53;

/** In: a number as JSON or JavaScript writes it. Out: its significant digits and the power of ten behind the last of them. */
const digitsOf = (number: string): string => {
  const [mantissa = '', exponent = '0'] = number.replace('-', '').toLowerCase().replace('e-', 'e~').split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (start < end && digits[start] === '0') start += 1;
  while (end > start && digits[end - 1] === '0') end -= 1;
  if (start === end) return '0';
  return `${digits.slice(start, end)}e${Number(exponent.replace('~', '-')) - fraction.length + (digits.length - end)}`;
};

/** True where a double cannot hold the number, or where it is a whole number beyond 2^53, near which doubles skip whole numbers. */
export const losesDigits = (number: string): boolean => {
  const value = Number(number);
  if (!Number.isFinite(value)) return true;
  if (Math.abs(value) > SAFE_INTEGER_MAX && /^-?\d+$/.test(number)) return true;
  return digitsOf(number) !== digitsOf(String(value));
};

const isLossy = (bytes: Buffer, from: number, end: number): boolean => {
  let plain = end - from <= SAFE_NUMBER_CHARS;
  for (let at = from; plain && at < end; at += 1) plain = !isExponentSign(bytes[at]);
  return !plain && losesDigits(bytes.toString('latin1', from, end));
};

/** In: the bytes of a JSON text. Out: how many members its objects were given, or undefined where a number in it loses digits. */
const givenMembers = (bytes: Buffer): number | undefined => {
  let members = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1);
    } else if (byte === COLON) {
      members += 1;
    } else if (byte === MINUS || isDigit(byte)) {
      const end = endOfNumber(bytes, at);
      if (isLossy(bytes, at, end)) return undefined;
      at = end - 1;
    }
  }
  return members;
};

/** Without a list of the members of each object: most bodies are looked at by this alone. */
const keptMembers = (value: object): number => {
  let members = 0;
  if (Array.isArray(value)) {
    for (const element of value as readonly unknown[]) if (isContainer(element)) members += keptMembers(element);
    return members;
  }
  for (const name in value) {
    members += 1;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (isContainer(member)) members += keptMembers(member);
  }
  return members;
};

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
    } else if (byte === MINUS || isDigit(byte)) {
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
 * In: the bytes of a JSON text, and the value that JSON.parse made of it, of bounded depth. Out: the first member that is
 * given twice or number that loses digits, or undefined. Most texts are cleared by counting: an object that was given a
 * member twice keeps fewer than it was given.
 */
export const ambiguityOf = (bytes: Buffer, value: unknown): FieldError | undefined => {
  const given = givenMembers(bytes);
  return given === (isContainer(value) ? keptMembers(value) : 0) ? undefined : findFault(bytes);
};
