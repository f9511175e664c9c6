/** What the suppression list is to an email: recipients that are not attempted, and bounces and complaints that put addresses on it. */
import { pendingRecipients } from './copies.js';
import type { EmailEvent } from './events.js';
import type { Email, RecipientReply } from './state.js';
import type { BounceType } from './email-status.js';

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
