/** Folds the total order into a Merkle tree and appends its root to the ledger, so that even a rewritten chain is noticed. */
import { sealSegments, type LedgerState, evolveLedger } from '../../event-log/ledger.js';
import type { Codec } from '../../event-log/codec.js';
import { HEARTBEATS_FROM } from '../../domain/core/write-level.js';
import { LEDGER_STREAM } from '../../domain/core/ids.js';
import { loadState } from '../../commands/core/handle.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import { causeOfWork, type ProcessorDeps } from '../core/deps.js';
import { underLease, type LeaseDeps } from '../core/lease.js';

type SealDeps = Pick<ProcessorDeps, 'eventLog' | 'clock' | 'limits'> & Readonly<{ store: Pick<EventStore, 'readAll' | 'head'> }>;

/** `awayMs`: how long nobody had seen the instance when it started; undefined where it never ran before. */
export type SealWorkerDeps = SealDeps & LeaseDeps & Readonly<{ awayMs: number | undefined; codec: Pick<Codec, 'level'> }>;

const SEEN_EVERY_MS = 60 * 60_000;
/** A pause as short as that of a restart is not recorded. */
const AWAY_MIN_MS = 60_000;

/** Heartbeats stand in the same stream, so the one worker that appends to it writes them, too. */
export const sealLedgerWorker = (deps: SealWorkerDeps): Worker => {
  const { awayMs = 0, clock, codec } = deps;
  const wasAway = Math.abs(awayMs) >= AWAY_MIN_MS;
  let seenMs = wasAway ? undefined : clock.monotonic();
  return {
    name: 'seal-ledger',
    run: (stop) =>
      underLease(deps, 'seal-ledger', stop, async ({ fence, signal }) => {
        while (!signal.aborted) {
          if (codec.level >= HEARTBEATS_FROM && (seenMs === undefined || clock.monotonic() - seenMs >= SEEN_EVERY_MS)) {
            await recordSeen(deps, seenMs === undefined ? Math.round(awayMs) : null, fence);
            seenMs = clock.monotonic();
          }
          await sealOnce(deps, signal, fence);
          await clock.sleep(deps.limits.ledgerSealEveryMs, signal);
        }
      }),
  };
};

const loadLedger = (deps: SealDeps) =>
  loadState(deps.eventLog, LEDGER_STREAM, { evolve: evolveLedger, initialState: undefined as LedgerState });

const causeOf = (deps: SealDeps, fence: number | undefined) =>
  causeOfWork(deps, 'seal-ledger', { teamId: '', correlationId: 'seal-ledger', causationId: 'seal-ledger' }, fence);

const recordSeen = async (deps: SealDeps, awayMs: number | null, fence: number): Promise<void> => {
  const { version } = await loadLedger(deps);
  const cause = causeOf(deps, fence);
  await deps.eventLog.append(LEDGER_STREAM, version, [{ type: 'InstanceSeen', data: { at: cause.at, awayMs } }], cause);
};

/** Seals everything up to now in segments of a bounded size. Out: how many seals were appended. */
export const sealOnce = async (deps: SealDeps, signal: AbortSignal, fence?: number): Promise<number> => {
  const loaded = await loadLedger(deps);
  let version = loaded.version;
  let seals = 0;
  const cause = causeOf(deps, fence);
  for await (const seal of sealSegments(deps.store, loaded.state, deps.limits.ledgerSealEveryEvents, signal)) {
    version = await deps.eventLog.append(LEDGER_STREAM, version, [{ type: 'LedgerSealed', data: { at: cause.at, ...seal } }], cause);
    seals += 1;
  }
  return seals;
};
