/** What the suppression list is to an email: recipients that are not attempted, and refusals that put addresses on it. */
import type { EmailEvent } from './events.js';
import type { Email } from './state.js';

/** Told of recipients to whom the team does not write; those who have it, or will not get it anyway, are left as they are. */
export const suppressRecipients = (
  { at, recipients }: Readonly<{ at: string; recipients: readonly number[] }>,
  email: Email,
): readonly EmailEvent[] => {
  const pending = recipients.filter((index) => email.recipientStatuses[index] === 'queued');
  if (pending.length === 0) return [];
  return [{ type: 'RecipientsSuppressed', data: { at, recipients: pending, priority: email.accepted.priority } }];
};

/** A full mailbox takes mail again once it is emptied, however its host says so. */
const NOT_FOR_GOOD = 'mailbox-full';

/** The recipients whose host has refused them for good, and whose addresses the suppression list has not been told of. */
export const bouncesToNote = ({ recipientStatuses, replies, bouncesNoted = [], archivedAt, deletedAt }: Email): readonly number[] => {
  if (archivedAt !== null || deletedAt !== null) return [];
  return recipientStatuses.flatMap((status, index) =>
    status === 'bounced' && replies[index]?.rule !== NOT_FOR_GOOD && !bouncesNoted.includes(index) ? [index] : [],
  );
};

/** Whether an outcome may put an address on the list. */
export const hasHardBounce = (outcomes: readonly Readonly<{ result: string; rule: string }>[]): boolean =>
  outcomes.some(({ result, rule }) => result === 'bounced' && rule !== NOT_FOR_GOOD);

export const noteBounces = (
  { at, recipients }: Readonly<{ at: string; recipients: readonly number[] }>,
  email: Email,
): readonly EmailEvent[] => {
  const left = bouncesToNote(email).filter((index) => recipients.includes(index));
  return left.length === 0 ? [] : [{ type: 'EmailBouncesNoted', data: { at, recipients: left } }];
};
