/** The composition root of a running service: settings → adapters → workers and server, started and stopped in order. */
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { openMemoryBus } from './adapters/bus/memory.js';
import { openMemoryLimiter } from './adapters/limiter/memory.js';
import { openSmtpMailer } from './adapters/mail/smtp.js';
import { openMailbox, type OpenMailbox } from './adapters/mailbox/mailbox.js';
import { holdLock } from './adapters/sqlite/lock.js';
import { firstStart } from './commands/first-start.js';
import { makeCommands } from './commands/index.js';
import { ConfigError, type Config } from './config.js';
import type { CreatedApiKey } from './api/api-keys.js';
import type { TeamId } from './domain/ids.js';
import { splitStream } from './domain/ids.js';
import type { Mailer } from './domain/ports/mailer.js';
import type { Worker } from './domain/ports/worker.js';
import { openEngine, type Engine, type EngineOptions } from './engine.js';
import { buildServer } from './http/server.js';
import { deliverEmailWorker } from './processors/deliver-email.js';
import type { ProcessorDeps } from './processors/deps.js';
import { relayWorker } from './processors/relay.js';
import { sealLedgerWorker } from './processors/seal-ledger.js';
import { sweepWorker } from './processors/sweep.js';
import { wakeWorker } from './processors/wake.js';
import { EMAILS } from './projections/emails.js';
import { makeProjections } from './projections/index.js';
import { makeQueries } from './projections/queries.js';
import { makeRunner, type Runner } from './projections/runner.js';
import { samples } from './samples/index.js';
import { makeSupervisor } from './supervisor.js';
import { version } from './version.js';

export type App = Readonly<{
  server: FastifyInstance;
  engine: Engine;
  /** The key of the first team, where this was the first start. */
  firstKey: CreatedApiKey | undefined;
  /** True where mail goes to the built-in mailbox. */
  mailbox: boolean;
  /** Resolves when the read models have every event that was appended before the call. */
  whenCaughtUp: () => Promise<void>;
  /** Refuses requests, drains deliveries, writes what is pending, closes. Safe to call twice. */
  stop: () => Promise<void>;
}>;

/** Between two batches of a projection: under load more events share a write. Who asks for a list that lags ends the pause. */
const PROJECTION_PAUSE_MS = 200;

export type AppOptions = Omit<EngineOptions, 'onAppended'> & Readonly<{ mailer?: Mailer }>;

