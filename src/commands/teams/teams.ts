/**
 * Commands on a team: its life, its settings and billing, its members, and who did what in it. A change is answered
 * when every process applies it.
 */
import { CLI_CLIENT_ID, commandLineApp } from '../../domain/apps/app.js';
import { noteBilling } from '../billing/billing.js';
import { requireAddress } from '../../domain/mime/address.js';
import type { TeamNeeds } from './needs.js';
import { handle, loadState } from '../core/handle.js';
import { monthOf, type Cost } from '../../domain/billing/credits.js';
import type { Terms } from '../../domain/billing/decider.js';
import { planLimitOf } from '../../domain/billing/plans.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Cause } from '../../event-log/event-log.js';
import {
  teamStream,
  type TeamId,
  userStream,
  type UserId,
  oauthClientStream,
  oauthGrantStream,
  parseOAuthGrantId,
  parseUserId,
  assertDefined,
  NO_TEAM,
  parseTeamId,
} from '../../domain/core/ids.js';
import type { TeamEvent, TeamSettings } from '../../domain/teams/events.js';
import {
  teamDecider,
  type TeamChanges,
  type BillingChanges,
  memberDecider,
  type By,
  type MemberCommand,
  type TeamCommand,
  teamNotFound,
} from '../../domain/teams/decider.js';
import {
  evolveTeam,
  termsOf,
  type Billing,
  type Team,
  type TeamState,
  type Member,
  emptyCompany,
} from '../../domain/teams/state.js';
import { type Caller, firstTeam, causeOf } from '../core/caller.js';
import { keysCreatedBy, revokeKeysCreatedBy } from '../keys/api-keys.js';
import { userDecider } from '../../domain/people/decider.js';
import type {
  MemberRecord,
  RemoveMemberQuery,
  RemovedMember,
  TeamActivity,
  CreateTeamRequest,
  TeamRecord,
  UpdateTeamRequest,
} from '../../api/teams.js';
import type { Role } from '../../domain/access/permissions.js';
import type { ActivityListing } from '../../domain/teams/activity.js';
import { boundOf, inPlace, openPlaces, type Bound, type Standing } from '../billing/plan-limits.js';
import { requireRevision, type ExpectedRevisions } from '../templates/answers.js';
import { contrastsOf } from '../../domain/teams/brand.js';
import { findAsset } from '../templates/assets.js';
import { assertLogo } from './brand.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';

export type { TeamChanges } from '../../domain/teams/decider.js';

type Actor = TeamActivity['actor'];

type NameOf = (userId: string) => Promise<string | null>;

type AnotherTeam = Readonly<{ owner: UserId; teams: readonly TeamId[]; id: TeamId }>;

/** People that are read in parallel. */
const AT_ONCE = 32;

/**
 * `teams`: the teams of the person, from a read model; each is asked who owns it. A person who owns none may create one
 * only if everybody may register: otherwise an invitation into one team would allow unlimited sending from another.
 */
export const createTeam = async (
  deps: TeamNeeds,
  caller: Caller,
  request: CreateTeamRequest,
  teams: readonly TeamId[],
): Promise<TeamRecord> => {
  const owner = byOf(caller);
  if (owner === 'operator') throw new DomainError('FORBIDDEN', 'A team is made by whoever is to own it.');
  const owned = await teamsOwnedBy(deps, owner, teams);
  if (owned.length === 0 && deps.people.registration !== 'open')
    throw new DomainError('FORBIDDEN', 'Here only who owns a team makes another.');
  const billing = owned.some((team) => team.billing === 'unmetered') ? 'unmetered' : 'credits';
  const from = { ...request.defaultFrom, email: requireAddress(request.defaultFrom.email, 'defaultFrom.email') };
  const id = assertDefined(parseTeamId(deps.ids.uuid()), 'team id');
  const team = await asAnotherTeam(deps, caller, { owner, teams, id }, () =>
    foundTeam(deps, id, { name: request.name, owner, billing, from }, causeOf(deps, caller)),
  );
  return teamRecordOf(id, team, caller);
};

/** Creates a team with its owner. */
export const foundTeam = async (
  deps: TeamNeeds,
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
  const team = await applyToTeam(deps, id, { type: 'FoundTeam', at: cause.at, owner, billing, settings }, cause);
  if (billing === 'credits')
    await deps.credits.change(id, { type: 'OpenAccount', at: cause.at }, { ...cause, teamId: id });
  return team;
};

