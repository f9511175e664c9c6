/** Keeps the mailbox on the machine: it has no key, so only the machine's own user may see that it is there. */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { DomainError } from '../../domain/errors.js';

const LOOPBACK_ADDRESS = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|::ffff:127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/i;
const LOOPBACK_NAME = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * True where the connection comes from the machine itself, asks for a name of the machine (a page elsewhere can let its
 * own name point to 127.0.0.1, but cannot choose the Host header), and passed no proxy that would serve others.
 */
export const isLocal = (request: FastifyRequest): boolean => {
  const { headers } = request.raw;
  if (!LOOPBACK_ADDRESS.test(request.raw.socket.remoteAddress ?? '')) return false;
  if (!LOOPBACK_NAME.test(headers.host ?? '')) return false;
  return !Object.keys(headers).some((name) => name === 'forwarded' || name === 'via' || name.startsWith('x-forwarded-'));
};

const isSameOrigin = (request: FastifyRequest): boolean => {
  const site = request.headers['sec-fetch-site'];
  const { origin, host = '' } = request.headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  return origin === undefined || origin === `http://${host}` || origin === `https://${host}`;
};

/** The hook of every mailbox route: elsewhere there is no such page; a write must come from the page itself or from no page. */
export const loopbackOnly = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
  if (!isLocal(request)) return done(new DomainError('NOT_FOUND', 'There is nothing here.'));
  if (request.method !== 'GET' && request.method !== 'HEAD' && !isSameOrigin(request)) {
    return done(new DomainError('FORBIDDEN', 'Another site’s page may not change the mailbox.'));
  }
  reply.header('cross-origin-resource-policy', 'same-origin');
  done();
};
