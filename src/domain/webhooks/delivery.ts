/**
 * A delivery of an event to an endpoint: its ids, its signed headers, when it is tried again, what is stored of the
 * answer, and how it is listed.
 */
import { hash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { WebhookId } from '../core/ids.js';
import { DAY_MS, HOUR_MS } from '../core/time.js';
import type { Keys, SealingKey } from '../ports/keys.js';
import type { SealedAnswer, WebhookOutcome, WebhookProgress } from './events.js';
import type { TimelineEntry, TimelineRecipient, Placed } from '../email/timeline.js';

const KEY_CHARS = 22;

/**
 * The last part of the id of an event, the same on every attempt. `recipient`: the place of the recipient if the event
 * is about one.
 */
export const eventKey = (webhook: WebhookId, sourceEventId: string, recipient: number | undefined): string =>
  hash('sha256', `webhook event\n${webhook}\n${sourceEventId}\n${recipient ?? ''}`, 'base64url').slice(0, KEY_CHARS);

const idOf = (prefix: string, number: number, key: string): string => `${prefix}_${number.toString(36)}_${key}`;

/** The id of an event. `number`: how many events went to the subscription before it. */
export const webhookEventId = (number: number, key: string): string => idOf('evt', number, key);
export const deliveryId = (number: number, key: string): string => idOf('del', number, key);

const ID = /^(evt|del)_([0-9a-z]{1,11})_([A-Za-z0-9_-]{22})$/;

/** undefined if the text is not an id of that kind. */
export const readWebhookEventId = (
  text: string,
  prefix: 'evt' | 'del',
): Readonly<{ number: number; key: string }> | undefined => {
  const [, kind, number, key] = ID.exec(text) ?? [];
  if (kind !== prefix || number === undefined || key === undefined) return undefined;
  const parsed = Number.parseInt(number, 36);
  return Number.isSafeInteger(parsed) ? { number: parsed, key } : undefined;
};

const REPLACED = '[address]';
/** The @ of an address as plain text, and as URLs, JSON and HTML encode it. */
const AT_SIGN = /@|%40|\\u0040|&#(?:0*64|x0*40)|&commat/i;
/** A quoted local part may contain characters that otherwise end a word. */
const QUOTED = /"[^"]*"(?=@)/g;
const WORD = /[^\s"'<>()[\],;:]+/g;

/**
 * The beginning of an answer, as it is stored. An endpoint may echo what it was sent, and an address must not outlive
 * its email that way: each word with an @ is replaced, and so is the last word of a text that was cut, which may be the
 * beginning of an address.
 */
export const keptAnswer = (text: string, bytesMax: number): string => {
  const isCut = Buffer.byteLength(text) >= bytesMax;
  const replaced = text
    .replace(QUOTED, '')
    .replace(WORD, (word, at: number, whole: string) =>
      AT_SIGN.test(word) || (isCut && at + word.length === whole.length) ? REPLACED : word,
    );
  return replaced.slice(0, bytesMax);
};

/** The attempt that was answered. */
type Answered = Readonly<{ eventId: string; attempt: number }>;

const boundTo = ({ eventId, attempt }: Answered): string => `sealpost webhook answer\n${eventId}\n${attempt}`;

/**
 * An endpoint may repeat any text that it was sent, so that its answer is sealed under each of the keys that open that
 * text. Out: null if the answer is empty, or one of the keys is destroyed.
 */
export const sealAnswer = (
  found: ReadonlyMap<string, SealingKey>,
  answered: Answered,
  { answer, keys }: Readonly<{ answer: string | null; keys: readonly string[] }>,
): SealedAnswer | null => {
  if (answer === null || answer === '') return null;
  let sealed: Uint8Array = Buffer.from(answer);
  for (const id of keys) {
    const key = found.get(id);
    if (key === undefined) return null;
    sealed = key.seal(sealed, boundTo(answered));
  }
  return { keys: [...keys], sealed: Buffer.from(sealed).toString('base64') };
};

/** undefined if one of its keys is destroyed, or it is damaged. */
const openAnswer = (
  found: ReadonlyMap<string, SealingKey>,
  answered: Answered,
  { keys, sealed }: SealedAnswer,
): string | undefined => {
  let plain: Uint8Array = Buffer.from(sealed, 'base64');
  for (const id of keys.toReversed()) {
    const key = found.get(id);
    if (key === undefined) return undefined;
    try {
      plain = key.open(plain, boundTo(answered));
    } catch {
      return undefined;
    }
  }
  return Buffer.from(plain).toString();
};

const JITTER_SHARE = 0.1;
const RETRY_AFTER_MAX_MS = 60 * 60_000;
/** A subscription whose attempts have all failed for that long is disabled, if failures were spread over that time. */
export const FAILING_MAX_MS = 5 * DAY_MS;
/** Failures closer together count as one. */
const FAILURES_APART_MS = 12 * HOUR_MS;
const FAILURES_MIN = 5;

type Failing = Pick<WebhookProgress, 'failingSince' | 'failures'>;

/** In: the moments of attempts that failed, in their order. */
export const failingAfter = ({ failingSince, failures }: Failing, failedAt: readonly string[]): Failing => {
  const first = failedAt[0];
  if (first === undefined) return { failingSince, ...(failures && { failures }) };
  const counted = failedAt.reduce(
    ({ count, last }, at) =>
      Date.parse(at) - Date.parse(last) >= FAILURES_APART_MS ? { count: count + 1, last: at } : { count, last },
    failures ?? { count: 1, last: first },
  );
  return { failingSince: failingSince ?? first, failures: counted };
};

/**
 * `enabledAgainAt`: failures before it count, time does not. `unwatchedMs`: for how long since that moment the service
 * did not run.
 */
export const isDead = (
  { failingSince, failures }: Failing,
  {
    nowMs,
    enabledAgainAt = '',
    unwatchedMs,
  }: Readonly<{ nowMs: number; enabledAgainAt?: string | undefined; unwatchedMs: (sinceMs: number) => number }>,
): boolean => {
  if (failingSince === null || failures === undefined || failures.count < FAILURES_MIN) return false;
  const sinceMs = Date.parse(enabledAgainAt > failingSince ? enabledAgainAt : failingSince);
  return nowMs - sinceMs - unwatchedMs(sinceMs) >= FAILING_MAX_MS;
};

/** An attempt that failed at `nowMs`, and the pause that the receiver asked for. */
type FailedAttempt = Answered & Readonly<{ nowMs: number; retryAfterMs: number }>;

/**
 * When the next attempt follows; undefined if none does. `delaysMs`: the pauses before the second, third, … attempt.
 * The jitter, less than a tenth of the pause, is derived from the id of the event; `retryAfterMs` can only make the
 * pause longer.
 */
export const nextAttemptMs = (
  { attempt, eventId, nowMs, retryAfterMs }: FailedAttempt,
  delaysMs: readonly number[],
): number | undefined => {
  const delayMs = delaysMs[attempt - 1];
  if (delayMs === undefined) return undefined;
  const share = hash('sha256', `${eventId}\n${attempt}`, 'buffer').readUInt32BE(0) / 0x1_0000_0000;
  const pauseMs = delayMs + Math.floor(delayMs * JITTER_SHARE * share);
  return nowMs + Math.max(pauseMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS));
};

