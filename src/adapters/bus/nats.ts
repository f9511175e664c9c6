/**
 * Pointers to work on a NATS server with JetStream, shared by every process: one stream, in it a subject for each pointer by processor,
 * priority and group, and a durable consumer for each group. What the server loses is found again by timers.
 */
import { setMaxListeners } from 'node:events';
import type { Bus, Work } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import { consumeFrom } from './nats-consume.js';
import { openHeld, type Delivery, type Held } from './nats-held.js';
import { openLink, type Link } from './nats-link.js';
import { namesOf } from './nats-names.js';
import { openParked, park } from './nats-parked.js';
import { openPublish, type PublishDeps } from './nats-publish.js';
import { openRooms } from './nats-rooms.js';
import { openStreams } from './nats-streams.js';
import { connectionOptionsOf, readNatsUrl, type NatsAddress } from './nats-url.js';

export type NatsBusOptions = Readonly<{
  /** The value of SEALPOST_BUS_URL. */
  url: string;
  clock: Clock;
  logger: Logger;
  /** Room for pointers of one priority of one processor, those in work included. */
  pointersMax: number;
}>;

const CONNECT_WITHIN_MS = 5_000;
const RECONNECT_EVERY_MS = 250;
/** A server that is frozen is given up after two of them; then another of the cluster may answer. */
const PING_EVERY_MS = 5_000;

/** Rejects where no server answers, or the one that does has no JetStream for us; the message names the setting. */
export const openNatsBus = async ({ url, clock, logger, pointersMax }: NatsBusOptions): Promise<Bus> => {
  const address = readNatsUrl(url);
  const { connection, freshInbox } = await connectTo(address);
  const link = openLink(connection, freshInbox(), { clock, logger });
  const names = namesOf(address.prefix);
  const streams = openStreams(link, names, { pointersMax, replicas: address.replicas });
  try {
    await streams.ensureStreams();
  } catch (fault) {
    await link.close();
    throw new Error(`SEALPOST_BUS_URL: ${fault instanceof Error ? fault.message : 'unknown fault'}`, { cause: fault });
  }
  // The server may be another one, or have lost its directory.
  link.onBack(streams.forget);
  const rooms = openRooms({ clock, link, streams, names, pointersMax });
  const held = openHeld({ clock, link });
  const closing = new AbortController();
  // Every wait of a consumer listens to it.
  setMaxListeners(0, closing.signal, link.closed);
  const publishing: PublishDeps = { logger, link, streams, names, rooms };
  const publish = openPublish(publishing);
  const workOf = (delivery: Delivery, done: () => void): Work => makeWork({ clock, logger, held, publishing }, delivery, done);
  return {
    publish,
    whenRoom: rooms.whenRoom,
    consume: (processor, { maxInFlight, signal }) =>
      consumeFrom({ clock, link, streams, names, held, freshInbox, closed: closing.signal }, processor, { maxInFlight, signal, workOf }),
    depth: rooms.depth,
    parked: openParked(publishing, publish),
    close: async () => {
      // What was pulled ahead is handed back while there is a connection.
      closing.abort();
      await link.close();
    },
  };
};

const connectTo = async (address: NatsAddress): Promise<Readonly<{ connection: Link['connection']; freshInbox: () => string }>> => {
  const driver = await import('nats');
  const servers = address.servers.join(', ');
  try {
    const connection = await driver.connect({
      ...connectionOptionsOf(address, driver),
      name: 'sealpost',
      timeout: CONNECT_WITHIN_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_EVERY_MS,
      pingInterval: PING_EVERY_MS,
      maxPingOut: 2,
      // Credentials that are renewed on the server's side make it answer again.
      ignoreAuthErrorAbort: true,
      noAsyncTraces: true,
    });
    return { connection, freshInbox: () => driver.createInbox() };
  } catch (fault) {
    const why = whyOf(fault);
    throw new Error(`SEALPOST_BUS_URL: no NATS server can be used at ${servers} (${why}). Start it, or correct the setting.`, {
      cause: fault,
    });
  }
};

/** The driver says `tls` alone where the server has none. */
const whyOf = (fault: unknown): string => {
  if (!(fault instanceof Error)) return 'unknown fault';
  return fault.message === 'tls' ? 'it offers no TLS' : fault.message;
};

type WorkDeps = Readonly<{ clock: Clock; logger: Logger; held: Held; publishing: PublishDeps }>;

const makeWork = ({ clock, logger, held, publishing }: WorkDeps, delivery: Delivery, done: () => void): Work => {
  const { pointer, deliveries } = delivery;
  let open = true;
  let isOut = true;
  const settle = async (act: () => Promise<void>): Promise<void> => {
    if (!open) throw new Error(`work ${pointer.id} was settled twice`);
    open = false;
    try {
      await act();
    } catch (fault) {
      // The server has not heard of it, so another end may be tried.
      open = true;
      throw fault;
    } finally {
      if (isOut) done();
      isOut = false;
    }
  };
  return {
    pointer,
    deliveries,
    ack: () => settle(() => held.ack(delivery)),
    retryAt: (atMs) => settle(() => held.retryAt(delivery, atMs)),
    park: (reason) =>
      settle(async () => {
        await park(publishing, delivery, reason, clock.now());
        await held.ack(delivery);
        logger.error({ id: pointer.id, stream: pointer.stream, deliveries, reason }, 'work was parked');
      }),
  };
};
