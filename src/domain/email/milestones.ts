/** What an email reaches in its life and statistics count: each of these once at most, on the day on which it comes to it for the first time. */
import { isAllSuppressed, type EmailProgress, type EmailSummary } from './summary.js';

export const emailMilestones = ['accepted', 'sent', 'delivered', 'bounced', 'complained', 'failed', 'cancelled', 'suppressed'] as const;
export type EmailMilestone = (typeof emailMilestones)[number];

/** What is counted beside them: `returned` is an email that is counted as bounced or failed and, before that, as sent. */
export type CountedMilestone = EmailMilestone | 'returned';

/** How often an email fails or bounces that is retried in between, statistics count once: those that it had reached before a retry. */
export type EndedBefore = readonly ('bounced' | 'failed')[];

/** Sums over the emails of a day, in milliseconds, and over how many emails those of the first attempt are. */
export type DurationSums = { attempted?: number; waitMs?: number; sendMs?: number; deliverMs?: number };

export type Reached = Readonly<{ milestones: readonly CountedMilestone[]; durations: Readonly<DurationSums> }>;

/** Where an email stood before an event, as far as it matters here. */
export type StoodAt = Pick<EmailSummary, 'status' | 'processingAt' | 'sentAt' | 'deliveredAt' | 'complainedAt'>;

const NOTHING: Reached = { milestones: [], durations: {} };
export const ACCEPTED: Reached = { milestones: ['accepted'], durations: {} };
const BOUNCED: Reached = { milestones: ['bounced'], durations: {} };
const FAILED: Reached = { milestones: ['failed'], durations: {} };
const CANCELLED: Reached = { milestones: ['cancelled'], durations: {} };
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
    case 'EmailRescheduled':
    case 'EmailReleased':
    case 'CopyAnswered':
    case 'EmailDeferred':
    case 'EmailRetried':
    case 'EmailBouncesNoted':
    case 'EmailDeleted':
    case 'EmailArchived':
      return NOTHING;
  }
};

const arrivedBy = (at: string, before: StoodAt, now: EmailSummary): Reached => {
  const milestones: CountedMilestone[] = [];
  const durations: DurationSums = {};
  if (before.sentAt === null && now.sentAt !== null) {
    milestones.push('sent');
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
