/** What the calls on bulk sends answer. */
import { TYPICAL_DELIVERY_MS } from '../email/answers.js';
import { isoMoment } from '../core/memo.js';
import type { CancelBatchResponse, SendBulkResponse } from '../../api/bulk.js';
import type { BatchAccepted, BatchEnds } from '../../domain/bulk/events.js';
import type { BatchId } from '../../domain/core/ids.js';

/** The answer to the bulk call, made of its event alone: a replay gives the same bytes for ever. */
export const bulkResponse = (batchId: BatchId, event: BatchAccepted): SendBulkResponse => {
  const { data } = event;
  const isScheduled = event.type === 'BatchScheduled';
  const dueAt = isScheduled ? event.data.scheduledAt : data.at;
  return {
    batchId,
    totalEmails: data.total,
    status: isScheduled ? 'scheduled' : 'queued',
    message: `${emails(data.total)} ${data.total === 1 ? 'is' : 'are'} ${isScheduled ? 'scheduled' : 'queued'}.`,
    createdAt: data.at,
    estimatedCompletionAt: isoMoment(Date.parse(dueAt) + (data.expectedWaitMs ?? TYPICAL_DELIVERY_MS)),
    warnings: leftOutWarnings(data),
  };
};

/** Says of each recipient that is left out where it stands in the call; nothing personal, for it is made of what is kept. */
const leftOutWarnings = ({ invalid, duplicates }: Pick<BatchAccepted['data'], 'invalid' | 'duplicates'>): string[] => [
  ...invalid.map((given) => `recipients[${given}] is left out: its address is not a valid email address`),
  ...duplicates.map((given) => `recipients[${given}] is left out: its address stands there before`),
];

const emails = (count: number): string => (count === 1 ? '1 email' : `${count} emails`);

/** The answer to the cancelling of a bulk send, made of the event that ends it. */
export const cancelResponse = (
  batchId: BatchId,
  totalEmails: number,
  { sent, failed, cancelled, processing }: BatchEnds,
): CancelBatchResponse => ({
  batchId,
  status: 'cancelled',
  message:
    processing === 0
      ? `${emails(cancelled)} will not leave.`
      : `${emails(cancelled)} will not leave; ${emails(processing)} ${processing === 1 ? 'is' : 'are'} being delivered right now.`,
  totalEmails,
  sent,
  cancelled,
  failed,
  processing,
});
