/**
 * Reads the bodies of requests, the server's only body parser: most at once. Large ones with many members are checked in
 * another process, which may take long, and are parsed here in several turns of the event loop.
 */
import type { TSchema } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { BodyCheckAnswer, BodyChecks, BodyToCheck } from '../../../domain/ports/body-checks.js';
import { nextTurn } from '../../../shared/concurrency.js';
import { canonicalJson } from '../../../shared/text.js';
import { omitNulls } from './omit-nulls.js';
import { endOfPlain, endOfString, parseJsonBody, readJson, type JsonLimits } from './body.js';

type Deps = Readonly<{ limits: Limits; bodyChecks: BodyChecks }>;
type Done = (error: Error | null, body?: unknown) => void;

/** How much of a JSON text is parsed in one turn: members, or bytes if its texts are long. */
const PART = { membersMax: 8_000, bytesMax: 512 * 1024 };

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/**
 * The parser that Fastify calls with the whole body. An endpoint without a body schema accepts no body or an empty
 * object.
 */
export const jsonBodyParser =
  ({ limits, bodyChecks }: Deps) =>
  (request: FastifyRequest, bytes: Buffer, done: Done): void => {
    const schema = request.routeOptions.schema?.body as TSchema | undefined;
    const fail = (error: unknown): void =>
      done(error instanceof Error ? error : new Error('the body parser failed', { cause: error }));
    try {
      checkCharset(request.headers['content-type'] ?? '');
      if (bytes.length > limits.jsonInlineBytesMax && hasManyMarks(bytes, limits.jsonMarksInlineMax)) {
        if (schema === undefined) throw unwanted();
        readLargeBody(request, bytes, { schema, bodyChecks }).then((body) => done(null, body), fail);
        return;
      }
      request.isLargeBody = bytes.length > limits.jsonInlineBytesMax;
      const body = parseJsonBody(bytes, limits);
      if (schema === undefined && body !== undefined && !isEmptyObject(body)) throw unwanted();
      if (schema !== undefined && bytes.includes('null')) omitNulls(schema, body);
      done(null, schema === undefined ? undefined : body);
    } catch (error) {
      fail(error);
    }
  };

/** The marks that reading takes time for. A body of few texts, such as one with attachments, has few, and is read at once. */
const hasManyMarks = (bytes: Buffer, max: number): boolean => {
  let left = max;
  for (const mark of [QUOTE, COMMA, BACKSLASH, OPEN_ARRAY, OPEN_OBJECT])
    for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) if (--left < 0) return true;
  return false;
};

