/**
 * Events that a mail provider posts about mails that it took from this service: deliveries, bounces, complaints and
 * unsubscribing.
 */
import type { EmailId } from '../core/ids.js';
import type { ReportedRecipient } from './report-reader.js';

export const feedbackProviders = ['ses', 'postmark', 'sendgrid', 'mailgun', 'brevo', 'mailjet'] as const;
export type FeedbackProvider = (typeof feedbackProviders)[number];

export const isFeedbackProvider = (name: string): name is FeedbackProvider =>
  (feedbackProviders as readonly string[]).includes(name);

/** The settings by which calls of each provider are authenticated. A provider without them is refused. */
export type ProviderSettings = Readonly<{
  /** ARNs of the SNS topics whose messages are taken. */
  ses?: Readonly<{ topics: readonly string[] }>;
  postmark?: Readonly<{ token: string }>;
  /** The verification key: Base64 of a P-256 public key (SubjectPublicKeyInfo, RFC 5280). */
  sendgrid?: Readonly<{ verificationKey: string }>;
  mailgun?: Readonly<{ signingKey: string }>;
  brevo?: Readonly<{ token: string }>;
  mailjet?: Readonly<{ token: string }>;
}>;

/** A request as it came: names of headers in lower case, and the bytes of the body. */
export type ProviderCall = Readonly<{
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  body: Uint8Array;
}>;

/**
 * The news of an event. `nothing`: it is known, and changes nothing here, such as an open. `unknown`: a kind, or a form,
 * that this service does not know.
 */
export type ProviderNews =
  | Readonly<{ kind: 'report'; report: Omit<ReportedRecipient, 'addresses'> }>
  | Readonly<{ kind: 'complaint'; feedbackType: string }>
  /** `ofList`: from one list of the provider, not from all mail. */
  | Readonly<{ kind: 'unsubscribe'; ofList: boolean }>
  | Readonly<{ kind: 'nothing' }>
  | Readonly<{ kind: 'unknown' }>;

/** One event about one recipient. */
export type ProviderEvent = Readonly<{
  /** Every copy of the event has it, and no other event of the provider. */
  id: string;
  /** The email, as the provider repeats it from a header of the mail; undefined if it repeats none of ours. */
  emailId: EmailId | undefined;
  /** The envelope sender, which may be a return path; undefined if the event does not tell it. */
  sender?: string;
  /** The recipient; undefined if the event does not tell which. */
  address: string | undefined;
  /** When it happened, ISO 8601; undefined if the event does not tell it in a form that is known. */
  happenedAt: string | undefined;
  news: ProviderNews;
  /** The event as JSON, cut off after `EVENT_CHARS_KEPT_MAX`; empty if its news is `nothing`. */
  payload: string;
}>;

/**
 * The content of a call. `refused`: its credential, signature or time is wrong. `malformed`: it is authentic and cannot be
 * read. `later`: it cannot be checked at the moment. `confirmed`: it asked whether this address wants events, and was
 * answered.
 */
export type ProviderReading =
  | Readonly<{ kind: 'events'; events: readonly ProviderEvent[] }>
  | Readonly<{ kind: 'confirmed' }>
  | Readonly<{ kind: 'refused'; reason: ProviderRefusal; message: string }>
  | Readonly<{ kind: 'malformed'; message: string }>
  | Readonly<{ kind: 'later'; message: string }>;

export type ProviderRefusal = 'credential' | 'signature' | 'time' | 'replayed' | 'topic' | 'certificate';

/** Characters of an event that are kept if it is not understood. */
export const EVENT_CHARS_KEPT_MAX = 4_096;

/** Most events of one call. SendGrid posts a batch of at most 768 KB; an event has more than 300 bytes. */
export const PROVIDER_EVENTS_MAX = 2_500;

/** Name of the header, or the member of a header with JSON, in which mails carry their id for a provider. */
export const ECHO_NAME = 'sealpost';
export const ECHO_HEADER = 'X-Sealpost-Id';

export type ProviderFeedback = Readonly<{
  /** The providers that are set up. */
  providers: readonly FeedbackProvider[];
  /**
   * Whether a call may be authentic, by its headers alone; undefined if it may. Throws nothing. A refusal saves reading
   * the body.
   */
  refusalOf: (
    provider: FeedbackProvider,
    headers: ProviderCall['headers'],
  ) => Extract<ProviderReading, { kind: 'refused' }> | undefined;
  /** Authenticates and reads a call of a provider that is set up. Never rejects for what is in it. */
  read: (provider: FeedbackProvider, call: ProviderCall, signal: AbortSignal) => Promise<ProviderReading>;
}>;
