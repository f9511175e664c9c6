/** Tools of the readers of all providers: JSON within bounds, secrets, ids, times, and reasons of bounces. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { classifyBounce } from '../../../domain/email/bounce-rules.js';
import { isoTime } from '../../../domain/core/time.js';
import { parseEmailId, type EmailId } from '../../../domain/core/ids.js';
import {
  ECHO_NAME,
  EVENT_CHARS_KEPT_MAX,
  PROVIDER_EVENTS_MAX,
  type ProviderCall,
  type ProviderEvent,
  type ProviderNews,
  type ProviderReading,
  type ProviderRefusal,
} from '../../../domain/ports/provider-feedback.js';
import type { BounceType, ReportedRecipient } from '../../../domain/ports/report-reader.js';

export type Json = Readonly<Record<string, unknown>>;
export type Refused = Extract<ProviderReading, { kind: 'refused' }>;

/** A call whose signature is older is refused: SendGrid posts a batch again for 24 hours, the others for less. */
export const SIGNED_AGO_MAX_MS = 25 * 3_600_000;
/** How far the clock of a provider may be ahead. */
const SIGNED_AHEAD_MAX_MS = 10 * 60_000;

/** Events of providers nest five deep. */
const DEPTH_MAX = 32;
const TEXT_CHARS_MAX = 2_000;
const ADDRESS_CHARS_MAX = 320;
const ID_CHARS_MAX = 256;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export const refused = (reason: ProviderRefusal, message: string): Refused => ({ kind: 'refused', reason, message });
export const malformed = (message: string): ProviderReading => ({ kind: 'malformed', message });

/** The first value of a header; undefined if the call has none. `name` in lower case. */
export const headerOf = (headers: ProviderCall['headers'], name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
};

/** Compares two secrets in a time that tells neither where they differ nor how long they are. */
export const isSame = (given: string, expected: string): boolean => timingSafeEqual(digest(given), digest(expected));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const BASIC = /^Basic +([A-Za-z0-9+/_-]+={0,2})$/i;
const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/**
 * Whether the headers carry the secret: as the password of basic authentication (which a user name and a password in
 * the URL become), as a bearer token, or in X-Sealpost-Token. Out: undefined if they do.
 */
export const tokenFault = (headers: ProviderCall['headers'], token: string): Refused | undefined => {
  const authorization = headerOf(headers, 'authorization') ?? '';
  const basic = BASIC.exec(authorization)?.[1];
  const pair = basic === undefined ? undefined : Buffer.from(basic, 'base64').toString();
  const given = [
    pair?.slice(pair.indexOf(':') + 1),
    BEARER.exec(authorization)?.[1],
    headerOf(headers, 'x-sealpost-token'),
  ];
  if (given.some((one) => one !== undefined && isSame(one, token))) return undefined;
  return refused(
    'credential',
    'The call lacks the secret of this provider: give it as https://sealpost:<secret>@<host>/…, as a bearer token, or in the header X-Sealpost-Token.',
  );
};

/** In: when a call was signed, in milliseconds. Out: undefined if that is recent enough. */
export const timeFault = (signedAtMs: number, nowMs: number): Refused | undefined =>
  nowMs - signedAtMs <= SIGNED_AGO_MAX_MS && signedAtMs - nowMs <= SIGNED_AHEAD_MAX_MS
    ? undefined
    : refused('time', 'The signature of the call is more than 25 hours old, or of a time to come.');

/** In: UTF-8 bytes. Out: the value; undefined if it is no JSON, or nests too deep. */
export const jsonIn = (bytes: Uint8Array): unknown => {
  if (nestsDeep(bytes)) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
};

/** Counts the brackets outside of texts, before anything is built of them. */
const nestsDeep = (bytes: Uint8Array): boolean => {
  let [depth, isText] = [0, false];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      if (depth > DEPTH_MAX) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return false;
};

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The member as an object; an empty one if it is none. */
export const objectIn = (value: Json, name: string): Json => {
  const member = value[name];
  return isObject(member) ? member : {};
};

/** The member as a list; an empty one if it is none. */
export const listIn = (value: Json, name: string): readonly unknown[] => {
  const member = value[name];
  return Array.isArray(member) ? (member as unknown[]) : [];
};

/** The member as a text: a number is written out, and anything else is undefined. Cut off after 2,000 characters. */
export const textIn = (value: Json, name: string): string | undefined => {
  const member = value[name];
  if (typeof member === 'number') return String(member);
  return typeof member === 'string' && member !== '' ? member.slice(0, TEXT_CHARS_MAX) : undefined;
};

const SHAPE = /^[^\s@<>"]{1,200}@[^\s@<>"]{1,255}$/;

/** An address, alone or in angle brackets after a name. */
export const addressIn = (value: unknown): string | undefined => {
  if (typeof value !== 'string' || value.length > 2 * ADDRESS_CHARS_MAX) return undefined;
  const address = (/<([^<>]*)>\s*$/.exec(value)?.[1] ?? value).trim();
  return SHAPE.test(address) ? address : undefined;
};

/** A Message-ID of this service begins with the id of its email. */
const ID = /^\s*<?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:@[^\s<>]{1,255})?>?\s*$/i;

/** In: the id of an email, or the Message-ID of its mail. */
export const emailIdIn = (value: unknown): EmailId | undefined =>
  typeof value === 'string'
    ? parseEmailId(ID.exec(value.slice(0, TEXT_CHARS_MAX))?.[1]?.toLowerCase() ?? '')
    : undefined;

