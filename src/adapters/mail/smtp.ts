/** Hands messages to an SMTP relay: one call is one dialogue and one outcome for each recipient. */
import type { SMTPConnectionEnvelope, SMTPConnectionSendInfo, SMTPError } from 'nodemailer/lib/smtp-connection';
import type { Logger } from '../../domain/ports/logger.js';
import type { Delivered, Delivery, Dialogue, Mailer, OutgoingMessage, RecipientOutcome } from '../../domain/ports/mailer.js';
import { openSigners, type DkimOptions, type SignersFor } from './dkim.js';
import { FinishedMessage } from './finished-message.js';
import { faultOfSession, faultOutcome, isMalformedReply, outcomesOfError, outcomesOfSuccess, REPLY, type SmtpFailure } from './outcomes.js';
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
  const { logger } = options;
  const server = parseSmtpUrl(options.url);
  const signersFor = openSigners(options.dkim);
  const pool = openSmtpPool({
    server,
    connectionsMax: options.connectionsMax,
    messagesPerConnectionMax: options.messagesPerConnectionMax ?? messagesPerConnectionMaxDefault,
    timeouts: { ...timeoutsDefault, ...options.timeouts },
  });
  const host = `${server.host}:${server.port}`;

  const send = async ({ priority, signal, begin, end }: Delivery): Promise<Delivered> => {
    let pooled: PooledConnection;
    try {
      pooled = await pool.acquire({ fresh: false, signal, priority });
    } catch (error) {
      if (error instanceof PoolClosed || signal.aborted) return { kind: 'given-up' };
      return { kind: 'host-away', fault: faultOfSession(asError(error)) };
    }
    const dialogue = signal.aborted ? 'given-up' : await begin().catch((fault: unknown) => ({ fault }));
    if (dialogue === undefined || dialogue === 'given-up' || 'fault' in dialogue) {
      pool.release(pooled);
      if (dialogue === 'given-up') return { kind: 'given-up' };
      if (dialogue === undefined) return { kind: 'not-wanted' };
      throw dialogue.fault;
    }
    const startedAtMs = performance.now();
    await converse({ pool, signersFor, logger }, pooled, dialogue, (used, recipients, leave, hostAway) => {
      const durationMs = Math.round(performance.now() - startedAtMs);
      const ended = end({ host, durationMs, recipients, ...(hostAway === true ? { hostAway } : {}) });
      used.settled = ended.catch(() => {});
      leave(used);
      return ended;
    });
    return { kind: 'ended' };
  };

  return {
    final: options.final,
    host,
    send,
    probe: ({ signal }) => takesSession(pool, signal),
    close: () => pool.close(),
  };
};

type Sending = Readonly<{ pool: SmtpPool; signersFor: SignersFor; logger: Logger }>;

/** Tells of the outcome first, then gives the connection back: what waits for it appends behind what is told. */
type End = (
  used: PooledConnection,
  recipients: readonly RecipientOutcome[],
  leave: (used: PooledConnection) => void,
  hostAway?: true,
) => Promise<void>;

/** The bytes as they leave; undefined where they cannot be signed. */
const signed = async ({ signersFor, logger }: Sending, { raw, signWith }: OutgoingMessage): Promise<Buffer | undefined> => {
  try {
    const signers = signersFor(signWith);
    if (signers.length === 0) return raw;
    const fields = await Promise.all(signers.map((sign) => sign(raw)));
    return Buffer.concat([Buffer.from(fields.join(''), 'latin1'), raw]);
  } catch (error) {
    logger.error({ error: asError(error) }, 'a message could not be signed');
    return undefined;
  }
};

/** The dialogue on that connection, and what became of it; gives the connection back when `end` is called with that. */
const converse = async (sending: Sending, pooled: PooledConnection, { message, signal }: Dialogue, end: End): Promise<void> => {
  const { pool } = sending;
  const { from, to, reportsAs } = message.envelope;
  const all = (outcome: RecipientOutcome): readonly RecipientOutcome[] => to.map(() => outcome);
  const raw = to.length === 0 ? undefined : await signed(sending, message);
  // Of the dialogue before, on this connection, nobody would know after a crash that it has ended.
  await pooled.settled;
  if (raw === undefined) return end(pooled, all(faultOutcome('signing-failed', 'the message could not be signed')), pool.release);
  let connected = pooled;
  let result = await transact(connected, { from, to, raw, reportsAs }, signal);
  // A server may close a connection that was idle, at the very moment when we take it. Nothing of the message
  // was sent then, so it starts over on a connection of its own, once.
  if (result.kind === 'failed' && connected.used > 1 && wasStale(result.failure)) {
    try {
      connected = await pool.replace(pooled, signal);
    } catch (error) {
      if (signal.aborted)
        return end(pooled, all(faultOutcome('aborted', 'the attempt was ended before a connection was open')), pool.discard);
      return end(pooled, all(faultOfSession(asError(error))), pool.discard, true);
    }
    result = await transact(connected, { from, to, raw, reportsAs }, signal);
  }
  return end(connected, outcomesOf(to, result), (used) => giveBack(pool, used, result));
};

const outcomesOf = (to: readonly string[], result: Transaction): readonly RecipientOutcome[] => {
  switch (result.kind) {
    case 'sent':
      return outcomesOfSuccess(to, result.info.response, result.info.rejectedErrors ?? []);
    case 'failed':
      return outcomesOfError(to, result.failure);
    case 'aborted':
      return to.map(() => faultOutcome('aborted', 'the attempt was ended in the middle of the dialogue'));
  }
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
  pool.reset(pooled);
};

const transact = (
  pooled: PooledConnection,
  mail: Readonly<{ from: string; to: readonly string[]; raw: Buffer; reportsAs: string | undefined }>,
  signal: AbortSignal,
): Promise<Transaction> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: 'aborted' });
    const { connection } = pooled;
    // nodemailer keeps its account of the recipients in this object, and hands it over by no other way when the message fails.
    const envelope: Partial<SMTPConnectionEnvelope> = {
      from: mail.from,
      to: [...mail.to],
      size: mail.raw.length,
      ...reportsOf(mail.reportsAs, mail.to),
    };
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

/** nodemailer leaves it out where the host does not offer it. It takes one original recipient for all, so only a mail to one names it. */
const reportsOf = (reportsAs: string | undefined, to: readonly string[]): Pick<Partial<SMTPConnectionEnvelope>, 'dsn'> => {
  if (reportsAs === undefined) return {};
  const [only] = to.length === 1 ? to : [];
  const isPlain = only !== undefined && /^[\x21-\x7e]+$/.test(only);
  return { dsn: { ret: 'HDRS', envid: reportsAs, notify: ['SUCCESS', 'FAILURE'], ...(isPlain ? { orcpt: only } : {}) } };
};

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
