/** What is heard of an email after the host has taken it: delivery reports and complaints. */
import { DomainError } from '../core/errors.js';
import type { EmailEvent } from './events.js';
import { withoutOthers } from './quoting.js';
import type { Email } from './state.js';
import { simulationOf } from './simulator.js';
import { hasIt } from './email-status.js';
import type { ReportedRecipient } from '../ports/reported-recipient.js';

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
