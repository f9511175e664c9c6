/** Whether a team is there: how it is refused to whoever is not in it, and whether it is deleted. */
import type { CommandDeps } from './deps.js';
import { assertDefined, parseTeamId, teamStream } from '../../domain/core/ids.js';
import type { MaybePromise } from '../../domain/core/maybe-promise.js';

export { teamNotFound } from '../../domain/teams/decider.js';

/** The same, as yes or no. */
export const isTeamDeleted = (deps: Pick<CommandDeps, 'team'>, teamId: string): MaybePromise<boolean> => {
  const deleted = deletedAtOf(deps, teamId);
  return deleted instanceof Promise ? deleted.then((at) => at !== undefined) : deleted !== undefined;
};

/** undefined of one that lives. It is no promise where the team is at hand. */
export const deletedAtOf = ({ team }: Pick<CommandDeps, 'team'>, teamId: string): MaybePromise<string | undefined> => {
  const loaded = team(teamStream(assertDefined(parseTeamId(teamId), 'team id')));
  return loaded instanceof Promise ? loaded.then(({ state }) => state?.deletedAt) : loaded.state?.deletedAt;
};
