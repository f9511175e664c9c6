/** The record of a bulk send goes when those of its emails are gone: a fact, by which the read models forget it. */
import type { CommandDeps } from '../../commands/core/deps.js';
import { batchDecider, type BatchCommand } from '../../domain/bulk/decider.js';
import type { BatchState } from '../../domain/bulk/state.js';
import { DAY_MS } from '../../domain/core/time.js';
import type { Processor } from '../core/declaration.js';
import type { ProcessorDeps } from '../core/deps.js';
import { makeProcessor } from '../core/processor.js';

/** Of a command: nothing outside our own stores is called. */
const DEADLINE_MS = 60_000;

/** The command itself looks whether it is time. */
export const removeBatchInTime = ({ limits, mayDestroy }: Pick<CommandDeps, 'limits'> & Pick<ProcessorDeps, 'mayDestroy'>): Processor =>
  makeProcessor<'batch', BatchState, BatchCommand>({
    name: 'remove-batch',
    kind: 'batch',
    decider: batchDecider,
    startedBy: {
      BatchQueued: null,
      BatchScheduled: null,
      BatchStarted: null,
      BatchAdvanced: null,
      BatchRecipientsErased: null,
      BatchFannedOut: null,
      BatchCancelled: null,
      BatchStopped: null,
      BatchCompleted: null,
      BatchRemoved: null,
      BatchRetired: null,
    },
    timers: [{ kind: 'removal', read: 'due', destroys: true, seldom: true }],
    deadlineMs: DEADLINE_MS,
    act: async ({ cause }) =>
      mayDestroy() ? { command: { type: 'RemoveBatch', at: cause.at, keptMs: (limits.retentionDays + limits.archiveDays) * DAY_MS } } : {},
  });
