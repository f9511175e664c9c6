/**
 * Decisions about a team: its members, its invitations, its settings and its end. All are made on the stream of the
 * team, so that it never loses its last owner, and an invitation is not both accepted and revoked.
 */
import { isAllowed, permissionsOfRole, roles, type Role, type AccessPermission } from '../access/permissions.js';
import { planLimitExceeded, planLimitOf, plans, type PlanName } from '../billing/plans.js';
import type { Decider } from '../core/decider.js';
import { DomainError, type FieldError } from '../core/errors.js';
import type { UserId, InvitationId } from '../core/ids.js';
import type { TeamEvent, TeamSettings } from './events.js';
import {
  isSampleCompany,
  emptyCompany,
  evolveTeam,
  type Member,
  type Team,
  type TeamState,
  type Billing,
  type Invitation,
} from './state.js';
import type { Company } from '../rendering/scope/constants.js';
import type { Recipient } from '../mime/address.js';
import { brandAfter, isEqualBrand, type BrandChanges } from './brand.js';
import { NO_TRACKING, type Tracking } from '../recipients/tracking.js';
import { invitationNotFound } from './invitation.js';

/** The actor of a change: a member, with the role they have at that moment, or the operator. */
export type By = UserId | 'operator';

export type MemberCommand =
  | Readonly<{ type: 'AddMember'; at: string; by: By; userId: UserId; role: Role; membersMax: number }>
  | Readonly<{ type: 'ChangeRole'; at: string; by: By; userId: UserId; role: Role }>
  | Readonly<{ type: 'RemoveMember'; at: string; by: By; userId: UserId }>
  | Readonly<{ type: 'LeaveTeam'; at: string; userId: UserId; reason: 'left' | 'erased' }>
  /** The former owner stays in the team as an admin. */
  | Readonly<{ type: 'TransferOwnership'; at: string; by: UserId; to: UserId }>;

export type TeamChanges = Readonly<{
  name?: string;
  defaultFrom?: Recipient;
  company?: Partial<Company>;
  brand?: BrandChanges;
}>;

/** `plan` and `emailsPerMonth`: null removes the value, absent leaves it. */
export type BillingChanges = Readonly<{ billing?: Billing; plan?: PlanName | null; emailsPerMonth?: number | null }>;

export type TeamCommand =
  | Readonly<{ type: 'FoundTeam'; at: string; owner: UserId; billing: Billing; settings: TeamSettings }>
  | Readonly<{ type: 'ChangeTeam'; at: string; by: By; changes: TeamChanges; requiresSecondFactor?: boolean }>
  | Readonly<{ type: 'DeleteTeam'; at: string; by: By; firstTeam: boolean }>
  /** A team that was deleted before `deletedSince` cannot be restored. */
  | Readonly<{ type: 'RestoreTeam'; at: string; by: By; deletedSince: string }>
  | Readonly<{ type: 'RemoveTeam'; at: string; deletedSince: string }>
  | Readonly<{ type: 'NoteErased'; at: string }>
  /** The first user becomes the owner of a team that never had a member. */
  | Readonly<{ type: 'TakeOver'; at: string; userId: UserId }>
  | Readonly<{ type: 'ChangeBilling'; at: string; changes: BillingChanges }>
  | Readonly<{ type: 'ChangeTracking'; at: string; tracking: Tracking }>
  /** Before the first suppression of an address, or of an address of that list. */
  | Readonly<{ type: 'BeginSuppressions'; at: string; list: string | undefined }>;

type InvitationBounds = Readonly<{ membersMax: number; invitationsMax: number }>;

export type InvitingCommand =
  /** `member`: the user who has the address, if there is one. An open invitation to the same address is replaced. */
  | Readonly<{
      type: 'InviteMember';
      at: string;
      by: By;
      id: InvitationId;
      role: Role;
      address: string;
      expiresAt: string;
      member: UserId | undefined;
      bounds: InvitationBounds;
    }>
  | Readonly<{ type: 'RenewInvitation'; at: string; by: By; id: InvitationId; expiresAt: string }>
  | Readonly<{ type: 'AcceptInvitation'; at: string; id: InvitationId; userId: UserId }>
  | Readonly<{ type: 'RevokeInvitation'; at: string; by: By; id: InvitationId }>
  /** Withdraws the invitations that have expired. */
  | Readonly<{ type: 'LapseInvitations'; at: string }>;

