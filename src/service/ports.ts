/** Opens what a running service needs beside its stores: bus, limits, mail, and the mailbox where no relay is set. */
import { join } from 'node:path';
import { openSmtpMailer } from '../adapters/mail/smtp.js';
import { openMailbox, type OpenMailbox } from '../adapters/mailbox/mailbox.js';
import { openBodyChecks } from '../adapters/render/workers/body-checks.js';
import type { Config } from './settings/config.js';
import { openInboundSmtp } from './inbound-smtp.js';
import { openBus, openLimiter, type OpenLimiter } from './stores/coordination.js';
import type { BodyChecks } from '../domain/ports/body-checks.js';
import type { Bus } from '../domain/ports/bus.js';
import type { Leases } from '../domain/ports/lease.js';
import type { Mailer } from '../domain/ports/mailer.js';
import type { Engine } from './engine.js';
import { mailboxTokenOf } from './mailbox.js';
import type { Metrics } from './observe/metrics.js';

/** What a running service needs beside its stores. */
export type Surroundings = Readonly<{
  leases: Leases;
  mailbox: OpenMailbox | undefined;
  mailboxToken: string | undefined;
  mailer: Mailer;
  bus: Bus;
  limiter: OpenLimiter;
  bodyChecks: BodyChecks;
  metrics: Metrics;
  /** Where reports come to the return path; undefined: nowhere. */
  inboundSmtpPort: number | undefined;
  close: () => Promise<void>;
}>;

export const openSurroundings = async (
  config: Config,
  options: Readonly<{ mailer?: Mailer }>,
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
  const bodyChecks = openBodyChecks({
    file: new URL('../http/server/json/checks-apart.js', import.meta.url),
    settings: limits,
    clock,
    logger,
  });
  const inbound = await openInboundSmtp(config, engine);
  return {
    leases,
    mailbox,
    mailboxToken: mailbox === undefined ? undefined : mailboxTokenOf(config),
    mailer,
    bus,
    limiter,
    bodyChecks,
    metrics,
    inboundSmtpPort: inbound?.port,
    close: async () => {
      await inbound?.close();
      await metrics.close();
      await bodyChecks.close();
      await mailer.close();
      await mailbox?.close();
      await bus.close();
      await limiter.close();
    },
  };
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
