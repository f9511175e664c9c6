/**
 * Bounds what clients hold of the server: connections, those of each network, requests that wait on a connection, and
 * answers that nobody reads. At the stop it ends the connections over which no whole request has come.
 */
import type { ServerResponse, IncomingMessage, RequestListener, Server } from 'node:http';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { Socket } from 'node:net';
import type { Clock } from '../../domain/ports/clock.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Logger } from '../../domain/ports/logger.js';
import { addressBucket } from '../../shared/addresses.js';
import { isFrom } from '../../domain/keys/networks.js';
import type { HttpSettings } from './context.js';

const MINUTE_MS = 60_000;

/** Out: does `act`, at most once a minute. */
const seldom = (clock: Pick<Clock, 'monotonic'>, act: () => void): (() => void) => {
  let silentUntilMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = clock.monotonic();
    if (nowMs < silentUntilMs) return;
    silentUntilMs = nowMs + MINUTE_MS;
    act();
  };
};

type UnsentDeps = Readonly<{ limits: Limits; clock: Clock; logger: Logger }>;

type Response = Pick<ServerResponse, 'once' | 'destroy'>;

export type UnsentAnswers = Readonly<{
  /**
   * Fault of a further request of the address: its network has as many unread answers as it may; undefined if it may go
   * on.
   */
  fault: (address: string) => DomainError | undefined;
  /**
   * Counts the answer until its `close`. If all networks have too much together, ends the oldest answers of the network
   * with most.
   */
  add: (response: Response, address: string, bytes: number) => void;
}>;

type Network = { bytes: number; readonly answers: Map<Response, number> };

/** Smaller answers are bounded by the number of connections, for each connection has one. */
const COUNTED_FROM_BYTES = 16 * 1024;

/** A client that reads has read much by then. */
const RETRY_AFTER_S = 5;

export const openUnsentAnswers = ({ limits, clock, logger }: UnsentDeps): UnsentAnswers => {
  const { unsentBytesMax, networkUnsentBytesMax } = limits;
  const networks = new Map<string, Network>();
  let total = 0;
  const ended = seldom(clock, () =>
    logger.warn({ unsentBytesMax }, 'connections are ended: their clients read too little of their answers'),
  );

  const forget = (name: string, response: Response): void => {
    const network = networks.get(name);
    const bytes = network?.answers.get(response);
    if (network === undefined || bytes === undefined) return;
    network.answers.delete(response);
    network.bytes -= bytes;
    total -= bytes;
    if (network.answers.size === 0) networks.delete(name);
  };
  /** Out: false if the newest answer of all is the only one that could be ended. */
  const endOldest = (newest: Response): boolean => {
    let most: readonly [string, Network] | undefined;
    for (const entry of networks) if (most === undefined || entry[1].bytes > most[1].bytes) most = entry;
    const [oldest] = most?.[1].answers.keys() ?? [];
    if (most === undefined || oldest === undefined || oldest === newest) return false;
    forget(most[0], oldest);
    oldest.destroy();
    ended();
    return true;
  };
  return {
    fault: (address) => {
      if (total < networkUnsentBytesMax || (networks.get(addressBucket(address))?.bytes ?? 0) < networkUnsentBytesMax)
        return undefined;
      return new DomainError(
        'RATE_LIMIT_EXCEEDED',
        `Your network has ${networkUnsentBytesMax} bytes of answers that it has not read. Read them, and try again in ${RETRY_AFTER_S} seconds.`,
        { retryAfterS: RETRY_AFTER_S },
      );
    },
    add: (response, address, bytes) => {
      if (bytes < COUNTED_FROM_BYTES) return;
      const name = addressBucket(address);
      const network = networks.get(name) ?? { bytes: 0, answers: new Map<Response, number>() };
      networks.set(name, network);
      network.answers.set(response, bytes);
      network.bytes += bytes;
      total += bytes;
      response.once('close', () => forget(name, response));
      while (total > unsentBytesMax && endOldest(response));
    },
  };
};