export const teamNotFound = (): DomainError =>
  new DomainError('TEAM_NOT_FOUND', 'There is no team with this id. GET /api/teams lists yours.');

export const memberNotFound = (): DomainError =>
  new DomainError(
    'MEMBER_NOT_FOUND',
    'The team has no member with this id. GET /api/teams/:teamId/members lists its members.',
  );

/** Whether the team may have suppressed addresses, of all mail or of that list. */
export const hasBegunSuppressions = (team: TeamState, list: string | undefined): boolean =>
  team?.hasSuppressions === true && (list === undefined || team.suppressionLists?.includes(list) === true);

/** A team whose stream the caller found; anything else is a fault of ours. */
const knownTeam = (team: TeamState): Team => {
  if (team === undefined) throw new Error('the team does not exist');
  return team;
};

const changeBilling = (
  team: Team,
  { at, changes }: Readonly<{ at: string; changes: BillingChanges }>,
): readonly TeamEvent[] => {
  const before = { billing: team.billing, plan: team.plan ?? null, emailsPerMonth: team.emailsPerMonth ?? null };
  const after = { ...before, ...changes };
  if (after.billing === 'plan' && after.plan === null) throw noPlan();
  return JSON.stringify(after) === JSON.stringify(before)
    ? []
    : [{ type: 'TeamBillingChanged', data: { at, ...after } }];
};

const noPlan = (): DomainError => {
  const errors: readonly FieldError[] = [{ field: 'plan', message: `must be one of ${Object.keys(plans).join(', ')}` }];
  return new DomainError('VALIDATION_ERROR', 'A team that is billed by its plan needs one.', { errors });
};

export const memberDecider: Decider<MemberCommand, TeamEvent, TeamState> = {
  decide: (command, state) => {
    if (command.type === 'LeaveTeam') return leave(state, command);
    const team = livingTeam(state);
    switch (command.type) {
      case 'AddMember':
        return addMember(team, command);
      case 'ChangeRole':
        return changeRole(team, command);
      case 'RemoveMember':
        return removeMember(team, command);
      case 'TransferOwnership':
        return transfer(team, command);
    }
  },
  evolve: evolveTeam,
  initialState: undefined,
};

export const teamDecider: Decider<TeamCommand, TeamEvent, TeamState> = {
  decide: (command, team) => {
    const { at } = command;
    switch (command.type) {
      case 'FoundTeam': {
        const { owner, billing, settings } = command;
        if (team !== undefined) return [];
        return [
          { type: 'TeamCreated', data: { at, billing, settings } },
          { type: 'MemberAdded', data: { at, userId: owner, role: 'owner' } },
        ];
      }
      case 'ChangeTeam':
        return changeTeam(livingTeam(team), command);
      case 'DeleteTeam':
        return deleteTeam(livingTeam(team), command);
      case 'RestoreTeam':
        return restoreTeam(team, command);
      case 'RemoveTeam': {
        const isLong = team?.deletedAt !== undefined && team.deletedAt < command.deletedSince;
        return isLong && team.removedAt === undefined ? [{ type: 'TeamRemoved', data: { at } }] : [];
      }
      case 'NoteErased':
        return team?.removedAt === undefined || team.erasedAt !== undefined
          ? []
          : [{ type: 'TeamErased', data: { at } }];
      case 'TakeOver':
        if (team?.members !== undefined)
          throw new DomainError('REGISTRATION_CLOSED', 'Somebody else became the first user just now.');
        return [{ type: 'MemberAdded', data: { at, userId: command.userId, role: 'owner' } }];
      case 'ChangeBilling':
        return changeBilling(knownTeam(team), command);
      case 'ChangeTracking': {
        const { opens, clicks } = command.tracking;
        const now = knownTeam(team).tracking ?? NO_TRACKING;
        return now.opens === opens && now.clicks === clicks
          ? []
          : [{ type: 'TeamTrackingChanged', data: { at, opens, clicks } }];
      }
      case 'BeginSuppressions': {
        const { list } = command;
        if (team === undefined || hasBegunSuppressions(team, list)) return [];
        return [{ type: 'TeamSuppressionsBegan', data: list === undefined ? { at } : { at, list } }];
      }
    }
  },
  evolve: evolveTeam,
  initialState: undefined,
};

