/** How each endpoint may fail: by status, with the codes that stand in the answers. */
import type { Json, JsonObject } from '../../../domain/core/json.js';
import { commandCodes } from '../../../commands/error-codes.js';
import type { ErrorCode } from '../../../domain/core/errors.js';
import { statusOf, type ErrorStatus } from '../errors.js';
import type { DescribedRoute } from './document.js';

/** On every answer. */
export const rateHeaders: JsonObject = {
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
  'X-RateLimit-Limit': { $ref: '#/components/headers/RateLimitLimit' },
  'X-RateLimit-Remaining': { $ref: '#/components/headers/RateLimitRemaining' },
  'X-RateLimit-Reset': { $ref: '#/components/headers/RateLimitReset' },
};

/** What is answered before an endpoint does anything. */
const requestCodes: readonly ErrorCode[] = [
  'VALIDATION_ERROR',
  'MALFORMED_JSON',
  'JSON_TOO_COMPLEX',
  'BODY_TOO_LARGE',
  'UNSUPPORTED_CONTENT_TYPE',
  'URL_TOO_LONG',
  'MALFORMED_REQUEST',
  'HTTPS_REQUIRED',
  'RATE_LIMIT_EXCEEDED',
  'INTERNAL_ERROR',
];
/** Of the endpoints that take a body. */
const bodyCodes: readonly ErrorCode[] = ['TOO_MANY_LARGE_BODIES'];
/** Of the endpoints that read what is stored, of the key itself at least. */
const storedCodes: readonly ErrorCode[] = ['EVENT_UNREADABLE', 'EVENT_UNKNOWN', 'STORE_AWAY'];
const keyCodes: readonly ErrorCode[] = [
  'UNAUTHORIZED',
  ...commandCodes.authenticate,
  'API_KEY_NETWORK_NOT_ALLOWED',
  'CSRF_REJECTED',
  'FORBIDDEN',
  ...storedCodes,
];

/** Every code that an endpoint may answer, each once. */
export const codesOfRoute = ({ access, takesBody, command, codes, unknownId }: DescribedRoute): ReadonlySet<ErrorCode> =>
  new Set([
    ...requestCodes,
    ...(access === 'public' ? [] : keyCodes),
    ...(takesBody ? bodyCodes : []),
    ...(command === undefined ? [] : commandCodes[command]),
    ...codes,
    ...(unknownId === undefined ? [] : [unknownId]),
  ]);

const names: Readonly<Record<ErrorStatus, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  429: 'TooManyRequests',
  500: 'ServerError',
  503: 'ServiceUnavailable',
};

const sentences: Readonly<Record<ErrorStatus, string>> = {
  400: 'The request is wrong',
  401: 'No good API key',
  403: 'The key lacks the permission, the call comes from a network that the key may not come from, or by a cookie and from another page, or plain HTTP is used where HTTPS is required',
  404: 'Unknown, malformed, or another team’s',
  429: 'Too many requests, or too much at once',
  500: 'A fault of the service',
  503: 'A server that the service needs is away',
};

const statuses = [400, 401, 403, 404, 429, 500, 503] as const satisfies readonly ErrorStatus[];

const ofStatus = (codes: Iterable<ErrorCode>, status: ErrorStatus): readonly ErrorCode[] =>
  [...codes].filter((code) => statusOf[code] === status);

/** The form that every error has, with the codes that `code` may be. */
const errorResponse = (status: ErrorStatus, codes: readonly ErrorCode[]): JsonObject => {
  const schema: Json = {
    allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { code: { type: 'string', enum: [...codes] } } }],
  };
  return {
    description: `${sentences[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: {
      ...rateHeaders,
      ...(status === 429 || status === 503 ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } : {}),
    },
    content: { 'application/json': { schema } },
  };
};

const general = new Set([...requestCodes, ...keyCodes]);

/** What most endpoints share, status by status. */
export const sharedResponses = (): JsonObject =>
  Object.fromEntries(
    statuses.flatMap((status) => {
      const codes = ofStatus(general, status);
      return codes.length === 0 ? [] : [[names[status], errorResponse(status, codes)]];
    }),
  );

/** The responses of one endpoint: a reference where it has no codes but those that all share. */
export const errorResponses = (route: DescribedRoute): JsonObject => {
  const codes = codesOfRoute(route);
  return Object.fromEntries(
    statuses.flatMap((status) => {
      const own = ofStatus(codes, status);
      if (own.length === 0) return [];
      const isShared = own.length === ofStatus(general, status).length && own.every((code) => general.has(code));
      return [[status, isShared ? { $ref: `#/components/responses/${names[status]}` } : errorResponse(status, own)]];
    }),
  );
};
