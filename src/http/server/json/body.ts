/**
 * Reads the JSON of a request body: UTF-8 only, within the limits, and without names or numbers that JSON.parse or a
 * later reader would get wrong.
 */
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

/** The limits of one JSON text. */
export type JsonLimits = Pick<Limits, 'jsonMembersMax' | 'jsonNamesMax' | 'jsonDepthMax'>;

/**
 * A container that is open: an object with the names it has so far, or an array; `key` is where in it the reading is.
 */
type Open = { key: string | number; names: Set<string> | undefined; expectsName: boolean };

/** A member name in the text: the offsets of its quotation marks. */
type NamePlace = Readonly<{ start: number; end: number }>;

type Reading = Readonly<{ end: number } | { fault: number }>;

type Expect = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'commaOrEnd';

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BLANK = 0x20;
/** An escape-free string of up to this length is skipped inline. */
const PLAIN_STRING_BYTES = 48;
const JSON_BLANK = /[\t\n\r ]/;

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const LITERAL = /true|false|null/y;

/** In: the bytes of a body. Out: its value, or undefined for an empty body. Throws DomainError. */
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
  // Each name comes with a comma or a bracket, so few members have few names.
  if (scan === undefined || scan.members <= jsonNamesMax || !hasMoreNames(bytes, jsonNamesMax)) return;
  throw new DomainError(
    'JSON_TOO_COMPLEX',
    `The members of the body have more than ${jsonNamesMax} different names, the most that is read; send values whose names differ as an array of objects with the same names.`,
    { relatedInfo: { maxNames: jsonNamesMax } },
  );
};

/** Out: the value, or undefined where the text is not JSON: `parseFault` says why. */
export const valueOfText = (text: string, scan?: JsonScan): Readonly<{ value: unknown }> | undefined => {
  try {
    return { value: JSON.parse(mayNameByEscape(text, scan) ? withPlainNames(text) : text) as unknown };
  } catch {
    return undefined;
  }
};

/** Says where a text stops being JSON; walks to that place. */
export const parseFault = (text: string): DomainError => {
  const at = jsonFaultAt(text) ?? text.length;
  const { line, column } = placeOf(text, at);
  const what =
    at >= text.length
      ? 'the text ends too early'
      : `unexpected ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))}`;
  return new DomainError('MALFORMED_JSON', `The body is not JSON: ${what} at line ${line}, column ${column}.`, {
    relatedInfo: { line, column, offset: at },
  });
};

/** Throws VALIDATION_ERROR where a reader of the value could be harmed or misled. */
export const checkValue = (bytes: Buffer, text: string, value: unknown, scan?: JsonScan): void => {
  const escaped = (): FieldError | undefined => (mayNameByEscape(text, scan) ? escapedNameFault(text) : undefined);
  const found = (mayHide(text) ? inspectJson(value) : undefined) ?? escaped() ?? ambiguityOf(bytes, text, value, scan);
  if (found !== undefined) throw invalid('body', found.field, found.message);
};

const boundsOf = ({ jsonMembersMax, jsonDepthMax }: JsonLimits): JsonBounds => ({
  membersMax: jsonMembersMax,
  depthMax: jsonDepthMax,
});

/** A body within these bounds has few enough members, and so few enough names. */
const smallestOf = ({ jsonMembersMax, jsonNamesMax, jsonDepthMax }: JsonLimits): JsonBounds => ({
  membersMax: Math.min(jsonMembersMax, jsonNamesMax),
  depthMax: jsonDepthMax,
});

/**
 * Whether the text may have a name with an escape. A scan has looked already; the text is searched only without one.
 */
const mayNameByEscape = (text: string, scan: JsonScan | undefined): boolean =>
  scan?.hasEscapedName ?? text.includes('\\');

const malformed = (message: string): DomainError => new DomainError('MALFORMED_JSON', message);

const tooComplex = (excess: 'members' | 'depth', limits: JsonLimits): DomainError =>
  excess === 'depth'
    ? new DomainError(
        'JSON_TOO_COMPLEX',
        `The body is nested deeper than ${limits.jsonDepthMax} levels, the most that is read.`,
        {
          relatedInfo: { maxDepth: limits.jsonDepthMax },
        },
      )
    : new DomainError(
        'JSON_TOO_COMPLEX',
        `The body has more than ${limits.jsonMembersMax} members and elements, the most that is read.`,
        {
          relatedInfo: { maxMembers: limits.jsonMembersMax },
        },
      );

const encodingFault = (bytes: Buffer): DomainError | undefined => {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return malformed('The body starts with a byte order mark; send the JSON in UTF-8 without one.');
  }
  if (isUtf8(bytes)) return undefined;
  return malformed(
    `The body is not UTF-8: the byte at offset ${utf8FaultAt(bytes)} does not belong there. JSON is sent in UTF-8 (RFC 8259, section 8.1).`,
  );
};

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

/**
 * In: UTF-8 bytes that may be JSON. Out: whether its members have more than `max` different names, compared as they are
 * written. Runs before JSON.parse, which keeps every name and makes a shape for each object that has another set of
 * names.
 */
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

/**
 * Finds what JSON.parse accepts silently and the sender cannot have meant: a member given twice, of which it keeps the
 * last, and a number whose digits it does not keep. In: the bytes of a JSON text, the text, its parsed value of bounded
 * depth, and the counts of a scan if there was one. Out: the first such fault, or undefined. Counting clears most
 * texts: an object that was given a member twice keeps fewer members than it was given.
 */
