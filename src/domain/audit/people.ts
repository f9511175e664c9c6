/** What events of people, teams, keys and apps are to an auditor. */
import type { ApiKeyEvent } from '../keys/events.js';
import type { InvitationEvent } from '../teams/invitation-events.js';
import type { OAuthClientEvent, OAuthGrantEvent, OAuthTokensEvent } from '../apps/events.js';
import type { SessionEvent } from '../people/session-events.js';
import type { TeamEvent } from '../teams/events.js';
import type { TokenKeyEvent } from '../people/token-key-events.js';
import type { UserAddressEvent, UserEvent } from '../people/events.js';
import { not, type AuditTable, type AuditTarget } from './line.js';

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

export const auditedPeople: AuditTable<Exclude<PeopleEvent['type'], 'StreamRetired'>> = {
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
