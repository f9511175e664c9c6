/** Where an email stands: the part of its fold that lists, timers and decisions share. It holds nothing personal. */
import type { EmailAccepted, EmailEvent } from './events.js';
import type { EmailStatus, RecipientStatus } from './status.js';

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

/** A state that its owner is still making. */
export type Draft<State> = { -readonly [Field in keyof State]: State[Field] };

/**
 * In: a copy of where it stood, which is brought to where it stands after the event. A copy is written to field by field, for
 * this runs for each event of each email, and an object put together from several costs ten times as much.
 */
export const advanceSummary = (summary: Draft<EmailSummary>, event: EmailProgress): void => {
  const { at } = event.data;
  summary.updatedAt = at;
  switch (event.type) {
    case 'EmailReleased':
      summary.status = 'queued';
      summary.queuedAt = at;
      return;
    case 'DeliveryAttempted':
      summary.status = 'processing';
      summary.processingAt = at;
      summary.nextAttemptAt = null;
      summary.dialogueDeadlineAt = event.data.deadlineAt;
      return;
    case 'EmailSent':
      endDialogue(summary, event.data.outcomes, 'failed');
      markSent(summary, at);
      return;
    case 'EmailDeferred':
      endDialogue(summary, event.data.outcomes, 'queued');
      summary.status = 'queued';
      summary.nextAttemptAt = event.data.nextAttemptAt;
      return;
    case 'EmailBounced':
      endDialogue(summary, event.data.outcomes, 'failed');
      summary.status = 'bounced';
      return;
    case 'EmailFailed':
      endDialogue(summary, event.data.outcomes, 'failed');
      summary.status = 'failed';
      return;
    case 'EmailDelivered':
      markDelivered(summary, event.data.recipients, at);
      return;
    case 'EmailRetried':
      summary.status = 'queued';
      summary.queuedAt = at;
      summary.nextAttemptAt = null;
      summary.recipientStatuses = replaced(summary, 'failed', 'queued');
      return;
    case 'EmailCancelled':
      summary.status = 'cancelled';
      summary.nextAttemptAt = null;
      summary.recipientStatuses = replaced(summary, 'queued', 'cancelled');
      return;
    case 'EmailDeleted':
      summary.deletedAt = at;
      return;
    case 'EmailArchived':
      summary.archivedAt = at;
      return;
  }
};

const replaced = (email: EmailSummary, from: RecipientStatus, to: RecipientStatus): readonly RecipientStatus[] =>
  email.recipientStatuses.map((status) => (status === from ? to : status));

type Outcomes = readonly Readonly<{ recipient: number; result: 'accepted' | 'deferred' | 'bounced' | 'refused' }>[];

const endDialogue = (summary: Draft<EmailSummary>, outcomes: Outcomes, deferred: 'queued' | 'failed'): void => {
  const recipientStatuses = [...summary.recipientStatuses];
  for (const { recipient, result } of outcomes) {
    if (recipientStatuses[recipient] !== undefined) recipientStatuses[recipient] = statusAfter(result, deferred);
  }
  summary.recipientStatuses = recipientStatuses;
  summary.nextAttemptAt = null;
  summary.dialogueDeadlineAt = null;
};

/** Where all who got it are known to have it already, the email is delivered: no later event will say so. */
const markSent = (summary: Draft<EmailSummary>, at: string): void => {
  summary.sentAt = at;
  const delivered = summary.recipientStatuses.includes('delivered') && !summary.recipientStatuses.includes('sent');
  summary.status = delivered ? 'delivered' : 'sent';
  if (delivered) summary.deliveredAt = at;
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
const markDelivered = (summary: Draft<EmailSummary>, indexes: readonly number[], at: string): void => {
  summary.recipientStatuses = summary.recipientStatuses.map((status, index) =>
    status === 'sent' && indexes.includes(index) ? 'delivered' : status,
  );
  if (summary.recipientStatuses.some((status) => status === 'sent' || status === 'queued')) return;
  summary.status = 'delivered';
  summary.deliveredAt = at;
};
