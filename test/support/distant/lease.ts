/**
 * Leases on a distant server, in memory: the server measures the time, answers get lost, and now and then it forgets
 * who holds one.
 */
import type { Lease, Leases } from '../../../src/domain/ports/lease.js';
import type { Clock } from '../../../src/domain/ports/clock.js';
import { ask, type Network } from './network.js';

/** `isHeard`: its holder was told of it; another may have been granted to it by a request that arrived late. */
type Row = { holder: string; fence: number; endMs: number; isHeard: boolean };

export type LeaseServer = Readonly<{ clock: Pick<Clock, 'now' | 'monotonic'>; rows: Map<string, Row> }>;
export const leaseServer = (clock: LeaseServer['clock']): LeaseServer => ({ clock, rows: new Map() });

export const openDistantLeases = ({ clock, rows }: LeaseServer, network: Network): Leases => {
  const held = new Map<string, Lease>();
  const shown = (name: string, { holder, fence, endMs }: Row): Lease => ({
    name,
    holder,
    fence,
    untilMs: clock.now() + endMs - clock.monotonic(),
  });
  const isHeld = (row: Row | undefined): row is Row => row !== undefined && row.endMs > clock.monotonic();
  const release = (lease: Lease): Promise<void> =>
    ask(network, 'lease.release', () => {
      const row = rows.get(lease.name);
      if (row?.fence === lease.fence && row.holder === lease.holder) row.endMs = clock.monotonic();
    });

  return {
    acquire: async (name, holder, ttlMs) => {
      const fate = network.faults.fate('lease.acquire');
      const grant = (): Lease | undefined => {
        const row = rows.get(name);
        const isFree = !isHeld(row) || (row.holder !== holder && network.faults.strikes('lease.forgotten'));
        if (!isFree && row.holder !== holder) return undefined;
        const next: Row = {
          holder,
          fence: isFree ? (row?.fence ?? 0) + 1 : row.fence,
          endMs: clock.monotonic() + ttlMs,
          isHeard: fate === 'done',
        };
        rows.set(name, next);
        return shown(name, next);
      };
      const lease = await ask(network, 'lease.acquire', grant, fate);
      if (lease !== undefined) held.set(name, lease);
      return lease;
    },
    renew: (lease, ttlMs) =>
      ask(network, 'lease.renew', () => {
        const row = rows.get(lease.name);
        if (!isHeld(row) || row.fence !== lease.fence || row.holder !== lease.holder) return undefined;
        row.endMs = clock.monotonic() + ttlMs;
        return shown(lease.name, row);
      }),
    release,
    read: (name) =>
      ask(network, 'lease.read', () => {
        const row = rows.get(name);
        return isHeld(row) ? shown(name, row) : undefined;
      }),
    close: async () => {
      await Promise.all([...held.values()].map((lease) => release(lease).catch(() => {})));
      held.clear();
    },
  };
};
