/**
 * The state of a team (settings, billing, members, invitations) and of the instance, folded from their events, and what
 * the first team shows at first.
 */
import { assertDefined, parseInvitationId, parseUserId, type InvitationId, type UserId } from '../core/ids.js';
import type { TeamEvent, InstanceEvent, TeamSettings } from './events.js';
import type { Role } from '../access/permissions.js';
import { plans, type PlanName } from '../billing/plans.js';
import type { Terms } from '../billing/decider.js';
import type { Brand, Company } from '../rendering/scope/constants.js';
import type { Tracking } from '../recipients/tracking.js';
import type { Recipient } from '../mime/address.js';

export type Billing = 'credits' | 'plan' | 'unmetered';

/** `plan`: absent where the team is on none. `emailsPerMonth`: what was agreed in place of the quota of its plan. */
export type Team = Readonly<{
  billing: Billing;
  plan?: PlanName;
  emailsPerMonth?: number;
  /** Since when it is billed as it is; absent where it is billed as it was made. */
  billedSince?: string;
  settings: TeamSettings;
  /** Number of the current settings, beginning with 1. */
  revision: number;
  createdAt: string;
  /** Absent as long as the team has never suppressed an address. */
  hasSuppressions?: true;
  /** The lists that ever had an address suppressed for them alone; absent for none. */
  suppressionLists?: readonly string[];
  /** Absent until the team sets it. */
  tracking?: Tracking;
  /** The members in the order in which they joined; absent until the first member. */
  members?: Members;
  /** The open invitations; absent until the first one. */
  invitations?: Invitations;
  /** Members are admitted only with a second factor. */
  requiresSecondFactor?: true;
  /** Absent as long as the team has none. */
  brand?: Brand;
  /** Absent unless the team is deleted. */
  deletedAt?: string;
  /** Since when it cannot be restored any more. */
  removedAt?: string;
  /** Since when no sealed data of it is left. */
  erasedAt?: string;
}>;

export type Member = Readonly<{ role: Role; since: string }>;

type Members = ReadonlyMap<UserId, Member>;

/** `address`: an HMAC of team and address. `by`: absent where the operator invited. */
export type Invitation = Readonly<{ role: Role; address: string; invitedAt: string; expiresAt: string; by?: UserId }>;

type Invitations = ReadonlyMap<InvitationId, Invitation>;

export type TeamState = Team | undefined;

/** The id of the first team; undefined before the first start is done. */
export type InstanceState = string | undefined;

type PeopleEvent = Extract<
  TeamEvent,
  {
    type:
      | 'MemberAdded'
      | 'MemberRoleChanged'
      | 'MemberRemoved'
      | 'MemberInvited'
      | 'InvitationRenewed'
      | 'InvitationWithdrawn';
  }
>;

export const evolveTeam = (team: TeamState, event: TeamEvent): TeamState => {
  switch (event.type) {
    case 'TeamCreated':
      return { billing: event.data.billing, settings: event.data.settings, revision: 1, createdAt: event.data.at };
    case 'TeamSettingsChanged':
      return team && { ...team, settings: event.data.settings, revision: team.revision + 1 };
    case 'TeamBillingChanged': {
      if (team === undefined) return undefined;
      const { billing, plan, emailsPerMonth } = event.data;
      const { plan: _plan, emailsPerMonth: _quota, ...others } = team;
      const terms = {
        billing,
        ...(plan === null ? {} : { plan }),
        ...(emailsPerMonth === null ? {} : { emailsPerMonth }),
      };
      return { ...others, ...terms, billedSince: event.data.at };
    }
    case 'TeamSuppressionsBegan':
      return team && { ...team, hasSuppressions: true, ...listsWith(team.suppressionLists, event.data.list) };
    case 'TeamTrackingChanged': {
      const { opens, clicks } = event.data;
      return team && { ...team, tracking: { opens, clicks } };
    }
    case 'MemberAdded':
    case 'MemberRoleChanged':
    case 'MemberRemoved':
    case 'MemberInvited':
    case 'InvitationRenewed':
    case 'InvitationWithdrawn':
      return team && evolveMembers(team, event);
    case 'TeamSecurityChanged': {
      if (team === undefined) return undefined;
      const { requiresSecondFactor: _before, ...before } = team;
      const others = { ...before, revision: team.revision + 1 };
      return event.data.requiresSecondFactor ? { ...others, requiresSecondFactor: true } : others;
    }
    case 'TeamBrandChanged': {
      if (team === undefined) return undefined;
      const { brand: _before, ...before } = team;
      const { at: _at, ...brand } = event.data;
      const others = { ...before, revision: team.revision + 1 };
      return Object.keys(brand).length === 0 ? others : { ...others, brand };
    }
    case 'TeamDeleted':
      return team && { ...team, deletedAt: event.data.at };
    case 'TeamRestored': {
      if (team === undefined) return undefined;
      const { deletedAt: _deletedAt, ...others } = team;
      return others;
    }
    case 'TeamRemoved':
      return team && { ...team, removedAt: event.data.at };
    case 'TeamErased':
      return team && { ...team, erasedAt: event.data.at };
  }
};

