/**
 * Feedback on an email after a host has taken it: the return path, reports and complaints, and which bounces go to the
 * suppression list.
 */
import { timingSafeEqual } from 'node:crypto';
import { pendingRecipients, type Email, withoutOthers } from './state.js';
import { signOfBounce, type BounceSign } from './bounce-rules.js';
import type { EmailEvent } from './events.js';
import { type BounceType, hasIt } from './status.js';
import { parseEmailId, type EmailId, uuidOfBytes } from '../core/ids.js';
import type { Keys } from '../ports/keys.js';
import { DomainError } from '../core/errors.js';
import { simulationOf } from './simulator.js';
import { ECHO_HEADER, ECHO_NAME, type FeedbackProvider } from '../ports/provider-feedback.js';
import type { JsonObject } from '../core/json.js';
import type { ReportedRecipient } from '../ports/report-reader.js';
import { withAsciiDomain } from '../../shared/addresses.js';

/** `toldBy`: HMAC of the provider's id of the event; absent for reports that came otherwise. */
type Told = Readonly<{ toldBy?: string }>;

export type ReportCommand =
  | (Readonly<{ type: 'RecordReport'; at: string; recipients: readonly ReportedRecipient[] }> & Told)
  | (Readonly<{ type: 'RecordComplaint'; at: string; feedbackType: string; addresses: readonly string[] }> & Told)
  /**
   * A provider's event that is not understood. `recipient`: the place in the email; undefined if it names no recipient
   * of it.
   */
  | Readonly<{
      type: 'KeepProviderEvent';
      at: string;
      provider: string;
      toldBy: string;
      recipient: number | undefined;
      payload: string;
    }>;

/** Events of providers that one email keeps; further ones are counted only. */
const EVENTS_KEPT_MAX = 20;

/**
 * The envelope sender of a mail. It contains the email id and an HMAC of it, so that nobody without the master key can
 * forge one.
 */
export type ReturnPath = Readonly<{
  senderOf: (id: EmailId) => string;
  /** undefined: the address is not ours (another domain or instance, cut off or forged). */
  emailOf: (address: string) => EmailId | undefined;
}>;

/** A repeated report changes nothing. */
export const recordReport = (
  { at, recipients, toldBy }: CommandOf<'RecordReport'>,
  email: Email,
): readonly EmailEvent[] => {
  if (isGone(email) || isTold(email, toldBy)) return none;
  const addressed = addressesOf(email);
  const failed = new Map<number, ReportedRecipient>();
  const delivered = new Set<number>();
  for (const reported of recipients) {
    const index = placeOf(addressed, reported.addresses);
    if (index === undefined || (reported.action !== 'failed' && reported.action !== 'delivered')) continue;
    if (simulationOf(email, index) !== undefined) continue;
    assertOutcomeRecorded(email, index);
    const status = email.recipientStatuses[index];
    if (reported.action === 'failed' && (status === 'sent' || status === 'delivered')) failed.set(index, reported);
    if (reported.action === 'delivered' && status === 'sent') delivered.add(index);
  }
  // An alias may expand to several mailboxes, one of which has failed.
  const arrived = [...delivered].filter((index) => !failed.has(index));
  const events: EmailEvent[] = [];
  const told = toldBy === undefined ? {} : { toldBy };
  if (arrived.length > 0) events.push({ type: 'EmailDelivered', data: { at, recipients: arrived, ...told } });
  if (failed.size > 0) events.push(bounceReported({ at, failed, told }, email));
  return events;
};

/** Whether that event of a provider is recorded already. */
export const isTold = ({ toldBy = [] }: Pick<Email, 'toldBy'>, id: string | undefined): boolean =>
  id !== undefined && toldBy.includes(id);

/** The place of no recipient: `withoutOthers` then leaves out the addresses of all, if there are several. */
const NOBODY = -1;

