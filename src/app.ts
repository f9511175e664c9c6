/** The composition root of a running service: settings → adapters → workers and server, started and stopped in order. */
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { turnsOfLoop } from './adapters/clock/turns.js';
import { openFirstKeyFile } from './adapters/keys/first-key-file.js';
import { openSmtpMailer } from './adapters/mail/smtp.js';
import { openMailbox, type OpenMailbox } from './adapters/mailbox/mailbox.js';
import { openBodyChecks } from './adapters/render/workers/body-checks.js';
import type { ClockTrust } from './clock-trust.js';
import { showFirstKey } from './commands/first-start.js';
import { makeCommands } from './commands/index.js';
import type { BodyChecks } from './domain/ports/body-checks.js';
import type { Config } from './config.js';
import { openBus, openLeases, openLimiter } from './coordination.js';
import type { Bus } from './domain/ports/bus.js';
import type { EventStore } from './domain/ports/event-store.js';
import type { Leases } from './domain/ports/lease.js';
import type { Limiter } from './domain/ports/limiter.js';
import type { MailCopies } from './domain/ports/mailbox.js';
import type { Mailer } from './domain/ports/mailer.js';
import type { Worker } from './domain/ports/worker.js';
import { timersOf } from './domain/timers.js';
import { openEngine, type Engine, type EngineOptions } from './engine.js';
import type { HttpDeps } from './http/context.js';
import { buildServer } from './http/server.js';
import type { ProcessorDeps } from './processors/deps.js';
import { dueWorkWorker } from './processors/due-work.js';
import { eraseWorker } from './processors/erase.js';
import { makeProcessors } from './processors/index.js';
import { underLease, type LeaseDeps } from './processors/lease.js';
import { noteLogWorker } from './processors/note-log.js';
import { openOverflow } from './processors/overflow.js';
import { relayWorker } from './processors/relay.js';
import { openStuckWork, type StuckWork } from './processors/stuck.js';
import { sealLedgerWorker } from './processors/seal-ledger.js';
import { sweepWorker } from './processors/sweep.js';
import { makeProjections } from './projections/index.js';
import { caughtUpTo, caughtUpWith, openOwnWrites, type OwnWrites } from './projections/own-writes.js';
import { makeQueries } from './projections/queries.js';
import { watchBacklogsWorker } from './projections/watch-backlogs.js';
import { makeRunner, type Runner } from './projections/runner.js';
import { openMetrics, type Metrics } from './metrics.js';
import { openLogger } from './adapters/logger/pino.js';
import type { Processor } from './processors/declaration.js';
import { mailboxTokenOf } from './mailbox-link.js';
import { watchCommits } from './health-watch.js';
import { warnOfLog } from './log-health.js';
import { openServiceHealth } from './service-health.js';
import { begin } from './starting.js';
import { diskOf, holdRole } from './stores.js';
import { openServing } from './serving.js';
import { sayImpliedDeletes } from './start-notices.js';
import { bringToRest } from './stopping.js';
import { makeSupervisor } from './supervisor.js';
import { openClock, openTrust } from './time-of-day.js';
import { version } from './version.js';

export type App = Readonly<{
  server: FastifyInstance;
  engine: Engine;
  /** Makes and shows the key of the first team, where nobody has seen one yet. To be called when the service listens. */
  showFirstKey: (show: (key: string) => void) => Promise<void>;
  /** The token of the link that opens the built-in mailbox, where mail goes there. */
  mailboxToken: string | undefined;
  /** Where the figures are answered; undefined: nowhere. */
  metricsPort: number | undefined;
  /** Resolves when the read models have every event that was appended before the call. */
  whenCaughtUp: () => Promise<void>;
  /** Refuses requests, drains deliveries, writes what is pending, closes. Safe to call twice. */
  stop: () => Promise<void>;
}>;

/** Between two batches of a projection: under load more events share a write. Who asks for a list that lags ends the pause. */
const PROJECTION_PAUSE_MS = 200;
/** How often a request that waits for the read models of another process looks how far they are. */
const LOOK_EVERY_MS = 25;

export type AppOptions = Omit<EngineOptions, 'onAppended' | 'mailCopies' | 'rewrapsKeys'> & Readonly<{ mailer?: Mailer }>;

/** The process that delivers keeps the keys in their newest form: where it runs, no older program does. */
const openServiceEngine = (config: Config, options: EngineOptions): Promise<Engine> =>
  openEngine(config, { ...options, rewrapsKeys: config.roles.includes('process') });

