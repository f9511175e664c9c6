/**
 * The cookies of a browser: the session of a user, the link that opens the mailbox, and whether a page of our own sends
 * the request.
 */
import type { FastifyRequest, FastifyReply, HookHandlerDoneFunction } from 'fastify';
import { createHash, timingSafeEqual } from 'node:crypto';
import { DomainError } from '../../domain/core/errors.js';
import type { CookiePlace, HttpDeps } from './context.js';
import { isLoopbackName } from './headers.js';
import type { SessionId } from '../../domain/core/ids.js';
import type { Limits } from '../../domain/core/limits.js';

type MailboxCookie = Readonly<{
  /** True if the request has the token, as the cookie or by opening the link. */
  admits: (request: FastifyRequest) => boolean;
  /** True if the request opens the link. */
  opensLink: (request: FastifyRequest) => boolean;
  /** The value of `Set-Cookie` that keeps the token in the browser. */
  setCookie: (request: FastifyRequest) => string;
}>;

type CookieRequest = Pick<FastifyRequest, 'headers' | 'method' | 'protocol' | 'hostname' | 'server'>;

type Deps = Pick<HttpDeps, 'commands' | 'settings'>;

type BrowserTokens = Readonly<{ accessToken: string; refreshToken: string; expiresIn: number; csrfToken: string }>;

/** The page of the mailbox; its link is this address with the token in the query. */
export const MAILBOX_PATH = '/mailbox';

const MAILBOX_COOKIE_AGE_S = 30 * 24 * 60 * 60;

/**
 * In: the public URL. A browser sends the cookies of a host to all of its ports and paths, so their names have the port
 * and the path of this URL: instances on one host keep sessions of their own.
 */
export const cookiePlaceOf = (publicUrl: string): CookiePlace => {
  const { protocol, port, pathname } = new URL(publicUrl);
  const isHttps = protocol === 'https:';
  const path = pathname
    .replaceAll(/^\/+|\/+$/g, '')
    .replaceAll(/[^A-Za-z0-9-]/g, (character) => `.${hexOf(character)}`);
  return { suffix: `${port === '' ? (isHttps ? 443 : 80) : port}${path === '' ? '' : `_${path}`}`, isHttps };
};

const hexOf = (character: string): string => character.charCodeAt(0).toString(16);

type CookieUse = 'access' | 'refresh' | 'csrf' | 'sign_in';

/**
 * The prefix `__Host-` makes browsers refuse the cookie unless it is `Secure`, names no domain and is set for `/`: no
 * other host, and no sub-domain, can set it. Over plain HTTP on loopback the cookies have neither the prefix nor `Secure`,
 * because Safari keeps no such cookie there. That gives nothing away: the request never leaves the machine, so nobody
 * reads or changes it on its way; no other host has the name of this one, and loopback names have no sub-domains that
 * could set it; pages on other ports of the machine could set a cookie with the prefix as well, for cookies know no
 * ports. A name that leads to loopback by a lie of the DNS stands in the Host header, and counts as no loopback. A
 * request by HTTPS, and any request to a service whose public URL is https, never reads the names without prefix.
 */
const cookieName = (request: CookieRequest, use: CookieUse): string =>
  `${isPlainLoopback(request) ? '' : '__Host-'}sealpost_${use}_${request.server.cookiePlace.suffix}`;

const isPlainLoopback = ({ protocol, hostname, server }: CookieRequest): boolean =>
  protocol === 'http' && !server.cookiePlace.isHttps && isLoopbackName(hostname);

/** The cookie that the script of a page reads, to send it in the header. */
export const csrfCookieName = (request: CookieRequest): string => cookieName(request, 'csrf');

/** The cookie of the access token of a page at the public URL, for the API description. */
export const publicAccessCookie = ({ suffix, isHttps }: CookiePlace, host: string): string =>
  `${!isHttps && isLoopbackName(host) ? '' : '__Host-'}sealpost_access_${suffix}`;

const CSRF_HEADER = 'x-csrf-token';

/**
 * The access token of a browser: the only credential that is taken from a cookie. undefined if the call has an
 * Authorization header, which comes first.
 */
export const accessCookie = (request: CookieRequest): string | undefined => {
  const { authorization, cookie } = request.headers;
  if (authorization !== undefined || cookie === undefined) return undefined;
  const token = cookieOf(cookie, cookieName(request, 'access'));
  return token !== undefined && isSessionToken(token) ? token : undefined;
};

/** Whether it is the access token of a session, a JWT, and not a key or the token of an app. */
export const isSessionToken = (token: string): boolean => token.startsWith('eyJ');

export const refreshCookie = (request: CookieRequest): string | undefined =>
  cookieOf(request.headers.cookie, cookieName(request, 'refresh'));

/** Sets the cookies of a session in place of those of any session before. */
export const setSessionCookies = (
  reply: FastifyReply,
  tokens: BrowserTokens,
  { sessionUnusedMs }: Pick<Limits, 'sessionUnusedMs'>,
): void => {
  const ageS = sessionUnusedMs / 1_000;
  reply.header('set-cookie', [
    sessionCookie(reply, 'access', tokens.accessToken, tokens.expiresIn),
    sessionCookie(reply, 'refresh', tokens.refreshToken, ageS),
    sessionCookie(reply, 'csrf', tokens.csrfToken, ageS),
  ]);
};

/** The cookie of a sign-in by a provider. The provider's page sends the browser back, which `Lax` allows. */
export const signInCookie = (request: CookieRequest): string | undefined =>
  cookieOf(request.headers.cookie, cookieName(request, 'sign_in'));

