/** The one table from error code to HTTP status, and the body that every error answer has. */
import {
  AppendUnknown,
  DomainError,
  EventUnknown,
  EventUnreadable,
  StoreAway,
  WrongExpectedRevision,
  type ErrorCode,
  type ErrorDetails,
} from '../../domain/core/errors.js';
import { isoTime } from '../../domain/core/time.js';

export type ErrorStatus = 400 | 401 | 403 | 404 | 410 | 429 | 500 | 503;

/** Failed answer, and the cause if the fault is ours. */
export type Failure = Readonly<{
  code: ErrorCode;
  status: ErrorStatus;
  message: string;
  details: ErrorDetails;
  cause?: unknown;
}>;

export type ErrorContext = Readonly<{ nowMs: number; path: string; requestId: string }>;

/** A code that is missing here does not compile. */
export const statusOf: Readonly<Record<ErrorCode, ErrorStatus>> = {
  VALIDATION_ERROR: 400,
  ERR_EMAIL_001: 400,
  MALFORMED_JSON: 400,
  JSON_TOO_COMPLEX: 400,
  BODY_TOO_LARGE: 400,
  TOO_MANY_LARGE_BODIES: 429,
  UNSUPPORTED_CONTENT_TYPE: 400,
  MALFORMED_REQUEST: 400,
  URL_TOO_LONG: 400,
  UNAUTHORIZED: 401,
  INVALID_API_KEY: 401,
  API_KEY_NOT_FOUND: 401,
  API_KEY_REVOKED: 401,
  API_KEY_EXPIRED: 401,
  API_KEY_DISABLED: 401,
  API_KEY_NETWORK_NOT_ALLOWED: 403,
  TEST_KEY_NOT_ALLOWED: 403,
  FORBIDDEN: 403,
  HTTPS_REQUIRED: 403,
  NOT_FOUND: 404,
  TEMPLATE_NOT_FOUND: 404,
  BLOCK_NOT_FOUND: 404,
  BLOCK_IN_USE: 400,
  ASSET_IN_USE: 400,
  BLOCK_BREAKS_TEMPLATES: 400,
  BLOCK_LIMIT_REACHED: 400,
  TEMPLATE_SLUG_TAKEN: 400,
  TEMPLATE_INVALID: 400,
  TEMPLATE_VERSION_NOT_FOUND: 404,
  TEMPLATE_NOT_PUBLISHED: 400,
  PREVIEW_SUPERSEDED: 400,
  VARIABLES_EMPTY: 400,
  REVISION_MISMATCH: 400,
  ERR_TMPL_002: 404,
  EMAIL_NOT_FOUND: 404,
  BATCH_NOT_FOUND: 404,
  BATCH_NOT_CANCELLABLE: 400,
  EMAIL_NOT_RETRYABLE: 400,
  EMAIL_ARCHIVED: 400,
  EMAIL_NOT_RESENDABLE: 400,
  CONTENT_GONE: 410,
  CONTENT_CONFIDENTIAL: 403,
  EMAIL_IN_PROGRESS: 400,
  EMAIL_NOT_SCHEDULED: 400,
  EMAIL_NOT_CANCELLABLE: 400,
  EMAILS_REFUSED: 400,
  APPROVAL_NOT_FOUND: 404,
  APPROVAL_DECIDED: 400,
  APPROVAL_CHANGED: 400,
  APPROVAL_LIMIT_REACHED: 400,
  FEEDBACK_NOT_SET_UP: 400,
  FEEDBACK_NOT_OURS: 400,
  FEEDBACK_PROVIDER_NOT_SET_UP: 404,
  FEEDBACK_REFUSED: 401,
  FEEDBACK_NOT_TAKEN: 503,
  API_KEY_UNKNOWN: 404,
  TEAM_NOT_FOUND: 404,
  OAUTH_APP_NOT_FOUND: 404,
  OAUTH_APP_PUBLIC: 400,
  AUDIT_ENTRY_NOT_FOUND: 404,
  AUDIT_EXPORT_TOO_LARGE: 400,
  OAUTH_GRANT_NOT_FOUND: 404,
  TEAM_DELETED: 401,
  TEAM_LIMIT_EXCEEDED: 400,
  FIRST_TEAM: 400,
  MEMBER_NOT_FOUND: 404,
  MEMBER_LIMIT_EXCEEDED: 400,
  ALREADY_MEMBER: 400,
  LAST_OWNER: 400,
  INVITATION_NOT_FOUND: 404,
  INVITATION_EXPIRED: 400,
  INVITATION_NOT_YOURS: 403,
  INVITATION_LIMIT_EXCEEDED: 400,
  INVALID_TOKEN: 401,
  TOKEN_EXPIRED: 401,
  SESSION_ENDED: 401,
  SESSION_NOT_FOUND: 404,
  CSRF_REJECTED: 403,
  INVALID_CREDENTIALS: 401,
  CODE_REQUIRED: 401,
  INVALID_CODE: 401,
  SECOND_FACTOR_REQUIRED: 403,
  SECOND_FACTOR_SET: 400,
  SECOND_FACTOR_NOT_SET: 400,
  ADDRESS_NOT_VERIFIED: 403,
  REGISTRATION_CLOSED: 403,
  ADDRESS_TAKEN: 400,
  SIGN_IN_PROVIDER_UNKNOWN: 404,
  SIGN_IN_PROVIDER_AWAY: 503,
  SIGN_IN_REFUSED: 400,
  SIGN_IN_NOT_ALLOWED: 403,
  IDENTITY_NOT_LINKED: 403,
  IDENTITY_TAKEN: 400,
  IDENTITY_NOT_FOUND: 404,
  LINK_INVALID: 400,
  LOGIN_PAUSED: 429,
  TEAM_REQUIRED: 400,
  USER_NOT_FOUND: 404,
  SUPPRESSION_NOT_FOUND: 404,
  WEBHOOK_NOT_FOUND: 404,
  WEBHOOK_LIMIT_REACHED: 400,
  WEBHOOK_DELIVERY_NOT_FOUND: 404,
  WEBHOOK_DELIVERY_NOT_FAILED: 400,
  WEBHOOK_DISABLED: 400,
  WEBHOOK_EVENT_NOT_FOUND: 404,
  WEBHOOK_REPLAY_UNDER_WAY: 400,
  ERASURE_NOT_FOUND: 404,
  ASSET_NOT_FOUND: 404,
  ASSET_TYPE_NOT_ALLOWED: 400,
  ASSET_TOO_LARGE: 400,
  STORAGE_LIMIT_EXCEEDED: 400,
  ATTACHMENT_STORAGE_EXCEEDED: 429,
  IDEMPOTENCY_KEY_REUSED: 400,
  INVALID_CURSOR: 400,
  ERR_ATTACH_001: 404,
  ERR_ATTACH_002: 400,
  ATTACHMENT_NOT_AVAILABLE: 400,
  ERR_LIMIT_001: 400,
  ERR_LIMIT_002: 400,
  ERR_LIMIT_003: 400,
  ERR_LIMIT_004: 400,
  ERR_LIMIT_005: 400,
  ERR_LIMIT_006: 400,
  ERR_LIMIT_007: 400,
  ERR_LIMIT_008: 400,
  ERR_LIMIT_009: 400,
  RENDERED_BODY_TOO_LARGE: 400,
  WORK_LIMIT_EXCEEDED: 400,
  FONT_MISSING: 400,
  IMAGE_NOT_AVAILABLE: 400,
  IMAGES_TOO_LARGE: 400,
  GENERATOR_BUSY: 429,
  QUEUE_FULL: 429,
  QUOTA_EXCEEDED: 429,
  TEAM_NOT_METERED: 400,
  PLAN_LIMIT_EXCEEDED: 403,
  SENDER_NOT_ALLOWED: 400,
  SENDER_NOT_SET: 400,
  PUBLIC_URL_REQUIRED: 400,
  DOMAIN_NOT_FOUND: 404,
  DOMAIN_EXISTS: 400,
  DOMAIN_TAKEN: 400,
  DOMAIN_LIMIT_EXCEEDED: 400,
  DKIM_ROTATION_UNDER_WAY: 400,
  DNS_LOOKUP_FAILED: 503,
  GENERATION_TIMEOUT: 400,
  GENERATION_FAILED: 400,
  SUBJECT_TOO_LONG: 400,
  SUBJECT_EMPTY: 400,
  BODY_EMPTY: 400,
  RATE_LIMIT_EXCEEDED: 429,
  CONFLICT: 400,
  EVENT_UNREADABLE: 500,
  EVENT_UNKNOWN: 500,
  STORE_AWAY: 503,
  OUTCOME_UNKNOWN: 503,
  INTERNAL_ERROR: 500,
};

