/** Rate limits: requests by endpoint, by API key and by network address, and attempts to sign in. */

/** Requests per minute of one API key, by endpoint; every endpoint not named has the general limit. */
export const rateLimits = {
  'POST /api/emails/send': 30,
  'POST /api/emails/batch': 30,
  'POST /api/emails/send/bulk': 5,
  'GET /api/emails': 300,
  'GET /api/emails/:id': 300,
  'POST /api/emails/:id/retry': 10,
  'GET /api/templates': 300,
  'POST /api/templates': 30,
  'PATCH /api/templates/:id': 30,
  'DELETE /api/templates/:id': 30,
  /** A person who writes a template sees it again at each pause. */
  'POST /api/templates/preview': 600,
  'POST /api/templates/attachment/preview': 600,
  'POST /api/blocks/preview': 600,
  /** A mail is parsed, converted and rendered. */
  'POST /api/templates/convert': 30,
  'POST /api/templates/:id/test': 10,
  'GET /api/analytics/overview': 100,
  'GET /api/analytics/timeseries': 100,
  'GET /api/analytics/templates': 100,
  'GET /api/analytics/tags': 100,
  'GET /api/analytics/domains': 100,
  'GET /api/dashboard/summary': 100,
  'GET /api/audit-logs/export': 5,
  /** As many as the SMTP server of the return path takes of one network. */
  'POST /api/v1/feedback': 600,
  'POST /api/domains': 10,
  'POST /api/domains/:id/verify': 10,
  'POST /api/domains/:id/rotate': 10,
  'GET /api/v1/webhook-subscriptions': 30,
  'POST /api/v1/webhook-subscriptions': 30,
  'GET /api/v1/webhook-subscriptions/:id': 30,
  'PATCH /api/v1/webhook-subscriptions/:id': 30,
  'DELETE /api/v1/webhook-subscriptions/:id': 30,
  'POST /api/v1/webhook-subscriptions/:id/test': 10,
  /** A stream lasts, so it is not among the requests under way at once. */
  'GET /api/stream': 30,
  /** Each message of a model's client; the endpoints that a tool calls count for themselves. */
  'POST /mcp': 300,
} as const satisfies Record<string, number>;

export const generalRateLimit = {
  perMinute: 100,
  burst: 200,
  burstWindowMs: 10_000,
  concurrentRequests: 10,
  /** Longer than any request takes: a concurrency slot whose process died is free again after it. */
  slotTtlMs: 10 * 60_000,
} as const;

/**
 * Requests per minute and endpoint of a person in a session, where the limits above are lower: somebody at a screen
 * types, filters and turns pages.
 */
export const sessionRateLimits = {
  /** Endpoints that read. */
  readsPerMinute: 1_200,
  /** Endpoints whose path ends with `/preview`. */
  previewsPerMinute: 600,
} as const;

/** Reads that may go through a large part of what is stored: a session has the limit of a key. */
export const costlyReads: readonly string[] = [
  'GET /api/audit-logs/export',
  'GET /api/emails/batch/:batchId/results',
  'GET /api/suppressions/export',
];

/** The smallest default: a key with no more requests per minute than this never exceeds a default. */
export const leastDefaultRate = Math.min(generalRateLimit.perMinute, ...Object.values(rateLimits));

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Attempts to sign in or register, successful or not: for one address from one network (`ofBoth`), for one network, for
 * one address.
 */
export const loginLimits = {
  ofBoth: [
    { limit: 5, windowMs: MINUTE_MS },
    { limit: 12, windowMs: 10 * MINUTE_MS },
    { limit: 24, windowMs: HOUR_MS },
    { limit: 60, windowMs: DAY_MS },
  ],
  ofNetwork: [
    { limit: 60, windowMs: MINUTE_MS },
    { limit: 600, windowMs: HOUR_MS },
  ],
  ofAccount: [
    { limit: 200, windowMs: HOUR_MS },
    { limit: 1_000, windowMs: DAY_MS },
  ],
} as const;

/**
 * The device grant: requests of devices, which are few because each is recorded; codes that a person gives, and a
 * network. The first requests of a network are counted apart from all later ones, so that some networks that ask again
 * and again shut out no other; a prefix, which one owner may have as a whole, has few of those first requests.
 */
export const deviceLimits = {
  requestsOfNetwork: [
    { limit: 10, windowMs: 10 * MINUTE_MS },
    { limit: 60, windowMs: DAY_MS },
  ],
  firstOfNetwork: [{ limit: 2, windowMs: HOUR_MS }],
  firstOfPrefix: [{ limit: 60, windowMs: HOUR_MS }],
  first: [{ limit: 1_000, windowMs: HOUR_MS }],
  later: [{ limit: 300, windowMs: HOUR_MS }],
  guessesOfPerson: [
    { limit: 12, windowMs: 10 * MINUTE_MS },
    { limit: 60, windowMs: DAY_MS },
  ],
  guessesOfNetwork: [{ limit: 60, windowMs: 10 * MINUTE_MS }],
} as const;

/** Apps that register themselves, from one network. */
export const registrationLimits = [
  { limit: 30, windowMs: 10 * MINUTE_MS },
  { limit: 300, windowMs: DAY_MS },
] as const;

/** Requests per minute of one network address without an API key. */
export const addressRateLimits = {
  /** Pages, health and the API description. */
  publicPerMinute: 1_200,
  /** The API description and the files of its reader, of up to 1.5 MB. Opening the reader takes about nine. */
  largePerMinute: 120,
  /** Requests that fail before a key is known: no key, a wrong key, an unknown path, a malformed request. */
  failedPerMinute: 120,
} as const;
