/** Commands on a team itself: made, read, changed, deleted, restored. */
import type { Caller } from '../core/caller.js';
import { requireAddress } from '../../domain/mime/required-address.js';
import { handle, loadState } from '../core/handle.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { firstTeam } from '../core/instance.js';
import { boundOf, inPlace, openPlaces, type Bound, type Standing } from '../billing/plan-limits.js';
import { byOf } from './members.js';
import { requireRevision, type ExpectedRevisions } from '../templates/expectations.js';
import { teamNotFound } from '../core/team-access.js';
import type { CreateTeamRequest, TeamRecord, UpdateTeamRequest } from '../../api/teams.js';
import { planLimitOf } from '../../domain/billing/plan-limits.js';
import { DomainError } from '../../domain/core/errors.js';
import { assertDefined, NO_TEAM, parseTeamId, teamStream, type TeamId, type UserId } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { teamDecider, type TeamCommand } from '../../domain/teams/lifecycle.js';
import { emptyCompany, type Billing, type Team, type TeamState } from '../../domain/teams/state.js';
import { DAY_MS } from '../../domain/core/time.js';
import type { Cause } from '../../event-log/event-log.js';

const recordOf = (id: TeamId, team: Team, caller: Caller): TeamRecord => {
  const { settings, billing, plan, createdAt, members, requiresSecondFactor, revision } = team;
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
    revision,
    createdAt,
  };
};

const apply = async (deps: CommandDeps, id: TeamId, command: TeamCommand, cause: Cause, expected?: ExpectedRevisions): Promise<Team> => {
  const guard = ({ state }: Readonly<{ state: TeamState }>): void => {
    if (state !== undefined) requireRevision(state.revision, expected, 'team');
  };
  const { state, events } = await handle(deps.eventLog, teamStream(id), teamDecider, command, { ...cause, teamId: id }, guard);
  if (events.length > 0 && command.type !== 'FoundTeam') await deps.whenHeldEverywhere();
  if (state === undefined) throw teamNotFound();
  return state;
};

/** Who makes a team owns it. */
export const foundTeam = async (
  deps: CommandDeps,
  id: TeamId,
  {
    name,
    owner,
    billing,
    from,
  }: Readonly<{ name: string; owner: UserId; billing: Billing; from: Readonly<{ email: string; name?: string }> }>,
  cause: Cause,
): Promise<Team> => {
  const settings = { name, defaultFrom: from, company: { ...emptyCompany, name } };
  const team = await apply(deps, id, { type: 'FoundTeam', at: cause.at, owner, billing, settings }, cause);
  if (billing === 'credits') await deps.credits.change(id, { type: 'OpenAccount', at: cause.at }, { ...cause, teamId: id });
  return team;
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
  const billing = owned.some((team) => team.billing === 'unmetered') ? 'unmetered' : 'credits';
  const from = { ...request.defaultFrom, email: requireAddress(request.defaultFrom.email, 'defaultFrom.email') };
  const id = assertDefined(parseTeamId(deps.ids.uuid()), 'team id');
  const team = await asOneMore(deps, caller, { owner, teams, id }, () =>
    foundTeam(deps, id, { name: request.name, owner, billing, from }, causeOf(deps, caller)),
  );
  return recordOf(id, team, caller);
};

type OneMore = Readonly<{ owner: UserId; teams: readonly TeamId[]; id: TeamId }>;

/**
 * How many teams somebody may own: what the most generous plan of those that they own allows. An unmetered team allows any number, and one on
 * no plan says nothing.
 */
const boundOfOwned = (owned: readonly Team[], teamsOwnedMax: number): Bound => {
  const deciding = owned.filter(({ billing, plan }) => billing === 'unmetered' || plan !== undefined);
  const limits = deciding.map((team) => planLimitOf(team, 'teams'));
  const most = limits.reduce(
    (best, limit) => (best === undefined || limit === undefined || limit.maximum > best.maximum ? limit : best),
    limits[0],
  );
  const refused = (actual: number): DomainError =>
    new DomainError('TEAM_LIMIT_EXCEEDED', `You may own ${teamsOwnedMax} teams, and with this it would be ${actual}.`);
  return assertDefined(boundOf(limits.includes(undefined) ? undefined : most, { maximum: teamsOwnedMax, refused }), 'bound');
};

/** Gives a person one more team that they own. They take a place for it first, in a stream of their own, so that calls at once make no more than they may own. */
const asOneMore = async <Made>(
  deps: CommandDeps,
  caller: Caller,
  { owner, teams, id }: OneMore,
  make: () => Promise<Made>,
): Promise<Made> => {
  const bound = boundOfOwned(await ownedBy(deps, owner, teams), deps.limits.teamsOwnedMax);
  const standingOf = async (key: string): Promise<Standing> => {
    const { state } = await loadState(deps.eventLog, teamStream(assertDefined(parseTeamId(key), 'team id')), teamDecider);
    if (state === undefined) return 'absent';
    return state.deletedAt === undefined && state.members?.get(owner)?.role === 'owner' ? 'living' : 'gone';
  };
  const places = openPlaces(deps, { ...caller, teamId: NO_TEAM }, `teams.${owner}`, owner);
  return inPlace(places, { key: id, standingOf, all: async () => teams, isAllAsked: true }, bound, make);
};

export const getTeam = async (deps: CommandDeps, caller: Caller): Promise<TeamRecord> => {
  const { state } = await deps.team(teamStream(caller.teamId));
  if (state === undefined) throw teamNotFound();
  return recordOf(caller.teamId, state, caller);
};

export const updateTeam = async (
  deps: CommandDeps,
  caller: Caller,
  request: UpdateTeamRequest,
  expected?: ExpectedRevisions,
): Promise<TeamRecord> => {
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
  return recordOf(caller.teamId, await apply(deps, caller.teamId, command, cause, expected), caller);
};

/** Nothing is let in for the team any more when this resolves. */
export const deleteTeam = async (deps: CommandDeps, caller: Caller): Promise<void> => {
  const cause = causeOf(deps, caller);
  const isFirst = (await firstTeam(deps)) === caller.teamId;
  await apply(deps, caller.teamId, { type: 'DeleteTeam', at: cause.at, by: byOf(caller), firstTeam: isFirst }, cause);
};

/**
 * `id`: the team may be deleted, so it is none that the caller is let in for. `teams`: those of the person as far as they are known. Whoever
 * restores a team owns one more again.
 */
export const restoreTeam = async (deps: CommandDeps, caller: Caller, id: TeamId, teams: readonly TeamId[] = []): Promise<TeamRecord> => {
  const cause = causeOf(deps, caller);
  const by = byOf(caller);
  const deletedSince = isoTime(Date.parse(cause.at) - deps.limits.teamRestoreDays * DAY_MS);
  const command = { type: 'RestoreTeam' as const, at: cause.at, by, deletedSince };
  // What is refused takes no place, and neither does a team that lives.
  const { state } = await loadState(deps.eventLog, teamStream(id), teamDecider);
  const isDeleted = teamDecider.decide(command, state).length > 0;
  const restore = () => apply(deps, id, command, cause);
  const team = await (isDeleted && by !== 'operator' ? asOneMore(deps, caller, { owner: by, teams, id }, restore) : restore());
  return recordOf(id, team, caller);
};