export const invitingDecider: Decider<InvitingCommand, TeamEvent, TeamState> = {
  decide: (command, state) => {
    const { at } = command;
    switch (command.type) {
      case 'InviteMember':
        return invite(livingTeam(state), command);
      case 'RenewInvitation': {
        const team = livingTeam(state);
        const { role } = openInvitation(team, command.id);
        assertGivable(roleOf(team, command.by, 'members:manage'), role);
        return [
          { type: 'InvitationRenewed', data: { at, invitationId: command.id, role, expiresAt: command.expiresAt } },
        ];
      }
      case 'AcceptInvitation':
        if (state === undefined || state.deletedAt !== undefined) throw invitationNotFound();
        return accept(state, command);
      case 'RevokeInvitation': {
        const team = livingTeam(state);
        roleOf(team, command.by, 'members:manage');
        openInvitation(team, command.id);
        return [withdrawn(at, command.id, 'revoked')];
      }
      case 'LapseInvitations':
        return [...(state?.invitations ?? [])]
          .filter(([, { expiresAt }]) => expiresAt <= at)
          .map(([id]) => withdrawn(at, id, 'lapsed'));
    }
  },
  evolve: evolveTeam,
  initialState: undefined,
};

const lastOwner = (): DomainError =>
  new DomainError(
    'LAST_OWNER',
    'A team always has an owner, and this is the only one. Make somebody else an owner first.',
  );

const forbidden = (why: string): DomainError => new DomainError('FORBIDDEN', why);

/** Throws TEAM_NOT_FOUND if the team is unknown or deleted. */
const livingTeam = (team: TeamState): Team => {
  if (team === undefined || team.deletedAt !== undefined) throw teamNotFound();
  return team;
};

/**
 * The current role of who makes the change. Throws TEAM_NOT_FOUND if they are not in the team any more, FORBIDDEN if
 * the role lacks the permission.
 */
const roleOf = (team: Team, by: By, permission: AccessPermission): Role => {
  if (by === 'operator') return 'owner';
  const role = team.members?.get(by)?.role;
  if (role === undefined) throw teamNotFound();
  if (!isAllowed(permissionsOfRole[role], permission))
    throw forbidden(`Your role in this team lacks the permission \`${permission}\`.`);
  return role;
};

const isAbove = (role: Role, other: Role): boolean => roles.indexOf(role) < roles.indexOf(other);

/** Throws FORBIDDEN if the given role is above the giver's own. */
const assertGivable = (own: Role, given: Role): void => {
  if (isAbove(given, own))
    throw forbidden(`You cannot give a role above your own: you are ${own}, and ${given} is above that.`);
};

const memberOf = (team: Team, userId: UserId): Member => {
  const member = team.members?.get(userId);
  if (member === undefined) throw memberNotFound();
  return member;
};

/** Throws FORBIDDEN if the member's role is above that of who changes them. */
const assertChangeable = (own: Role, { role }: Member): void => {
  if (isAbove(role, own)) throw forbidden(`You are ${own}: an ${role} is changed by an ${role} alone.`);
};

const assertOwnerLeft = (team: Team, without: UserId): void => {
  for (const [id, { role }] of team.members ?? []) if (role === 'owner' && id !== without) return;
  throw lastOwner();
};

const addMember = (team: Team, command: Extract<MemberCommand, { type: 'AddMember' }>): readonly TeamEvent[] => {
  const { at, by, userId, role, membersMax } = command;
  const own = roleOf(team, by, 'members:manage');
  assertGivable(own, role);
  if (team.members?.has(userId) === true) throw alreadyMember();
  assertRoom(team, membersMax);
  return [{ type: 'MemberAdded', data: { at, userId, role } }];
};

