/** What is heard of an email after the host has taken it: delivery reports and complaints. */
import { timingSafeEqual } from 'node:crypto';
import { pendingRecipients, type Email, type RecipientReply, withoutOthers } from './state.js';
import type { EmailEvent } from './events.js';
import { type BounceType, hasIt } from './status.js';
import { parseEmailId, type EmailId } from '../core/ids.js';
import type { Keys } from '../ports/keys.js';
import { uuidOfBytes } from '../core/json.js';
import { DomainError } from '../core/errors.js';
import { simulationOf } from './simulator.js';
import type { ReportedRecipient } from '../ports/report-reader.js';

/* What the suppression list is to an email: recipients that are not attempted, and bounces and complaints that put addresses on it. */

/** Told of recipients to whom the team does not write; those who have it, or will not get it anyway, are left as they are. */
export const suppressRecipients = (
  { at, recipients }: Readonly<{ at: string; recipients: readonly number[] }>,
  email: Email,
): readonly EmailEvent[] => {
  const left = pendingRecipients(email);
  const pending = recipients.filter((index) => left.includes(index));
  if (pending.length === 0) return [];
  return [{ type: 'RecipientsSuppressed', data: { at, recipients: pending, priority: email.accepted.priority } }];
};

/** A full mailbox takes mail again once it is emptied, however its host says so. */
const NOT_FOR_GOOD = 'mailbox-full';

/** A report says whether the address itself is of no use; a reply has bounced only where it blames the recipient for good. */
const isForGood = ({ rule, bounceType }: RecipientReply): boolean =>
  bounceType === undefined ? rule !== NOT_FOR_GOOD : bounceType === 'hard';

/** The recipients who bounced for good or have complained, and whose addresses the suppression list has not been told of. What was simulated says nothing of an address. */
export const bouncesToNote = ({ recipientStatuses, replies, bouncesNoted = [], archivedAt, deletedAt }: Email): readonly number[] => {
  if (archivedAt !== null || deletedAt !== null) return [];
  return recipientStatuses.flatMap((status, index) => {
    const reply = replies[index];
    if (reply?.simulated === true) return [];
    const counts = status === 'complained' || (status === 'bounced' && reply !== undefined && isForGood(reply));
    return counts && !bouncesNoted.includes(index) ? [index] : [];
  });
};

/** Whether an outcome may put an address on the list. */
export const hasHardBounce = (outcomes: readonly Readonly<{ result: string; rule: string; simulated?: true }>[]): boolean =>
  outcomes.some(({ result, rule, simulated }) => result === 'bounced' && rule !== NOT_FOR_GOOD && simulated === undefined);

/** Whether a report may put an address on the list. */
export const hasHardReport = (bounces: readonly Readonly<{ bounceType: BounceType }>[]): boolean =>
  bounces.some(({ bounceType }) => bounceType === 'hard');

/** Nothing where one has come to it meanwhile: the event ends the timer, so that it says of all that are due. */
export const noteBounces = (
  { at, recipients }: Readonly<{ at: string; recipients: readonly number[] }>,
  email: Email,
): readonly EmailEvent[] => {
  const due = bouncesToNote(email);
  const areAllTold = due.length > 0 && due.every((index) => recipients.includes(index));
  return areAllTold ? [{ type: 'EmailBouncesNoted', data: { at, recipients: [...due] } }] : [];
};

/* The envelope sender of a mail: it names the email to whoever has the master key, and can be made up by nobody else. */

export type ReturnPath = Readonly<{
  senderOf: (id: EmailId) => string;
  /** undefined where the address is none of ours: another domain, another instance, cut short or made up. */
  emailOf: (address: string) => EmailId | undefined;
}>;

const PURPOSE = 'return path';
const PREFIX = 'bounce+';
/** 128 bits each: of the id, and of the HMAC of it. In letters that survive a host that changes their case, the local part has 59 octets. */
const MAC_HEX_CHARS = 32;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const TOKEN = /^[a-z2-7]{52}$/;

