/**
 * Reads the JSON of a request body: UTF-8 only, within the limits, and without names or numbers that JSON.parse or a
 * later reader would get wrong. One pass over the bytes finds all of that before JSON.parse builds anything.
 */
import { isUtf8 } from 'node:buffer';
import { type FieldError, DomainError, invalid } from '../../../domain/core/errors.js';
import { losesDigits, needsEscape } from '../../../domain/core/json.js';
import type { Limits } from '../../../domain/core/limits.js';

/** The limits of one JSON text. */
export type JsonLimits = Pick<Limits, 'jsonMembersMax' | 'jsonNamesMax' | 'jsonDepthMax'>;

/** Faults of texts that JSON.parse reads. */
type Kind = 'harmful' | 'escaped' | 'ambiguous';
type Faults = { readonly [kind in Kind]?: FieldError };

/**
 * `text`: what JSON.parse reads, without names that are written with an escape. `given`: how many members the objects
 * were given. `names`: how many different names they have, at most one more than may be; a scan by names counts them.
 * `faults`: the first of each kind.
 */
type Scan = Readonly<{ text: string; given: number; names: number; faults: Faults }>;

const BLANK = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const UPPER_E = 0x45;
const LOWER_E = 0x65;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LOWER_U = 0x75;
const BLANKS: ReadonlySet<number | undefined> = new Set(Buffer.from(' \n\r\t'));
const ESCAPED: ReadonlySet<number | undefined> = new Set(Buffer.from('"\\/bfnrt'));
const HEX: ReadonlySet<number | undefined> = new Set(Buffer.from('0123456789abcdefABCDEF'));
const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]));

/** A decimal of at most this length comes back from a double as it was written, unless it has an exponent. */
const SAFE_NUMBER_CHARS = 15;
/** Longer numbers count as lossy unread: no double is written with so many digits. */
const NUMBER_CHARS_MAX = 2_000;
/** `"__proto__"` and `"prototype"` have this length. */
const HARMFUL_NAME_BYTES = 11;
const CONSTRUCTOR_BYTES_MAX = 'constructor'.length * '\\u0000'.length;
const LONE_SURROGATE = /\p{Surrogate}/u;

const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;
const KEY_CHARS_MAX = 64;

/** In: the bytes of a body. Out: its value, or undefined for an empty body. Throws DomainError. */
export const parseJsonBody = (bytes: Buffer, limits: JsonLimits): unknown =>
  bytes.length === 0 ? undefined : readJson(bytes, limits).value;

/**
 * In: the bytes of a body that is not empty. Out: the text that JSON.parse reads, and its value. Nearly every body is
 * proved to be plain by its value and its colons; others are scanned. Throws DomainError.
 */
export const readJson = (bytes: Buffer, limits: JsonLimits): Read => {
  checkEncoding(bytes);
  return readPlain(bytes, limits) ?? readExactly(bytes, limits);
};

type Read = Readonly<{ text: string; value: unknown }>;

/** A longer body is scanned before anything is built of it. */
const PLAIN_BYTES_MAX = 128 * 1024;
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;
/** Every number that is longer than `SAFE_NUMBER_CHARS` or has an exponent; also some text that only looks like one. */
const LONG_NUMBER = /(?:^|[[,:\s])-?\d(?:[\d.]{14}|[\d.]*[eE])/;

/**
 * In: UTF-8 bytes. Out: what `readExactly` gives; undefined where only a scan tells. Each member of the text has a name
 * and a colon behind it, and the value has a member for each different name of an object. So no member is given twice
 * where the value has as many members as the text has colons behind quotes.
 */
export const readPlain = (bytes: Buffer, limits: JsonLimits): Read | undefined => {
  if (bytes.length > PLAIN_BYTES_MAX) return undefined;
  const text = bytes.toString();
  const hasEscape = text.includes('\\');
  if (hasEscape && SURROGATE_ESCAPE.test(text)) return undefined;
  const given = plainNames(text, hasEscape);
  if (given === undefined || given > limits.jsonNamesMax) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const count = plainMembers(value, limits);
  if (count?.given !== given || (count.hasNumber && LONG_NUMBER.test(text))) return undefined;
  return { text, value };
};

/**
 * In: any text. Out: how many colons stand behind a quote; undefined where such a quote may end a name with an escape,
 * or a number that may lose digits stands behind such a colon.
 */
const plainNames = (text: string, hasEscape: boolean): number | undefined => {
  let names = 0;
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    let end = at - 1;
    while (text.charCodeAt(end) <= BLANK) end -= 1;
    if (text.charCodeAt(end) !== QUOTE) continue;
    names += 1;
    if (hasEscape && mayHoldEscape(text, end)) return undefined;
    let from = at + 1;
    while (text.charCodeAt(from) <= BLANK) from += 1;
    let to = from;
    while (isNumeric(text.charCodeAt(to))) to += 1;
    if (to - from > SAFE_NUMBER_CHARS || (to > from && isExponent(text.charCodeAt(to)))) return undefined;
  }
  return names;
};