/** In: a Retry-After header (RFC 9110, section 10.2.3). Out: the pause it asks for; 0 if it cannot be read. */
export const retryAfterMs = (header: string | undefined, nowMs: number): number => {
  if (header === undefined) return 0;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs);
};

const SECRET_PREFIX = 'whsec_';
export const SECRET_BYTES = 32;

/** In: 32 random bytes. */
export const formatSecret = (bytes: Buffer): string => `${SECRET_PREFIX}${bytes.toString('base64')}`;

/** The keys of a secret. They are made once for many signatures, because making them costs more than a signature. */
export type SigningKeys = Readonly<{ contract: KeyObject; standard: KeyObject }>;

export const signingKeysOf = (secret: string): SigningKeys => ({
  contract: createSecretKey(secret, 'utf8'),
  standard: createSecretKey(secret.slice(SECRET_PREFIX.length), 'base64'),
});

/** `keys`: those of the current secret, then those of the earlier one while both sign. */
type ToSign = Readonly<{
  keys: readonly [SigningKeys, ...SigningKeys[]];
  id: string;
  previousId: string | null;
  kind: string;
  body: string;
  nowMs: number;
}>;

/**
 * The headers of a delivery: those of the contract, and those of Standard Webhooks. The contract's signature is keyed
 * by the text of the secret, the Standard one by the bytes it encodes. While two secrets sign, the Standard header
 * carries both signatures, and the contract's is by the older secret.
 */