/** `domain` in lower case. */
export const openReturnPath = (domain: string, keys: Pick<Keys, 'fingerprint'>): ReturnPath => {
  const macOf = (id: string): string => keys.fingerprint(PURPOSE, id).slice(0, MAC_HEX_CHARS);
  const suffix = `@${domain}`;
  const senderOf = (id: EmailId): string => `${PREFIX}${toBase32(Buffer.from(id.replaceAll('-', '') + macOf(id), 'hex'))}@${domain}`;
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

export type ReportCommand =
  | Readonly<{ type: 'RecordReport'; at: string; recipients: readonly ReportedRecipient[] }>
  | Readonly<{ type: 'RecordComplaint'; at: string; feedbackType: string; addresses: readonly string[] }>;

type Of<Type extends ReportCommand['type']> = Extract<ReportCommand, { type: Type }>;

const none: readonly EmailEvent[] = [];

/** What is personal of it is gone or going, so that nothing more is recorded of it. */
export const isGone = ({ archivedAt, deletedAt, content }: Email): boolean =>
  archivedAt !== null || deletedAt !== null || content === undefined;

/** A report told twice finds everything as it says, and changes nothing. */
export const recordReport = ({ at, recipients }: Of<'RecordReport'>, email: Email): readonly EmailEvent[] => {
  if (isGone(email)) return none;
  const addressed = addressesOf(email);
  const failed = new Map<number, ReportedRecipient>();
  const delivered = new Set<number>();
  for (const reported of recipients) {
    const index = placeOf(addressed, reported.addresses);
    if (index === undefined || (reported.action !== 'failed' && reported.action !== 'delivered')) continue;
    if (simulationOf(email, index) !== undefined) continue;
    assertTold(email, index);
    const status = email.recipientStatuses[index];
    if (reported.action === 'failed' && (status === 'sent' || status === 'delivered')) failed.set(index, reported);
    if (reported.action === 'delivered' && status === 'sent') delivered.add(index);
  }
  // An alias may be expanded to several, of which one has failed.
  const arrived = [...delivered].filter((index) => !failed.has(index));
  const events: EmailEvent[] = [];
  if (arrived.length > 0) events.push({ type: 'EmailDelivered', data: { at, recipients: arrived } });
  if (failed.size > 0) events.push(bounceReported(at, failed, email));
  return events;
};

const bounceReported = (at: string, failed: ReadonlyMap<number, ReportedRecipient>, email: Email): EmailEvent => ({
  type: 'EmailBounceReported',
  data: {
    at,
    bounces: [...failed].map(([recipient, { bounceType, bounceSubType, enhancedCode }]) => ({
      recipient,
      bounceType,
      bounceSubType,
      enhancedCode,
    })),
  },
  sealed: { replies: [...failed].map(([recipient, { text }]) => withoutOthers(email, recipient, text)) },
});

export const recordComplaint = ({ at, feedbackType, addresses }: Of<'RecordComplaint'>, email: Email): readonly EmailEvent[] => {
  if (isGone(email)) return none;
  const addressed = addressesOf(email);
  const named = new Set(
    addresses.flatMap((address) => {
      const index = addressed.indexOf(folded(address));
      return index < 0 ? [] : [index];
    }),
  );
  if (named.size === 0 && addressed.length === 1) named.add(0);
  for (const index of named) assertTold(email, index);
  const recipients = [...named].filter((index) => {
    if (simulationOf(email, index) !== undefined) return false;
    const status = email.recipientStatuses[index];
    return status === 'sent' || status === 'delivered';
  });
  const isNew = named.size > 0 ? recipients.length > 0 : email.complainedAt === undefined && email.recipientStatuses.some(hasIt);
  return isNew ? [{ type: 'EmailComplained', data: { at, feedbackType, recipients } }] : none;
};

/** The whole address in lower case: hosts that tell them apart by their case are not known to exist. */
const folded = (address: string): string => address.trim().toLowerCase();

/** null for those who are erased. */
const addressesOf = ({ content }: Email): readonly (string | null)[] =>
  (content?.recipients ?? []).map((recipient) => recipient && folded(recipient.email));

/** A mail to one recipient that was forwarded fails under an address that we have never seen. */
const placeOf = (addressed: readonly (string | null)[], addresses: readonly string[]): number | undefined => {
  for (const address of addresses) {
    const index = addressed.indexOf(folded(address));
    if (index >= 0) return index;
  }
  return addressed.length === 1 ? 0 : undefined;
};

/** A report may be faster than the record of the dialogue that it is about. */
const assertTold = ({ status, recipientStatuses }: Email, index: number): void => {
  if (status === 'processing' && recipientStatuses[index] === 'queued') {
    throw new DomainError('EMAIL_IN_PROGRESS', 'This email is being delivered right now; send the report again in a minute.', {
      retryAfterS: 60,
    });
  }
};
