/** One line in the log per answered request: what, how it ended, how long it took. */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { Log } from '../../domain/ports/log.js';

const TALKATIVE = new Set(['trace', 'debug', 'info']);

/** True where one line per request is wanted at that level of the log. */
export const logsRequests = (logLevel: string | undefined): boolean => logLevel === undefined || TALKATIVE.has(logLevel);

/** The hook that writes it. The route is its pattern, so that no id and no query gets into the log. */
export const accessLog =
  (log: Log) =>
  (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    log.info(
      {
        requestId: request.id,
        keyId: request.keyId ?? undefined,
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime * 100) / 100,
      },
      'request',
    );
    done();
  };