/** A repeated event, and one beyond `EVENTS_KEPT_MAX`, changes nothing. */
export const keepProviderEvent = (
  { at, provider, toldBy, recipient, payload }: CommandOf<'KeepProviderEvent'>,
  email: Email,
): readonly EmailEvent[] => {
  if (isGone(email) || isTold(email, toldBy) || (email.eventsKept ?? 0) >= EVENTS_KEPT_MAX) return none;
  const isErased = recipient !== undefined && (email.content?.recipients[recipient] ?? null) === null;
  if (isErased) return none;
  return [
    {
      type: 'ProviderEventKept',
      data: { at, provider, toldBy, recipients: recipient === undefined ? [] : [recipient] },
      sealed:
        recipient === undefined
          ? { payloads: [], payload: withoutOthers(email, NOBODY, payload) }
          : { payloads: [withoutOthers(email, recipient, payload)] },
    },
  ];
};

/**
 * The place of the recipient with that address; undefined if the email was not sent to it. The domain may be written in
 * A-labels.
 */
export const recipientAt = (email: Email, address: string): number | undefined => {
  const wanted = folded(withAsciiDomain(address));
  const place = addressesOf(email).findIndex((one) => one !== null && folded(withAsciiDomain(one)) === wanted);
  return place < 0 ? undefined : place;
};

export const recordComplaint = (
  { at, feedbackType, addresses, toldBy }: CommandOf<'RecordComplaint'>,
  email: Email,
): readonly EmailEvent[] => {
  if (isGone(email) || isTold(email, toldBy)) return none;
  const addressed = addressesOf(email);
  const named = new Set(
    addresses.flatMap((address) => {
      const index = addressed.indexOf(folded(address));
      return index < 0 ? [] : [index];
    }),
  );
  if (named.size === 0 && addressed.length === 1) named.add(0);
  for (const index of named) assertOutcomeRecorded(email, index);
  const recipients = [...named].filter((index) => {
    if (simulationOf(email, index) !== undefined) return false;
    const status = email.recipientStatuses[index];
    return status === 'sent' || status === 'delivered';
  });
  const isNew =
    named.size > 0 ? recipients.length > 0 : email.complainedAt === undefined && email.recipientStatuses.some(hasIt);
  if (!isNew) return none;
  const told = toldBy === undefined ? {} : { toldBy };
  return [{ type: 'EmailComplained', data: { at, feedbackType, recipients, ...told } }];
};

/** Marks suppressed recipients who still wait for an attempt; all others stay as they are. */
export const suppressRecipients = (
  { at, recipients }: Readonly<{ at: string; recipients: readonly number[] }>,
  email: Email,
): readonly EmailEvent[] => {
  const left = pendingRecipients(email);
  const pending = recipients.filter((index) => left.includes(index));
  if (pending.length === 0) return [];
  return [{ type: 'RecipientsSuppressed', data: { at, recipients: pending, priority: email.accepted.priority } }];
};

/** Evidence of the last reply or report against the address of a recipient. */
export const signOfRecipient = (
  { recipientStatuses, replies }: Pick<Email, 'recipientStatuses' | 'replies'>,
  index: number,
): BounceSign => {
  const [status, reply] = [recipientStatuses[index], replies[index]];
  if (status === 'complained') return 'proved';
  return status === 'bounced' && reply !== undefined ? signOfBounce(reply) : 'none';
};

/**
 * Recipients who hard-bounced or complained and whose addresses do not know of it yet. Simulated results do not count.
 */
export const bouncesToNote = (email: Email): readonly number[] => {
  const { recipientStatuses, replies, bouncesNoted = [], archivedAt, deletedAt } = email;
  if (archivedAt !== null || deletedAt !== null) return [];
  return recipientStatuses.flatMap((_, index) => {
    if (replies[index]?.simulated === true) return [];
    return signOfRecipient(email, index) !== 'none' && !bouncesNoted.includes(index) ? [index] : [];
  });
};

