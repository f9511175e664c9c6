/** Read model of bulk sends, with their emails counted by status, and their timers. */
import type { BatchAccepted, BatchEnds, BatchEvent } from '../../domain/bulk/events.js';
import { batchCounts, statusCount, type BatchFigures, batchListing, type BatchListing } from '../../domain/bulk/listing.js';
import type { EmailStatus } from '../../domain/email/status.js';
import { splitStream, type BatchId, type TeamId } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import type { CollectionSpec, Document, ReadModels } from '../../domain/ports/read-models.js';
import { timersOf, type TimerDocument } from '../../domain/ports/timers.js';
import { type Handler, type Handlers, type Reference, type Step, timersSpec } from '../core/projection.js';
import type { Clock } from '../../domain/ports/clock.js';

export const BATCHES = 'batches';
export const BATCH_TIMERS = timersOf('batch');

export const batchesSpec: CollectionSpec = {
  name: BATCHES,
  version: 3,
  fields: ['team', 'status', 'createdAt'],
  indexes: [['team', 'createdAt']],
  personal: ['name'],
};
export const batchTimersSpec: CollectionSpec = timersSpec(BATCH_TIMERS);

export type BatchDocument = Document &
  BatchFigures &
  Readonly<{
    team: TeamId;
    stream: string;
    /** When the latest part was begun. */
    movedAt: string;
    fannedOutAt: string | null;
    stoppedAt: string | null;
    updatedAt: string;
  }>;

type BatchDraft = { -readonly [Field in keyof BatchDocument]: BatchDocument[Field] } & { counts: Partial<Record<EmailStatus, number>> };

type BatchProgress = Exclude<BatchEvent, BatchAccepted | BatchGone>;

type BatchGone = Extract<BatchEvent, { type: 'BatchRemoved' | 'BatchRetired' }>;

export const batchHandlers = (keptMs: number): Handlers<'batch'> => {
  const end = ending(keptMs);
  return {
    BatchQueued: begin,
    BatchScheduled: begin,
    BatchStarted: progress,
    BatchAdvanced: progress,
    BatchRecipientsErased: progress,
    BatchFannedOut: progress,
    BatchCancelled: progress,
    BatchStopped: end,
    BatchCompleted: end,
    BatchRemoved: removed,
    BatchRetired: removed,
  };
};

/** The reference of the batch that an event of its own stream, or of one of its emails, changes. */
export const batchReference = (id: string): Reference => ({ collection: BATCHES, id });

/** The results of a batch's emails, for the processor that completes it. */
export const readBatchEnds =
  (readModels: Pick<ReadModels, 'get'>) =>
  async (id: BatchId): Promise<BatchEnds | undefined> => {
    const batch = (await readModels.get(BATCHES, id)) as BatchDocument | undefined;
    if (batch === undefined) return undefined;
    const { queued, processing, sent, failed, cancelled } = batchCounts(batch);
    return { sent, failed, cancelled, processing: queued + processing };
  };

/** Changes a batch and sets its timer from the changed state. The timer is written first, because its collection is declared first. */
const batchSteps = (id: string, change: (batch: BatchDraft | undefined) => BatchDraft | undefined): readonly Step[] => {
  let after: BatchDraft | undefined;
  return [
    { collection: BATCHES, id, next: (document) => (after = change(document as BatchDraft | undefined)) },
    { collection: BATCH_TIMERS, id, next: () => after && timerOf(after) },
  ];
};

/** Moves an email of the batch from one status to another. `from` undefined: the email is new. */
export const emailOfBatchSteps = (id: string, from: EmailStatus | undefined, to: EmailStatus, at: string): readonly Step[] =>
  from === to
    ? []
    : batchSteps(id, (batch) => {
        if (batch === undefined) return undefined;
        const counts = { ...batch.counts };
        if (from !== undefined) add(counts, from, -1);
        add(counts, to, 1);
        batch.counts = counts;
        batch.updatedAt = at;
        return batch;
      });

const add = (counts: Partial<Record<EmailStatus, number>>, status: EmailStatus, by: number): void => {
  const sum = (counts[status] ?? 0) + by;
  if (sum === 0) delete counts[status];
  else counts[status] = sum;
};

const timerOf = (batch: BatchDraft): TimerDocument | undefined => {
  const due = dueOf(batch);
  const { id, seq, position, stream, priority, team } = batch;
  return due && { id, seq, position, kind: due.kind, key: stream, dueAt: due.dueAt, priority, team };
};

/** A second timer, set when the batch ends: when its record is removed. */
const removalStep = (
  id: string,
  ended: () => BatchDraft | undefined,
  { position, dueAt }: Pick<TimerDocument, 'position' | 'dueAt'>,
): Step => ({
  collection: BATCH_TIMERS,
  id: removalId(id),
  next: (): TimerDocument | undefined => {
    const batch = ended();
    if (batch === undefined) return undefined;
    const { stream, priority, team } = batch;
    return { id: removalId(id), seq: position, position, kind: 'removal', key: stream, dueAt, priority, team };
  },
});

const removalId = (id: string): string => `${id}:removal`;

