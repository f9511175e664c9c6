/**
 * Hooks around the handler of every request: its id, its trace, its entries in the audit log and the access log, and
 * reading one's own writes.
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { auditedPersonOf, type Caller } from '../../commands/core/caller.js';
import type { RequestLogRecorder } from '../../commands/audit/request-log.js';
import type { AuditedCall, AuditRecorder } from '../../commands/audit/record.js';
import { callOrigin } from '../../domain/access/origins.js';
import { NO_TEAM } from '../../domain/core/ids.js';
import type { Ids } from '../../domain/ports/ids.js';
import { type App, type CallTraces, type HttpDeps, OWN_WRITES_WAIT_MS } from './context.js';
import { DomainError } from '../../domain/core/errors.js';
import { isRepeated } from './headers.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { LoggedCall } from '../../domain/ports/request-log.js';

export type RequestIds = (header: string | readonly string[] | undefined) => string;

/** A caller's id that headers and logs can repeat. */
const FIT = /^[A-Za-z0-9._:-]+$/;

/** After this many requests the prefix of the ids is drawn anew. */
const COUNT_MAX = 0xffff_ffff;
/** Odd, so that no two counts give the same product in 32 bits, which is spread over all of them. */
const SPREAD = 0x9e37_79b1;

const POSITION_HEADER = 'x-sealpost-position';
/** At most as many digits as an exact whole number has. */
const POSITION = /^\d{1,16}$/;

const ID_CHARS_MAX = 100;

const TALKATIVE = new Set(['trace', 'debug', 'info']);

/**
 * In: how many characters a caller's id may have. Out: a function from the X-Request-Id header, if any, to the id. A
 * fresh id has 32 hex digits, so that it can be the id of a trace as it is: 96 random bits of this server and a count,
 * for a call to the system's generator per request would cost as much as the rest of the admission.
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

/** Registers the hooks that make a span of each call that needs a permission. Called only if traces are wanted. */
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
  // After the body was read, because the reader of the body runs in the async context of the connection.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.trace === undefined) done();
    else request.trace.run(done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request;
    request.trace?.end({
      method,
      route: routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1_000,
    });
    done();
  });
};

/**
 * Adds a hook to every route that declares `audited`: a successful answer becomes an entry of the audit log. Other routes
 * have no hook.
 */
export const auditReads = (app: App, audit: Pick<AuditRecorder, 'read'>): void => {
  app.addHook('onRoute', (route) => {
    const { audited } = route.config ?? {};
    if (audited === undefined) return;
    const record = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
      if (request.caller !== null && reply.statusCode < 400)
        audit.read(
          auditedCall(request, request.caller),
          audited.action,
          targetOf(request, audited.target),
          audited.isOnce,
        );
      done();
    };
    route.onResponse = [route.onResponse ?? [], record].flat();
  });
};

/** In: how a request failed. Records a refusal in the audit log, unless the caller is unknown. */
export const auditDenial = (
  audit: Pick<AuditRecorder, 'denied'>,
  request: FastifyRequest,
  { code, status }: Readonly<{ code: string; status: number }>,
  fault: unknown,
): void => {
  if (!isDenied(status)) return;
  const person = auditedPersonOf(fault);
  const who = request.caller ?? request.refused ?? (person && { teamId: NO_TEAM, actor: `user:${person}` });
  if (who === undefined) return;
  const endpoint = `${request.method} ${request.routeOptions.url ?? 'unknown'}`;
  audit.denied(auditedCall(request, who), endpoint, code, null);
};

/** Refusals that the audit log records. 404 is none of them: an id of another team is answered like an unknown one. */
const isDenied = (status: number): boolean => status === 401 || status === 403;

const auditedCall = (request: FastifyRequest, { teamId, actor }: Pick<Caller, 'teamId' | 'actor'>): AuditedCall => ({
  teamId,
  actor,
  requestId: request.id,
  calledFrom: () => callOrigin(request.ip ?? '', String(request.headers['user-agent'] ?? '')),
});

const targetOf = (request: FastifyRequest, kind: string | undefined): string | null => {
  if (request.auditedId !== undefined) return `${kind ?? ''}:${request.auditedId}`;
  const { id, batchId = id } = (request.params ?? {}) as Readonly<{ id?: string; batchId?: string }>;
  return kind === undefined || batchId === undefined ? null : `${kind}:${batchId.slice(0, ID_CHARS_MAX).toLowerCase()}`;
};

