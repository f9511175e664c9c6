/**
 * Decides, before a body is read, whether a request is let in: transport, credential, rate, permission; the cheapest
 * checks first.
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { Authenticated, Caller, ForTeam } from '../../commands/core/caller.js';
import {
  isAllowed,
  operatorPermissions,
  permissionOfKey,
  type AccessPermission,
} from '../../domain/access/permissions.js';
import { callOrigin, type CallOrigin } from '../../domain/access/origins.js';
import { isFrom } from '../../domain/keys/networks.js';
import { AppendUnknown, DomainError, StoreAway } from '../../domain/core/errors.js';
import { addressRateLimits, generalRateLimit } from '../../domain/access/rate-limits.js';
import type { Admission, Window } from '../../domain/ports/limiter.js';
import type { Access, HttpDeps, RatePolicy } from './context.js';
import { pathOf } from './errors.js';
import { accessCookie, assertMeant, isReading, isSessionToken, mailboxCookie } from './cookies.js';
import { isRepeated } from './headers.js';
import { isInnerCall } from './inner.js';
import type { UnsentAnswers } from './connections.js';
import { limitInWords, slotsOf, subjectOf, windowsOf, windowsOfAddress } from './rates.js';

type Deps = Pick<HttpDeps, 'settings' | 'limits' | 'limiter' | 'commands' | 'queries' | 'mailbox'>;

const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

const NO_KEY = 'The request carries no API key; send it in the header `Authorization: Bearer <API_KEY>`.';
const NO_LINK =
  'The mailbox opens by the link that `sealpost serve` printed (`sealpost mailbox` prints it again), or by an API key in the header `Authorization: Bearer <API_KEY>`.';

/**
 * The hook that runs first on every request. A request that is refused before its caller is known counts against its
 * remote address; if that window is full, the answer is 429 and no longer tells what was wrong.
 */
export const admission = (deps: Deps & Readonly<{ answers: Pick<UnsentAnswers, 'fault'> }>) => {
  const tls = deps.settings.tls !== undefined;
  const cookie = deps.mailbox === undefined ? undefined : mailboxCookie(deps.mailbox.token, deps.settings.port);
  const failed = async (request: FastifyRequest, reply: FastifyReply, error: unknown): Promise<never> => {
    await countFailed(deps, request, reply);
    throw error;
  };

  const admit = async (request: FastifyRequest, reply: FastifyReply, fault: DomainError | undefined): Promise<void> => {
    const { access, rate, mailbox, large, credential } = request.routeOptions.config;
    if (fault !== undefined) return failed(request, reply, fault);
    if ((access === 'public' && credential !== true) || (mailbox === true && cookie?.admits(request) === true)) {
      return count(
        deps,
        reply,
        windowsOfAddress(request.ip ?? '', large === true ? 'large' : 'public'),
        () => 'Too many requests came from this address within a minute',
      );
    }
    let admitted: Authenticated;
    try {
      const ofBrowser = accessCookie(request);
      const token = ofBrowser ?? tokenOf(request);
      admitted = await deps.commands.authenticate(token, teamOf(request, token, deps));
      if (ofBrowser !== undefined && admitted.kind === 'user' && !isReading(request))
        await assertMeant(request, admitted.sessionId, deps);
      checkNetwork(request, admitted);
      checkResource(request, admitted);
    } catch (error) {
      if (error instanceof DomainError) return failed(request, reply, error);
      // A fault of ours does not prove the credential wrong, so it does not count against the address. No part of the
      // request has run: at most the use of the credential was recorded.
      throw error instanceof AppendUnknown
        ? new StoreAway('the use of a credential could not be recorded', { cause: error })
        : error;
    }
    request.caller = callerWith(admitted, request);
    if (access === undefined || rate === undefined) throw new Error('the route declares no permission');
    enforce(await deps.limiter.hit(windowsOf(rate, admitted)), reply, () => limitInWords(rate, admitted));
    if (access !== 'public') checkPermission(request, access, rate, admitted);
    if (needsSlot(rate, admitted)) await acquireSlot(deps, reply, admitted);
  };

  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    setCommonHeaders(request, reply, tls);
    const unread = deps.answers.fault(request.ip ?? '');
    if (unread !== undefined) return done(unread);
    const { access, forReaders } = request.routeOptions.config;
    const fault = transportFault(request, deps, access);
    if (fault === undefined && forReaders === true) return done();
    admit(request, reply, fault).then(() => done(), done);
  };
};

