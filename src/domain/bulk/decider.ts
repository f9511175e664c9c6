/** What may happen to a bulk send. */
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import { isoTime } from '../core/iso-time.js';
import type { BatchAccepted, BatchContent, BatchEnds, BatchEvent } from './events.js';
import { claimedUpTo, endedAtOf, evolveBatch, releaseAtOf, type Batch, type BatchState } from './state.js';

export type BatchCommand =
  | Readonly<{ type: 'AcceptBatch'; accepted: BatchAccepted['data']; scheduledAt: string | undefined; content: BatchContent }>
  /** Its time has come: the first part of its emails is to be made. */
  | Readonly<{ type: 'StartBatch'; at: string; partSize: number }>
  /** The first `upTo` emails are made. */
  | Readonly<{ type: 'AdvanceBatch'; at: string; upTo: number }>
  /** Nothing is to be sent to the recipients at these places. */
  | Readonly<{ type: 'EraseRecipients'; at: string; recipients: readonly number[] }>
  | Readonly<{ type: 'CancelBatch'; at: string; idempotencyKey: string | undefined; fingerprint: string | undefined }>
  /** What had not left is cancelled: the first `made` emails exist. */
  | Readonly<{ type: 'StopBatch'; at: string; made: number; ends: BatchEnds }>
  /** None of its emails is open. */
  | Readonly<{ type: 'CompleteBatch'; at: string; ends: Omit<BatchEnds, 'processing'> }>
  /** Its record is kept no longer than `keptMs` after its end. */
  | Readonly<{ type: 'RemoveBatch'; at: string; keptMs: number }>;

const none: readonly BatchEvent[] = [];

export const batchNotFound = (): DomainError =>
  new DomainError('BATCH_NOT_FOUND', 'There is no bulk send with this id. Ids are answered by POST /api/emails/send/bulk.');

const decide = (command: BatchCommand, batch: BatchState): readonly BatchEvent[] => {
  if (command.type === 'AcceptBatch') return batch === undefined ? accept(command) : none;
  if (batch === undefined) throw batchNotFound();
  switch (command.type) {
    case 'StartBatch':
      return start(command, batch);
    case 'AdvanceBatch':
      return advance(command, batch);
    case 'EraseRecipients':
      return eraseRecipients(command, batch);
    case 'CancelBatch':
      return cancel(command, batch);
    case 'StopBatch':
      return batch.cancelled !== null && batch.stopped === null
        ? [{ type: 'BatchStopped', data: { at: command.at, made: command.made, ...command.ends } }]
        : none;
    case 'CompleteBatch':
      return batch.fannedOutAt !== null && batch.cancelled === null && batch.completedAt === null
        ? [{ type: 'BatchCompleted', data: { at: command.at, ...command.ends } }]
        : none;
    case 'RemoveBatch':
      return remove(command, batch);
  }
};

type Of<Type extends BatchCommand['type']> = Extract<BatchCommand, { type: Type }>;

const accept = ({ accepted, scheduledAt, content }: Of<'AcceptBatch'>): readonly BatchEvent[] =>
  scheduledAt === undefined
    ? [{ type: 'BatchQueued', data: accepted, sealed: content }]
    : [{ type: 'BatchScheduled', data: { ...accepted, scheduledAt }, sealed: content }];

const start = ({ at, partSize }: Of<'StartBatch'>, batch: Batch): readonly BatchEvent[] => {
  const isDue = batch.status === 'queued' || (batch.status === 'scheduled' && releaseAtOf(batch) <= at);
  return isDue ? [{ type: 'BatchStarted', data: { at, partSize, priority: batch.accepted.priority } }] : none;
};

/** Only the part that is being made may be done: nothing is claimed twice, and nothing beyond it exists. */
const advance = ({ at, upTo }: Of<'AdvanceBatch'>, batch: Batch): readonly BatchEvent[] => {
  if (batch.status !== 'processing' || batch.fannedOutAt !== null) return none;
  if (upTo <= batch.upTo || upTo > claimedUpTo(batch)) return none;
  return upTo === batch.accepted.total
    ? [{ type: 'BatchFannedOut', data: { at } }]
    : [{ type: 'BatchAdvanced', data: { at, upTo, priority: batch.accepted.priority } }];
};

/** Once its content is destroyed there is nothing to erase here, and its emails are erased by themselves. */
const eraseRecipients = ({ at, recipients }: Of<'EraseRecipients'>, batch: Batch): readonly BatchEvent[] => {
  if (batch.content === undefined) return none;
  const left = recipients.filter((place) => batch.erased?.includes(place) !== true);
  return left.length === 0 ? none : [{ type: 'BatchRecipientsErased', data: { at, recipients: left } }];
};

const cancel = ({ at, idempotencyKey, fingerprint }: Of<'CancelBatch'>, batch: Batch): readonly BatchEvent[] => {
  if (batch.status === 'completed' || batch.status === 'cancelled') {
    throw new DomainError('BATCH_NOT_CANCELLABLE', `Only a bulk send that goes on can be cancelled; this one is ${batch.status}.`, {
      relatedInfo: { status: batch.status },
    });
  }
  const { priority } = batch.accepted;
  const data = {
    at,
    priority,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
  };
  return [{ type: 'BatchCancelled', data }];
};

const remove = ({ at, keptMs }: Of<'RemoveBatch'>, batch: Batch): readonly BatchEvent[] => {
  const endedAt = endedAtOf(batch);
  const isTime = endedAt !== undefined && isoTime(Date.parse(endedAt) + keptMs) <= at;
  return isTime && batch.deletedAt === undefined ? [{ type: 'BatchRemoved', data: { at } }] : none;
};

export const batchDecider: Decider<BatchCommand, BatchEvent, BatchState> = { decide, evolve: evolveBatch, initialState: undefined };
