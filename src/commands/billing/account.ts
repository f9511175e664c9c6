/** Commands on the account of a team: what it may still send, and what is added to its credits. */
import { handle } from '../core/handle.js';
import { type CommandDeps, causeOf } from '../core/deps.js';
import { activityDecider, isUseWorthNoting } from '../../domain/billing/inactivity.js';
import { activityStream, teamStream, type TeamId, type UserId } from '../../domain/core/ids.js';
import type { Cause } from '../../event-log/event-log.js';
import { type Caller, assertNoTestKey } from '../core/caller.js';
import type { QuotaStatus } from './credits.js';
import type { AddCreditsRequest, AddedCredits } from '../../api/billing.js';
import { CURRENCY, priceOf, type PlanName } from '../../domain/billing/plans.js';
import { invalid } from '../../domain/core/errors.js';
import type { Billing } from '../../domain/teams/state.js';

/* Commands on whether the account of a team is in use: noted by logins, calls and integrations; a team that is not metered has no such account. */

type Deps = Pick<CommandDeps, 'eventLog' | 'team' | 'activity'>;

const isMetered = async ({ team }: Pick<Deps, 'team'>, teamId: TeamId): Promise<boolean> => {
  const { state } = await team(teamStream(teamId));
  return state !== undefined && state.billing !== 'unmetered';
};

/** Notes that somebody uses the account, once a day at most. Does nothing for an account that is disabled. */
export const noteActivity = async (deps: Deps, teamId: TeamId, cause: Cause): Promise<void> => {
  const { state } = await deps.activity(activityStream(teamId));
  if (!isUseWorthNoting(state, cause.at) || !(await isMetered(deps, teamId))) return;
  await handle(deps.eventLog, activityStream(teamId), activityDecider, { type: 'NoteUse', at: cause.at }, cause);
};

/** Lets the keys of a team work again that nobody had used for a year. Out: whether they were disabled, once they work in every process. */
export const reactivate = async (deps: Deps & Pick<CommandDeps, 'whenHeldEverywhere'>, teamId: TeamId, cause: Cause): Promise<boolean> => {
  const { events } = await handle(deps.eventLog, activityStream(teamId), activityDecider, { type: 'Reactivate', at: cause.at }, cause);
  if (events.length > 0) await deps.whenHeldEverywhere();
  return events.length > 0;
};

/** Somebody has logged in at the dashboard, who is a member of the team: an owner lets its keys work again. */
export const noteLogin = async (
  deps: Deps & Pick<CommandDeps, 'whenHeldEverywhere'>,
  { teamId, isOwner }: Readonly<{ teamId: TeamId; isOwner: boolean }>,
  cause: Cause,
): Promise<void> => {
  if (isOwner) await reactivate(deps, teamId, cause);
  await noteActivity(deps, teamId, cause);
};

/** A person has logged in: of the teams that are named, in those of which they are a member. */
export const noteLogins = async (
  deps: Deps & Pick<CommandDeps, 'whenHeldEverywhere'>,
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

/** The team is metered from now on, or is not any more. */
export const noteBilling = async (deps: Deps, teamId: TeamId, metered: boolean, cause: Cause): Promise<void> => {
  const type = metered ? 'NoteUse' : 'Uncount';
  await handle(deps.eventLog, activityStream(teamId), activityDecider, { type, at: cause.at }, cause);
};

type Account = Readonly<{ billing: Billing; plan: PlanName | null; quota: QuotaStatus }>;

export const getAccount = async (deps: CommandDeps, { teamId }: Pick<Caller, 'teamId'>): Promise<Account> => {
  const { state } = await deps.team(teamStream(teamId));
  if (state === undefined) throw new Error(`team ${teamId} does not exist`);
  return { billing: state.billing, plan: state.plan ?? null, quota: await deps.credits.quote(teamId) };
};

/** Grants credits, or records blocks that were paid elsewhere. Rejects with VALIDATION_ERROR and TEAM_NOT_METERED. */
export const addCredits = async (deps: CommandDeps, caller: Caller, request: AddCreditsRequest): Promise<AddedCredits> => {
  assertNoTestKey(caller, 'adds no credits');
  const { credits, blocks, note } = request;
  const cause = causeOf(deps, caller);
  const common = { at: cause.at, ...(note === undefined ? {} : { note }) };
  if (credits !== undefined && blocks === undefined) await deps.credits.change(caller.teamId, { type: 'Grant', ...common, credits }, cause);
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
