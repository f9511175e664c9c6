/** Tracking of opens and clicks: the setting of a team, and the one that is pinned with an accepted email. */
import type { TrackingSettings } from '../../api/recipients.js';
import { emailStream, teamStream, type EmailId, type TeamId } from '../../domain/core/ids.js';
import { firstTracking, NO_TRACKING, type PinnedTracking, type Tracking } from '../../domain/recipients/tracking.js';
import { teamDecider } from '../../domain/teams/decider.js';
import { boundedCache, type BoundedCache } from '../../shared/cache.js';
import type { Cause } from '../../event-log/event-log.js';
import { causeOf, type Caller } from '../core/caller.js';
import type { RecipientNeeds } from './needs.js';
import { handle } from '../core/handle.js';
import { linkBaseOf } from './unsubscribe.js';

/**
 * The setting that is stored with an email: the first given. undefined if nothing is recorded. Throws
 * PUBLIC_URL_REQUIRED.
 */
export const pinnedTracking = (
  deps: Pick<RecipientNeeds, 'linkBase'>,
  ...given: readonly (Tracking | null | undefined)[]
): PinnedTracking | undefined => {
  const { opens, clicks } = firstTracking(...given);
  return opens || clicks ? { opens, clicks, url: linkBaseOf(deps) } : undefined;
};

/** The setting as an optional field. */
export const pinnedPart = (tracking: PinnedTracking | undefined): { tracking?: PinnedTracking } =>
  tracking === undefined ? {} : { tracking };

/**
 * Sets what is recorded for emails that are accepted from now on; resolves when it applies in every process. Rejects
 * with PUBLIC_URL_REQUIRED and NOT_DURING_UPDATE.
 */
export const changeTracking = async (
  deps: RecipientNeeds,
  teamId: TeamId,
  tracking: Tracking,
  cause: Cause,
): Promise<Tracking> => {
  if (tracking.opens || tracking.clicks) linkBaseOf(deps);
  const { state, events } = await handle(
    deps.eventLog,
    teamStream(teamId),
    teamDecider,
    { type: 'ChangeTracking', at: cause.at, tracking },
    cause,
  );
  if (events.length > 0) await deps.whenHeldEverywhere();
  return state?.tracking ?? NO_TRACKING;
};

/** Teams of emails that were asked for last: readers follow several links of one mail. */
const TEAMS_MAX = 10_000;
const teamsIn = new WeakMap<RecipientNeeds['eventLog'], BoundedCache<EmailId, string>>();

/** The team that sent the email; undefined: there is no such email. */
export const teamOfEmail = async (
  { eventLog }: Pick<RecipientNeeds, 'eventLog'>,
  id: EmailId,
): Promise<string | undefined> => {
  const teams = teamsIn.get(eventLog) ?? boundedCache<EmailId, string>({ entriesMax: TEAMS_MAX });
  teamsIn.set(eventLog, teams);
  const known = teams.get(id);
  if (known !== undefined) return known;
  const [first] = await eventLog.load(emailStream(id), 0, []);
  const team = first?.metadata.teamId;
  if (team !== undefined) teams.set(id, team);
  return team;
};

export const getTracking = async (
  deps: RecipientNeeds,
  { teamId }: Pick<Caller, 'teamId'>,
): Promise<TrackingSettings> => {
  const { state } = await deps.team(teamStream(teamId));
  return { ...(state?.tracking ?? NO_TRACKING) };
};

export const setTracking = async (
  deps: RecipientNeeds,
  caller: Caller,
  tracking: TrackingSettings,
): Promise<TrackingSettings> => ({
  ...(await changeTracking(deps, caller.teamId, tracking, causeOf(deps, caller))),
});
