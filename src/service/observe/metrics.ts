/**
 * The metrics of this process at `/metrics`, if a port is set for them: ports that are measured, and figures that are
 * read on request.
 */
import type { Bus } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Disk } from '../../domain/ports/disk.js';
import type { Meter, Reading } from '../../domain/ports/meter.js';
import type { Health, Worker } from '../../domain/ports/worker.js';
import type { RelayState } from '../../processors/email/routes.js';
import { readinessOf } from '../../domain/core/readiness.js';
import { waitingSince } from '../../projections/bulk/batches.js';
import { queueFigures } from '../../projections/email/queue.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import type { Runner } from '../../projections/core/runner.js';
import { ConfigError } from '../settings/settings.js';
import type { Config } from '../settings/config.js';
import type { Limits } from '../../domain/core/limits.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { Generator } from '../../domain/ports/generator.js';
import type { Leases } from '../../domain/ports/lease.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Mailer, RecipientOutcome } from '../../domain/ports/mailer.js';
import type { Renderer } from '../../domain/ports/renderer.js';
import type { CallTraces, HttpDeps } from '../../http/server/context.js';
import type { NoteBlocked, NoteProviderEvent } from '../../commands/recipients/needs.js';
import {
  measuredBus,
  measuredGenerator,
  measuredLeases,
  measuredMailer,
  measuredRenderer,
  measuredStore,
} from './port-metrics.js';

export type Metrics = Readonly<{
  store: Wrap<EventStore>;
  renderer: Wrap<Renderer>;
  generator: Wrap<Generator>;
  /** `relay`: its name in the figures. */
  mailer: (mailer: Mailer, relay: string) => Mailer;
  bus: Wrap<Bus>;
  leases: Wrap<Leases>;
  /** Called with the time that composing a message took; absent if it is not measured. */
  composed?: (seconds: number) => void;
  /** Called for each answer; absent if nothing is measured. */
  answered?: NonNullable<HttpDeps['answered']>;
  /** Called for each domain that blocks our mail; absent if nothing is measured. */
  blocked?: NoteBlocked;
  /** Called for each domain whose bounces or complaints cross their bound; absent if nothing is measured. */
  domainAlert?: (side: string, measure: string) => void;
  /** Called for each event of a mail provider; absent if nothing is measured. */
  providerEvent?: (provider: string, outcome: string) => void;
  /** Called with the number of spans that do not reach the collector; absent if nothing is measured. */
  spansDropped?: (spans: number) => void;
  /** Makes spans of the calls that are answered; absent if no traces are wanted. */
  calls?: CallTraces;
  /** Declares the figures that are read on request. Out: the workers that the supervisor runs for them. */
  watch: (parts: WatchedParts) => readonly Worker[];
  /** The port of `/metrics`. */
  port: () => number | undefined;
  close: () => Promise<void>;
}>;

type FigureDeps = Readonly<{
  meter: Meter;
  clock: Clock;
  version: string;
  readModels: Pick<ReadModels, 'find' | 'count'>;
  eventLog: Readonly<{ head: () => Promise<number> }>;
  runners: ReadonlyMap<string, Pick<Runner, 'position' | 'isBehind'>>;
  health: Health;
  disk: Disk;
  bus: Pick<Bus, 'depth'>;
  /** Pieces of work in the lanes of a processor. */
  inFlight: (processor: string) => number;
  /** The relays of this process; none if it does not deliver. */
  relayStates: () => readonly RelayState[];
  processors: readonly Readonly<{ name: string; gate?: Readonly<{ isOpen: () => boolean }> | undefined }>[];
  inFlightMax: number;
  /** Absent if limits are always counted in this process. */
  limiterMode: (() => 'shared' | 'per-process') | undefined;
  lastSealMs: () => number | undefined;
  leapMs: () => number;
  /** Streams of live events that are open. */
  liveStreams: () => number;
}>;

/** The parts of a running service that figures are read from. */
type WatchedParts = Omit<FigureDeps, 'meter' | 'clock' | 'lastSealMs' | 'inFlight' | 'inFlightMax' | 'limiterMode'> &
  Readonly<{ limits: Limits; limiter: Readonly<{ mode?: () => 'shared' | 'per-process' }> }>;

type Sample = Readonly<{ head: number; atMs: number }>;

type Wrap<Port> = (port: Port) => Port;

const COMPOSE_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1];
const HTTP_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const SAMPLE_EVERY_MS = 1_000;
/** A lag of more than an hour is shown as an hour. */
const SAMPLES_MAX = 3_600;

const same = <Port>(port: Port): Port => port;

/** Without metrics the ports stay unwrapped, and no driver is loaded. */
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

