/** Bodies: JSON in UTF-8, within bounds, without what could harm its readers. */
import { isAscii, isUtf8 } from 'node:buffer';
import {
  endOfString,
  childPath,
  beginsNumber,
  endOfNumber,
  isLossy,
  isSurelyExact,
  type JsonScan,
  inspectJson,
  mayHide,
  isSurelyWithin,
  scanJson,
  type JsonBounds,
} from './scan.js';
import { type FieldError, DomainError, invalid } from '../../../domain/core/errors.js';
import { needsEscape } from '../../../domain/core/json.js';
import type { Limits } from '../../../domain/core/limits.js';

/* Counts the different names of a body's members before JSON.parse keeps each of them, and a shape for each place where one stands. */

const QUOTE = 0x22;
const COLON = 0x3a;

/** In: UTF-8 bytes that may be JSON. Out: whether its members have more than `max` names, told apart as they are written. */
const hasMoreNames = (bytes: Buffer, max: number): boolean => {
  const names = new Set<string>();
  let start = 0;
  let end = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      start = at + 1;
      end = endOfString(bytes, start);
      at = end;
    } else if (byte === COLON) {
      names.add(bytes.toString('latin1', start, end));
      if (names.size > max) return true;
    }
  }
  return false;
};

/*
 * What JSON.parse takes without a word although the sender cannot have meant what comes out: a member given twice, of
 * which it keeps the last, and a number whose digits it does not keep.
 */

const BACKSLASH = 0x5c;
const COMMA = 0x2c;

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

/*
 * Names of members that are written with an escape, such as `"\u540d\u524d"` or `"a\"b"`. V8 (13.6 and 14.6, not 12.4) compares as many letters of such
 * a name as it has when it is read with names of objects of the same shape, as it is written: once it has seen the name `\u`, whoever sent it,
 * it takes the first of these for it. So names are written plainly before JSON.parse sees them; those that JSON can only write with an escape
 * are refused, for what is stored is read by JSON.parse, too.
 */

const COLON_ESCAPED_NAMES = ':';
const BLANK_ESCAPED_NAMES = /[\t\n\r ]/;

/** The offsets of its quotation marks. */
type Place = Readonly<{ start: number; end: number }>;

/** In: a text that may be JSON. Linear: no letter is searched for behind a place where it was found already. */
const escapedNames = (text: string): readonly Place[] => {
  const found: Place[] = [];
  const { length } = text;
  const nextOf = (letter: string, at: number): number => {
    const next = text.indexOf(letter, at);
    return next < 0 ? length : next;
  };
  let escape = nextOf('\\', 0);
  let start = nextOf('"', 0);
  while (start < length && escape < length) {
    if (escape < start) escape = nextOf('\\', start);
    let end = nextOf('"', start + 1);
    const isEscaped = escape < end;
    while (escape < end) {
      const behind = escape + 2;
      if (behind > end) end = nextOf('"', behind);
      escape = nextOf('\\', behind);
    }
    let after = end + 1;
    if (isEscaped) while (after < length && BLANK_ESCAPED_NAMES.test(text[after]!)) after += 1;
    if (isEscaped && text[after] === COLON_ESCAPED_NAMES) found.push({ start, end });
    start = nextOf('"', end + 1);
  }
  return found;
};

const decoded = (text: string, { start, end }: Place): string => JSON.parse(text.slice(start, end + 1)) as string;

/** In: a JSON text. Out: the same with each name written plainly, where JSON allows that. Throws SyntaxError where an escape is none. */
export const withPlainNames = (text: string): string => {
  let plain = '';
  let from = 0;
  for (const place of escapedNames(text)) {
    plain += `${text.slice(from, place.start)}${JSON.stringify(decoded(text, place))}`;
    from = place.end + 1;
  }
  return from === 0 ? text : plain + text.slice(from);
};

const inTranslations = 'in `translations` write \' for ", / for a backslash and a blank for a line break, elsewhere leave it out';

/** In: a JSON text. Out: the fault of a name that only an escape can write, or undefined. */
const escapedNameFault = (text: string): FieldError | undefined => {
  const name = escapedNames(text)
    .map((place) => decoded(text, place))
    .find(needsEscape);
  if (name === undefined) return undefined;
  return {
    field: childPath('', name),
    message: `is not allowed as a name: it has a quotation mark, a backslash or a control character; ${text.includes('"translations"') ? inTranslations : 'leave it out'}`,
  };
};

/* Finds where a text that JSON.parse refused stops being JSON (RFC 8259), for the error message. */

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const LITERAL = /true|false|null/y;