export const getTeam = async (deps: TeamNeeds, caller: Caller): Promise<TeamRecord> => {
  const { state } = await deps.team(teamStream(caller.teamId));
  if (state === undefined) throw teamNotFound();
  return teamRecordOf(caller.teamId, state, caller);
};

export const updateTeam = async (
  deps: TeamNeeds,
  caller: Caller,
  request: UpdateTeamRequest,
  expected?: ExpectedRevisions,
): Promise<TeamRecord> => {
  const { requiresSecondFactor, defaultFrom, ...changes } = request;
  await assertLogo(deps, caller.teamId, changes.brand?.logo);
  const cause = causeOf(deps, caller);
  const from = defaultFrom && { ...defaultFrom, email: requireAddress(defaultFrom.email, 'defaultFrom.email') };
  const command: TeamCommand = {
    type: 'ChangeTeam',
    at: cause.at,
    by: byOf(caller),
    changes: { ...changes, ...(from === undefined ? {} : { defaultFrom: from }) },
    ...(requiresSecondFactor === undefined ? {} : { requiresSecondFactor }),
  };
  const changed = await applyToTeam(deps, caller.teamId, command, cause, expected);
  const logo = changed.brand?.logo;
  const isLost = logo !== undefined && logo === changes.brand?.logo && !(await isThere(deps, caller.teamId, logo));
  if (!isLost) return teamRecordOf(caller.teamId, changed, caller);
  // A member deleted the picture meanwhile; a team with such a logo could send no mail that shows it.
  const without: TeamCommand = { ...command, changes: { brand: { logo: null } } };
  return teamRecordOf(caller.teamId, await applyToTeam(deps, caller.teamId, without, cause), caller);
};

const isThere = async (deps: TeamNeeds, teamId: TeamId, asset: string): Promise<boolean> =>
  (await findAsset(deps, teamId, asset)) !== undefined;

/** When this resolves, no process admits calls for the team any more. */
export const deleteTeam = async (deps: TeamNeeds, caller: Caller): Promise<void> => {
  const cause = causeOf(deps, caller);
  const isFirst = (await firstTeam(deps)) === caller.teamId;
  await applyToTeam(
    deps,
    caller.teamId,
    { type: 'DeleteTeam', at: cause.at, by: byOf(caller), firstTeam: isFirst },
    cause,
  );
};

/**
 * `id`: a deleted team, so that it is not the team of the caller. `teams`: the teams of the person, from a read model;
 * the restored team counts among those they may own.
 */
export const restoreTeam = async (
  deps: TeamNeeds,
  caller: Caller,
  id: TeamId,
  teams: readonly TeamId[] = [],
): Promise<TeamRecord> => {
  const cause = causeOf(deps, caller);
  const by = byOf(caller);
  const deletedSince = isoTime(Date.parse(cause.at) - deps.limits.teamRestoreDays * DAY_MS);
  const command = { type: 'RestoreTeam' as const, at: cause.at, by, deletedSince };
  // A refused call takes no place, and neither does a team that is not deleted.
  const { state } = await loadState(deps.eventLog, teamStream(id), teamDecider);
  const isDeleted = teamDecider.decide(command, state).length > 0;
  const restore = () => applyToTeam(deps, id, command, cause);
  const team = await (isDeleted && by !== 'operator'
    ? asAnotherTeam(deps, caller, { owner: by, teams, id }, restore)
    : restore());
  return teamRecordOf(id, team, caller);
};

/**
 * Changes the settings for the operator. Out: the settings after the change. Throws ERR_EMAIL_001 for a sender that is
 * no address.
 */
export const changeTeam = async (
  deps: TeamNeeds,
  teamId: TeamId,
  changes: TeamChanges,
  cause: Cause,
): Promise<TeamSettings> => {
  const { defaultFrom } = changes;
  const checked =
    defaultFrom === undefined
      ? changes
      : { ...changes, defaultFrom: { ...defaultFrom, email: requireAddress(defaultFrom.email, 'from') } };
  const command = { type: 'ChangeTeam' as const, at: cause.at, by: 'operator' as const, changes: checked };
  const { state } = await handle(deps.eventLog, teamStream(teamId), teamDecider, command, cause);
  return state!.settings;
};