/**
 * Runs before the handler. A request that carries the position of an earlier write waits, for a moment, until this
 * process shows everything up to there: so callers read their own writes through several processes.
 */
export const awaitPosition =
  ({ positions }: Pick<HttpDeps, 'positions'>) =>
  (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const { caller } = request;
    if (caller === null) return done();
    if (isWrite(request.method, request.routeOptions.config.access))
      request.writtenBefore = positions.written(caller.teamId);
    let position: number | undefined;
    try {
      position = positionOf(request);
    } catch (fault) {
      return done(fault as DomainError);
    }
    if (position === undefined) return done();
    positions.reached(position, OWN_WRITES_WAIT_MS).then(() => done(), done);
  };

/**
 * Runs before the answer is sent, and tells the position of what was written. A call that wrote nothing repeats an
 * earlier write of any process, so it tells the head of the log.
 */
export const tellPosition =
  ({ positions }: Pick<HttpDeps, 'positions'>) =>
  (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (fault?: Error | null, payload?: unknown) => void,
  ): void => {
    const { caller, writtenBefore } = request;
    if (caller === null || writtenBefore === undefined || reply.statusCode >= 400) return done(null, payload);
    const written = positions.written(caller.teamId);
    if (written > writtenBefore) {
      reply.header(POSITION_HEADER, written);
      return done(null, payload);
    }
    positions.head().then(
      (head) => {
        reply.header(POSITION_HEADER, head);
        done(null, payload);
      },
      // Without the header the next read is merely as fresh as any.
      () => done(null, payload),
    );
  };

/** Whether a route of that method and permission writes. */
export const isWrite = (method: string, access: string | undefined): boolean =>
  method !== 'GET' && method !== 'HEAD' && access !== undefined && access !== 'public' && !access.endsWith(':read');

const positionOf = (request: FastifyRequest): number | undefined => {
  const header = request.headers[POSITION_HEADER];
  if (header === undefined) return undefined;
  const position =
    typeof header === 'string' && !isRepeated(request, POSITION_HEADER) && POSITION.test(header)
      ? Number(header)
      : Number.NaN;
  if (Number.isSafeInteger(position)) return position;
  const message = 'must be a number that this service has given in the same header';
  throw new DomainError('VALIDATION_ERROR', `The header X-Sealpost-Position ${message}.`, {
    errors: [{ field: 'X-Sealpost-Position', message }],
  });
};

/** True where one line per request is wanted at that level of the log. */
export const logsRequests = (logLevel: string | undefined): boolean =>
  logLevel === undefined || TALKATIVE.has(logLevel);

/**
 * The hook that writes one log line per answered request. The route is its pattern, so that no id and no query gets
 * into the log.
 */
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

/**
 * The hook that notes answered calls of API keys and apps for the log of calls. Calls of people, and those with a bad
 * credential, are not in it.
 */
export const logCalls =
  (note: RequestLogRecorder['note']) =>
  (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const called = calledBy(request);
    if (called !== undefined)
      note({
        ...called,
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        params: request.params as Readonly<Record<string, string>>,
        status: reply.statusCode,
        code: request.refusedWith ?? null,
        requestId: request.id,
        durationMs: Math.round(reply.elapsedTime * 10) / 10,
      });
    done();
  };

const KEY_ACTOR = 'apiKey:';

/** The key or app that calls, also a key that is refused for its network; undefined: another caller. */
const calledBy = ({ caller, refused }: FastifyRequest): Pick<LoggedCall, 'team' | 'actor'> | undefined => {
  if (caller?.key !== undefined) return { team: caller.teamId, actor: { type: 'api_key', id: caller.key.id } };
  if (caller?.app !== undefined)
    return caller.teamId === NO_TEAM
      ? undefined
      : { team: caller.teamId, actor: { type: 'app', id: caller.app.clientId } };
  return refused?.actor.startsWith(KEY_ACTOR) === true
    ? { team: refused.teamId, actor: { type: 'api_key', id: refused.actor.slice(KEY_ACTOR.length) } }
    : undefined;
};

/** A signal that aborts when the connection of the call closes: nobody waits for the answer any more. */
export const untilClosed = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  // The caller is gone and does not read this answer. Its code keeps it from being logged as a fault of the service.
  reply.raw.once('close', () =>
    controller.abort(new DomainError('GENERATION_FAILED', 'The request was closed before what it asked for was made.')),
  );
  return controller.signal;
};
