/**
 * The composition root of a running service: settings → adapters → workers and server, started and stopped in order,
 * whatever hangs at the stop.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import type { Limits } from '../domain/core/limits.js';
import type { Worker } from '../domain/ports/worker.js';
import {
  type Supervisor,
  caughtUp,
  openProjectionRunners,
  type Runners,
  makeSupervisor,
  makeWorkers,
  type Workers,
} from './workers.js';
import { openFirstKeyFile } from '../adapters/keys/key-files.js';
import { showFirstKey } from '../commands/ops/first-start.js';
import { showFirstUserToken } from '../commands/people/registration.js';
import { showFirstLink } from '../commands/people/sign-in-links.js';
import { makeCommands, openOAuth } from '../commands/index.js';
import { openAuditExport } from '../commands/audit/export.js';
import { openAuditRecorder, type AuditRecorder } from '../commands/audit/record.js';
import { openRequestLogRecorder } from '../commands/audit/request-log.js';
import { openEngagementRecorder, type EngagementRecorder } from '../commands/recipients/engagement-recorder.js';
import type { Config } from './settings/config.js';
import type { Tls } from './settings/groups.js';
import { openLeases, openProcesses, openRequestLog, diskOf } from './stores/stores.js';
import type { EventStore } from '../domain/ports/event-store.js';
import type { MailCopies } from '../domain/ports/mailbox.js';
import type { Mailer } from '../domain/ports/mailer.js';
import { openTrackingTokens } from '../domain/recipients/tracking.js';
import { openEngine, type Engine, type EngineOptions, warnOfLog } from './engine.js';
import type { HttpDeps } from '../http/server/context.js';
import { buildServer, renewCertificate } from '../http/index.js';
import type { LeaseDeps } from '../processors/core/lease.js';
import { openStuckWork } from '../processors/core/declaration.js';
import { caughtUpTo, caughtUpWith, openOwnWrites, type OwnWrites } from '../projections/core/runner.js';
import { openLiveFeed, type LiveFeed } from '../projections/live/feed.js';
import { openLiveItems } from '../projections/live/items.js';
import { makeQueries } from '../projections/queries.js';
import { watchBacklogsWorker } from '../projections/email/queue.js';
import { openBlocks, openMetrics, openProviderEvents } from './observe/metrics.js';
import { assertServable, certifiedHost, openCertificates } from './observe/certificates.js';
import { withTraces } from './observe/traces.js';
import { openLogger } from '../adapters/logger/pino.js';
import { watchCommits, openServiceHealth } from './observe/health.js';
import { openSystemView } from './observe/system.js';
import { prepareStores, afterStart } from './startup.js';
import { holdRole, notePlace, openServingLease } from './stores/instances.js';
import { openSubmissionServers } from './submission.js';
import { openResources, type Resources } from './resources.js';
import { openClock, openTrust, type ClockTrust } from './ops/clock.js';
import { version } from './version.js';

type Part = Readonly<{ close: () => Promise<void> }>;

/** Resolves when the work is done or the signal aborts; rejects if the work does so before. */
export const within = async (signal: AbortSignal, work: Promise<unknown>): Promise<void> => {
  let release = (): void => {};
  const over = new Promise<void>((resolve) => (release = resolve));
  signal.addEventListener('abort', release, { once: true });
  if (signal.aborted) release();
  // A rejection that comes after the signal is nobody's to handle.
  work.catch(() => {});
  try {
    await Promise.race([work, over]);
  } finally {
    signal.removeEventListener('abort', release);
  }
};

/**
 * Closes the parts in their order. A part that fails or hangs does not keep the others from closing: once the signal
 * has aborted, each is told to close and not waited for. Out: what did not close, by name, with the message of its
 * fault if it has one.
 */
