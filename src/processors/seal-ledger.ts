/** Folds the total order into a Merkle tree and appends its root to the ledger, so that even a rewritten chain is noticed. */
import { sealSegments, type LedgerState, evolveLedger } from '../event-log/ledger.js';
import { LEDGER_STREAM } from '../domain/ids.js';
import { loadState } from '../commands/command-handler.js';
import type { Worker } from '../domain/ports/worker.js';
import type { EventStore } from '../domain/ports/event-store.js';
import { causeOfWork, type ProcessorDeps } from './deps.js';
import { underLease, type LeaseDeps } from './lease.js';

type SealDeps = Pick<ProcessorDeps, 'eventLog' | 'clock' | 'limits'> & Readonly<{ store: Pick<EventStore, 'readAll' | 'head'> }>;

export const sealLedgerWorker = (deps: SealDeps & LeaseDeps): Worker => ({
  name: 'seal-ledger',
  run: (stop) =>
    underLease(deps, 'seal-ledger', stop, async ({ fence, signal }) => {
      while (!signal.aborted) {
        await sealOnce(deps, signal, fence);
        await deps.clock.sleep(deps.limits.ledgerSealEveryMs, signal);
      }
    }),
});

/** Seals everything up to now in segments of a bounded size. Out: how many seals were appended. */
export const sealOnce = async (deps: SealDeps, signal: AbortSignal, fence?: number): Promise<number> => {
  const loaded = await loadState(deps.eventLog, LEDGER_STREAM, { evolve: evolveLedger, initialState: undefined as LedgerState });
  let version = loaded.version;
  let seals = 0;
  const cause = causeOfWork(deps, 'seal-ledger', { teamId: '', correlationId: 'seal-ledger', causationId: 'seal-ledger' }, fence);
  for await (const seal of sealSegments(deps.store, loaded.state, deps.limits.ledgerSealEveryEvents, signal)) {
    version = await deps.eventLog.append(LEDGER_STREAM, version, [{ type: 'LedgerSealed', data: { at: cause.at, ...seal } }], cause);
    seals += 1;
  }
  return seals;
};
