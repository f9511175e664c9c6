/**
 * The errors of the program: every code of a refused request, and the faults of stores, streams and events.
 * `http/server/errors.ts` maps codes to statuses.
 */

export type ErrorCode =
  | 'VALIDATION_ERROR'
  | 'ERR_EMAIL_001'
  | 'MALFORMED_JSON'
  | 'JSON_TOO_COMPLEX'
  | 'BODY_TOO_LARGE'
  | 'TOO_MANY_LARGE_BODIES'
  | 'UNSUPPORTED_CONTENT_TYPE'
  | 'MALFORMED_REQUEST'
  | 'URL_TOO_LONG'
  | 'UNAUTHORIZED'
  | 'INVALID_API_KEY'
  | 'API_KEY_NOT_FOUND'
  | 'API_KEY_REVOKED'
  | 'API_KEY_EXPIRED'
  | 'API_KEY_DISABLED'
  | 'API_KEY_NETWORK_NOT_ALLOWED'
  | 'TEST_KEY_NOT_ALLOWED'
  | 'FORBIDDEN'
  | 'HTTPS_REQUIRED'
  | 'NOT_FOUND'
  | 'TEMPLATE_NOT_FOUND'
  | 'BLOCK_NOT_FOUND'
  | 'BLOCK_IN_USE'
  | 'ASSET_IN_USE'
  | 'BLOCK_BREAKS_TEMPLATES'
  | 'BLOCK_LIMIT_REACHED'
  | 'TEMPLATE_SLUG_TAKEN'
  | 'TEMPLATE_INVALID'
  | 'TEMPLATE_VERSION_NOT_FOUND'
  | 'TEMPLATE_NOT_PUBLISHED'
  | 'VARIABLES_EMPTY'
  | 'REVISION_MISMATCH'
  | 'ERR_TMPL_002'
  | 'EMAIL_NOT_FOUND'
  | 'BATCH_NOT_FOUND'
  | 'BATCH_NOT_CANCELLABLE'
  | 'EMAIL_NOT_RETRYABLE'
  | 'EMAIL_ARCHIVED'
  | 'EMAIL_NOT_RESENDABLE'
  | 'CONTENT_GONE'
  | 'CONTENT_CONFIDENTIAL'
  | 'EMAIL_IN_PROGRESS'
  | 'EMAIL_NOT_SCHEDULED'
  | 'EMAIL_NOT_CANCELLABLE'
  | 'EMAILS_REFUSED'
  | 'APPROVAL_NOT_FOUND'
  | 'APPROVAL_DECIDED'
  | 'APPROVAL_CHANGED'
  | 'APPROVAL_LIMIT_REACHED'
  | 'FEEDBACK_NOT_SET_UP'
  | 'FEEDBACK_NOT_OURS'
  | 'FEEDBACK_PROVIDER_NOT_SET_UP'
  | 'FEEDBACK_REFUSED'
  | 'FEEDBACK_NOT_TAKEN'
  | 'API_KEY_UNKNOWN'
  | 'TEAM_NOT_FOUND'
  | 'OAUTH_APP_NOT_FOUND'
  | 'OAUTH_APP_PUBLIC'
  | 'AUDIT_ENTRY_NOT_FOUND'
  | 'AUDIT_EXPORT_TOO_LARGE'
  | 'OAUTH_GRANT_NOT_FOUND'
  | 'TEAM_DELETED'
  | 'TEAM_LIMIT_EXCEEDED'
  | 'FIRST_TEAM'
  | 'MEMBER_NOT_FOUND'
  | 'MEMBER_LIMIT_EXCEEDED'
  | 'ALREADY_MEMBER'
  | 'LAST_OWNER'
  | 'INVITATION_NOT_FOUND'
  | 'INVITATION_EXPIRED'
  | 'INVITATION_NOT_YOURS'
  | 'INVITATION_LIMIT_EXCEEDED'
  | 'INVALID_TOKEN'
  | 'TOKEN_EXPIRED'
  | 'SESSION_ENDED'
  | 'SESSION_NOT_FOUND'
  | 'CSRF_REJECTED'
  | 'INVALID_CREDENTIALS'
  | 'CODE_REQUIRED'
  | 'INVALID_CODE'
  | 'SECOND_FACTOR_REQUIRED'
  | 'SECOND_FACTOR_SET'
  | 'SECOND_FACTOR_NOT_SET'
  | 'ADDRESS_NOT_VERIFIED'
  | 'REGISTRATION_CLOSED'
  | 'ADDRESS_TAKEN'
  | 'SIGN_IN_PROVIDER_UNKNOWN'
  | 'SIGN_IN_PROVIDER_AWAY'
  | 'SIGN_IN_REFUSED'
  | 'SIGN_IN_NOT_ALLOWED'
  | 'IDENTITY_NOT_LINKED'
  | 'IDENTITY_TAKEN'
  | 'IDENTITY_NOT_FOUND'
  | 'LINK_INVALID'
  | 'LOGIN_PAUSED'
  | 'TEAM_REQUIRED'
  | 'USER_NOT_FOUND'
  | 'SUPPRESSION_NOT_FOUND'
  | 'WEBHOOK_NOT_FOUND'
  | 'WEBHOOK_LIMIT_REACHED'
  | 'WEBHOOK_DELIVERY_NOT_FOUND'
  | 'WEBHOOK_DELIVERY_NOT_FAILED'
  | 'WEBHOOK_DISABLED'
  | 'WEBHOOK_EVENT_NOT_FOUND'
  | 'WEBHOOK_REPLAY_UNDER_WAY'
  | 'ERASURE_NOT_FOUND'
  | 'ASSET_NOT_FOUND'
  | 'ASSET_TYPE_NOT_ALLOWED'
  | 'ASSET_TOO_LARGE'
  | 'STORAGE_LIMIT_EXCEEDED'
  | 'ATTACHMENT_STORAGE_EXCEEDED'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'INVALID_CURSOR'
  | 'ERR_ATTACH_001'
  | 'ERR_ATTACH_002'
  | 'ATTACHMENT_NOT_AVAILABLE'
  | 'ERR_LIMIT_001'
  | 'ERR_LIMIT_002'
  | 'ERR_LIMIT_003'
  | 'ERR_LIMIT_004'
  | 'ERR_LIMIT_005'
  | 'ERR_LIMIT_006'
  | 'ERR_LIMIT_007'
  | 'ERR_LIMIT_008'
  | 'ERR_LIMIT_009'
  | 'RENDERED_BODY_TOO_LARGE'
  | 'WORK_LIMIT_EXCEEDED'
  | 'FONT_MISSING'
  | 'IMAGE_NOT_AVAILABLE'
  | 'IMAGES_TOO_LARGE'
  | 'GENERATOR_BUSY'
  | 'QUEUE_FULL'
  | 'QUOTA_EXCEEDED'
  | 'TEAM_NOT_METERED'
  | 'PLAN_LIMIT_EXCEEDED'
  | 'SENDER_NOT_ALLOWED'
  | 'SENDER_NOT_SET'
  | 'PUBLIC_URL_REQUIRED'
  | 'DOMAIN_NOT_FOUND'
  | 'DOMAIN_EXISTS'
  | 'DOMAIN_TAKEN'
  | 'DOMAIN_LIMIT_EXCEEDED'
  | 'DKIM_ROTATION_UNDER_WAY'
  | 'DNS_LOOKUP_FAILED'
  | 'GENERATION_TIMEOUT'
  | 'GENERATION_FAILED'
  | 'PREVIEW_SUPERSEDED'
  | 'SUBJECT_TOO_LONG'
  | 'SUBJECT_EMPTY'
  | 'BODY_EMPTY'
  | 'RATE_LIMIT_EXCEEDED'
  | 'CONFLICT'
  | 'EVENT_UNREADABLE'
  | 'EVENT_UNKNOWN'
  | 'STORE_AWAY'
  | 'OUTCOME_UNKNOWN'
  | 'INTERNAL_ERROR';