/** In: the value, or undefined to clear it. */
export const setSignInCookie = (reply: FastifyReply, value: string | undefined, ageS: number): void =>
  void reply.header('set-cookie', sessionCookie(reply, 'sign_in', value ?? '', value === undefined ? 0 : ageS));

export const clearSessionCookies = (reply: FastifyReply): void =>
  void reply.header('set-cookie', [
    sessionCookie(reply, 'access', '', 0),
    sessionCookie(reply, 'refresh', '', 0),
    sessionCookie(reply, 'csrf', '', 0),
  ]);

const sessionCookie = ({ request }: FastifyReply, use: CookieUse, value: string, ageS: number): string => {
  const isPlain = isPlainLoopback(request);
  return [
    `${cookieName(request, use)}=${value}`,
    `Path=${isPlain ? request.server.ownPath('/') : '/'}`,
    `Max-Age=${ageS}`,
    ...(isPlain ? [] : ['Secure']),
    'SameSite=Lax',
    ...(use === 'csrf' ? [] : ['HttpOnly']),
  ].join('; ');
};

/**
 * Throws HTTPS_REQUIRED if the browser would not keep the cookies of a session, so that nobody signs in without being
 * signed in. A browser says in `Origin` how it opened the page, whatever a proxy in between tells.
 */
export const assertKeepsCookies = ({ headers, protocol, hostname, server }: CookieRequest): void => {
  const page = headers.origin === undefined ? undefined : URL.parse(headers.origin);
  const isPlain = page ? page.protocol === 'http:' : protocol !== 'https' && !server.cookiePlace.isHttps;
  if (isPlain && !isLoopbackName(page?.hostname ?? hostname))
    throw new DomainError(
      'HTTPS_REQUIRED',
      'A browser keeps a session over HTTPS only, except at http://127.0.0.1 and http://localhost. Open the service by https://: SEALPOST_TLS_CERT and SEALPOST_TLS_KEY serve it, or a proxy in front of it with SEALPOST_PUBLIC_URL=https://… and SEALPOST_TRUST_PROXY.',
    );
};

/** Throws CSRF_REJECTED if a page of another origin sends the request. */
export const assertOwnPage = (request: CookieRequest, { settings }: Pick<HttpDeps, 'settings'>): void => {
  if (!isSameOrigin(request, new URL(settings.publicUrl).origin))
    throw rejected('A page of another origin may not sign anybody in here, nor act in the session of a browser.');
};

/**
 * The cookie alone allows reading. Rejects a write with CSRF_REJECTED unless it comes from a page of our own, with the
 * token of that session.
 */
export const assertMeant = async (request: CookieRequest, sessionId: SessionId, deps: Deps): Promise<void> => {
  assertOwnPage(request, deps);
  const given = request.headers[CSRF_HEADER];
  const expected = Buffer.from(await deps.commands.csrfTokenOf(sessionId));
  const shown = Buffer.from(typeof given === 'string' ? given : '');
  if (shown.length !== expected.length || !timingSafeEqual(shown, expected))
    throw rejected(
      `A call that changes something and comes by cookie needs the header X-CSRF-Token, with the value of the cookie ${csrfCookieName(request)} or of \`csrfToken\`.`,
    );
};

const rejected = (why: string): DomainError => new DomainError('CSRF_REJECTED', why);

/** Whether the method only reads. */
export const isReading = ({ method }: CookieRequest): boolean => method === 'GET' || method === 'HEAD';

/** In: the token of the mailbox, and the port that the service is set to. */
export const mailboxCookie = (token: string, port: number): MailboxCookie => {
  const name = mailboxCookieName(port);
  const digest = digestOf(token);
  // All digests have one length, so the comparison takes the same time for every input.
  const isToken = (given: unknown): boolean => typeof given === 'string' && timingSafeEqual(digestOf(given), digest);
  const opensLink = (request: FastifyRequest): boolean =>
    request.routeOptions.url === MAILBOX_PATH && isToken((request.query as Readonly<Record<string, unknown>>)['token']);
  return {
    admits: (request) => isToken(cookieOf(request.headers.cookie, name)) || opensLink(request),
    opensLink,
    setCookie: ({ protocol, server }) =>
      `${name}=${token}; Path=${server.ownPath(MAILBOX_PATH)}; Max-Age=${MAILBOX_COOKIE_AGE_S}; HttpOnly; SameSite=Strict${protocol === 'https' ? '; Secure' : ''}`,
  };
};

/** A browser sends the cookies of a host to all of its ports, so each instance on a host has a name of its own. */
export const mailboxCookieName = (port: number): string => `sealpost_mailbox_${port}`;

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * The hook of every mailbox route: a write must come from the page itself or from no page. `SameSite` alone does not
 * ensure that, because pages of other ports of the same host count as the same site.
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

/** False if the browser says that a page of another site, or of another host of the same site, sends the request. */
export const isSameOrigin = (request: Pick<FastifyRequest, 'headers'>, publicOrigin: string): boolean => {
  const site = request.headers['sec-fetch-site'];
  const { origin, host = '' } = request.headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  return origin === undefined || origin === `http://${host}` || origin === `https://${host}` || origin === publicOrigin;
};

/** The value of a cookie in the header `Cookie` (RFC 6265, section 4.2). */
const cookieOf = (header: string | undefined, name: string): string | undefined =>
  header
    ?.split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
