/**
 * Reads the bodies of requests, the server's only body parser: small ones at once; large ones are checked in another
 * process, which may take long, and are parsed here.
 */
import type { TSchema } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { BodyCheckAnswer, BodyChecks, BodyToCheck } from '../../../domain/ports/body-checks.js';
import { nextTurn } from '../../../shared/concurrency.js';
import { canonicalJson } from '../../../shared/text.js';
import { omitNulls } from './omit-nulls.js';
import { parseJsonBody, readJson, type JsonLimits } from './body.js';

type Deps = Readonly<{ limits: Limits; bodyChecks: BodyChecks }>;
type Done = (error: Error | null, body?: unknown) => void;

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
      if (bytes.length > limits.jsonInlineBytesMax) {
        if (schema === undefined) throw unwanted();
        readLargeBody(request, bytes, { schema, bodyChecks }).then((body) => done(null, body), fail);
        return;
      }
      const body = parseJsonBody(bytes, limits);
      if (schema === undefined && body !== undefined && !isEmptyObject(body)) throw unwanted();
      if (schema !== undefined) omitNulls(schema, body);
      done(null, schema === undefined ? undefined : body);
    } catch (error) {
      fail(error);
    }
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
  const body = JSON.parse(Buffer.from(checked.plain ?? bytes).toString()) as unknown;
  omitNulls(schema, body);
  request.isLargeBody = true;
  request.canonicalBody = checked.canonical;
  await nextTurn();
  return body;
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