export const closeAll = async (
  parts: Readonly<Record<string, Part>>,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const open = new Map(Object.keys(parts).map((name) => [name, name]));
  for (const [name, { close }] of Object.entries(parts)) {
    const closed = (async () => {
      try {
        await close();
        open.delete(name);
      } catch (fault) {
        open.set(name, `${name} (${fault instanceof Error ? fault.message : 'unknown fault'})`);
      }
    })();
    await within(signal, closed);
  }
  return [...open.values()];
};

export type App = Readonly<{
  server: FastifyInstance;
  engine: Engine;
  /** Makes and shows the key of the first team if nobody has seen one yet. To be called when the service listens. */
  showFirstKey: (show: (key: string) => void) => Promise<void>;
  /**
   * Shows the token that the first user needs, as long as there is none; it stays in a file of the data directory until
   * then.
   */
  showFirstUserToken: (show: (token: string) => void) => Promise<void>;
  /** Shows the token of the link by which the first user signs in, on loopback and as long as there is none. */
  showFirstLink: (show: (token: string) => void) => Promise<void>;
  /** The token of the link that opens the built-in mailbox; undefined if mail goes to a relay. */
  mailboxToken: string | undefined;
  /** The port of the metrics; undefined: none. */
  metricsPort: number | undefined;
  /** The port on which the return path takes reports by SMTP; undefined: none. */
  inboundSmtpPort: number | undefined;
  /** The ports on which programs hand over their mail by SMTP, in the order of the settings. */
  submissionPorts: readonly number[];
  /** Resolves when the read models have every event that was appended before the call. */
  whenCaughtUp: () => Promise<void>;
  /**
   * Refuses requests, drains deliveries, writes what is pending, closes. Ends within `shutdownDeadlineMs` and
   * CLOSED_WITHIN_MS, and rejects if something did not close by then. Safe to call twice.
   */
  stop: () => Promise<void>;
}>;

export type AppOptions = Omit<EngineOptions, 'onAppended' | 'mailCopies'> & Readonly<{ mailer?: Mailer }>;

type StopParts = Readonly<{
  supervisor: Supervisor;
  /** The workers that deliver. */
  processing: readonly Worker[];
  server: FastifyInstance;
  submission: Part;
  limits: Pick<Limits, 'shutdownDeadlineMs' | 'stopNoticeMs'>;
  /** Aborts the outside calls that are still under way when the time is over. */
  cutOff: AbortController;
  /** Resolves when the read models have every event of the log, or the signal aborts. */
  whenProjected: (signal: AbortSignal) => Promise<void>;
}>;

type ServingParts = Engine &
  Resources &
  Readonly<{
    runners: Runners;
    writes: OwnWrites;
    recorder: EngagementRecorder;
    audit: AuditRecorder;
    health: HttpDeps['health'];
    system: HttpDeps['system'];
    requestLog: HttpDeps['requestLog'];
    live: LiveFeed;
  }>;

/**
 * How long a service that still delivers goes on answering, so that a balancer sees that it stops before its socket is
 * closed.
 */
const ANSWERS_WHILE_DELIVERING_MS = 1_000;

const PROJECTED_WITHIN_MS = 5_000;

/** How long the end of a stop may take after everything has drained, or after the deadline. */
export const CLOSED_WITHIN_MS = 5_000;

