/** The words in which a scripted SMTP server is told what to do, and in which it tells what it received. */

/** The moment at which the script is asked: a new connection, a command, or `message`, the dot that ends the data. */
export type SmtpStep =
  'connect' | 'ehlo' | 'helo' | 'starttls' | 'auth' | 'mail' | 'rcpt' | 'data' | 'message' | 'rset' | 'noop' | 'quit';

export type SmtpMoment = Readonly<{
  step: SmtpStep;
  /** The text after the verb, e.g. `FROM:<a@example.com> SIZE=12`; for `rcpt` and `mail` see `address`. */
  argument: string;
  /** The bare address of MAIL and RCPT, else ''. */
  address: string;
  /** Counts from 1. */
  connection: number;
  /** Messages begun (MAIL) on all connections so far, this one included. */
  message: number;
}>;

export type SmtpAction =
  | Readonly<{ kind: 'reply'; text: string; thenClose: boolean }>
  | Readonly<{ kind: 'hang' }>
  | Readonly<{ kind: 'reset' }>
  | Readonly<{ kind: 'close' }>
  | Readonly<{ kind: 'late'; ms: number }>
  | Readonly<{ kind: 'held'; until: Promise<void> }>;

/** A reply in place of the usual one, e.g. `550 5.1.1 no such user`. */
export const reply = (text: string): SmtpAction => ({ kind: 'reply', text, thenClose: false });
export const replyThenClose = (text: string): SmtpAction => ({ kind: 'reply', text, thenClose: true });
/** Sends no further answer on this connection. */
export const hang: SmtpAction = { kind: 'hang' };
/** TCP RST. At `message`: after the whole message has come, before the reply. */
export const reset: SmtpAction = { kind: 'reset' };
/** TCP FIN without a reply. */
export const close: SmtpAction = { kind: 'close' };
/** The usual reply, late. */
export const late = (ms: number): SmtpAction => ({ kind: 'late', ms });

/** The usual reply, once that has resolved. */
export const held = (until: Promise<void>): SmtpAction => ({ kind: 'held', until });

/** Undefined: behave. */
export type SmtpScript = (moment: SmtpMoment) => SmtpAction | undefined;

/**
 * The script that does one thing at one step, always or for the n-th message (connection for steps before MAIL) only.
 */
export const at =
  (step: SmtpStep, action: SmtpAction, nth?: number): SmtpScript =>
  (moment) =>
    moment.step === step && (nth === undefined || nth === (moment.message || moment.connection)) ? action : undefined;

export type ReceivedMail = Readonly<{
  envelope: Readonly<{ from: string; to: readonly string[] }>;
  /** From the message's header, without angle brackets; '' where it has none. */
  messageId: string;
  raw: Buffer;
  /** The reply to the message, or undefined where none was given. */
  reply: string | undefined;
  accepted: boolean;
  connection: number;
}>;

export type SmtpScriptOptions = Readonly<{
  script?: SmtpScript;
  /** The extensions that EHLO announces. */
  extensions?: readonly string[];
  /** Presents that certificate (self-signed, for localhost); STARTTLS is announced. */
  certificate?: 'valid' | 'expired';
  /** TLS from the first byte instead of STARTTLS. */
  secure?: boolean;
  /** The one user who may log in; AUTH PLAIN and LOGIN are announced, and MAIL is refused without it. */
  user?: Readonly<{ name: string; password: string }>;
  /** The methods of login that are announced for that user in place of PLAIN and LOGIN. */
  login?: string;
  /** Do not keep the bytes of messages: for long runs. */
  discardRaw?: boolean;
  /** Default: any that is free. */
  port?: number;
}>;
