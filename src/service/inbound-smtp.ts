/** Opens the SMTP server of the return path where the settings ask for it. */
import type { SmtpListener, Taken } from '../adapters/feedback/smtp-listener.js';
import type { CommandDeps } from '../commands/core/deps.js';
import { receiveReport } from '../commands/recipients/feedback.js';
import type { Config } from './settings/config.js';
import { DomainError } from '../domain/core/errors.js';
import type { EmailId } from '../domain/core/ids.js';
import type { Logger } from '../domain/ports/logger.js';

/** undefined where it is not asked for, or this process serves no requests. The library is loaded only then. */
export const openInboundSmtp = async (
  { feedback: settings, roles, limits }: Config,
  deps: CommandDeps & Readonly<{ logger: Logger }>,
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
      throw new Error(`port ${smtp.port} on ${smtp.host} is in use; stop what uses it, or set SEALPOST_INBOUND_SMTP_PORT to another`, {
        cause: fault,
      });
    throw fault;
  });
};

const receive = async (deps: CommandDeps & Readonly<{ logger: Logger }>, id: EmailId, raw: Buffer): Promise<Taken> => {
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
