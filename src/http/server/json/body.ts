/** Bodies: JSON in UTF-8, within bounds, without what could harm its readers. */
import { isAscii, isUtf8 } from 'node:buffer';
import { DomainError, invalid, type FieldError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import { ambiguityOf } from './ambiguity.js';
import { escapedNameFault, withPlainNames } from './escaped-names.js';
import { inspectJson, mayHide } from './inspect.js';
import { jsonFaultAt, placeOf } from './fault.js';
import { hasMoreNames } from './names.js';
import { isSurelyWithin, scanJson, type JsonBounds, type JsonScan } from './scan.js';

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