/** In: the offset of a quote. Out: false if no escape stands between it and the quote before. */
const mayHoldEscape = (text: string, end: number): boolean => {
  let at = end - 1;
  while (at >= 0 && text.charCodeAt(at) !== QUOTE && text.charCodeAt(at) !== BACKSLASH) at -= 1;
  return text.charCodeAt(at) === BACKSLASH || text.charCodeAt(at - 1) === BACKSLASH;
};

const isNumeric = (code: number): boolean => isDigit(code) || code === DOT || code === MINUS;

/** `given`: members of objects. `room`: how many more members and elements may be. `hasNumber`: outside of objects. */
type Count = { given: number; room: number; hasNumber: boolean };

/** In: a value that JSON.parse made. Out: undefined if it is beyond the limits or has a name that may do harm. */
const plainMembers = (value: unknown, { jsonMembersMax, jsonDepthMax }: JsonLimits): Count | undefined => {
  const count = { given: 0, room: jsonMembersMax, hasNumber: typeof value === 'number' };
  return isPlain(value, jsonDepthMax, count) ? count : undefined;
};

const isPlain = (value: unknown, levels: number, count: Count): boolean => {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  let members = 0;
  if (Array.isArray(value)) {
    members = value.length;
    for (const element of value as readonly unknown[]) {
      if (typeof element === 'number') count.hasNumber = true;
      else if (!isPlain(element, levels - 1, count)) return false;
    }
  } else {
    for (const name in value) {
      if (name === '__proto__' || name === 'prototype') return false;
      members += 1;
      if (!isPlain((value as Readonly<Record<string, unknown>>)[name], levels - 1, count)) return false;
    }
    count.given += members;
  }
  count.room -= members === 0 ? 1 : members;
  return count.room >= 0;
};

/**
 * As `readJson`, by a scan. An object that was given a member twice keeps fewer members than it was given, so only a
 * text in which these counts differ is scanned for the names of each object.
 */
export const readExactly = (bytes: Buffer, limits: JsonLimits): Read => {
  const { jsonNamesMax } = limits;
  const first = scanJson(bytes, limits, false);
  const { names, given, text, faults } = first.given > jsonNamesMax ? scanJson(bytes, limits, true) : first;
  if (names > jsonNamesMax)
    throw tooComplex(
      `The members of the body have more than ${jsonNamesMax} different names, the most that is read; send values whose names differ as an array of objects with the same names.`,
      { maxNames: jsonNamesMax },
    );
  const value = JSON.parse(text) as unknown;
  const isClear = faults.ambiguous === undefined && plainMembers(value, limits)?.given === given;
  const fault =
    faults.harmful ?? faults.escaped ?? (isClear ? undefined : scanJson(bytes, limits, true).faults.ambiguous);
  if (fault !== undefined) throw invalid('body', fault.field, fault.message);
  return { text, value };
};

/** Appends an array index or a key to a path such as `to[2].email`. Keys are shortened: they come from the caller. */
export const childPath = (path: string, key: string | number): string => {
  if (typeof key === 'number') return `${path}[${key}]`;
  const short = key.length > KEY_CHARS_MAX ? `${key.slice(0, KEY_CHARS_MAX)}…` : key;
  if (!PLAIN_KEY.test(key)) return `${path}[${JSON.stringify(short)}]`;
  return path === '' ? short : `${path}.${short}`;
};

const malformed = (message: string, relatedInfo?: Readonly<Record<string, number>>): DomainError =>
  new DomainError('MALFORMED_JSON', message, relatedInfo === undefined ? {} : { relatedInfo });

