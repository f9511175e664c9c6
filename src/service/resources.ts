/**
 * Opens and closes the resources of a running service beside its stores: bus, limiter, mailer, the built-in mailbox,
 * the SMTP server of the return path, body checks and metrics.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SmtpListener, Taken } from '../adapters/feedback/smtp-listener.js';
import type { CommandNeeds } from '../commands/needs.js';
import { receiveReport } from '../commands/recipients/feedback.js';
import { hasRelay, type Config } from './settings/config.js';
import type { RelaySettings } from './settings/relays.js';
import type { NamedRelay, Relays } from '../processors/email/routes.js';
import { DEFAULT_RELAY } from '../domain/email/relays.js';
import { DomainError } from '../domain/core/errors.js';
import type { EmailId } from '../domain/core/ids.js';
import type { Logger } from '../domain/ports/logger.js';
import { openSmtpMailer } from '../adapters/mail/smtp.js';
import type { SmtpSession } from '../adapters/mail/smtp-pool.js';
import { answerOf } from '../adapters/keys/key-files.js';
import { openMailbox, type OpenMailbox } from '../adapters/mailbox/mailbox.js';
import { openBodyChecks } from '../adapters/render/workers/body-checks.js';
import { openBus, openLimiter, type OpenLimiter } from './stores/stores.js';
import type { BodyChecks } from '../domain/ports/body-checks.js';
import type { Bus } from '../domain/ports/bus.js';
import type { Leases } from '../domain/ports/lease.js';
import type { Mailer } from '../domain/ports/mailer.js';
import type { Engine } from './engine.js';
import { mailboxTokenOf } from './mailbox.js';
import { watchedForBlocks, type Metrics } from './observe/metrics.js';

export type Resources = Readonly<{
  leases: Leases;
  mailbox: OpenMailbox | undefined;
  mailboxToken: string | undefined;
  /** The relay of all mails, or the first of `relays`. */
  mailer: Mailer;
  /** Relays with names; absent: there is the one of `mailer`. */
  relays?: Relays;
  bus: Bus;
  limiter: OpenLimiter;
  bodyChecks: BodyChecks;
  metrics: Metrics;
  /** The port on which the return path takes reports; undefined: none. */
  inboundSmtpPort: number | undefined;
  /** Its STARTTLS uses another certificate from now on. */
  renewInboundSmtp: SmtpListener['renew'];
  close: () => Promise<void>;
}>;

export const openResources = async (
  config: Config,
  options: Readonly<{ mailer?: Mailer }>,
  engine: Engine & Readonly<{ leases: Leases; metrics: Metrics }>,
): Promise<Resources> => {
  const { clock, ids, leases, limits, logger, metrics } = engine;
  const mailbox = !hasRelay(config)
    ? await openMailbox({
        file: join(config.dataDir, 'mailbox.db'),
        clock,
        ids,
        messagesMax: limits.mailboxMessagesMax,
        logger,
      })
    : undefined;
  const watched = (mailer: Mailer, relay: string): Mailer =>
    watchedForBlocks(metrics.mailer(mailer, relay), engine.noteBlocked);
  const bus = metrics.bus(await openBus(config, engine));
  const limiter = await openLimiter(config, engine);
  const named = (config.relays?.list ?? []).map((relay) => openNamedRelay(config, relay, engine, watched));
  const mailers =
    config.relays === undefined
      ? [watched(options.mailer ?? openMailer(config, mailbox, engine), DEFAULT_RELAY)]
      : named.map(({ mailer }) => mailer);
  const bodyChecks = openBodyChecks({
    file: new URL('../http/server/json/large-body.js', import.meta.url),
    settings: limits,
    clock,
    logger,
  });
  const inbound = await openInboundSmtp(config, engine);
  return {
    leases,
    mailbox,
    mailboxToken: mailbox === undefined ? undefined : mailboxTokenOf(config),
    mailer: mailers[0]!,
    ...(config.relays === undefined ? {} : { relays: { list: named, rules: config.relays.rules, limiter } }),
    bus,
    limiter,
    bodyChecks,
    metrics,
    inboundSmtpPort: inbound?.port,
    renewInboundSmtp: (tls) => inbound?.renew(tls),
    close: async () => {
      await inbound?.close();
      await metrics.close();
      await bodyChecks.close();
      await Promise.all(mailers.map((mailer) => mailer.close()));
      await mailbox?.close();
      await bus.close();
      await limiter.close();
    },
  };
};

/** A token of XOAUTH2 is a JWT or shorter; some have several thousand characters. */
const TOKEN_CHARS_MAX = 16_384;

