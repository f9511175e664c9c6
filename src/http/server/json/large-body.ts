/**
 * Reads the bodies of requests, the server's only body parser: small ones at once, large ones in several turns of the
 * event loop, and the checks of a body with many members or long names in another process.
 */
import type { TSchema } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { nextTurn } from '../../../shared/concurrency.js';
import {
  withPlainNames,
  checkNames,
  checkValue,
  parseFault,
  scanBody,
  textOfBody,
  valueOfText,
  parseJsonBody,
} from './body.js';
import { endOfString, type JsonScan } from './scan.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { BodyChecks } from '../../../domain/ports/body-checks.js';
import { canonicalJson } from '../../../shared/text.js';
import { omitNulls } from './omit-nulls.js';
import { DomainError } from '../../../domain/core/errors.js';

/** How much of a JSON text is parsed in one turn: members, or bytes if its texts are long. */
type PartSize = Readonly<{ membersMax: number; bytesMax: number }>;

type Members = Record<string, unknown>;
type Target = Readonly<{
  open: string;
  close: string;
  add: (part: unknown) => void;
  set: (head: string, value: unknown) => void;
  value: unknown;
}>;

type LargeBodyOptions = Readonly<{
  limits: Limits;
  bodyChecks: BodyChecks;
  /** The body schema of the route. */
  schema: TSchema;
  team: string;
  /** The request has an Idempotency-Key, whose fingerprint needs the canonical form. */
  isIdempotent: boolean;
}>;

/**
 * `canonical`: the canonical form (RFC 8785) of the value without the nulls that mean absence; undefined unless
 * `isIdempotent`.
 */
type LargeBody = Readonly<{ value: unknown; canonical: string | Uint8Array | undefined }>;

type Deps = Readonly<{ limits: Limits; bodyChecks: BodyChecks }>;
type Done = (error: Error | null, body?: unknown) => void;

/** Bodies up to this size are read at once: they are too small to hold up other requests. */
export const LARGE_BODY_BYTES = 100 * 1024;

const PART: PartSize = { membersMax: 8_000, bytesMax: 512 * 1024 };

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * The parser that Fastify calls with the whole body. An endpoint without a body schema accepts no body or an empty
 * object.
 */
export const jsonBodyParser =
  ({ limits, bodyChecks }: Deps) =>
  (request: FastifyRequest, bytes: Buffer, done: Done): void => {
    const schema = request.routeOptions.schema?.body as TSchema | undefined;
    const settle = (body: unknown): void => {
      if (schema === undefined && body !== undefined && !isEmptyObject(body)) throw unwanted();
      if (schema !== undefined) omitNulls(schema, body);
      done(null, schema === undefined ? undefined : body);
    };
    const fail = (error: unknown): void =>
      done(error instanceof Error ? error : new Error('the body parser failed', { cause: error }));
    try {
      const contentType = request.headers['content-type'] ?? '';
      const charset = contentType === 'application/json' ? undefined : wrongCharset(contentType);
      if (charset !== undefined) throw charset;
      if (bytes.length <= LARGE_BODY_BYTES) return settle(parseJsonBody(bytes, limits));
      if (schema === undefined) throw unwanted();
    } catch (error) {
      return fail(error);
    }
    const isIdempotent =
      request.routeOptions.config.idempotent === true && request.headers['idempotency-key'] !== undefined;
    readLargeBody(bytes, { limits, bodyChecks, schema, team: request.caller?.teamId ?? '', isIdempotent }).then(
      ({ value, canonical }) => {
        request.isLargeBody = true;
        request.canonicalBody = canonical;
        done(null, value);
      },
      fail,
    );
  };

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

/** Rejects with what `parseJsonBody` throws, and with TOO_MANY_LARGE_BODIES if no process is free to check the body. */
export const readLargeBody = async (bytes: Buffer, options: LargeBodyOptions): Promise<LargeBody> => {
  const { limits, bodyChecks, schema, team, isIdempotent } = options;
  await nextTurn();
  const scan = scanBody(bytes, limits);
  await nextTurn();
  const isApart = scan.members > limits.jsonMembersInlineMax || scan.nameBytes > limits.jsonNameBytesInlineMax;
  const checked = isApart ? await bodyChecks.check({ bytes, schema, isIdempotent }, team) : undefined;
  const value = await (isApart ? parseInTurns(bytes) : parsed(bytes, scan, limits));
  omitNulls(schema, value);
  await nextTurn();
  if (!isIdempotent) return { value, canonical: undefined };
  const canonical = isApart ? checked?.canonical : canonicalJson(value);
  await nextTurn();
  return { value, canonical };
};

const parsed = async (bytes: Buffer, scan: JsonScan, limits: Limits): Promise<unknown> => {
  const text = textOfBody(bytes);
  checkNames(bytes, scan, limits);
  await nextTurn();
  const found = valueOfText(text, scan);
  await nextTurn();
  if (found === undefined) throw parseFault(text);
  checkValue(bytes, text, found.value, scan);
  await nextTurn();
  return found.value;
};

/**
 * In: UTF-8 bytes of a valid JSON text. Out: what JSON.parse makes of it. The event loop serves other requests between
 * the parts.
 */
export const parseInTurns = async (bytes: Buffer, size: PartSize = PART): Promise<unknown> => {
  const large = largeContainers(bytes, size);
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
        at = endOfString(bytes, at + 1);
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
        if (members >= size.membersMax || at - from >= size.bytesMax) {
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
  return root === undefined ? parse(bytes.toString('utf8')) : read(...root);
};

const isOpen = (byte: number): boolean => byte === OPEN_OBJECT || byte === OPEN_ARRAY;
const isClose = (byte: number): boolean => byte === CLOSE_OBJECT || byte === CLOSE_ARRAY;

/** Out: the end offsets of the containers that are too large for one turn, by the offset of the opening bracket. */
const largeContainers = (bytes: Buffer, { membersMax, bytesMax }: PartSize): ReadonlyMap<number, number> => {
  const found = new Map<number, number>();
  const open: { at: number; before: number }[] = [];
  let members = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1);
    } else if (byte === COMMA) {
      members += 1;
    } else if (isOpen(byte)) {
      members += 1;
      open.push({ at, before: members });
    } else if (isClose(byte)) {
      const inner = open.pop();
      if (inner !== undefined && (members - inner.before > membersMax || at - inner.at > bytesMax))
        found.set(inner.at, at);
    }
  }
  return found;
};

const parse = (text: string): unknown => JSON.parse(text.includes('\\') ? withPlainNames(text) : text) as unknown;

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

const objectTarget = (): Target => {
  const value: Members = {};
  return {
    open: '{',
    close: '}',
    add: (part) => {
      for (const name of Object.keys(part as Members)) setMember(value, name, (part as Members)[name]);
    },
    set: (head, member) => {
      for (const name of Object.keys(parse(`{${head}null}`) as Members)) setMember(value, name, member);
    },
    value,
  };
};

/** Sets a member as JSON.parse does: `__proto__` becomes an own member and changes no prototype. */
const setMember = (target: Members, name: string, value: unknown): void => {
  if (name === '__proto__')
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  else target[name] = value;
};
