/** Which windows a request is counted in: by caller and endpoint, or by remote address where nobody is known. */
import type { Authenticated } from '../../commands/core/caller.js';
import { addressRateLimits, generalRateLimit, rateLimits } from '../../domain/access/rate-limits.js';
import type { Window } from '../../domain/ports/limiter.js';
import { addressBucket } from '../../shared/addresses.js';
import type { RatePolicy } from './rate-policy.js';

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
