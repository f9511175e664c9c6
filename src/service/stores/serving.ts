/** Which processes answer requests: each holds a lease `http-1`, `http-2`, … so that every one can tell whether it serves alone. */
import type { Worker } from '../../domain/ports/worker.js';
import { underAnyLease, type LeaseDeps } from '../../processors/core/lease.js';

/** As many processes may serve one set of stores. */
const SERVERS_MAX = 64;
/** Each serving process holds one of these leases. */
export const servingLeases: readonly string[] = Array.from({ length: SERVERS_MAX }, (_, index) => `http-${index + 1}`);

export type Serving = Readonly<{
  /** Holds the lease until it is stopped. */
  worker: Worker;
  /** Resolves when this process can be seen by the others: it answers no request before. */
  whenSeen: Promise<void>;
  /** True where no other process answers requests. Where nobody can tell, it does not count as alone. */
  alone: () => Promise<boolean>;
}>;

/**
 * `follow` is what lets this process serve states from memory; it runs under the lease, so that a process which the others cannot see
 * reads the log for each state.
 */
export const openServing = (deps: LeaseDeps, follow: (signal: AbortSignal) => Promise<void>): Serving => {
  let seen = (): void => {};
  const whenSeen = new Promise<void>((resolve) => (seen = resolve));
  return {
    whenSeen,
    worker: {
      name: 'serving',
      run: (stop) =>
        underAnyLease(deps, servingLeases, stop, async ({ signal }) => {
          seen();
          await follow(signal);
        }),
    },
    alone: async () => {
      try {
        const held = await Promise.all(servingLeases.map((name) => deps.leases.read(name)));
        return held.every((lease) => lease === undefined || lease.holder === deps.worker);
      } catch {
        return false;
      }
    },
  };
};