/** What is to be done for a batch, and when; undefined if it waits for its emails, or has ended. */
const dueOf = (batch: BatchDocument): Readonly<{ kind: string; dueAt: string }> | undefined => {
  const isOpen = statusCount(batch, 'queued', 'scheduled', 'processing') > 0;
  if (batch.cancelledAt !== null)
    return batch.stoppedAt === null || isOpen ? { kind: 'cancelling', dueAt: batch.stoppedAt ?? batch.cancelledAt } : undefined;
  if (batch.fannedOutAt !== null) return batch.completedAt !== null || isOpen ? undefined : { kind: 'completing', dueAt: batch.updatedAt };
  return batch.status === 'scheduled' ? { kind: 'scheduled', dueAt: batch.scheduledAt! } : { kind: 'fan-out', dueAt: batch.movedAt };
};

const begin: Handler<BatchAccepted> = ({ event, stream, position, metadata: { teamId } }) => {
  const { at, name, templateId, templateName, priority, total, invalid, duplicates } = event.data;
  const id = stream.slice(stream.indexOf('-') + 1);
  const batch: BatchDraft = {
    id,
    seq: position,
    position,
    team: teamId as TeamId,
    stream,
    status: event.type === 'BatchScheduled' ? 'scheduled' : 'queued',
    name: name ?? null,
    templateId,
    templateName,
    priority,
    total,
    invalid: invalid.length,
    duplicates: duplicates.length,
    counts: {},
    createdAt: at,
    scheduledAt: event.type === 'BatchScheduled' ? event.data.scheduledAt : null,
    startedAt: null,
    movedAt: at,
    fannedOutAt: null,
    cancelledAt: null,
    stoppedAt: null,
    completedAt: null,
    updatedAt: at,
    test: event.data.test === true,
  };
  return batchSteps(id, () => batch);
};

const progressed = (stream: string, event: BatchProgress, tell: (batch: BatchDraft) => void = () => {}): readonly Step[] =>
  batchSteps(splitStream(stream).id, (batch) => {
    if (batch === undefined) return undefined;
    batch.updatedAt = event.data.at;
    advance(batch, event);
    tell(batch);
    return batch;
  });

const progress: Handler<BatchProgress> = ({ event, stream }) => progressed(stream, event);

/** `keptMs`: how long the record of an ended batch is kept. */
const ending =
  (keptMs: number): Handler<Extract<BatchEvent, { type: 'BatchStopped' | 'BatchCompleted' }>> =>
  ({ event, stream, position }) => {
    let ended: BatchDraft | undefined;
    const steps = progressed(stream, event, (batch) => (ended = batch));
    const dueAt = isoTime(Date.parse(event.data.at) + keptMs);
    return [...steps, removalStep(splitStream(stream).id, () => ended, { position, dueAt })];
  };

/** Removes the document; a timer for the retirement of its events stays until they leave the log. */
const removed: Handler<BatchGone> = ({ stream, event, position, metadata: { teamId: team } }) => {
  const { id } = splitStream(stream);
  const timer = {
    id: retirementId(id),
    seq: position,
    position,
    kind: 'retirement',
    key: stream,
    dueAt: event.data.at,
    priority: 'low',
    team,
  };
  return [
    ...batchSteps(id, () => undefined),
    { collection: BATCH_TIMERS, id: removalId(id), document: undefined },
    { collection: BATCH_TIMERS, id: retirementId(id), document: event.type === 'BatchRemoved' ? timer : undefined },
  ];
};

const retirementId = (id: string): string => `${id}:retirement`;

const advance = (batch: BatchDraft, event: BatchProgress): void => {
  const { at } = event.data;
  switch (event.type) {
    case 'BatchStarted':
      batch.status = 'processing';
      batch.startedAt = at;
      batch.movedAt = at;
      return;
    case 'BatchAdvanced':
      batch.movedAt = at;
      return;
    case 'BatchRecipientsErased':
      return;
    case 'BatchFannedOut':
      batch.fannedOutAt = at;
      return;
    case 'BatchCancelled':
      batch.status = 'cancelled';
      batch.cancelledAt = at;
      return;
    case 'BatchStopped':
      batch.stoppedAt = at;
      return;
    case 'BatchCompleted':
      batch.status = 'completed';
      batch.completedAt = at;
  }
};

type Deps = Readonly<{
  readModels: Pick<ReadModels, 'get'>;
  clock: Clock;
  /** The expected time for so many open emails of a team; absent: 0. */
  waitMs?: (teamId: TeamId, emails: number) => number;
}>;

export const listed = ({ clock, waitMs = () => 0 }: Deps, batch: BatchDocument): BatchListing =>
  batchListing(batch, { clock, waitMs: (emails) => waitMs(batch.team, emails) });

/** undefined if the team has no such bulk send. */
export const batchOf = async (deps: Deps, teamId: TeamId, id: BatchId): Promise<BatchListing | undefined> => {
  const batch = (await deps.readModels.get(BATCHES, id)) as BatchDocument | undefined;
  return batch?.team === teamId ? listed(deps, batch) : undefined;
};
