/**
 * Milestones of an email, which statistics count: each at most once, on the day on which the email first reaches it.
 */
import type { EmailAccepted } from './events.js';
import { isAllSuppressed, type Draft, type EmailProgress, type EmailSummary } from './status.js';

export const emailMilestones = [
  'accepted',
  'sent',
  'delivered',
  'bounced',
  'complained',
  'failed',
  'cancelled',
  'suppressed',
  'opened',
  'clicked',
] as const;
export type EmailMilestone = (typeof emailMilestones)[number];

/**
 * Counts beside the milestones, for rates: `returned` is an email that was counted as sent and later as bounced or
 * failed; the others are emails sent with tracking of opens, or of clicks.
 */
export const besideMilestones = ['returned', 'sentWithOpens', 'sentWithClicks'] as const;
export type CountedMilestone = EmailMilestone | (typeof besideMilestones)[number];

/** The ends that an email had reached before a retry: statistics count each only once. */
export type EndedBefore = readonly ('bounced' | 'failed')[];

/**
 * When an email was called for, by itself or with its bulk send: the day on which it counts as accepted and used. ISO
 * 8601.
 */
export const countsFrom = ({ at, calledAt }: Pick<EmailAccepted['data'], 'at' | 'calledAt'>): string => calledAt ?? at;

/** The ends before a retry: bounced and failed count once each, however often the email is retried. */
export const endingsAfter = (
  status: EmailSummary['status'],
  before: EndedBefore | undefined,
): EndedBefore | undefined =>
  (status === 'failed' || status === 'bounced') && before?.includes(status) !== true
    ? [...(before ?? []), status]
    : before;

/** Sums over the emails of a day, in milliseconds; `attempted`: the number of emails in `waitMs`. */
export type DurationSums = { attempted?: number; waitMs?: number; sendMs?: number; deliverMs?: number };

export type Reached = Readonly<{ milestones: readonly CountedMilestone[]; durations: Readonly<DurationSums> }>;

/** The summary before an event, as far as `reachedBy` needs it. */
export type StoodAt = Draft<
  Pick<EmailSummary, 'status' | 'complainedAt' | 'processingAt' | 'sentAt' | 'deliveredAt' | 'openedAt' | 'clickedAt'>
>;

/** Copies these fields, because the event changes the summary in place. */
export const stoodAt = ({
  status,
  processingAt,
  sentAt,
  deliveredAt,
  complainedAt,
  openedAt,
  clickedAt,
}: EmailSummary): StoodAt => {
  const before: StoodAt = { status, processingAt, sentAt, deliveredAt };
  if (complainedAt !== undefined) before.complainedAt = complainedAt;
  if (openedAt !== undefined) before.openedAt = openedAt;
  if (clickedAt !== undefined) before.clickedAt = clickedAt;
  return before;
};

const NOTHING: Reached = { milestones: [], durations: {} };
export const ACCEPTED: Reached = { milestones: ['accepted'], durations: {} };
const BOUNCED: Reached = { milestones: ['bounced'], durations: {} };
const FAILED: Reached = { milestones: ['failed'], durations: {} };
const CANCELLED: Reached = { milestones: ['cancelled'], durations: {} };
const OPENED: Reached = { milestones: ['opened'], durations: {} };
const CLICKED: Reached = { milestones: ['clicked'], durations: {} };
const SUPPRESSED: Reached = { milestones: ['suppressed'], durations: {} };

/** 0 if the clock was set back in between. */
const passedSince = (from: string | null, to: string): number =>
  from === null ? 0 : Math.max(0, Date.parse(to) - Date.parse(from));

/**
 * In: an event, and the summary before and after it. Out: the milestones that it reaches; durations count from when the
 * email last entered the queue.
 */
export const reachedBy = (
  event: EmailProgress,
  before: StoodAt,
  now: EmailSummary,
  ended: EndedBefore = [],
): Reached => {
  const { at } = event.data;
  switch (event.type) {
    case 'DeliveryAttempted':
      return before.processingAt === null
        ? { milestones: [], durations: { attempted: 1, waitMs: passedSince(now.queuedAt, at) } }
        : NOTHING;
    case 'EmailSent':
    case 'EmailDelivered':
      return arrivedBy(at, before, now);
    case 'EmailBounced':
      return ended.includes('bounced') ? NOTHING : BOUNCED;
    case 'EmailFailed':
      return ended.includes('failed') ? NOTHING : FAILED;
    case 'EmailBounceReported':
      return returnedBy(arrivedBy(at, before, now), before, now, ended);
    case 'EmailComplained':
      return complainedBy(arrivedBy(at, before, now), before);
    case 'EmailCancelled':
      return CANCELLED;
    case 'RecipientsSuppressed':
      return suppressedBy(at, before, now, ended);
    case 'RecipientsErased':
      return before.status === now.status ? NOTHING : suppressedBy(at, before, now, ended);
    case 'EmailOpened':
      return before.openedAt === undefined && now.openedAt !== undefined ? OPENED : NOTHING;
    case 'EmailClicked':
      return before.clickedAt === undefined && now.clickedAt !== undefined ? CLICKED : NOTHING;
    default:
      return NOTHING;
  }
};

const arrivedBy = (at: string, before: StoodAt, now: EmailSummary): Reached => {
  const milestones: CountedMilestone[] = [];
  const durations: DurationSums = {};
  if (before.sentAt === null && now.sentAt !== null) {
    milestones.push('sent');
    if (now.tracksOpens === true) milestones.push('sentWithOpens');
    if (now.tracksClicks === true) milestones.push('sentWithClicks');
    durations.sendMs = passedSince(now.queuedAt, at);
  }
  if (before.deliveredAt === null && now.deliveredAt !== null) {
    milestones.push('delivered');
    durations.deliverMs = passedSince(now.queuedAt, at);
  }
  return { milestones, durations };
};

/**
 * An email that goes on for other recipients reaches nothing. One that ends counts as suppressed only if no recipient
 * was attempted.
 */
const suppressedBy = (at: string, before: StoodAt, now: EmailSummary, ended: EndedBefore): Reached => {
  const { status, recipientStatuses } = now;
  if (status === 'sent' || status === 'delivered' || status === 'complained') return arrivedBy(at, before, now);
  if (status !== 'failed' && status !== 'bounced') return NOTHING;
  if (ended.includes(status)) return NOTHING;
  if (isAllSuppressed(recipientStatuses)) return SUPPRESSED;
  return status === 'failed' ? FAILED : BOUNCED;
};

const complainedBy = ({ milestones, durations }: Reached, { complainedAt }: StoodAt): Reached =>
  complainedAt === undefined ? { milestones: [...milestones, 'complained'], durations } : { milestones, durations };

/** A report ends an email that was sent. */
const returnedBy = (
  { milestones, durations }: Reached,
  before: StoodAt,
  { status }: EmailSummary,
  ended: EndedBefore,
): Reached =>
  (status !== 'bounced' && status !== 'failed') || before.status === status || ended.includes(status)
    ? { milestones, durations }
    : { milestones: [...milestones, status, 'returned'], durations };
