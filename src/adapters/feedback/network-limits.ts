/** How much of the listener one network may take: connections at a time, and connections, commands and messages in a minute. */
import type { Clock } from '../../domain/ports/clock.js';
import { addressBucket } from '../../shared/addresses.js';

export type NetworkBounds = Readonly<{
  connectionsMax: number;
  connectionsPerMinute: number;
  commandsPerMinute: number;
  messagesPerMinute: number;
}>;

export type NetworkLimits = Readonly<{
  /** false: this connection is not taken, and need not be closed here. */
  open: (address: string) => boolean;
  close: (address: string) => void;
  /** Whether another may come now; each call counts. */
  mayCommand: (address: string) => boolean;
  mayMessage: (address: string) => boolean;
  /** How many networks are remembered. */
  size: () => number;
}>;

type Network = { endsAtMs: number; open: number; connections: number; commands: number; messages: number };

const MINUTE_MS = 60_000;
/** Above it, networks whose minute is over and who are not connected are forgotten. */
const NETWORKS_KEPT = 1_000;

/** Counts by the monotonic clock, in this process alone. */
export const openNetworkLimits = (clock: Pick<Clock, 'monotonic'>, bounds: NetworkBounds): NetworkLimits => {
  const networks = new Map<string, Network>();
  const of = (address: string): Network => {
    const now = clock.monotonic();
    const name = addressBucket(address);
    const known = networks.get(name);
    if (known !== undefined && known.endsAtMs > now) return known;
    const network: Network = { endsAtMs: now + MINUTE_MS, open: known?.open ?? 0, connections: 0, commands: 0, messages: 0 };
    if (known === undefined && networks.size >= NETWORKS_KEPT) forget(networks, now);
    networks.set(name, network);
    return network;
  };
  return {
    open: (address) => {
      const network = of(address);
      network.connections += 1;
      if (network.open >= bounds.connectionsMax || network.connections > bounds.connectionsPerMinute) return false;
      network.open += 1;
      return true;
    },
    close: (address) => {
      of(address).open -= 1;
    },
    mayCommand: (address) => (of(address).commands += 1) <= bounds.commandsPerMinute,
    mayMessage: (address) => (of(address).messages += 1) <= bounds.messagesPerMinute,
    size: () => networks.size,
  };
};

const forget = (networks: Map<string, Network>, now: number): void => {
  for (const [name, { endsAtMs, open }] of networks) if (open === 0 && endsAtMs <= now) networks.delete(name);
};