/**
 * Builds everything and starts the workers; the server does not listen yet. Rejects with ConfigError if another process
 * has the role.
 */
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
  const metrics = await withTraces(config, await openMetrics(config, { clock, logger }), { clock, logger });
  const wrapStore = (store: EventStore): EventStore =>
    metrics.store(commits.watched(options.wrapStore?.(store) ?? store));
  const measured = { wrapKeys: commits.watchedKeys, wrapRenderer: metrics.renderer, wrapGenerator: metrics.generator };
  const noteBlocked = openBlocks({ logger, count: metrics.blocked });
  const noteProviderEvent = openProviderEvents({ logger, count: metrics.providerEvent });
  const ports = {
    clock,
    logger,
    wrapStore,
    ...measured,
    mailCopies,
    noteBlocked,
    noteProviderEvent,
    onAppended: writes.note,
    servesAlone: () => servesAlone(),
  };
  const engine = await openEngine(config, { ...options, ...ports });
  const leases = metrics.leases(await openLeases(config, engine));
  const leasing: LeaseDeps = { ...engine, leases, worker: engine.ids.uuid() };
  await warnOfLog(engine);
  const clockTrust = await openTrust(config, engine, clock);
  const pendingKey = openFirstKeyFile(join(config.dataDir, 'first-key'));
  notePlace(config);
  await prepareStores(config, engine, leasing, isServing ? pendingKey : undefined);
  const resources = await openResources(config, options, { ...engine, leases, metrics });
  forgetCopies = resources.mailbox?.mailbox.forgetCopies ?? forgetCopies;
  const projecting = await openProjectionRunners(config, engine, leasing);
  const [{ runners }, cutOff] = [projecting, cutOffOfAll()];

  const [stuckWork, supervisor, audit] = [openStuckWork(), makeSupervisor(engine), openAuditRecorder(engine)];
  const [serving, recorder] = [
    openServingLease(leasing, (signal) => engine.followStates(signal, 'serving')),
    openEngagementRecorder(engine),
  ];
  servesAlone = serving.alone;
  const calls = isServing ? await openCallLog(config, engine, clockTrust) : undefined;
  const workers = makeWorkers(config, {
    ...engine,
    ...resources,
    ...leasing,
    runners,
    stuckWork,
    clockTrust,
    cutOff: cutOff.signal,
  });
  const servingWorkers = isServing
    ? [serving.worker, recorder.worker, audit.worker, backlogsWorker(engine, workers)]
    : [];
  if (calls !== undefined) servingWorkers.push(calls.worker);
  let renewHttps: (tls: Tls) => void = () => {};
  let submission: Awaited<ReturnType<typeof openSubmissionServers>>;
  const renewing = {
    https: (tls: Tls) => renewHttps(tls),
    inbound: resources.renewInboundSmtp,
    submission: (tls: Tls) => submission?.renew(tls),
  };
  const certificates = openCertificates(isServing ? servedCertificates(config, renewing) : [], clock);
  const health = openServiceHealth({
    ...resources,
    config,
    engine,
    supervisor,
    stuckWork,
    runners,
    commits,
    clockTrust,
    workers,
    certificates,
  });
  let accepting = true;
  const parts = { ...engine, ...resources, runners, health: health.of(() => accepting) };
  const live = openLive(parts);
  const measuring = metrics.watch({
    ...{ ...parts, ...workers, version, disk: diskOf(config), leapMs: clockTrust.leapMs },
    liveStreams: live.streams,
  });
  const processes = await openProcesses(config, engine);
  const system = openSystemView({
    ...parts,
    ...workers,
    config,
    worker: leasing.worker,
    processes,
    disk: diskOf(config),
  });
  supervisor.start([
    clockTrust.worker,
    health.worker,
    system.worker,
    ...measuring,
    ...workers.projecting,
    ...workers.processing,
    ...servingWorkers,
  ]);
  if (isServing) await serving.whenSeen;
  afterStart(config, engine, runners, cutOff.signal);

  const requestLog = calls?.log ?? noCallLog;
  const served = httpDeps(config, { ...parts, writes, recorder, audit, live, system: system.read, requestLog });
  const server = await buildServer(served);
  renewHttps = (tls) => renewCertificate(server.server, tls);
  const shutDown = async (): Promise<void> => {
    accepting = false;
    live.close();
    const whenProjected = (signal: AbortSignal) =>
      caughtUp(engine, workers.projecting.length > 0 ? runners : new Map(), signal);
    await stopInOrder({
      supervisor,
      processing: workers.processing,
      server,
      submission: { close: async () => submission?.close() },
      limits: engine.limits,
      cutOff,
      whenProjected,
    });
    const left = await closeAll(
      {
        resources,
        'projection leases': projecting,
        processes,
        ...(calls === undefined ? {} : { 'log of calls': calls }),
        leases,
        stores: engine,
      },
      AbortSignal.timeout(CLOSED_WITHIN_MS),
    );
    lock.release();
    if (left.length > 0) throw new Error(`not closed: ${left.join(', ')}`);
  };
  let stopping: Promise<void> | undefined;
  try {
    submission = await openSubmissionServers(config, served);
  } catch (fault) {
    await shutDown();
    throw fault;
  }
  return {
    server,
    engine,
    showFirstKey: (show) => showFirstKey(engine, pendingKey, show),
    showFirstUserToken: (show) =>
      showFirstUserToken(engine, openFirstKeyFile(join(config.dataDir, 'first-user-token')), show),
    showFirstLink: (show) => showFirstLink(engine, show),
    mailboxToken: resources.mailboxToken,
    metricsPort: metrics.port(),
    inboundSmtpPort: resources.inboundSmtpPort,
    submissionPorts: submission?.ports ?? [],
    whenCaughtUp: () => caughtUp(engine, runners, new AbortController().signal),
    stop: () => (stopping ??= shutDown()),
  };
};

