/** People as they see themselves, and as those of their teams see them. */
import type { Caller } from '../core/caller.js';
import { handle, loadState } from '../core/handle.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { userFold } from './addresses.js';
import { userRecordOf } from './records.js';
import type { Colleague, UpdateUserRequest, UserRecord } from '../../api/people.js';
import { NO_TEAM, teamStream, userStream, type TeamId, type UserId } from '../../domain/core/ids.js';
import type { UserEvent } from '../../domain/people/events.js';
import { userNotFound, type User, type UserState } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';

/** The person who calls, or on whose behalf an app does. Rejects with USER_NOT_FOUND where an app calls for itself. */
export const personOf = ({ user }: Caller): UserId => {
  if (user === undefined) throw userNotFound();
  return user.id;
};

/** What people do to their own account belongs to no team, whichever they call for. */
export const ownCause = (deps: CommandDeps, caller: Caller): Cause => causeOf(deps, { ...caller, teamId: NO_TEAM });

/** Rejects with USER_NOT_FOUND. */
export const loadUser = async (deps: Pick<CommandDeps, 'eventLog'>, id: UserId): Promise<User> => {
  const { state } = await loadState(deps.eventLog, userStream(id), userFold);
  if (state === undefined || state.isErased) throw userNotFound();
  return state;
};

export const getOwnUser = async (deps: CommandDeps, caller: Caller): Promise<UserRecord> => {
  const id = personOf(caller);
  return userRecordOf(id, await loadUser(deps, id));
};

export const updateOwnUser = async (deps: CommandDeps, caller: Caller, { name }: UpdateUserRequest): Promise<UserRecord> => {
  const id = personOf(caller);
  const cause = ownCause(deps, caller);
  const decide = (_: null, user: UserState): readonly UserEvent[] => {
    if (user === undefined || user.isErased) throw userNotFound();
    return name === undefined || name === user.name ? [] : [{ type: 'UserProfileChanged', data: { at: cause.at }, sealed: { name } }];
  };
  const { state } = await handle(deps.eventLog, userStream(id), { decide, ...userFold }, null, cause);
  return userRecordOf(id, state!);
};

/** `teamsOf`: the teams of a person, as far as they are known; each is asked itself whether both are in it. Rejects with USER_NOT_FOUND. */
export const getUser = async (
  deps: CommandDeps,
  caller: Caller,
  id: UserId,
  teamsOf: (userId: UserId) => Promise<readonly TeamId[]>,
): Promise<Colleague> => {
  const own = personOf(caller);
  if (own !== id && !(await areTogether(deps, [own, id], await teamsOf(own)))) throw userNotFound();
  const { email = null, name = null } = await loadUser(deps, id);
  return { id, email, name };
};

const areTogether = async (deps: CommandDeps, people: readonly UserId[], teams: readonly TeamId[]): Promise<boolean> => {
  for (const teamId of teams) {
    const { state } = await deps.team(teamStream(teamId));
    if (people.every((id) => state?.members?.has(id) === true)) return true;
  }
  return false;
};
