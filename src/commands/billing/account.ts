/** Commands on the account of a team: what it may still send, and what is added to its credits. */
import type { Caller } from '../core/caller.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import type { QuotaStatus } from './credits.js';
import { assertNoTestKey } from '../core/test-keys.js';
import type { AddCreditsRequest, AddedCredits } from '../../api/billing.js';
import { CURRENCY, priceOf } from '../../domain/billing/prices.js';
import type { PlanName } from '../../domain/billing/plans.js';
import { invalid } from '../../domain/core/errors.js';
import { teamStream } from '../../domain/core/ids.js';
import type { Billing } from '../../domain/teams/state.js';

export type Account = Readonly<{ billing: Billing; plan: PlanName | null; quota: QuotaStatus }>;

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
