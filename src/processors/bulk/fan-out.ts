/**
 * Processors of bulk sends: make the emails part by part, stop a cancelled one, complete an ended one, remove an old
 * record.
 */
import type { EmailNeeds } from '../../commands/email/needs.js';
import { batchDecider, type BatchCommand, type BatchState } from '../../domain/bulk/decider.js';
import { DAY_MS } from '../../domain/core/time.js';
import type { Processor, ProcessorDeps, Context, Outcome } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';
import { completeBatch, fanOut, loadBatch, stopBatch } from '../../commands/bulk/batches.js';
import type { Stored } from '../../commands/documents/storage.js';
import type { BatchEnds, BatchEvent } from '../../domain/bulk/events.js';
import type { Decider } from '../../domain/core/decider.js';
import {
  assertDefined,
  emailIdInBatch,
  emailStream,
  parseBatchId,
  splitStream,
  type BatchId,
  type TeamId,
} from '../../domain/core/ids.js';

/** The results of a batch's emails from the read models; undefined: they do not know the batch yet. */
type ReadBatchEnds = (id: BatchId) => Promise<BatchEnds | undefined>;

/** `storedBytes`: the bytes of attachments that a team stores. */
export type FanOutDeps = EmailNeeds &
  Readonly<{ batchEnds: ReadBatchEnds; storedBytes: (teamId: TeamId) => Promise<Stored> }>;

/** How many emails its last event says are made; `work` loads the batch. */
type Progress = Readonly<{ upTo: number }>;

const decider: Decider<never, BatchEvent, Progress | undefined> = {
  decide: () => [],
  evolve: (_, event) => ({ upTo: event.type === 'BatchAdvanced' ? event.data.upTo : 0 }),
  initialState: undefined,
};

/** Each may hold ten megabytes or more of content in memory. */
const IN_FLIGHT_MAX = 4;

/** Long enough to generate all documents of a part. */
const FAN_OUT_DEADLINE_MS = 10 * 60_000;

/** Emails of a batch that are made ahead of their delivery: few enough that their events and keys still are in memory. */
const AHEAD = 100;
/** The pauses before the delivery is looked at again: the first, the growth, the longest, and their sum. */
const PAUSE_FIRST_MS = 10;
const PAUSE_GROWTH = 1.5;
const PAUSE_MAX_MS = 100;
const PAUSES_MAX_MS = 5_000;

export const fanOutBatch = (deps: FanOutDeps): Processor =>
  makeProcessor<'batch', Progress | undefined, never>({
    name: 'fan-out-batch',
    kind: 'batch',
    decider,
    startedBy: {
      BatchQueued: ({ data }) => data.priority,
      BatchAdvanced: ({ data }) => data.priority,
      BatchCancelled: ({ data }) => data.priority,
    },
    timers: [
      { kind: 'fan-out', read: 'started' },
      { kind: 'scheduled', read: 'due' },
      { kind: 'cancelling', read: 'due' },
      { kind: 'completing', read: 'due' },
    ],
    deadlineMs: FAN_OUT_DEADLINE_MS,
    inFlightMax: IN_FLIGHT_MAX,
    foldsFrom: async ({ eventLog }, stream) => (await eventLog.last(stream))?.revision ?? 0,
    act: (context) => work(deps, context),
  });

/** The commands append the events themselves, and each can be repeated. */
const work = async (
  deps: FanOutDeps,
  { stream, state, deliveries, cause, signal }: Context<Progress>,
): Promise<Outcome<never>> => {
  const id = assertDefined(parseBatchId(splitStream(stream).id), 'batch id');
  const pauseMs = pauseAfter(deliveries);
  if (pauseMs !== undefined && !(await isDeliveryNear(deps, id, state)))
    return { againAtMs: deps.clock.now() + pauseMs };
  const known = await loadBatch(deps, id);
  const { batch } = known;
  if (batch.cancelled !== null) await stopBatch(deps, { id, cause, signal }, known);
  else if (batch.fannedOutAt === null) {
    const storedBytes = () => deps.storedBytes(known.teamId);
    await fanOut(deps, { id, cause, signal, storedBytes }, known);
  } else if (batch.completedAt === null) {
    const ends = await deps.batchEnds(id);
    if (ends !== undefined) await completeBatch(deps, id, ends, cause, known);
  }
  return {};
};

/**
 * True if an attempt has begun for the email that was made `AHEAD` places before the last one; its stream says so,
 * whichever process delivers.
 */
const isDeliveryNear = async (
  { eventLog }: Pick<FanOutDeps, 'eventLog'>,
  id: BatchId,
  { upTo }: Progress,
): Promise<boolean> =>
  // The first event is the email itself.
  upTo <= AHEAD || (await eventLog.last(emailStream(emailIdInBatch(id, upTo - AHEAD))))?.revision !== 0;

/**
 * The pause before a part is delivered again whose time has not come; undefined after all of them: a slow host, or an
 * email for which no attempt can begin, delays a part only for a while. The pointer waits on the bus, so that no other
 * batch waits for the place of this one.
 */
const pauseAfter = (deliveries: number): number | undefined => {
  let [pauseMs, sumMs] = [PAUSE_FIRST_MS, 0];
  for (let delivery = 1; delivery < deliveries && sumMs < PAUSES_MAX_MS; delivery += 1) {
    sumMs += pauseMs;
    pauseMs = Math.min(pauseMs * PAUSE_GROWTH, PAUSE_MAX_MS);
  }
  return sumMs < PAUSES_MAX_MS ? pauseMs : undefined;
};

/** Only our own stores are called. */
const REMOVAL_DEADLINE_MS = 60_000;

/** Removes the record of a bulk send when those of its emails are gone. The decider checks whether it is due. */
export const removeBatchInTime = ({
  limits,
  mayDestroy,
}: Pick<EmailNeeds, 'limits'> & Pick<ProcessorDeps, 'mayDestroy'>): Processor =>
  makeProcessor<'batch', BatchState, BatchCommand>({
    name: 'remove-batch',
    kind: 'batch',
    decider: batchDecider,
    timers: [{ kind: 'removal', read: 'due', destroys: true, seldom: true }],
    deadlineMs: REMOVAL_DEADLINE_MS,
    act: async ({ cause }) =>
      mayDestroy()
        ? {
            command: {
              type: 'RemoveBatch',
              at: cause.at,
              keptMs: (limits.retentionDays + limits.archiveDays) * DAY_MS,
            },
          }
        : {},
  });