/** Emails and documents accepted for the team in a month, as `2026-11`, metered or not, according to the log. */
export type UsedInMonth = (month: string) => Promise<Cost>;

/**
 * Changes how a team is billed, for the operator. A team that is billed by credits gets its account with the credits of
 * the signup. A team that becomes metered begins with what it has used of the month: `usedInMonth` comes from a read
 * model.
 */
export const changeBilling = async (
  deps: TeamNeeds,
  teamId: TeamId,
  changes: BillingChanges,
  cause: Cause,
  usedInMonth: UsedInMonth,
): Promise<Team> => {
  const command = { type: 'ChangeBilling', at: cause.at, changes } as const;
  const { state: before } = await loadState(deps.eventLog, teamStream(teamId), teamDecider);
  const terms = termsWhenMetered(before, teamDecider.decide(command, before));
  const countUse = async (): Promise<void> => {
    if (terms !== undefined) await deps.credits.countUse(teamId, await usedInMonth(monthOf(cause.at)), terms, cause);
  };
  // First, so that no send is measured against a month that begins at zero, even if this process dies in between.
  await countUse();
  const { state, events } = await handle(deps.eventLog, teamStream(teamId), teamDecider, command, cause);
  // Until its cached state expires, another process may bill the team as before.
  if (events.length > 0) {
    await deps.whenHeldEverywhere();
    // Starts or stops the count of inactive days.
    await noteBilling(deps, teamId, state!.billing !== 'unmetered', cause);
  }
  if (state!.billing === 'credits') await deps.credits.change(teamId, { type: 'OpenAccount', at: cause.at }, cause);
  // Count the emails that were sent unmetered until every process knew of the change.
  await countUse();
  return state!;
};

export const listMembers = async (deps: TeamNeeds, { teamId }: Caller): Promise<{ data: MemberRecord[] }> => {
  const { state } = await deps.team(teamStream(teamId));
  const members = [...(state?.members ?? [])];
  const data: MemberRecord[] = [];
  for (let from = 0; from < members.length; from += AT_ONCE)
    data.push(
      ...(await Promise.all(
        members.slice(from, from + AT_ONCE).map(([userId, member]) => memberRecordOf(deps, userId, member)),
      )),
    );
  return { data };
};

/** Adds a user for the operator. */
export const addMember = async (
  deps: TeamNeeds,
  teamId: TeamId,
  userId: UserId,
  role: Role,
  cause: Cause,
): Promise<void> => {
  const { teamMembersMax: membersMax } = deps.limits;
  await changeMembers(
    deps,
    teamId,
    { type: 'AddMember', at: cause.at, by: 'operator', userId, role, membersMax },
    cause,
  );
};

export const changeMember = async (
  deps: TeamNeeds,
  caller: Caller,
  userId: UserId,
  role: Role,
): Promise<MemberRecord> => {
  const cause = causeOf(deps, caller);
  const team = await changeMembers(
    deps,
    caller.teamId,
    { type: 'ChangeRole', at: cause.at, by: byOf(caller), userId, role },
    cause,
  );
  return memberRecordOf(deps, userId, team.members!.get(userId)!);
};

/**
 * The API keys that the person created, and those that these keys created, go on unless `revokeKeys` is true. Keys are
 * revoked first, so that a call that broke off can be repeated, and once more after the removal, in case one was
 * created meanwhile.
 */
export const removeMember = async (
  deps: TeamNeeds,
  caller: Caller,
  userId: UserId,
  { revokeKeys = false }: RemoveMemberQuery = {},
): Promise<RemovedMember> => {
  const { teamId } = caller;
  const cause = causeOf(deps, caller);
  const command: MemberCommand = { type: 'RemoveMember', at: cause.at, by: byOf(caller), userId };
  if (!revokeKeys) {
    await changeMembers(deps, teamId, command, cause);
    return { userId, removed: true, keys: [...(await keysCreatedBy(deps, teamId, userId))] };
  }
  // Throws what the removal would be refused for.
  memberDecider.decide(command, (await loadState(deps.eventLog, teamStream(teamId), memberDecider)).state);
  const before = await revokeKeysCreatedBy(deps, caller, userId);
  await changeMembers(deps, teamId, command, cause);
  return { userId, removed: true, keys: [...before, ...(await revokeKeysCreatedBy(deps, caller, userId))] };
};

