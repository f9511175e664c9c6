/**
 * What each type of event is to an auditor: a line of the audit log, or the reason why it is not listed. A new type does not compile until it
 * has an entry here.
 */
import type { DomainEvent, EventType } from '../events.js';
import type { ApiKeyEvent } from '../keys/events.js';
import type { InvitationEvent, TeamEvent, InstanceEvent, LedgerEvent } from '../teams/events.js';
import type { OAuthClientEvent, OAuthGrantEvent, OAuthTokensEvent } from '../apps/events.js';
import type { SessionEvent, TokenKeyEvent, UserAddressEvent, UserEvent } from '../people/events.js';
import type { ActivityEvent, CreditsEvent, PlanUseEvent } from '../billing/events.js';
import type { BatchEvent } from '../bulk/events.js';
import type { EmailEvent } from '../email/events.js';
import type { TemplateEvent, TemplateSlugEvent } from '../templates/events.js';
import type { WebhookEvent, WebhookOutcomeEvent, WebhookRouteEvent, WebhookRouterEvent, WebhookSlotsEvent } from '../webhooks/events.js';

export const auditCategories = ['authentication', 'api_keys', 'team', 'data_access', 'oauth', 'settings'] as const;
export type AuditCategory = (typeof auditCategories)[number];

/** The thing that something was done to. */
export type AuditTarget = Readonly<{ type: string; id: string }>;

type EventOf<Name extends EventType> = Extract<DomainEvent, { type: Name }>;
type DataOf<Name extends EventType> = EventOf<Name>['data'];

/**
 * `target`: from the data and the id of the stream; default: the thing of the stream. `detail`: further facts as one text. `ofCallers`: listed only
 * if somebody called; what the service does by itself is not listed.
 */
export type AuditLine<Name extends EventType> = Readonly<{
  category: AuditCategory | ((data: DataOf<Name>) => AuditCategory);
  action: string | ((data: DataOf<Name>) => string);
  target?: (data: DataOf<Name>, streamId: string) => AuditTarget | null;
  detail?: (data: DataOf<Name>) => string | null;
  /** The code of a refusal; without one the call succeeded. */
  code?: (data: DataOf<Name>) => string | null;
  /** How often it was done; default: once. */
  count?: (data: DataOf<Name>) => number;
  ofCallers?: true;
}>;

/** Why events of a type are not listed. */
type NotAudited = Readonly<{ not: string }>;

type AuditTable<Names extends EventType> = { readonly [Name in Names]: AuditLine<Name> | NotAudited };

const not = (reason: string): NotAudited => ({ not: reason });

type PeopleEvent =
  | UserEvent
  | UserAddressEvent
  | SessionEvent
  | TokenKeyEvent
  | TeamEvent
  | InvitationEvent
  | ApiKeyEvent
  | OAuthClientEvent
  | OAuthGrantEvent
  | OAuthTokensEvent;

const user = ({ userId }: Readonly<{ userId: string }>): AuditTarget => ({ type: 'user', id: userId });
const invitation = ({ invitationId }: Readonly<{ invitationId: string }>): AuditTarget => ({ type: 'invitation', id: invitationId });
const reason = (data: Readonly<{ reason: string }>): string => data.reason;
const role = (data: Readonly<{ role: string }>): string => data.role;

