/** Commands on a team's settings: its default sender, what the company constants of templates say, and how it is billed. */
import { noteBilling } from '../billing/activity.js';
import { requireAddress } from '../../domain/mime/required-address.js';
import type { CommandDeps } from '../core/deps.js';
import { handle } from '../core/handle.js';
import { plans, type PlanName } from '../../domain/billing/plans.js';
import type { Decider } from '../../domain/core/decider.js';
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import type { Cause } from '../../event-log/event-log.js';
import { teamStream, type TeamId } from '../../domain/core/ids.js';
import type { TeamEvent, TeamSettings } from '../../domain/teams/events.js';
import { teamDecider, type TeamChanges } from '../../domain/teams/lifecycle.js';
import { evolveTeam, type Billing, type Team, type TeamState } from '../../domain/teams/state.js';

/** Out: the settings after the change. Throws ERR_EMAIL_001 for a sender that is no address. */
export const changeTeam = async (deps: CommandDeps, teamId: TeamId, changes: TeamChanges, cause: Cause): Promise<TeamSettings> => {
  const { defaultFrom } = changes;
  const checked =
    defaultFrom === undefined ? changes : { ...changes, defaultFrom: { ...defaultFrom, email: requireAddress(defaultFrom.email, 'from') } };
  const command = { type: 'ChangeTeam' as const, at: cause.at, by: 'operator' as const, changes: checked };
  const { state } = await handle(deps.eventLog, teamStream(teamId), teamDecider, command, cause);
  return state!.settings;
};

export type { TeamChanges } from '../../domain/teams/lifecycle.js';

/** `plan` and `emailsPerMonth`: null takes what there is away; absent leaves it. */
export type BillingChanges = Readonly<{ billing?: Billing; plan?: PlanName | null; emailsPerMonth?: number | null }>;

const billingDecider: Decider<Readonly<{ at: string; changes: BillingChanges }>, TeamEvent, TeamState> = {
  decide: ({ at, changes }, team) => {
    if (team === undefined) throw new Error('the team does not exist');
    const before = { billing: team.billing, plan: team.plan ?? null, emailsPerMonth: team.emailsPerMonth ?? null };
    const after = { ...before, ...changes };
    if (after.billing === 'plan' && after.plan === null) throw noPlan();
    return JSON.stringify(after) === JSON.stringify(before) ? [] : [{ type: 'TeamBillingChanged', data: { at, ...after } }];
  },
  evolve: evolveTeam,
  initialState: undefined,
};

const noPlan = (): DomainError => {
  const errors: readonly FieldError[] = [{ field: 'plan', message: `must be one of ${Object.keys(plans).join(', ')}` }];
  return new DomainError('VALIDATION_ERROR', 'A team that is billed by its plan needs one.', { errors });
};

/** Out: the team after the change, when it holds in every process; one that is billed by credits has those of the signup then. */
export const changeBilling = async (deps: CommandDeps, teamId: TeamId, changes: BillingChanges, cause: Cause): Promise<Team> => {
  const { state, events } = await handle(deps.eventLog, teamStream(teamId), billingDecider, { at: cause.at, changes }, cause);
  // Another process may bill as before for as long as its states are fresh.
  if (events.length > 0) {
    await deps.whenHeldEverywhere();
    // From here on it counts how long nobody uses the account, or not any more.
    await noteBilling(deps, teamId, state!.billing !== 'unmetered', cause);
  }
  if (state!.billing === 'credits') await deps.credits.change(teamId, { type: 'OpenAccount', at: cause.at }, cause);
  return state!;
};
