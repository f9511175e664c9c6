/** Read model of bulk sends, with their emails counted by status, and their timers. */
import type { BatchAccepted, BatchEnds, BatchEvent } from '../../domain/bulk/events.js';
import {
  batchCounts,
  madeOf,
  statusCount,
  type BatchFigures,
  batchListing,
  type BatchListing,
} from '../../domain/bulk/listing.js';
import type { EmailStatus } from '../../domain/email/status.js';
import { splitStream, type BatchId, type TeamId } from '../../domain/core/ids.js';
import { dayOf, isoTime } from '../../domain/core/time.js';
import type { CountedMilestone } from '../../domain/email/milestones.js';
import type { Recorded } from '../../domain/events.js';
import type { CollectionSpec, Document, ReadModels } from '../../domain/ports/read-models.js';
import { timersOf, type TimerDocument } from '../../domain/ports/timers.js';
import { secondSeq, type Handler, type Handlers, type Reference, type Step, timersSpec } from '../core/projection.js';
import { changeUnmade, type UnmadeChange } from '../email/backlogs.js';
import { countEmails, countsId, EMAIL_BACKLOGS, EMAIL_COUNTS } from '../email/read-models.js';
import { mergedByDocument, summariesOfDay, summarySteps } from '../email/summaries.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Priority } from '../../domain/ports/bus.js';

export const BATCHES = 'batches';
export const BATCH_TIMERS = timersOf('batch');

export const batchesSpec: CollectionSpec = {
  name: BATCHES,
  version: 4,
  fields: ['team', 'status', 'createdAt', 'priority', 'waitingSince'],
  indexes: [
    ['team', 'createdAt'],
    ['team', 'priority', 'waitingSince'],
  ],
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
    tags: readonly string[];
    partSize: number;
    /** Counts on the day of the call for emails that have no event of their own yet. */
    counted: Readonly<{ emails: number; documents: number }>;
    /** Since when emails without a stream wait for their turn; absent: none does. */
    waitingSince?: string;
  }>;

/** Rest of the document after the record is removed. */
type GoneDocument = Document & Readonly<{ gone: 1 }>;

type BatchDraft = { -readonly [Field in keyof BatchDocument]: BatchDocument[Field] } & {
  counts: Partial<Record<EmailStatus, number>>;
};

/** undefined: there is none, or its record is removed. */
const shown = <Shown extends BatchDocument | BatchDraft = BatchDocument>(
  document: Document | undefined,
): Shown | undefined => (document === undefined || 'gone' in document ? undefined : (document as Shown));

type BatchProgress = Exclude<BatchEvent, BatchAccepted | { type: 'BatchRemoved' }>;

export const batchHandlers = (keptMs: number): Handlers<'batch'> => {
  const progress = progressing(keptMs);
  return {
    BatchQueued: begin,
    BatchScheduled: begin,
    BatchStarted: progress,
    BatchAdvanced: progress,
    BatchRecipientsErased: progress,
    BatchFannedOut: progress,
    BatchCancelled: progress,
    BatchStopped: progress,
    BatchCompleted: progress,
    BatchRemoved: removed,
  };
};

/** The reference of the batch that an event of one of its emails changes. */
export const batchReference = (id: string): Reference => ({ collection: BATCHES, id });

/** The results of a batch's emails, for the processor that completes it. */
export const readBatchEnds =
  (readModels: Pick<ReadModels, 'get'>) =>
  async (id: BatchId): Promise<BatchEnds | undefined> => {
    const batch = shown(await readModels.get(BATCHES, id));
    if (batch === undefined) return undefined;
    const { queued, processing, sent, failed, cancelled } = batchCounts(batch);
    return { sent, failed, cancelled, processing: queued + processing };
  };

/**
 * Changes a batch and sets its timer from the changed state. The timer is written first, because its collection is
 * declared first.
 */
