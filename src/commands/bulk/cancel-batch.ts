/** Cancels a bulk send: what has not left does not leave. */
import { cancelResponse } from './answers.js';
import { completeBatch, endsOfBatch, stopBatch } from './batches.js';
import type { Caller } from '../core/caller.js';
import { loadState } from '../core/handle.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import type { Answer, Idempotency } from '../core/idempotency.js';
import { handleKeyed } from '../core/keyed-command.js';
import { changeableBy } from '../core/test-keys.js';
import type { CancelBatchResponse } from '../../api/bulk.js';
import { batchDecider, batchNotFound } from '../../domain/bulk/decider.js';
import { assertDefined, batchStream, type BatchId } from '../../domain/core/ids.js';
import type { Cause } from '../../event-log/event-log.js';

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
  const guard = changeableBy(caller, batchNotFound);
  await completeEnded(deps, id, guard, cause);
  const { replayed } = await handleKeyed(deps, batchStream(id), batchDecider, {
    command: (key) => ({ type: 'CancelBatch' as const, at: cause.at, ...key }),
    earlier: ({ cancelled }, key) => (cancelled?.idempotencyKey === key ? cancelled : undefined),
    idempotency,
    cause,
    guard,
  });
  const batch = await stopBatch(deps, { id, cause, signal: new AbortController().signal });
  return { body: cancelResponse(id, batch.accepted.total, assertDefined(batch.stopped ?? undefined, 'end of the batch')), replayed };
};

/** Where all emails have come to an end the bulk send is completed, though nobody may have said so yet: it cannot be cancelled any more. */
const completeEnded = async (deps: CommandDeps, id: BatchId, guard: ReturnType<typeof changeableBy>, cause: Cause): Promise<void> => {
  const loaded = await loadState(deps.eventLog, batchStream(id), batchDecider);
  guard(loaded);
  const batch = assertDefined(loaded.state, 'batch');
  if (batch.fannedOutAt === null || batch.cancelled !== null || batch.completedAt !== null) return;
  await completeBatch(deps, id, await endsOfBatch(deps, id, batch.accepted.total), cause);
};
