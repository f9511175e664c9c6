/** Leases in memory: any number of clients of one keeper, by a clock that a test moves. */
import type { Clock } from '../../src/domain/ports/clock.js';
import type { Lease, Leases } from '../../src/domain/ports/lease.js';

export type LeaseKeeper = Readonly<{
  /** One more client. */
  open: () => Leases;
  /** Ends every lease of that holder at once, as the death of its process would. */
  kill: (holder: string) => void;
}>;

type Row = { holder: string; fence: number; endMs: number; client: number };

export const leaseKeeper = (clock: Clock): LeaseKeeper => {
  const rows = new Map<string, Row>();
  let fences = 0;
  let clients = 0;
  const held = (name: string): Row | undefined => {
    const row = rows.get(name);
    return row !== undefined && row.endMs > clock.monotonic() ? row : undefined;
  };
  const leaseOf = (name: string, { holder, fence, endMs }: Row): Lease => ({
    name,
    holder,
    fence,
    untilMs: clock.now() + endMs - clock.monotonic(),
  });

  return {
    open: () => {
      const client = (clients += 1);
      return {
        acquire: async (name, holder, ttlMs) => {
          const current = held(name);
          if (current !== undefined && current.holder !== holder) return undefined;
          const row = { holder, fence: current?.fence ?? (fences += 1), endMs: clock.monotonic() + ttlMs, client };
          rows.set(name, row);
          return leaseOf(name, row);
        },
        renew: async ({ name, fence }, ttlMs) => {
          const current = held(name);
          if (current?.fence !== fence) return undefined;
          current.endMs = clock.monotonic() + ttlMs;
          return leaseOf(name, current);
        },
        release: async ({ name, fence }) => {
          if (rows.get(name)?.fence === fence) rows.delete(name);
        },
        read: async (name) => {
          const row = held(name);
          return row && leaseOf(name, row);
        },
        close: async () => {
          for (const [name, row] of rows) if (row.client === client) rows.delete(name);
        },
      };
    },
    kill: (holder) => {
      for (const [name, row] of rows) if (row.holder === holder) rows.delete(name);
    },
  };
};