/** Measures, and listens on the port, if one is set. Rejects with ConfigError if it is taken. */
export const openMetrics = async (
  { metrics }: Pick<Config, 'metrics'>,
  { clock, logger }: Readonly<{ clock: Clock; logger: Logger }>,
): Promise<Metrics> => {
  if (metrics === undefined) return unmeasured;
  const { openPrometheus } = await import('../../adapters/metrics/prometheus.js');
  const meter = openPrometheus({
    onFault: (figure, fault) => logger.warn({ figure, err: asError(fault) }, 'a figure could not be read'),
  });
  const deps = { meter, clock };
  const [store, bus] = [measuredStore(deps), measuredBus(deps)];
  const compose = meter.histogram({
    name: 'sealpost_compose_seconds',
    help: 'Composing of one message (MIME).',
    buckets: COMPOSE_SECONDS,
  });
  const http = meter.histogram({
    name: 'sealpost_http_request_seconds',
    help: 'Time until a request was answered, by the pattern of its route.',
    labels: ['method', 'route', 'status'],
    buckets: HTTP_SECONDS,
  });
  const dropped = meter.counter({
    name: 'sealpost_spans_dropped_total',
    help: 'Spans that did not come to the collector.',
  });
  const blocked = meter.counter({
    name: 'sealpost_blocked_recipients_total',
    help: 'Recipients whose host refused our mail for its sender, by their domain and the reason; the first 200 domains of a process, then other.',
    labels: ['domain', 'reason'],
  });
  const domainAlerts = meter.counter({
    name: 'sealpost_domain_alerts_total',
    help: 'Domains whose bounces or complaints of a day crossed their bound.',
    labels: ['side', 'measure'],
  });
  const providerEvents = meter.counter({
    name: 'sealpost_provider_events_total',
    help: 'Events of mail providers, by what became of them; refused counts calls.',
    labels: ['provider', 'outcome'],
  });
  const labelOf = openDomainLabels();
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
    blocked: (domain, reason, recipients) => blocked({ domain: labelOf(domain), reason }, recipients),
    domainAlert: (side, measure) => domainAlerts({ side, measure }),
    providerEvent: (provider, outcome) => providerEvents({ provider, outcome }),
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

const codeOf = (fault: unknown): string =>
  fault instanceof Error && 'code' in fault ? String(fault.code) : asError(fault).name;

/**
 * Declares the figures that are read on request: queues, read models, workers, health. Out: the worker that follows the
 * head of the log, for the lag.
 */
const declareFigures = (deps: FigureDeps): Worker => {
  declareQueues(deps);
  declareWork(deps);
  declareRelays(deps);
  declareHealth(deps);
  return declareLag(deps);
};

const declareQueues = ({ meter, readModels, clock }: FigureDeps): void => {
  /** All figures of one answer are asked for at once and share one reading. */
  let reading: ReturnType<typeof queueFigures> | undefined;
  const figuresNow = () =>
    (reading ??= queueFigures(readModels, waitingSince(readModels)).finally(() => (reading = undefined)));
  const every = async (
    valueOf: (figures: Awaited<ReturnType<typeof queueFigures>>[number], nowMs: number) => number | undefined,
  ) => {
    const nowMs = clock.now();
    return (await figuresNow()).flatMap((figures): Reading[] => {
      const value = valueOf(figures, nowMs);
      return value === undefined ? [] : [{ value, labels: { priority: figures.priority } }];
    });
  };
  const labels = ['priority'];
  meter.gauge(
    {
      name: 'sealpost_queue_depth',
      help: 'Emails that wait for their first attempt or for a connection, those of bulk sends from the call on.',
      labels,
    },
    () => every(({ queued }) => queued),
  );
  meter.gauge(
    { name: 'sealpost_queue_oldest_age_seconds', help: 'How long the email has waited that waits longest.', labels },
    () =>
      every(({ oldestDueAt }, nowMs) =>
        oldestDueAt === undefined ? 0 : Math.max(0, nowMs - Date.parse(oldestDueAt)) / 1_000,
      ),
  );
  meter.gauge({ name: 'sealpost_deferred_emails', help: 'Emails that wait for another attempt.', labels }, () =>
    every(({ deferred }) => deferred),
  );
  meter.gauge(
    { name: 'sealpost_held_emails', help: 'Emails held back while the relay takes no session.', labels },
    () => every(({ held }) => held),
  );
};

const declareWork = ({ meter, bus, inFlight, processors, inFlightMax }: FigureDeps): void => {
  const labels = ['processor'];
  const each = (valueOf: (name: string) => number): Reading[] =>
    processors.map(({ name }) => ({ value: valueOf(name), labels: { processor: name } }));
  meter.gauge({ name: 'sealpost_bus_depth', help: 'Pointers that wait on the bus or are in flight.', labels }, () =>
    Promise.all(processors.map(async ({ name }) => ({ value: await bus.depth(name), labels: { processor: name } }))),
  );
  meter.gauge({ name: 'sealpost_work_in_flight', help: 'Pieces of work in the lanes of this process.', labels }, () =>
    each(inFlight),
  );
  meter.gauge({ name: 'sealpost_work_in_flight_max', help: 'How many there may be.', labels }, () =>
    each(() => inFlightMax),
  );
  meter.gauge(
    {
      name: 'sealpost_breaker_open',
      help: '1 while the other side of a processor is away and nothing is attempted.',
      labels,
    },
    () =>
      processors.flatMap(({ name, gate }) =>
        gate === undefined ? [] : [{ value: gate.isOpen() ? 0 : 1, labels: { processor: name } }],
      ),
  );
};

const declareRelays = ({ meter, relayStates }: FigureDeps): void => {
  meter.gauge(
    {
      name: 'sealpost_relay_open',
      help: '1 while mail is handed to the relay, 0 while its circuit breaker holds mail back.',
      labels: ['relay'],
    },
    () => relayStates().map(({ relay, state }) => ({ value: state === 'closed' ? 1 : 0, labels: { relay } })),
  );
  meter.gauge(
    {
      name: 'sealpost_relay_day_full',
      help: '1 while a relay in its ramp-up gets no more mails today.',
      labels: ['relay'],
    },
    () =>
      relayStates().flatMap(({ relay, isDayFull }) =>
        isDayFull === undefined ? [] : [{ value: isDayFull ? 1 : 0, labels: { relay } }],
      ),
  );
};

const declareHealth = (deps: FigureDeps): void => {
  const { meter, health, clock, disk, version, liveStreams } = deps;
  meter.gauge({ name: 'sealpost_live_streams', help: 'Streams of live events that are open in this process.' }, () => [
    { value: liveStreams() },
  ]);
  const known = () =>
    readinessOf({ accepting: health.accepting(), workers: health.workers(), log: health.log(), noted: health.noted() });
  meter.gauge(
    { name: 'sealpost_ready', help: '1 where requests are answered, 0 where /health/ready says 503.' },
    () => {
      const { status } = known();
      return [{ value: status === 'ready' || status === 'degraded' ? 1 : 0 }];
    },
  );
  meter.gauge({ name: 'sealpost_health_reason', help: '1 for each reason that /health tells.', labels: ['code'] }, () =>
    [...new Set(known().reasons.map(({ code }) => code))].map((code) => ({ value: 1, labels: { code } })),
  );
  meter.gauge({ name: 'sealpost_worker_up', help: '1 while a worker runs.', labels: ['worker'] }, () =>
    health.workers().map(({ name, state }) => ({ value: state === 'running' ? 1 : 0, labels: { worker: name } })),
  );
  meter.gauge(
    {
      name: 'sealpost_worker_restarts',
      help: 'How often a worker was started again after a fault.',
      labels: ['worker'],
    },
    () => health.workers().map(({ name, restarts }) => ({ value: restarts, labels: { worker: name } })),
  );
  meter.gauge(
    { name: 'sealpost_stuck_work', help: 'Pieces of work that met a fault of ours and wait.', labels: ['worker'] },
    () =>
      health
        .workers()
        .flatMap(({ name, stuckWork }) =>
          stuckWork === undefined ? [] : [{ value: stuckWork, labels: { worker: name } }],
        ),
  );
  meter.gauge({ name: 'sealpost_unreadable_events', help: 'Events of the log that cannot be read.' }, () => [
    { value: health.log().unreadableEvents },
  ]);
  meter.gauge(
    { name: 'sealpost_last_seal_timestamp_seconds', help: 'When this process sealed the ledger last.' },
    () => {
      const sealedMs = deps.lastSealMs();
      return sealedMs === undefined ? [] : [{ value: sealedMs / 1_000 }];
    },
  );
  meter.gauge(
    {
      name: 'sealpost_limiter_shared',
      help: '1 where limits are counted for all processes, 0 while each counts by itself.',
    },
    () => [{ value: deps.limiterMode?.() === 'shared' ? 1 : 0 }],
  );
  meter.gauge({ name: 'sealpost_disk_free_bytes', help: 'Room on the disk of the data directory.' }, async () => [
    { value: await disk.freeBytes() },
  ]);
  meter.gauge(
    { name: 'sealpost_clock_leap_seconds', help: "How far the machine's time of day was set while this process runs." },
    () => [{ value: deps.leapMs() / 1_000 }],
  );
  meter.gauge({ name: 'sealpost_time_seconds', help: 'The time of day as this process has it.' }, () => [
    { value: clock.now() / 1_000 },
  ]);
  meter.gauge({ name: 'sealpost_info', help: 'The version that runs.', labels: ['version'] }, () => [
    { value: 1, labels: { version } },
  ]);
};

/**
 * Positions are opaque, so the lag of a read model is measured in time: since when the log has had more events than the
 * read model.
 */
const declareLag = ({ meter, runners, eventLog, clock }: FigureDeps): Worker => {
  const samples: Sample[] = [];
  const lagS = ({ position, isBehind }: Pick<Runner, 'position' | 'isBehind'>): number => {
    const reached = position();
    const first = samples.find(({ head }) => head > reached);
    return first === undefined || !isBehind(first.head) ? 0 : (clock.monotonic() - first.atMs) / 1_000;
  };
  meter.gauge(
    {
      name: 'sealpost_projection_lag_seconds',
      help: 'How long the log has had more than a read model of this process.',
      labels: ['projection'],
    },
    () => [...runners].map(([projection, runner]) => ({ value: lagS(runner), labels: { projection } })),
  );
  meter.gauge(
    { name: 'sealpost_projection_position', help: 'Up to where a read model has the log.', labels: ['projection'] },
    () => [...runners].map(([projection, { position }]) => ({ value: position(), labels: { projection } })),
  );
  meter.gauge({ name: 'sealpost_log_head_position', help: 'Position of the last event of the log.' }, async () => [
    { value: await eventLog.head() },
  ]);
  return {
    name: 'watch-lag',
    run: async (signal) => {
      while (!signal.aborted) {
        const head = await eventLog.head();
        if (head !== samples.at(-1)?.head) samples.push({ head, atMs: clock.monotonic() });
        const behind = Math.min(...[...runners.values()].map(({ position }) => position()));
        while (samples.length > SAMPLES_MAX || (samples[0] !== undefined && samples[0].head <= behind)) samples.shift();
        await clock.sleep(SAMPLE_EVERY_MS, signal);
      }
    },
  };
};

// Tells which domains block mail of this service: one log line and one count for each domain of a refused delivery or
// report.

/** `count` is absent if nothing is measured. */
export const openBlocks =
  ({ logger, count }: Readonly<{ logger: Logger; count: NoteBlocked | undefined }>): NoteBlocked =>
  (domain, reason, recipients) => {
    logger.warn({ domain, reason, recipients }, 'a domain blocks our mail');
    count?.(domain, reason, recipients);
  };

/** `count` is absent if nothing is measured. The log names no address, and says nothing of events that are understood. */
export const openProviderEvents =
  ({
    logger,
    count,
  }: Readonly<{
    logger: Logger;
    count: ((provider: string, outcome: string) => void) | undefined;
  }>): NoteProviderEvent =>
  (provider, outcome, about = {}) => {
    if (outcome === 'refused') logger.warn({ provider, ...about }, 'a call with events of a provider was refused');
    if (outcome === 'kept') logger.info({ provider, ...about }, 'an event of a provider was not understood');
    count?.(provider, outcome);
  };

/** The mailer, with each reply that blames the sender noted by the domain of its recipient. */
export const watchedForBlocks = (mailer: Mailer, note: NoteBlocked | undefined): Mailer =>
  note === undefined
    ? mailer
    : {
        ...mailer,
        lend: (wanted, use) =>
          mailer.lend(wanted, (send) =>
            use(async (message, signal) => {
              const outcome = await send(message, signal);
              noteEach(message.envelope.to, outcome.recipients, note);
              return outcome;
            }),
          ),
      };

const noteEach = (to: readonly string[], outcomes: readonly RecipientOutcome[], note: NoteBlocked): void => {
  const blocks = new Map<string, { domain: string; reason: string; recipients: number }>();
  outcomes.forEach(({ result, rule: reason }, index) => {
    if (result !== 'blocked') return;
    const domain = domainOf(to[index] ?? '');
    const block = blocks.get(`${domain} ${reason}`) ?? { domain, reason, recipients: 0 };
    block.recipients += 1;
    blocks.set(`${domain} ${reason}`, block);
  });
  for (const { domain, reason, recipients } of blocks.values()) note(domain, reason, recipients);
};

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase();

/** Domains that are counted under their own name; all others are `other`, so that the figure stays small. */
const DOMAINS_MAX = 200;

/** Names at most `DOMAINS_MAX` domains: those that came first. */
export const openDomainLabels = (): ((domain: string) => string) => {
  const named = new Set<string>();
  return (domain) => {
    if (named.has(domain)) return domain;
    if (named.size >= DOMAINS_MAX) return 'other';
    named.add(domain);
    return domain;
  };
};
