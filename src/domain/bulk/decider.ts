/** The decider of a bulk send, and its state. */
import type { BatchAccepted, BatchContent, BatchEnds, BatchEvent } from './events.js';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import { isoTime } from '../core/time.js';

export const batchStatuses = ['queued', 'processing', 'completed', 'cancelled', 'scheduled'] as const;
export type BatchStatus = (typeof batchStatuses)[number];

export type Batch = Readonly<{
  status: BatchStatus;
  /** The data of the first event. */
  accepted: BatchAccepted['data'];
  /** undefined once the key is destroyed: no more emails are made. */
  content: BatchContent | undefined;
  scheduledAt: string | null;
  startedAt: string | null;
  /** This many emails certainly exist; beyond them at most one part more. */
  upTo: number;
  partSize: number;
  /** The places of erased recipients; absent for none. */
  erased?: readonly number[];
  fannedOutAt: string | null;
  cancelled: Readonly<{ at: string; idempotencyKey: string | undefined; fingerprint: string | undefined }> | null;
  stopped: (BatchEnds & Readonly<{ at: string; made: number }>) | null;
  completedAt: string | null;
  /** When its record was removed because of its age; absent before. */
  deletedAt?: string;
}>;

/** undefined: no event yet. */
export type BatchState = Batch | undefined;

/** The most emails that may exist, unless the batch goes on. */
export const claimedUpTo = ({ accepted, upTo, partSize }: Batch): number => Math.min(accepted.total, upTo + partSize);

/** When its emails are due: their dates, and the retention of their personal data, count from then. ISO 8601. */
export const releaseAtOf = ({ accepted, scheduledAt }: Pick<Batch, 'accepted' | 'scheduledAt'>): string =>
  scheduledAt ?? accepted.at;

/** When the batch was completed or stopped; undefined before. ISO 8601. */
const endedAtOf = ({ completedAt, stopped }: Pick<Batch, 'completedAt' | 'stopped'>): string | undefined =>
  completedAt ?? stopped?.at;

/** Pure and total: events without a first one are ignored. */
export const evolveBatch = (state: BatchState, event: BatchEvent): BatchState => {
  if (event.type === 'BatchQueued' || event.type === 'BatchScheduled') return begin(event);
  if (state === undefined) return undefined;
  switch (event.type) {
    case 'BatchStarted':
      return { ...state, status: 'processing', startedAt: event.data.at, partSize: event.data.partSize };
    case 'BatchAdvanced':
      return { ...state, upTo: event.data.upTo };
    case 'BatchRecipientsErased':
      return { ...state, erased: [...(state.erased ?? []), ...event.data.recipients] };
    case 'BatchFannedOut':
      return { ...state, upTo: state.accepted.total, partSize: 0, fannedOutAt: event.data.at, content: undefined };
    case 'BatchCancelled': {
      const { at, idempotencyKey, fingerprint } = event.data;
      return { ...state, status: 'cancelled', cancelled: { at, idempotencyKey, fingerprint } };
    }
    case 'BatchStopped':
      return { ...state, upTo: event.data.made, partSize: 0, stopped: event.data, content: undefined };
    case 'BatchCompleted':
      return { ...state, status: 'completed', completedAt: event.data.at };
    case 'BatchRemoved':
      return { ...state, deletedAt: event.data.at };
  }
};

const begin = (event: BatchAccepted): Batch => ({
  status: event.type === 'BatchScheduled' ? 'scheduled' : 'queued',
  accepted: event.data,
  content: event.sealed,
  scheduledAt: event.type === 'BatchScheduled' ? event.data.scheduledAt : null,
  startedAt: null,
  upTo: 0,
  partSize: 0,
  fannedOutAt: null,
  cancelled: null,
  stopped: null,
  completedAt: null,
});