const AWAY_RETRY_AFTER_S = 5;

const failure = (code: ErrorCode, message: string, details: ErrorDetails = {}): Failure => ({
  code,
  status: statusOf[code],
  message,
  details,
});

/** The faults that Fastify itself finds in a request; every other code of its own is a fault of ours. */
const fromFastify: Readonly<Record<string, Failure>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: failure('BODY_TOO_LARGE', 'The request body is too large.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: failure(
    'UNSUPPORTED_CONTENT_TYPE',
    'The request body must be JSON, with the header Content-Type: application/json.',
  ),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: failure(
    'MALFORMED_REQUEST',
    'The body is not as long as its Content-Length says.',
  ),
  FST_ERR_BAD_URL: failure(
    'MALFORMED_REQUEST',
    'The path of the URL holds a percent sign that is not followed by two hexadecimal digits of UTF-8.',
  ),
  FST_ERR_MAX_PARAM_LENGTH: failure('URL_TOO_LONG', 'A part of the URL is too long.'),
  ECONNRESET: failure('MALFORMED_REQUEST', 'The connection ended before the whole request had arrived.'),
};

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

const storeAway = (cause: StoreAway): Failure => ({
  ...failure(
    'STORE_AWAY',
    `A server or a disk that the service needs for this does not answer. Nothing was accepted or changed; send the request again in ${AWAY_RETRY_AFTER_S} seconds.`,
    { retryAfterS: AWAY_RETRY_AFTER_S },
  ),
  cause,
});

