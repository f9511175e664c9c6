/** How often callers may call and how often somebody may try to sign in, as windows of the limiter. */
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';
import {
  addressRateLimits,
  costlyReads,
  generalRateLimit,
  loginLimits,
  rateLimits,
  sessionRateLimits,
} from '../../domain/access/rate-limits.js';
import type { Window } from '../../domain/ports/limiter.js';
import { addressBucket } from '../../shared/addresses.js';
import type { Caller, Authenticated } from '../../commands/core/caller.js';
import { callerOf, type HttpDeps, type RatePolicy } from './context.js';

type Deps = Pick<HttpDeps, 'limiter' | 'commands'>;
type Bounds = readonly Readonly<{ limit: number; windowMs: number }>[];

type RemoteRequest = Pick<FastifyRequest, 'ip'>;

const MINUTE_MS = 60_000;

const table: Readonly<Record<string, number>> = rateLimits;

const subjects: Readonly<Record<Authenticated['kind'], string>> = {
  apiKey: 'An API key',
  user: 'A user',
  app: 'An app',
};

/** In: method and route pattern. HEAD counts as GET. */
export const policyOf = (method: string, pattern: string): RatePolicy => {
  const endpoint = `${method === 'HEAD' ? 'GET' : method} ${pattern}`;
  const own = table[endpoint];
  const perMinute = own ?? generalRateLimit.perMinute;
  return {
    endpoint,
    perMinute,
    ofSessions: Math.max(perMinute, leastOfSessions(endpoint)),
    general: own === undefined,
  };
};

/** A session may call an endpoint at least this often. */
const leastOfSessions = (endpoint: string): number => {
  const { previewsPerMinute, readsPerMinute } = sessionRateLimits;
  if (endpoint.endsWith('/preview')) return previewsPerMinute;
  return endpoint.startsWith('GET ') && !costlyReads.includes(endpoint) ? readsPerMinute : 0;
};

const perMinuteOf = ({ perMinute, ofSessions }: RatePolicy, { kind }: Authenticated): number =>
  kind === 'user' ? ofSessions : perMinute;

/** The windows of a request with a good credential. The rate headers describe the first. */
export const windowsOf = (policy: RatePolicy, caller: Authenticated): readonly Window[] => {
  const who = countedAs(caller);
  if (caller.rateLimit !== null) return [{ bucket: `key:${who}`, limit: caller.rateLimit, windowMs: MINUTE_MS }];
  const endpoint: Window = {
    bucket: `key:${who}:${policy.endpoint}`,
    limit: perMinuteOf(policy, caller),
    windowMs: MINUTE_MS,
  };
  if (!policy.general) return [endpoint];
  return [
    endpoint,
    { bucket: `burst:${who}`, limit: generalRateLimit.burst, windowMs: generalRateLimit.burstWindowMs },
  ];
};

/** The limit in words, for the message of a refusal. */
export const limitInWords = (policy: RatePolicy, caller: Authenticated): string => {
  if (caller.rateLimit !== null) return `This API key may make ${caller.rateLimit} requests a minute`;
  const endpoint = `${subjectOf(caller)} may call ${policy.endpoint} ${perMinuteOf(policy, caller)} times a minute`;
  return policy.general
    ? `${endpoint}, and make ${generalRateLimit.burst} such calls in ${generalRateLimit.burstWindowMs / 1_000} seconds`
    : endpoint;
};

/** The caller, as the subject of a sentence. */
export const subjectOf = ({ kind }: Authenticated): string => subjects[kind];

/** The bucket of the requests that a caller has under way. */
export const slotsOf = (caller: Authenticated): string => `concurrent:${countedAs(caller)}`;

/**
 * Name under which requests are counted together: a key, a person in one team, a grant of a person to an app, or an app
 * that calls for itself. Such an app gets a new grant with each token, so its grants are counted together.
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

const addressLimits = {
  public: addressRateLimits.publicPerMinute,
  large: addressRateLimits.largePerMinute,
  failed: addressRateLimits.failedPerMinute,
} as const;

/**
 * The windows of a request without a good credential. The rate headers describe the first. A large answer is a public
 * one, too.
 */
export const windowsOfAddress = (address: string, kind: keyof typeof addressLimits): readonly Window[] => {
  const network = addressBucket(address);
  const windowOf = (name: keyof typeof addressLimits): Window => ({
    bucket: `${name}:${network}`,
    limit: addressLimits[name],
    windowMs: MINUTE_MS,
  });
  return kind === 'large' ? [windowOf('large'), windowOf('public')] : [windowOf(kind)];
};

/**
 * Counts an attempt to sign in, good or bad, before anything of it is checked. Rejects with LOGIN_PAUSED and
 * ERR_EMAIL_001.
 */
export const countLogin = async (deps: Deps, request: RemoteRequest, email: string): Promise<void> =>
  countAttempt(deps, request, await deps.commands.loginBucketOf(email));

/**
 * Counts an attempt of a signed-in person to prove again who they are, in the windows of the sign-in: a stolen session
 * allows no more guesses of passwords and codes. Rejects with LOGIN_PAUSED.
 */
export const countOwnAttempt = async (
  deps: Deps,
  request: RemoteRequest & Readonly<{ caller: Caller | null }>,
): Promise<void> => countAttempt(deps, request, await deps.commands.ownLoginBucket(callerOf(request)));

/**
 * Counts an attempt to follow the link of an address change, which takes the password of the account. Rejects with
 * LINK_INVALID and LOGIN_PAUSED.
 */
export const countLinkAttempt = async (deps: Deps, request: RemoteRequest, token: string): Promise<void> =>
  countAttempt(deps, request, await deps.commands.addressLinkBucket(token));

/** Counts an attempt to sign in by a one-time link. Rejects with LINK_INVALID and LOGIN_PAUSED. */
export const countSignInLink = async (deps: Deps, request: RemoteRequest, token: string): Promise<void> =>
  countAttempt(deps, request, await deps.commands.signInLinkBucket(token));

/**
 * Counts in windows of three kinds, each full window followed by a longer one: the account as one network tries it, so
 * that an attacker does not lock out the owner, who comes from another network; everything from the network; and with
 * far wider limits the account from anywhere.
 */
const countAttempt = async ({ limiter }: Deps, request: RemoteRequest, account: string): Promise<void> => {
  const network = addressBucket(request.ip ?? '');
  const { ofBoth, ofNetwork, ofAccount } = loginLimits;
  const { admitted, retryAfterS } = await limiter.hit([
    ...windowsOfBounds(`login:${account}@${network}`, ofBoth),
    ...windowsOfBounds(`login:${network}`, ofNetwork),
    ...windowsOfBounds(`login:${account}`, ofAccount),
  ]);
  if (admitted) return;
  throw new DomainError(
    'LOGIN_PAUSED',
    `Too many attempts to sign in. Try again in ${retryAfterS} second${retryAfterS === 1 ? '' : 's'}.`,
    { retryAfterS },
  );
};

/** Windows of one bucket, each full one followed by a longer. */
export const windowsOfBounds = (bucket: string, bounds: Bounds): readonly Window[] =>
  bounds.map(({ limit, windowMs }) => ({ bucket: `${bucket}:${windowMs}`, limit, windowMs }));
