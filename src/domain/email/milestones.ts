/** What an email reaches in its life and statistics count: each of these once at most, on the day on which it comes to it for the first time. */
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
 * What is counted beside them, for rates: `returned` is an email that is counted as bounced or failed and, before that, as sent; the others
 * are emails that were sent with a record of opens, or of clicks.
 */
export const besideMilestones = ['returned', 'sentWithOpens', 'sentWithClicks'] as const;
export type CountedMilestone = EmailMilestone | (typeof besideMilestones)[number];

/** How often an email fails or bounces that is retried in between, statistics count once: those that it had reached before a retry. */
export type EndedBefore = readonly ('bounced' | 'failed')[];

/** Sums over the emails of a day, in milliseconds, and over how many emails those of the first attempt are. */
export type DurationSums = { attempted?: number; waitMs?: number; sendMs?: number; deliverMs?: number };

export type Reached = Readonly<{ milestones: readonly CountedMilestone[]; durations: Readonly<DurationSums> }>;

/** Where an email stood before an event, as far as it matters here. */
export type StoodAt = Draft<
  Pick<EmailSummary, 'status' | 'complainedAt' | 'processingAt' | 'sentAt' | 'deliveredAt' | 'openedAt' | 'clickedAt'>
>;

/** What of a summary is needed when the event has changed it. */
export const stoodAt = ({ status, processingAt, sentAt, deliveredAt, complainedAt, openedAt, clickedAt }: EmailSummary): StoodAt => {
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

/** Of a clock that was set back in between: 0. */
const passedSince = (from: string | null, to: string): number => (from === null ? 0 : Math.max(0, Date.parse(to) - Date.parse(from)));

/** In: an event, where the email stood before it, and where it stands after. Out: what it has reached by it; the times count from when it last entered the queue. */
export const reachedBy = (event: EmailProgress, before: StoodAt, now: EmailSummary, ended: EndedBefore = []): Reached => {
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
    case 'EmailRescheduled':
    case 'EmailReleased':
    case 'CopyAnswered':
    case 'EmailDeferred':
    case 'EmailRetried':
    case 'EmailBouncesNoted':
    case 'EmailDeleted':
    case 'EmailArchived':
    case 'EmailRemoved':
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

/** An email that goes on for others has reached nothing by it. One that ends counts as suppressed only where nobody was attempted. */
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

/** The email has left and comes to its end by what is heard of it. */
const returnedBy = ({ milestones, durations }: Reached, before: StoodAt, { status }: EmailSummary, ended: EndedBefore): Reached =>
  (status !== 'bounced' && status !== 'failed') || before.status === status || ended.includes(status)
    ? { milestones, durations }
    : { milestones: [...milestones, status, 'returned'], durations };