/** For a request of which a part may have been done. */
export const outcomeUnknown = (cause: unknown): Failure => ({
  ...failure(
    'OUTCOME_UNKNOWN',
    'A server or a disk stopped to answer while this was done: whether it was recorded, or a part of it, is not known. Send the same request again, with the same Idempotency-Key where it takes one: what was recorded is not done twice.',
    { retryAfterS: AWAY_RETRY_AFTER_S },
  ),
  cause,
});

/**
 * In: whatever was thrown while a request was handled. Out: what to answer; the internals of unknown faults stay in
 * `cause`.
 */
export const failureOf = (error: unknown, bodySizeBytesMax: number): Failure => {
  if (error instanceof DomainError)
    return { code: error.code, status: statusOf[error.code], message: error.message, details: error.details };
  if (error instanceof WrongExpectedRevision) {
    return failure(
      'CONFLICT',
      'Another request changed the same thing meanwhile and nothing was done; send the request again.',
    );
  }
  if (error instanceof EventUnreadable)
    return {
      ...failure(
        'EVENT_UNREADABLE',
        'The stored data of this resource is damaged. Nothing was changed; the operator must repair it.',
      ),
      cause: error,
    };
  if (error instanceof EventUnknown) {
    const message =
      'A newer version of the service wrote the stored data of this resource. Nothing was changed; send the request to that version.';
    return { ...failure('EVENT_UNKNOWN', message), cause: error };
  }
  if (error instanceof StoreAway) return storeAway(error);
  if (error instanceof AppendUnknown) return outcomeUnknown(error);
  const code = codeOf(error);
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return failure(
      'BODY_TOO_LARGE',
      `The request body is larger than ${bodySizeBytesMax} bytes, the most that one request may carry.`,
    );
  }
  const known = code === undefined ? undefined : fromFastify[code];
  if (known !== undefined) return known;
  return {
    ...failure(
      'INTERNAL_ERROR',
      'The service could not complete the request. Nothing of it is to be relied on; try again, and give the requestId when you report this.',
    ),
    cause: error,
  };
};

/** The error body of the contract as JSON text; fields that do not apply are left out. */
export const errorBody = (found: Failure, context: ErrorContext): string =>
  JSON.stringify({
    statusCode: found.status,
    code: found.code,
    message: found.message,
    timestamp: isoTime(context.nowMs),
    path: context.path,
    requestId: context.requestId,
    errors: found.details.errors,
    relatedInfo: found.details.relatedInfo,
    retryAfter: found.details.retryAfterS,
  });

/** In: a request target. Out: its path without the query, which may hold personal data. */
export const pathOf = (url: string): string => {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
};
