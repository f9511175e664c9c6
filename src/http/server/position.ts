/**
 * Reading one's own writes through several processes: the answer of a write tells up to which position of the log it stands, and a
 * request that carries that position waits, for a moment, until this process shows all up to it.
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';
import type { HttpDeps } from './context.js';
import { OWN_WRITES_WAIT_MS } from './own-writes.js';
import { isRepeated } from './raw-headers.js';

const HEADER = 'x-sealpost-position';
/** As many digits as a whole number has that is exact. */
const POSITION = /^\d{1,16}$/;

const read = (request: FastifyRequest): number | undefined => {
  const header = request.headers[HEADER];
  if (header === undefined) return undefined;
  const position = typeof header === 'string' && !isRepeated(request, HEADER) && POSITION.test(header) ? Number(header) : Number.NaN;
  if (Number.isSafeInteger(position)) return position;
  const message = 'must be a number that this service has given in the same header';
  throw new DomainError('VALIDATION_ERROR', `The header X-Sealpost-Position ${message}.`, {
    errors: [{ field: 'X-Sealpost-Position', message }],
  });
};

/** What a route of that method and permission does is a write. */
export const isWrite = (method: string, access: string | undefined): boolean =>
  method !== 'GET' && method !== 'HEAD' && access !== undefined && access !== 'public' && !access.endsWith(':read');

/** Runs before the handler. */
export const awaitPosition =
  ({ positions }: Pick<HttpDeps, 'positions'>) =>
  (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const { caller } = request;
    if (caller === null) return done();
    if (isWrite(request.method, request.routeOptions.config.access)) request.writtenBefore = positions.written(caller.teamId);
    let position: number | undefined;
    try {
      position = read(request);
    } catch (fault) {
      return done(fault as DomainError);
    }
    if (position === undefined) return done();
    positions.reached(position, OWN_WRITES_WAIT_MS).then(() => done(), done);
  };

/** Runs before the answer is sent. What wrote nothing repeats what was written before, by whichever process: it stands at the head of now. */
export const tellPosition =
  ({ positions }: Pick<HttpDeps, 'positions'>) =>
  (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: (fault?: Error | null, payload?: unknown) => void): void => {
    const { caller, writtenBefore } = request;
    if (caller === null || writtenBefore === undefined || reply.statusCode >= 400) return done(null, payload);
    const written = positions.written(caller.teamId);
    if (written > writtenBefore) {
      reply.header(HEADER, written);
      return done(null, payload);
    }
    positions.head().then(
      (head) => {
        reply.header(HEADER, head);
        done(null, payload);
      },
      // Without the header the next read is merely as fresh as any.
      () => done(null, payload),
    );
  };