const auditedPeople: AuditTable<PeopleEvent['type']> = {
  UserRegistered: { category: 'authentication', action: 'user.registered' },
  UserLinkMade: { category: 'authentication', action: ({ use }) => (use === 'reset' ? 'password.reset_asked' : 'address.link_sent') },
  UserAddressVerified: { category: 'authentication', action: 'address.verified' },
  UserAddressChangeAsked: { category: 'authentication', action: 'address.change_asked' },
  UserAddressChanged: { category: 'authentication', action: 'address.changed' },
  UserProfileChanged: { category: 'settings', action: 'profile.changed' },
  UserPasswordChanged: { category: 'authentication', action: 'password.changed', detail: reason },
  UserSessionsEnded: { category: 'authentication', action: 'sessions.ended' },
  SecondFactorPrepared: { category: 'authentication', action: 'second_factor.prepared' },
  SecondFactorConfirmed: { category: 'authentication', action: 'second_factor.enabled' },
  SecondFactorUsed: not('the sign-in that it belongs to is listed'),
  UserSignInPlaceSeen: not('the sign-in that it belongs to is listed'),
  RecoveryCodesRenewed: { category: 'authentication', action: 'recovery_codes.renewed' },
  RecoveryCodeUsed: { category: 'authentication', action: 'recovery_code.used' },
  SecondFactorRemoved: { category: 'authentication', action: 'second_factor.disabled' },
  UserErased: { category: 'authentication', action: 'user.erased' },
  UserAddressClaimed: not('the registration or the change of address that it belongs to is listed'),
  UserAddressReleased: not('the change of address or the erasure that it belongs to is listed'),

  SessionStarted: { category: 'authentication', action: 'session.started', detail: (data) => (data.secondFactor ? 'second factor' : null) },
  SessionRefreshed: not('the same session goes on'),
  SessionSecondFactorGiven: { category: 'authentication', action: 'session.second_factor_given' },
  SessionEnded: { category: 'authentication', action: 'session.ended', detail: reason },
  TokenKeyMade: not('the service makes it by itself, and it belongs to nobody'),
  TokenKeyRetired: not('the service makes it by itself, and it belongs to nobody'),

  TeamCreated: { category: 'team', action: 'team.created' },
  TeamSettingsChanged: { category: 'settings', action: 'team.settings_changed' },
  TeamBillingChanged: { category: 'settings', action: 'team.billing_changed', detail: ({ billing, plan }) => plan ?? billing },
  TeamTrackingChanged: { category: 'settings', action: 'team.tracking_changed' },
  TeamSuppressionsBegan: not('the suppression that it belongs to is listed'),
  MemberAdded: { category: 'team', action: 'member.added', target: user, detail: role },
  MemberRoleChanged: { category: 'team', action: 'member.role_changed', target: user, detail: role },
  MemberRemoved: { category: 'team', action: 'member.removed', target: user, detail: reason },
  MemberInvited: { category: 'team', action: 'member.invited', target: invitation, detail: role },
  InvitationRenewed: { category: 'team', action: 'invitation.renewed', target: invitation, detail: role },
  InvitationWithdrawn: { category: 'team', action: 'invitation.withdrawn', target: invitation, detail: reason },
  TeamSecurityChanged: {
    category: 'settings',
    action: 'team.security_changed',
    detail: (data) => (data.requiresSecondFactor ? 'second factor required' : 'second factor not required'),
  },
  TeamDeleted: { category: 'team', action: 'team.deleted' },
  TeamRestored: { category: 'team', action: 'team.restored' },
  TeamRemoved: not('it follows the deletion, which is listed, and nobody is left to read it'),
  TeamErased: not('it follows the deletion, which is listed, and nobody is left to read it'),
  InvitationMade: not('the team says whom it invited'),
  InvitationTokenMade: not('the team says that the invitation was renewed'),
  InvitationClosed: not('the team says what became of the invitation'),

  ApiKeyCreated: { category: 'api_keys', action: 'api_key.created', detail: ({ permissions }) => permissions.join(' ') },
  ApiKeyChanged: { category: 'api_keys', action: 'api_key.changed' },
  ApiKeyUsed: not('what keys read and what they are refused is counted by the minute'),
  ApiKeyRevoked: { category: 'api_keys', action: 'api_key.revoked' },

  OAuthAppRegistered: { category: 'oauth', action: 'app.registered', detail: ({ scopes }) => scopes.join(' ') },
  OAuthAppChanged: { category: 'oauth', action: 'app.changed', detail: ({ scopes }) => scopes.join(' ') },
  OAuthAppSecretRotated: { category: 'oauth', action: 'app.secret_rotated' },
  OAuthAppDeleted: { category: 'oauth', action: 'app.deleted' },
  OAuthGrantGiven: { category: 'oauth', action: 'grant.given', detail: ({ clientId, scopes }) => [clientId, ...scopes].join(' ') },
  OAuthCodeIssued: not('the grant that it belongs to is listed'),
  OAuthCodeUsed: not('the grant that it belongs to is listed'),
  OAuthTokensIssued: not('the grant goes on'),
  OAuthAccessTokenRevoked: { category: 'oauth', action: 'access_token.revoked' },
  OAuthGrantEnded: { category: 'oauth', action: 'grant.ended', detail: reason },
  OAuthTokensCounted: not('it counts the tokens of grants, which are listed'),
};

