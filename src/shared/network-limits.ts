/** Counts what the networks of clients do, within one process and by the monotonic clock. */
import { addressBucket } from './addresses.js';

/** Limits of one network: connections at a time, and connections, commands and messages in a minute. */
export type NetworkBounds = Readonly<{
  connectionsMax: number;
  connectionsPerMinute: number;
  commandsPerMinute: number;
  messagesPerMinute: number;
}>;

/** Limits of an SMTP server. */
export type SmtpServerBounds = NetworkBounds &
  Readonly<{
    /** Connections of all networks together. */
    allConnectionsMax: number;
    sizeBytesMax: number;
    /** A client that sends nothing for this long is hung up on. */
    silenceMs: number;
    /** A connection ends after this time, whatever the client sends. */
    sessionMs: number;
    /** A server that closes gives its dialogues this time to end. */
    closeMs: number;
  }>;

export type NetworkLimits = Readonly<{
  /** Out: false if this connection is refused. It must not be closed here then. */
  open: (address: string) => boolean;
  close: (address: string) => void;
  /** Whether another is allowed now. Each call counts. */
  mayCommand: (address: string) => boolean;
  mayMessage: (address: string) => boolean;
  /** The number of networks that are counted. */
  size: () => number;
}>;

type Network = { endsAtMs: number; open: number; connections: number; commands: number; messages: number };

const MINUTE_MS = 60_000;
/** Beyond so many, networks that are not connected and whose minute is over are dropped. */
const NETWORKS_KEPT = 1_000;

export const openNetworkLimits = (
  clock: Readonly<{ monotonic: () => number }>,
  bounds: NetworkBounds,
): NetworkLimits => {
  const networks = new Map<string, Network>();
  const of = (address: string): Network => {
    const now = clock.monotonic();
    const name = addressBucket(address);
    const known = networks.get(name);
    if (known !== undefined && known.endsAtMs > now) return known;
    const network: Network = {
      endsAtMs: now + MINUTE_MS,
      open: known?.open ?? 0,
      connections: 0,
      commands: 0,
      messages: 0,
    };
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