/**
 * Removes the caller from the team. The answer lists the API keys that the caller created, and those that these keys
 * created: they go on.
 */
export const leaveTeam = async (deps: TeamNeeds, caller: Caller): Promise<RemovedMember> => {
  const by = byOf(caller);
  if (by === 'operator')
    throw new DomainError('FORBIDDEN', 'The operator is not a member of a team, so this change needs a user.');
  const cause = causeOf(deps, caller);
  await changeMembers(deps, caller.teamId, { type: 'LeaveTeam', at: cause.at, userId: by, reason: 'left' }, cause);
  return { userId: by, removed: true, keys: [...(await keysCreatedBy(deps, caller.teamId, by))] };
};

/** Removes an erased user. Rejects with LAST_OWNER if the team is not deleted and would have no owner. */
export const removeErased = async (deps: TeamNeeds, teamId: TeamId, userId: UserId, cause: Cause): Promise<void> =>
  void (await changeMembers(deps, teamId, { type: 'LeaveTeam', at: cause.at, userId, reason: 'erased' }, cause));

export const transferOwnership = async (
  deps: TeamNeeds,
  caller: Caller,
  to: UserId,
): Promise<{ data: MemberRecord[] }> => {
  const by = byOf(caller);
  if (by === 'operator') throw new DomainError('FORBIDDEN', 'An owner hands the team on.');
  const cause = causeOf(deps, caller);
  await changeMembers(deps, caller.teamId, { type: 'TransferOwnership', at: cause.at, by, to }, cause);
  return listMembers(deps, caller);
};

/** A page of the list of what was changed, with the names of people, which no read model has. */
export const describeActivity = async (deps: TeamNeeds, page: readonly ActivityListing[]): Promise<TeamActivity[]> => {
  const nameOf = namesOfPeople(deps);
  return Promise.all(
    page.map(async (listing) => {
      const { eventId, at, kind, target, id, name, role } = listing;
      return {
        id: eventId,
        at,
        kind,
        actor: await actorOf(deps, nameOf, listing),
        target: { type: target, id, name: target === 'member' ? await nameOf(id) : name },
        ...(role === undefined ? {} : { role }),
      };
    }),
  );
};

/** The actor of a change to the team. Throws FORBIDDEN for a key or an app, which are no members. */
export const byOf = ({ user, key, app }: Caller): By => {
  if (user !== undefined && app === undefined) return user.id;
  if (key === undefined && app === undefined) return 'operator';
  throw new DomainError('FORBIDDEN', 'Teams are changed by their members, not by keys and apps.');
};

/** The terms of a team that these events make metered; undefined: it was so before, or will not be. */
const termsWhenMetered = (before: TeamState, events: readonly TeamEvent[]): Terms | undefined => {
  if (before?.billing !== 'unmetered') return undefined;
  const after = events.reduce<TeamState>(evolveTeam, before);
  return after && termsOf(after);
};

const changeMembers = async (deps: TeamNeeds, teamId: TeamId, command: MemberCommand, cause: Cause): Promise<Team> => {
  const { state, events } = await handle(deps.eventLog, teamStream(teamId), memberDecider, command, {
    ...cause,
    teamId,
  });
  if (events.length > 0) await deps.whenHeldEverywhere();
  if (state === undefined) throw teamNotFound();
  return state;
};

/** A member with their current name and address; without them once the user is erased. */
const memberRecordOf = async (deps: TeamNeeds, userId: UserId, { role, since }: Member): Promise<MemberRecord> => {
  const { state: user } = await loadState(deps.eventLog, userStream(userId), userDecider);
  return {
    userId,
    name: user?.name ?? null,
    email: user?.email ?? null,
    role,
    since,
    secondFactor: user?.secondFactor !== undefined,
  };
};

const namesOfPeople = (deps: TeamNeeds): NameOf => {
  const known = new Map<string, Promise<string | null>>();
  const read = async (text: string): Promise<string | null> => {
    const id = parseUserId(text);
    return id === undefined
      ? null
      : ((await loadState(deps.eventLog, userStream(id), userDecider)).state?.name ?? null);
  };
  return (userId) => {
    const name = known.get(userId) ?? read(userId);
    known.set(userId, name);
    return name;
  };
};