/** In: a value that a provider repeats from a header of ours: the id itself, or JSON with it, as a text or read. */
export const echoedId = (value: unknown): EmailId | undefined => {
  if (isObject(value)) return emailIdIn(value[ECHO_NAME]);
  if (typeof value !== 'string') return undefined;
  const read = value.trimStart().startsWith('{') ? jsonIn(Buffer.from(value.slice(0, TEXT_CHARS_MAX))) : undefined;
  return isObject(read) ? emailIdIn(read[ECHO_NAME]) : emailIdIn(value);
};

/** In: seconds since 1970, with a fraction or not, or ISO 8601. */
export const momentIn = (value: unknown): string | undefined => {
  const seconds = typeof value === 'string' && /^\d{1,11}(\.\d+)?$/.test(value) ? Number(value) : value;
  const ms = typeof seconds === 'number' ? seconds * 1_000 : typeof seconds === 'string' ? Date.parse(seconds) : NaN;
  return Number.isFinite(ms) && ms >= 0 && ms < MOMENT_MAX ? isoTime(Math.trunc(ms)) : undefined;
};

const MOMENT_MAX = Date.UTC(2200, 0, 1);

export type BounceReason = Readonly<{ bounceType: BounceType; bounceSubType: string }>;

export const hard = (bounceSubType: string): BounceReason => ({ bounceType: 'hard', bounceSubType });
export const soft = (bounceSubType: string): BounceReason => ({ bounceType: 'soft', bounceSubType });
export const blocked = (bounceSubType: string): BounceReason => ({ bounceType: 'blocked', bounceSubType });
/** A permanent refusal without a reason: the second one suppresses the address. */
export const HARD = hard('recipient-refused');
export const SOFT = soft('undetermined');

const STATUS = /\b[245]\.\d{1,3}\.\d{1,3}\b/;

export const nothing: ProviderNews = { kind: 'nothing' };
export const unknown: ProviderNews = { kind: 'unknown' };
export const complaint: ProviderNews = { kind: 'complaint', feedbackType: 'abuse' };
export const unsubscribed: ProviderNews = { kind: 'unsubscribe', ofList: false };
export const delivered: ProviderNews = {
  kind: 'report',
  report: { action: 'delivered', ...SOFT, enhancedCode: null, text: '' },
};
export const delayed: ProviderNews = {
  kind: 'report',
  report: { action: 'delayed', ...SOFT, enhancedCode: null, text: '' },
};

type Words = Readonly<{ status?: string | undefined; text?: string | undefined; isVerdict?: boolean }>;

/**
 * A bounce. In: the class that the provider gave it, and the words of the host. The words decide the reason, as in a
 * delivery report; an address counts as bad only if the provider says so too. `isVerdict`: the words are the provider's
 * own, and say no more than the class.
 */
export const failed = (given: BounceReason, { status, text = '', isVerdict }: Words): ProviderNews => {
  const words = text.replace(/^[\w-]{1,20}\s*;\s*/, '').slice(0, TEXT_CHARS_MAX);
  const enhancedCode = STATUS.exec(status ?? '')?.[0] ?? STATUS.exec(words)?.[0] ?? null;
  const report: Omit<ReportedRecipient, 'addresses'> = {
    action: 'failed',
    ...(isVerdict === true ? given : reasonOf(given, { status: enhancedCode, words })),
    enhancedCode,
    text: words,
  };
  return { kind: 'report', report };
};

const reasonOf = (
  given: BounceReason,
  { status, words }: Readonly<{ status: string | null; words: string }>,
): BounceReason => {
  const said = classifyBounce({ status, text: words, isReply: true });
  if (said.bounceType === SOFT.bounceType && said.bounceSubType === SOFT.bounceSubType) return given;
  if (said.bounceType !== 'hard') return said;
  if (given.bounceType !== 'hard') return given;
  return said.bounceSubType === HARD.bounceSubType ? given : said;
};

/** The event as JSON for an event that is kept. It is cut off before a text, so that no text is cut in two. */
const keptText = (event: unknown): string => {
  const text = JSON.stringify(event);
  return text.length <= EVENT_CHARS_KEPT_MAX
    ? text
    : text.slice(0, Math.max(0, text.lastIndexOf('"', EVENT_CHARS_KEPT_MAX)));
};

type Told = Omit<ProviderEvent, 'payload' | 'id'> & Readonly<{ id: readonly (string | undefined)[] }>;

/** In: an event as read, with the parts of its id, and as it came. */
export const told = ({ id, ...event }: Told, raw: unknown): ProviderEvent => ({
  ...event,
  id: id.map((part) => (part ?? '').slice(0, ID_CHARS_MAX)).join(' '),
  payload: event.news.kind === 'nothing' ? '' : keptText(raw),
});

/** In: a list of events, or one. Out: each as read. What is no object, and more than `PROVIDER_EVENTS_MAX`, is refused. */
export const eachOf = (value: unknown, read: (event: Json) => ProviderEvent): ProviderReading => {
  const list: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : [value];
  if (list.length > PROVIDER_EVENTS_MAX) return malformed(`A call may have ${PROVIDER_EVENTS_MAX} events.`);
  return list.every(isObject)
    ? { kind: 'events', events: list.map(read) }
    : malformed('The body must be a JSON object, or a list of objects.');
};
