/** The Idempotency-Key header: checked before the body is read, handed to the command with the body. */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { Answer, Idempotency } from '../../commands/core/idempotency.js';
import { DomainError } from '../../domain/core/errors.js';
import { isRepeated } from './raw-headers.js';

const HEADER = 'idempotency-key';

/** A hook for routes that take the header: 1 to `charsMax` printable ASCII characters, or none at all. */
export const checkIdempotencyKey = (charsMax: number) => {
  const fit = new RegExp(`^[\\x20-\\x7e]{1,${charsMax}}$`);
  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const header = request.headers[HEADER];
    const repeated = header !== undefined && isRepeated(request, HEADER);
    if (!repeated && (header === undefined || (typeof header === 'string' && fit.test(header)))) return done();
    const message = repeated ? 'must be sent once' : `must have 1 to ${charsMax} printable ASCII characters`;
    done(
      new DomainError('VALIDATION_ERROR', `The header Idempotency-Key ${message}.`, { errors: [{ field: 'Idempotency-Key', message }] }),
    );
  };
};

/** The key and what it stands for, where the caller sent one. */
export const idempotencyOf = (request: FastifyRequest): Idempotency | undefined => {
  const key = request.headers[HEADER];
  if (typeof key !== 'string') return undefined;
  const { canonicalBody: canonical } = request;
  return { key, body: request.body ?? null, ...(canonical === undefined ? {} : { canonical }) };
};

/** Unwraps an answer and marks a replayed one. */
export const answered = <T>(reply: FastifyReply, answer: Answer<T>): T => {
  if (answer.replayed) reply.header('idempotency-replayed', 'true');
  return answer.body;
};
