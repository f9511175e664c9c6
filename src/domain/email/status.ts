/**
 * The status of an email and of its recipients: the part of its fold that lists, timers and decisions share. It holds
 * nothing personal.
 */
import type { EmailAccepted, EmailEvent, EmailEngaged } from './events.js';

export const emailStatuses = [
  'queued',
  'scheduled',
  'processing',
  'sent',
  'delivered',
  'failed',
  'bounced',
  'complained',
  'cancelled',
] as const;
export type EmailStatus = (typeof emailStatuses)[number];

export const recipientRoles = ['to', 'cc', 'bcc'] as const;
export type RecipientRole = (typeof recipientRoles)[number];

export const recipientStatuses = [
  'queued',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'cancelled',
  'suppressed',
  'complained',
] as const;
export type RecipientStatus = (typeof recipientStatuses)[number];

/** The rule of an outcome and the reason of a failure if the file of an attachment is damaged. */
export const ATTACHMENT_DAMAGED = 'attachment-damaged';

/** Whether the recipient got the mail; a complaint does not change that. */
export const hasIt = (status: RecipientStatus): boolean =>
  status === 'sent' || status === 'delivered' || status === 'complained';

/** `blocked`: the cause is the sender (reputation, policy, rate, authentication), not the address. */
export const bounceTypes = ['hard', 'soft', 'blocked'] as const;
export type BounceType = (typeof bounceTypes)[number];

export type EmailSummary = Readonly<{
  status: EmailStatus;
  /** One for each recipient, in the order of the accepted roles. */
  recipientStatuses: readonly RecipientStatus[];
  scheduledAt: string | null;
  /** When a deferred mail is tried again. */
  nextAttemptAt: string | null;
  /**
   * Present while the mail waits for a host that takes no session: when it fails. Set the first time; later attempts do
   * not move it.
   */
  heldUntil?: string;
  /** Present while an SMTP dialogue may be under way: when it certainly has ended. */
  dialogueDeadlineAt: string | null;
  createdAt: string;
  updatedAt: string;
  /** When it last entered the queue; null while it is scheduled. */
  queuedAt: string | null;
  processingAt: string | null;
  sentAt: string | null;
  deliveredAt: string | null;
  archivedAt: string | null;
  /** When it was deleted, or its record removed because of its age: neither is shown to callers. */
  deletedAt: string | null;
  /** Absent if the email was not cancelled. */
  cancelledAt?: string;
  /** Absent if nobody has complained. */
  complainedAt?: string;
  /** Absent if opens, or clicks, are not recorded. */
  tracksOpens?: true;
  tracksClicks?: true;
  /** When a person first opened the email, or followed a link; absent before. */
  openedAt?: string;
  clickedAt?: string;
  /** The recipients, by their place, whose personal data is destroyed or about to be; absent for none. */
  erased?: readonly number[];
}>;

/** All events after acceptance. */
export type EmailProgress = Exclude<EmailEvent, EmailAccepted>;

/** A state that its owner may still change. */
export type Draft<State> = { -readonly [Field in keyof State]: State[Field] };

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

const tracked = ({
  opens,
  clicks,
}: Readonly<{ opens: boolean; clicks: boolean }>): Pick<EmailSummary, 'tracksOpens' | 'tracksClicks'> => ({
  ...(opens ? { tracksOpens: true } : {}),
  ...(clicks ? { tracksClicks: true } : {}),
});

/**
 * Applies an event to a summary that the caller owns, and returns it. It writes single fields: this runs for each event
 * of each email, and merging objects takes ten times as long.
 */
