/** Which windows a request is counted in: by caller and endpoint, or by remote address where nobody is known. */
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';
import { loginLimits, addressRateLimits, generalRateLimit, rateLimits } from '../../domain/access/rate-limits.js';
import type { Window } from '../../domain/ports/limiter.js';
import { addressBucket } from '../../shared/addresses.js';
import type { Caller, Authenticated } from '../../commands/core/caller.js';
import { callerOf, type HttpDeps, type RatePolicy } from './context.js';

/*
 * Pauses between attempts to sign in. They grow: each window that is full is longer than the one before. First an address as one network
 * tries it, so that nobody locks out its owner, who comes from another; then all that comes from the network; last, and far wider, the
 * address from wherever it is tried.
 */

type Deps = Pick<HttpDeps, 'limiter' | 'commands'>;
type Bounds = readonly Readonly<{ limit: number; windowMs: number }>[];

const windowsOfLoginPauses = (bucket: string, bounds: Bounds): readonly Window[] =>
  bounds.map(({ limit, windowMs }) => ({ bucket: `${bucket}:${windowMs}`, limit, windowMs }));

type Asked = Pick<FastifyRequest, 'ip'>;

/** Counts an attempt, good or bad, before anything of it is checked. Rejects with LOGIN_PAUSED and ERR_EMAIL_001. */
export const countLogin = async (deps: Deps, request: Asked, email: string): Promise<void> =>
  countAttempt(deps, request, await deps.commands.loginBucketOf(email));

/**
 * The same where a person who is signed in shows again who they are: whoever has their session tries no more passwords and codes than
 * whoever has not. Rejects with LOGIN_PAUSED.
 */
export const countOwnAttempt = async (deps: Deps, request: Asked & Readonly<{ caller: Caller | null }>): Promise<void> =>
  countAttempt(deps, request, await deps.commands.ownLoginBucket(callerOf(request)));

/** The same where the link to another address is followed, which takes the password of the account. Rejects with LINK_INVALID and LOGIN_PAUSED. */
export const countLinkAttempt = async (deps: Deps, request: Asked, token: string): Promise<void> =>
  countAttempt(deps, request, await deps.commands.addressLinkBucket(token));

const countAttempt = async ({ limiter }: Deps, request: Asked, account: string): Promise<void> => {
  const network = addressBucket(request.ip ?? '');
  const { ofBoth, ofNetwork, ofAccount } = loginLimits;
  const { admitted, retryAfterS } = await limiter.hit([
    ...windowsOfLoginPauses(`login:${account}@${network}`, ofBoth),
    ...windowsOfLoginPauses(`login:${network}`, ofNetwork),
    ...windowsOfLoginPauses(`login:${account}`, ofAccount),
  ]);
  if (admitted) return;
  throw new DomainError(
    'LOGIN_PAUSED',
    `Too many attempts to sign in. Try again in ${retryAfterS} second${retryAfterS === 1 ? '' : 's'}.`,
    { retryAfterS },
  );
};

const MINUTE_MS = 60_000;

const table: Readonly<Record<string, number>> = rateLimits;

/** In: method and route pattern. HEAD counts as GET. */
export const policyOf = (method: string, pattern: string): RatePolicy => {
  const endpoint = `${method === 'HEAD' ? 'GET' : method} ${pattern}`;
  const own = table[endpoint];
  return { endpoint, perMinute: own ?? generalRateLimit.perMinute, general: own === undefined };
};

/**
 * In whose name a credential is counted: a key, a person in one team, what a person granted an app, or an app that calls for itself. Each
 * token of the last is a grant of its own, of which it takes as many as it likes, so they are counted together.
 */
const countedAs = (caller: Authenticated): string => {
  switch (caller.kind) {
    case 'apiKey':
      return caller.keyId;
    case 'user':
      return `${caller.userId}@${caller.teamId}`;
    case 'app':
      return caller.userId === undefined ? caller.clientId : caller.grantId;
  }
};

/** The bucket of the requests that a caller has under way. */
export const slotsOf = (caller: Authenticated): string => `concurrent:${countedAs(caller)}`;

/** The windows of a request with a good credential, the one that the headers speak of first. */
export const windowsOf = (policy: RatePolicy, caller: Authenticated): readonly Window[] => {
  const who = countedAs(caller);
  if (caller.rateLimit !== null) return [{ bucket: `key:${who}`, limit: caller.rateLimit, windowMs: MINUTE_MS }];
  const endpoint: Window = { bucket: `key:${who}:${policy.endpoint}`, limit: policy.perMinute, windowMs: MINUTE_MS };
  if (!policy.general) return [endpoint];
  return [endpoint, { bucket: `burst:${who}`, limit: generalRateLimit.burst, windowMs: generalRateLimit.burstWindowMs }];
};

const subjects: Readonly<Record<Authenticated['kind'], string>> = { apiKey: 'An API key', user: 'A user', app: 'An app' };

/** Who calls, as the subject of a sentence. */
export const subjectOf = ({ kind }: Authenticated): string => subjects[kind];

/** What is bounded, in words, for the message of a refusal. */
export const limitInWords = (policy: RatePolicy, caller: Authenticated): string => {
  if (caller.rateLimit !== null) return `This API key may make ${caller.rateLimit} requests a minute`;
  const endpoint = `${subjectOf(caller)} may call ${policy.endpoint} ${policy.perMinute} times a minute`;
  return policy.general
    ? `${endpoint}, and make ${generalRateLimit.burst} such calls in ${generalRateLimit.burstWindowMs / 1_000} seconds`
    : endpoint;
};

/** The window of a request that no credential speaks for. */
export const windowsOfAddress = (address: string, kind: 'public' | 'failed'): readonly Window[] => [
  kind === 'public'
    ? { bucket: `public:${addressBucket(address)}`, limit: addressRateLimits.publicPerMinute, windowMs: MINUTE_MS }
    : { bucket: `failed:${addressBucket(address)}`, limit: addressRateLimits.failedPerMinute, windowMs: MINUTE_MS },
];
