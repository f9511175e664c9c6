/** One line in the log per answered request: what, how it ended, how long it took. */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { TSchema } from '@sinclair/typebox';
import type { Ids } from '../../domain/ports/ids.js';
import { type App, type CallTraces, type HttpDeps, OWN_WRITES_WAIT_MS } from './context.js';
import { DomainError } from '../../domain/core/errors.js';
import { isRepeated } from './headers.js';
import type { Logger } from '../../domain/ports/logger.js';

/* The id of a request: the caller's own where it is fit to be repeated in headers and logs, else a fresh one. */

const FIT = /^[A-Za-z0-9._:-]+$/;

export type RequestIds = (header: string | readonly string[] | undefined) => string;

/** One prefix serves so many requests. */
const COUNT_MAX = 0xffff_ffff;
/** Odd, so that no two counts give the same product in 32 bits, which is spread over all of them. */
const SPREAD = 0x9e37_79b1;

/**
 * In: how many characters a caller's id may have. Out: a function from the X-Request-Id header, if any, to the id.
 * A fresh id has 32 hex digits, so that it can be the id of a trace as it is: 96 random bits of this server and a count, for a call to
 * the system's generator per request would cost as much as the rest of the admission.
 */
export const requestIds = (ids: Ids, charsMax: number): RequestIds => {
  let prefix = ids.bytes(12).toString('hex');
  let count = 0;
  return (header) => {
    if (typeof header === 'string' && header.length <= charsMax && FIT.test(header)) return header;
    if (count === COUNT_MAX) {
      prefix = ids.bytes(12).toString('hex');
      count = 0;
    }
    count += 1;
    return prefix + (Math.imul(count, SPREAD) >>> 0).toString(16).padStart(8, '0');
  };
};

/* The hooks that make a span of each call that needs a permission; registered only where traces are wanted. */

export const traceCalls = (app: App, calls: CallTraces): void => {
  app.decorateRequest('trace', undefined);
  app.addHook('onRequest', (request, _reply, done) => {
    const { access } = request.routeOptions.config;
    if (access !== undefined && access !== 'public') {
      const { 'x-request-id': given, traceparent } = request.headers;
      request.trace = calls.begin(request.id, { isOwn: request.id === given, traceparent });
    }
    done();
  });
  // After the body was read: what reads it runs in the context of the connection.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.trace === undefined) done();
    else request.trace.run(done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request;
    request.trace?.end({ method, route: routeOptions.url ?? 'unknown', status: reply.statusCode, seconds: reply.elapsedTime / 1_000 });
    done();
  });
};

/*
 * Reading one's own writes through several processes: the answer of a write tells up to which position of the log it stands, and a
 * request that carries that position waits, for a moment, until this process shows all up to it.
 */

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

/* Which answers are written by code compiled from their schema, and which by JSON.stringify. */

const PLAIN_TYPES = new Set(['string', 'integer', 'boolean']);

/**
 * True where a serialiser compiled from the schema writes exactly the value: a closed object whose members are all
 * required texts, whole numbers and booleans. Unions, optional members and free-form values go through JSON.stringify,
 * for there a compiled serialiser would choose a branch, or leave something out, without a word.
 */
export const isPlain = (schema: TSchema): boolean => {
  const properties = schema['properties'] as Readonly<Record<string, TSchema>> | undefined;
  const required = schema['required'] as readonly string[] | undefined;
  if (schema['type'] !== 'object' || schema['additionalProperties'] !== false || properties === undefined) return false;
  const names = Object.keys(properties);
  return (
    required?.length === names.length &&
    names.every((name) => PLAIN_TYPES.has(String(properties[name]?.['type'])) && properties[name]?.['const'] === undefined)
  );
};

/** The serialiser of everything that is not plain, in the shape in which Fastify asks for it. */
export const stringify =
  () =>
  (value: unknown): string =>
    JSON.stringify(value);

/* Ends the work of a call whose caller has left. */

/** Nobody waits any more for what is made for a connection that is gone. */
export const untilClosed = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  // Nobody reads the answer; the log takes it for what it is, no fault of ours.
  reply.raw.once('close', () =>
    controller.abort(new DomainError('GENERATION_FAILED', 'The request was closed before what it asked for was made.')),
  );
  return controller.signal;
};

const TALKATIVE = new Set(['trace', 'debug', 'info']);

/** True where one line per request is wanted at that level of the log. */
export const logsRequests = (logLevel: string | undefined): boolean => logLevel === undefined || TALKATIVE.has(logLevel);

/** The hook that writes it. The route is its pattern, so that no id and no query gets into the log. */
export const accessLog =
  (logger: Logger) =>
  (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    logger.info(
      {
        requestId: request.id,
        keyId: request.caller?.key?.id,
        actor: request.caller === null || request.caller.key !== undefined ? undefined : request.caller.actor,
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime * 100) / 100,
      },
      'request',
    );
    done();
  };