/** Whether an outcome may put an address on the list. */
export const hasHardBounce = (
  outcomes: readonly Readonly<{ result: string; rule: string; simulated?: true }>[],
): boolean =>
  outcomes.some(
    ({ result, rule, simulated }) =>
      result === 'bounced' && signOfBounce({ rule }) !== 'none' && simulated === undefined,
  );

/** Whether a report may put an address on the list. */
export const hasHardReport = (bounces: readonly Readonly<{ bounceType: BounceType }>[]): boolean =>
  bounces.some(({ bounceType }) => bounceType === 'hard');

/**
 * The event ends the timer, so it must cover all recipients that are due: if another one came up meanwhile, nothing is
 * recorded.
 */
export const noteBounces = (
  { at, recipients }: Readonly<{ at: string; recipients: readonly number[] }>,
  email: Email,
): readonly EmailEvent[] => {
  const due = bouncesToNote(email);
  const areAllNoted = due.length > 0 && due.every((index) => recipients.includes(index));
  return areAllNoted ? [{ type: 'EmailBouncesNoted', data: { at, recipients: [...due] } }] : [];
};

const PURPOSE = 'return path';
const PREFIX = 'bounce+';
/** 128 bits of the id and 128 of the HMAC. Base32 survives hosts that change the case; the local part has 59 octets. */
const MAC_HEX_CHARS = 32;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const TOKEN = /^[a-z2-7]{52}$/;

/** `domain` in lower case. */
export const openReturnPath = (domain: string, keys: Pick<Keys, 'fingerprint'>): ReturnPath => {
  const macOf = (id: string): string => keys.fingerprint(PURPOSE, id).slice(0, MAC_HEX_CHARS);
  const suffix = `@${domain}`;
  const senderOf = (id: EmailId): string =>
    `${PREFIX}${toBase32(Buffer.from(id.replaceAll('-', '') + macOf(id), 'hex'))}@${domain}`;
  return {
    senderOf,
    emailOf: (address) => {
      const given = address.trim().replace(/^<|>$/g, '').toLowerCase();
      if (!given.startsWith(PREFIX) || !given.endsWith(suffix)) return undefined;
      const token = given.slice(PREFIX.length, -suffix.length);
      if (!TOKEN.test(token)) return undefined;
      const id = parseEmailId(uuidOfBytes(fromBase32(token)));
      return id !== undefined && timingSafeEqual(Buffer.from(senderOf(id)), Buffer.from(given)) ? id : undefined;
    },
  };
};

const toBase32 = (bytes: Buffer): string => {
  let text = '';
  let [bits, held] = [0, 0];
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xfff;
    held += 8;
    for (; held >= 5; held -= 5) text += ALPHABET[(bits >> (held - 5)) & 31];
  }
  return held === 0 ? text : text + ALPHABET[(bits << (5 - held)) & 31];
};

const fromBase32 = (text: string): Buffer => {
  const bytes: number[] = [];
  let [bits, held] = [0, 0];
  for (const letter of text) {
    bits = ((bits << 5) | ALPHABET.indexOf(letter)) & 0xfff;
    held += 5;
    if (held < 8) continue;
    held -= 8;
    bytes.push((bits >> held) & 0xff);
  }
  return Buffer.from(bytes);
};

type CommandOf<Type extends ReportCommand['type']> = Extract<ReportCommand, { type: Type }>;

const none: readonly EmailEvent[] = [];

/** Whether the personal data of the email is destroyed or about to be, so that no report is recorded. */
export const isGone = ({ archivedAt, deletedAt, content }: Email): boolean =>
  archivedAt !== null || deletedAt !== null || content === undefined;

type Failed = Readonly<{ at: string; failed: ReadonlyMap<number, ReportedRecipient>; told: Told }>;

