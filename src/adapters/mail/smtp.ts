/** Hands messages to an SMTP relay: one call is one dialogue and one outcome for each recipient. */
import type { SMTPError, SMTPConnectionEnvelope, SMTPConnectionSendInfo } from 'nodemailer/lib/smtp-connection';
import type { Mailer, OutgoingMessage, RecipientOutcome, SendMessage } from '../../domain/ports/mailer.js';
import { classifyReply, enhancedCodeOf, type ReplyStage, SESSION_FULL } from '../../domain/email/bounce-rules.js';
import type { Logger } from '../../domain/ports/logger.js';
import { openSigners, type DkimOptions, type SignersFor } from './dkim.js';
import { FinishedMessage, type SentPart } from './smtp-content.js';
import {
  openSmtpPool,
  PoolClosed,
  type PooledConnection,
  type SmtpPool,
  type SmtpSession,
  type SmtpTimeouts,
  clientNameOf,
  parseSmtpUrl,
} from './smtp-pool.js';

/** The failed end of a dialogue, as nodemailer reports it. */
type SmtpFailure = Readonly<{
  error: SMTPError;
  /** The recipients that RCPT refused before the end, each with its reply. */
  rejections: readonly SMTPError[];
  sent: SentPart;
}>;

export type SmtpMailerOptions = Readonly<{
  /** See `parseSmtpUrl` for its parameters. */
  url: string;
  /** Whether that host is the last one, like the built-in mailbox. */
  final: boolean;
  /** Settings of a session that the URL does not hold. */
  session?: SmtpSession;
  connectionsMax: number;
  messagesPerConnectionMax?: number;
  dkim?: DkimOptions;
  /** Whether messages are signed here; default: true. */
  signs?: boolean;
  timeouts?: Partial<MailerTimeouts>;
  logger: Logger;
}>;

/** `lastReplyMs`: how long the reply to a content that is all sent is waited for after the signal has aborted. */
type MailerTimeouts = SmtpTimeouts & Readonly<{ lastReplyMs: number }>;

type Sending = Readonly<{ pool: SmtpPool; signersFor: SignersFor; logger: Logger; lastReplyMs: number }>;

/** When a dialogue ends before its reply; see `SendMessage`. */
type Limits = Readonly<{ signal: AbortSignal; mayGoOn: (() => boolean) | undefined; cut: AbortSignal | undefined }>;

/** The end of a dialogue. `leave` gives back the connection on which it ended. */
type Ended = Readonly<{
  used: PooledConnection;
  recipients: readonly RecipientOutcome[];
  leave: (used: PooledConnection) => void;
  hostAway?: true;
  content?: 'none' | 'some';
}>;

type Transaction =
  | Readonly<{ kind: 'sent'; info: SMTPConnectionSendInfo }>
  | Readonly<{ kind: 'failed'; failure: SmtpFailure }>
  | Readonly<{ kind: 'aborted'; sent: SmtpFailure['sent'] }>;

const timeoutsDefault: MailerTimeouts = {
  setupMs: 75_000,
  silenceMs: 10 * 60_000,
  idleMs: 60_000,
  lastReplyMs: 5_000,
};
const messagesPerConnectionMaxDefault = 100;

/** Replies are stored with the outcome. Longer ones are cut. */
const replyCharsMax = 1_000;

/** The beginning of a valid reply. */
const REPLY = /^[2-5]\d\d(?:[ \-\r\n]|$)/;

const CERTIFICATE_FAULT = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|UNABLE_TO|SELF_SIGNED|HOSTNAME_)/;

const faultRules: Readonly<Record<string, string>> = {
  EDNS: 'host-not-found',
  ETIMEDOUT: 'timeout',
  ETLS: 'tls-failed',
  EAUTH: 'authentication-failed',
  ESOCKET: 'connection-lost',
  ECONNECTION: 'connection-lost',
};

/**
 * Throws an Error with a sentence for the operator if the URL or the DKIM key cannot be used. Connects with the first
 * message.
 */