const checkCharset = (contentType: string): void => {
  if (contentType === 'application/json') return;
  const charset = CHARSET.exec(contentType)?.[1]?.toLowerCase() ?? 'utf-8';
  if (['utf-8', 'utf8', 'us-ascii'].includes(charset)) return;
  throw new DomainError(
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

type LargeBodyOptions = Readonly<{ schema: TSchema; bodyChecks: BodyChecks }>;

/**
 * Rejects with what `parseJsonBody` throws, and with TOO_MANY_LARGE_BODIES if no process is free to check the body. An
 * Idempotency-Key needs the canonical form for its fingerprint, which the process makes.
 */
const readLargeBody = async (
  request: FastifyRequest,
  bytes: Buffer,
  { schema, bodyChecks }: LargeBodyOptions,
): Promise<unknown> => {
  const isIdempotent =
    request.routeOptions.config.idempotent === true && request.headers['idempotency-key'] !== undefined;
  const checked = await bodyChecks.check({ bytes, schema, isIdempotent }, request.caller?.teamId ?? '');
  const body = await parseInTurns(Buffer.from(checked.plain ?? bytes));
  omitNulls(schema, body);
  request.isLargeBody = true;
  request.canonicalBody = checked.canonical;
  await nextTurn();
  return body;
};

type Members = Record<string, unknown>;
/** A container that is read in parts: `add` takes members of it, `set` one whose value was read by itself. */
type Target = Readonly<{
  open: string;
  close: string;
  add: (part: unknown) => void;
  set: (head: string, value: unknown) => void;
  value: unknown;
}>;

/**
 * In: UTF-8 bytes of a valid JSON text. Out: what JSON.parse makes of it. The event loop serves other requests between
 * the parts.
 */
const parseInTurns = async (bytes: Buffer): Promise<unknown> => {
  const large = largeContainers(bytes);
  await nextTurn();

  const read = async (start: number, end: number): Promise<unknown> => {
    const target = bytes[start] === OPEN_ARRAY ? arrayTarget() : objectTarget();
    let from = start + 1;
    let memberAt = from;
    let members = 0;
    let depth = 0;
    const take = async (to: number): Promise<void> => {
      if (to > from) target.add(parse(target.open + bytes.toString('utf8', from, to) + target.close));
      members = 0;
      await nextTurn();
    };
    for (let at = from; at < end; at += 1) {
      const byte = bytes[at]!;
      const innerEnd = isOpen(byte) ? large.get(at) : undefined;
      if (byte === QUOTE) {
        at = closingQuote(bytes, at);
      } else if (innerEnd !== undefined) {
        // Only white space stands between here and the next comma.
        if (memberAt > from) await take(memberAt - 1);
        target.set(bytes.toString('utf8', memberAt, at), await read(at, innerEnd));
        at = innerEnd;
        while (at < end && bytes[at] !== COMMA) at += 1;
        from = at + 1;
        memberAt = from;
      } else if (isOpen(byte)) {
        depth += 1;
        members += 1;
      } else if (isClose(byte)) {
        depth -= 1;
      } else if (byte === COMMA) {
        members += 1;
        if (depth > 0) continue;
        if (members >= PART.membersMax || at - from >= PART.bytesMax) {
          await take(at);
          from = at + 1;
        }
        memberAt = at + 1;
      }
    }
    await take(end);
    return target.value;
  };

  const [root] = [...large].sort(([one], [other]) => one - other);
  return root === undefined ? parse(bytes.toString()) : read(...root);
};

const isOpen = (byte: number): boolean => byte === OPEN_OBJECT || byte === OPEN_ARRAY;
const isClose = (byte: number): boolean => byte === CLOSE_OBJECT || byte === CLOSE_ARRAY;
const closingQuote = (bytes: Buffer, at: number): number => endOfString(bytes, endOfPlain(bytes, at + 1)) - 1;
const parse = (text: string): unknown => JSON.parse(text) as unknown;

/** Out: the end offsets of the containers that are too large for one turn, by the offset of the opening bracket. */
const largeContainers = (bytes: Buffer): ReadonlyMap<number, number> => {
  const found = new Map<number, number>();
  const open: { at: number; before: number }[] = [];
  let members = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = closingQuote(bytes, at);
    } else if (byte === COMMA) {
      members += 1;
    } else if (isOpen(byte)) {
      members += 1;
      open.push({ at, before: members });
    } else if (isClose(byte)) {
      const inner = open.pop();
      if (inner !== undefined && (members - inner.before > PART.membersMax || at - inner.at > PART.bytesMax))
        found.set(inner.at, at);
    }
  }
  return found;
};

const arrayTarget = (): Target => {
  const value: unknown[] = [];
  return {
    open: '[',
    close: ']',
    add: (part) => {
      for (const element of part as readonly unknown[]) value.push(element);
    },
    set: (_, element) => void value.push(element),
    value,
  };
};

/** No member is named `__proto__`: such a body was refused. */
const objectTarget = (): Target => {
  const value: Members = {};
  return {
    open: '{',
    close: '}',
    add: (part) => {
      for (const name of Object.keys(part as Members)) value[name] = (part as Members)[name];
    },
    set: (head, member) => {
      for (const name of Object.keys(parse(`{${head}null}`) as Members)) value[name] = member;
    },
    value,
  };
};

/** In: the bounds in force, then a body. Runs in another process. Out: its answer; a refusal is one. */
export default (settings: unknown) =>
  async (job: unknown): Promise<BodyCheckAnswer> => {
    try {
      return checked(job as BodyToCheck, settings as JsonLimits);
    } catch (fault) {
      if (!(fault instanceof DomainError)) throw fault;
      const { code, message, details } = fault;
      return { kind: 'refused', code, message, details };
    }
  };

const checked = ({ bytes, schema, isIdempotent }: BodyToCheck, limits: JsonLimits): BodyCheckAnswer => {
  const sent = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { text, value } = readJson(sent, limits);
  const plain = Buffer.from(text);
  if (isIdempotent) omitNulls(schema as TSchema, value);
  return {
    kind: 'checked',
    ...(plain.equals(sent) ? {} : { plain }),
    ...(isIdempotent ? { canonical: Buffer.from(canonicalJson(value)) } : {}),
  };
};