type WorkEvent =
  | EmailEvent
  | BatchEvent
  | TemplateEvent
  | TemplateSlugEvent
  | CreditsEvent
  | PlanUseEvent
  | ActivityEvent
  | WebhookEvent
  | WebhookRouteEvent
  | WebhookOutcomeEvent
  | WebhookRouterEvent
  | WebhookSlotsEvent
  | InstanceEvent
  | LedgerEvent;

/** The timeline of an email says who sent, cancelled or deleted it. That a person read it is recorded at the call (ContentRead). */
const mail = not('the timeline of the email tells it');
const sending = not('the bulk send tells it');
const account = not('the account of credits tells it');
const delivery = not('it is work of the service on deliveries of webhooks');

const auditedWork: AuditTable<WorkEvent['type']> = {
  EmailQueued: mail,
  EmailScheduled: mail,
  EmailRescheduled: mail,
  EmailReleased: mail,
  DeliveryAttempted: mail,
  CopyAnswered: mail,
  EmailSent: mail,
  EmailDeferred: mail,
  EmailBounced: mail,
  EmailFailed: mail,
  EmailDelivered: mail,
  EmailBounceReported: mail,
  EmailComplained: mail,
  EmailRetried: mail,
  EmailCancelled: mail,
  RecipientsSuppressed: mail,
  EmailBouncesNoted: mail,
  RecipientsErased: mail,
  EmailOpened: mail,
  EmailClicked: mail,
  EmailDeleted: mail,
  EmailArchived: mail,
  EmailRemoved: mail,

  BatchQueued: sending,
  BatchScheduled: sending,
  BatchStarted: sending,
  BatchAdvanced: sending,
  BatchRecipientsErased: sending,
  BatchFannedOut: sending,
  BatchCancelled: sending,
  BatchStopped: sending,
  BatchCompleted: sending,
  BatchRemoved: sending,

  TemplateCreated: { category: 'settings', action: 'template.created' },
  TemplateDraftSaved: not('drafts are saved again and again; that one is published is listed'),
  TemplatePublished: { category: 'settings', action: 'template.published', detail: ({ version }) => `version ${version}` },
  TemplateSlugChanged: { category: 'settings', action: 'template.slug_changed' },
  TemplateDeleted: { category: 'settings', action: 'template.deleted' },
  TemplateRestored: { category: 'settings', action: 'template.restored' },
  TemplateRemoved: not('it follows the deletion, which is listed'),
  TemplateSlugClaimed: not('the template that it belongs to is listed'),
  TemplateSlugReleased: not('the template that it belongs to is listed'),

  CreditsGranted: account,
  CreditsBought: account,
  CreditsReserved: account,
  CreditsReturned: account,
  CreditsReset: account,
  QuotaMonthBegan: account,
  UnmeteredUseCounted: account,
  QuotaThresholdReached: account,
  ReservationsSettled: account,
  CreditsCarried: account,
  PlacesTaken: not('it counts what the plan limits, and the things themselves are listed'),
  AccountUsed: not('it says that something was done, and not what'),
  AccountDisabled: { category: 'api_keys', action: 'api_keys.disabled', target: () => null },
  AccountSettled: account,
  AccountReactivated: { category: 'api_keys', action: 'api_keys.enabled', target: () => null },
  AccountUncounted: account,

  WebhookCreated: { category: 'settings', action: 'webhook.created' },
  WebhookChanged: { category: 'settings', action: 'webhook.changed' },
  WebhookSecretRotated: { category: 'settings', action: 'webhook.secret_rotated' },
  WebhookDisabled: { category: 'settings', action: 'webhook.disabled', detail: ({ reason }) => reason },
  WebhookBackfillAsked: delivery,
  WebhookTrashed: { category: 'settings', action: 'webhook.deleted' },
  WebhookRestored: { category: 'settings', action: 'webhook.restored' },
  WebhookDeleted: { category: 'settings', action: 'webhook.removed', ofCallers: true },
  WebhookRouted: delivery,
  WebhookAttempted: delivery,
  WebhookRetryAsked: delivery,
  WebhookReplayAsked: delivery,
  WebhookOutcomesClosed: delivery,
  WebhookOutcomesEnded: delivery,
  WebhookOutcomesRemoved: delivery,
  WebhookRoutesReached: delivery,
  WebhookSlotsChanged: delivery,

  InstanceInitialised: not('it belongs to no team'),
  LossAccepted: not('it belongs to no team; `sealpost verify` tells it'),
  InstanceSeen: not('it belongs to no team'),
  LedgerSealed: not('it is what exports are checked against'),
};