/** Our name in a session with the relay, and where the token of its login comes from: by the settings or the relay. */
export const smtpSession = (
  { smtp }: Config,
  { tokenFile, tokenCommand }: Pick<RelaySettings, 'tokenFile' | 'tokenCommand'> = smtp,
  setting = 'SEALPOST_SMTP_TOKEN_COMMAND',
): SmtpSession => ({
  ...(smtp.name === undefined ? {} : { clientName: smtp.name }),
  ...(tokenFile === undefined ? {} : { token: async () => (await readFile(tokenFile, 'utf8')).trim() }),
  ...(tokenCommand === undefined
    ? {}
    : {
        token: () => answerOf(tokenCommand, '', { setting, charsMax: TOKEN_CHARS_MAX }),
      }),
});

const openMailer = (config: Config, mailbox: OpenMailbox | undefined, { logger }: Engine): Mailer => {
  const { smtp, dkim } = config;
  return openSmtpMailer({
    url: mailbox?.smtpUrl ?? smtp.url!,
    final: mailbox !== undefined || smtp.final,
    connectionsMax: smtp.connections,
    session: smtpSession(config),
    ...(dkim === undefined ? {} : { dkim }),
    logger,
  });
};

/** The options of a relay of the file, but for what differs between delivering and trying. */
export const relayOptions = (config: Config, relay: RelaySettings) => ({
  url: relay.url,
  final: relay.final,
  session: smtpSession(config, relay, `tokenCommand of the relay ${relay.name}`),
  signs: relay.signs,
  timeouts: relay.timeouts,
  ...(config.dkim === undefined ? {} : { dkim: config.dkim }),
});

const openNamedRelay = (
  config: Config,
  relay: RelaySettings,
  { logger }: Engine,
  watched: (mailer: Mailer, relay: string) => Mailer,
): NamedRelay => {
  const { name, connections, returnPath, ratePerSecond, rampUp } = relay;
  return {
    name,
    mailer: watched(openSmtpMailer({ ...relayOptions(config, relay), connectionsMax: connections, logger }), name),
    ...(returnPath === undefined ? {} : { returnPath }),
    ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
    ...(rampUp === undefined ? {} : { rampUp }),
  };
};

/**
 * Opens the SMTP server of the return path; undefined if the settings do not ask for it, or if this process serves no
 * requests. The library is loaded only if the server is opened.
 */
const openInboundSmtp = async (
  { feedback: settings, roles, limits }: Config,
  deps: CommandNeeds & Readonly<{ logger: Logger }>,
): Promise<SmtpListener | undefined> => {
  const { feedback, logger } = deps;
  if (feedback === undefined || settings?.smtp === undefined || !roles.includes('http')) return undefined;
  const { smtp } = settings;
  const { openSmtpListener } = await import('../adapters/feedback/smtp-listener.js');
  return openSmtpListener({
    ...smtp,
    name: settings.name,
    bounds: {
      connectionsMax: limits.inboundSmtpNetworkConnectionsMax,
      connectionsPerMinute: limits.inboundSmtpNetworkConnectionsPerMinuteMax,
      commandsPerMinute: limits.inboundSmtpNetworkCommandsPerMinuteMax,
      messagesPerMinute: limits.inboundSmtpNetworkMessagesPerMinuteMax,
      allConnectionsMax: limits.inboundSmtpConnectionsMax,
      sizeBytesMax: limits.inboundSmtpSizeBytesMax,
      silenceMs: limits.inboundSmtpSilenceMs,
      sessionMs: limits.inboundSmtpSessionMs,
      closeMs: limits.inboundSmtpCloseMs,
    },
    clock: deps.clock,
    logger,
    emailOf: feedback.returnPath.emailOf,
    receive: (id, raw) => receive(deps, id, raw),
  }).catch((fault: unknown) => {
    if (fault instanceof Error && 'code' in fault && fault.code === 'EADDRINUSE')
      throw new Error(
        `port ${smtp.port} on ${smtp.host} is in use; stop what uses it, or set SEALPOST_INBOUND_SMTP_PORT to another`,
        {
          cause: fault,
        },
      );
    throw fault;
  });
};

const receive = async (deps: CommandNeeds & Readonly<{ logger: Logger }>, id: EmailId, raw: Buffer): Promise<Taken> => {
  try {
    const { emailId, kind, outcome } = await receiveReport(deps, id, raw);
    deps.logger.info({ emailId, kind, outcome }, 'a report came by the return path');
    return 'taken';
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    if (error.code === 'EMAIL_NOT_FOUND') return 'unknown';
    deps.logger.info({ emailId: id, code: error.code }, 'a report is to come again');
    return 'later';
  }
};