/**
 * One fault of a body: `field` is a path such as `to[2].email`; the empty path is the body itself. `code`: why one of
 * several emails of a call is refused.
 */
export type FieldError = Readonly<{ field: string; message: string; code?: ErrorCode }>;

export type ErrorDetails = Readonly<{
  errors?: readonly FieldError[];
  relatedInfo?: Readonly<Record<string, string | number | boolean | null>>;
  retryAfterS?: number;
}>;

/**
 * The caller broke a rule. `message` says what was wrong, where, and what would be right.
 * The caller sees it, so it never holds data of others or internals of the service.
 */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

const WHOLE_TEXT_CHARS_MAX = 1_000;

/**
 * The message of a fault with its list of errors, as many as there is room for, for places that do not show the list.
 */
export const wholeText = ({ message, details: { errors = [] } }: DomainError): string => {
  if (errors.length < 2) return message;
  const texts = errors.map(textOfError);
  let chars = 0;
  const beyond = texts.findIndex((text) => (chars += text.length + 2) > WHOLE_TEXT_CHARS_MAX);
  const shown = beyond === -1 ? texts : texts.slice(0, Math.max(1, beyond));
  return [...shown, ...(shown.length < texts.length ? [`and ${texts.length - shown.length} more`] : [])].join('; ');
};

export const textOfError = ({ field, message }: FieldError): string => (field === '' ? message : `${field} ${message}`);

/**
 * The error for one faulty field of a request. `message` continues the name of the field ("must be …"). An empty
 * `field` stands for the part itself.
 */
