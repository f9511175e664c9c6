/** One message in, one outcome out. */
import type { Priority } from './bus.js';

/** A private key in PEM form, and where its public key stands in the DNS. */
export type SigningKey = Readonly<{ domain: string; selector: string; privateKey: string }>;

export type OutgoingMessage = Readonly<{
  /**
   * RFC 5321 envelope: bare addresses. `reportsAs`: where the host offers delivery reports (RFC 3461), it is asked to tell under this name
   * that the mail was delivered or could not be.
   */
  envelope: Readonly<{ from: string; to: readonly string[]; reportsAs?: string }>;
  messageId: string;
  /** The whole message, RFC 5322, CRLF line ends; sent byte for byte (a DKIM-Signature may be put before it). */
  raw: Buffer;
  /** One signature by each, in place of that of the settings. Equal keys come as the identical array, so that they are prepared once. */
  signWith?: readonly SigningKey[];
}>;

/**
 * accepted: the host took the message for this recipient; deferred: worth another try (4xx, no connection, timeout);
 * bounced: the reply blames the recipient for good; refused: it blames the message for good; blocked: it blames the sender (its address,
 * host, rate, reputation or login) for good.
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
 * `recipients` has one outcome for each address of `envelope.to`, in that order. `hostAway`: no session could be opened (the host was not
 * reached, hung up, or refused security or login), so this says nothing of the message.
 */
export type DeliveryOutcome = Readonly<{ host: string; durationMs: number; recipients: readonly RecipientOutcome[]; hostAway?: true }>;

/** Message of a dialogue, and the signal that ends it with `deferred` (`aborted`). */
export type Dialogue = Readonly<{ message: OutgoingMessage; signal: AbortSignal }>;

export type Delivery = Readonly<{
  /** While many wait for a connection each priority is given its share of those that become free. */
  priority: Priority;
  /** Ends the waiting for a connection; a dialogue that has begun goes on. */
  signal: AbortSignal;
  /**
   * Called once, when a connection is ready and before any command of the message is sent; the mailer has no message before. If this
   * resolves with undefined, or rejects, no dialogue takes place, and the connection serves others.
   */
  begin: () => Promise<Dialogue | undefined>;
  /** Called once when the dialogue has ended. Until this has settled no other dialogue begins on that connection. */
  end: (outcome: DeliveryOutcome) => Promise<void>;
}>;

/**
 * `ended`: `end` was called, and has resolved. `not-wanted`: `begin` gave no message. `host-away`: no session could be opened, `fault` says
 * why, and `begin` was not called. `given-up`: the signal aborted, or the mailer was closed, before `begin` was called.
 */
export type Delivered =
  | Readonly<{ kind: 'ended' }>
  | Readonly<{ kind: 'not-wanted' }>
  | Readonly<{ kind: 'host-away'; fault: RecipientOutcome }>
  | Readonly<{ kind: 'given-up' }>;

export type Mailer = Readonly<{
  /** True where the transport is the final host, so that accepted means delivered. */
  final: boolean;
  /** The host named in the record of an attempt. */
  host: string;
  /** Never rejects for what the other side does; every such end is an outcome. Rejects with what `begin` or `end` reject with. */
  send: (delivery: Delivery) => Promise<Delivered>;
  /** Opens a session and ends it without a message. Out: whether the host took it; never rejects. */
  probe: (options: Readonly<{ signal: AbortSignal }>) => Promise<boolean>;
  /** Lets dialogues under way end, then closes the connections. */
  close: () => Promise<void>;
}>;
