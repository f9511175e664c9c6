/** Hands messages to an SMTP relay: one call is one dialogue and one outcome for each recipient. */
import type { SMTPConnectionEnvelope, SMTPConnectionSendInfo, SMTPError } from 'nodemailer/lib/smtp-connection';
import type { Logger } from '../../domain/ports/logger.js';
import type { DeliveryOutcome, Mailer, OutgoingMessage, RecipientOutcome } from '../../domain/ports/mailer.js';
import { openDkimSigner, type DkimOptions } from './dkim.js';
import { FinishedMessage } from './finished-message.js';
import { faultOutcome, isMalformedReply, outcomesOfError, outcomesOfSuccess, REPLY, type SmtpFailure } from './outcomes.js';
import { openSmtpPool, PoolClosed, type PooledConnection, type SmtpPool, type SmtpTimeouts } from './smtp-pool.js';
import { parseSmtpUrl } from './smtp-url.js';

export type SmtpMailerOptions = Readonly<{
  /** See smtp-url.ts for the parameters it knows. */
  url: string;
  /** True where that host is the last one, as the built-in mailbox is. */
  final: boolean;
  connectionsMax: number;
  messagesPerConnectionMax?: number;
  dkim?: DkimOptions;
  timeouts?: Partial<SmtpTimeouts>;
  logger: Logger;
}>;

const timeoutsDefault: SmtpTimeouts = { setupMs: 75_000, silenceMs: 10 * 60_000, idleMs: 60_000 };
const messagesPerConnectionMaxDefault = 100;

/** Throws an Error with a sentence for the operator where the URL or the DKIM key cannot be used; connects when the first message comes. */
export const openSmtpMailer = (options: SmtpMailerOptions): Mailer => {
  const server = parseSmtpUrl(options.url);
  const sign = options.dkim === undefined ? undefined : openDkimSigner(options.dkim);
  const pool = openSmtpPool({
    server,
    connectionsMax: options.connectionsMax,
    messagesPerConnectionMax: options.messagesPerConnectionMax ?? messagesPerConnectionMaxDefault,
    timeouts: { ...timeoutsDefault, ...options.timeouts },
  });
  const host = `${server.host}:${server.port}`;

  const deliver = async (message: OutgoingMessage, signal: AbortSignal, onHostAway: () => void): Promise<readonly RecipientOutcome[]> => {
    const { to } = message.envelope;
    const all = (outcome: RecipientOutcome): readonly RecipientOutcome[] => to.map(() => outcome);
    if (to.length === 0) return [];
    let raw: Buffer;
    try {
      raw = sign === undefined ? message.raw : Buffer.concat([Buffer.from(await sign(message.raw), 'latin1'), message.raw]);
    } catch (error) {
      options.logger.error({ error: asError(error) }, 'a message could not be signed');
      return all(faultOutcome('signing-failed', 'the message could not be signed'));
    }
    // A server may close a connection that was idle, at the very moment when we take it. Nothing of the message
    // was sent then, so it starts over on a connection of its own, once.
    for (const fresh of [false, true]) {
      let pooled: PooledConnection;
      try {
        pooled = await pool.acquire({ fresh, signal, priority: message.priority ?? 'normal' });
      } catch (error) {
        if (error instanceof PoolClosed) return all(faultOutcome('mailer-closed', 'the mailer was closed'));
        if (signal.aborted) return all(faultOutcome('aborted', 'the attempt was ended before a connection was open'));
        onHostAway();
        return outcomesOfError(to, { error: asError(error), rejections: [], dataSent: false });
      }
      const reused = pooled.used > 0;
      const result = await transact(pooled, { from: message.envelope.from, to, raw }, signal);
      giveBack(pool, pooled, result);
      if (result.kind === 'sent') return outcomesOfSuccess(to, result.info.response, result.info.rejectedErrors ?? []);
      if (result.kind === 'aborted') return all(faultOutcome('aborted', 'the attempt was ended in the middle of the dialogue'));
      if (reused && !fresh && wasStale(result.failure)) continue;
      return outcomesOfError(to, result.failure);
    }
    throw new Error('unreachable: the second attempt always answers');
  };

  return {
    final: options.final,
    host,
    send: async (message, { signal }): Promise<DeliveryOutcome> => {
      const startedAtMs = performance.now();
      let hostAway = false;
      const recipients = await deliver(message, signal, () => (hostAway = true));
      return { host, durationMs: Math.round(performance.now() - startedAtMs), recipients, ...(hostAway ? { hostAway } : {}) };
    },
    probe: ({ signal }) => takesSession(pool, signal),
    close: () => pool.close(),
  };
};

const takesSession = async (pool: SmtpPool, signal: AbortSignal): Promise<boolean> => {
  try {
    pool.release(await pool.acquire({ fresh: true, signal, priority: 'high' }));
    return true;
  } catch {
    return false;
  }
};

type Transaction =
  | Readonly<{ kind: 'sent'; info: SMTPConnectionSendInfo }>
  | Readonly<{ kind: 'failed'; failure: SmtpFailure }>
  | Readonly<{ kind: 'aborted' }>;

/** A session that may go on serves the next message; every other connection is closed. */
const giveBack = (pool: SmtpPool, pooled: PooledConnection, result: Transaction): void => {
  if (result.kind === 'sent') return pool.release(pooled);
  if (result.kind === 'aborted' || !sessionIsUsable(result.failure.error) || pooled.ended) return pool.discard(pooled);
  // The server judged the message and the session goes on: cleared, it serves the next.
  pooled.connection.reset((error) => (error ? pool.discard(pooled) : pool.release(pooled)));
};

const transact = (
  pooled: PooledConnection,
  mail: Readonly<{ from: string; to: readonly string[]; raw: Buffer }>,
  signal: AbortSignal,
): Promise<Transaction> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: 'aborted' });
    const { connection } = pooled;
    // nodemailer keeps its account of the recipients in this object, and hands it over by no other way when the message fails.
    const envelope: Partial<SMTPConnectionEnvelope> = { from: mail.from, to: [...mail.to], size: mail.raw.length };
    const source = new FinishedMessage(connection, mail.raw);
    const onAbort = (): void => {
      connection.close();
      resolve({ kind: 'aborted' });
    };
    signal.addEventListener('abort', onAbort);
    pooled.used += 1;
    connection.send(envelope, source, (error, info) => {
      signal.removeEventListener('abort', onAbort);
      // nodemailer looks at the first character alone.
      if (!error && info !== undefined && REPLY.test(info.response)) return resolve({ kind: 'sent', info });
      const failure = error ?? Object.assign(new Error('no reply'), { code: 'EPROTOCOL', response: info?.response });
      resolve({ kind: 'failed', failure: { error: failure, rejections: envelope.rejectedErrors ?? [], dataSent: source.asked } });
    });
  });

/** The connection ended before it answered anything about this message. */
const wasStale = ({ error, rejections, dataSent }: SmtpFailure): boolean =>
  !dataSent &&
  rejections.length === 0 &&
  (error.responseCode === 421 || ((error.code === 'ECONNECTION' || error.code === 'ESOCKET') && error.responseCode === undefined));

/** The server refused this message and nothing else: after RSET the session goes on. 503 says that it lost track of us. */
const sessionIsUsable = (error: SMTPError): boolean =>
  (error.code === 'EENVELOPE' || error.code === 'EMESSAGE') &&
  error.responseCode !== 421 &&
  error.responseCode !== 503 &&
  !isMalformedReply(error);

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
