/** The only body parser of the server. A large body is read in several turns of the event loop, one of many members apart from it. */
import type { TSchema } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { BodyChecks } from '../../../domain/ports/body-checks.js';
import { leaveOutNulls } from './absent.js';
import { parseJsonBody } from './body.js';
import { LARGE_BODY_BYTES, readLargeBody } from './large-body.js';

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

type Deps = Readonly<{ limits: Limits; bodyChecks: BodyChecks }>;
type Done = (error: Error | null, body?: unknown) => void;

/** The parser as Fastify calls it with the whole body. An endpoint without a body schema takes an empty object at most. */
export const jsonBodyParser =
  ({ limits, bodyChecks }: Deps) =>
  (request: FastifyRequest, bytes: Buffer, done: Done): void => {
    const schema = request.routeOptions.schema?.body as TSchema | undefined;
    const settle = (body: unknown): void => {
      if (schema === undefined && body !== undefined && !isEmptyObject(body)) throw unwanted();
      if (schema !== undefined) leaveOutNulls(schema, body);
      done(null, schema === undefined ? undefined : body);
    };
    const fail = (error: unknown): void => done(error instanceof Error ? error : new Error('the body parser failed', { cause: error }));
    try {
      const contentType = request.headers['content-type'] ?? '';
      const charset = contentType === 'application/json' ? undefined : wrongCharset(contentType);
      if (charset !== undefined) throw charset;
      if (bytes.length <= LARGE_BODY_BYTES) return settle(parseJsonBody(bytes, limits));
      if (schema === undefined) throw unwanted();
    } catch (error) {
      return fail(error);
    }
    const isIdempotent = request.routeOptions.config.idempotent === true && request.headers['idempotency-key'] !== undefined;
    readLargeBody(bytes, { limits, bodyChecks, schema, team: request.caller?.teamId ?? '', isIdempotent }).then(({ value, canonical }) => {
      request.isLargeBody = true;
      request.canonicalBody = canonical;
      done(null, value);
    }, fail);
  };
