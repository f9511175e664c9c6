/** The events of a team, of an invitation, of the instance, and of the ledger that seals the log. */
import { Type, type Static } from '@sinclair/typebox';
import { oneOf, nullable } from '../core/schema.js';
import { text, StoredRecipient, StoredTracking } from '../core/stored-schemas.js';
import { type AuditTarget, event, type EventDefinitions, type EventsOf } from '../core/event.js';

/** Data of an invitation that the stream of a team must not hold: its address and its token. */
export const invitationEvents = {
  InvitationMade: {
    data: Type.Object({ at: text, tokenHash: text, expiresAt: text }),
    sealed: Type.Object({ email: text }),
  },
  /** The earlier token ends. */
  InvitationTokenMade: { data: Type.Object({ at: text, tokenHash: text, expiresAt: text }) },
  InvitationClosed: { data: Type.Object({ at: text, reason: oneOf(['accepted', 'revoked', 'lapsed']) }), erases: true },
} as const satisfies EventDefinitions;

export type InvitationEvent = EventsOf<typeof invitationEvents>;

/** Values of the company constants in templates; empty if not set. */
const Company = Type.Object({
  name: text,
  legalName: text,
  email: text,
  phone: text,
  website: text,
  addressLine1: text,
  city: text,
  state: text,
  postalCode: text,
  country: text,
});

const Settings = Type.Object({
  name: text,
  /** The sender where neither the call nor the template names one. */
  defaultFrom: StoredRecipient,
  company: Company,
});
export type TeamSettings = Static<typeof Settings>;

const storedRole = oneOf(['owner', 'admin', 'member', 'viewer']);

const user = (id: string): AuditTarget => ({ type: 'user', id });
const invitation = (id: string): AuditTarget => ({ type: 'invitation', id });

export const teamEvents = {
  TeamCreated: {
    data: Type.Object({
      at: text,
      billing: oneOf(['credits', 'plan', 'unmetered']),
      settings: Settings,
    }),
    audit: { category: 'team', action: 'team.created' },
    activity: 'team.created',
  },
  TeamSettingsChanged: {
    data: Type.Object({ at: text, settings: Settings }),
    audit: { category: 'settings', action: 'team.settings_changed' },
    activity: 'team.changed',
  },
  /** `plan`: null where the team is on none. `emailsPerMonth`: what was agreed in place of the quota of its plan. */
  TeamBillingChanged: event({
    data: Type.Object({
      at: text,
      billing: oneOf(['credits', 'plan', 'unmetered']),
      plan: nullable(oneOf(['free', 'starter', 'pro', 'enterprise'])),
      emailsPerMonth: nullable(Type.Integer()),
    }),
    audit: { category: 'settings', action: 'team.billing_changed', detail: ({ billing, plan }) => plan ?? billing },
    activity: 'team.billing-changed',
  }),
  /** Default for opens and clicks if neither the call nor the template sets it. */
  TeamTrackingChanged: {
    data: Type.Object({ at: text, ...StoredTracking.properties }),
    audit: { category: 'settings', action: 'team.tracking_changed' },
    activity: 'team.tracking-changed',
  },
  /**
   * The team suppresses its first address, or the first of that list. Without such an event its sends need not check
   * suppressions.
   */
  TeamSuppressionsBegan: { data: Type.Object({ at: text, list: Type.Optional(text) }) },
  /** `invitationId`: absent where the person made the team, or the operator added them. */
  MemberAdded: event({
    data: Type.Object({ at: text, userId: text, role: storedRole, invitationId: Type.Optional(text) }),
    audit: {
      category: 'team',
      action: 'member.added',
      target: ({ userId }) => user(userId),
      detail: ({ role }) => role,
    },
    activity: { kind: 'member.added', id: ({ userId }) => userId, role: ({ role }) => role },
  }),
  MemberRoleChanged: event({
    data: Type.Object({ at: text, userId: text, role: storedRole }),
    audit: {
      category: 'team',
      action: 'member.role_changed',
      target: ({ userId }) => user(userId),
      detail: ({ role }) => role,
    },
    activity: { kind: 'member.role-changed', id: ({ userId }) => userId, role: ({ role }) => role },
  }),
  /** `left`: the member left. `erased`: the user was erased. */
  MemberRemoved: event({
    data: Type.Object({ at: text, userId: text, reason: oneOf(['removed', 'left', 'erased']) }),
    audit: {
      category: 'team',
      action: 'member.removed',
      target: ({ userId }) => user(userId),
      detail: ({ reason }) => reason,
    },
    activity: {
      kind: ({ reason }) => (reason === 'removed' ? 'member.removed' : 'member.left'),
      id: ({ userId }) => userId,
    },
  }),
  /**
   * `address`: an HMAC of team and address, which is sealed in the stream of the invitation. `by`: absent where the
   * operator invites.
   */
  MemberInvited: event({
    data: Type.Object({
      at: text,
      invitationId: text,
      role: storedRole,
      address: text,
      expiresAt: text,
      by: Type.Optional(text),
    }),
    audit: {
      category: 'team',
      action: 'member.invited',
      target: ({ invitationId }) => invitation(invitationId),
      detail: ({ role }) => role,
    },
    activity: { kind: 'invitation.made', id: ({ invitationId }) => invitationId, role: ({ role }) => role },
  }),
  InvitationRenewed: event({
    data: Type.Object({ at: text, invitationId: text, role: storedRole, expiresAt: text }),
    audit: {
      category: 'team',
      action: 'invitation.renewed',
      target: ({ invitationId }) => invitation(invitationId),
      detail: ({ role }) => role,
    },
    activity: { kind: 'invitation.renewed', id: ({ invitationId }) => invitationId, role: ({ role }) => role },
  }),
  InvitationWithdrawn: event({
    data: Type.Object({ at: text, invitationId: text, reason: oneOf(['revoked', 'lapsed']) }),
    audit: {
      category: 'team',
      action: 'invitation.withdrawn',
      target: ({ invitationId }) => invitation(invitationId),
      detail: ({ reason }) => reason,
    },
    activity: { kind: 'invitation.withdrawn', id: ({ invitationId }) => invitationId },
  }),
  /** Whether people are let in without a second factor. */
  TeamSecurityChanged: event({
    data: Type.Object({ at: text, requiresSecondFactor: Type.Boolean() }),
    audit: {
      category: 'settings',
      action: 'team.security_changed',
      detail: ({ requiresSecondFactor }) =>
        requiresSecondFactor ? 'second factor required' : 'second factor not required',
    },
    activity: 'team.security-changed',
  }),
  /** The whole brand from then on; without any part the team has none. `logo`: the id of an asset. */
  TeamBrandChanged: {
    data: Type.Object({
      at: text,
      logo: Type.Optional(text),
      accent: Type.Optional(text),
      background: Type.Optional(text),
      text: Type.Optional(text),
    }),
    audit: { category: 'settings', action: 'team.brand_changed' },
    activity: 'team.brand-changed',
  },
  TeamDeleted: {
    data: Type.Object({ at: text }),
    audit: { category: 'team', action: 'team.deleted' },
    activity: 'team.deleted',
  },
  TeamRestored: {
    data: Type.Object({ at: text }),
    audit: { category: 'team', action: 'team.restored' },
    activity: 'team.restored',
  },
  /** The team can no longer be restored. From now on its sealed data is destroyed. */
  TeamRemoved: { data: Type.Object({ at: text }) },
  /** No sealed data of the team is left. */
  TeamErased: { data: Type.Object({ at: text }) },
} as const satisfies EventDefinitions;