/** The longest name of the DNS (RFC 1035, section 2.3.4). */
const HOST_CHARS_MAX = 253;
/** A name below a sender domain, which has two labels at least; no address. */
const BELOW_DOMAIN = /^(?:[a-z0-9_-]+\.){2,}[a-z][a-z0-9-]*$/;

/**
 * Runs first. A request to the link domain of a team is answered by the routes of links alone, for emails of that team;
 * there is nothing else at that name. Requests to other names are answered as to the public one.
 */
export const atLinkDomain = ({ commands, settings }: Pick<HttpDeps, 'commands' | 'settings'>) => {
  const publicHost = URL.parse(settings.publicUrl)?.hostname;
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    // The dot of the root ends a name that is written whole (RFC 1034, section 3.1).
    const host = String(request.hostname).toLowerCase().replace(/\.$/, '');
    if (host === publicHost || host.length > HOST_CHARS_MAX || !BELOW_DOMAIN.test(host)) return done();
    commands.linkHostOwner(host).then(
      (owner) => {
        request.linkTeam = owner;
        if (owner === undefined || request.routeOptions.config.links === true) return done();
        setCommonHeaders(request, reply, settings.tls !== undefined);
        done(new DomainError('NOT_FOUND', 'There is nothing at this address.'));
      },
      // A process lives while its stores are away, under whatever name a load balancer asks.
      (fault: Error) => (isHealth(request) ? done() : done(fault)),
    );
  };
};

const isHealth = ({ url }: FastifyRequest): boolean => pathOf(url).startsWith('/health/');

/** Fault of the request's transport, independent of its route; undefined if it has none. */
const transportFault = (request: FastifyRequest, deps: Deps, access: Access | undefined): DomainError | undefined => {
  const { headers } = request;
  const url = request.raw.url ?? '';
  if (url.length > deps.limits.urlSizeBytesMax) {
    return new DomainError(
      'URL_TOO_LONG',
      `The URL is ${url.length} bytes long; at most ${deps.limits.urlSizeBytesMax} are read.`,
    );
  }
  if (headers.host === undefined && request.raw.httpVersion === '1.1') {
    return new DomainError(
      'MALFORMED_REQUEST',
      'The request has no Host header, which HTTP/1.1 requires (RFC 9112, section 3.2).',
    );
  }
  if (isRepeated(request, 'host')) {
    return new DomainError(
      'MALFORMED_REQUEST',
      'The request has more than one Host header; send one (RFC 9112, section 3.2).',
    );
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return new DomainError('MALFORMED_REQUEST', 'The only expectation that is met is `Expect: 100-continue`.');
  }
  if (isRepeated(request, 'authorization')) {
    return new DomainError(
      'MALFORMED_REQUEST',
      'The request has more than one Authorization header; send one, with one key.',
    );
  }
  if (deps.settings.requireHttps && request.protocol !== 'https' && !isHealth(request) && !isInnerCall()) {
    return new DomainError('HTTPS_REQUIRED', 'This service is reached by HTTPS only; use an https:// address.');
  }
  if (access === undefined) {
    const prefix = request.server.ownPath('');
    const isBelow = prefix !== '' && pathOf(url).startsWith(`${prefix}/`);
    return new DomainError(
      'NOT_FOUND',
      isBelow
        ? `There is no ${request.method} ${shortened(pathOf(url))}: the proxy must remove ${prefix}, the path of SEALPOST_PUBLIC_URL, from requests.`
        : `There is no ${request.method} ${shortened(pathOf(url))}; the API is described at ${deps.settings.publicUrl}/docs.`,
    );
  }
  return undefined;
};

const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** The bearer token (RFC 6750, section 2.1). */
const tokenOf = (request: FastifyRequest): string => {
  const header = request.headers.authorization;
  if (header === undefined) {
    throw new DomainError('UNAUTHORIZED', request.routeOptions.config.mailbox === true ? NO_LINK : NO_KEY);
  }
  const token = BEARER.exec(header)?.[1];
  if (token === undefined) {
    throw new DomainError(
      'UNAUTHORIZED',
      'The Authorization header must read `Bearer <API_KEY>`, with one key and no other scheme.',
    );
  }
  return token;
};

