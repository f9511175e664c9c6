/** The events of a team, of an invitation, of the instance, and of the ledger that seals the log. */
import { Type, type Static } from '@sinclair/typebox';
import { oneOf, nullable } from '../core/schema.js';
import { text, type EventsOf, StoredRecipient, StoredTracking } from '../core/stored.js';

/** What the stream of a team must not hold of an invitation: its address and its token. */
export const invitationEventSchemas = {
  InvitationMade: {
    data: Type.Object({ at: text, tokenHash: text, expiresAt: text }),
    sealed: Type.Object({ email: text }),
  },
  /** The earlier token ends. */
  InvitationTokenMade: { data: Type.Object({ at: text, tokenHash: text, expiresAt: text }) },
  InvitationClosed: { data: Type.Object({ at: text, reason: oneOf(['accepted', 'revoked', 'lapsed']) }) },
} as const;

export type InvitationEvent = EventsOf<typeof invitationEventSchemas>;

/** What the company constants of templates say; empty where not set. */
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

export const teamEventSchemas = {
  TeamCreated: {
    data: Type.Object({
      at: text,
      billing: oneOf(['credits', 'plan', 'unmetered']),
      settings: Settings,
    }),
  },
  TeamSettingsChanged: { data: Type.Object({ at: text, settings: Settings }) },
  /** `plan`: null where the team is on none. `emailsPerMonth`: what was agreed in place of the quota of its plan. */
  TeamBillingChanged: {
    data: Type.Object({
      at: text,
      billing: oneOf(['credits', 'plan', 'unmetered']),
      plan: nullable(oneOf(['free', 'starter', 'pro', 'enterprise'])),
      emailsPerMonth: nullable(Type.Integer()),
    }),
  },
  /** Default for opens and clicks if neither the call nor the template sets it. */
  TeamTrackingChanged: { data: Type.Object({ at: text, ...StoredTracking.properties }) },
  /** The team suppresses its first address, or the first of that list. Without such an event its sends need not check suppressions. */
  TeamSuppressionsBegan: { data: Type.Object({ at: text, list: Type.Optional(text) }) },
  /** `invitationId`: absent where the person made the team, or the operator added them. */
  MemberAdded: { data: Type.Object({ at: text, userId: text, role: storedRole, invitationId: Type.Optional(text) }) },
  MemberRoleChanged: { data: Type.Object({ at: text, userId: text, role: storedRole }) },
  /** `left`: the member left. `erased`: the user was erased. */
  MemberRemoved: { data: Type.Object({ at: text, userId: text, reason: oneOf(['removed', 'left', 'erased']) }) },
  /** `address`: an HMAC of team and address, which is sealed in the stream of the invitation. `by`: absent where the operator invites. */
  MemberInvited: {
    data: Type.Object({ at: text, invitationId: text, role: storedRole, address: text, expiresAt: text, by: Type.Optional(text) }),
  },
  InvitationRenewed: { data: Type.Object({ at: text, invitationId: text, role: storedRole, expiresAt: text }) },
  InvitationWithdrawn: { data: Type.Object({ at: text, invitationId: text, reason: oneOf(['revoked', 'lapsed']) }) },
  /** Whether people are let in without a second factor. */
  TeamSecurityChanged: { data: Type.Object({ at: text, requiresSecondFactor: Type.Boolean() }) },
  TeamDeleted: { data: Type.Object({ at: text }) },
  TeamRestored: { data: Type.Object({ at: text }) },
  /** The team can no longer be restored. From now on its sealed data is destroyed. */
  TeamRemoved: { data: Type.Object({ at: text }) },
  /** No sealed data of the team is left. */
  TeamErased: { data: Type.Object({ at: text }) },
} as const;

export const instanceEventSchemas = {
  /** The first start is done; it is never done again. */
  InstanceInitialised: { data: Type.Object({ at: text, teamId: text }) },
  /**
   * An operator accepted the loss of a part of a store. `log`: the events after position `after` up to `upTo` that other stores knew are
   * given up; keys and files: those that the log names up to `upTo` are given up. `lost` counts events, streams or files.
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
} as const;

export const ledgerEventSchemas = {
  /** Hourly while the instance runs. `awayMs`: in the first event after a start, the time since the event before, by the clock. */
  InstanceSeen: { data: Type.Object({ at: text, awayMs: Type.Union([Type.Integer(), Type.Null()]) }) },
  /**
   * `root` covers every event after the previous seal up to and including `position`, and all seals before. `key`: the id of the seal key,
   * `mac`: its answer to what the seal says. Both are absent if it was made without such a key.
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
} as const;

export type TeamEvent = EventsOf<typeof teamEventSchemas>;
export type InstanceEvent = EventsOf<typeof instanceEventSchemas>;
export type LedgerEvent = EventsOf<typeof ledgerEventSchemas>;