/**
 * The hook that counts an answer before its bytes are handed to the connection. A stream makes no more than its client
 * reads.
 */
export const countUnsent =
  (answers: UnsentAnswers) =>
  (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: HookHandlerDoneFunction): void => {
    if (typeof payload === 'string' || Buffer.isBuffer(payload))
      answers.add(reply.raw, request.ip ?? '', payload.length);
    done();
  };

type ConnectionsDeps = Readonly<{
  limits: Limits;
  clock: Clock;
  logger: Logger;
  settings: Pick<HttpSettings, 'trustProxy'>;
}>;

export type Connections = Readonly<{
  /** To be called once, before the server listens. */
  bound: (server: Server) => void;
  /**
   * Hands the requests of one connection to the listener one after the other: the next one when the answer before it
   * was sent.
   */
  inTurn: (listener: RequestListener) => RequestListener;
  /**
   * For the stop: again and again, waits a moment for half-sent requests and ends the connections that answer none,
   * until none is left.
   */
  endHalfSent: (server: Server) => void;
}>;

type Exchange = Readonly<{ request: IncomingMessage; response: ServerResponse }>;

type Connection = {
  readonly socket: Socket;
  /** The network whose share the connection takes; undefined for a proxy that is trusted. */
  readonly network: string | undefined;
  /** The answer that is being made or sent; undefined while the connection is idle. */
  answering: ServerResponse | undefined;
  /** Requests that arrived behind it, whose answers are not begun. */
  readonly waiting: Exchange[];
};

/** A request that is on its way when the stop begins arrives within this time, or never. */
const HALF_SENT_GRACE_MS = 1_000;

/**
 * Above `connectionsMax` a newcomer may take the place of an idle connection, so some more are accepted than may stay.
 */
const ACCEPTED_FACTOR = 2;

/** Equal for a TCP connection and the TLS connection within it. */
const peerOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;

export const openConnections = (deps: ConnectionsDeps): Connections => {
  const { limits, clock } = deps;
  const places = openPlaces(deps);
  const byPeer = new Map<string, Connection>();
  const bySocket = new WeakMap<Socket, Connection>();

  const accept = (socket: Socket): void => {
    const connection: Connection = { socket, network: networkOf(deps, socket), answering: undefined, waiting: [] };
    if (!places.take(connection)) {
      socket.destroy();
      return;
    }
    const peer = peerOf(socket);
    byPeer.set(peer, connection);
    socket.once('close', () => {
      byPeer.delete(peer);
      places.leave(connection);
      connection.waiting.length = 0;
    });
  };
  /** `socket`: of a request, so the TLS connection where TLS is served. */
  const connectionOf = (socket: Socket): Connection | undefined => {
    const known = bySocket.get(socket);
    if (known !== undefined) return known;
    const found = byPeer.get(peerOf(socket));
    if (found !== undefined) bySocket.set(socket, found);
    return found;
  };

  /** A connection over which at least one whole request is being answered is left alone. */
  const endOthers = (): void => {
    for (const { socket, answering } of byPeer.values()) if (answering?.req.complete !== true) socket.destroy();
  };

  return {
    bound: (server) => {
      server.maxConnections = ACCEPTED_FACTOR * limits.connectionsMax;
      server.on('drop', places.dropped);
      server.on('connection', accept);
      server.timeout = limits.answerSilenceMs;
      // Node counts progress of a write that is under way as activity. A client may wait longer for an answer that is
      // being made.
      server.on('timeout', (socket: Socket) => {
        if (connectionOf(socket)?.answering !== undefined && socket.writableLength === 0)
          socket.setTimeout(limits.answerSilenceMs);
        else socket.destroy();
      });
    },
    inTurn: (listener) => {
      /** One listener for all requests, instead of a closure for each. */
      function next(this: ServerResponse): void {
        const connection = connectionOf(this.req.socket);
        if (connection === undefined) return;
        connection.answering = undefined;
        const exchange = connection.waiting.shift();
        if (exchange === undefined) return;
        if (connection.waiting.length === 0) exchange.request.socket.resume();
        begin(connection, exchange);
      }
      const begin = (connection: Connection, { request, response }: Exchange): void => {
        connection.answering = response;
        response.once('close', next);
        listener(request, response);
      };
      return (request, response) => {
        const { socket } = request;
        // The parser emits all requests of a piece that it has read, also those behind one for which the connection was
        // ended.
        if (socket.destroyed) return;
        const connection = connectionOf(socket);
        if (connection === undefined) listener(request, response);
        else if (connection.answering === undefined) begin(connection, { request, response });
        else if (connection.waiting.length >= limits.pipelinedRequestsMax) socket.destroy();
        else {
          connection.waiting.push({ request, response });
          socket.pause();
        }
      };
    },
    endHalfSent: (server) => {
      const closed = new AbortController();
      server.once('close', () => closed.abort());
      const endUntilClosed = async (): Promise<void> => {
        while (byPeer.size > 0 && !closed.signal.aborted) {
          await clock.sleep(HALF_SENT_GRACE_MS, closed.signal);
          endOthers();
        }
      };
      void endUntilClosed();
    },
  };
};