export const ambiguityOf = (bytes: Buffer, text: string, value: unknown, scan?: JsonScan): FieldError | undefined => {
  if (scan === undefined && isContainer(value) && !text.includes('\\') && isSurelyClear(text, value)) return undefined;
  const given = scan === undefined ? givenMembers(bytes) : scan.names;
  return given === (isContainer(value) ? keptMembers(value, 0) : 0) ? undefined : findFault(bytes);
};

/**
 * In: the bytes of a JSON text. Out: how many members its objects were given, or undefined where a number in it loses
 * digits.
 */
const givenMembers = (bytes: Buffer): number | undefined => {
  const length = bytes.length;
  let members = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at += 1;
      // Runs for every send: the end of a short string without an escape is found without a call.
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

/**
 * In: a JSON text without a backslash. Out: how many members its objects were given, and one more for each string that
 * begins with a colon; NaN where a blank stands before a colon, or where the number of a member is not surely exact.
 * Native searches find the colons.
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
 * Out: how many members the objects of a parsed value have, plus `bare` for each number that is an element of an array.
 * Makes no list of members.
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
 * In: a text without a backslash, and its parsed value. Out: true where no member is given twice and no number loses
 * digits. The text has at least as many colons as members were given, and the value keeps at most that many, so equal
 * counts mean that none was given twice. The numbers of members are checked with the colons; a number in an array makes
 * the count NaN, which equals nothing.
 */
const isSurelyClear = (text: string, value: object): boolean =>
  plainlyGivenMembers(text) === keptMembers(value, Number.NaN);

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

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
      if (isLossy(bytes, at, end))
        return { field: pathOf(open), message: lossyNumber(bytes.toString('latin1', at, end)) };
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

const pathOf = (open: readonly Open[]): string => open.reduce((path, { key }) => childPath(path, key), '');

const lossyNumber = (number: string): string => {
  const shown = number.length > 40 ? `${number.slice(0, 40)}…` : number;
  return `is ${shown}, a number that would lose digits (whole numbers are exact up to 2^53); send it as a string`;
};

/**
 * In: a JSON text. Out: the same text with every member name written without escapes where JSON allows that. Throws
 * SyntaxError at a malformed escape. V8 (13.6 and 14.6, not 12.4) compares an escaped name with the names of objects of
 * the same shape by its written text, cut to the decoded length: after any body had the name `\u`, it takes
 * `"\u540d\u524d"` for that name. Names that JSON can only write with an escape are refused (`escapedNameFault`),
 * because stored texts are read by JSON.parse too.
 */
export const withPlainNames = (text: string): string => {
  let plain = '';
  let from = 0;
  for (const place of escapedNames(text)) {
    plain += `${text.slice(from, place.start)}${JSON.stringify(decoded(text, place))}`;
    from = place.end + 1;
  }
  return from === 0 ? text : plain + text.slice(from);
};

/** In: a JSON text. Out: the fault of the first name that JSON can only write with an escape, or undefined. */
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

const inTranslations =
  'in `translations` write \' for ", / for a backslash and a blank for a line break, elsewhere leave it out';

/**
 * In: a text that may be JSON. Out: the member names that are written with an escape. Linear: each letter is searched
 * for only behind its last hit.
 */
const escapedNames = (text: string): readonly NamePlace[] => {
  const found: NamePlace[] = [];
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
    if (isEscaped) while (after < length && JSON_BLANK.test(text[after]!)) after += 1;
    if (isEscaped && text[after] === ':') found.push({ start, end });
    start = nextOf('"', end + 1);
  }
  return found;
};

const decoded = (text: string, { start, end }: NamePlace): string => JSON.parse(text.slice(start, end + 1)) as string;

/**
 * In: a text. Out: the offset of the first character that cannot stand where it stands (the length of the text where it
 * ends too early), or undefined where the text is JSON. Keeps a stack of its own, so depth costs memory and no
 * recursion.
 */
export const jsonFaultAt = (text: string): number | undefined => {
  const closers: ('}' | ']')[] = [];
  let expect: Expect = 'value';
  let at = skipSpace(text, 0);
  for (;;) {
    const character = text[at];
    const closer = closers[closers.length - 1];
    if (
      (expect === 'commaOrEnd' || expect === 'keyOrEnd' || expect === 'valueOrEnd') &&
      character === closer &&
      closer !== undefined
    ) {
      closers.pop();
      expect = 'commaOrEnd';
      at += 1;
    } else if (expect === 'commaOrEnd') {
      if (character !== ',') return at;
      expect = closer === '}' ? 'key' : 'value';
      at += 1;
    } else if (expect === 'key' || expect === 'keyOrEnd') {
      const key = character === '"' ? readScalar(text, at) : { fault: at };
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
      const value = readScalar(text, at);
      if ('fault' in value) return value.fault;
      expect = 'commaOrEnd';
      at = value.end;
    }
    at = skipSpace(text, at);
    if (closers.length === 0 && expect === 'commaOrEnd') return at === text.length ? undefined : at;
  }
};

/**
 * Reads the string whose opening quote is at `at`, character by character: a pattern would need a stack as deep as the
 * string is long.
 */
const readString = (text: string, at: number): Reading => {
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

/** Reads the scalar at `at`. Out: the offset behind it, or where it goes wrong. */
const readScalar = (text: string, at: number): Reading => {
  if (text[at] === '"') return readString(text, at);
  const end = Math.max(match(NUMBER, text, at), match(LITERAL, text, at));
  return end < 0 ? { fault: at } : { end };
};

/** In: a sticky pattern. Out: the offset behind its match at `at`, or -1. */
const match = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
};

const skipSpace = (text: string, at: number): number => match(SPACE, text, at);

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