export const advanceSummary = <Summary extends Draft<EmailSummary>>(
  summary: Summary,
  event: EmailProgress,
): Summary => {
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
    case 'ProviderEventKept':
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

/** An open or a click may be recorded after later events; it does not set `updatedAt` back. */
const updatedBy = ({ updatedAt }: EmailSummary, { type, data: { at } }: EmailProgress): string =>
  (type === 'EmailOpened' || type === 'EmailClicked') && at < updatedAt ? updatedAt : at;

const markEngaged = <Summary extends Draft<EmailSummary>>(summary: Summary, { type, data }: EmailEngaged): Summary => {
  if (data.machine) return summary;
  if (type === 'EmailOpened') summary.openedAt ??= data.at;
  else summary.clickedAt ??= data.at;
  return summary;
};

export const isErased = ({ erased }: Pick<EmailSummary, 'erased'>, recipient: number): boolean =>
  erased?.includes(recipient) === true;

/**
 * Whether all recipients are suppressed or erased: in an email that was not cancelled, only erased recipients are
 * `cancelled`.
 */
export const isAllSuppressed = (statuses: readonly RecipientStatus[]): boolean =>
  statuses.every((status) => status === 'suppressed' || status === 'cancelled');

const replaced = (email: EmailSummary, from: RecipientStatus, to: RecipientStatus): readonly RecipientStatus[] =>
  email.recipientStatuses.map((status) => (status === from ? to : status));

type Outcomes = readonly Readonly<{
  recipient: number;
  result: 'accepted' | 'deferred' | 'bounced' | 'refused' | 'blocked';
}>[];

const endDialogue = <Summary extends Draft<EmailSummary>>(
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

/** Removes the field, so that the document is as it was before the hold. */
const endHold = (summary: Draft<EmailSummary>): void => {
  if (summary.heldUntil !== undefined) delete summary.heldUntil;
};

/** The status of an email whose attempts have ended: `sent` until every recipient who got it has a later status. */
const statusOfAll = (recipients: readonly RecipientStatus[]): EmailStatus => {
  if (recipients.includes('sent')) return 'sent';
  if (recipients.includes('delivered')) return 'delivered';
  if (recipients.includes('complained')) return 'complained';
  // A recipient that failed for our reasons can be retried, so `failed` outweighs `bounced`.
  return recipients.includes('bounced') && !recipients.includes('failed') ? 'bounced' : 'failed';
};

const setStatus = <Summary extends Draft<EmailSummary>>(summary: Summary, at: string): Summary => {
  summary.status = statusOfAll(summary.recipientStatuses);
  // A retry that reached no new recipient leaves the time of delivery as it was.
  if (summary.status === 'delivered') summary.deliveredAt ??= at;
  return summary;
};

/** A retry goes to recipients with status `failed`, except erased ones. */
const markRetried = <Summary extends Draft<EmailSummary>>(summary: Summary, at: string): Summary => {
  endHold(summary);
  summary.recipientStatuses = summary.recipientStatuses.map((status, index) =>
    status === 'failed' && !isErased(summary, index) ? 'queued' : status,
  );
  return markQueued(summary, at);
};

const markQueued = <Summary extends Draft<EmailSummary>>(summary: Summary, at: string): Summary => {
  summary.status = 'queued';
  summary.queuedAt = at;
  summary.nextAttemptAt = null;
  return summary;
};

/** Sets `sentAt` and the status, which is `delivered` at once if the delivery to every recipient is known already. */
const markSent = <Summary extends Draft<EmailSummary>>(summary: Summary, at: string): Summary => {
  summary.sentAt = at;
  return setStatus(summary, at);
};

const markBounced = <Summary extends Draft<EmailSummary>>(
  summary: Summary,
  { at, bounces }: Extract<EmailEvent, { type: 'EmailBounceReported' }>['data'],
): Summary =>
  markReported(
    summary,
    bounces.map(({ recipient }) => recipient),
    'bounced',
    at,
  );

const markComplained = <Summary extends Draft<EmailSummary>>(
  summary: Summary,
  { at, recipients }: Extract<EmailEvent, { type: 'EmailComplained' }>['data'],
): Summary => {
  summary.complainedAt ??= at;
  return markReported(summary, recipients, 'complained', at);
};

/**
 * Applies a later report about recipients who counted as reached. If others still wait for an attempt, the email goes
 * on waiting.
 */
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

/** If no recipient waits any more, the email ends with the status of the others; without others it has failed. */
const markSuppressed = <Summary extends Draft<EmailSummary>>(
  summary: Summary,
  indexes: readonly number[],
  at: string,
): Summary => {
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
 * Erased recipients who still wait do not get the mail. If nobody else waits, the email ends with the status of the
 * others; if none of them was attempted, it keeps its status, and EmailCancelled follows.
 */
const markErased = <Summary extends Draft<EmailSummary>>(
  summary: Summary,
  indexes: readonly number[],
  at: string,
): Summary => {
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

/** Whether the email waits for its turn or its scheduled time. */
export const isWaiting = ({ status }: Pick<EmailSummary, 'status'>): boolean =>
  status === 'queued' || status === 'scheduled';

const statusAfter = (result: Outcomes[number]['result'], deferred: 'queued' | 'failed'): RecipientStatus => {
  switch (result) {
    case 'accepted':
      return 'sent';
    case 'deferred':
      return deferred;
    case 'bounced':
      return 'bounced';
    case 'refused':
    case 'blocked':
      return 'failed';
  }
};

/** The email is delivered when no recipient is `sent` or `queued` any more. */
const markDelivered = <Summary extends Draft<EmailSummary>>(
  summary: Summary,
  indexes: readonly number[],
  at: string,
): Summary => {
  summary.recipientStatuses = summary.recipientStatuses.map((status, index) =>
    status === 'sent' && indexes.includes(index) ? 'delivered' : status,
  );
  if (summary.recipientStatuses.some((status) => status === 'sent' || status === 'queued')) return summary;
  summary.status = 'delivered';
  summary.deliveredAt = at;
  return summary;
};

/** The number of recipients who will not get the email: refused, bounced, suppressed, or all attempts used. */
export const failedRecipientsOf = ({ recipientStatuses }: Pick<EmailSummary, 'recipientStatuses'>): number =>
  recipientStatuses.filter((status) => status === 'failed' || status === 'bounced' || status === 'suppressed').length;

/**
 * Why an email failed, once `event` is applied to its summary; null: it has not failed. In: the reason before.
 */
export const failureReasonAfter = (
  before: string | null,
  event: EmailProgress,
  { status, recipientStatuses }: Pick<EmailSummary, 'status' | 'recipientStatuses'>,
): string | null => {
  switch (event.type) {
    case 'EmailBounced':
      return 'bounced';
    case 'EmailFailed':
      return event.data.outcomes.some(({ rule }) => rule === ATTACHMENT_DAMAGED)
        ? ATTACHMENT_DAMAGED
        : event.data.reason;
    case 'EmailRetried':
      return null;
    case 'RecipientsSuppressed':
      if (recipientStatuses.includes('queued')) return before;
      if (status === 'failed') return isAllSuppressed(recipientStatuses) ? 'suppressed' : 'refused';
      return status === 'bounced' ? 'bounced' : before;
    case 'RecipientsErased':
      return before ?? (status === 'failed' ? 'refused' : status === 'bounced' ? 'bounced' : null);
    case 'EmailBounceReported':
      return status === 'bounced' ? 'bounced' : status === 'failed' ? (before ?? 'refused') : before;
    case 'EmailRescheduled':
    case 'EmailReleased':
    case 'DeliveryAttempted':
    case 'CopyAnswered':
    case 'EmailSent':
    case 'EmailDeferred':
    case 'EmailDelivered':
    case 'EmailComplained':
    case 'EmailCancelled':
    case 'EmailBouncesNoted':
    case 'ProviderEventKept':
    case 'EmailOpened':
    case 'EmailClicked':
    case 'EmailDeleted':
    case 'EmailArchived':
    case 'EmailRemoved':
      return before;
  }
};

/**
 * Whether an email that ends with this event costs nothing: it was cancelled before any recipient got it, or all
 * recipients were suppressed so that none was attempted. An email that was sent, or that failed or bounced
 * (`hasEnded`), before a retry is paid for.
 */
export const endsForFree = (
  { recipientStatuses, sentAt }: Pick<EmailSummary, 'recipientStatuses' | 'sentAt'>,
  { type }: Pick<EmailEvent, 'type'>,
  hasEnded: boolean,
): boolean => {
  if (hasEnded || sentAt !== null) return false;
  return type === 'EmailCancelled'
    ? !recipientStatuses.some(hasIt)
    : type === 'RecipientsSuppressed' && isAllSuppressed(recipientStatuses);
};
