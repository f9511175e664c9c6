/** Whether opens and clicks are recorded: what the team says, and what is pinned with a mail. */
import type { Caller } from '../core/caller.js';
import { handle } from '../core/handle.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { linkBaseOf } from './links.js';
import type { TrackingSettings } from '../../api/tracking.js';
import type { Decider } from '../../domain/core/decider.js';
import { teamStream, type TeamId } from '../../domain/core/ids.js';
import type { TeamEvent } from '../../domain/teams/events.js';
import { evolveTeam, type TeamState } from '../../domain/teams/state.js';
import { firstTracking, NO_TRACKING, type PinnedTracking, type Tracking } from '../../domain/recipients/settings.js';
import type { Cause } from '../../event-log/event-log.js';

/** What is pinned: the first of those given, in this order; undefined where nothing is recorded. Throws PUBLIC_URL_REQUIRED. */
export const pinnedTracking = (
  deps: Pick<CommandDeps, 'linkBase'>,
  ...given: readonly (Tracking | null | undefined)[]
): PinnedTracking | undefined => {
  const { opens, clicks } = firstTracking(...given);
  return opens || clicks ? { opens, clicks, url: linkBaseOf(deps) } : undefined;
};

/** As a field that is there or not. */
export const pinnedPart = (tracking: PinnedTracking | undefined): { tracking?: PinnedTracking } =>
  tracking === undefined ? {} : { tracking };

const decider: Decider<Readonly<{ at: string; tracking: Tracking }>, TeamEvent, TeamState> = {
  decide: ({ at, tracking: { opens, clicks } }, team) => {
    if (team === undefined) throw new Error('the team does not exist');
    const now = team.tracking ?? NO_TRACKING;
    return now.opens === opens && now.clicks === clicks ? [] : [{ type: 'TeamTrackingChanged', data: { at, opens, clicks } }];
  },
  evolve: evolveTeam,
  initialState: undefined,
};

/** Out: what holds for mails that are accepted from now on, in every process. Rejects with PUBLIC_URL_REQUIRED and NOT_DURING_UPDATE. */
export const changeTracking = async (deps: CommandDeps, teamId: TeamId, tracking: Tracking, cause: Cause): Promise<Tracking> => {
  if (tracking.opens || tracking.clicks) linkBaseOf(deps);
  const { state, events } = await handle(deps.eventLog, teamStream(teamId), decider, { at: cause.at, tracking }, cause);
  if (events.length > 0) await deps.whenHeldEverywhere();
  return state?.tracking ?? NO_TRACKING;
};

export const getTracking = async (deps: CommandDeps, { teamId }: Pick<Caller, 'teamId'>): Promise<TrackingSettings> => {
  const { state } = await deps.team(teamStream(teamId));
  return { ...(state?.tracking ?? NO_TRACKING) };
};

export const setTracking = async (deps: CommandDeps, caller: Caller, tracking: TrackingSettings): Promise<TrackingSettings> => ({
  ...(await changeTracking(deps, caller.teamId, tracking, causeOf(deps, caller))),
});
