/** Hands messages to an SMTP relay: one call is one dialogue and one outcome for each recipient. */
import { Duplex, Readable } from 'node:stream';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { SMTPError, SMTPConnectionEnvelope, SMTPConnectionSendInfo } from 'nodemailer/lib/smtp-connection';
import type { RecipientOutcome, Delivered, Delivery, Dialogue, Mailer, OutgoingMessage } from '../../domain/ports/mailer.js';
import { classifyReply, enhancedCodeOf, type ReplyStage } from '../../domain/email/bounce-rules.js';
import type { Logger } from '../../domain/ports/logger.js';
import { openSigners, type DkimOptions, type SignersFor } from './dkim.js';
import { openSmtpPool, PoolClosed, type PooledConnection, type SmtpPool, type SmtpTimeouts, parseSmtpUrl } from './smtp-pool.js';

/* A message as it goes over the wire after DATA (RFC 5321, section 4.5.2): dots doubled, every line end CRLF, ended by a dot alone. */

const LF = 0x0a;
const CR = 0x0d;
const DOT = 0x2e;
const END = Buffer.from('.\r\n');
const LINE_END_AND_END = Buffer.from('\r\n.\r\n');

/** In: a message. Out: pieces that give, one after the other, all that is sent until the server answers. */
export const wirePieces = (raw: Buffer): readonly Buffer[] => {
  const body = stuffed(raw);
  return [body, body.length === 0 || body[body.length - 1] === LF ? END : LINE_END_AND_END];
};

/**
 * Nearly every message is as it must be, and goes out as the very same bytes. A bare CR or LF would let a text end the message
 * where a server takes it for a line end, and begin another; the composer writes none, and none leaves here.
 */
const stuffed = (raw: Buffer): Buffer => {
  const dots: number[] = raw[0] === DOT ? [0] : [];
  let lineEnds = 0;
  // Searching is many times faster than looking at each byte.
  for (let at = raw.indexOf(LF); at >= 0; at = raw.indexOf(LF, at + 1)) {
    if (raw[at - 1] !== CR) return stuffed(withCrlf(raw));
    if (raw[at + 1] === DOT) dots.push(at + 1);
    lineEnds += 1;
  }
  // Each of those has a CR of its own: one more stands alone.
  for (let at = raw.indexOf(CR); at >= 0; at = raw.indexOf(CR, at + 1)) lineEnds -= 1;
  if (lineEnds !== 0) return stuffed(withCrlf(raw));
  return dots.length === 0 ? raw : withDots(raw, dots);
};

