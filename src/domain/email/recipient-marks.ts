/** How what becomes of recipients moves where their email stands; each function writes into a summary that its caller owns. */
import type { EmailEvent } from './events.js';
import { hasIt, type EmailStatus, type RecipientStatus } from './email-status.js';
import type { Draft, EmailSummary } from './summary-types.js';

export const isErased = ({ erased }: Pick<EmailSummary, 'erased'>, recipient: number): boolean => erased?.includes(recipient) === true;

/** While an email waits only those are `cancelled` in it who are erased. */
export const isAllSuppressed = (statuses: readonly RecipientStatus[]): boolean =>
  statuses.every((status) => status === 'suppressed' || status === 'cancelled');

export const replaced = (email: EmailSummary, from: RecipientStatus, to: RecipientStatus): readonly RecipientStatus[] =>
  email.recipientStatuses.map((status) => (status === from ? to : status));

type Outcomes = readonly Readonly<{ recipient: number; result: 'accepted' | 'deferred' | 'bounced' | 'refused' }>[];

export const endDialogue = <Summary extends Draft<EmailSummary>>(
  summary: Summary,
  outcomes: Outcomes,
  deferred: 'queued' | 'failed',
): Summary => {
  const recipientStatuses = [...summary.recipientStatuses];
  for (const { recipient, result } of outcomes) {
    if (recipientStatuses[recipient] !== undefined) recipientStatuses[recipient] = statusAfter(result, deferred);
  }
  summary.recipientStatuses = recipientStatuses;
  summary.nextAttemptAt = null;
  summary.dialogueDeadlineAt = null;
  endHold(summary);
  return summary;
};

/** The field is there only while it says something, so that documents of before and after it are the same. */
export const endHold = (summary: Draft<EmailSummary>): void => {
  if (summary.heldUntil !== undefined) delete summary.heldUntil;
};

/** Where the recipients of an email stand whose attempts have ended: the furthest that all have reached who have it. */
const statusOfAll = (recipients: readonly RecipientStatus[]): EmailStatus => {
  if (recipients.includes('sent')) return 'sent';
  if (recipients.includes('delivered')) return 'delivered';
  if (recipients.includes('complained')) return 'complained';
  // One that failed for our reasons may be retried, so it outweighs those that bounced.
  return recipients.includes('bounced') && !recipients.includes('failed') ? 'bounced' : 'failed';
};

const setStatus = <Summary extends Draft<EmailSummary>>(summary: Summary, at: string): Summary => {
  summary.status = statusOfAll(summary.recipientStatuses);
  // A retry that reached nobody new changes nothing of when it was delivered.
  if (summary.status === 'delivered') summary.deliveredAt ??= at;
  return summary;
};

/** It goes to those who have failed, and to nobody who is erased. */
export const markRetried = <Summary extends Draft<EmailSummary>>(summary: Summary, at: string): Summary => {
  endHold(summary);
  summary.recipientStatuses = summary.recipientStatuses.map((status, index) =>
    status === 'failed' && !isErased(summary, index) ? 'queued' : status,
  );
  return markQueued(summary, at);
};

export const markQueued = <Summary extends Draft<EmailSummary>>(summary: Summary, at: string): Summary => {
  summary.status = 'queued';
  summary.queuedAt = at;
  summary.nextAttemptAt = null;
  return summary;
};

/** Where all who got it are known to have it already, the email is delivered: no later event will say so. */
export const markSent = <Summary extends Draft<EmailSummary>>(summary: Summary, at: string): Summary => {
  summary.sentAt = at;
  return setStatus(summary, at);
};

export const markBounced = <Summary extends Draft<EmailSummary>>(
  summary: Summary,
  { at, bounces }: Extract<EmailEvent, { type: 'EmailBounceReported' }>['data'],
): Summary =>
  markReported(
    summary,
    bounces.map(({ recipient }) => recipient),
    'bounced',
    at,
  );

export const markComplained = <Summary extends Draft<EmailSummary>>(
  summary: Summary,
  { at, recipients }: Extract<EmailEvent, { type: 'EmailComplained' }>['data'],
): Summary => {
  summary.complainedAt ??= at;
  return markReported(summary, recipients, 'complained', at);
};

/** What was heard later of recipients who were taken to have it. While others still wait for an attempt the email waits on. */
const markReported = <Summary extends Draft<EmailSummary>>(
  summary: Summary,
  indexes: readonly number[],
  to: 'bounced' | 'complained',
  at: string,
): Summary => {
  summary.recipientStatuses = summary.recipientStatuses.map((status, index) =>
    (status === 'sent' || status === 'delivered') && indexes.includes(index) ? to : status,
  );
  return summary.status === 'sent' || summary.status === 'delivered' ? setStatus(summary, at) : summary;
};

/** Where nobody is left who may still get it, the email has ended: by what became of the others, and where there are none it has failed. */
export const markSuppressed = <Summary extends Draft<EmailSummary>>(summary: Summary, indexes: readonly number[], at: string): Summary => {
  const statuses = summary.recipientStatuses.map((status, index) =>
    status === 'queued' && indexes.includes(index) ? 'suppressed' : status,
  );
  summary.recipientStatuses = statuses;
  if (statuses.includes('queued')) return summary;
  summary.nextAttemptAt = null;
  summary.dialogueDeadlineAt = null;
  endHold(summary);
  return statuses.some(hasIt) ? markSent(summary, at) : setStatus(summary, at);
};

/**
 * To those who still wait it does not go. Where nobody else waits the email has ended by what became of the others; where nobody of them
 * was attempted either it stays as it is, and is cancelled next.
 */
export const markErased = <Summary extends Draft<EmailSummary>>(summary: Summary, indexes: readonly number[], at: string): Summary => {
  const hadEnded = !isWaiting(summary);
  const statuses = summary.recipientStatuses.map((status, index) =>
    status === 'queued' && indexes.includes(index) ? 'cancelled' : status,
  );
  summary.erased = [...(summary.erased ?? []), ...indexes];
  summary.recipientStatuses = statuses;
  if (hadEnded || statuses.includes('queued') || isAllSuppressed(statuses)) return summary;
  summary.nextAttemptAt = null;
  endHold(summary);
  return statuses.some(hasIt) ? markSent(summary, at) : setStatus(summary, at);
};

/** Whether it waits for its turn, or its time. */
export const isWaiting = ({ status }: Pick<EmailSummary, 'status'>): boolean => status === 'queued' || status === 'scheduled';

const statusAfter = (result: Outcomes[number]['result'], deferred: 'queued' | 'failed'): RecipientStatus => {
  switch (result) {
    case 'accepted':
      return 'sent';
    case 'deferred':
      return deferred;
    case 'bounced':
      return 'bounced';
    case 'refused':
      return 'failed';
  }
};

/** An email is delivered when nobody who may still get it is left. */
export const markDelivered = <Summary extends Draft<EmailSummary>>(summary: Summary, indexes: readonly number[], at: string): Summary => {
  summary.recipientStatuses = summary.recipientStatuses.map((status, index) =>
    status === 'sent' && indexes.includes(index) ? 'delivered' : status,
  );
  if (summary.recipientStatuses.some((status) => status === 'sent' || status === 'queued')) return summary;
  summary.status = 'delivered';
  summary.deliveredAt = at;
  return summary;
};
