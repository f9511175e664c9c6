/** A bulk send as lists and status calls show it, from the read model or from its streams. */
import type { BatchStatus } from './decider.js';
import type { EmailStatus } from '../email/status.js';
import type { Priority } from '../ports/bus.js';
import type { Clock } from '../ports/clock.js';
import { isoTime } from '../core/time.js';

/** `counts`: the emails that are made, by status; a status without emails is absent. Times are ISO 8601. */
export type BatchFigures = Readonly<{
  id: string;
  status: BatchStatus;
  name: string | null;
  templateId: string;
  templateName: string;
  priority: Priority;
  total: number;
  invalid: number;
  duplicates: number;
  counts: Readonly<Partial<Record<EmailStatus, number>>>;
  /** The most emails that may exist, unless the batch goes on. */
  claimed: number;
  createdAt: string;
  scheduledAt: string | null;
  startedAt: string | null;
  cancelledAt: string | null;
  completedAt: string | null;
  /** Sent with a test key. */
  test: boolean;
}>;

export const statusCount = ({ counts }: Pick<BatchFigures, 'counts'>, ...statuses: readonly EmailStatus[]): number =>
  statuses.reduce((sum, status) => sum + (counts[status] ?? 0), 0);

/** How many emails of a batch exist. */
export const madeOf = ({ counts }: Pick<BatchFigures, 'counts'>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/**
 * The emails of a batch by what became of them. Emails that are not made yet count as queued, or as cancelled if they
 * never will be.
 */
export type BatchCounts = Readonly<{
  queued: number;
  processing: number;
  /** Sent, whatever was reported since. */
  sent: number;
  delivered: number;
  /** Failed or bounced. */
  failed: number;
  bounced: number;
  cancelled: number;
}>;

/** `queued`, `processing`, `sent`, `failed` and `cancelled` add up to the total. */
export const batchCounts = (batch: Pick<BatchFigures, 'total' | 'counts' | 'claimed' | 'cancelledAt'>): BatchCounts => {
  const sent = statusCount(batch, 'sent', 'delivered', 'complained');
  const failed = statusCount(batch, 'failed', 'bounced');
  const processing = statusCount(batch, 'processing');
  const open = statusCount(batch, 'queued', 'scheduled');
  const left = batch.total - sent - failed - processing;
  // Emails of the part that was being made when the batch was cancelled may still be made; those after it never will
  // be.
  const queued =
    batch.cancelledAt === null
      ? left - statusCount(batch, 'cancelled')
      : open + Math.max(0, batch.claimed - madeOf(batch));
  return {
    queued,
    processing,
    sent,
    delivered: statusCount(batch, 'delivered'),
    failed,
    bounced: statusCount(batch, 'bounced'),
    cancelled: left - queued,
  };
};

export type BatchListing = BatchCounts & {
  batchId: string;
  batchName: string | null;
  status: BatchStatus;
  templateId: string;
  emailTemplateName: string;
  priority: Priority;
  totalEmails: number;
  skipped: number;
  duplicates: number;
  progress: number;
  createdAt: string;
  scheduledAt: string | null;
  queuedAt: string | null;
  startedAt: string | null;
  completedAt: string | null;
  cancelledAt: string | null;
  estimatedCompletionAt: string | null;
  test: boolean;
};

/** `waitMs`: the expected time that so many emails of the team take. */
type Estimate = Readonly<{ clock: Pick<Clock, 'now'>; waitMs?: (emails: number) => number }>;

export const batchListing = (batch: BatchFigures, { clock, waitMs = () => 0 }: Estimate): BatchListing => {
  const counts = batchCounts(batch);
  const { status, total, scheduledAt, createdAt } = batch;
  const open = counts.queued + counts.processing;
  const hasEnded = status === 'completed' || status === 'cancelled';
  const isWaiting = status === 'scheduled';
  const fromMs = Math.max(clock.now(), scheduledAt === null ? 0 : Date.parse(scheduledAt));
  return {
    batchId: batch.id,
    batchName: batch.name,
    status,
    templateId: batch.templateId,
    emailTemplateName: batch.templateName,
    priority: batch.priority,
    totalEmails: total,
    ...counts,
    skipped: batch.invalid,
    duplicates: batch.duplicates,
    progress: Math.floor(((total - open) * 100) / total),
    createdAt,
    scheduledAt,
    queuedAt: isWaiting ? null : (scheduledAt ?? createdAt),
    startedAt: batch.startedAt,
    completedAt: batch.completedAt,
    cancelledAt: batch.cancelledAt,
    estimatedCompletionAt: hasEnded ? null : isoTime(fromMs + waitMs(open)),
    test: batch.test,
  };
};