/** The team that a call is for: the one in its path, otherwise the one in its header, otherwise the one in its query. */
const teamOf = (request: FastifyRequest, token: string, { queries }: Pick<Deps, 'queries'>): ForTeam => {
  const { withoutTeam } = request.routeOptions.config;
  const { teamId } = request.params as Readonly<{ teamId?: string }>;
  const header = request.headers['x-team-id'];
  const inQuery = isSessionToken(token) && isReading(request) ? takeTeam(request) : undefined;
  const asked = teamId ?? (typeof header === 'string' ? header : inQuery);
  return withoutTeam === true
    ? { asked: undefined, isNeeded: false }
    : { asked, isNeeded: true, teamsOf: queries.teamsOfUser };
};

/**
 * Takes the parameter `team` out of the query, where endpoints would refuse it. A page has no other way to name the team
 * of a picture, a frame, a download or a stream of events. Given twice it names no team.
 */
const takeTeam = (request: FastifyRequest): string | undefined => {
  const query = request.query as Record<string, unknown>;
  const { team } = query;
  if (team === undefined) return undefined;
  delete query['team'];
  return typeof team === 'string' ? team : '';
};

/**
 * Throws if the key may not be used from the caller's network. The request counts as failed for the address, so a thief
 * uses up none of the key's limit.
 */
const checkNetwork = (request: FastifyRequest, admitted: Authenticated): void => {
  if (admitted.kind !== 'apiKey' || admitted.networks === null || isFrom(admitted.networks, request.ip ?? '')) return;
  request.refused = { teamId: admitted.teamId, actor: `apiKey:${admitted.keyId}` };
  throw new DomainError(
    'API_KEY_NETWORK_NOT_ALLOWED',
    'This API key may be used from its own networks alone, and this call comes from another. GET /api/api-keys/:id shows them to a key that manages keys.',
  );
};

/**
 * Throws if the token of an app was issued for the MCP server (RFC 8707) and comes to another route by itself: what the
 * person granted is what the tools of the MCP server do, and those call the routes from within.
 */
const checkResource = ({ routeOptions }: FastifyRequest, admitted: Authenticated): void => {
  if (admitted.kind !== 'app' || admitted.resource === 'service') return;
  if (routeOptions.config.credential === true || isInnerCall()) return;
  throw new DomainError(
    'INVALID_TOKEN',
    'This access token is for the MCP server of this service, at /mcp. Ask for one with the address of the service as `resource`.',
  );
};

/** In: a good credential. Throws if it lacks the permission, or if the body is compressed. */
const checkPermission = (
  request: FastifyRequest,
  access: AccessPermission,
  rate: RatePolicy,
  caller: Authenticated,
): void => {
  if (!isAllowed(caller.permissions, access)) throw lacking(access, rate, caller);
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new DomainError(
      'UNSUPPORTED_CONTENT_TYPE',
      'Compressed bodies are not read; send the JSON without Content-Encoding.',
    );
  }
};

const lacking = (access: AccessPermission, { endpoint }: RatePolicy, { kind }: Authenticated): DomainError => {
  const requiredPermission = kind === 'apiKey' ? permissionOfKey(access) : access;
  const relatedInfo = { requiredPermission };
  switch (kind) {
    case 'apiKey':
      return new DomainError(
        'FORBIDDEN',
        `This API key lacks the permission \`${requiredPermission}\`, which ${endpoint} needs.`,
        {
          relatedInfo,
        },
      );
    case 'user':
      return new DomainError(
        'FORBIDDEN',
        isAllowed(operatorPermissions, access)
          ? `${endpoint} needs the permission \`${access}\`, which only operators of this instance have.`
          : `Your role in this team lacks the permission \`${access}\`, which ${endpoint} needs.`,
        {
          relatedInfo,
        },
      );
    case 'app':
      return new DomainError(
        'FORBIDDEN',
        `This app was not granted the scope \`${access}\`, which ${endpoint} needs.`,
        { relatedInfo },
      );
  }
};