export const deliveryHeaders = ({
  keys,
  id,
  previousId,
  kind,
  body,
  nowMs,
}: ToSign): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const oldest = keys.at(-1)!;
  const contract = createHmac('sha256', oldest.contract).update(`${timestamp}.${body}`).digest('hex');
  const standard = keys.map(
    (key) => `v1,${createHmac('sha256', key.standard).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  );
  return {
    'content-type': 'application/json',
    'user-agent': 'sealpost',
    'x-service-signature': `v1=${contract}`,
    'x-service-timestamp': timestamp,
    'x-service-event-id': id,
    'x-service-event-type': kind,
    ...(previousId === null ? {} : { 'x-service-previous-event-id': previousId }),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard.join(' '),
  };
};

/** One attempt as the API shows it. `nextRetryAt` is present only if the event is tried again automatically. */
export type DeliveryListing = {
  id: string;
  eventId: string;
  event: string;
  status: 'success' | 'failed';
  attempt: number;
  statusCode?: number;
  /** In milliseconds. */
  responseTime: number;
  attemptedAt: string;
  error?: string;
  nextRetryAt?: string;
  /** The beginning of the answer. */
  response?: string;
};

/** The attempt without its answer. */
export const deliveryListing = (outcome: WebhookOutcome): DeliveryListing => ({
  id: deliveryId(outcome.number, outcome.key),
  eventId: webhookEventId(outcome.number, outcome.key),
  event: outcome.kind,
  status: outcome.result,
  attempt: outcome.attempt,
  ...(outcome.statusCode === undefined ? {} : { statusCode: outcome.statusCode }),
  responseTime: outcome.responseMs,
  attemptedAt: outcome.attemptedAt,
  ...(outcome.error === undefined ? {} : { error: outcome.error }),
  ...(outcome.nextRetryAt === undefined ? {} : { nextRetryAt: outcome.nextRetryAt }),
});

/** `answer`: absent where nothing of it is to be shown. */
export type AnsweredListing = Readonly<{ item: DeliveryListing; answer: SealedAnswer | null | undefined }>;

/** Opens the answers of attempts, with the keys that still exist. */
export const withAnswers = async (
  keys: Pick<Keys, 'getMany'>,
  listed: readonly AnsweredListing[],
): Promise<DeliveryListing[]> => {
  const ids = new Set(listed.flatMap(({ answer }) => answer?.keys ?? []));
  const found = ids.size === 0 ? new Map<string, SealingKey>() : await keys.getMany([...ids]);
  return listed.map(({ item, answer }) => {
    const response = answer ? openAnswer(found, item, answer) : undefined;
    return response === undefined ? item : { ...item, response };
  });
};

/** An event of the log that subscriptions may get, with the recipient if it is about one. */
export type WebhookCause = Readonly<{
  eventId: string;
  requestId: string;
  at: string;
  recipients: readonly TimelineRecipient[];
}>;

/** One attempt, and the place of its outcome in the log. */
export type TrailAttempt = Readonly<{
  webhook: string;
  position: number;
  index: number;
  item: DeliveryListing;
  cause: WebhookCause;
}>;

/**
 * The attempts to deliver the events of one email. `isComplete`: false if there are more than one query looks through.
 */
export type WebhookTrail = Readonly<{ attempts: readonly TrailAttempt[]; isComplete: boolean }>;

export const placedAttempt = ({ webhook, position, index, item, cause }: TrailAttempt): Placed => {
  const { id, eventId, event, status, attempt, statusCode, responseTime, attemptedAt, error, nextRetryAt } = item;
  const entry: TimelineEntry = {
    id: `${id}.${attempt}`,
    kind: 'WebhookAttempted',
    stream: `webhook-${webhook}`,
    at: attemptedAt,
    actor: 'processor:deliver-webhooks',
    cause: { kind: 'event', id: cause.eventId },
    requestId: cause.requestId,
    durationMs: responseTime,
    recipients: [...cause.recipients],
    details: {
      deliveryId: id,
      eventId,
      event,
      attempt,
      status,
      statusCode: statusCode ?? null,
      ...(error === undefined ? {} : { error }),
      ...(nextRetryAt === undefined ? {} : { nextRetryAt }),
    },
  };
  return { position, index, entry };
};
