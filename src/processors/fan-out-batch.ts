/** Makes the emails of a bulk send, part by part; cancels those of one that is cancelled; and says when all have come to an end. */
import { completeBatch, fanOut, stopBatch } from '../commands/batches.js';
import type { CommandDeps } from '../commands/deps.js';
import { batchDecider, type BatchCommand } from '../domain/batch/decider.js';
import type { BatchEnds } from '../domain/batch/events.js';
import type { Batch, BatchState } from '../domain/batch/state.js';
import { assertDefined, parseBatchId, splitStream, type BatchId } from '../domain/ids.js';
import type { Context, Outcome, Processor } from './declaration.js';
import { makeProcessor } from './processor.js';

/** What the read models tell of the emails of a batch; undefined where they do not know it. */
export type ReadBatchEnds = (id: BatchId) => Promise<BatchEnds | undefined>;

export type FanOutDeps = CommandDeps & Readonly<{ batchEnds: ReadBatchEnds }>;

/** A part with documents may take as long as they all do. */
const DEADLINE_MS = 10 * 60_000;

export const fanOutBatch = (deps: FanOutDeps): Processor =>
  makeProcessor<'batch', BatchState, BatchCommand>({
    name: 'fan-out-batch',
    kind: 'batch',
    decider: batchDecider,
    startedBy: {
      BatchQueued: ({ data }) => data.priority,
      BatchScheduled: null,
      BatchStarted: null,
      BatchAdvanced: ({ data }) => data.priority,
      BatchFannedOut: null,
      BatchCancelled: ({ data }) => data.priority,
      BatchStopped: null,
      BatchCompleted: null,
    },
    timers: [
      { kind: 'fan-out', read: 'started' },
      { kind: 'scheduled', read: 'due' },
      { kind: 'cancelling', read: 'due' },
      { kind: 'completing', read: 'due' },
    ],
    deadlineMs: DEADLINE_MS,
    act: (context) => work(deps, context),
  });

/** All of it is recorded by the commands, each of which may be repeated. */
const work = async (deps: FanOutDeps, { stream, state: batch, cause, signal }: Context<Batch>): Promise<Outcome<BatchCommand>> => {
  const id = assertDefined(parseBatchId(splitStream(stream).id), 'batch id');
  if (batch.cancelled !== null) await stopBatch(deps, { id, cause, signal });
  else if (batch.fannedOutAt === null) await fanOut(deps, { id, cause, signal });
  else if (batch.completedAt === null) {
    const ends = await deps.batchEnds(id);
    if (ends !== undefined) await completeBatch(deps, id, ends, cause);
  }
  return {};
};