const batchSteps = (id: string, change: (batch: BatchDraft) => void): readonly Step[] => {
  let after: BatchDraft | undefined;
  return [
    {
      collection: BATCHES,
      id,
      next: (document) => {
        after = shown<BatchDraft>(document);
        if (after !== undefined) change(after);
        return document;
      },
    },
    { collection: BATCH_TIMERS, id, next: () => after && timerOf(after) },
  ];
};

/** Moves an email of the batch from one status to another. */
export const emailOfBatchSteps = (id: string, from: EmailStatus, to: EmailStatus, at: string): readonly Step[] =>
  from === to
    ? []
    : batchSteps(id, (batch) => {
        const counts = { ...batch.counts };
        add(counts, from, -1);
        add(counts, to, 1);
        batch.counts = counts;
        batch.updatedAt = at;
      });

/**
 * Counts of a batch for an email before its first event: on the day of the call, and in the backlog (`open`, under
 * `wait`).
 */
export type Expected = { emails: number; documents: number; open: number; wait: 'ready' | 'scheduled' };

type MadeEmail = Readonly<{ status: EmailStatus; createdAt: string; documents?: number }>;

/**
 * A new email of the batch. Writes to `expected` what the batch counts less from here on; the email counts it itself.
 */
export const emailMadeSteps = (
  id: string,
  { status, createdAt, documents = 0 }: MadeEmail,
  calledOn: string,
  expected: Expected,
): readonly Step[] =>
  batchSteps(id, (batch) => {
    const before = unmadeOf(batch);
    const counts = { ...batch.counts };
    add(counts, status, 1);
    batch.counts = counts;
    batch.updatedAt = createdAt;
    const unmade = unmadeOf(batch);
    expected.open = before - unmade;
    expected.wait = waitOf(batch);
    setWaiting(batch);
    // Emails that an earlier program made of a scheduled batch count on the day of their release. The batch stops
    // counting them later.
    if (dayOf(batch.createdAt) !== calledOn) return;
    const { counted } = batch;
    expected.emails = Math.max(0, counted.emails - unmade);
    expected.documents = Math.min(documents, counted.documents);
    batch.counted = { emails: counted.emails - expected.emails, documents: counted.documents - expected.documents };
  });

/** Emails that have no event of their own yet, and may still get one. */
const unmadeOf = (batch: BatchDocument): number => {
  if (batch.fannedOutAt !== null || batch.stoppedAt !== null) return 0;
  return Math.max(0, (batch.cancelledAt === null ? batch.total : batch.claimed) - madeOf(batch));
};

const waitOf = ({ status }: BatchDocument): 'scheduled' | 'ready' => (status === 'scheduled' ? 'scheduled' : 'ready');

const setWaiting = (batch: BatchDraft): void => {
  if (waitOf(batch) === 'ready' && unmadeOf(batch) > 0) batch.waitingSince = batch.scheduledAt ?? batch.createdAt;
  else delete batch.waitingSince;
};

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
const removalStep = ({ id, stream, priority, team }: BatchDocument, position: number, dueAt: string): Step => ({
  collection: BATCH_TIMERS,
  id: removalId(id),
  document: {
    id: removalId(id),
    seq: position,
    position,
    kind: 'removal',
    key: stream,
    dueAt,
    priority,
    team,
  } satisfies TimerDocument,
});

const removalId = (id: string): string => `${id}:removal`;

/** Next work for a batch, and its time; undefined if it waits for its emails, or has ended. */
const dueOf = (batch: BatchDocument): Readonly<{ kind: string; dueAt: string }> | undefined => {
  const isOpen = statusCount(batch, 'queued', 'scheduled', 'processing') > 0;
  if (batch.cancelledAt !== null)
    return batch.stoppedAt === null || isOpen
      ? { kind: 'cancelling', dueAt: batch.stoppedAt ?? batch.cancelledAt }
      : undefined;
  if (batch.fannedOutAt !== null)
    return batch.completedAt !== null || isOpen ? undefined : { kind: 'completing', dueAt: batch.updatedAt };
  return batch.status === 'scheduled'
    ? { kind: 'scheduled', dueAt: batch.scheduledAt! }
    : { kind: 'fan-out', dueAt: batch.movedAt };
};