export const instanceEvents = {
  /** The first start is done; it is never done again. */
  InstanceInitialised: { data: Type.Object({ at: text, teamId: text }) },
  /**
   * An operator accepted the loss of a part of a store. `log`: the events after position `after` up to `upTo` that
   * other stores knew are given up; keys and files: those that the log names up to `upTo` are given up. `lost` counts
   * events, streams or files.
   */
  LossAccepted: {
    data: Type.Object({
      at: text,
      store: oneOf(['log', 'keys', 'files'] as const),
      after: Type.Integer(),
      upTo: Type.Integer(),
      lost: Type.Integer(),
    }),
  },
} as const satisfies EventDefinitions;

export const ledgerEvents = {
  /**
   * Hourly while the instance runs. `awayMs`: in the first event after a start, the time since the event before, by the
   * clock.
   */
  InstanceSeen: { data: Type.Object({ at: text, awayMs: Type.Union([Type.Integer(), Type.Null()]) }) },
  /**
   * `root` covers every event after the previous seal up to and including `position`, and all seals before. `key`: the
   * id of the seal key, `mac`: its answer to what the seal says. Both are absent if it was made without such a key.
   */
  LedgerSealed: {
    data: Type.Object({
      at: text,
      position: Type.Integer(),
      count: Type.Integer(),
      root: text,
      key: Type.Optional(text),
      mac: Type.Optional(text),
    }),
  },
} as const satisfies EventDefinitions;

export type TeamEvent = EventsOf<typeof teamEvents>;
export type InstanceEvent = EventsOf<typeof instanceEvents>;
export type LedgerEvent = EventsOf<typeof ledgerEvents>;

/** The events of each kind of stream. */
export const teamStreams = {
  team: teamEvents,
  invitation: invitationEvents,
  instance: instanceEvents,
  ledger: ledgerEvents,
} as const;