const alreadyMember = (): DomainError =>
  new DomainError(
    'ALREADY_MEMBER',
    'This person is in the team already. PATCH /api/teams/:teamId/members/:userId changes a role.',
  );

/** Throws PLAN_LIMIT_EXCEEDED if the plan of the team allows fewer members. */
const assertPlanHolds = (team: Team, count: number): void => {
  const limit = planLimitOf(team, 'members');
  if (limit !== undefined && count > limit.maximum) throw planLimitExceeded(limit, count);
};

/**
 * Throws PLAN_LIMIT_EXCEEDED or MEMBER_LIMIT_EXCEEDED if one more member, with all who are invited, is too many.
 * `besides`: invitations that are replaced.
 */
const assertRoom = (team: Team, membersMax: number, besides = 0): void => {
  const { members, invitations } = team;
  const count = (members?.size ?? 0) + (invitations?.size ?? 0) + 1 - besides;
  assertPlanHolds(team, count);
  if (count > membersMax)
    throw new DomainError(
      'MEMBER_LIMIT_EXCEEDED',
      `A team has at most ${membersMax} members, those included who are invited; this would be ${count}.`,
    );
};

const changeRole = (
  team: Team,
  { at, by, userId, role }: Extract<MemberCommand, { type: 'ChangeRole' }>,
): readonly TeamEvent[] => {
  const own = roleOf(team, by, 'members:manage');
  const member = memberOf(team, userId);
  assertChangeable(own, member);
  assertGivable(own, role);
  if (member.role === role) return [];
  if (member.role === 'owner') assertOwnerLeft(team, userId);
  return [{ type: 'MemberRoleChanged', data: { at, userId, role } }];
};

const removeMember = (
  team: Team,
  { at, by, userId }: Extract<MemberCommand, { type: 'RemoveMember' }>,
): readonly TeamEvent[] => {
  const own = roleOf(team, by, 'members:manage');
  const member = memberOf(team, userId);
  assertChangeable(own, member);
  if (member.role === 'owner') assertOwnerLeft(team, userId);
  return [{ type: 'MemberRemoved', data: { at, userId, reason: by === userId ? 'left' : 'removed' } }];
};

const transfer = (
  team: Team,
  { at, by, to }: Extract<MemberCommand, { type: 'TransferOwnership' }>,
): readonly TeamEvent[] => {
  roleOf(team, by, 'ownership:manage');
  const { role } = memberOf(team, to);
  if (to === by) return [];
  const raised: TeamEvent = { type: 'MemberRoleChanged', data: { at, userId: to, role: 'owner' } };
  return [
    ...(role === 'owner' ? [] : [raised]),
    { type: 'MemberRoleChanged', data: { at, userId: by, role: 'admin' } },
  ];
};

/** Members do not leave a deleted team, except that an erased user is removed from it. */
const leave = (
  team: TeamState,
  { at, userId, reason }: Extract<MemberCommand, { type: 'LeaveTeam' }>,
): readonly TeamEvent[] => {
  const member = team?.members?.get(userId);
  if (team === undefined || (team.deletedAt !== undefined && reason === 'left')) throw teamNotFound();
  if (member === undefined) return [];
  if (member.role === 'owner' && team.deletedAt === undefined) assertOwnerLeft(team, userId);
  return [{ type: 'MemberRemoved', data: { at, userId, reason } }];
};

const changeTeam = (team: Team, command: Extract<TeamCommand, { type: 'ChangeTeam' }>): readonly TeamEvent[] => {
  const { at, by, changes, requiresSecondFactor } = command;
  roleOf(team, by, 'team:manage');
  const before = team.settings;
  const settings: TeamSettings = {
    name: changes.name ?? before.name,
    defaultFrom: changes.defaultFrom ?? before.defaultFrom,
    company: changes.company === undefined ? before.company : { ...ownCompany(before), ...changes.company },
  };
  const isSame = JSON.stringify(settings) === JSON.stringify(before);
  const isAsked = requiresSecondFactor !== undefined && requiresSecondFactor !== (team.requiresSecondFactor === true);
  const brand = changes.brand === undefined ? team.brand : brandAfter(team.brand, changes.brand);
  const isSameBrand = changes.brand === undefined || isEqualBrand(brand, team.brand);
  return [
    ...(isSame ? [] : [{ type: 'TeamSettingsChanged' as const, data: { at, settings } }]),
    ...(isAsked ? [{ type: 'TeamSecurityChanged' as const, data: { at, requiresSecondFactor } }] : []),
    ...(isSameBrand ? [] : [{ type: 'TeamBrandChanged' as const, data: { at, ...brand } }]),
  ];
};

