/** One line in the log per answered request: what, how it ended, how long it took. */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { Logger } from '../../domain/ports/logger.js';

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
