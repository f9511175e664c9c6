/** Cancels a bulk send: what has not left does not leave. */
import { cancelResponse } from './batch-answers.js';
import { completeBatch, endsOfBatch, stopBatch } from './batches.js';
import type { Caller } from './caller.js';
import { handle, loadState } from './command-handler.js';
import { causeOf, type CommandDeps } from './deps.js';
import { fingerprintOf, isSameBody, keyReused, type Answer, type Idempotency } from './idempotency.js';
import { ownedBy } from './owned-by.js';
import type { CancelBatchResponse } from '../api/bulk.js';
import { batchDecider, batchNotFound, type BatchCommand } from '../domain/batch/decider.js';
import type { BatchState } from '../domain/batch/state.js';
import { assertDefined, batchStream, type BatchId } from '../domain/ids.js';
import type { Cause } from '../event-log/event-log.js';

/**
 * Resolves when every email that had not left is cancelled. Rejects with BATCH_NOT_FOUND, with BATCH_NOT_CANCELLABLE where it has ended,
 * and with IDEMPOTENCY_KEY_REUSED.
 */
export const cancelBatch = async (
  deps: CommandDeps,
  caller: Caller,
  id: BatchId,
  idempotency?: Idempotency,
): Promise<Answer<CancelBatchResponse>> => {
  const cause = causeOf(deps, caller);
  const stream = batchStream(id);
  const idempotencyKey = idempotency && deps.keys.fingerprint('idempotency-key', idempotency.key);
  const fingerprint = idempotency && fingerprintOf(deps.keys, idempotency);
  const isRepeated = (batch: BatchState): boolean => idempotencyKey !== undefined && batch?.cancelled?.idempotencyKey === idempotencyKey;
  const decider = {
    ...batchDecider,
    // A cancel that was made under this key is not made again.
    decide: (command: BatchCommand, batch: BatchState) => (isRepeated(batch) ? [] : batchDecider.decide(command, batch)),
  };
  const guard = ownedBy(caller.teamId, batchNotFound);
  await completeEnded(deps, id, guard, cause);
  const command = { type: 'CancelBatch' as const, at: cause.at, idempotencyKey, fingerprint };
  const { state, events } = await handle(deps.eventLog, stream, decider, command, cause, guard);
  const replayed = events.length === 0;
  if (replayed && idempotency !== undefined && !isSameBody(deps.keys, state?.cancelled?.fingerprint, idempotency)) throw keyReused();
  const batch = await stopBatch(deps, { id, cause, signal: new AbortController().signal });
  return { body: cancelResponse(id, batch.accepted.total, assertDefined(batch.stopped ?? undefined, 'end of the batch')), replayed };
};

/** Where all emails have come to an end the bulk send is completed, though nobody may have said so yet: it cannot be cancelled any more. */
const completeEnded = async (deps: CommandDeps, id: BatchId, guard: ReturnType<typeof ownedBy>, cause: Cause): Promise<void> => {
  const loaded = await loadState(deps.eventLog, batchStream(id), batchDecider);
  guard(loaded);
  const batch = assertDefined(loaded.state, 'batch');
  if (batch.fannedOutAt === null || batch.cancelled !== null || batch.completedAt !== null) return;
  await completeBatch(deps, id, await endsOfBatch(deps, id, batch.accepted.total), cause);
};
