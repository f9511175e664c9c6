/** Where an email stands: the part of its fold that lists, timers and decisions share. It holds nothing personal. */
import type { EmailAccepted, EmailEvent } from './events.js';
import type { EmailStatus, RecipientStatus } from './request.js';

export type EmailSummary = Readonly<{
  status: EmailStatus;
  /** One for each recipient, in the order of the accepted roles. */
  recipientStatuses: readonly RecipientStatus[];
  scheduledAt: string | null;
  /** When a deferred mail is due again. */
  nextAttemptAt: string | null;
  /** While a dialogue may be under way: when it cannot be any more. */
  dialogueDeadlineAt: string | null;
  createdAt: string;
  updatedAt: string;
  /** When it last entered the queue; null while it is scheduled. */
  queuedAt: string | null;
  processingAt: string | null;
  sentAt: string | null;
  deliveredAt: string | null;
  archivedAt: string | null;
  deletedAt: string | null;
}>;

export const beginSummary = (event: EmailAccepted): EmailSummary => {
  const { at, roles } = event.data;
  const scheduledAt = event.type === 'EmailScheduled' ? event.data.scheduledAt : null;
  return {
    status: scheduledAt === null ? 'queued' : 'scheduled',
    recipientStatuses: roles.map(() => 'queued' as const),
    scheduledAt,
    nextAttemptAt: null,
    dialogueDeadlineAt: null,
    createdAt: at,
    updatedAt: at,
    queuedAt: scheduledAt === null ? at : null,
    processingAt: null,
    sentAt: null,
    deliveredAt: null,
    archivedAt: null,
    deletedAt: null,
  };
};

/** Everything that happens to an email after its acceptance. */
export type EmailProgress = Exclude<EmailEvent, EmailAccepted>;

/** In: where it stood, and what happened. Out: only the fields that changed. */
export const advanceSummary = (email: EmailSummary, event: EmailProgress): Partial<EmailSummary> & Pick<EmailSummary, 'updatedAt'> => ({
  ...changes(email, event),
  updatedAt: event.data.at,
});

const changes = (email: EmailSummary, event: EmailProgress): Partial<EmailSummary> => {
  const { at } = event.data;
  switch (event.type) {
    case 'EmailReleased':
      return { status: 'queued', queuedAt: at };
    case 'DeliveryAttempted':
      return { status: 'processing', processingAt: at, nextAttemptAt: null, dialogueDeadlineAt: event.data.deadlineAt };
    case 'EmailSent':
      return sent(email, event.data.outcomes, at);
    case 'EmailDeferred':
      return { ...ended(email, event.data.outcomes, 'queued'), status: 'queued', nextAttemptAt: event.data.nextAttemptAt };
    case 'EmailBounced':
      return { ...ended(email, event.data.outcomes, 'failed'), status: 'bounced' };
    case 'EmailFailed':
      return { ...ended(email, event.data.outcomes, 'failed'), status: 'failed' };
    case 'EmailDelivered':
      return delivered(email, event.data.recipients, at);
    case 'EmailRetried':
      return { status: 'queued', queuedAt: at, nextAttemptAt: null, recipientStatuses: replaced(email, 'failed', 'queued') };
    case 'EmailCancelled':
      return { status: 'cancelled', nextAttemptAt: null, recipientStatuses: replaced(email, 'queued', 'cancelled') };
    case 'EmailDeleted':
      return { deletedAt: at };
    case 'EmailArchived':
      return { archivedAt: at };
  }
};

const replaced = (email: EmailSummary, from: RecipientStatus, to: RecipientStatus): readonly RecipientStatus[] =>
  email.recipientStatuses.map((status) => (status === from ? to : status));

type Outcomes = readonly Readonly<{ recipient: number; result: 'accepted' | 'deferred' | 'bounced' | 'refused' }>[];

const ended = (email: EmailSummary, outcomes: Outcomes, deferred: 'queued' | 'failed'): Partial<EmailSummary> => {
  const recipientStatuses = [...email.recipientStatuses];
  for (const { recipient, result } of outcomes) {
    if (recipientStatuses[recipient] !== undefined) recipientStatuses[recipient] = statusAfter(result, deferred);
  }
  return { recipientStatuses, nextAttemptAt: null, dialogueDeadlineAt: null };
};

/** Where all who got it are known to have it already, the email is delivered: no later event will say so. */
const sent = (email: EmailSummary, outcomes: Outcomes, at: string): Partial<EmailSummary> => {
  const changed = ended(email, outcomes, 'failed');
  const delivered = changed.recipientStatuses?.includes('delivered') === true && !changed.recipientStatuses.includes('sent');
  return { ...changed, sentAt: at, ...(delivered ? { status: 'delivered', deliveredAt: at } : { status: 'sent' }) };
};

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
const delivered = (email: EmailSummary, indexes: readonly number[], at: string): Partial<EmailSummary> => {
  const recipientStatuses = email.recipientStatuses.map((status, index) =>
    status === 'sent' && indexes.includes(index) ? ('delivered' as const) : status,
  );
  const all = recipientStatuses.every((status) => status !== 'sent' && status !== 'queued');
  return { recipientStatuses, ...(all ? { status: 'delivered' as const, deliveredAt: at } : {}) };
};
