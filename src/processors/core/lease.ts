/** Runs work while this process holds a lease, and stops the work in time when the lease may be lost. */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../domain/ports/clock.js';
import type { Lease, Leases } from '../../domain/ports/lease.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Worker } from '../../domain/ports/worker.js';

export type LeaseDeps = Readonly<{
  leases: Leases;
  clock: Clock;
  logger: Logger;
  /** The name of this run of the program. */
  worker: string;
}>;

/**
 * The lease of a killed or frozen process is free after this time. Its work is taken over within 15 seconds: another
 * process asks at the moment at which the lease ends, and has three seconds to begin.
 */
export const LEASE_TTL_MS = 12_000;
/** Three renewals may fail before a lease is lost. */
const RENEW_EVERY_MS = LEASE_TTL_MS / 4;
/**
 * The holder of this lease brings work to the bus. The relay and the reader of timers share what the bus had no room
 * for, so both run in this process.
 */
export const DISPATCH_LEASE = 'dispatch';
/** How often a lease that another process holds is asked for: it may be released before it ends. */
const ASK_EVERY_MS = 2_000;
const ASK_AGAIN_MS = 50;

/** The lease as the work under it sees it. */
export type Held = Readonly<{
  fence: number;
  /** Aborts when the work is to stop, for whatever reason. */
  signal: AbortSignal;
  /** Aborts when the lease is lost: another process may do the same work already, so nothing is worth finishing. */
  lost: AbortSignal;
  /**
   * Whether the lease surely holds at this moment, and for `forMs` more if nothing renews it. A process that was frozen
   * hears it here before its signals abort, so work asks right before what cannot be undone.
   */
  isSure: (forMs?: number) => boolean;
}>;

/**
 * Waits for the lease of that name, then runs `work` under it. The signals of `work` abort as soon as this process
 * cannot be sure that it still holds the lease; `work` runs again when the process has the lease again. Resolves when
 * the signal has aborted, or when `work` has ended by itself; the caller then decides when to start it again. Rejects
 * as `work` does, after the lease is released.
 */
export const underLease = (
  deps: LeaseDeps,
  name: string,
  signal: AbortSignal,
  work: (held: Held) => Promise<void>,
): Promise<void> => underAnyLease(deps, [name], signal, work);

/** As `underLease`, under the first of the names that is free. */
export const underAnyLease = async (
  deps: LeaseDeps,
  names: readonly string[],
  signal: AbortSignal,
  work: (held: Held) => Promise<void>,
): Promise<void> => {
  while (!signal.aborted) {
    const acquired = await acquireAny(deps, names);
    if (acquired === undefined) await deps.clock.sleep(await untilFreeMs(deps, names), signal);
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

/** How long until the first of the names is free unless it is renewed, within bounds. */
const untilFreeMs = async ({ leases, clock }: LeaseDeps, names: readonly string[]): Promise<number> => {
  const held = await Promise.all(names.map((name) => leases.read(name)));
  const leftMs = held.map((lease) => (lease === undefined ? 0 : lease.untilMs - clock.now()));
  return Math.min(ASK_EVERY_MS, Math.max(ASK_AGAIN_MS, Math.min(...leftMs)));
};

/**
 * Out: why the work has ended. `surelyUntilMs`: the lease surely holds until then, because the store counts from a
 * moment after the call was made.
 */
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
  const sure = { untilMs: surelyUntilMs };
  const isSure = (forMs = 0): boolean => !lost.signal.aborted && deps.clock.monotonic() + forMs < sure.untilMs;
  const renewing = keepRenewed(deps, lease, sure, ended.signal).then((kept) => {
    if (kept) return;
    deps.logger.warn({ lease: lease.name, fence: lease.fence }, 'lease lost');
    lost.abort();
  });
  try {
    await work({ fence: lease.fence, signal: both, lost: lost.signal, isSure });
    return lost.signal.aborted ? 'lost' : 'ended';
  } finally {
    ended.abort();
    await renewing;
    // If the store is away, the lease ends by itself.
    await deps.leases.release(lease).catch(() => {});
  }
};

/**
 * Renews the lease until the signal aborts, and moves `sure` on with each renewal. Out: false as soon as the lease is or
 * may be lost.
 */
const keepRenewed = async (
  deps: LeaseDeps,
  lease: Lease,
  sure: { untilMs: number },
  signal: AbortSignal,
): Promise<boolean> => {
  const { clock, leases } = deps;
  for (;;) {
    await clock.sleep(Math.min(RENEW_EVERY_MS, sure.untilMs - clock.monotonic()), signal);
    if (signal.aborted) return true;
    const askedMs = clock.monotonic();
    const answered = new AbortController();
    const answer = await Promise.race([
      leases.renew(lease, LEASE_TTL_MS).then(
        (renewed) => (renewed === undefined ? 'lost' : 'renewed'),
        () => 'unanswered' as const,
      ),
      clock.sleep(sure.untilMs - askedMs, AbortSignal.any([signal, answered.signal])).then(() => 'unanswered' as const),
    ]);
    answered.abort();
    if (signal.aborted) return true;
    if (answer === 'lost') return false;
    if (answer === 'renewed') sure.untilMs = askedMs + LEASE_TTL_MS;
    else if (clock.monotonic() >= sure.untilMs) return false;
  }
};

/** The lease that a worker of a processor holds, so that other processes know whether its attempts are under way. */
export const workerLease = (processor: string, worker: string): string => `worker-${worker}-${processor}`;

/** The lease under which a projection follows the log. */
export const projectionLease = (projection: string): string => `project-${projection}`;

/** A worker that does its work at once, and again after each pause, in one process only. */
export const recurringWorker = (
  deps: LeaseDeps,
  name: string,
  everyMs: number,
  work: (held: Held) => Promise<void>,
): Worker => ({
  name,
  run: (stop) =>
    underLease(deps, name, stop, async (held) => {
      while (!held.signal.aborted) {
        await work(held);
        await deps.clock.sleep(everyMs, held.signal);
      }
    }),
});