/** Builds everything and starts the workers; the server does not listen yet. Rejects with ConfigError where another process has the role. */
export const startApp = async (config: Config, options: AppOptions = {}): Promise<App> => {
  const lock = holdRole(config);
  const isServing = config.roles.includes('http');
  const writes = openOwnWrites();
  let servesAlone = async (): Promise<boolean> => false;
  let forgetCopies: MailCopies['forgetCopies'] = async () => {};
  const mailCopies: MailCopies = { forgetCopies: (messageId) => forgetCopies(messageId) };
  const clock = openClock(options.clock);
  const commits = watchCommits(clock);
  const logger = options.logger ?? openLogger({ level: config.logLevel });
  const metrics = await openMetrics(config, { clock, logger });
  const wrapStore = (store: EventStore): EventStore => metrics.store(commits.watched(options.wrapStore?.(store) ?? store));
  const measured = { wrapRenderer: metrics.renderer, wrapGenerator: metrics.generator };
  const ports = { clock, logger, wrapStore, ...measured, mailCopies, onAppended: writes.note, servesAlone: () => servesAlone() };
  const engine = await openServiceEngine(config, { ...options, ...ports });
  const leases = metrics.leases(await openLeases(config, engine));
  const leasing: LeaseDeps = { ...engine, leases, worker: engine.ids.uuid() };
  await warnOfLog(engine);
  const clockTrust = await openTrust(config, engine, clock);
  const pendingKey = openFirstKeyFile(join(config.dataDir, 'first-key'));
  await begin(engine, leasing, isServing ? pendingKey : undefined);
  const surroundings = await openSurroundings(config, options, { ...engine, leases, metrics });
  forgetCopies = surroundings.mailbox?.mailbox.forgetCopies ?? forgetCopies;
  const runners = await openRunners(engine, leasing);
  const cutOff = new AbortController();
  setMaxListeners(0, cutOff.signal);

  const stuck = openStuckWork();
  const supervisor = makeSupervisor(engine);
  const serving = openServing(leasing, engine.followStates);
  servesAlone = serving.alone;
  const workers = makeWorkers(config, { ...engine, ...surroundings, ...leasing, runners, stuck, clockTrust, cutOff: cutOff.signal });
  const servingWorkers = isServing ? [serving.worker, watchBacklogsWorker(engine)] : [];
  const health = openServiceHealth({ config, engine, supervisor, stuck, runners, commits, clockTrust });
  let accepting = true;
  const parts = { ...engine, ...surroundings, runners, health: health.of(() => accepting) };
  const measuring = metrics.watch({ ...parts, ...workers, version, disk: diskOf(config), leapMs: clockTrust.leapMs });
  supervisor.start([clockTrust.worker, health.worker, ...measuring, ...workers.projecting, ...workers.processing, ...servingWorkers]);
  if (isServing) await serving.whenSeen;
  if (config.roles.includes('project')) void sayImpliedDeletes(engine, runners, cutOff.signal);

  const server = await buildServer(httpDeps(config, { ...parts, writes }));
  const shutDown = async (): Promise<void> => {
    accepting = false;
    const whenProjected = (signal: AbortSignal) => caughtUp(engine, workers.projecting.length > 0 ? runners : new Map(), signal);
    await bringToRest({ supervisor, processing: workers.processing, server, limits: engine.limits, cutOff, whenProjected });
    await surroundings.close();
    await engine.close();
    lock.release();
  };
  let stopping: Promise<void> | undefined;
  return {
    server,
    engine,
    showFirstKey: (show) => showFirstKey(engine, pendingKey, show),
    mailboxToken: surroundings.mailboxToken,
    metricsPort: metrics.port(),
    whenCaughtUp: () => caughtUp(engine, runners, new AbortController().signal),
    stop: () => (stopping ??= shutDown()),
  };
};

const caughtUp = async ({ eventLog }: Engine, runners: Runners, signal: AbortSignal): Promise<void> => {
  const head = await eventLog.head();
  await Promise.all([...runners.values()].map((runner) => runner.caughtUp(head, signal)));
};

/** What a running service needs beside its stores. */
type Surroundings = Readonly<{
  leases: Leases;
  mailbox: OpenMailbox | undefined;
  mailboxToken: string | undefined;
  mailer: Mailer;
  bus: Bus;
  limiter: Limiter;
  bodyChecks: BodyChecks;
  metrics: Metrics;
  close: () => Promise<void>;
}>;

const openSurroundings = async (
  config: Config,
  options: AppOptions,
  engine: Engine & Readonly<{ leases: Leases; metrics: Metrics }>,
): Promise<Surroundings> => {
  const { clock, ids, leases, limits, logger, metrics } = engine;
  const mailbox =
    config.smtp.url === undefined
      ? await openMailbox({ file: join(config.dataDir, 'mailbox.db'), clock, ids, messagesMax: limits.mailboxMessagesMax, logger })
      : undefined;
  const mailer = metrics.mailer(options.mailer ?? openMailer(config, mailbox, engine));
  const bus = metrics.bus(await openBus(config, engine));
  const limiter = await openLimiter(config, engine);
  const bodyChecks = openBodyChecks({ file: new URL('./http/json/checks-apart.js', import.meta.url), settings: limits, clock, logger });
  return {
    leases,
    mailbox,
    mailboxToken: mailbox === undefined ? undefined : mailboxTokenOf(config),
    mailer,
    bus,
    limiter,
    bodyChecks,
    metrics,
    close: async () => {
      await metrics.close();
      await bodyChecks.close();
      await mailer.close();
      await mailbox?.close();
      await bus.close();
      await limiter.close();
      await leases.close();
    },
  };
};

