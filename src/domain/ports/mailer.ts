/** One message in, one outcome out. */
import type { Priority } from './bus.js';

/** The envelope sender that a relay wants: the sender of the mail, or one address for all mails. */
export type ReturnPath = 'sender' | Readonly<{ address: string }>;

/** A private key in PEM form, and where its public key stands in the DNS. */
export type SigningKey = Readonly<{ domain: string; selector: string; privateKey: string }>;

export type OutgoingMessage = Readonly<{
  /**
   * RFC 5321 envelope: bare addresses. `reportsAs`: where the host offers delivery reports (RFC 3461), it is asked to
   * tell under this name that the mail was delivered or could not be.
   */
  envelope: Readonly<{ from: string; to: readonly string[]; reportsAs?: string }>;
  messageId: string;
  /** The whole message, RFC 5322, CRLF line ends; sent byte for byte (a DKIM-Signature may be put before it). */
  raw: Buffer;
  /** It holds bytes outside ASCII, which the host is told where it takes them (RFC 6152). */
  is8Bit?: true;
  /**
   * One signature by each, in place of that of the settings. Equal keys come as the identical array, so that they are
   * prepared once.
   */
  signWith?: readonly SigningKey[];
}>;

/**
 * accepted: the host took the message for this recipient; deferred: worth another try (4xx, no connection, timeout);
 * bounced: the reply blames the recipient for good; refused: it blames the message for good; blocked: it blames the
 * sender (its address, host, rate, reputation or login) for good.
 */
export type RecipientResult = 'accepted' | 'deferred' | 'bounced' | 'refused' | 'blocked';

export type RecipientOutcome = Readonly<{
  result: RecipientResult;
  /** SMTP reply code (RFC 5321, section 4.2), null where there was no reply. */
  replyCode: number | null;
  /** Enhanced status code (RFC 3463), e.g. `5.1.1`, null where the reply has none. */
  enhancedCode: string | null;
  /** The name of the rule that decided, e.g. `mailbox-unknown`, `connection-refused`, `timeout`. */
  rule: string;
  /** The reply or the fault in words; may hold addresses, so it is sealed with the event. */
  text: string;
}>;

/**
 * `recipients` has one outcome for each address of `envelope.to`, in that order. `hostAway`: no session could be opened
 * (the host was not reached, hung up, or refused security or login), so this says nothing of the message. `content`: how
 * much of the content the host got where it gave no answer for it. `none` also stands where the host refused the
 * message for now before it got any and before it blamed a recipient; then another relay may be tried. Absent: the host
 * has answered.
 */
export type DeliveryOutcome = Readonly<{
  host: string;
  durationMs: number;
  recipients: readonly RecipientOutcome[];
  hostAway?: true;
  content?: 'none' | 'some';
}>;

/**
 * Holds the dialogue of one message; called at most once for a connection. It ends with `deferred` (`aborted`) if the
 * signal aborts, or if `mayGoOn`, asked right before the content, answers false. If all content is sent when the signal
 * aborts, the reply is waited for, for some seconds at most and until `cut` aborts; without `cut` it is not. Never
 * rejects for what the other side does; every such end is an outcome.
 */
export type SendMessage = (
  message: OutgoingMessage,
  signal: AbortSignal,
  mayGoOn?: () => boolean,
  cut?: AbortSignal,
) => Promise<DeliveryOutcome>;

export type ConnectionWanted = Readonly<{
  /** While many wait for a connection each priority is given its share of those that become free. */
  priority: Priority;
  /** Ends the waiting for a connection; a dialogue that has begun goes on. */
  signal: AbortSignal;
}>;

/**
 * `used`: the connection was lent, with what its use resolved with. `host-away`: no session could be opened, and
 * `fault` says why. `given-up`: the signal aborted, or the mailer was closed, before a connection was ready.
 */
export type Lent<Result> =
  | Readonly<{ kind: 'used'; result: Result }>
  | Readonly<{ kind: 'host-away'; fault: RecipientOutcome }>
  | Readonly<{ kind: 'given-up' }>;

export type Mailer = Readonly<{
  /** True where the transport is the final host, so that accepted means delivered. */
  final: boolean;
  /** The host named in the record of an attempt. */
  host: string;
  /**
   * Lends a connection for one message: `use` is called once a connection is ready, and nothing is said on it until
   * `use` sends. Until `use` has settled no other dialogue begins on that connection, so a caller that records the
   * outcome in `use` knows it recorded before the next message. Where `use` sends nothing, the connection serves
   * others. Rejects with what `use` rejects with.
   */
  lend: <Result>(wanted: ConnectionWanted, use: (send: SendMessage) => Promise<Result>) => Promise<Lent<Result>>;
  /** Opens a session and ends it without a message. Out: whether the host took it; never rejects. */
  probe: (options: Readonly<{ signal: AbortSignal }>) => Promise<boolean>;
  /** Lets dialogues under way end, then closes the connections. */
  close: () => Promise<void>;
}>;