/** The caller for commands, of a good credential. */
export const callerWith = (admitted: Authenticated, request: Pick<FastifyRequest, 'id' | 'ip' | 'headers'>): Caller => {
  const { teamId, permissions } = admitted;
  const correlationId = request.id;
  const calledFrom = (): CallOrigin => callOrigin(request.ip ?? '', String(request.headers['user-agent'] ?? ''));
  switch (admitted.kind) {
    case 'apiKey': {
      const { keyId: id, expiresAt, rateLimit, madeBy, networks, test } = admitted;
      const key = { id, expiresAt, rateLimit, madeBy, networks, test };
      return { teamId, actor: `apiKey:${id}`, permissions, correlationId, key, calledFrom };
    }
    case 'user': {
      const { userId: id, sessionId } = admitted;
      return { teamId, actor: `user:${id}`, permissions, correlationId, user: { id, sessionId }, calledFrom };
    }
    case 'app': {
      const { clientId, grantId, userId } = admitted;
      const app = { clientId, grantId };
      return {
        teamId,
        actor: `grant:${grantId}`,
        permissions,
        correlationId,
        app,
        calledFrom,
        ...(userId === undefined ? {} : { user: { id: userId } }),
      };
    }
  }
};

/** Callers without a limit of their own need a concurrency slot on the general endpoints. */
const needsSlot = (policy: RatePolicy, caller: Authenticated): boolean => policy.general && caller.rateLimit === null;

/** Takes a concurrency slot of the caller until the answer is out. Throws RATE_LIMIT_EXCEEDED if all are taken. */
const acquireSlot = async (deps: Deps, reply: FastifyReply, caller: Authenticated): Promise<void> => {
  const { concurrentRequests, slotTtlMs } = generalRateLimit;
  const slot = await deps.limiter.acquire(slotsOf(caller), concurrentRequests, slotTtlMs);
  if (slot === undefined)
    throw tooMany(`${subjectOf(caller)} may have ${concurrentRequests} requests under way at once`, 1);
  // `close` also comes where the caller goes away.
  if (reply.raw.destroyed) slot.release();
  else reply.raw.once('close', slot.release);
};

/**
 * Counts a request that failed before its caller was known against its remote address. Throws RATE_LIMIT_EXCEEDED if
 * that window is full.
 */
export const countFailed = (deps: Pick<Deps, 'limiter'>, request: FastifyRequest, reply: FastifyReply): Promise<void> =>
  count(
    deps,
    reply,
    windowsOfAddress(request.ip ?? '', 'failed'),
    () => 'Too many requests from this address failed within a minute',
  );

const count = async (
  deps: Pick<Deps, 'limiter'>,
  reply: FastifyReply,
  windows: readonly Window[],
  inWords: () => string,
): Promise<void> => enforce(await deps.limiter.hit(windows), reply, inWords);

/** Writes the three headers of a request that was counted. Throws RATE_LIMIT_EXCEEDED if a window is full. */
const enforce = (admission: Admission, reply: FastifyReply, inWords: () => string): void => {
  setRateHeaders(reply, admission);
  if (!admission.admitted) throw tooMany(inWords(), admission.retryAfterS);
};

const tooMany = (why: string, retryAfterS: number): DomainError =>
  new DomainError('RATE_LIMIT_EXCEEDED', `${why}. Try again in ${seconds(retryAfterS)}.`, { retryAfterS });

const seconds = (count: number): string => `${count} second${count === 1 ? '' : 's'}`;

const setRateHeaders = (reply: FastifyReply, admission: Pick<Admission, 'limit' | 'remaining' | 'resetAtMs'>): void => {
  reply.header('x-ratelimit-limit', admission.limit);
  reply.header('x-ratelimit-remaining', admission.remaining);
  reply.header('x-ratelimit-reset', Math.ceil(admission.resetAtMs / 1_000));
};

/** Sets the headers that every answer has. */
export const setCommonHeaders = (request: FastifyRequest, reply: FastifyReply, tls: boolean): void => {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  reply.header('cache-control', 'no-store');
  reply.header('referrer-policy', 'no-referrer');
  if (tls) reply.header('strict-transport-security', 'max-age=31536000');
};

/** Sets the rate headers if the limiter gave no numbers, because it failed or was not reached. */
export const setRateHeadersUnknown = (reply: FastifyReply, nowMs: number): void => {
  if (reply.hasHeader('x-ratelimit-limit')) return;
  setRateHeaders(reply, { limit: addressRateLimits.failedPerMinute, remaining: 0, resetAtMs: nowMs + 60_000 });
};
