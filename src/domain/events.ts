/** All events of the program by kind of stream, their schemas, and the recorded form of an event. */
import {
  activityEventSchemas,
  type ActivityEvent,
  creditsEventSchemas,
  type CreditsEvent,
  planUseEventSchemas,
  type PlanUseEvent,
} from './billing/events.js';
import {
  assetEventSchemas,
  type AssetEvent,
  templateEventSchemas,
  templateSlugEventSchemas,
  type TemplateEvent,
  type TemplateSlugEvent,
} from './templates/events.js';
import {
  auditEventSchemas,
  auditOriginEventSchemas,
  auditRetentionEventSchemas,
  type AuditEvent,
  type AuditOriginEvent,
  type AuditRetentionEvent,
} from './audit/events.js';
import { batchEventSchemas, type BatchEvent } from './bulk/events.js';
import { apiKeyEventSchemas, type ApiKeyEvent } from './keys/events.js';
import { emailEventSchemas, type EmailEvent } from './email/events.js';
import { erasureEventSchemas, type ErasureEvent } from './privacy/events.js';
import {
  domainClaimsEventSchemas,
  domainKeysEventSchemas,
  senderDomainEventSchemas,
  type DomainClaimsEvent,
  type DomainKeysEvent,
  type SenderDomainEvent,
} from './domains/events.js';
import {
  oauthClientEventSchemas,
  oauthGrantEventSchemas,
  oauthTokensEventSchemas,
  type OAuthClientEvent,
  type OAuthGrantEvent,
  type OAuthTokensEvent,
} from './apps/events.js';
import {
  invitationEventSchemas,
  type InvitationEvent,
  instanceEventSchemas,
  ledgerEventSchemas,
  teamEventSchemas,
  type InstanceEvent,
  type LedgerEvent,
  type TeamEvent,
} from './teams/events.js';
import {
  sessionEventSchemas,
  type SessionEvent,
  tokenKeyEventSchemas,
  type TokenKeyEvent,
  userAddressEventSchemas,
  userEventSchemas,
  type UserAddressEvent,
  type UserEvent,
} from './people/events.js';
import { suppressionEventSchemas, type SuppressionEvent } from './recipients/events.js';
import {
  webhookEventSchemas,
  webhookOutcomeEventSchemas,
  webhookRouteEventSchemas,
  webhookRouterEventSchemas,
  webhookSlotsEventSchemas,
  type WebhookEvent,
  type WebhookOutcomeEvent,
  type WebhookRouteEvent,
  type WebhookRouterEvent,
  type WebhookSlotsEvent,
} from './webhooks/events.js';

/** The events of each kind of stream; a kind is the part of a stream's name before the first hyphen. */
export type StreamKinds = {
  email: EmailEvent;
  batch: BatchEvent;
  template: TemplateEvent;
  attachmentTemplate: TemplateEvent;
  templateSlug: TemplateSlugEvent;
  attachmentTemplateSlug: TemplateSlugEvent;
  asset: AssetEvent;
  apiKey: ApiKeyEvent;
  team: TeamEvent;
  credits: CreditsEvent;
  planUse: PlanUseEvent;
  activity: ActivityEvent;
  senderDomains: SenderDomainEvent;
  domainKeys: DomainKeysEvent;
  domainClaims: DomainClaimsEvent;
  suppression: SuppressionEvent;
  webhook: WebhookEvent;
  webhookRoute: WebhookRouteEvent;
  webhookOutcome: WebhookOutcomeEvent;
  webhookRouter: WebhookRouterEvent;
  webhookSlots: WebhookSlotsEvent;
  erasure: ErasureEvent;
  oauthClient: OAuthClientEvent;
  oauthGrant: OAuthGrantEvent;
  oauthTokens: OAuthTokensEvent;
  invitation: InvitationEvent;
  user: UserEvent;
  userAddress: UserAddressEvent;
  session: SessionEvent;
  tokenKeys: TokenKeyEvent;
  audit: AuditEvent;
  auditOrigins: AuditOriginEvent;
  auditRetention: AuditRetentionEvent;
  instance: InstanceEvent;
  ledger: LedgerEvent;
};
export type StreamKind = keyof StreamKinds;
export type EventOfKind<Kind extends StreamKind> = StreamKinds[Kind];

export type DomainEvent = EventOfKind<StreamKind>;
export type EventType = DomainEvent['type'];

/** A table with an entry for every type of event of these kinds: a new type does not compile until each table says what it means there. */
export type ByEventType<Kind extends StreamKind, Entry> = { readonly [Type in EventOfKind<Kind>['type']]: Entry };

export const eventSchemas = {
  ...emailEventSchemas,
  ...batchEventSchemas,
  ...templateEventSchemas,
  ...templateSlugEventSchemas,
  ...assetEventSchemas,
  ...apiKeyEventSchemas,
  ...teamEventSchemas,
  ...creditsEventSchemas,
  ...planUseEventSchemas,
  ...activityEventSchemas,
  ...senderDomainEventSchemas,
  ...domainKeysEventSchemas,
  ...domainClaimsEventSchemas,
  ...suppressionEventSchemas,
  ...webhookEventSchemas,
  ...webhookRouteEventSchemas,
  ...webhookOutcomeEventSchemas,
  ...webhookRouterEventSchemas,
  ...webhookSlotsEventSchemas,
  ...erasureEventSchemas,
  ...oauthClientEventSchemas,
  ...oauthGrantEventSchemas,
  ...oauthTokensEventSchemas,
  ...invitationEventSchemas,
  ...userEventSchemas,
  ...userAddressEventSchemas,
  ...sessionEventSchemas,
  ...tokenKeyEventSchemas,
  ...auditEventSchemas,
  ...auditOriginEventSchemas,
  ...auditRetentionEventSchemas,
  ...instanceEventSchemas,
  ...ledgerEventSchemas,
} as const;

/** After one of these no personal data of the stream may be left. */
export const erasingEvents: readonly EventType[] = [
  'EmailDeleted',
  'EmailArchived',
  'AssetDeleted',
  'BatchFannedOut',
  'BatchStopped',
  'WebhookDeleted',
  'DomainKeysDestroyed',
  'WebhookOutcomesEnded',
  'WebhookOutcomesRemoved',
  'SuppressedAddressErased',
  'ErasureCompleted',
  'InvitationClosed',
  'UserErased',
  'SessionEnded',
  'TokenKeyRetired',
  'CallOriginsForgotten',
];

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
   * The key of each recipient of an email with several, in their order; it seals what belongs to that recipient alone. Every event of the stream
   * names them. Absent if all is sealed under `keyId`.
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
export type Recorded<Event extends DomainEvent = DomainEvent> = Readonly<{
  event: Event;
  stream: string;
  revision: number;
  position: number;
  hash: string;
  metadata: EventMetadata;
}>;