/** In: a sticky pattern. Out: the offset behind its match at `at`, or -1. */
const match = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
};

const skipSpace = (text: string, at: number): number => match(SPACE, text, at);

type Reading = Readonly<{ end: number } | { fault: number }>;

/** A string whose opening quote is at `at`. Character by character: a pattern would need a stack as deep as the string is long. */
const string = (text: string, at: number): Reading => {
  for (let next = at + 1; next < text.length;) {
    const code = text.charCodeAt(next);
    if (code === 0x22) return { end: next + 1 };
    if (code < 0x20) return { fault: next };
    if (code === 0x5c) {
      const end = match(ESCAPE, text, next);
      if (end < 0) return { fault: next };
      next = end;
    } else {
      next += 1;
    }
  }
  return { fault: text.length };
};

/** A scalar at `at`: the offset behind it, or where it goes wrong. */
const scalar = (text: string, at: number): Reading => {
  if (text[at] === '"') return string(text, at);
  const end = Math.max(match(NUMBER, text, at), match(LITERAL, text, at));
  return end < 0 ? { fault: at } : { end };
};

type Expect = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'commaOrEnd';

/**
 * In: a text. Out: the offset of the first character that cannot stand where it stands (the length of the text where it
 * ends too early), or undefined where the text is JSON. Keeps a stack of its own, so depth costs memory and no recursion.
 */
export const jsonFaultAt = (text: string): number | undefined => {
  const closers: ('}' | ']')[] = [];
  let expect: Expect = 'value';
  let at = skipSpace(text, 0);
  for (;;) {
    const character = text[at];
    const closer = closers[closers.length - 1];
    if ((expect === 'commaOrEnd' || expect === 'keyOrEnd' || expect === 'valueOrEnd') && character === closer && closer !== undefined) {
      closers.pop();
      expect = 'commaOrEnd';
      at += 1;
    } else if (expect === 'commaOrEnd') {
      if (character !== ',') return at;
      expect = closer === '}' ? 'key' : 'value';
      at += 1;
    } else if (expect === 'key' || expect === 'keyOrEnd') {
      const key = character === '"' ? scalar(text, at) : { fault: at };
      if ('fault' in key) return key.fault;
      at = skipSpace(text, key.end);
      if (text[at] !== ':') return at;
      expect = 'value';
      at += 1;
    } else if (character === '{' || character === '[') {
      closers.push(character === '{' ? '}' : ']');
      expect = character === '{' ? 'keyOrEnd' : 'valueOrEnd';
      at += 1;
    } else {
      const value = scalar(text, at);
      if ('fault' in value) return value.fault;
      expect = 'commaOrEnd';
      at = value.end;
    }
    at = skipSpace(text, at);
    if (closers.length === 0 && expect === 'commaOrEnd') return at === text.length ? undefined : at;
  }
};

/** In: a text and an offset into it. Out: the place as people count it, lines and columns from 1. */
const placeOf = (text: string, at: number): Readonly<{ line: number; column: number }> => {
  let line = 1;
  let start = 0;
  for (let next = text.indexOf('\n'); next >= 0 && next < at; next = text.indexOf('\n', start)) {
    line += 1;
    start = next + 1;
  }
  return { line, column: at - start + 1 };
};

/** How much of JSON is read. */
export type JsonLimits = Pick<Limits, 'jsonMembersMax' | 'jsonNamesMax' | 'jsonDepthMax'>;

/** In: bytes that are not UTF-8. Out: the offset of the first byte that does not belong. */
const utf8FaultAt = (bytes: Buffer): number => {
  let low = 0;
  let high = bytes.length;
  // The longest valid prefix: a prefix is also fine where only its last character is cut, which is at most 3 bytes.
  const fine = (end: number): boolean => [0, 1, 2, 3].some((cut) => end >= cut && isUtf8(bytes.subarray(0, end - cut)));
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fine(middle)) low = middle;
    else high = middle - 1;
  }
  for (const cut of [0, 1, 2, 3]) if (low >= cut && isUtf8(bytes.subarray(0, low - cut))) return low - cut;
  return low;
};

const malformed = (message: string): DomainError => new DomainError('MALFORMED_JSON', message);

const encodingFault = (bytes: Buffer): DomainError | undefined => {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return malformed('The body starts with a byte order mark; send the JSON in UTF-8 without one.');
  }
  if (isUtf8(bytes)) return undefined;
  return malformed(
    `The body is not UTF-8: the byte at offset ${utf8FaultAt(bytes)} does not belong there. JSON is sent in UTF-8 (RFC 8259, section 8.1).`,
  );
};