const tooComplex = (message: string, relatedInfo: Readonly<Record<string, number>>): DomainError =>
  new DomainError('JSON_TOO_COMPLEX', message, { relatedInfo });

const checkEncoding = (bytes: Buffer): void => {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    throw malformed('The body starts with a byte order mark; send the JSON in UTF-8 without one.');
  if (isUtf8(bytes)) return;
  let low = 0;
  let high = bytes.length;
  // The longest valid prefix: a prefix is also fine where only its last character is cut, which is at most 3 bytes.
  const fine = (end: number): boolean => [0, 1, 2, 3].some((cut) => end >= cut && isUtf8(bytes.subarray(0, end - cut)));
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fine(middle)) low = middle;
    else high = middle - 1;
  }
  const cut = [0, 1, 2, 3].find((count) => isUtf8(bytes.subarray(0, low - count))) ?? 0;
  throw malformed(
    `The body is not UTF-8: the byte at offset ${low - cut} does not belong there. JSON is sent in UTF-8 (RFC 8259, section 8.1).`,
  );
};

/** In: the offset of the first byte that cannot stand where it stands; the length of the text where it ends too early. */
const malformedAt = (bytes: Buffer, byteAt: number): DomainError => {
  const before = bytes.toString('utf8', 0, byteAt);
  const offset = before.length;
  let line = 1;
  for (let at = before.indexOf('\n'); at >= 0; at = before.indexOf('\n', at + 1)) line += 1;
  const column = offset - before.lastIndexOf('\n');
  const [found] = bytes.toString('utf8', byteAt, byteAt + 4);
  const what = found === undefined ? 'the text ends too early' : `unexpected ${JSON.stringify(found)}`;
  return malformed(`The body is not JSON: ${what} at line ${line}, column ${column}.`, { line, column, offset });
};

/**
 * In: UTF-8 bytes. Counts commas and opening brackets as members, so an empty container counts as one. The recursion is
 * no deeper than the limits let the text be. Throws JSON_TOO_COMPLEX, and MALFORMED_JSON for what is not JSON.
 */
const scanJson = (
  bytes: Buffer,
  { jsonMembersMax, jsonNamesMax, jsonDepthMax }: JsonLimits,
  byNames: boolean,
): Scan => {
  const path: number[] = [];
  const notes = openNotes(bytes, path);
  const different = new Set<string>();
  let members = 0;
  let given = 0;

  const count = (): void => {
    members += 1;
    if (members > jsonMembersMax)
      throw tooComplex(`The body has more than ${jsonMembersMax} members and elements, the most that is read.`, {
        maxMembers: jsonMembersMax,
      });
  };
  const open = (at: number): number => {
    if (path.length >= jsonDepthMax)
      throw tooComplex(`The body is nested deeper than ${jsonDepthMax} levels, the most that is read.`, {
        maxDepth: jsonDepthMax,
      });
    count();
    path.push(-1);
    return endOfBlank(bytes, at + 1);
  };
  const close = (at: number): number => {
    path.pop();
    return at + 1;
  };
  const behind = (punctuation: number, at: number): number => {
    if (bytes[at] !== punctuation) throw malformedAt(bytes, at);
    return endOfBlank(bytes, at + 1);
  };

  const endOfName = (start: number, names: Set<string> | undefined): number => {
    if (bytes[start] !== QUOTE) throw malformedAt(bytes, start);
    const plainEnd = endOfPlain(bytes, start + 1);
    const end = endOfString(bytes, plainEnd);
    given += 1;
    path[path.length - 1] = start;
    const isEscaped = end > plainEnd + 1;
    if (isEscaped || end - start === HARMFUL_NAME_BYTES) notes.name(start, end, isEscaped);
    if (names === undefined) return end;
    const name = isEscaped ? textAt(bytes, start) : bytes.toString('utf8', start + 1, end - 1);
    if (names.has(name)) notes.add('ambiguous', 'is given twice; give it once');
    names.add(name);
    if (different.size <= jsonNamesMax) different.add(name);
    return end;
  };
  const endOfObject = (start: number): number => {
    const names = byNames ? new Set<string>() : undefined;
    let at = open(start);
    if (bytes[at] === CLOSE_OBJECT) return close(at);
    for (;;) {
      at = behind(COLON, endOfBlank(bytes, endOfName(at, names)));
      at = endOfBlank(bytes, endOfValue(at));
      if (bytes[at] === CLOSE_OBJECT) return close(at);
      at = behind(COMMA, at);
      count();
    }
  };
  const endOfArray = (start: number): number => {
    let at = open(start);
    if (bytes[at] === CLOSE_ARRAY) return close(at);
    for (let index = 0; ; index += 1) {
      path[path.length - 1] = -1 - index;
      at = endOfBlank(bytes, endOfValue(at));
      if (bytes[at] === CLOSE_ARRAY) return close(at);
      at = behind(COMMA, at);
      count();
    }
  };
  const endOfValue = (start: number): number => {
    const byte = bytes[start];
    if (byte === OPEN_OBJECT) return endOfObject(start);
    if (byte === OPEN_ARRAY) return endOfArray(start);
    if (byte === QUOTE) {
      const plainEnd = endOfPlain(bytes, start + 1);
      const end = endOfString(bytes, plainEnd);
      if (end > plainEnd + 1) notes.text(start, end);
      return end;
    }
    if (byte !== MINUS && !isDigit(byte)) return endOfWord(bytes, start);
    const end = endOfNumber(bytes, start);
    if (isLossy(bytes, start, end)) notes.add('ambiguous', lossyNumber(bytes.toString('latin1', start, end)));
    return end;
  };

  const end = endOfBlank(bytes, endOfValue(endOfBlank(bytes, 0)));
  if (end < bytes.length) throw malformedAt(bytes, end);
  return { text: notes.plainText(), given, names: different.size, faults: notes.faults };
};