/** Builds everything and starts the workers; the server does not listen yet. Rejects with ConfigError where another process has the role. */
export const startApp = async (config: Config, options: AppOptions = {}): Promise<App> => {
  const has = (role: Config['roles'][number]): boolean => config.roles.includes(role);
  const lock = has('process') ? holdLock({ file: join(config.dataDir, 'process.lock') }) : { release: () => {} };
  if (lock === undefined) {
    throw new ConfigError(`Another sealpost already delivers from ${config.dataDir}; stop it, or set SEALPOST_ROLES=http for this one.`);
  }
  const written = lastWrites();
  const engine = await openEngine(config, { ...options, onAppended: written.note });
  const { clock, logger, limits } = engine;
  const firstKey = await firstStart(engine, samples);
  const runners = await openRunners(engine, !has('project'));
  const mailbox =
    config.smtp.url === undefined
      ? await openMailbox({
          file: join(config.dataDir, 'mailbox.db'),
          clock,
          ids: engine.ids,
          messagesMax: limits.mailboxMessagesMax,
          logger,
        })
      : undefined;
  const mailer = options.mailer ?? openMailer(config, mailbox, engine);
  const bus = openMemoryBus({ clock, pointersMax: limits.busPointersMax, logger });
  const limiter = openMemoryLimiter({ clock });
  const cutOff = new AbortController();
  setMaxListeners(0, cutOff.signal);
  const processing: ProcessorDeps = {
    ...engine,
    workCollection: EMAILS,
    workCaughtUp: (position, signal) => runners.get('emails')!.caughtUp(position, signal),
    bus,
    mailer,
    schedule: { delaysMs: config.retryDelaysMs },
    worker: engine.ids.uuid(),
    // The lock on the data directory: no other process can hold a dialogue.
    exclusive: true,
    deliveriesMax: limits.lanes,
    cutOff: cutOff.signal,
  };
  const supervisor = makeSupervisor({ clock, logger });
  const processors: readonly Worker[] = has('process')
    ? [
        relayWorker(processing),
        deliverEmailWorker(processing),
        wakeWorker(processing),
        sealLedgerWorker({ ...processing, store: engine.store }),
        sweepWorker({ ...processing, mailbox: mailbox?.mailbox }),
      ]
    : [];
  const projectors = has('project') ? [...runners.values()].map(({ worker }) => worker) : [];
  supervisor.start([...projectors, ...processors]);

  let accepting = true;
  const settle = (teamId: TeamId, withinMs: number): Promise<void> => settled(runners, written.of(teamId), withinMs);
  const server = await buildServer({
    settings: httpSettings(config),
    limits,
    clock,
    ids: engine.ids,
    logger,
    limiter,
    commands: makeCommands(engine),
    queries: makeQueries({ documents: engine.documents, clock, limits, settle: has('project') ? settle : async () => {} }),
    ...(mailbox === undefined ? {} : { mailbox: mailbox.mailbox }),
    health: { accepting: () => accepting, workers: supervisor.health },
    version,
  });

  const shutDown = async (): Promise<void> => {
    accepting = false;
    const deadline = AbortSignal.timeout(limits.shutdownDeadlineMs);
    await closeServer(server, limits.shutdownDeadlineMs / 3);
    await supervisor.stop(
      processors.map(({ name }) => name),
      deadline,
    );
    cutOff.abort();
    await supervisor.stop(undefined, deadline);
    await mailer.close();
    await mailbox?.close();
    await bus.close();
    await limiter.close();
    await engine.close();
    lock.release();
  };
  let stopping: Promise<void> | undefined;
  return {
    server,
    engine,
    firstKey,
    mailbox: mailbox !== undefined,
    whenCaughtUp: async () => {
      const head = await engine.eventLog.head();
      const never = new AbortController().signal;
      await Promise.all([...runners.values()].map((runner) => runner.caughtUp(head, never)));
    },
    stop: () => (stopping ??= shutDown()),
  };
};

/** Answers the requests under way. Node checks no time-outs once a server closes, so what a client never ends is cut off here. */
const closeServer = async (server: FastifyInstance, withinMs: number): Promise<void> => {
  const cut = setTimeout(() => server.server.closeAllConnections(), withinMs);
  await server.close();
  clearTimeout(cut);
};

const openRunners = async (engine: Engine, elsewhere: boolean): Promise<ReadonlyMap<string, Runner>> => {
  const runners = new Map<string, Runner>();
  for (const projection of makeProjections(engine.limits)) {
    const store = await engine.documents.projection(projection.name, projection.collections);
    const pause = (signal: AbortSignal): Promise<void> => wait(PROJECTION_PAUSE_MS, undefined, { signal }).catch(() => {});
    runners.set(projection.name, makeRunner(projection, { eventLog: engine.eventLog, store, pause, elsewhere }));
  }
  return runners;
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

const httpSettings = ({ publicUrl, host, port, requireHttps, trustProxy, tls, logLevel }: Config) => ({
  publicUrl,
  host,
  port,
  requireHttps,
  trustProxy,
  logLevel,
  ...(tls === undefined ? {} : { tls }),
});

/** The position of the newest event that this process appended, by team and kind of stream. */
const lastWrites = () => {
  const positions = new Map<string, Map<string, number>>();
  return {
    note: (stream: string, teamId: string, position: number): void => {
      let byKind = positions.get(teamId);
      if (byKind === undefined) positions.set(teamId, (byKind = new Map()));
      byKind.set(splitStream(stream).kind, position);
    },
    of: (teamId: string): ReadonlyMap<string, number> => positions.get(teamId) ?? new Map<string, number>(),
  };
};

/** Waits for each read model to have the events of its own kind; what is not there in time is shown by the next request. */
const settled = async (runners: ReadonlyMap<string, Runner>, written: ReadonlyMap<string, number>, withinMs: number): Promise<void> => {
  const behind = [...runners.values()].flatMap((runner) => {
    const positions = runner.kinds.map((kind) => written.get(kind) ?? 0);
    const position = Math.max(0, ...positions);
    return runner.position() < position ? [{ runner, position }] : [];
  });
  if (behind.length === 0) return;
  const signal = AbortSignal.timeout(withinMs);
  await Promise.all(behind.map(({ runner, position }) => runner.caughtUp(position, signal)));
};