const tooComplex = (excess: 'members' | 'depth', limits: JsonLimits): DomainError =>
  excess === 'depth'
    ? new DomainError('JSON_TOO_COMPLEX', `The body is nested deeper than ${limits.jsonDepthMax} levels, the most that is read.`, {
        relatedInfo: { maxDepth: limits.jsonDepthMax },
      })
    : new DomainError('JSON_TOO_COMPLEX', `The body has more than ${limits.jsonMembersMax} members and elements, the most that is read.`, {
        relatedInfo: { maxMembers: limits.jsonMembersMax },
      });

/** Says where a text stops being JSON; walks to that place. */
export const parseFault = (text: string): DomainError => {
  const at = jsonFaultAt(text) ?? text.length;
  const { line, column } = placeOf(text, at);
  const what =
    at >= text.length ? 'the text ends too early' : `unexpected ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))}`;
  return new DomainError('MALFORMED_JSON', `The body is not JSON: ${what} at line ${line}, column ${column}.`, {
    relatedInfo: { line, column, offset: at },
  });
};

/** In: the bytes of a body. Out: their text. Throws MALFORMED_JSON where they are not UTF-8. */
export const textOfBody = (bytes: Buffer): string => {
  const wrong = encodingFault(bytes);
  if (wrong !== undefined) throw wrong;
  return bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
};

/** Throws JSON_TOO_COMPLEX. */
export const scanBody = (bytes: Buffer, limits: JsonLimits): JsonScan => {
  const scan = scanJson(bytes, boundsOf(limits));
  if (scan.excess !== undefined) throw tooComplex(scan.excess, limits);
  return scan;
};

/** In: a body that was scanned. Throws JSON_TOO_COMPLEX where its members have too many different names. */
export const checkNames = (bytes: Buffer, scan: JsonScan | undefined, { jsonNamesMax }: JsonLimits): void => {
  // A name takes a comma or a bracket, so that few members are not looked at.
  if (scan === undefined || scan.members <= jsonNamesMax || !hasMoreNames(bytes, jsonNamesMax)) return;
  throw new DomainError(
    'JSON_TOO_COMPLEX',
    `The members of the body have more than ${jsonNamesMax} different names, the most that is read; send values whose names differ as an array of objects with the same names.`,
    { relatedInfo: { maxNames: jsonNamesMax } },
  );
};

/** A look over megabytes that the scan has made already is not made again. */
const mayNameByEscape = (text: string, scan: JsonScan | undefined): boolean => scan?.hasEscapedName ?? text.includes('\\');

/** Out: the value, or undefined where the text is not JSON: `parseFault` says why. */
export const valueOfText = (text: string, scan?: JsonScan): Readonly<{ value: unknown }> | undefined => {
  try {
    return { value: JSON.parse(mayNameByEscape(text, scan) ? withPlainNames(text) : text) as unknown };
  } catch {
    return undefined;
  }
};

const boundsOf = ({ jsonMembersMax, jsonDepthMax }: JsonLimits): JsonBounds => ({ membersMax: jsonMembersMax, depthMax: jsonDepthMax });

/** Within these a body has few enough members, and so few enough names. */
const smallestOf = ({ jsonMembersMax, jsonNamesMax, jsonDepthMax }: JsonLimits): JsonBounds => ({
  membersMax: Math.min(jsonMembersMax, jsonNamesMax),
  depthMax: jsonDepthMax,
});

/** Throws VALIDATION_ERROR where a reader of the value could be harmed or misled. */
export const checkValue = (bytes: Buffer, text: string, value: unknown, scan?: JsonScan): void => {
  const escaped = (): FieldError | undefined => (mayNameByEscape(text, scan) ? escapedNameFault(text) : undefined);
  const found = (mayHide(text) ? inspectJson(value) : undefined) ?? escaped() ?? ambiguityOf(bytes, text, value, scan);
  if (found !== undefined) throw invalid('body', found.field, found.message);
};

/** In: the bytes of a body. Out: its value; undefined where it is empty. Throws DomainError. */
export const parseJsonBody = (bytes: Buffer, limits: JsonLimits): unknown => {
  if (bytes.length === 0) return undefined;
  const text = textOfBody(bytes);
  const scan = isSurelyWithin(text, smallestOf(limits)) ? undefined : scanBody(bytes, limits);
  checkNames(bytes, scan, limits);
  const parsed = valueOfText(text, scan);
  if (parsed === undefined) throw parseFault(text);
  checkValue(bytes, text, parsed.value, scan);
  return parsed.value;
};