type Runners = ReadonlyMap<string, Runner>;

const openRunners = async (engine: Engine, leasing: LeaseDeps): Promise<Runners> => {
  const runners = new Map<string, Runner>();
  for (const projection of makeProjections(engine.limits)) {
    const store = await engine.readModels.projection(projection.name, projection.collections);
    const after = (ms: number) => (signal: AbortSignal) => wait(ms, undefined, { signal }).catch(() => {});
    const lead = (signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> =>
      underLease(leasing, `project-${projection.name}`, signal, (held) => work(held.signal));
    runners.set(
      projection.name,
      makeRunner(projection, {
        eventLog: engine.eventLog,
        clock: engine.clock,
        store,
        pause: after(PROJECTION_PAUSE_MS),
        look: after(LOOK_EVERY_MS),
        lead,
      }),
    );
  }
  return runners;
};

type WorkerParts = Engine &
  Surroundings &
  LeaseDeps &
  Readonly<{ runners: Runners; stuck: StuckWork; clockTrust: ClockTrust; cutOff: AbortSignal }>;

type Workers = Readonly<{ projecting: readonly Worker[]; processing: readonly Worker[]; processors: readonly Processor[] }>;

const makeWorkers = (config: Config, parts: WorkerParts): Workers => {
  const { runners, limits, clockTrust } = parts;
  const { mayDestroy, awayMs } = clockTrust;
  const deps: ProcessorDeps = {
    ...parts,
    mayDestroy,
    timersCaughtUp: (kind, position, signal) => feederOf(runners, limits, timersOf(kind)).caughtUp(position, signal),
    nextTurn: turnsOfLoop(),
    inFlightMax: limits.lanes,
  };
  const processors = makeProcessors({ ...parts, ...composedOf(parts), mayDestroy, schedule: { delaysMs: config.retryDelaysMs } });
  const overflow = openOverflow();
  return {
    processors: config.roles.includes('process') ? processors : [],
    projecting: config.roles.includes('project') ? [...runners.values()].map(({ worker }) => worker) : [],
    processing: config.roles.includes('process')
      ? [
          relayWorker(deps, processors, overflow),
          dueWorkWorker(deps, processors, overflow),
          ...processors.map(({ worker }) => worker(deps)),
          sealLedgerWorker({ ...parts, awayMs }),
          eraseWorker(parts),
          noteLogWorker(parts),
          sweepWorker({ ...parts, mayDestroy, mailbox: parts.mailbox?.mailbox }),
        ]
      : [],
  };
};

const composedOf = ({ metrics: { composed } }: Surroundings) => (composed === undefined ? {} : { composed });

/** The runner of the projection that feeds a collection. */
const feederOf = (runners: Runners, limits: Engine['limits'], collection: string): Runner => {
  const feeder = makeProjections(limits).find(({ collections }) => collections.some(({ name }) => name === collection));
  const runner = feeder && runners.get(feeder.name);
  if (runner === undefined) throw new Error(`no projection feeds ${collection}`);
  return runner;
};

const openMailer = (config: Config, mailbox: OpenMailbox | undefined, { logger }: Engine): Mailer => {
  const { smtp, dkim } = config;
  return openSmtpMailer({
    url: mailbox?.smtpUrl ?? smtp.url!,
    final: mailbox !== undefined || smtp.final,
    connectionsMax: smtp.connections,
    ...(dkim === undefined ? {} : { dkim }),
    logger,
  });
};

type ServingParts = Engine & Surroundings & Readonly<{ runners: Runners; writes: OwnWrites; health: HttpDeps['health'] }>;

const httpDeps = (config: Config, { runners, writes, mailbox, mailboxToken, ...parts }: ServingParts): HttpDeps => {
  const { publicUrl, host, port, requireHttps, trustProxy, tls, logLevel } = config;
  const { readModels, clock, limits, ids, logger, limiter, bodyChecks, health, metrics } = parts;
  const awaitOwnWrites: Parameters<typeof makeQueries>[0]['awaitOwnWrites'] = config.roles.includes('project')
    ? (teamId, withinMs) => caughtUpWith(runners.values(), writes.of(teamId), withinMs)
    : async () => {};
  return {
    settings: { publicUrl, host, port, requireHttps, trustProxy, logLevel, ...(tls === undefined ? {} : { tls }) },
    limits,
    clock,
    ids,
    logger,
    limiter,
    bodyChecks,
    commands: makeCommands(parts),
    queries: makeQueries({ readModels, clock, limits, awaitOwnWrites }),
    positions: {
      written: writes.newest,
      head: parts.eventLog.head,
      reached: async (position, withinMs) => {
        await Promise.all([
          caughtUpTo(runners.values(), position, withinMs),
          parts.statesCaughtUp(position, AbortSignal.timeout(withinMs)),
        ]);
      },
    },
    ...(mailbox === undefined || mailboxToken === undefined ? {} : { mailbox: { mails: mailbox.mailbox, token: mailboxToken } }),
    health,
    version,
    ...(metrics.answered === undefined ? {} : { answered: metrics.answered }),
  };
};
