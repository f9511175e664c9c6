/** Commands on the members of a team. What changes who may do what is answered when it holds in every process. */
import type { Caller } from '../core/caller.js';
import { handle, loadState } from '../core/handle.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { teamNotFound } from '../core/team-access.js';
import { userFold } from '../people/addresses.js';
import type { MemberRecord } from '../../api/teams.js';
import { DomainError } from '../../domain/core/errors.js';
import { teamStream, userStream, type TeamId, type UserId } from '../../domain/core/ids.js';
import type { Role } from '../../domain/access/roles.js';
import { memberDecider, type By, type MemberCommand } from '../../domain/teams/decider.js';
import type { Member, Team } from '../../domain/teams/state.js';
import type { Cause } from '../../event-log/event-log.js';

/** In whose name a team is changed. Throws FORBIDDEN for a key or an app, which are no members. */
export const byOf = ({ user, key, app }: Caller): By => {
  if (user !== undefined && app === undefined) return user.id;
  if (key === undefined && app === undefined) return 'operator';
  throw new DomainError('FORBIDDEN', 'Teams are changed by their members, not by keys and apps.');
};

const change = async (deps: CommandDeps, teamId: TeamId, command: MemberCommand, cause: Cause): Promise<Team> => {
  const { state, events } = await handle(deps.eventLog, teamStream(teamId), memberDecider, command, { ...cause, teamId });
  if (events.length > 0) await deps.whenHeldEverywhere();
  if (state === undefined) throw teamNotFound();
  return state;
};

/** Of the person as they are now; without name and address where they are no user any more. */
const recordOf = async (deps: CommandDeps, userId: UserId, { role, since }: Member): Promise<MemberRecord> => {
  const { state: user } = await loadState(deps.eventLog, userStream(userId), userFold);
  return { userId, name: user?.name ?? null, email: user?.email ?? null, role, since, secondFactor: user?.secondFactor !== undefined };
};

/** People that are read side by side. */
const AT_ONCE = 32;

export const listMembers = async (deps: CommandDeps, { teamId }: Caller): Promise<{ data: MemberRecord[] }> => {
  const { state } = await deps.team(teamStream(teamId));
  const members = [...(state?.members ?? [])];
  const data: MemberRecord[] = [];
  for (let from = 0; from < members.length; from += AT_ONCE)
    data.push(...(await Promise.all(members.slice(from, from + AT_ONCE).map(([userId, member]) => recordOf(deps, userId, member)))));
  return { data };
};

export const changeMember = async (deps: CommandDeps, caller: Caller, userId: UserId, role: Role): Promise<MemberRecord> => {
  const cause = causeOf(deps, caller);
  const team = await change(deps, caller.teamId, { type: 'ChangeRole', at: cause.at, by: byOf(caller), userId, role }, cause);
  return recordOf(deps, userId, team.members!.get(userId)!);
};

export const removeMember = async (deps: CommandDeps, caller: Caller, userId: UserId): Promise<void> => {
  const cause = causeOf(deps, caller);
  await change(deps, caller.teamId, { type: 'RemoveMember', at: cause.at, by: byOf(caller), userId }, cause);
};

/** A person leaves the team by their own will. */
export const leaveTeam = async (deps: CommandDeps, caller: Caller): Promise<void> => {
  const by = byOf(caller);
  if (by === 'operator') throw new DomainError('FORBIDDEN', 'Who runs the service is in no team.');
  const cause = causeOf(deps, caller);
  await change(deps, caller.teamId, { type: 'LeaveTeam', at: cause.at, userId: by, reason: 'left' }, cause);
};

/** Somebody is no user any more. Rejects with LAST_OWNER, having changed nothing, where a living team would have no owner. */
export const removeErased = async (deps: CommandDeps, teamId: TeamId, userId: UserId, cause: Cause): Promise<void> =>
  void (await change(deps, teamId, { type: 'LeaveTeam', at: cause.at, userId, reason: 'erased' }, cause));

export const transferOwnership = async (deps: CommandDeps, caller: Caller, to: UserId): Promise<{ data: MemberRecord[] }> => {
  const by = byOf(caller);
  if (by === 'operator') throw new DomainError('FORBIDDEN', 'An owner hands the team on.');
  const cause = causeOf(deps, caller);
  await change(deps, caller.teamId, { type: 'TransferOwnership', at: cause.at, by, to }, cause);
  return listMembers(deps, caller);
};

/** As the operator adds somebody who is a user. */
export const addMember = async (deps: CommandDeps, teamId: TeamId, userId: UserId, role: Role, cause: Cause): Promise<void> => {
  const { teamMembersMax: membersMax } = deps.limits;
  await change(deps, teamId, { type: 'AddMember', at: cause.at, by: 'operator', userId, role, membersMax }, cause);
};