/** Throws ConfigError if a pair cannot be served. */
const servedCertificates = (
  { tls, publicUrl, feedback, submission }: Config,
  renew: Readonly<Record<'https' | 'inbound' | 'submission', (tls: Tls) => void>>,
): Parameters<typeof openCertificates>[0] => {
  const inbound = feedback?.smtp?.tls;
  for (const pair of [tls, inbound, submission?.tls]) if (pair !== undefined) assertServable(pair);
  return [
    ...(tls === undefined ? [] : [{ tls, host: certifiedHost(publicUrl), renew: renew.https }]),
    // Hosts that deliver reports do not check the name (RFC 7435).
    ...(inbound === undefined ? [] : [{ tls: inbound, host: undefined, renew: renew.inbound }]),
    ...(submission?.tls === undefined
      ? []
      : [{ tls: submission.tls, host: submission.tls === tls ? undefined : submission.name, renew: renew.submission }]),
  ];
};

const backlogsWorker = (engine: Engine, workers: Workers) => watchBacklogsWorker({ ...engine, ...hostOf(workers) });

/** How long the open circuit breakers of this process pause; nothing if it does not deliver. */
const hostOf = ({ processors }: Workers): Pick<Parameters<typeof watchBacklogsWorker>[0], 'hostPauseMs'> => {
  const gates = processors.flatMap(({ gate }) => gate ?? []);
  return gates.length === 0 ? {} : { hostPauseMs: () => Math.max(...gates.map(({ pauseMs }) => pauseMs())) };
};

/** The signal that ends every outside call under way. Any number may listen. */
const cutOffOfAll = (): AbortController => {
  const cutOff = new AbortController();
  setMaxListeners(0, cutOff.signal);
  return cutOff;
};

/** The log of calls of this process, which answers them. With no days nothing is noted, and what is there goes. */
const openCallLog = async (
  config: Config,
  engine: Engine,
  { mayDestroy }: Pick<ClockTrust, 'mayDestroy'>,
): Promise<Readonly<{ log: HttpDeps['requestLog']; worker: Worker }> & Part> => {
  const requestLog = await openRequestLog(config, engine);
  const { note, flush, worker } = openRequestLogRecorder({ ...engine, requestLog, mayDestroy });
  const { find, count, close } = requestLog;
  return { log: { find, count, flush, ...(config.limits.requestLogDays === 0 ? {} : { note }) }, worker, close };
};

/** That of a process that answers no calls. */
const noCallLog: HttpDeps['requestLog'] = { find: async () => [], count: async () => 0, flush: async () => {} };

