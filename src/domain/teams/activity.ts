/** Events of a team that its members see in the list of changes, and the text of each entry. The list holds no personal data except ids. */
import type { Role } from '../access/permissions.js';
import type { EventOfKind, Recorded } from '../events.js';
import { splitStream } from '../core/ids.js';

export const activityTargets = [
  'team',
  'member',
  'invitation',
  'api-key',
  'template',
  'attachment-template',
  'asset',
  'sender-domain',
  'webhook',
  'app',
] as const;
export type ActivityTarget = (typeof activityTargets)[number];

/** What happened to the target, in the past tense. */
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
] as const;
type Action = (typeof activityActions)[number];

/** `id`: of the target. `role`: what a member or an invitation got. */
export type Activity = Readonly<{ kind: `${ActivityTarget}.${Action}`; target: ActivityTarget; id: string; role?: Role }>;

/**
 * A row of the list. `actor`: as in the event. `name`: the current name of the target, `actorName` that of an acting key; null if it is gone,
 * or is a person.
 */
export type ActivityListing = Activity &
  Readonly<{ eventId: string; at: string; actor: string; name: string | null; actorName: string | null }>;

export const activityStreams = [
  'team',
  'apiKey',
  'template',
  'attachmentTemplate',
  'asset',
  'senderDomains',
  'webhook',
  'oauthClient',
] as const;
type Kinds = (typeof activityStreams)[number];
type TeamStreamEvent = EventOfKind<Kinds>;

/** How one event is shown. `id`: absent if the target is the thing that the stream belongs to. */
type Shown = Readonly<{ target: ActivityTarget; action: Action; id?: string; role?: Role }>;
type Show<Event> = ((event: Event) => Shown) | 'silent';

const shown = (target: ActivityTarget, action: Action) => (): Shown => ({ target, action });

const domain =
  (action: Action) =>
  ({ data }: Readonly<{ data: Readonly<{ id: string }> }>): Shown => ({ target: 'sender-domain', action, id: data.id });

const template = (action: Action) => shown('template', action);

/** A new type of event does not compile until it has an entry here. */
const table: { readonly [Type in TeamStreamEvent['type']]: Show<Extract<TeamStreamEvent, { type: Type }>> } = {
  TeamCreated: shown('team', 'created'),
  TeamSettingsChanged: shown('team', 'changed'),
  TeamBillingChanged: shown('team', 'billing-changed'),
  TeamTrackingChanged: shown('team', 'tracking-changed'),
  TeamSuppressionsBegan: 'silent',
  TeamSecurityChanged: shown('team', 'security-changed'),
  TeamDeleted: shown('team', 'deleted'),
  TeamRestored: shown('team', 'restored'),
  TeamRemoved: 'silent',
  TeamErased: 'silent',
  MemberAdded: ({ data: { userId: id, role } }) => ({ target: 'member', action: 'added', id, role }),
  MemberRoleChanged: ({ data: { userId: id, role } }) => ({ target: 'member', action: 'role-changed', id, role }),
  MemberRemoved: ({ data: { userId: id, reason } }) => ({ target: 'member', action: reason === 'removed' ? 'removed' : 'left', id }),
  MemberInvited: ({ data: { invitationId: id, role } }) => ({ target: 'invitation', action: 'made', id, role }),
  InvitationRenewed: ({ data: { invitationId: id, role } }) => ({ target: 'invitation', action: 'renewed', id, role }),
  InvitationWithdrawn: ({ data: { invitationId: id } }) => ({ target: 'invitation', action: 'withdrawn', id }),
  ApiKeyCreated: shown('api-key', 'created'),
  ApiKeyChanged: shown('api-key', 'changed'),
  ApiKeyUsed: 'silent',
  ApiKeyRevoked: shown('api-key', 'revoked'),
  TemplateCreated: template('created'),
  // Drafts are saved while somebody types.
  TemplateDraftSaved: 'silent',
  TemplatePublished: template('published'),
  TemplateSlugChanged: template('changed'),
  TemplateDeleted: template('deleted'),
  TemplateRestored: template('restored'),
  TemplateRemoved: 'silent',
  AssetUploaded: shown('asset', 'uploaded'),
  AssetTrashed: shown('asset', 'deleted'),
  AssetRestored: shown('asset', 'restored'),
  AssetDeleted: 'silent',
  SenderDomainAdded: domain('added'),
  SenderDomainsChecked: 'silent',
  SenderDomainVerified: domain('verified'),
  SenderDomainUnverified: domain('unverified'),
  SenderDomainKeysAdded: domain('keys-rotated'),
  SenderDomainKeysChanged: 'silent',
  SenderDomainKeysRetired: 'silent',
  SenderDomainTrashed: domain('deleted'),
  SenderDomainRestored: domain('restored'),
  SenderDomainDeleted: 'silent',
  WebhookCreated: shown('webhook', 'created'),
  WebhookChanged: shown('webhook', 'changed'),
  WebhookSecretRotated: shown('webhook', 'secret-rotated'),
  WebhookDisabled: shown('webhook', 'disabled'),
  WebhookBackfillAsked: 'silent',
  WebhookTrashed: shown('webhook', 'deleted'),
  WebhookRestored: shown('webhook', 'restored'),
  WebhookDeleted: 'silent',
  OAuthAppRegistered: shown('app', 'created'),
  OAuthAppChanged: shown('app', 'changed'),
  OAuthAppSecretRotated: shown('app', 'secret-rotated'),
  OAuthAppDeleted: shown('app', 'deleted'),
};

/** Whether events of that type are in the list. */
export const isActivity = ({ event }: Readonly<{ event: Readonly<{ type: string }> }>): boolean =>
  ((table as Readonly<Record<string, unknown>>)[event.type] ?? 'silent') !== 'silent';

/** undefined: the event is not in the list. */
export const activityOf = ({ event, stream }: Recorded<TeamStreamEvent>): Activity | undefined => {
  // Each entry takes the event of its own type.
  const show = table[event.type] as Show<TeamStreamEvent>;
  if (show === 'silent') return undefined;
  const of = splitStream(stream);
  const { target: general, action, id = of.id, role } = show(event);
  // Both kinds of templates have the same events.
  const target = general === 'template' && of.kind === 'attachmentTemplate' ? 'attachment-template' : general;
  return { kind: `${target}.${action}`, target, id, ...(role === undefined ? {} : { role }) };
};
