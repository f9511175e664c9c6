/** Commands on the billing of a team: noting its use, reading what it may still send, and adding credits. */
import { handle } from '../core/handle.js';
import type { BillingNeeds } from './credits.js';
import { teamUseDecider, isUseWorthNoting } from '../../domain/billing/team-use.js';
import { teamUseStream, teamStream, type TeamId, type UserId } from '../../domain/core/ids.js';
import type { Cause } from '../../event-log/event-log.js';
import { type Caller, assertNoTestKey, causeOf } from '../core/caller.js';
import type { QuotaStatus } from './credits.js';
import type { AddCreditsRequest, AddedCredits } from '../../api/billing.js';
import { CURRENCY, priceOf, type PlanName } from '../../domain/billing/plans.js';
import { invalid } from '../../domain/core/errors.js';
import type { Billing } from '../../domain/teams/state.js';

type Deps = Pick<BillingNeeds, 'eventLog' | 'team' | 'teamUse'>;

const isMetered = async ({ team }: Pick<Deps, 'team'>, teamId: TeamId): Promise<boolean> => {
  const { state } = await team(teamStream(teamId));
  return state !== undefined && state.billing !== 'unmetered';
};

/**
 * Records a use of the team, at most once a day. Does nothing if its keys are disabled or the team is not metered.
 */
export const noteTeamUse = async (deps: Deps, teamId: TeamId, cause: Cause): Promise<void> => {
  const { state } = await deps.teamUse(teamUseStream(teamId));
  if (!isUseWorthNoting(state, cause.at) || !(await isMetered(deps, teamId))) return;
  await handle(deps.eventLog, teamUseStream(teamId), teamUseDecider, { type: 'NoteUse', at: cause.at }, cause);
};

/**
 * Enables a team's API keys again after a year without use. Out: whether they were disabled; resolves when they work in
 * every process.
 */
export const reactivate = async (
  deps: Deps & Pick<BillingNeeds, 'whenHeldEverywhere'>,
  teamId: TeamId,
  cause: Cause,
): Promise<boolean> => {
  const { events } = await handle(
    deps.eventLog,
    teamUseStream(teamId),
    teamUseDecider,
    { type: 'Reactivate', at: cause.at },
    cause,
  );
  if (events.length > 0) await deps.whenHeldEverywhere();
  return events.length > 0;
};

/** Records the login of a member. The login of an owner enables the team's API keys again. */
export const noteLogin = async (
  deps: Deps & Pick<BillingNeeds, 'whenHeldEverywhere'>,
  { teamId, isOwner }: Readonly<{ teamId: TeamId; isOwner: boolean }>,
  cause: Cause,
): Promise<void> => {
  if (isOwner) await reactivate(deps, teamId, cause);
  await noteTeamUse(deps, teamId, cause);
};

/** Records the login of a person for those of the teams of which they are a member. */
export const noteLogins = async (
  deps: Deps & Pick<BillingNeeds, 'whenHeldEverywhere'>,
  userId: UserId,
  teams: readonly TeamId[],
  cause: Omit<Cause, 'teamId'>,
): Promise<void> => {
  for (const teamId of teams) {
    const { state } = await deps.team(teamStream(teamId));
    const role = state?.deletedAt === undefined ? state?.members?.get(userId)?.role : undefined;
    if (role !== undefined) await noteLogin(deps, { teamId, isOwner: role === 'owner' }, { ...cause, teamId });
  }
};

/** Records that the team is metered from now on, or no longer. */
export const noteBilling = async (deps: Deps, teamId: TeamId, metered: boolean, cause: Cause): Promise<void> => {
  const type = metered ? 'NoteUse' : 'Uncount';
  await handle(deps.eventLog, teamUseStream(teamId), teamUseDecider, { type, at: cause.at }, cause);
};

type TeamBilling = Readonly<{ billing: Billing; plan: PlanName | null; quota: QuotaStatus }>;

export const getBilling = async (deps: BillingNeeds, { teamId }: Pick<Caller, 'teamId'>): Promise<TeamBilling> => {
  const { state } = await deps.team(teamStream(teamId));
  if (state === undefined) throw new Error(`team ${teamId} does not exist`);
  return { billing: state.billing, plan: state.plan ?? null, quota: await deps.credits.quote(teamId) };
};

/** Grants credits, or records blocks that were paid elsewhere. Rejects with VALIDATION_ERROR and TEAM_NOT_METERED. */
export const addCredits = async (
  deps: BillingNeeds,
  caller: Caller,
  request: AddCreditsRequest,
): Promise<AddedCredits> => {
  assertNoTestKey(caller, 'adds no credits');
  const { credits, blocks, note } = request;
  const cause = causeOf(deps, caller);
  const common = { at: cause.at, ...(note === undefined ? {} : { note }) };
  if (credits !== undefined && blocks === undefined)
    await deps.credits.change(caller.teamId, { type: 'Grant', ...common, credits }, cause);
  else if (blocks !== undefined && credits === undefined)
    await deps.credits.change(caller.teamId, { type: 'Buy', ...common, blocks }, cause);
  else throw invalid('request body', '', 'must have either `credits` or `blocks`');
  const price = blocks === undefined ? undefined : priceOf(blocks);
  const { creditsRemaining } = await deps.credits.quote(caller.teamId);
  return {
    credits: price?.credits ?? credits!,
    blocks: blocks ?? null,
    priceCents: price?.priceCents ?? null,
    currency: price === undefined ? null : CURRENCY,
    creditsRemaining,
    addedAt: cause.at,
  };
};