const withCrlf = (raw: Buffer): Buffer => Buffer.from(raw.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1');

/** One more dot before each of those places. */
const withDots = (raw: Buffer, places: readonly number[]): Buffer => {
  const out = Buffer.allocUnsafe(raw.length + places.length);
  let from = 0;
  let to = 0;
  for (const place of places) {
    to += raw.copy(out, to, from, place);
    out[to++] = DOT;
    from = place;
  }
  raw.copy(out, to, from);
  return out;
};

/*
 * A finished message as nodemailer's connection takes it. Its own data stream looks at every byte in a slow way and passes through
 * three streams; this one lays the bytes that are ready straight onto the connection's socket when the server has asked for them.
 */

class FinishedMessage extends Readable {
  /** The server had asked for the message, and it was sent or begun to be. */
  asked = false;
  readonly #connection: SMTPConnection;
  readonly #raw: Buffer;

  constructor(connection: SMTPConnection, raw: Buffer) {
    super();
    this.#connection = connection;
    this.#raw = raw;
  }

  /** nodemailer calls this after the reply to DATA, with a stream that it has piped to the socket. */
  override pipe<Destination extends NodeJS.WritableStream>(destination: Destination): Destination {
    this.asked = true;
    const socket = this.#connection._socket;
    if (!socket || !(destination instanceof Duplex))
      throw new Error('nodemailer hands over its data in another way than this was made for');
    // Nothing goes through that stream: left on the socket, each message would leave its listeners there.
    destination.unpipe(socket);
    socket.cork();
    for (const piece of wirePieces(this.#raw)) socket.write(piece);
    socket.uncork();
    return destination;
  }
}

/* Turns the end of an SMTP dialogue, as nodemailer reports it, into the outcome of each recipient. */

type SmtpFailure = Readonly<{
  error: SMTPError;
  /** The recipients that RCPT refused before the end, each with its reply. */
  rejections: readonly SMTPError[];
  /** The server had asked for the message, and got at least its beginning. */
  dataSent: boolean;
}>;

/** Replies are kept for the record; a server that tells a story is cut short. */
const replyCharsMax = 1_000;

/** In: the recipients in envelope order, the reply to the message, and the recipients refused at RCPT. */
const outcomesOfSuccess = (to: readonly string[], response: string, rejections: readonly SMTPError[]): readonly RecipientOutcome[] => {
  const accepted: RecipientOutcome = {
    result: 'accepted',
    replyCode: Number(response.slice(0, 3)) || 250,
    enhancedCode: enhancedCodeOf(response),
    rule: 'accepted',
    text: response.slice(0, replyCharsMax),
  };
  return withRejections(to, rejections, accepted);
};

/** A message that did not get through: each recipient refused at RCPT has its own reply, the others share what ended the dialogue. */
const outcomesOfError = (to: readonly string[], { error, rejections, dataSent }: SmtpFailure): readonly RecipientOutcome[] =>
  // After a refused MAIL the pipelined RCPTs are refused too, for no reason of their own.
  withRejections(to, error.command === 'MAIL FROM' ? [] : rejections, sharedOutcome(error, dataSent));

/** Why no session could be opened, as it is told of each recipient. */
const faultOfSession = (error: SMTPError): RecipientOutcome => sharedOutcome(error, false);

const withRejections = (to: readonly string[], rejections: readonly SMTPError[], others: RecipientOutcome): readonly RecipientOutcome[] => {
  if (rejections.length === 0) return to.map(() => others);
  const byRecipient = new Map<string, SMTPError[]>();
  for (const one of rejections) byRecipient.set(one.recipient ?? '', [...(byRecipient.get(one.recipient ?? '') ?? []), one]);
  return to.map((address) => {
    const rejection = byRecipient.get(address)?.shift();
    return rejection === undefined ? others : replyOutcome('rcpt', rejection);
  });
};

const sharedOutcome = (error: SMTPError, dataSent: boolean): RecipientOutcome => {
  if (error.responseCode !== undefined) return replyOutcome(stageOf(error), error);
  if (isMalformedReply(error)) return malformedOutcome(error);
  if (error.code === 'EMESSAGE')
    return { ...faultOutcome('message-too-large', 'the message is larger than the server announces to take'), result: 'refused' };
  if (error.code === 'EENVELOPE') return { ...faultOutcome('invalid-envelope', error.message), result: 'refused' };
  return faultOutcome(dataSent ? 'no-reply-after-data' : faultOf(error), error.message);
};

/** The server said something that is no SMTP reply (RFC 5321, section 4.2), so nothing is known of the message. */
const isMalformedReply = ({ code, response }: SMTPError): boolean =>
  typeof response === 'string' ? !REPLY.test(response) : code === 'EPROTOCOL';

const malformedOutcome = (error: SMTPError): RecipientOutcome => faultOutcome('protocol-error', error.response ?? error.message);

/** A whole reply begins so. */
const REPLY = /^[2-5]\d\d(?:[ \-\r\n]|$)/;

const replyOutcome = (stage: ReplyStage, error: SMTPError): RecipientOutcome => {
  if (isMalformedReply(error)) return malformedOutcome(error);
  const text = error.response ?? error.message;
  const replyCode = error.responseCode ?? null;
  return { ...classifyReply({ stage, replyCode: replyCode ?? 0, text }), replyCode, text: text.slice(0, replyCharsMax) };
};

/** What nodemailer names by its code and the command in flight. */
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

const CERTIFICATE_FAULT = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|UNABLE_TO|SELF_SIGNED|HOSTNAME_)/;
const faultRules: Readonly<Record<string, string>> = {
  EDNS: 'host-not-found',
  ETIMEDOUT: 'timeout',
  ETLS: 'tls-failed',
  EAUTH: 'authentication-failed',
  ESOCKET: 'connection-lost',
  ECONNECTION: 'connection-lost',
};

/** An outcome without a reply: worth another try. */
const faultOutcome = (rule: string, text: string): RecipientOutcome => ({
  result: 'deferred',
  replyCode: null,
  enhancedCode: null,
  rule,
  text: text.slice(0, replyCharsMax),
});

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
