/** What of the events of a team its members are told: a short list of what was changed, by whom. Nothing personal stands in it but ids. */
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

/** As past tense. */
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
type Told = EventOfKind<Kinds>;

/** What one event tells. `id`: absent where the target is what the stream is of. */
type Telling = Readonly<{ target: ActivityTarget; action: Action; id?: string; role?: Role }>;
type Tell<Event> = ((event: Event) => Telling) | 'silent';

const tells = (target: ActivityTarget, action: Action) => (): Telling => ({ target, action });

const domain =
  (action: Action) =>
  ({ data }: Readonly<{ data: Readonly<{ id: string }> }>): Telling => ({ target: 'sender-domain', action, id: data.id });

const template = (action: Action) => tells('template', action);

/** A new type does not compile until it is said what members are told of it. */
const table: { readonly [Type in Told['type']]: Tell<Extract<Told, { type: Type }>> } = {
  TeamCreated: tells('team', 'created'),
  TeamSettingsChanged: tells('team', 'changed'),
  TeamBillingChanged: tells('team', 'billing-changed'),
  TeamTrackingChanged: tells('team', 'tracking-changed'),
  TeamSuppressionsBegan: 'silent',
  TeamSecurityChanged: tells('team', 'security-changed'),
  TeamDeleted: tells('team', 'deleted'),
  TeamRestored: tells('team', 'restored'),
  TeamRemoved: 'silent',
  TeamErased: 'silent',
  MemberAdded: ({ data: { userId: id, role } }) => ({ target: 'member', action: 'added', id, role }),
  MemberRoleChanged: ({ data: { userId: id, role } }) => ({ target: 'member', action: 'role-changed', id, role }),
  MemberRemoved: ({ data: { userId: id, reason } }) => ({ target: 'member', action: reason === 'removed' ? 'removed' : 'left', id }),
  MemberInvited: ({ data: { invitationId: id, role } }) => ({ target: 'invitation', action: 'made', id, role }),
  InvitationRenewed: ({ data: { invitationId: id, role } }) => ({ target: 'invitation', action: 'renewed', id, role }),
  InvitationWithdrawn: ({ data: { invitationId: id } }) => ({ target: 'invitation', action: 'withdrawn', id }),
  ApiKeyCreated: tells('api-key', 'created'),
  ApiKeyChanged: tells('api-key', 'changed'),
  ApiKeyUsed: 'silent',
  ApiKeyRevoked: tells('api-key', 'revoked'),
  TemplateCreated: template('created'),
  // Drafts are saved while somebody types.
  TemplateDraftSaved: 'silent',
  TemplatePublished: template('published'),
  TemplateSlugChanged: template('changed'),
  TemplateDeleted: template('deleted'),
  TemplateRestored: template('restored'),
  TemplateRemoved: 'silent',
  AssetUploaded: tells('asset', 'uploaded'),
  AssetTrashed: tells('asset', 'deleted'),
  AssetRestored: tells('asset', 'restored'),
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
  WebhookCreated: tells('webhook', 'created'),
  WebhookChanged: tells('webhook', 'changed'),
  WebhookSecretRotated: tells('webhook', 'secret-rotated'),
  WebhookDisabled: tells('webhook', 'disabled'),
  WebhookBackfillAsked: 'silent',
  WebhookTrashed: tells('webhook', 'deleted'),
  WebhookRestored: tells('webhook', 'restored'),
  WebhookDeleted: 'silent',
  OAuthAppRegistered: tells('app', 'created'),
  OAuthAppChanged: tells('app', 'changed'),
  OAuthAppSecretRotated: tells('app', 'secret-rotated'),
  OAuthAppDeleted: tells('app', 'deleted'),
  StreamRetired: 'silent',
};

/** Whether members are told anything of events of that type. */
export const isTold = ({ event }: Readonly<{ event: Readonly<{ type: string }> }>): boolean =>
  ((table as Readonly<Record<string, unknown>>)[event.type] ?? 'silent') !== 'silent';

/** undefined: members are told nothing of it. */
export const activityOf = ({ event, stream }: Recorded<Told>): Activity | undefined => {
  // Each entry takes the event of its own type.
  const tell = table[event.type] as Tell<Told>;
  if (tell === 'silent') return undefined;
  const of = splitStream(stream);
  const { target: told, action, id = of.id, role } = tell(event);
  // Both kinds of templates have the same events.
  const target = told === 'template' && of.kind === 'attachmentTemplate' ? 'attachment-template' : told;
  return { kind: `${target}.${action}`, target, id, ...(role === undefined ? {} : { role }) };
};

/** As it is listed. `actor`: as events have it. `name`, `actorName`: of the target and of a key as they are called now; null where they are gone, or are people. */
export type ActivityListing = Activity &
  Readonly<{ eventId: string; at: string; actor: string; name: string | null; actorName: string | null }>;
