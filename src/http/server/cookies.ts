/**
 * The session of a browser, as cookies. The prefix `__Host-` makes browsers refuse one that is not `Secure`, names a domain, or was set for
 * a path: no other host sets them, a sub-domain of ours neither. What a cookie alone lets in is reading; what changes something shows that
 * the page itself asks for it, by a token that is bound to the session.
 */
import type { FastifyRequest, FastifyReply, HookHandlerDoneFunction } from 'fastify';
import { createHash, timingSafeEqual } from 'node:crypto';
import { DomainError } from '../../domain/core/errors.js';
import type { HttpDeps } from './context.js';
import type { SessionId } from '../../domain/core/ids.js';
import type { Limits } from '../../domain/core/limits.js';

/* Cookies as browsers send them, and whether a browser sends a request for a page of our own. */

/** The value of a cookie in the header `Cookie` (RFC 6265, section 4.2). */
const cookieOf = (header: string | undefined, name: string): string | undefined =>
  header
    ?.split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);

/** False where the browser says that a page of another site, or of another host of the same site, sends it. */
const isSameOrigin = (request: Pick<FastifyRequest, 'headers'>, publicOrigin: string): boolean => {
  const site = request.headers['sec-fetch-site'];
  const { origin, host = '' } = request.headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  return origin === undefined || origin === `http://${host}` || origin === `https://${host}` || origin === publicOrigin;
};

/* Who may open the mailbox without an API key: whoever has its link, and the browser that keeps the link's token as a cookie. */

/** The page of the mailbox; its link is this address with the token in the query. */
export const MAILBOX_PATH = '/mailbox';

const COOKIE_AGE_S = 30 * 24 * 60 * 60;

type MailboxCookie = Readonly<{
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

type BrowserTokens = Readonly<{ accessToken: string; refreshToken: string; expiresIn: number; csrfToken: string }>;

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
