/** Decisions about who is in a team and what they may do there. The stream of the team decides, so a team never loses its last owner. */
import { permissionsOfRole, roles, type Role } from '../access/roles.js';
import type { AccessPermission } from '../access/permissions.js';
import { planLimitExceeded, planLimitOf } from '../billing/plan-limits.js';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { UserId } from '../core/ids.js';
import type { TeamEvent } from './events.js';
import { evolveTeam, type Member, type Team, type TeamState } from './state.js';

/** A person, with the role that they have when it is decided; or who runs the service. */
export type By = UserId | 'operator';

export type MemberCommand =
  | Readonly<{ type: 'AddMember'; at: string; by: By; userId: UserId; role: Role; membersMax: number }>
  | Readonly<{ type: 'ChangeRole'; at: string; by: By; userId: UserId; role: Role }>
  | Readonly<{ type: 'RemoveMember'; at: string; by: By; userId: UserId }>
  | Readonly<{ type: 'LeaveTeam'; at: string; userId: UserId; reason: 'left' | 'erased' }>
  /** Whoever hands a team on stays in it as an admin. */
  | Readonly<{ type: 'TransferOwnership'; at: string; by: UserId; to: UserId }>;

export const teamNotFound = (): DomainError =>
  new DomainError('TEAM_NOT_FOUND', 'There is no team with this id. GET /api/teams lists yours.');

export const memberNotFound = (): DomainError =>
  new DomainError('MEMBER_NOT_FOUND', 'Nobody with this id is in this team. GET /api/teams/:teamId/members lists who is.');

const lastOwner = (): DomainError =>
  new DomainError('LAST_OWNER', 'A team always has an owner, and this is the only one. Make somebody else an owner first.');

const forbidden = (why: string): DomainError => new DomainError('FORBIDDEN', why);

/** The team where it lives. Throws TEAM_NOT_FOUND. */
export const livingTeam = (team: TeamState): Team => {
  if (team === undefined || team.deletedAt !== undefined) throw teamNotFound();
  return team;
};

/** The role of who does something, as it is now. Throws TEAM_NOT_FOUND where they are not in the team any more, FORBIDDEN where the role does not allow it. */
export const roleOf = (team: Team, by: By, permission: AccessPermission): Role => {
  if (by === 'operator') return 'owner';
  const role = team.members?.get(by)?.role;
  if (role === undefined) throw teamNotFound();
  if (!permissionsOfRole[role].includes(permission)) throw forbidden(`Your role in this team lacks the permission \`${permission}\`.`);
  return role;
};

const isAbove = (role: Role, other: Role): boolean => roles.indexOf(role) < roles.indexOf(other);

/** Throws FORBIDDEN where the role is above that of who gives it. */
export const assertGivable = (own: Role, given: Role): void => {
  if (isAbove(given, own)) throw forbidden(`Nobody gives a role above their own: you are ${own}, and ${given} is above that.`);
};

const memberOf = (team: Team, userId: UserId): Member => {
  const member = team.members?.get(userId);
  if (member === undefined) throw memberNotFound();
  return member;
};

/** Throws FORBIDDEN where the member is above who changes them. */
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

export const alreadyMember = (): DomainError =>
  new DomainError('ALREADY_MEMBER', 'This person is in the team already. PATCH /api/teams/:teamId/members/:userId changes a role.');

/** Throws PLAN_LIMIT_EXCEEDED where that many are more than the plan of the team allows. */
export const assertPlanHolds = (team: Team, count: number): void => {
  const limit = planLimitOf(team, 'members');
  if (limit !== undefined && count > limit.maximum) throw planLimitExceeded(limit, count);
};

/** Throws PLAN_LIMIT_EXCEEDED or MEMBER_LIMIT_EXCEEDED where one more, beside those who are invited, would be too many. */
export const assertRoom = (team: Team, membersMax: number, besides = 0): void => {
  const { members, invitations } = team;
  const count = (members?.size ?? 0) + (invitations?.size ?? 0) + 1 - besides;
  assertPlanHolds(team, count);
  if (count > membersMax)
    throw new DomainError(
      'MEMBER_LIMIT_EXCEEDED',
      `A team has at most ${membersMax} members, those included who are invited; this would be ${count}.`,
    );
};

const changeRole = (team: Team, { at, by, userId, role }: Extract<MemberCommand, { type: 'ChangeRole' }>): readonly TeamEvent[] => {
  const own = roleOf(team, by, 'members:manage');
  const member = memberOf(team, userId);
  assertChangeable(own, member);
  assertGivable(own, role);
  if (member.role === role) return [];
  if (member.role === 'owner') assertOwnerLeft(team, userId);
  return [{ type: 'MemberRoleChanged', data: { at, userId, role } }];
};

const removeMember = (team: Team, { at, by, userId }: Extract<MemberCommand, { type: 'RemoveMember' }>): readonly TeamEvent[] => {
  const own = roleOf(team, by, 'members:manage');
  const member = memberOf(team, userId);
  assertChangeable(own, member);
  if (member.role === 'owner') assertOwnerLeft(team, userId);
  return [{ type: 'MemberRemoved', data: { at, userId, reason: by === userId ? 'left' : 'removed' } }];
};

const transfer = (team: Team, { at, by, to }: Extract<MemberCommand, { type: 'TransferOwnership' }>): readonly TeamEvent[] => {
  roleOf(team, by, 'ownership:manage');
  const { role } = memberOf(team, to);
  if (to === by) return [];
  const raised: TeamEvent = { type: 'MemberRoleChanged', data: { at, userId: to, role: 'owner' } };
  return [...(role === 'owner' ? [] : [raised]), { type: 'MemberRoleChanged', data: { at, userId: by, role: 'admin' } }];
};

/** Of a deleted team nobody is changed; that somebody is no user any more holds there too. */
const leave = (team: TeamState, { at, userId, reason }: Extract<MemberCommand, { type: 'LeaveTeam' }>): readonly TeamEvent[] => {
  const member = team?.members?.get(userId);
  if (team === undefined || (team.deletedAt !== undefined && reason === 'left')) throw teamNotFound();
  if (member === undefined) return [];
  if (member.role === 'owner' && team.deletedAt === undefined) assertOwnerLeft(team, userId);
  return [{ type: 'MemberRemoved', data: { at, userId, reason } }];
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