/** A proxy brings the connections of many, and bounds them itself. */
const networkOf = (
  { settings: { trustProxy } }: ConnectionsDeps,
  { remoteAddress = '' }: Socket,
): string | undefined => {
  const isTrusted = typeof trustProxy === 'boolean' ? trustProxy : isFrom(trustProxy, remoteAddress);
  return isTrusted ? undefined : addressBucket(remoteAddress);
};

type Places = Readonly<{
  /** false: there is no place for the connection. Ends an idle connection where that makes one. */
  take: (connection: Connection) => boolean;
  leave: (connection: Connection) => void;
  /** The server itself has refused a connection. */
  dropped: () => void;
}>;

/**
 * No network holds more than its share of the connections. When all are taken, a newcomer takes the place of the oldest
 * idle connection of the network that holds most, if that holds more than the newcomer's network.
 */
const openPlaces = ({ limits, clock, logger }: ConnectionsDeps): Places => {
  const { connectionsMax, networkConnectionsMax } = limits;
  const networks = new Map<string, Set<Connection>>();
  let taken = 0;
  const full = seldom(clock, () =>
    logger.warn({ connectionsMax }, 'connections are refused: as many are open as may be'),
  );
  const sharedOut = seldom(clock, () =>
    logger.warn({ networkConnectionsMax }, 'connections are refused: one network has as many open as it may'),
  );

  const leave = (connection: Connection): void => {
    const { network } = connection;
    const held = network === undefined ? undefined : networks.get(network);
    if (network !== undefined && held?.delete(connection) !== true) return;
    taken -= 1;
    if (network !== undefined && held?.size === 0) networks.delete(network);
  };
  const displaceFor = (heldByNewcomer: number): boolean => {
    let most: ReadonlySet<Connection> | undefined;
    for (const held of networks.values()) if (held.size > (most?.size ?? heldByNewcomer)) most = held;
    for (const connection of most ?? []) {
      if (connection.answering !== undefined) continue;
      leave(connection);
      connection.socket.destroy();
      return true;
    }
    return false;
  };
  return {
    take: (connection) => {
      const { network } = connection;
      const held = network === undefined ? undefined : networks.get(network);
      if ((held?.size ?? 0) >= networkConnectionsMax) {
        sharedOut();
        return false;
      }
      if (taken >= connectionsMax && !displaceFor(held?.size ?? 0)) {
        full();
        return false;
      }
      taken += 1;
      if (network === undefined) return true;
      if (held === undefined) networks.set(network, new Set([connection]));
      else held.add(connection);
      return true;
    },
    leave,
    dropped: full,
  };
};