/** The app of the grant under which it acted. */
const appOf = async (deps: TeamNeeds, text: string): Promise<Actor> => {
  const grantId = parseOAuthGrantId(text);
  const grant = grantId && (await deps.oauthGrant(oauthGrantStream(grantId))).state;
  if (grant === undefined) return { type: 'app', id: null, name: null };
  const { state: app } = await deps.oauthApp(oauthClientStream(grant.clientId));
  const name = grant.clientId === CLI_CLIENT_ID ? commandLineApp.name : (grant.clientName ?? app?.name ?? null);
  return { type: 'app', id: grant.clientId, name };
};

const actorOf = async (deps: TeamNeeds, nameOf: NameOf, { actor, actorName }: ActivityListing): Promise<Actor> => {
  const at = actor.indexOf(':');
  const [kind, id] = at < 0 ? [actor, ''] : [actor.slice(0, at), actor.slice(at + 1)];
  if (kind === 'user') return { type: 'user', id, name: await nameOf(id) };
  if (kind === 'apiKey') return { type: 'api-key', id, name: actorName };
  if (kind === 'grant') return appOf(deps, id);
  return { type: kind === 'cli' ? 'operator' : 'service', id: null, name: null };
};

const noBrand = { logo: null, accent: null, background: null, text: null };

const teamRecordOf = (id: TeamId, team: Team, caller: Caller): TeamRecord => {
  const { settings, billing, brand = {}, plan, createdAt, members, requiresSecondFactor, revision } = team;
  const { name, defaultFrom, company } = settings;
  const role = caller.user === undefined ? undefined : members?.get(caller.user.id)?.role;
  return {
    id,
    name,
    role: role ?? null,
    defaultFrom: { ...defaultFrom },
    company: { ...company },
    brand: { ...noBrand, ...brand, contrast: contrastsOf(brand) },
    requiresSecondFactor: requiresSecondFactor === true,
    billing,
    plan: plan ?? null,
    memberCount: members?.size ?? 0,
    revision,
    createdAt,
  };
};

const applyToTeam = async (
  deps: TeamNeeds,
  id: TeamId,
  command: TeamCommand,
  cause: Cause,
  expected?: ExpectedRevisions,
): Promise<Team> => {
  const guard = ({ state }: Readonly<{ state: TeamState }>): void => {
    if (state !== undefined) requireRevision(state.revision, expected, 'team');
  };
  const { state, events } = await handle(
    deps.eventLog,
    teamStream(id),
    teamDecider,
    command,
    { ...cause, teamId: id },
    guard,
  );
  if (events.length > 0 && command.type !== 'FoundTeam') await deps.whenHeldEverywhere();
  if (state === undefined) throw teamNotFound();
  return state;
};

/** The teams among these that the person owns now. */
const teamsOwnedBy = async (deps: TeamNeeds, owner: UserId, teams: readonly TeamId[]): Promise<readonly Team[]> => {
  const owned: Team[] = [];
  for (const id of teams) {
    const { state } = await deps.team(teamStream(id));
    if (state?.members?.get(owner)?.role === 'owner') owned.push(state);
  }
  return owned;
};

/**
 * How many teams a person may own: the maximum of the most generous plan among the teams they own. An unmetered team
 * allows any number, and a team without a plan does not count.
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
  return assertDefined(
    boundOf(limits.includes(undefined) ? undefined : most, { maximum: teamsOwnedMax, refused }),
    'bound',
  );
};

/**
 * Gives a person another team to own. A place for it is taken first, in a stream of the person, so that parallel calls
 * do not exceed the bound.
 */
const asAnotherTeam = async <Made>(
  deps: TeamNeeds,
  caller: Caller,
  { owner, teams, id }: AnotherTeam,
  make: () => Promise<Made>,
): Promise<Made> => {
  const bound = boundOfOwned(await teamsOwnedBy(deps, owner, teams), deps.limits.teamsOwnedMax);
  const standingOf = async (key: string): Promise<Standing> => {
    const { state } = await loadState(
      deps.eventLog,
      teamStream(assertDefined(parseTeamId(key), 'team id')),
      teamDecider,
    );
    if (state === undefined) return 'absent';
    return state.deletedAt === undefined && state.members?.get(owner)?.role === 'owner' ? 'living' : 'gone';
  };
  const places = openPlaces(deps, { ...caller, teamId: NO_TEAM }, `teams.${owner}`, owner);
  return inPlace(places, { key: id, standingOf, all: async () => teams, isAllAsked: true }, bound, make);
};
