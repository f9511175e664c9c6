/** Ends the work of a call whose caller has left. */
import type { FastifyReply } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';

/** Nobody waits any more for what is made for a connection that is gone. */
export const untilClosed = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  // Nobody reads the answer; the log takes it for what it is, no fault of ours.
  reply.raw.once('close', () =>
    controller.abort(new DomainError('GENERATION_FAILED', 'The request was closed before what it asked for was made.')),
  );
  return controller.signal;
};