export const openSmtpMailer = (options: SmtpMailerOptions): Mailer => {
  const { logger } = options;
  const server = parseSmtpUrl(options.url);
  const signersFor = options.signs === false ? signsNothing : openSigners(options.dkim);
  const timeouts = { ...timeoutsDefault, ...options.timeouts };
  const pool = openSmtpPool({
    server,
    session: options.session ?? {},
    connectionsMax: options.connectionsMax,
    messagesPerConnectionMax: options.messagesPerConnectionMax ?? messagesPerConnectionMaxDefault,
    timeouts,
  });
  const sending = { pool, signersFor, logger, lastReplyMs: timeouts.lastReplyMs };
  const host = `${server.host}:${server.port}`;

  const lend: Mailer['lend'] = async ({ priority, signal }, use) => {
    let pooled: PooledConnection;
    try {
      pooled = await pool.acquire({ fresh: false, signal, priority });
    } catch (error) {
      if (error instanceof PoolClosed || signal.aborted) return { kind: 'given-up' };
      return { kind: 'host-away', fault: faultOfSession(asError(error)) };
    }
    let settle = (): void => undefined;
    const settled = new Promise<void>((resolve) => (settle = resolve));
    let isOurs = true;
    const send: SendMessage = async (message, dialogueSignal, mayGoOn, cut) => {
      if (!isOurs) throw new Error('a connection is lent for one message');
      isOurs = false;
      const startedAtMs = performance.now();
      const limits = { signal: dialogueSignal, mayGoOn, cut };
      const { used, recipients, leave, hostAway, content } = await converse(sending, pooled, message, limits);
      const durationMs = Math.round(performance.now() - startedAtMs);
      used.settled = settled;
      leave(used);
      return {
        host,
        durationMs,
        recipients,
        ...(hostAway === true ? { hostAway } : {}),
        ...(content === undefined ? {} : { content }),
      };
    };
    try {
      return signal.aborted ? { kind: 'given-up' } : { kind: 'used', result: await use(send) };
    } finally {
      if (isOurs) pool.release(pooled);
      settle();
    }
  };

  return {
    final: options.final,
    host,
    lend,
    probe: ({ signal }) => takesSession(pool, signal),
    close: () => pool.close(),
  };
};

const signsNothing: SignersFor = () => [];

/** The result of a session without a message. `name`: our name in EHLO. */
export type SessionTried = Readonly<{ host: string; name: string }> &
  (Readonly<{ isEncrypted: boolean; isLoggedIn: boolean }> | Readonly<{ fault: RecipientOutcome }>);

/**
 * Connects to the relay, secures the session and logs in as the URL says, and leaves without a message. Throws as
 * `openSmtpMailer` does.
 */
export const trySession = async (url: string, session: SmtpSession, withinMs: number): Promise<SessionTried> => {
  const server = parseSmtpUrl(url);
  const host = `${server.host}:${server.port}`;
  const name = clientNameOf(server, session);
  const timeouts = { setupMs: withinMs, silenceMs: withinMs, idleMs: withinMs };
  const pool = openSmtpPool({ server, session, connectionsMax: 1, messagesPerConnectionMax: 1, timeouts });
  try {
    const pooled = await pool.acquire({ fresh: true, signal: AbortSignal.timeout(withinMs), priority: 'high' });
    const { secure: isEncrypted } = pooled.connection;
    pool.release(pooled);
    return { host, name, isEncrypted, isLoggedIn: server.user !== undefined };
  } catch (error) {
    return { host, name, fault: faultOfSession(asError(error)) };
  } finally {
    await pool.close();
  }
};

