/** The figures that are read when somebody asks for them: queues, read models, workers, health. */
import type { Bus } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Disk } from '../../domain/ports/disk.js';
import type { Meter, Reading } from '../../domain/ports/meter.js';
import type { Health, Worker } from '../../domain/ports/worker.js';
import { readinessOf } from '../../domain/core/readiness.js';
import { queueFigures } from '../../projections/email/queue-health.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import type { Runner } from '../../projections/core/runner.js';

export type FigureDeps = Readonly<{
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
  processors: readonly Readonly<{ name: string; gate?: Readonly<{ isOpen: () => boolean }> | undefined }>[];
  inFlightMax: number;
  /** Absent where limits are always counted in this process. */
  limiterMode: (() => 'shared' | 'per-process') | undefined;
  lastSealMs: () => number | undefined;
  leapMs: () => number;
}>;

/** Out: a worker that follows the head of the log, by which the lag of read models is told. */
export const declareFigures = (deps: FigureDeps): Worker => {
  declareQueues(deps);
  declareWork(deps);
  declareHealth(deps);
  return declareLag(deps);
};

const declareQueues = ({ meter, readModels, clock }: FigureDeps): void => {
  /** One reading serves all figures of an answer, which are asked for at once. */
  let reading: ReturnType<typeof queueFigures> | undefined;
  const figuresNow = () => (reading ??= queueFigures(readModels).finally(() => (reading = undefined)));
  const every = async (valueOf: (figures: Awaited<ReturnType<typeof queueFigures>>[number], nowMs: number) => number | undefined) => {
    const nowMs = clock.now();
    return (await figuresNow()).flatMap((figures): Reading[] => {
      const value = valueOf(figures, nowMs);
      return value === undefined ? [] : [{ value, labels: { priority: figures.priority } }];
    });
  };
  const labels = ['priority'];
  meter.gauge(
    { name: 'sealpost_queue_depth', help: 'Emails that wait for their first attempt or for a connection; counted to 10,000.', labels },
    () => every(({ queued }) => queued),
  );
  meter.gauge({ name: 'sealpost_queue_oldest_age_seconds', help: 'How long the email has waited that waits longest.', labels }, () =>
    every(({ oldestDueAt }, nowMs) => (oldestDueAt === undefined ? 0 : Math.max(0, nowMs - Date.parse(oldestDueAt)) / 1_000)),
  );
  meter.gauge({ name: 'sealpost_deferred_emails', help: 'Emails that wait for another attempt; counted to 10,000.', labels }, () =>
    every(({ deferred }) => deferred),
  );
  meter.gauge({ name: 'sealpost_held_emails', help: 'Emails held back while the relay takes no session; counted to 10,000.', labels }, () =>
    every(({ held }) => held),
  );
};

const declareWork = ({ meter, bus, inFlight, processors, inFlightMax }: FigureDeps): void => {
  const labels = ['processor'];
  const each = (valueOf: (name: string) => number): Reading[] =>
    processors.map(({ name }) => ({ value: valueOf(name), labels: { processor: name } }));
  meter.gauge({ name: 'sealpost_bus_depth', help: 'Pointers that wait on the bus or are in flight.', labels }, () =>
    Promise.all(processors.map(async ({ name }) => ({ value: await bus.depth(name), labels: { processor: name } }))),
  );
  meter.gauge({ name: 'sealpost_work_in_flight', help: 'Pieces of work in the lanes of this process.', labels }, () => each(inFlight));
  meter.gauge({ name: 'sealpost_work_in_flight_max', help: 'How many there may be.', labels }, () => each(() => inFlightMax));
  meter.gauge(
    { name: 'sealpost_breaker_open', help: '1 while the other side of a processor is away and nothing is attempted.', labels },
    () =>
      processors.flatMap(({ name, gate }) => (gate === undefined ? [] : [{ value: gate.isOpen() ? 0 : 1, labels: { processor: name } }])),
  );
};

const declareHealth = (deps: FigureDeps): void => {
  const { meter, health, clock, disk, version } = deps;
  const known = () => readinessOf({ accepting: health.accepting(), workers: health.workers(), log: health.log(), noted: health.noted() });
  meter.gauge({ name: 'sealpost_ready', help: '1 where requests are answered, 0 where /health/ready says 503.' }, () => {
    const { status } = known();
    return [{ value: status === 'ready' || status === 'degraded' ? 1 : 0 }];
  });
  meter.gauge({ name: 'sealpost_health_reason', help: '1 for each reason that /health tells.', labels: ['code'] }, () =>
    [...new Set(known().reasons.map(({ code }) => code))].map((code) => ({ value: 1, labels: { code } })),
  );
  meter.gauge({ name: 'sealpost_worker_up', help: '1 while a worker runs.', labels: ['worker'] }, () =>
    health.workers().map(({ name, state }) => ({ value: state === 'running' ? 1 : 0, labels: { worker: name } })),
  );
  meter.gauge({ name: 'sealpost_worker_restarts', help: 'How often a worker was started again after a fault.', labels: ['worker'] }, () =>
    health.workers().map(({ name, restarts }) => ({ value: restarts, labels: { worker: name } })),
  );
  meter.gauge({ name: 'sealpost_stuck_work', help: 'Pieces of work that met a fault of ours and wait.', labels: ['worker'] }, () =>
    health.workers().flatMap(({ name, stuckWork }) => (stuckWork === undefined ? [] : [{ value: stuckWork, labels: { worker: name } }])),
  );
  meter.gauge({ name: 'sealpost_unreadable_events', help: 'Events of the log that cannot be read.' }, () => [
    { value: health.log().unreadableEvents },
  ]);
  meter.gauge({ name: 'sealpost_last_seal_timestamp_seconds', help: 'When this process sealed the ledger last.' }, () => {
    const sealedMs = deps.lastSealMs();
    return sealedMs === undefined ? [] : [{ value: sealedMs / 1_000 }];
  });
  meter.gauge(
    { name: 'sealpost_limiter_shared', help: '1 where limits are counted for all processes, 0 while each counts by itself.' },
    () => [{ value: deps.limiterMode?.() === 'shared' ? 1 : 0 }],
  );
  meter.gauge({ name: 'sealpost_disk_free_bytes', help: 'Room on the disk of the data directory.' }, async () => [
    { value: await disk.freeBytes() },
  ]);
  meter.gauge({ name: 'sealpost_clock_leap_seconds', help: "How far the machine's time of day was set while this process runs." }, () => [
    { value: deps.leapMs() / 1_000 },
  ]);
  meter.gauge({ name: 'sealpost_time_seconds', help: 'The time of day as this process has it.' }, () => [{ value: clock.now() / 1_000 }]);
  meter.gauge({ name: 'sealpost_info', help: 'The version that runs.', labels: ['version'] }, () => [{ value: 1, labels: { version } }]);
};

const SAMPLE_EVERY_MS = 1_000;
/** A lag of more than an hour is told as an hour. */
const SAMPLES_MAX = 3_600;

type Sample = Readonly<{ head: number; atMs: number }>;

/** Positions are opaque, so how far a read model is behind is told in time: since when the log has more than it has. */
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
  meter.gauge({ name: 'sealpost_projection_position', help: 'Up to where a read model has the log.', labels: ['projection'] }, () =>
    [...runners].map(([projection, { position }]) => ({ value: position(), labels: { projection } })),
  );
  meter.gauge({ name: 'sealpost_log_head_position', help: 'Where the log ends.' }, async () => [{ value: await eventLog.head() }]);
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
