/** Which windows a request is counted in: by API key and endpoint, or by remote address where no key is known. */
import type { Authenticated } from '../../commands/caller.js';
import { addressRateLimits, generalRateLimit, rateLimits } from '../../domain/rate-limits.js';
import type { Window } from '../../domain/ports/limiter.js';
import { addressBucket } from '../../shared/address-bucket.js';

const MINUTE_MS = 60_000;

/** The rule of one endpoint. `general`: it has no line in the table, so burst and concurrency are bounded too. */
export type RatePolicy = Readonly<{ endpoint: string; perMinute: number; general: boolean }>;

const table: Readonly<Record<string, number>> = rateLimits;

/** In: method and route pattern. HEAD counts as GET. */
export const policyOf = (method: string, pattern: string): RatePolicy => {
  const endpoint = `${method === 'HEAD' ? 'GET' : method} ${pattern}`;
  const own = table[endpoint];
  return { endpoint, perMinute: own ?? generalRateLimit.perMinute, general: own === undefined };
};

/** The windows of a request with a key, the one that the headers speak of first. */
export const windowsOfKey = (policy: RatePolicy, key: Authenticated): readonly Window[] => {
  if (key.rateLimit !== null) return [{ bucket: `key:${key.keyId}`, limit: key.rateLimit, windowMs: MINUTE_MS }];
  const endpoint: Window = { bucket: `key:${key.keyId}:${policy.endpoint}`, limit: policy.perMinute, windowMs: MINUTE_MS };
  if (!policy.general) return [endpoint];
  return [endpoint, { bucket: `burst:${key.keyId}`, limit: generalRateLimit.burst, windowMs: generalRateLimit.burstWindowMs }];
};

/** What is bounded, in words, for the message of a refusal. */
export const limitInWords = (policy: RatePolicy, key: Authenticated): string => {
  if (key.rateLimit !== null) return `This API key may make ${key.rateLimit} requests a minute`;
  const endpoint = `An API key may call ${policy.endpoint} ${policy.perMinute} times a minute`;
  return policy.general
    ? `${endpoint}, and make ${generalRateLimit.burst} such calls in ${generalRateLimit.burstWindowMs / 1_000} seconds`
    : endpoint;
};

/** The window of a request that no key speaks for. */
export const windowsOfAddress = (address: string, kind: 'public' | 'failed'): readonly Window[] => [
  kind === 'public'
    ? { bucket: `public:${addressBucket(address)}`, limit: addressRateLimits.publicPerMinute, windowMs: MINUTE_MS }
    : { bucket: `failed:${addressBucket(address)}`, limit: addressRateLimits.failedPerMinute, windowMs: MINUTE_MS },
];