const begin: Handler<BatchAccepted> = ({ event, stream, position, metadata: { teamId } }) => {
  const { at, name, templateId, templateName, priority, total, invalid, duplicates, tags, documentCount } = event.data;
  const id = stream.slice(stream.indexOf('-') + 1);
  const isTest = event.data.test === true;
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
    claimed: 0,
    createdAt: at,
    scheduledAt: event.type === 'BatchScheduled' ? event.data.scheduledAt : null,
    startedAt: null,
    movedAt: at,
    fannedOutAt: null,
    cancelledAt: null,
    stoppedAt: null,
    completedAt: null,
    updatedAt: at,
    test: isTest,
    tags: [...new Set(tags)],
    partSize: 0,
    counted: isTest ? { emails: 0, documents: 0 } : { emails: total, documents: documentCount },
  };
  setWaiting(batch);
  const { emails, documents } = batch.counted;
  return [
    ...daySteps(batch, position, { emails, documents, accepted: emails, cancelled: 0, at }),
    backlogStep(batch, position, [{ priority, wait: waitOf(batch), by: total }]),
    ...documentSteps(batch),
  ];
};

/** The batch with its timer. */
const documentSteps = (batch: BatchDraft): readonly Step[] => [
  { collection: BATCH_TIMERS, id: batch.id, document: timerOf(batch) },
  { collection: BATCHES, id: batch.id, next: () => batch },
];

type DayOf = Pick<BatchDocument, 'team' | 'createdAt' | 'templateId' | 'tags' | 'test'>;

/**
 * `emails`, `documents`, `accepted`: changes of the day of the call; `cancelled`: emails that count as cancelled on the
 * day of `at`.
 */
type DayChange = Readonly<{ emails: number; documents: number; accepted: number; cancelled: number; at: string }>;

/** Changes the counts and summaries of days. A batch of a test key changes none. */
const daySteps = (
  batch: DayOf,
  position: number,
  { emails, documents, accepted, cancelled, at }: DayChange,
): readonly Step[] => {
  if (batch.test) return [];
  const { team, createdAt, templateId, tags } = batch;
  const day = dayOf(createdAt);
  const summaries = (on: string, seq: number, milestone: CountedMilestone, times: number) =>
    summarySteps(
      { team, at: on, position, seq, templateId, tags },
      { milestones: [milestone], durations: {} },
      { times: () => times },
    );
  return [
    {
      collection: EMAIL_COUNTS,
      id: countsId(team, day),
      next: (document) => countEmails(document, { team, day, seq: position, position, emails, documents }),
    },
    ...mergedByDocument([
      ...summaries(createdAt, position, 'accepted', accepted),
      ...summaries(at, secondSeq(position), 'cancelled', cancelled),
    ]),
  ];
};

const backlogStep = (
  { team }: Pick<BatchDocument, 'team'>,
  position: number,
  changes: readonly UnmadeChange[],
): Step => ({
  collection: EMAIL_BACKLOGS,
  id: team,
  next: (document) => changeUnmade(document, changes, { team, seq: position, position }),
});

