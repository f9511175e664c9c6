/** Commands on a team's settings: its default sender and what the company constants of templates say. */
import { requireAddress } from './check-request.js';
import type { CommandDeps } from './deps.js';
import { handle } from './command-handler.js';
import type { Decider } from '../domain/decider.js';
import type { Cause } from '../event-log/event-log.js';
import { teamStream, type TeamId } from '../domain/ids.js';
import type { Company } from '../domain/ports/renderer.js';
import type { TeamEvent, TeamSettings } from '../domain/team/events.js';
import { evolveTeam, type TeamState } from '../domain/team/state.js';
import type { Recipient } from '../domain/recipient.js';

export type TeamChanges = Readonly<{ name?: string; defaultFrom?: Recipient; company?: Partial<Company> }>;

const decider: Decider<Readonly<{ at: string; changes: TeamChanges }>, TeamEvent, TeamState> = {
  decide: ({ at, changes }, team) => {
    if (team === undefined) throw new Error('the team does not exist');
    const settings: TeamSettings = {
      name: changes.name ?? team.settings.name,
      defaultFrom: changes.defaultFrom ?? team.settings.defaultFrom,
      company: { ...team.settings.company, ...changes.company },
    };
    return JSON.stringify(settings) === JSON.stringify(team.settings) ? [] : [{ type: 'TeamSettingsChanged', data: { at, settings } }];
  },
  evolve: evolveTeam,
  initialState: undefined,
};

/** Out: the settings after the change. Throws ERR_EMAIL_001 for a sender that is no address. */
export const changeTeam = async (deps: CommandDeps, teamId: TeamId, changes: TeamChanges, cause: Cause): Promise<TeamSettings> => {
  const { defaultFrom } = changes;
  const checked =
    defaultFrom === undefined ? changes : { ...changes, defaultFrom: { ...defaultFrom, email: requireAddress(defaultFrom.email, 'from') } };
  const { state } = await handle(deps.eventLog, teamStream(teamId), decider, { at: cause.at, changes: checked }, cause);
  return state!.settings;
};
