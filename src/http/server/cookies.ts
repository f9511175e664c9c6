/**
 * The session of a browser, as cookies. The prefix `__Host-` makes browsers refuse one that is not `Secure`, names a domain, or was set for
 * a path: no other host sets them, a sub-domain of ours neither. What a cookie alone lets in is reading; what changes something shows that
 * the page itself asks for it, by a token that is bound to the session.
 */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SessionId } from '../../domain/core/ids.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import type { HttpDeps } from './context.js';
import { cookieOf, isSameOrigin } from './hooks-cookies.js';

export const ACCESS_COOKIE = '__Host-sealpost_access';
const REFRESH = '__Host-sealpost_refresh';
/** The one that the page's own script reads, to send it in the header. */
const CSRF = '__Host-sealpost_csrf';
const CSRF_HEADER = 'x-csrf-token';

type Asked = Pick<FastifyRequest, 'headers' | 'method'>;

/** The access token of a browser. Only such a one is a credential as a cookie; undefined where the call carries a header, which goes first. */
export const accessCookie = ({ headers }: Asked): string | undefined => {
  if (headers.authorization !== undefined) return undefined;
  const token = cookieOf(headers.cookie, ACCESS_COOKIE);
  return token?.startsWith('eyJ') === true ? token : undefined;
};

export const refreshCookie = ({ headers }: Asked): string | undefined => cookieOf(headers.cookie, REFRESH);

const rejected = (why: string): DomainError => new DomainError('CSRF_REJECTED', why);

/** Throws CSRF_REJECTED where a page of another origin asks. */
export const assertOwnPage = (request: Asked, { settings }: Pick<HttpDeps, 'settings'>): void => {
  if (!isSameOrigin(request, new URL(settings.publicUrl).origin))
    throw rejected('A page of another origin may not sign anybody in here, nor act in the session of a browser.');
};

type Deps = Pick<HttpDeps, 'commands' | 'settings'>;

/** Rejects with CSRF_REJECTED where it is not shown that a page of our own asks, in that session. */
export const assertMeant = async (request: Asked, sessionId: SessionId, deps: Deps): Promise<void> => {
  assertOwnPage(request, deps);
  const given = request.headers[CSRF_HEADER];
  const expected = Buffer.from(await deps.commands.csrfTokenOf(sessionId));
  const shown = Buffer.from(typeof given === 'string' ? given : '');
  if (shown.length !== expected.length || !timingSafeEqual(shown, expected))
    throw rejected(
      `A call that changes something and comes by cookie needs the header X-CSRF-Token, with the value of the cookie ${CSRF} or of \`csrfToken\`.`,
    );
};

/** Whether the method changes nothing. */
export const isReading = ({ method }: Asked): boolean => method === 'GET' || method === 'HEAD';

const cookie = (name: string, value: string, ageS: number, isHidden = true): string =>
  `${name}=${value}; Path=/; Max-Age=${ageS}; Secure; SameSite=Lax${isHidden ? '; HttpOnly' : ''}`;

export type BrowserTokens = Readonly<{ accessToken: string; refreshToken: string; expiresIn: number; csrfToken: string }>;

/** Those of before, of whichever session, are replaced. */
export const setSessionCookies = (
  reply: FastifyReply,
  tokens: BrowserTokens,
  { sessionUnusedMs }: Pick<Limits, 'sessionUnusedMs'>,
): void => {
  const ageS = sessionUnusedMs / 1_000;
  reply.header('set-cookie', [
    cookie(ACCESS_COOKIE, tokens.accessToken, tokens.expiresIn),
    cookie(REFRESH, tokens.refreshToken, ageS),
    cookie(CSRF, tokens.csrfToken, ageS, false),
  ]);
};

export const clearSessionCookies = (reply: FastifyReply): void =>
  void reply.header('set-cookie', [cookie(ACCESS_COOKIE, '', 0), cookie(REFRESH, '', 0), cookie(CSRF, '', 0, false)]);