/** Live events read the lists when the read models of their topics have what changed. */
const openLive = ({ runners, ...parts }: Engine & Readonly<{ runners: Runners }>): LiveFeed =>
  openLiveFeed({
    ...parts,
    items: openLiveItems({ ...parts, waitMs: parts.backlog.waitMs }),
    caughtUp: async (topics, position, signal) => {
      const projections = new Set(topics.map((topic) => (topic === 'webhooks' ? 'webhooks' : 'emails')));
      await Promise.all([...projections].map((name) => runners.get(name)?.caughtUp(position, signal)));
    },
  });

const httpDeps = (
  config: Config,
  { runners, writes, mailbox, mailboxToken, recorder, system, ...parts }: ServingParts,
): HttpDeps => {
  const { publicUrl, host, port, requireHttps, trustProxy, tls, logLevel } = config;
  const { readModels, keys, clock, limits, ids, logger, limiter, bodyChecks, health, metrics } = parts;
  const awaitOwnWrites: Parameters<typeof makeQueries>[0]['awaitOwnWrites'] = (teamId, withinMs) =>
    caughtUpWith(runners.values(), writes.of(teamId), withinMs);
  return {
    settings: { publicUrl, host, port, requireHttps, trustProxy, logLevel, ...(tls === undefined ? {} : { tls }) },
    live: parts.live,
    limits,
    clock,
    ids,
    logger,
    limiter,
    bodyChecks,
    commands: makeCommands(parts),
    oauth: openOAuth(parts),
    queries: makeQueries({ readModels, keys, clock, limits, awaitOwnWrites, waitMs: parts.backlog.waitMs }),
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
    ...(mailbox === undefined || mailboxToken === undefined
      ? {}
      : { mailbox: { mails: mailbox.mailbox, token: mailboxToken } }),
    audit: parts.audit,
    exportAudit: (team, period, done) => openAuditExport(parts, team, period, done),
    tracking: { tokens: openTrackingTokens(parts.keys), note: recorder.note },
    health,
    system,
    requestLog: parts.requestLog,
    version,
    ...(metrics.answered === undefined ? {} : { answered: metrics.answered }),
    ...(metrics.calls === undefined ? {} : { calls: metrics.calls }),
  };
};

/**
 * Ends the deliveries while requests are still answered, for a moment, and closes the server. Then the projections
 * catch up before they end, so that the next start shows everything at once. All of it within the deadline.
 */
const stopInOrder = async ({
  supervisor,
  processing,
  server,
  submission,
  limits,
  cutOff,
  whenProjected,
}: StopParts): Promise<void> => {
  const deadline = AbortSignal.timeout(limits.shutdownDeadlineMs);
  const names = processing.map(({ name }) => name);
  const isListening = server.server.listening;
  if (isListening && limits.stopNoticeMs > 0)
    await wait(limits.stopNoticeMs, undefined, { signal: deadline }).catch(() => {});
  const delivered = supervisor.stop(names, deadline);
  if (isListening) await Promise.race([delivered, wait(ANSWERS_WHILE_DELIVERING_MS, undefined, { ref: false })]);
  const closed = [closeServer(server, limits.shutdownDeadlineMs / 3), submission.close()];
  await within(deadline, Promise.all([delivered, ...closed]));
  cutOff.abort();
  // The stop goes on if a read model cannot be written, or if a store does not answer.
  const projected = AbortSignal.any([deadline, AbortSignal.timeout(PROJECTED_WITHIN_MS)]);
  await within(projected, whenProjected(projected)).catch(() => {});
  await supervisor.stop(undefined, deadline);
};

/**
 * Answers the requests under way. Node checks no timeouts once a server closes, so a request that a client never ends
 * is cut off here.
 */
const closeServer = async (server: FastifyInstance, withinMs: number): Promise<void> => {
  const cut = setTimeout(() => server.server.closeAllConnections(), withinMs);
  await server.close();
  clearTimeout(cut);
};
