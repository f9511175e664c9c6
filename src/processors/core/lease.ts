/** Runs work while this process holds a lease, and stops it in time when the lease cannot be relied on any more. */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../domain/ports/clock.js';
import type { Lease, Leases } from '../../domain/ports/lease.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Worker } from '../../domain/ports/worker.js';

export type LeaseDeps = Readonly<{
  leases: Leases;
  clock: Clock;
  logger: Logger;
  /** Who this process is. */
  worker: string;
}>;

/** What a process that was frozen held is free after it. */
export const LEASE_TTL_MS = 15_000;
const RENEW_EVERY_MS = LEASE_TTL_MS / 3;
/** Who holds this lease brings work to the bus: the relay and the reader of timers tell each other what the bus had no room for, so both run where it is held. */
export const DISPATCH_LEASE = 'dispatch';
/** While another holds it; what is released or held by a dead process is taken this soon. */
const ASK_EVERY_MS = 2_000;

/** What work under a lease is given. */
export type Held = Readonly<{
  fence: number;
  /** Aborts when the work is to stop, for whatever reason. */
  signal: AbortSignal;
  /** Aborts where the lease is lost: then another may do the same work already, and nothing is worth finishing. */
  lost: AbortSignal;
}>;

/**
 * Waits for the lease of that name, then runs `work` under it. The signals that `work` is given abort as soon as this process cannot be
 * sure that it still holds the lease; `work` is then run again when it does. Resolves when the signal has aborted, or when `work` has ended
 * by itself: whoever started it decides after which pause it begins again. Rejects with what `work` rejects with, having released the lease.
 */
export const underLease = (deps: LeaseDeps, name: string, signal: AbortSignal, work: (held: Held) => Promise<void>): Promise<void> =>
  underAnyLease(deps, [name], signal, work);

/** The same, under the first of those names that is free. */
export const underAnyLease = async (
  deps: LeaseDeps,
  names: readonly string[],
  signal: AbortSignal,
  work: (held: Held) => Promise<void>,
): Promise<void> => {
  while (!signal.aborted) {
    const acquired = await acquireAny(deps, names);
    if (acquired === undefined) await deps.clock.sleep(ASK_EVERY_MS, signal);
    else if ((await runUnder(deps, acquired.lease, acquired.surelyUntilMs, signal, work)) === 'ended') return;
  }
};

const acquireAny = async ({ leases, clock, worker }: LeaseDeps, names: readonly string[]) => {
  for (const name of names) {
    const askedMs = clock.monotonic();
    const lease = await leases.acquire(name, worker, LEASE_TTL_MS);
    if (lease !== undefined) return { lease, surelyUntilMs: askedMs + LEASE_TTL_MS };
  }
  return undefined;
};

/** Out: why the work has ended. `surelyUntilMs`: the keeper counts from the moment at which it heard of the call, which is not before the call was made. */
const runUnder = async (
  deps: LeaseDeps,
  lease: Lease,
  surelyUntilMs: number,
  signal: AbortSignal,
  work: (held: Held) => Promise<void>,
): Promise<'ended' | 'lost'> => {
  const lost = new AbortController();
  const ended = new AbortController();
  const both = AbortSignal.any([signal, lost.signal]);
  // Every lane and timer of the work may listen.
  setMaxListeners(0, both);
  const renewing = keepRenewed(deps, lease, surelyUntilMs, ended.signal).then((kept) => {
    if (kept) return;
    deps.logger.warn({ lease: lease.name, fence: lease.fence }, 'lease lost');
    lost.abort();
  });
  try {
    await work({ fence: lease.fence, signal: both, lost: lost.signal });
    return lost.signal.aborted ? 'lost' : 'ended';
  } finally {
    ended.abort();
    await renewing;
    // Where the keeper is away the lease ends by itself.
    await deps.leases.release(lease).catch(() => {});
  }
};

/** Out: false once the lease is lost or may be, true where the signal ended it before. */
const keepRenewed = async (deps: LeaseDeps, lease: Lease, surelyUntilMs: number, signal: AbortSignal): Promise<boolean> => {
  const { clock, leases } = deps;
  let untilMs = surelyUntilMs;
  for (;;) {
    await clock.sleep(Math.min(RENEW_EVERY_MS, untilMs - clock.monotonic()), signal);
    if (signal.aborted) return true;
    const askedMs = clock.monotonic();
    const answered = new AbortController();
    const answer = await Promise.race([
      leases.renew(lease, LEASE_TTL_MS).then(
        (renewed) => (renewed === undefined ? 'lost' : 'renewed'),
        () => 'unanswered' as const,
      ),
      clock.sleep(untilMs - askedMs, AbortSignal.any([signal, answered.signal])).then(() => 'unanswered' as const),
    ]);
    answered.abort();
    if (signal.aborted) return true;
    if (answer === 'lost') return false;
    if (answer === 'renewed') untilMs = askedMs + LEASE_TTL_MS;
    else if (clock.monotonic() >= untilMs) return false;
  }
};

/** The name of the lease that a worker of a processor holds, so that others can tell whether its attempts are under way. */
export const workerLease = (processor: string, worker: string): string => `worker-${worker}-${processor}`;

/** The name of the lease under which a projection is kept up with the log. */
export const projectionLease = (projection: string): string => `project-${projection}`;

/** A worker that does its work at once, and again so long after each end of it, in one process of all. */
export const recurringWorker = (deps: LeaseDeps, name: string, everyMs: number, work: (held: Held) => Promise<void>): Worker => ({
  name,
  run: (stop) =>
    underLease(deps, name, stop, async (held) => {
      while (!held.signal.aborted) {
        await work(held);
        await deps.clock.sleep(everyMs, held.signal);
      }
    }),
});