/** The message with its signatures; undefined if it cannot be signed. */
const signed = async (
  { signersFor, logger }: Sending,
  { raw, signWith }: OutgoingMessage,
): Promise<Buffer | undefined> => {
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

/** Holds the dialogue on that connection, or on a new one in its slot. */
const converse = async (
  sending: Sending,
  pooled: PooledConnection,
  message: OutgoingMessage,
  limits: Limits,
): Promise<Ended> => {
  const { pool, lastReplyMs } = sending;
  const { signal } = limits;
  const { from, to, reportsAs } = message.envelope;
  const { is8Bit } = message;
  const all = (outcome: RecipientOutcome): readonly RecipientOutcome[] => to.map(() => outcome);
  const raw = to.length === 0 ? undefined : await signed(sending, message);
  // Wait until the outcome of the previous dialogue on this connection is recorded: after a crash it would count as not
  // ended.
  await pooled.settled;
  if (raw === undefined)
    return {
      used: pooled,
      recipients: all(faultOutcome('signing-failed', 'the message could not be signed')),
      leave: pool.release,
    };
  let used = pooled;
  const mail = { from, to, raw, reportsAs, is8Bit };
  let result = await transact(used, mail, limits, lastReplyMs);
  // A server may close an idle connection at the very moment when we take it, or have its limit of messages for one
  // session. The message is certainly not taken then, so the dialogue is repeated once on a new connection.
  if (result.kind === 'failed' && used.used > 1 && (wasStale(result.failure) || isFull(result.failure))) {
    try {
      used = await pool.replace(pooled, signal);
    } catch (error) {
      const isAborted = signal.aborted;
      const fault = isAborted
        ? faultOutcome('aborted', 'the attempt was ended before a connection was open')
        : faultOfSession(asError(error));
      return {
        used,
        recipients: all(fault),
        leave: pool.discard,
        content: 'none',
        ...(isAborted ? {} : { hostAway: true }),
      };
    }
    result = await transact(used, mail, limits, lastReplyMs);
  }
  const content = contentOf(result);
  return {
    used,
    recipients: outcomesOf(to, result),
    leave: () => giveBack(pool, used, result),
    ...(content === undefined ? {} : { content }),
  };
};

/**
 * How much of the content the server got without an answer for it. A temporary refusal of MAIL or DATA, or 421 at any
 * command, is about the server and not about a recipient.
 */
const contentOf = (result: Transaction): Ended['content'] => {
  if (result.kind === 'sent') return undefined;
  if (result.kind === 'aborted') return result.sent === 'nothing' ? 'none' : 'some';
  const { error, sent } = result.failure;
  const { responseCode } = error;
  const isAnswered = responseCode !== undefined && !isMalformedReply(error);
  if (sent !== 'nothing') return isAnswered ? undefined : 'some';
  if (responseCode === 421) return 'none';
  if (isMalformedReply(error)) return 'none';
  if (isAnswered) return responseCode < 500 && stageOf(error) !== 'rcpt' ? 'none' : undefined;
  // The message itself cannot be sent: it is too large, or its envelope is wrong.
  return error.code === 'EMESSAGE' || error.code === 'EENVELOPE' ? undefined : 'none';
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

/** Releases a session that can serve the next message, and closes any other. */
const giveBack = (pool: SmtpPool, pooled: PooledConnection, result: Transaction): void => {
  if (result.kind === 'sent') return pool.release(pooled);
  if (result.kind === 'aborted' || !sessionIsUsable(result.failure.error) || pooled.ended) return pool.discard(pooled);
  // The server refused the message only. After a reset the session serves the next one.
  pool.reset(pooled);
};

const transact = (
  pooled: PooledConnection,
  mail: Readonly<{
    from: string;
    to: readonly string[];
    raw: Buffer;
    reportsAs: string | undefined;
    is8Bit: true | undefined;
  }>,
  { signal, mayGoOn, cut }: Limits,
  lastReplyMs: number,
): Promise<Transaction> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: 'aborted', sent: 'nothing' });
    const { connection } = pooled;
    // nodemailer records the refused recipients in this object, and gives them in no other way if the message fails.
    const envelope: Partial<SMTPConnectionEnvelope> = {
      from: mail.from,
      to: [...mail.to],
      size: mail.raw.length,
      // nodemailer leaves it out if the host does not offer it.
      ...(mail.is8Bit && { use8BitMime: true }),
      ...reportsOf(mail.reportsAs, mail.to),
    };
    const refuse = (reply: string): void => {
      // Without 354 the message is not sent (RFC 5321, section 4.1.1.4): the server would read its lines as commands.
      connection.close();
      stopListening();
      const error = Object.assign(new Error('DATA was not answered with 354'), {
        code: 'EENVELOPE',
        command: 'DATA',
        response: reply,
        responseCode: Number(reply.slice(0, 3)) || 0,
      });
      resolve({ kind: 'failed', failure: { error, rejections: [], sent: 'nothing' } });
    };
    const leave = (): void => {
      connection.close();
      stopListening();
      resolve({ kind: 'aborted', sent: source.sent });
    };
    const source = new FinishedMessage(connection, mail.raw, { mayGoOn, refuse, leave });
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      if (source.sent !== 'all' || cut === undefined || cut.aborted) return leave();
      timer = setTimeout(leave, lastReplyMs);
      cut.addEventListener('abort', leave);
    };
    const stopListening = (): void => {
      signal.removeEventListener('abort', onAbort);
      if (timer === undefined) return;
      clearTimeout(timer);
      cut?.removeEventListener('abort', leave);
    };
    signal.addEventListener('abort', onAbort);
    pooled.used += 1;
    connection.send(envelope, source, (error, info) => {
      stopListening();
      // nodemailer itself checks the first character only.
      if (!error && info !== undefined && REPLY.test(info.response)) return resolve({ kind: 'sent', info });
      const failure = error ?? Object.assign(new Error('no reply'), { code: 'EPROTOCOL', response: info?.response });
      resolve({
        kind: 'failed',
        failure: { error: failure, rejections: envelope.rejectedErrors ?? [], sent: source.sent },
      });
    });
  });