export type BatchCommand =
  | Readonly<{
      type: 'AcceptBatch';
      accepted: BatchAccepted['data'];
      scheduledAt: string | undefined;
      content: BatchContent;
    }>
  /** The batch is due: making the first part of its emails begins. */
  | Readonly<{ type: 'StartBatch'; at: string; partSize: number }>
  /** The first `upTo` emails exist. */
  | Readonly<{ type: 'AdvanceBatch'; at: string; upTo: number }>
  /** The recipients at these places are erased: nothing is sent to them. */
  | Readonly<{ type: 'EraseRecipients'; at: string; recipients: readonly number[] }>
  | Readonly<{ type: 'CancelBatch'; at: string; idempotencyKey: string | undefined; fingerprint: string | undefined }>
  /** Emails that were not sent are cancelled; the first `made` emails exist. */
  | Readonly<{ type: 'StopBatch'; at: string; made: number; ends: BatchEnds }>
  /** All its emails have ended. */
  | Readonly<{ type: 'CompleteBatch'; at: string; ends: Omit<BatchEnds, 'processing'> }>
  /** The record is removed `keptMs` after the end. */
  | Readonly<{ type: 'RemoveBatch'; at: string; keptMs: number }>;

const none: readonly BatchEvent[] = [];

export const batchNotFound = (): DomainError =>
  new DomainError(
    'BATCH_NOT_FOUND',
    'There is no bulk send with this id. Ids are answered by POST /api/emails/send/bulk.',
  );

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

type CommandOf<Type extends BatchCommand['type']> = Extract<BatchCommand, { type: Type }>;

const accept = ({ accepted, scheduledAt, content }: CommandOf<'AcceptBatch'>): readonly BatchEvent[] =>
  scheduledAt === undefined
    ? [{ type: 'BatchQueued', data: accepted, sealed: content }]
    : [{ type: 'BatchScheduled', data: { ...accepted, scheduledAt }, sealed: content }];

const start = ({ at, partSize }: CommandOf<'StartBatch'>, batch: Batch): readonly BatchEvent[] => {
  const isDue = batch.status === 'queued' || (batch.status === 'scheduled' && releaseAtOf(batch) <= at);
  return isDue ? [{ type: 'BatchStarted', data: { at, partSize, priority: batch.accepted.priority } }] : none;
};

/** Only emails of the current part can be recorded as made. */
const advance = ({ at, upTo }: CommandOf<'AdvanceBatch'>, batch: Batch): readonly BatchEvent[] => {
  if (batch.status !== 'processing' || batch.fannedOutAt !== null) return none;
  if (upTo <= batch.upTo || upTo > claimedUpTo(batch)) return none;
  return upTo === batch.accepted.total
    ? [{ type: 'BatchFannedOut', data: { at } }]
    : [{ type: 'BatchAdvanced', data: { at, upTo, priority: batch.accepted.priority } }];
};

/** A batch whose content is destroyed has nothing to erase; the emails are erased in their own streams. */
const eraseRecipients = ({ at, recipients }: CommandOf<'EraseRecipients'>, batch: Batch): readonly BatchEvent[] => {
  if (batch.content === undefined) return none;
  const left = recipients.filter((place) => batch.erased?.includes(place) !== true);
  return left.length === 0 ? none : [{ type: 'BatchRecipientsErased', data: { at, recipients: left } }];
};

const cancel = ({ at, idempotencyKey, fingerprint }: CommandOf<'CancelBatch'>, batch: Batch): readonly BatchEvent[] => {
  if (batch.status === 'completed' || batch.status === 'cancelled') {
    throw new DomainError(
      'BATCH_NOT_CANCELLABLE',
      `Only a bulk send that goes on can be cancelled; this one is ${batch.status}.`,
      {
        relatedInfo: { status: batch.status },
      },
    );
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

const remove = ({ at, keptMs }: CommandOf<'RemoveBatch'>, batch: Batch): readonly BatchEvent[] => {
  const endedAt = endedAtOf(batch);
  const isTime = endedAt !== undefined && isoTime(Date.parse(endedAt) + keptMs) <= at;
  return isTime && batch.deletedAt === undefined ? [{ type: 'BatchRemoved', data: { at } }] : none;
};

export const batchDecider: Decider<BatchCommand, BatchEvent, BatchState> = {
  decide,
  evolve: evolveBatch,
  initialState: undefined,
};
