/** Bounds the connections of the server, and at the stop ends those over which no whole request has come. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from '../../domain/core/limits.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';

type Deps = Readonly<{ limits: Limits; clock: Clock; logger: Logger }>;

type Connections = Readonly<{
  /** For the stop: again and again, waits a moment for half-sent requests and ends the connections that answer none, until none is left. */
  endHalfSent: () => void;
}>;

/** A request that is on its way when the stop begins arrives within this time, or never. */
const HALF_SENT_GRACE_MS = 1_000;
const DROPS_LOGGED_EVERY_MS = 60_000;

/** Equal for a TCP connection and the TLS connection within it. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** To be called once, before the server listens. */
export const boundConnections = (server: Server, deps: Deps): Connections => {
  server.maxConnections = deps.limits.connectionsMax;
  logDrops(server, deps);
  const open = new Set<Socket>();
  const underWay = new Set<ServerResponse>();
  /** One listener for all requests, instead of a closure for each. */
  function forget(this: ServerResponse): void {
    underWay.delete(this);
  }
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.on('request', (_request: IncomingMessage, response: ServerResponse) => {
    underWay.add(response);
    response.on('close', forget);
  });

  /** A connection over which at least one whole request is being answered is left alone. */
  const endOthers = (): void => {
    const answering = new Set([...underWay].filter(({ req }) => req.complete).map(({ req }) => peerOf(req.socket)));
    for (const socket of open) if (!answering.has(peerOf(socket))) socket.destroy();
  };
  return {
    endHalfSent: () => {
      const closed = new AbortController();
      server.once('close', () => closed.abort());
      const endUntilClosed = async (): Promise<void> => {
        while (open.size > 0 && !closed.signal.aborted) {
          await deps.clock.sleep(HALF_SENT_GRACE_MS, closed.signal);
          endOthers();
        }
      };
      void endUntilClosed();
    },
  };
};

/** Logs that connections are refused, at most once a minute. */
const logDrops = (server: Server, { limits, clock, logger }: Deps): void => {
  let silentUntilMs = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    const nowMs = clock.monotonic();
    if (nowMs < silentUntilMs) return;
    silentUntilMs = nowMs + DROPS_LOGGED_EVERY_MS;
    logger.warn({ connectionsMax: limits.connectionsMax }, 'connections are refused: as many are open as may be');
  });
};
