/** What an email reaches in its life and statistics count: each of these once at most, on the day on which it comes to it for the first time. */
import type { EmailProgress, EmailSummary } from './summary.js';

export const emailMilestones = ['accepted', 'sent', 'delivered', 'bounced', 'failed', 'cancelled'] as const;
export type EmailMilestone = (typeof emailMilestones)[number];

/** How often an email fails or bounces that is retried in between, statistics count once: those that it had reached before a retry. */
export type EndedBefore = readonly ('bounced' | 'failed')[];

/** Sums over the emails of a day, in milliseconds, and over how many emails those of the first attempt are. */
export type DurationSums = { attempted?: number; waitMs?: number; sendMs?: number; deliverMs?: number };

export type Reached = Readonly<{ milestones: readonly EmailMilestone[]; durations: Readonly<DurationSums> }>;

/** Where an email stood before an event, as far as it matters here. */
export type StoodAt = Pick<EmailSummary, 'processingAt' | 'sentAt' | 'deliveredAt'>;

const NOTHING: Reached = { milestones: [], durations: {} };
export const ACCEPTED: Reached = { milestones: ['accepted'], durations: {} };
const BOUNCED: Reached = { milestones: ['bounced'], durations: {} };
const FAILED: Reached = { milestones: ['failed'], durations: {} };
const CANCELLED: Reached = { milestones: ['cancelled'], durations: {} };

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
    case 'EmailCancelled':
      return CANCELLED;
    case 'EmailRescheduled':
    case 'EmailReleased':
    case 'EmailDeferred':
    case 'EmailRetried':
    case 'EmailDeleted':
    case 'EmailArchived':
      return NOTHING;
  }
};

const arrivedBy = (at: string, before: StoodAt, now: EmailSummary): Reached => {
  const milestones: EmailMilestone[] = [];
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
