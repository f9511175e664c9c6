/** Forgets what of the audit log is over: from where calls came, by the key of its month, and what is listed. */
import { forgetOrigins } from '../../commands/access/origins.js';
import { loadState } from '../../commands/core/handle.js';
import { AUDIT_RETENTION_STREAM, type StreamName } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Worker } from '../../domain/ports/worker.js';
import { CLOCKS_APART_MS } from '../../domain/core/restore-period.js';
import { DAY_MS, HOUR_MS } from '../../domain/core/time.js';
import type { Cause } from '../../event-log/event-log.js';
import { causeOfWork, type ProcessorDeps } from '../core/deps.js';
import { recurringWorker, type LeaseDeps } from '../core/lease.js';

export type ForgetAuditDeps = LeaseDeps &
  Pick<ProcessorDeps, 'eventLog' | 'clock' | 'limits' | 'mayDestroy'> &
  Readonly<{
    /** What is over by then, as far as the read models have it: the streams of origins, and the entries up to a moment. */
    overdue: (
      now: string,
      entriesUpTo: string,
      limit: number,
    ) => Promise<Readonly<{ origins: readonly StreamName[]; entries: readonly string[] }>>;
    /** Resolves when the read models have what was appended up to that position. */
    auditCaughtUp: (position: number, signal: AbortSignal) => Promise<void>;
  }>;

/** So many at once: a fact names each entry. */
const AT_ONCE = 500;

export const forgetAuditWorker = (deps: ForgetAuditDeps): Worker =>
  recurringWorker(deps, 'forget-audit', HOUR_MS, async ({ fence, signal }) => {
    if (deps.mayDestroy()) await forgetOverdue(deps, signal, fence);
  });

/** Repeats what a crash has left: what is told as overdue once more is forgotten once more. */
const forgetOverdue = async (deps: ForgetAuditDeps, signal: AbortSignal, fence: number): Promise<void> => {
  while (!signal.aborted) {
    await deps.auditCaughtUp(await deps.eventLog.head(), signal);
    if (signal.aborted) return;
    const nowMs = deps.clock.now();
    const upTo = isoTime(nowMs - deps.limits.auditDays * DAY_MS - CLOCKS_APART_MS);
    const { origins, entries } = await deps.overdue(isoTime(nowMs), upTo, AT_ONCE);
    const cause = causeOfWork(deps, 'forget-audit', { teamId: '', correlationId: 'forget-audit', causationId: 'forget-audit' }, fence);
    // Whoever calls appends to these without a lease.
    const { fence: _fence, ...unfenced } = cause;
    for (const stream of origins) await forgetOrigins(deps.eventLog, stream, unfenced);
    if (entries.length > 0) await forgetEntries(deps, entries, cause);
    if (origins.length < AT_ONCE && entries.length < AT_ONCE) return;
  }
};

const forgetEntries = async ({ eventLog }: ForgetAuditDeps, ids: readonly string[], cause: Cause): Promise<void> => {
  const { version } = await loadState(eventLog, AUDIT_RETENTION_STREAM, { evolve: (state: null) => state, initialState: null });
  await eventLog.append(AUDIT_RETENTION_STREAM, version, [{ type: 'AuditEntriesForgotten', data: { at: cause.at, ids: [...ids] } }], cause);
};