const domain = ({ id }: Readonly<{ id: string }>): AuditTarget => ({ type: 'domain', id });

/** In: `email:…`. */
const targetOf = (text: string | null): AuditTarget | null => {
  const at = text?.indexOf(':') ?? -1;
  return text === null || at < 0 ? null : { type: text.slice(0, at), id: text.slice(at + 1) };
};

/** Refusals of people who sign in, or whose session is refused. */
const OF_SIGNING_IN: ReadonlySet<string> = new Set([
  'INVALID_CREDENTIALS',
  'INVALID_CODE',
  'ADDRESS_NOT_VERIFIED',
  'SESSION_ENDED',
  'SECOND_FACTOR_REQUIRED',
]);

const categoryOfRefusal = (code: string | null): AuditCategory =>
  code !== null && OF_SIGNING_IN.has(code) ? 'authentication' : 'data_access';

export const auditTable: AuditTable<EventType> = {
  ...auditedPeople,
  ...auditedWork,

  AssetUploaded: { category: 'settings', action: 'asset.uploaded' },
  AssetTrashed: { category: 'settings', action: 'asset.deleted' },
  AssetRestored: { category: 'settings', action: 'asset.restored' },
  AssetDeleted: { category: 'settings', action: 'asset.removed', ofCallers: true },

  SenderDomainAdded: { category: 'settings', action: 'domain.added', target: domain },
  SenderDomainsChecked: not('the service looks records up by itself'),
  SenderDomainVerified: { category: 'settings', action: 'domain.verified', target: domain },
  SenderDomainUnverified: { category: 'settings', action: 'domain.unverified', target: domain },
  SenderDomainKeysAdded: { category: 'settings', action: 'domain.keys_rotated', target: domain, ofCallers: true },
  SenderDomainKeysChanged: not('it follows the rotation, which is listed'),
  SenderDomainKeysRetired: not('it follows the rotation, which is listed'),
  SenderDomainDeleted: { category: 'settings', action: 'domain.removed', target: domain, ofCallers: true },
  SenderDomainTrashed: { category: 'settings', action: 'domain.deleted', target: domain },
  SenderDomainRestored: { category: 'settings', action: 'domain.restored', target: domain },
  DomainKeysMade: not('the domain that it belongs to is listed'),
  DomainKeysDestroyed: not('the domain that it belongs to is listed'),
  DomainClaimed: not('the verification of the domain is listed'),

  AddressSuppressed: { category: 'settings', action: 'suppression.added', ofCallers: true },
  SuppressionRemoved: { category: 'settings', action: 'suppression.removed', ofCallers: true },
  AddressRefused: not('the email that was refused is listed'),
  SuppressedAddressErased: not('the erasure that it belongs to is listed'),
  ErasureRequested: { category: 'data_access', action: 'recipient.erasure_asked' },
  ErasureFound: not('it is work on the erasure, which is listed'),
  ErasureWaits: not('it is work on the erasure, which is listed'),
  ErasureCompleted: { category: 'data_access', action: 'recipient.erased' },
  ContentRead: { category: 'data_access', action: ({ action }) => action, target: ({ target }) => targetOf(target) },
  CallDenied: {
    category: ({ code }) => categoryOfRefusal(code),
    action: 'call.denied',
    target: ({ target }) => targetOf(target),
    detail: ({ endpoint }) => endpoint,
    code: ({ code }) => code,
  },
  CallsCounted: {
    category: ({ code }) => categoryOfRefusal(code),
    action: ({ what, action }) => (what === 'denied' ? 'calls.denied' : action),
    target: () => null,
    detail: ({ what, action }) => (what === 'denied' ? action : null),
    code: ({ code }) => code,
    count: ({ count }) => count,
  },
  AuditLogExported: { category: 'data_access', action: 'audit_log.exported', target: () => null, detail: ({ root }) => root },
  CallOriginSeen: not('it says from where a call came that is listed'),
  CallOriginsForgotten: not('the service forgets by itself what is over'),
  AuditEntriesForgotten: not('the service forgets by itself what is over'),
};