export const invalid = (
  part: 'request body' | 'body' | 'query' | 'upload',
  field: string,
  message: string,
): DomainError =>
  new DomainError('VALIDATION_ERROR', `The ${part} is invalid: ${field === '' ? 'it' : `\`${field}\``} ${message}.`, {
    errors: [{ field, message }],
  });

/** The error for one faulty field of a template or of its variables. */
export const invalidAt = (field: string, message: string, relatedInfo?: ErrorDetails['relatedInfo']): DomainError =>
  new DomainError('VALIDATION_ERROR', `${field} ${message}`, {
    errors: [{ field, message }],
    ...(relatedInfo === undefined ? {} : { relatedInfo }),
  });

/**
 * A server or disk that keeps the log, the keys, the files or the read models does not answer or refuses. An append, or
 * the creation of a key or a file, that rejects with StoreAway has written nothing that a reader will see. Reads and
 * removals may be repeated.
 */
export class StoreAway extends Error {
  override readonly name: string = 'StoreAway';
  /** The code of the cause, such as `SQLITE_FULL`, which health and log show. */
  readonly code?: string;

  constructor(message: string, options: Readonly<{ cause?: unknown; code?: string }> = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    if (options.code !== undefined) this.code = options.code;
  }
}

/**
 * The answer of an append was lost: its events may be in the log, or appear in it later. Files and keys that belong to
 * them must be kept.
 */
export class AppendUnknown extends Error {
  override readonly name = 'AppendUnknown';
  /** How a reader can find the events later, if they were written. */
  readonly attempt: AppendAttempt;

  constructor(stream: string, cause: Error, attempt: AppendAttempt = { after: -1, eventIds: [] }) {
    super(`whether the append to ${stream} was written is not known: ${cause.message}`, { cause });
    this.attempt = attempt;
  }
}

/** `after`: the revision of the stream after which the events stand if they were written. */
export type AppendAttempt = Readonly<{ after: number; eventIds: readonly string[] }>;

/** The lease of an append is older than the lease of the stream's last event: another process holds the lease now. */
export class LeaseSuperseded extends Error {
  override readonly name = 'LeaseSuperseded';

  constructor(stream: string, fence: number, newest: number) {
    super(
      `${stream} has an event under lease ${newest}; under lease ${fence}, which is older, nothing is appended to it any more`,
    );
  }
}

/**
 * The file stored under a hash has other content, or cannot be read. Retries fail until an operator restores the file.
 */
export class FileDamaged extends Error {
  override readonly name = 'FileDamaged';
  readonly code = 'FILE_DAMAGED';

  constructor(hash: string, why: string, cause?: unknown) {
    super(`the file ${hash} is damaged: ${why}`, { cause });
  }
}

/**
 * The key of a stream is gone, but the log does not say that it was destroyed. The stream cannot be decrypted until an
 * operator restores the key.
 */
export class KeyMissing extends Error {
  override readonly name = 'KeyMissing';
  readonly code = 'KEY_MISSING';

  constructor(stream: string) {
    super(
      `the key of ${stream} is missing, and the log does not say that it was destroyed: the keys are older than the log, or damaged; ` +
        'stop the service and restore the newest backup of the keys',
    );
  }
}

/** Place of a stored event in the log, and its stored type. */
export type EventPlace = Readonly<{ stream: string; revision: number; position: number; storedType: string }>;

const placeText = ({ stream, revision, position, storedType }: EventPlace): string =>
  `the event at position ${position} of the log (${stream}, revision ${revision}, ${storedType})`;

/** An event of a stream is damaged or missing. Commands refuse this stream; other streams work. */
export class EventUnreadable extends Error {
  override readonly name = 'EventUnreadable';
  readonly code = 'EVENT_UNREADABLE';
  readonly place: EventPlace;

  constructor(place: EventPlace, reason: string, options?: ErrorOptions) {
    super(
      `${placeText(place)} cannot be read: ${reason}; \`sealpost events unreadable\` lists all that cannot be`,
      options,
    );
    this.place = place;
  }
}

/**
 * An event has a type or version that this program does not know. Readers stop before it, so that a newer program
 * continues from there.
 */
export class EventUnknown extends Error {
  override readonly name = 'EventUnknown';
  readonly code = 'EVENT_UNKNOWN';
  readonly place: EventPlace;

  constructor(place: EventPlace) {
    super(
      `${placeText(place)} was written by a newer version of sealpost, which this one cannot read: run the newer version`,
    );
    this.place = place;
  }
}

/** The stream was not at the revision that the writer had read. The writer loads it again and decides again. */
export class WrongExpectedRevision extends Error {
  override readonly name = 'WrongExpectedRevision';
  readonly stream: string;
  readonly expected: number;
  readonly actual: number;

  /** Revisions count from 0; -1 is "no stream". */
  constructor(stream: string, expected: number, actual: number) {
    super(`stream ${stream} is at revision ${actual}, expected ${expected}`);
    this.stream = stream;
    this.expected = expected;
    this.actual = actual;
  }
}
