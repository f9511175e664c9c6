import type { Caller } from './caller.js';
import type { CommandDeps } from './deps.js';
import { loadState, type Loaded } from './handle.js';
import { permissions } from '../../domain/access/key-permissions.js';
import { INSTANCE_STREAM, assertDefined, parseTeamId, type TeamId } from '../../domain/core/ids.js';
import { evolveInstance, type InstanceState } from '../../domain/teams/state.js';

/** The id of the first team, or undefined before the first start is done. */
export const firstTeam = async (deps: Pick<CommandDeps, 'eventLog'>): Promise<TeamId | undefined> => {
  const { state } = await loadInstance(deps);
  return state === undefined ? undefined : assertDefined(parseTeamId(state), 'team id');
};

export const loadInstance = ({ eventLog }: Pick<CommandDeps, 'eventLog'>): Promise<Loaded<InstanceState>> =>
  loadState(eventLog, INSTANCE_STREAM, { evolve: evolveInstance, initialState: undefined as InstanceState });

/** A caller that is the program itself, on behalf of a team. */
export const systemCaller = (teamId: TeamId, actor: string, correlationId: string): Caller => ({
  teamId,
  actor,
  permissions,
  correlationId,
});
