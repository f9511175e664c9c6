/** What the events of one bulk send add up to. */
import type { BatchAccepted, BatchContent, BatchEnds, BatchEvent } from './events.js';

export const batchStatuses = ['queued', 'processing', 'completed', 'cancelled', 'scheduled'] as const;
export type BatchStatus = (typeof batchStatuses)[number];

export type Batch = Readonly<{
  status: BatchStatus;
  /** The data of the first event. */
  accepted: BatchAccepted['data'];
  /** undefined once the key is destroyed: nothing is made from it any more. */
  content: BatchContent | undefined;
  scheduledAt: string | null;
  startedAt: string | null;
  /** So many emails are made for certain, and none beyond these and one part. */
  upTo: number;
  partSize: number;
  /** The places of recipients that are erased; absent for none. */
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

/** How many of its emails may exist: no other will, unless the batch goes on. */
export const claimedUpTo = ({ accepted, upTo, partSize }: Batch): number => Math.min(accepted.total, upTo + partSize);

/** When its emails are to leave, from which their dates and the days of their personal data count. ISO 8601. */
export const releaseAtOf = ({ accepted, scheduledAt }: Pick<Batch, 'accepted' | 'scheduledAt'>): string => scheduledAt ?? accepted.at;

/** When nothing was left to be made or called back; undefined before. ISO 8601. */
export const endedAtOf = ({ completedAt, stopped }: Pick<Batch, 'completedAt' | 'stopped'>): string | undefined =>
  completedAt ?? stopped?.at;

/** Pure and total: events that need a first one are ignored where there is none. */
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
    case 'BatchRetired':
      return state;
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