/**
 * In: the bytes, and the place of the scan in them: for each open object the offset of the member's name, for each open
 * array -1 less the index. Keeps the first fault of each kind, and the names that are written with an escape.
 */
const openNotes = (bytes: Buffer, path: readonly number[]) => {
  const faults: { [kind in Kind]?: FieldError } = {};
  const pieces: string[] = [];
  let copiedTo = 0;
  const fieldOf = (steps: readonly number[]): string =>
    steps.reduce((field, step) => childPath(field, step < 0 ? -1 - step : textAt(bytes, step)), '');
  const add = (kind: Kind, message: string, steps: readonly number[] = path): void => {
    faults[kind] ??= { field: fieldOf(steps), message };
  };
  return {
    faults,
    add,
    name: (start: number, end: number, isEscaped: boolean): void => {
      const name = isEscaped ? textAt(bytes, start) : bytes.toString('utf8', start + 1, end - 1);
      const holder = path.at(-2) ?? -1;
      if (name === '__proto__')
        add('harmful', 'is not allowed as a name, for it could change how programs read the object');
      if (name === 'prototype' && holder >= 0 && isConstructor(bytes, holder))
        add(
          'harmful',
          'must not hold `prototype`, for it could change how programs read the object',
          path.slice(0, -1),
        );
      if (!isEscaped) return;
      if (LONE_SURROGATE.test(name))
        add('harmful', 'has a name with half of a surrogate pair; write the whole character');
      if (needsEscape(name)) faults.escaped ??= escapedName(name, bytes.includes('"translations"'));
      pieces.push(bytes.toString('utf8', copiedTo, start), JSON.stringify(name));
      copiedTo = end;
    },
    text: (start: number, end: number): void => {
      if (bytes.subarray(start, end).includes('\\u') && LONE_SURROGATE.test(textAt(bytes, start)))
        add('harmful', 'holds half of a surrogate pair (U+D800 to U+DFFF); write the whole character');
    },
    /**
     * The text with every member name written without escapes. V8 (13.6 and 14.6, not 12.4) compares an escaped name
     * with the names of objects of the same shape by its written text, cut to the decoded length: after any body had
     * the name `\u`, it takes `"\u540d\u524d"` for that name. Names that JSON can only write with an escape are
     * refused, because stored texts are read by JSON.parse too.
     */
    plainText: (): string => pieces.join('') + bytes.toString('utf8', copiedTo),
  };
};

