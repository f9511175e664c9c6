/** Figures of this process at `/metrics`, where a port is set for them: what is measured, and who is asked. */
import { ConfigError } from '../settings/config-error.js';
import type { Config } from '../settings/config.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Bus } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { Generator } from '../../domain/ports/generator.js';
import type { Leases } from '../../domain/ports/lease.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Mailer } from '../../domain/ports/mailer.js';
import type { Renderer } from '../../domain/ports/renderer.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { CallTraces, HttpDeps } from '../../http/server/context.js';
import { declareFigures, type FigureDeps } from './figures.js';
import { measuredBus, measuredGenerator, measuredLeases, measuredMailer, measuredRenderer, measuredStore } from './measured.js';

/** The parts of a running service that figures are read from. */
export type WatchedParts = Omit<FigureDeps, 'meter' | 'clock' | 'lastSealMs' | 'inFlight' | 'inFlightMax' | 'limiterMode'> &
  Readonly<{ limits: Limits; limiter: Readonly<{ mode?: () => 'shared' | 'per-process' }> }>;

type Wrap<Port> = (port: Port) => Port;

export type Metrics = Readonly<{
  store: Wrap<EventStore>;
  renderer: Wrap<Renderer>;
  generator: Wrap<Generator>;
  mailer: Wrap<Mailer>;
  bus: Wrap<Bus>;
  leases: Wrap<Leases>;
  /** Told how long the composing of a message took; absent where nobody wants to know. */
  composed?: (seconds: number) => void;
  /** Told of each answer; the same. */
  answered?: NonNullable<HttpDeps['answered']>;
  /** Told of spans that will not come to the collector; the same. */
  spansDropped?: (spans: number) => void;
  /** Makes spans of the calls that are answered; absent where no traces are wanted. */
  calls?: CallTraces;
  /** Declares the figures that are read when somebody asks for them. Out: what the supervisor is to run for them. */
  watch: (parts: WatchedParts) => readonly Worker[];
  /** Where the figures are answered. */
  port: () => number | undefined;
  close: () => Promise<void>;
}>;

const same = <Port>(port: Port): Port => port;

/** Nothing stands between, and no driver is loaded. */
const unmeasured: Metrics = {
  store: same,
  renderer: same,
  generator: same,
  mailer: same,
  bus: same,
  leases: same,
  watch: () => [],
  port: () => undefined,
  close: async () => {},
};

const COMPOSE_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1];
const HTTP_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Measures where a port is set for the figures, and listens on it. Rejects with ConfigError where it is taken. */
export const openMetrics = async (
  { metrics }: Pick<Config, 'metrics'>,
  { clock, logger }: Readonly<{ clock: Clock; logger: Logger }>,
): Promise<Metrics> => {
  if (metrics === undefined) return unmeasured;
  const { openPrometheus } = await import('../../adapters/metrics/prometheus.js');
  const meter = openPrometheus({ onFault: (figure, fault) => logger.warn({ figure, err: asError(fault) }, 'a figure could not be read') });
  const deps = { meter, clock };
  const [store, bus] = [measuredStore(deps), measuredBus(deps)];
  const compose = meter.histogram({ name: 'sealpost_compose_seconds', help: 'Composing of one message (MIME).', buckets: COMPOSE_SECONDS });
  const http = meter.histogram({
    name: 'sealpost_http_request_seconds',
    help: 'Time until a request was answered, by the pattern of its route.',
    labels: ['method', 'route', 'status'],
    buckets: HTTP_SECONDS,
  });
  const dropped = meter.counter({ name: 'sealpost_spans_dropped_total', help: 'Spans that did not come to the collector.' });
  const port = await meter.listen(metrics.host, metrics.port).catch((fault: unknown) => {
    throw notListening(metrics, fault);
  });
  return {
    store: store.wrap,
    renderer: measuredRenderer(deps),
    generator: measuredGenerator(deps),
    mailer: measuredMailer(deps),
    bus: bus.wrap,
    leases: measuredLeases(deps),
    composed: (seconds) => compose(seconds),
    answered: (method, route, status, seconds) => http(seconds, { method, route, status: String(status) }),
    spansDropped: (spans) => dropped(undefined, spans),
    watch: ({ limits, limiter, ...parts }) => [
      declareFigures({
        ...parts,
        meter,
        clock,
        inFlight: bus.inFlight,
        inFlightMax: limits.lanes,
        limiterMode: limiter.mode,
        lastSealMs: store.lastSealMs,
      }),
    ],
    port: () => port,
    close: meter.close,
  };
};

const asError = (fault: unknown): Error => (fault instanceof Error ? fault : new Error('not an Error'));

const notListening = ({ host, port }: Readonly<{ host: string; port: number }>, fault: unknown): ConfigError =>
  new ConfigError(
    `SEALPOST_METRICS_PORT=${port} on ${host} cannot be listened on (${codeOf(fault)}); stop what uses it, or set another port.`,
  );

const codeOf = (fault: unknown): string => (fault instanceof Error && 'code' in fault ? String(fault.code) : asError(fault).name);