/**
 * The request for delivery reports. nodemailer leaves it out if the host does not offer them. It takes one original
 * recipient for all, so only a mail to one recipient names it.
 */
const reportsOf = (
  reportsAs: string | undefined,
  to: readonly string[],
): Pick<Partial<SMTPConnectionEnvelope>, 'dsn'> => {
  if (reportsAs === undefined) return {};
  const [only] = to.length === 1 ? to : [];
  const isPlain = only !== undefined && /^[\x21-\x7e]+$/.test(only);
  return {
    dsn: { ret: 'HDRS', envid: reportsAs, notify: ['SUCCESS', 'FAILURE'], ...(isPlain ? { orcpt: only } : {}) },
  };
};

/** Whether the connection ended before the server answered anything about this message. */
const wasStale = ({ error, rejections, sent }: SmtpFailure): boolean =>
  sent === 'nothing' &&
  rejections.length === 0 &&
  (error.responseCode === 421 ||
    ((error.code === 'ECONNECTION' || error.code === 'ESOCKET') && error.responseCode === undefined));

/** Limits of which a reply may not say that they are those of a session. */
const TOO_MANY =
  /too many (messages|mails?|e-?mails?|transactions)\b|(messages?|mails?|transactions?)( count)? limit|max(imum)? (allowed )?(number of )?(messages|mails|transactions)/i;

/** True for replies of a server that takes no further message in this session, and would in another. */
const isFull = ({ error, rejections }: SmtpFailure): boolean =>
  // After a refused MAIL the pipelined RCPTs are refused too, for no reason of their own.
  [error, ...(error.command === 'MAIL FROM' ? [] : rejections)].every(
    ({ responseCode = 0, response = '' }) =>
      responseCode >= 400 && (SESSION_FULL.test(response) || TOO_MANY.test(response)),
  );

/**
 * Whether the server refused only this message, so that the session goes on after RSET. 503 says that it has lost the
 * order of commands.
 */
const sessionIsUsable = (error: SMTPError): boolean =>
  (error.code === 'EENVELOPE' || error.code === 'EMESSAGE') &&
  (error.responseCode ?? 500) >= 400 &&
  error.responseCode !== 421 &&
  error.responseCode !== 503 &&
  !isMalformedReply(error);

/** In: the recipients in envelope order, the reply to the message, and the recipients refused at RCPT. */
const outcomesOfSuccess = (
  to: readonly string[],
  response: string,
  rejections: readonly SMTPError[],
): readonly RecipientOutcome[] => {
  const accepted: RecipientOutcome = {
    result: 'accepted',
    replyCode: Number(response.slice(0, 3)) || 250,
    enhancedCode: enhancedCodeOf(response),
    rule: 'accepted',
    text: response.slice(0, replyCharsMax),
  };
  return withRejections(to, rejections, accepted);
};

/**
 * The outcomes of a message that was not accepted: each recipient refused at RCPT has its own reply, the others share
 * the error that ended the dialogue.
 */