/**
 * The company to which changes are made. The sample is dropped as a whole, so that none of its fields stands beside
 * those of a real company.
 */
const ownCompany = ({ name, company }: TeamSettings): Company =>
  isSampleCompany(company) ? { ...emptyCompany, name } : company;

const deleteTeam = (
  team: Team,
  { at, by, firstTeam }: Extract<TeamCommand, { type: 'DeleteTeam' }>,
): readonly TeamEvent[] => {
  roleOf(team, by, 'team:delete');
  if (firstTeam) {
    throw new DomainError(
      'FIRST_TEAM',
      'The first team of an instance sends the mails of all accounts, so it is never deleted.',
    );
  }
  return [{ type: 'TeamDeleted', data: { at } }];
};

const restoreTeam = (
  team: TeamState,
  { at, by, deletedSince }: Extract<TeamCommand, { type: 'RestoreTeam' }>,
): readonly TeamEvent[] => {
  if (team === undefined) throw teamNotFound();
  roleOf(team, by, 'team:delete');
  if (team.deletedAt === undefined) return [];
  if (team.removedAt !== undefined || team.deletedAt < deletedSince) throw teamNotFound();
  return [{ type: 'TeamRestored', data: { at } }];
};

const openInvitation = (team: Team, id: InvitationId): Invitation => {
  const invitation = team.invitations?.get(id);
  if (invitation === undefined) throw invitationNotFound();
  return invitation;
};

const invite = (team: Team, command: Extract<InvitingCommand, { type: 'InviteMember' }>): readonly TeamEvent[] => {
  const { at, by, id, role, address, expiresAt, member, bounds } = command;
  assertGivable(roleOf(team, by, 'members:manage'), role);
  if (member !== undefined && team.members?.has(member) === true) throw alreadyMember();
  const replaced = [...(team.invitations ?? [])].filter(([, open]) => open.address === address);
  const count = (team.invitations?.size ?? 0) - replaced.length;
  if (count >= bounds.invitationsMax)
    throw new DomainError(
      'INVITATION_LIMIT_EXCEEDED',
      `The team has ${count} open invitations; at most ${bounds.invitationsMax} are allowed.`,
    );
  assertRoom(team, bounds.membersMax, replaced.length);
  return [
    ...replaced.map(([invitationId]) => withdrawn(at, invitationId, 'revoked')),
    {
      type: 'MemberInvited',
      data: { at, invitationId: id, role, address, expiresAt, ...(by === 'operator' ? {} : { by }) },
    },
  ];
};

const withdrawn = (at: string, invitationId: InvitationId, reason: 'revoked' | 'lapsed'): TeamEvent => ({
  type: 'InvitationWithdrawn',
  data: { at, invitationId, reason },
});

/** Whether the inviter may still give that role: an invitation does not outlive the role of its inviter. */
const isStillGiven = (team: Team, { by, role }: Invitation): boolean => {
  if (by === undefined) return true;
  try {
    assertGivable(roleOf(team, by, 'members:manage'), role);
    return true;
  } catch (fault) {
    if (fault instanceof DomainError) return false;
    throw fault;
  }
};

const accept = (
  team: Team,
  { at, id, userId }: Extract<InvitingCommand, { type: 'AcceptInvitation' }>,
): readonly TeamEvent[] => {
  if (team.members?.has(userId) === true) return [];
  const invitation = openInvitation(team, id);
  if (invitation.expiresAt <= at || !isStillGiven(team, invitation)) throw invitationNotFound();
  // The plan may allow less than when the invitation was made.
  assertPlanHolds(team, (team.members?.size ?? 0) + 1);
  return [{ type: 'MemberAdded', data: { at, userId, role: invitation.role, invitationId: id } }];
};
