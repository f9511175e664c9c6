/** What a running service knows of its health, put together for the endpoint. */
import type { ClockTrust } from '../ops/clock.js';
import type { Config } from '../settings/config.js';
import type { OpenLimiter } from '../stores/coordination.js';
import type { Health, Worker } from '../../domain/ports/worker.js';
import type { WorkerHealth } from '../../domain/core/worker-health.js';
import type { Leases } from '../../domain/ports/lease.js';
import type { Engine } from '../engine.js';
import { DEFERRED_MAX, openHealthWatch, type CommitWatch } from './health.js';
import { logHealth } from '../log-health.js';
import { DISPATCH_LEASE } from '../../processors/core/lease.js';
import type { StuckWork } from '../../processors/core/stuck.js';
import { queueHealth } from '../../projections/email/queue-health.js';
import type { Runner } from '../../projections/core/runner.js';
import { diskOf } from '../stores/stores.js';
import type { Supervisor } from '../supervisor.js';

export type ServiceHealthDeps = Readonly<{
  config: Config;
  engine: Engine;
  leases: Leases;
  supervisor: Supervisor;
  stuck: StuckWork;
  runners: ReadonlyMap<string, Runner>;
  commits: CommitWatch;
  clockTrust: ClockTrust;
  limiter: OpenLimiter;
}>;

export type ServiceHealth = Readonly<{
  /** Looks after queues, read models and the disk. */
  worker: Worker;
  of: (accepting: () => boolean) => Health;
}>;

export const openServiceHealth = ({
  config,
  engine,
  leases,
  supervisor,
  stuck,
  runners,
  commits,
  clockTrust,
  limiter,
}: ServiceHealthDeps): ServiceHealth => {
  const watch = openHealthWatch({
    ...engine,
    disk: diskOf(config),
    runners: [...runners.values()],
    queue: () => queueHealth(engine.readModels, DEFERRED_MAX),
    leapMs: clockTrust.leapMs,
    commits,
    ...(config.roles.includes('process') ? {} : { isDelivered: async () => (await leases.read(DISPATCH_LEASE)) !== undefined }),
    limiterMode: () => limiter.mode?.() ?? 'shared',
  });
  return {
    worker: watch.worker,
    of: (accepting) => ({
      accepting,
      workers: () => supervisor.health().map((worker) => withStuckWork(worker, stuck)),
      log: () => logHealth(engine),
      noted: watch.noted,
    }),
  };
};

const withStuckWork = (worker: WorkerHealth, stuck: StuckWork): WorkerHealth => {
  const waiting = stuck.of(worker.name);
  return waiting === undefined ? worker : { ...worker, stuckWork: waiting.count, lastFault: waiting.fault };
};