export const evolveInstance = (state: InstanceState, event: InstanceEvent): InstanceState => {
  switch (event.type) {
    case 'InstanceInitialised':
      return event.data.teamId;
    case 'LossAccepted':
      return state;
  }
};

const evolveMembers = (team: Team, event: PeopleEvent): Team => {
  switch (event.type) {
    case 'MemberAdded': {
      const { at, userId, role, invitationId } = event.data;
      const joined = withMember(team, userId, { role, since: at });
      return invitationId === undefined ? joined : withoutInvitation(joined, invitationId);
    }
    case 'MemberRoleChanged': {
      const { userId, role } = event.data;
      const member = team.members?.get(userIdOf(userId));
      return member === undefined ? team : withMember(team, userId, { ...member, role });
    }
    case 'MemberRemoved': {
      const left = new Map(team.members);
      left.delete(userIdOf(event.data.userId));
      return { ...team, members: left };
    }
    case 'MemberInvited': {
      const { at, invitationId, by, role, address, expiresAt } = event.data;
      const invitation: Invitation = {
        role,
        address,
        invitedAt: at,
        expiresAt,
        ...(by === undefined ? {} : { by: userIdOf(by) }),
      };
      return withInvitation(team, invitationId, invitation);
    }
    case 'InvitationRenewed': {
      const { invitationId, role, expiresAt } = event.data;
      const known = team.invitations?.get(invitationIdOf(invitationId));
      return known === undefined ? team : withInvitation(team, invitationId, { ...known, role, expiresAt });
    }
    case 'InvitationWithdrawn':
      return withoutInvitation(team, event.data.invitationId);
  }
};

const userIdOf = (text: string): UserId => assertDefined(parseUserId(text), 'user id');

const withMember = (team: Team, userId: string, member: Member): Team => ({
  ...team,
  members: new Map(team.members).set(userIdOf(userId), member),
});

const invitationIdOf = (text: string): InvitationId => assertDefined(parseInvitationId(text), 'invitation id');

const withInvitation = (team: Team, id: string, invitation: Invitation): Team => ({
  ...team,
  invitations: new Map(team.invitations).set(invitationIdOf(id), invitation),
});

const withoutInvitation = (team: Team, id: string): Team => {
  if (team.invitations === undefined) return team;
  const left = new Map(team.invitations);
  left.delete(invitationIdOf(id));
  return { ...team, invitations: left };
};

const listsWith = (lists: readonly string[] | undefined, list: string | undefined): Pick<Team, 'suppressionLists'> =>
  list === undefined || lists?.includes(list) === true ? {} : { suppressionLists: [...(lists ?? []), list] };

/** How the emails of the team are paid for; undefined if they are not metered. */
export const termsOf = ({
  billing,
  plan,
  emailsPerMonth,
}: Pick<Team, 'billing' | 'plan' | 'emailsPerMonth'>): Terms | undefined => {
  if (billing === 'unmetered') return undefined;
  const given = plan === undefined ? undefined : plans[plan];
  return {
    isByCredits: billing === 'credits',
    quota: emailsPerMonth ?? given?.emailsPerMonth ?? null,
    overage: given?.overage ?? { isAllowed: false, microsPerEmail: null },
  };
};

export const emptyCompany: Company = {
  name: '',
  legalName: '',
  email: '',
  phone: '',
  website: '',
  addressLine1: '',
  city: '',
  state: '',
  postalCode: '',
  country: '',
};

/** The company of the team with its brand, as mails and documents show it. */
export const companyOf = (team: Pick<Team, 'settings' | 'brand'> | undefined): Company & Brand => ({
  ...(team?.settings.company ?? emptyCompany),
  ...team?.brand,
});

/**
 * The sender and the company that the first team shows until its operator sets others. They are nobody's, so no relay
 * may get them.
 */
const SAMPLE_DOMAIN = 'sealpost.example';

export const sampleSender: Recipient = { email: `hello@${SAMPLE_DOMAIN}`, name: 'Sealpost' };

export const sampleCompany: Company = {
  name: 'Sealpost',
  legalName: 'Sealpost Example Ltd',
  email: sampleSender.email,
  phone: '+44 20 7946 0000',
  website: `https://${SAMPLE_DOMAIN}`,
  addressLine1: '1 Example Street',
  city: 'London',
  state: '',
  postalCode: 'EC1A 1AA',
  country: 'United Kingdom',
};

/** In: an address in its normal form. */
export const isSampleSender = (address: string): boolean =>
  address.endsWith(`@${SAMPLE_DOMAIN}`) || address.endsWith(`.${SAMPLE_DOMAIN}`);

/** Whether nothing of the sample company was changed. */
export const isSampleCompany = (company: Company): boolean =>
  (Object.keys(sampleCompany) as (keyof Company)[]).every((field) => company[field] === sampleCompany[field]);