/** `keptMs`: how long the record of an ended batch is kept. */
const progressing =
  (keptMs: number): Handler<BatchProgress> =>
  ({ event, position }, document) => {
    const batch = shown<BatchDraft>(document);
    if (batch === undefined) return [];
    const { at } = event.data;
    const { priority } = batch;
    const before = { wait: waitOf(batch), unmade: unmadeOf(batch), counted: batch.counted };
    advance(batch, event);
    batch.updatedAt = at;
    setWaiting(batch);
    const unmade = unmadeOf(batch);
    const hasEnded = batch.fannedOutAt !== null || batch.stoppedAt !== null;
    // The documents of emails that are never made are known only when all others are.
    batch.counted = {
      emails: Math.min(before.counted.emails, unmade),
      documents: hasEnded ? 0 : before.counted.documents,
    };
    const emails = batch.counted.emails - before.counted.emails;
    const cancelled = event.type === 'BatchCancelled' ? batch.total - batch.claimed : 0;
    const documents = batch.counted.documents - before.counted.documents;
    const isEnd = event.type === 'BatchStopped' || event.type === 'BatchCompleted';
    return [
      ...daySteps(batch, position, { emails, documents, accepted: emails + cancelled, cancelled, at }),
      backlogStep(batch, position, [
        { priority, wait: before.wait, by: -before.unmade },
        { priority, wait: waitOf(batch), by: unmade },
      ]),
      ...(isEnd ? [removalStep(batch, position, isoTime(Date.parse(at) + keptMs))] : []),
      ...documentSteps(batch),
    ];
  };

/** Removes the document but for a stub. */
const removed: Handler<Extract<BatchEvent, { type: 'BatchRemoved' }>> = ({ stream, position }, document) => {
  const { id } = splitStream(stream);
  const stub: GoneDocument = { id, seq: document?.seq ?? position, position, gone: 1 };
  return [
    { collection: BATCH_TIMERS, id, document: undefined },
    { collection: BATCH_TIMERS, id: removalId(id), document: undefined },
    { collection: BATCHES, id, next: () => stub },
  ];
};

/**
 * The other documents that an event of a batch may change: the backlog of its team, and the counts and summaries of
 * days.
 */
export const relatedToBatch = (
  { event, metadata: { teamId: team } }: Recorded<BatchEvent>,
  document: Document | undefined,
  first: Recorded | undefined,
): readonly Reference[] => {
  const references: Reference[] = [{ collection: EMAIL_BACKLOGS, id: team }];
  const day = (at: string): void => void references.push(...summariesOfDay(team, dayOf(at), true));
  const calledAt = shown(document)?.createdAt ?? first?.event.data.at;
  if (calledAt === undefined) return references;
  references.push({ collection: EMAIL_COUNTS, id: countsId(team, dayOf(calledAt)) });
  day(calledAt);
  if (event.type === 'BatchCancelled') day(event.data.at);
  return references;
};

const advance = (batch: BatchDraft, event: BatchProgress): void => {
  const { at } = event.data;
  switch (event.type) {
    case 'BatchStarted':
      batch.status = 'processing';
      batch.startedAt = at;
      batch.movedAt = at;
      batch.partSize = event.data.partSize;
      batch.claimed = Math.min(batch.total, batch.partSize);
      return;
    case 'BatchAdvanced':
      batch.movedAt = at;
      batch.claimed = Math.min(batch.total, event.data.upTo + batch.partSize);
      return;
    case 'BatchRecipientsErased':
      return;
    case 'BatchFannedOut':
      batch.fannedOutAt = at;
      batch.claimed = batch.total;
      return;
    case 'BatchCancelled':
      batch.status = 'cancelled';
      batch.cancelledAt = at;
      return;
    case 'BatchStopped':
      batch.stoppedAt = at;
      batch.claimed = event.data.made;
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
  const batch = shown(await deps.readModels.get(BATCHES, id));
  return batch?.team === teamId ? listed(deps, batch) : undefined;
};

/** Since when the first of a team's emails without a stream waits for its turn; undefined: none does. */
export const waitingSince =
  ({ find }: Pick<ReadModels, 'find'>) =>
  async (team: string, priority: Priority): Promise<string | undefined> => {
    const [first] = await find(BATCHES, {
      where: { team: { eq: team }, priority: { eq: priority }, waitingSince: { gte: '' } },
      sort: { field: 'waitingSince', direction: 'asc' },
      limit: 1,
    });
    return shown(first)?.waitingSince;
  };