const outcomesOfError = (
  to: readonly string[],
  { error, rejections, sent }: SmtpFailure,
): readonly RecipientOutcome[] =>
  // After a refused MAIL the pipelined RCPTs are refused too, for no reason of their own.
  withRejections(to, error.command === 'MAIL FROM' ? [] : rejections, sharedOutcome(error, sent));

/** The outcome of each recipient if no session could be opened. */
const faultOfSession = (error: SMTPError): RecipientOutcome => sharedOutcome(error, 'nothing');

const withRejections = (
  to: readonly string[],
  rejections: readonly SMTPError[],
  others: RecipientOutcome,
): readonly RecipientOutcome[] => {
  if (rejections.length === 0) return to.map(() => others);
  const byRecipient = new Map<string, SMTPError[]>();
  for (const one of rejections)
    byRecipient.set(one.recipient ?? '', [...(byRecipient.get(one.recipient ?? '') ?? []), one]);
  return to.map((address) => {
    const rejection = byRecipient.get(address)?.shift();
    return rejection === undefined ? others : replyOutcome('rcpt', rejection);
  });
};

const sharedOutcome = (error: SMTPError, sent: SmtpFailure['sent']): RecipientOutcome => {
  // A refused STARTTLS is as good as a certificate that cannot be trusted.
  if (error.code === 'ETLS') return faultOutcome('tls-failed', error.response ?? error.message);
  if (error.responseCode !== undefined) return replyOutcome(stageOf(error), error);
  if (isMalformedReply(error)) return malformedOutcome(error);
  if (error.code === 'EMESSAGE')
    return {
      ...faultOutcome('message-too-large', 'the message is larger than the server announces to take'),
      result: 'refused',
    };
  if (error.code === 'EENVELOPE') return { ...faultOutcome('invalid-envelope', error.message), result: 'refused' };
  switch (sent) {
    case 'nothing':
      return faultOutcome(faultOf(error), error.message);
    case 'its beginning':
      return faultOutcome(
        'no-reply-after-data',
        `the dialogue ended while the message was being sent: ${error.message}`,
      );
    case 'all':
      return faultOutcome(
        'no-reply-after-data',
        `the whole message was sent, and no reply came; the host may have it: ${error.message}`,
      );
  }
};

/**
 * Whether the server sent something that is no SMTP reply (RFC 5321, section 4.2), so that nothing is known of the
 * message.
 */
const isMalformedReply = ({ code, response }: SMTPError): boolean =>
  typeof response === 'string' ? !REPLY.test(response) : code === 'EPROTOCOL';

const malformedOutcome = (error: SMTPError): RecipientOutcome =>
  faultOutcome('protocol-error', error.response ?? error.message);

const replyOutcome = (stage: ReplyStage, error: SMTPError): RecipientOutcome => {
  if (isMalformedReply(error)) return malformedOutcome(error);
  const text = error.response ?? error.message;
  const replyCode = error.responseCode ?? null;
  return {
    ...classifyReply({ stage, replyCode: replyCode ?? 0, text }),
    replyCode,
    text: text.slice(0, replyCharsMax),
  };
};

/** The stage, from nodemailer's code and the command in flight. */
const stageOf = (error: SMTPError): ReplyStage => {
  if (error.code === 'EMESSAGE') return 'message';
  if (error.code !== 'EENVELOPE') return 'session';
  if (error.command === 'MAIL FROM') return 'mail';
  return error.command === 'RCPT TO' ? 'rcpt' : 'data';
};

/** Faults without a reply, by nodemailer's code and the system's below it. */
const faultOf = (error: SMTPError): string => {
  const cause = error.originalCode ?? error.code;
  if (cause === 'ECONNREFUSED') return 'connection-refused';
  if (cause === 'EHOSTUNREACH' || cause === 'ENETUNREACH') return 'host-unreachable';
  if (error.code === 'ESOCKET' && cause !== undefined && CERTIFICATE_FAULT.test(cause)) return 'tls-failed';
  return faultRules[error.code ?? ''] ?? 'send-failed';
};

/** An outcome without a reply: worth another try. */
const faultOutcome = (rule: string, text: string): RecipientOutcome => ({
  result: 'deferred',
  replyCode: null,
  enhancedCode: null,
  rule,
  text: text.slice(0, replyCharsMax),
});

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
