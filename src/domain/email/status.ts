/** Where an email stands: the part of its fold that lists, timers and decisions share. It holds nothing personal. */
import type { EmailAccepted, EmailEngaged, EmailEvent } from './events.js';
import {
  endDialogue,
  endHold,
  isAllSuppressed,
  markBounced,
  markComplained,
  markDelivered,
  markErased,
  markQueued,
  markRetried,
  markSent,
  markSuppressed,
  replaced,
} from './recipient-marks.js';
import { hasIt } from './email-status.js';
import type { Draft, EmailProgress, EmailSummary } from './summary-types.js';

export { isAllSuppressed, isErased, isWaiting } from './recipient-marks.js';
export type { Draft, EmailProgress, EmailSummary } from './summary-types.js';

export const beginSummary = (event: EmailAccepted): EmailSummary => {
  const { at, roles, tracking } = event.data;
  const scheduledAt = event.type === 'EmailScheduled' ? event.data.scheduledAt : null;
  const summary: EmailSummary = {
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
  return tracking === undefined ? summary : Object.assign(summary, tracked(tracking));
};

const tracked = ({ opens, clicks }: Readonly<{ opens: boolean; clicks: boolean }>): Pick<EmailSummary, 'tracksOpens' | 'tracksClicks'> => ({
  ...(opens ? { tracksOpens: true } : {}),
  ...(clicks ? { tracksClicks: true } : {}),
});

/**
 * In: where the email stood, in a copy that the caller owns. Out: that copy, brought to where it stands after the event. Its fields are
 * written one by one, for this runs for each event of each email, and an object put together from several costs ten times as much.
 */
export const advanceSummary = <Summary extends Draft<EmailSummary>>(summary: Summary, event: EmailProgress): Summary => {
  const { at } = event.data;
  summary.updatedAt = updatedBy(summary, event);
  switch (event.type) {
    case 'EmailRescheduled':
      summary.scheduledAt = event.data.scheduledAt;
      return summary;
    case 'EmailReleased':
      return markQueued(summary, at);
    case 'DeliveryAttempted':
      summary.status = 'processing';
      summary.processingAt = at;
      summary.nextAttemptAt = null;
      summary.dialogueDeadlineAt = event.data.deadlineAt;
      return summary;
    case 'EmailSent':
      return markSent(endDialogue(summary, event.data.outcomes, 'failed'), at);
    case 'EmailDeferred':
      endDialogue(summary, event.data.outcomes, 'queued').status = 'queued';
      summary.nextAttemptAt = event.data.nextAttemptAt;
      if (event.data.heldUntil !== undefined) summary.heldUntil = event.data.heldUntil;
      return summary;
    case 'EmailBounced':
    case 'EmailFailed':
      endDialogue(summary, event.data.outcomes, 'failed').status = event.type === 'EmailBounced' ? 'bounced' : 'failed';
      return summary;
    case 'EmailDelivered':
      return markDelivered(summary, event.data.recipients, at);
    case 'EmailBounceReported':
      return markBounced(summary, event.data);
    case 'EmailComplained':
      return markComplained(summary, event.data);
    case 'EmailRetried':
      return markRetried(summary, at);
    case 'EmailCancelled':
      summary.status = 'cancelled';
      summary.cancelledAt = at;
      summary.nextAttemptAt = null;
      endHold(summary);
      summary.recipientStatuses = replaced(summary, 'queued', 'cancelled');
      return summary;
    case 'RecipientsSuppressed':
      return markSuppressed(summary, event.data.recipients, at);
    case 'RecipientsErased':
      return markErased(summary, event.data.recipients, at);
    case 'CopyAnswered':
    case 'EmailBouncesNoted':
      return summary;
    case 'EmailOpened':
    case 'EmailClicked':
      return markEngaged(summary, event);
    case 'EmailDeleted':
    case 'EmailRemoved':
      summary.deletedAt = at;
      return summary;
    case 'EmailArchived':
      summary.archivedAt = at;
      return summary;
  }
};

/** What a reader did may be recorded later than what came after it. */
const updatedBy = ({ updatedAt }: EmailSummary, { type, data: { at } }: EmailProgress): string =>
  (type === 'EmailOpened' || type === 'EmailClicked') && at < updatedAt ? updatedAt : at;

const markEngaged = <Summary extends Draft<EmailSummary>>(summary: Summary, { type, data }: EmailEngaged): Summary => {
  if (data.machine) return summary;
  if (type === 'EmailOpened') summary.openedAt ??= data.at;
  else summary.clickedAt ??= data.at;
  return summary;
};

/** How many recipients did not get it and will not: refused, bounced, suppressed, or their attempts are spent. */
export const failedRecipientsOf = ({ recipientStatuses }: Pick<EmailSummary, 'recipientStatuses'>): number =>
  recipientStatuses.filter((status) => status === 'failed' || status === 'bounced' || status === 'suppressed').length;

/**
 * Whether an email that is cancelled costs nothing: nobody has it, and it has not failed before. What failed is paid for, and is not
 * returned because it was retried and called back.
 */
const costsNothingCancelled = ({ recipientStatuses }: Pick<EmailSummary, 'recipientStatuses'>, isRetried: boolean): boolean =>
  !isRetried && !recipientStatuses.some(hasIt);

/**
 * Whether an email costs nothing that has ended by that event: it was cancelled, or its last recipients turned out to be suppressed so that
 * nobody was attempted. One that has failed before it was retried is paid for.
 */
export const endsForFree = (
  summary: Pick<EmailSummary, 'recipientStatuses'>,
  { type }: Pick<EmailEvent, 'type'>,
  isRetried: boolean,
): boolean =>
  type === 'EmailCancelled'
    ? costsNothingCancelled(summary, isRetried)
    : type === 'RecipientsSuppressed' && !isRetried && isAllSuppressed(summary.recipientStatuses);
