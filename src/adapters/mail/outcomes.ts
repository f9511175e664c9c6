/** Turns the end of an SMTP dialogue, as nodemailer reports it, into the outcome of each recipient. */
import type { SMTPError } from 'nodemailer/lib/smtp-connection';
import type { RecipientOutcome } from '../../domain/ports/mailer.js';
import { classifyReply, enhancedCodeOf, type ReplyStage } from '../../domain/email/reply-rules.js';

export type SmtpFailure = Readonly<{
  error: SMTPError;
  /** The recipients that RCPT refused before the end, each with its reply. */
  rejections: readonly SMTPError[];
  /** The server had asked for the message, and got at least its beginning. */
  dataSent: boolean;
}>;

/** Replies are kept for the record; a server that tells a story is cut short. */
const replyCharsMax = 1_000;

/** In: the recipients in envelope order, the reply to the message, and the recipients refused at RCPT. */
export const outcomesOfSuccess = (
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

/** A message that did not get through: each recipient refused at RCPT has its own reply, the others share what ended the dialogue. */
export const outcomesOfError = (to: readonly string[], { error, rejections, dataSent }: SmtpFailure): readonly RecipientOutcome[] =>
  // After a refused MAIL the pipelined RCPTs are refused too, for no reason of their own.
  withRejections(to, error.command === 'MAIL FROM' ? [] : rejections, sharedOutcome(error, dataSent));

/** Why no session could be opened, as it is told of each recipient. */
export const faultOfSession = (error: SMTPError): RecipientOutcome => sharedOutcome(error, false);

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
export const isMalformedReply = ({ code, response }: SMTPError): boolean =>
  typeof response === 'string' ? !REPLY.test(response) : code === 'EPROTOCOL';

const malformedOutcome = (error: SMTPError): RecipientOutcome => faultOutcome('protocol-error', error.response ?? error.message);

/** A whole reply begins so. */
export const REPLY = /^[2-5]\d\d(?:[ \-\r\n]|$)/;

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
export const faultOutcome = (rule: string, text: string): RecipientOutcome => ({
  result: 'deferred',
  replyCode: null,
  enhancedCode: null,
  rule,
  text: text.slice(0, replyCharsMax),
});
