/**
 * How an event is defined and recorded. A definition says all that is true of a type of event: how it is stored and
 * sealed, and what the audit log, webhooks and the list of a team's changes make of it. An event has no effect on
 * anything that its definition does not name.
 */
import type { Static, TObject } from '@sinclair/typebox';

/** The kinds of event that a subscription may ask for. */
export const webhookKinds = [
  'email.sent',
  'email.delivered',
  'email.bounced',
  'email.complained',
  'email.opened',
  'email.clicked',
  'email.queued',
  'email.scheduled',
  'email.deferred',
  'email.failed',
  'email.suppressed',
  'email.cancelled',
  'email.unsubscribed',
  'batch.completed',
  'batch.cancelled',
  'domain.alerted',
] as const;
export type WebhookKind = (typeof webhookKinds)[number];

/** `recipient`: the place of the recipient in the email, if the notice is about one. */
export type Notice = Readonly<{ kind: WebhookKind; recipient?: number }>;

export const auditCategories = ['authentication', 'api_keys', 'team', 'data_access', 'oauth', 'settings'] as const;
export type AuditCategory = (typeof auditCategories)[number];

/** The thing that something was done to. */
export type AuditTarget = Readonly<{ type: string; id: string }>;

/**
 * A line of the audit log. `target`: from the data and the id of the stream; default: the thing of the stream.
 * `detail`: further facts as one text. `ofCallers`: listed only if somebody called; what the service does by itself is
 * not listed.
 */
export type AuditLine<Data> = Readonly<{
  category: AuditCategory | ((data: Data) => AuditCategory);
  action: string | ((data: Data) => string);
  target?: (data: Data, streamId: string) => AuditTarget | null;
  detail?: (data: Data) => string | null;
  /** The code of a refusal; without one the call succeeded. */
  code?: (data: Data) => string | null;
  /** How often it was done; default: once. */
  count?: (data: Data) => number;
  ofCallers?: true;
}>;

/** The kinds of things in the activity of a team. */
export const activityTargets = [
  'team',
  'member',
  'invitation',
  'api-key',
  'template',
  'attachment-template',
  'block',
  'asset',
  'sender-domain',
  'webhook',
  'app',
] as const;
export type ActivityTarget = (typeof activityTargets)[number];

/** The actions in the activity of a team, in the past tense. */
export const activityActions = [
  'created',
  'changed',
  'published',
  'deleted',
  'restored',
  'added',
  'role-changed',
  'removed',
  'left',
  'made',
  'renewed',
  'withdrawn',
  'revoked',
  'uploaded',
  'verified',
  'unverified',
  'keys-rotated',
  'secret-rotated',
  'disabled',
  'billing-changed',
  'tracking-changed',
  'security-changed',
  'brand-changed',
] as const;
export type ActivityKind = `${ActivityTarget}.${(typeof activityActions)[number]}`;

/**
 * A line in the list of what was changed in a team. `id`: of the target; absent if that is the thing of the stream.
 * `role`: what the target got.
 */
export type ActivityLine<Data> = Readonly<{
  kind: ActivityKind | ((data: Data) => ActivityKind);
  id?: (data: Data) => string;
  role?: (data: Data) => string;
}>;

/**
 * `field`: the list in the sealed part with one element for each recipient; absent: the whole part belongs to one
 * recipient.
 */
export type RecipientParts<Data> = Readonly<{
  field?: string;
  /** The recipient of each element, by the place in the email. */
  placesOf: (data: Data) => readonly number[];
}>;

/** The properties of an event type beside its schemas. */
type Facts<Data> = Readonly<{
  /** The number in the stored name; absent: 1. */
  version?: number;
  /**
   * The fields of the sealed part that lists and searches need. They are stored first and sealed apart, so that the
   * rest need not be read.
   */
  envelope?: TObject;
  /**
   * The parts that are encrypted with the key of a recipient, if the email has several. All other parts are encrypted
   * with the key of the stream.
   */
  perRecipient?: RecipientParts<Data>;
  /** After this event nothing sealed of the stream may be left. */
  erases?: true;
  audit?: AuditLine<Data>;
  /** A kind: one notice, about the whole thing. */
  webhooks?: WebhookKind | ((data: Data) => readonly Notice[]);
  activity?: ActivityKind | ActivityLine<Data>;
}>;

/** All that is true of a type of event. A reader of its functions gives them the data of an event of that type. */
export type EventDefinition = Readonly<{ data: TObject; sealed?: TObject | undefined }> & Facts<never>;

export type EventDefinitions = Readonly<Record<string, EventDefinition>>;

/** A definition whose functions take the data of its schema. Other definitions are written as they are. */
export const event = <Data extends TObject, Sealed extends TObject | undefined = undefined>(
  definition: Readonly<{ data: Data; sealed?: Sealed }> & Facts<Static<Data>>,
): Readonly<{ data: Data; sealed?: Sealed }> & Facts<Static<Data>> => definition;

/**
 * The union of the events of these definitions. `sealed` is the part that can be read while the key of the stream
 * exists.
 */
export type EventsOf<Definitions extends EventDefinitions> = {
  [Name in keyof Definitions]: Readonly<{ type: Name; data: Static<Definitions[Name]['data']> }> &
    SealedOf<Definitions[Name]>;
}[keyof Definitions];

type SealedOf<Definition> = Definition extends { sealed?: infer Sealed }
  ? [Sealed] extends [TObject]
    ? Readonly<{ /** undefined once the key is destroyed */ sealed: Static<Sealed> | undefined }>
    : unknown
  : unknown;

/** An event of any type, for those who treat all types in the same way. */
export type AnyEvent = Readonly<{ type: string; data: object; sealed?: object | undefined }>;

/** Cause of an event: its actor, time and request. Times are ISO 8601 in UTC. */
export type EventMetadata = Readonly<{
  eventId: string;
  teamId: string;
  occurredAt: string;
  actor: string;
  /** The request id of the call that started the chain of causes. */
  correlationId: string;
  /** The event or request that led to this one directly. */
  causationId: string;
  /** The fence of the lease under which the event was appended, if any. */
  fence?: number;
  /** The key that seals the personal data of the stream; every event of a stream with a key names it. */
  keyId?: string;
  /**
   * The key of each recipient of an email with several, in their order; it seals what belongs to that recipient alone.
   * Every event of the stream names them. Absent if all is sealed under `keyId`.
   */
  recipientKeys?: readonly string[];
  /** SHA-256 of the file that holds `data`, if it is too large for the event. */
  dataFile?: string;
  /** SHA-256 of the file that holds the sealed part as ciphertext, if it is too large. */
  sealedFile?: string;
  /** The reference to the origin of the call; only for events that the audit log lists. */
  origin?: string;
}>;

/** An event as it was recorded: what happened, where it stands, who caused it. */
export type RecordedEvent<Event extends AnyEvent = AnyEvent> = Readonly<{
  event: Event;
  stream: string;
  revision: number;
  position: number;
  hash: string;
  metadata: EventMetadata;
}>;
