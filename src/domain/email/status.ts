/** Where an email stands: the part of its fold that lists, timers and decisions share. It holds nothing personal. */
import type { EmailAccepted, EmailEvent, EmailEngaged } from './events.js';

/* Where an email and each of its recipients can stand. */

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

export const recipientStatuses = ['queued', 'sent', 'delivered', 'bounced', 'failed', 'cancelled', 'suppressed', 'complained'] as const;
export type RecipientStatus = (typeof recipientStatuses)[number];

/** The rule of an outcome, and the reason of a failure, where the file of an attachment is damaged. */
export const ATTACHMENT_DAMAGED = 'attachment-damaged';

/** Whether somebody has the mail, whatever they think of it. */
export const hasIt = (status: RecipientStatus): boolean => status === 'sent' || status === 'delivered' || status === 'complained';

/** `infrastructure`: the fault is ours (reputation, policy, authentication), and says nothing against the address. */
export const bounceTypes = ['hard', 'soft', 'infrastructure'] as const;
export type BounceType = (typeof bounceTypes)[number];

/* The shape of where an email stands, and of what brings it on. */

export type EmailSummary = Readonly<{
  status: EmailStatus;
  /** One for each recipient, in the order of the accepted roles. */
  recipientStatuses: readonly RecipientStatus[];
  scheduledAt: string | null;
  /** When a deferred mail is due again. */
  nextAttemptAt: string | null;
  /** While the mail waits for a host that takes no session: when it fails. It counts from the first time, whatever is tried meanwhile. */
  heldUntil?: string;
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
  /** When somebody deleted it, or its record was removed because of its age: callers are told of neither. */
  deletedAt: string | null;
  /** Absent from an email that nobody has cancelled. */
  cancelledAt?: string;
  /** Absent from an email that nobody has complained of. */
  complainedAt?: string;
  /** Absent where opens, or clicks, are not recorded. */
  tracksOpens?: true;
  tracksClicks?: true;
  /** When a person first did; absent before. */
  openedAt?: string;
  clickedAt?: string;
  /** The recipients, by their place, whose personal data is destroyed or going; absent for none. */
  erased?: readonly number[];
}>;

/** Everything that happens to an email after its acceptance, until its events leave the log. */
export type EmailProgress = Exclude<EmailEvent, EmailAccepted | { type: 'EmailSummarised' | 'EmailRetired' }>;

/** A state that its owner is still making. */
export type Draft<State> = { -readonly [Field in keyof State]: State[Field] };

/* How what becomes of recipients moves where their email stands; each function writes into a summary that its caller owns. */

export const isErased = ({ erased }: Pick<EmailSummary, 'erased'>, recipient: number): boolean => erased?.includes(recipient) === true;

/** While an email waits only those are `cancelled` in it who are erased. */
export const isAllSuppressed = (statuses: readonly RecipientStatus[]): boolean =>
  statuses.every((status) => status === 'suppressed' || status === 'cancelled');

const replaced = (email: EmailSummary, from: RecipientStatus, to: RecipientStatus): readonly RecipientStatus[] =>
  email.recipientStatuses.map((status) => (status === from ? to : status));

type Outcomes = readonly Readonly<{ recipient: number; result: 'accepted' | 'deferred' | 'bounced' | 'refused' }>[];

const endDialogue = <Summary extends Draft<EmailSummary>>(summary: Summary, outcomes: Outcomes, deferred: 'queued' | 'failed'): Summary => {
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
const endHold = (summary: Draft<EmailSummary>): void => {
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

/** Where all who got it are known to have it already, the email is delivered: no later event will say so. */
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
const markSuppressed = <Summary extends Draft<EmailSummary>>(summary: Summary, indexes: readonly number[], at: string): Summary => {
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
const markErased = <Summary extends Draft<EmailSummary>>(summary: Summary, indexes: readonly number[], at: string): Summary => {
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
const markDelivered = <Summary extends Draft<EmailSummary>>(summary: Summary, indexes: readonly number[], at: string): Summary => {
  summary.recipientStatuses = summary.recipientStatuses.map((status, index) =>
    status === 'sent' && indexes.includes(index) ? 'delivered' : status,
  );
  if (summary.recipientStatuses.some((status) => status === 'sent' || status === 'queued')) return summary;
  summary.status = 'delivered';
  summary.deliveredAt = at;
  return summary;
};

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
