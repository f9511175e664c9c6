/** Commands on a team itself: made, read, changed, deleted, restored. */
import type { Caller } from './caller.js';
import { requireAddress } from './check-request.js';
import { handle } from './command-handler.js';
import { causeOf, type CommandDeps } from './deps.js';
import { firstTeam } from './first-start.js';
import { byOf } from './team-members.js';
import { teamNotFound } from './team-access.js';
import type { CreateTeamRequest, TeamRecord, UpdateTeamRequest } from '../api/teams.js';
import { DomainError } from '../domain/errors.js';
import { assertDefined, parseTeamId, teamStream, type TeamId, type UserId } from '../domain/ids.js';
import { isoTime } from '../domain/ports/clock.js';
import { teamDecider, type TeamCommand } from '../domain/team/lifecycle.js';
import { emptyCompany, type Billing, type Team } from '../domain/team/state.js';
import { DAY_MS } from '../domain/time.js';
import type { Cause } from '../event-log/event-log.js';

const recordOf = (id: TeamId, team: Team, caller: Caller): TeamRecord => {
  const { settings, billing, plan, createdAt, members, requiresSecondFactor } = team;
  const { name, defaultFrom, company } = settings;
  const role = caller.user === undefined ? undefined : members?.get(caller.user.id)?.role;
  return {
    id,
    name,
    role: role ?? null,
    defaultFrom: { ...defaultFrom },
    company: { ...company },
    requiresSecondFactor: requiresSecondFactor === true,
    billing,
    plan: plan ?? null,
    memberCount: members?.size ?? 0,
    createdAt,
  };
};

const apply = async (deps: CommandDeps, id: TeamId, command: TeamCommand, cause: Cause): Promise<Team> => {
  const { state, events } = await handle(deps.eventLog, teamStream(id), teamDecider, command, { ...cause, teamId: id });
  if (events.length > 0 && command.type !== 'FoundTeam') await deps.whenHeldEverywhere();
  if (state === undefined) throw teamNotFound();
  return state;
};

/** Who makes a team owns it. */
export const foundTeam = async (
  deps: CommandDeps,
  {
    name,
    owner,
    billing,
    from,
  }: Readonly<{ name: string; owner: UserId; billing: Billing; from: Readonly<{ email: string; name?: string }> }>,
  cause: Cause,
): Promise<Readonly<{ id: TeamId; team: Team }>> => {
  const id = assertDefined(parseTeamId(deps.ids.uuid()), 'team id');
  const settings = { name, defaultFrom: from, company: { ...emptyCompany, name } };
  const team = await apply(deps, id, { type: 'FoundTeam', at: cause.at, owner, billing, settings }, cause);
  if (billing === 'credits') await deps.credits.change(id, { type: 'OpenAccount', at: cause.at }, { ...cause, teamId: id });
  return { id, team };
};

/** Of those teams the ones that the person owns, as they are now. */
const ownedBy = async (deps: CommandDeps, owner: UserId, teams: readonly TeamId[]): Promise<readonly Team[]> => {
  const owned: Team[] = [];
  for (const id of teams) {
    const { state } = await deps.team(teamStream(id));
    if (state?.members?.get(owner)?.role === 'owner') owned.push(state);
  }
  return owned;
};

/**
 * `teams`: those of the person as far as they are known; each is asked itself who owns it. Who owns none makes one only where everybody
 * may register: else an invitation into one team would be one to send as much as one likes from another.
 */
export const createTeam = async (
  deps: CommandDeps,
  caller: Caller,
  request: CreateTeamRequest,
  teams: readonly TeamId[],
): Promise<TeamRecord> => {
  const owner = byOf(caller);
  if (owner === 'operator') throw new DomainError('FORBIDDEN', 'A team is made by whoever is to own it.');
  const owned = await ownedBy(deps, owner, teams);
  if (owned.length === 0 && deps.people.registration !== 'open')
    throw new DomainError('FORBIDDEN', 'Here only who owns a team makes another.');
  if (owned.length >= deps.limits.teamsOwnedMax)
    throw new DomainError('TEAM_LIMIT_EXCEEDED', `You own ${owned.length} teams; at most ${deps.limits.teamsOwnedMax} are allowed.`);
  const billing = owned.some((team) => team.billing === 'unmetered') ? 'unmetered' : 'credits';
  const from = { ...request.defaultFrom, email: requireAddress(request.defaultFrom.email, 'defaultFrom.email') };
  const { id, team } = await foundTeam(deps, { name: request.name, owner, billing, from }, causeOf(deps, caller));
  return recordOf(id, team, caller);
};

export const getTeam = async (deps: CommandDeps, caller: Caller): Promise<TeamRecord> => {
  const { state } = await deps.team(teamStream(caller.teamId));
  if (state === undefined) throw teamNotFound();
  return recordOf(caller.teamId, state, caller);
};

export const updateTeam = async (deps: CommandDeps, caller: Caller, request: UpdateTeamRequest): Promise<TeamRecord> => {
  const { requiresSecondFactor, defaultFrom, ...changes } = request;
  const cause = causeOf(deps, caller);
  const from = defaultFrom && { ...defaultFrom, email: requireAddress(defaultFrom.email, 'defaultFrom.email') };
  const command: TeamCommand = {
    type: 'ChangeTeam',
    at: cause.at,
    by: byOf(caller),
    changes: { ...changes, ...(from === undefined ? {} : { defaultFrom: from }) },
    ...(requiresSecondFactor === undefined ? {} : { requiresSecondFactor }),
  };
  return recordOf(caller.teamId, await apply(deps, caller.teamId, command, cause), caller);
};

/** Nothing is let in for the team any more when this resolves. */
export const deleteTeam = async (deps: CommandDeps, caller: Caller): Promise<void> => {
  const cause = causeOf(deps, caller);
  const isFirst = (await firstTeam(deps)) === caller.teamId;
  await apply(deps, caller.teamId, { type: 'DeleteTeam', at: cause.at, by: byOf(caller), firstTeam: isFirst }, cause);
};

/** `id`: the team may be deleted, so it is none that the caller is let in for. */
export const restoreTeam = async (deps: CommandDeps, caller: Caller, id: TeamId): Promise<TeamRecord> => {
  const cause = causeOf(deps, caller);
  const deletedSince = isoTime(Date.parse(cause.at) - deps.limits.teamRestoreDays * DAY_MS);
  const team = await apply(deps, id, { type: 'RestoreTeam', at: cause.at, by: byOf(caller), deletedSince }, cause);
  return recordOf(id, team, caller);
};
