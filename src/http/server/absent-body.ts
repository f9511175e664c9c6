/** For routes whose body may be absent: then it is an empty object. */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';

export const bodyMayBeAbsent = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
  request.body ??= {};
  done();
};