const bounceReported = ({ at, failed, told }: Failed, email: Email): EmailEvent => ({
  type: 'EmailBounceReported',
  data: {
    at,
    bounces: [...failed].map(([recipient, { bounceType, bounceSubType, enhancedCode }]) => ({
      recipient,
      bounceType,
      bounceSubType,
      enhancedCode,
    })),
    ...told,
  },
  sealed: { replies: [...failed].map(([recipient, { text }]) => withoutOthers(email, recipient, text)) },
});

/** The whole address in lower case: no host is known that treats the case as significant. */
const folded = (address: string): string => address.trim().toLowerCase();

/** null for erased recipients. */
const addressesOf = ({ content }: Email): readonly (string | null)[] =>
  (content?.recipients ?? []).map((recipient) => recipient && folded(recipient.email));

/**
 * If the email has one recipient, a report about an unknown address is about it: a forwarded mail fails under another
 * address.
 */
const placeOf = (addressed: readonly (string | null)[], addresses: readonly string[]): number | undefined => {
  for (const address of addresses) {
    const index = addressed.indexOf(folded(address));
    if (index >= 0) return index;
  }
  return addressed.length === 1 ? 0 : undefined;
};

/** A report may come before the outcome of the attempt is recorded. */
const assertOutcomeRecorded = ({ status, recipientStatuses }: Email, index: number): void => {
  if (status === 'processing' && recipientStatuses[index] === 'queued') {
    throw new DomainError(
      'EMAIL_IN_PROGRESS',
      'This email is being delivered right now; send the report again in a minute.',
      {
        retryAfterS: 60,
      },
    );
  }
};

// Headers by which providers repeat the id of an email in their events. A mail has them only for the providers whose
// events are taken.

type Header = Readonly<{ name: string; value: string }>;

/** `within`: the header holds JSON, and the id stands in this object of it; absent: the header holds the id alone. */
type Echo = Readonly<{ name: string; within?: readonly string[] }>;

const echoes: Readonly<Record<FeedbackProvider, Echo>> = {
  ses: { name: ECHO_HEADER },
  postmark: { name: `X-PM-Metadata-${ECHO_NAME}` },
  sendgrid: { name: 'X-SMTPAPI', within: ['unique_args'] },
  mailgun: { name: 'X-Mailgun-Variables', within: [] },
  brevo: { name: 'X-Mailin-custom', within: [] },
  mailjet: { name: 'X-MJ-CustomID' },
};

/**
 * The headers of a mail for the providers. In: the headers that it has. A header of the caller that holds JSON keeps its
 * other members.
 */
export const echoHeaders = (
  headers: readonly Header[],
  providers: readonly FeedbackProvider[],
  id: EmailId,
): readonly Header[] =>
  providers.map((provider) => {
    const { name, within } = echoes[provider];
    if (within === undefined) return { name, value: id };
    return { name, value: withId(headers.find((one) => isNamed(one.name, name))?.value, within, id) };
  });

/**
 * Whether a header of that name is replaced by one for the providers, so that no caller can give the id of another email.
 */
export const isEchoHeader = (name: string, providers: readonly FeedbackProvider[]): boolean =>
  providers.some((provider) => isNamed(name, echoes[provider].name));

const isNamed = (name: string, echo: string): boolean => name.toLowerCase() === echo.toLowerCase();

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const withId = (given: string | undefined, within: readonly string[], id: EmailId): string => {
  const root = objectOf(given);
  const [inner] = within;
  const members = inner === undefined ? root : isObject(root[inner]) ? root[inner] : {};
  const own = { ...members, [ECHO_NAME]: id };
  // With spaces between the members a long value can be folded.
  const json = JSON.stringify(inner === undefined ? own : { ...root, [inner]: own }, undefined, 1);
  // Escaped text needs no encoded words, which would not be JSON.
  return json
    .replace(/\n */g, ' ')
    .replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
};

const objectOf = (given: string | undefined): JsonObject => {
  try {
    const value: unknown = JSON.parse(given ?? '{}');
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
};
