/** The only body parser: JSON in UTF-8, within bounds, without what could harm its readers. */
import { isAscii, isUtf8 } from 'node:buffer';
import type { TSchema } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { DomainError, invalid } from '../../domain/errors.js';
import type { Limits } from '../../domain/limits.js';
import { leaveOutNulls } from './absent.js';
import { ambiguityOf } from './ambiguity.js';
import { inspectJson, mayHide } from './inspect.js';
import { jsonFaultAt, placeOf } from './fault.js';
import { isSurelyWithin, scanJson } from './scan.js';

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

const tooComplex = (excess: 'members' | 'depth', limits: Limits): DomainError =>
  excess === 'depth'
    ? new DomainError('JSON_TOO_COMPLEX', `The body is nested deeper than ${limits.jsonDepthMax} levels, the most that is read.`, {
        relatedInfo: { maxDepth: limits.jsonDepthMax },
      })
    : new DomainError('JSON_TOO_COMPLEX', `The body has more than ${limits.jsonMembersMax} members and elements, the most that is read.`, {
        relatedInfo: { maxMembers: limits.jsonMembersMax },
      });

const parseFault = (text: string): DomainError => {
  const at = jsonFaultAt(text) ?? text.length;
  const { line, column } = placeOf(text, at);
  const what =
    at >= text.length ? 'the text ends too early' : `unexpected ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))}`;
  return new DomainError('MALFORMED_JSON', `The body is not JSON: ${what} at line ${line}, column ${column}.`, {
    relatedInfo: { line, column, offset: at },
  });
};

/** In: the bytes of a body. Out: its value; undefined where it is empty. Throws DomainError. */
export const parseJsonBody = (bytes: Buffer, limits: Limits): unknown => {
  if (bytes.length === 0) return undefined;
  const wrong = encodingFault(bytes);
  if (wrong !== undefined) throw wrong;
  const text = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
  const bounds = { membersMax: limits.jsonMembersMax, depthMax: limits.jsonDepthMax };
  const excess = isSurelyWithin(text, bounds) ? undefined : scanJson(bytes, bounds);
  if (excess !== undefined) throw tooComplex(excess, limits);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw parseFault(text);
  }
  const found = (mayHide(text) ? inspectJson(value) : undefined) ?? ambiguityOf(bytes, value);
  if (found !== undefined) throw invalid('body', found.field, found.message);
  return value;
};

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

const wrongCharset = (contentType: string): DomainError | undefined => {
  const charset = CHARSET.exec(contentType)?.[1]?.toLowerCase();
  if (charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii') return undefined;
  return new DomainError(
    'UNSUPPORTED_CONTENT_TYPE',
    'JSON is read in UTF-8 only; send Content-Type: application/json without another charset.',
  );
};

const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;

const unwanted = (): DomainError =>
  new DomainError('VALIDATION_ERROR', 'This endpoint takes no body; send none, or an empty object.', {
    errors: [{ field: '', message: 'must be absent, or an empty object' }],
  });

/** The parser as Fastify calls it with the whole body. An endpoint without a body schema takes an empty object at most. */
export const jsonBodyParser =
  (limits: Limits) =>
  (request: FastifyRequest, bytes: Buffer, done: (error: Error | null, body?: unknown) => void): void => {
    try {
      const contentType = request.headers['content-type'] ?? '';
      const charset = contentType === 'application/json' ? undefined : wrongCharset(contentType);
      if (charset !== undefined) throw charset;
      const body = parseJsonBody(bytes, limits);
      const schema = request.routeOptions.schema?.body as TSchema | undefined;
      if (schema === undefined && body !== undefined && !isEmptyObject(body)) throw unwanted();
      if (schema !== undefined) leaveOutNulls(schema, body);
      done(null, schema === undefined ? undefined : body);
    } catch (error) {
      done(error instanceof Error ? error : new Error('the body parser failed', { cause: error }));
    }
  };