const escapedName = (name: string, hasTranslations: boolean): FieldError => ({
  field: childPath('', name),
  message: `is not allowed as a name: it has a quotation mark, a backslash or a control character; ${
    hasTranslations
      ? 'in `translations` write \' for ", / for a backslash and a blank for a line break, elsewhere leave it out'
      : 'leave it out'
  }`,
});

const lossyNumber = (number: string): string => {
  const shown = number.length > 40 ? `${number.slice(0, 40)}…` : number;
  return `is ${shown}, a number that would lose digits (whole numbers are exact up to 2^53); send it as a string`;
};

/** In: the offset of the opening quote of a string. Out: the text that it stands for. */
const textAt = (bytes: Buffer, start: number): string =>
  JSON.parse(bytes.toString('utf8', start, endOfString(bytes, endOfPlain(bytes, start + 1)))) as string;

/**
 * In: the offset of the opening quote of a name. Looks at no more bytes than the word has where each letter is escaped,
 * for a name may be as long as a body.
 */
const isConstructor = (bytes: Buffer, start: number): boolean => {
  const length = bytes.subarray(start + 1, start + 2 + CONSTRUCTOR_BYTES_MAX).indexOf(QUOTE);
  if (length < 0 || bytes[start + length] === BACKSLASH) return false;
  return JSON.parse(bytes.toString('utf8', start, start + length + 2)) === 'constructor';
};

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;

const endOfBlank = (bytes: Buffer, from: number): number => {
  let at = from;
  while (at < bytes.length && bytes[at]! <= BLANK && BLANKS.has(bytes[at])) at += 1;
  return at;
};

/** Out: the offset of the first byte of a string that is not an ordinary character. */
export const endOfPlain = (bytes: Buffer, from: number): number => {
  const { length } = bytes;
  let at = from;
  while (at < length) {
    const byte = bytes[at]!;
    if (byte === QUOTE || byte === BACKSLASH || byte < BLANK) break;
    at += 1;
  }
  return at;
};

/** In: what `endOfPlain` found. Out: the offset behind the closing quote. */
export const endOfString = (bytes: Buffer, from: number): number => {
  let at = from;
  while (bytes[at] === BACKSLASH) {
    const isUnit = bytes[at + 1] === LOWER_U;
    if (isUnit ? ![2, 3, 4, 5].every((index) => HEX.has(bytes[at + index])) : !ESCAPED.has(bytes[at + 1]))
      throw malformedAt(bytes, at);
    at = endOfPlain(bytes, at + (isUnit ? 6 : 2));
  }
  if (bytes[at] !== QUOTE) throw malformedAt(bytes, at);
  return at + 1;
};

const endOfDigits = (bytes: Buffer, from: number): number => {
  let at = from;
  while (isDigit(bytes[at])) at += 1;
  return at;
};

const endOfNumber = (bytes: Buffer, start: number): number => {
  const whole = bytes[start] === MINUS ? start + 1 : start;
  let end = bytes[whole] === ZERO ? whole + 1 : endOfDigits(bytes, whole);
  if (end === whole) throw malformedAt(bytes, start);
  const fraction = bytes[end] === DOT ? endOfDigits(bytes, end + 1) : end;
  if (fraction > end + 1) end = fraction;
  if (!isExponent(bytes[end])) return end;
  const digits = end + (bytes[end + 1] === PLUS || bytes[end + 1] === MINUS ? 2 : 1);
  const exponent = endOfDigits(bytes, digits);
  return exponent > digits ? exponent : end;
};

const isExponent = (byte: number | undefined): boolean => byte === LOWER_E || byte === UPPER_E;

/** In: the first offset of a number and the one behind its last. Out: true if reading it as a double loses digits. */
const isLossy = (bytes: Buffer, start: number, end: number): boolean => {
  if (end - start > NUMBER_CHARS_MAX) return true;
  let isPlain = end - start <= SAFE_NUMBER_CHARS;
  for (let at = start; isPlain && at < end; at += 1) isPlain = !isExponent(bytes[at]);
  return !isPlain && losesDigits(bytes.toString('latin1', start, end));
};

const endOfWord = (bytes: Buffer, start: number): number => {
  const word = WORDS.get(bytes[start] ?? 0);
  if (word === undefined || !bytes.subarray(start, start + word.length).equals(word)) throw malformedAt(bytes, start);
  return start + word.length;
};
