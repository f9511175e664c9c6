/** Who may open the mailbox without an API key: whoever has its link, and the browser that keeps the link's token as a cookie. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';
import type { HttpDeps } from './context.js';
import { cookieOf, isSameOrigin } from './hooks-cookies.js';

/** The page of the mailbox; its link is this address with the token in the query. */
export const MAILBOX_PATH = '/mailbox';

const COOKIE_AGE_S = 30 * 24 * 60 * 60;

export type MailboxCookie = Readonly<{
  /** True where the request brings the token, as the cookie or by opening the link. */
  admits: (request: FastifyRequest) => boolean;
  /** True where the request opens the link. */
  opensLink: (request: FastifyRequest) => boolean;
  /** The value of `Set-Cookie` that keeps the token in the browser. */
  setCookie: (request: FastifyRequest) => string;
}>;

/** A browser sends the cookies of a host to all of its ports, so each instance on a host has a name of its own. */
export const mailboxCookieName = (port: number): string => `sealpost_mailbox_${port}`;

/** In: the token of the mailbox, and the port that the service is set to. */
export const mailboxCookie = (token: string, port: number): MailboxCookie => {
  const name = mailboxCookieName(port);
  const digest = digestOf(token);
  // Digests have one length, and comparing them takes as long whatever was given.
  const isToken = (given: unknown): boolean => typeof given === 'string' && timingSafeEqual(digestOf(given), digest);
  const opensLink = (request: FastifyRequest): boolean =>
    request.routeOptions.url === MAILBOX_PATH && isToken((request.query as Readonly<Record<string, unknown>>)['token']);
  return {
    admits: (request) => isToken(cookieOf(request.headers.cookie, name)) || opensLink(request),
    opensLink,
    setCookie: ({ protocol }) =>
      `${name}=${token}; Path=${MAILBOX_PATH}; Max-Age=${COOKIE_AGE_S}; HttpOnly; SameSite=Strict${protocol === 'https' ? '; Secure' : ''}`,
  };
};

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * The hook of every mailbox route: a write must come from the page itself or from no page. `SameSite` alone does not see
 * to that, for pages of other ports of the same host count as the same site.
 */
export const ownPageOnly = ({ publicUrl }: Pick<HttpDeps['settings'], 'publicUrl'>) => {
  const publicOrigin = new URL(publicUrl).origin;
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    if (request.method !== 'GET' && request.method !== 'HEAD' && !isSameOrigin(request, publicOrigin)) {
      return done(new DomainError('FORBIDDEN', 'Another site’s page may not change the mailbox.'));
    }
    reply.header('cross-origin-resource-policy', 'same-origin');
    done();
  };
};
