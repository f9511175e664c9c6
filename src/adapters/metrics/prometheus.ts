/** Metrics in the text format of Prometheus, on a port of their own that asks for no key. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Meter } from '../../domain/ports/meter.js';

export type Prometheus = Meter &
  Readonly<{
    /** Out: the port that it listens on. Rejects if the port is taken. */
    listen: (host: string, port: number) => Promise<number>;
    close: () => Promise<void>;
  }>;

type OnFault = (figure: string, fault: unknown) => void;

const METRICS_PATH = '/metrics';
const HEADERS_TIMEOUT_MS = 10_000;
/** A client that reads nothing for this long is ended. */
const SILENCE_MS = 10_000;
const CONNECTIONS_MAX = 20;

/** Includes metrics of the process itself: CPU, memory, event loop, garbage collection. */
export const openPrometheus = ({ onFault }: Readonly<{ onFault: OnFault }>): Prometheus => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const server = serverOf(registry, onFault);

  return {
    counter: ({ name, help, labels = [] }) => {
      const counter = new Counter({ name, help, labelNames: [...labels], registers });
      return (values, by = 1) => (values === undefined ? counter.inc(by) : counter.inc(values, by));
    },
    histogram: ({ name, help, labels = [], buckets }) => {
      const histogram = new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers });
      return (value, values) => (values === undefined ? histogram.observe(value) : histogram.observe(values, value));
    },
    gauge: ({ name, help, labels = [] }, read) => {
      new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers,
        async collect() {
          this.reset();
          // Reset leaves a gauge without labels at 0. It is removed, so that a failed reading is not shown as 0.
          if (labels.length === 0) this.remove();
          try {
            for (const { labels: values, value } of await read()) this.set(values ?? {}, value);
          } catch (fault) {
            onFault(name, fault);
          }
        },
      });
    },
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const serverOf = (registry: Registry, onFault: OnFault): Server => {
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: HEADERS_TIMEOUT_MS },
    (request, response) => {
      response.shouldKeepAlive = false;
      const isRead = request.method === 'GET' || request.method === 'HEAD';
      if (!isRead || request.url?.split('?')[0] !== METRICS_PATH) {
        response
          .writeHead(404, { 'content-type': 'text/plain; charset=utf-8' })
          .end(`GET ${METRICS_PATH} has the figures.\n`);
        return;
      }
      registry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
        (fault: unknown) => {
          onFault('all', fault);
          response.writeHead(500).end();
        },
      );
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  // One answer for each connection: figures are not gathered for a client that sends many requests and reads nothing.
  // Node refuses the others, and ends the connection where `shouldKeepAlive` is false.
  server.maxRequestsPerSocket = 1;
  server.timeout = SILENCE_MS;
  // The server keeps no process running, so that a start that fails after this ends the process.
  server.unref();
  return server;
};
