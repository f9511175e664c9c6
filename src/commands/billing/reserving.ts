/** Credits around the append of what they are for. */
import type { Caller } from '../core/caller.js';
import type { CommandDeps } from '../core/deps.js';
import type { Cost } from './credits.js';
import type { Given } from '../documents/request.js';
import { WHOLE, type Charged } from '../../domain/billing/decider.js';
import { AppendUnknown } from '../../domain/core/errors.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { Cause } from '../../event-log/event-log.js';

/**
 * Before documents are made: what a call costs at least must be there. The reservation settles what it costs, when they are made.
 * Rejects with QUOTA_EXCEEDED.
 */
export const assertAffordable = async (
  deps: Pick<CommandDeps, 'credits'>,
  { teamId }: Pick<Caller, 'teamId'>,
  given: readonly Given[],
): Promise<void> => {
  let attachments = 0;
  // One that does not say its formats has at least one.
  for (const one of given) if (one.kind === 'generated') attachments += one.outputFormats?.length ?? 1;
  if (attachments === 0) return;
  const refusal = (await deps.credits.quote(teamId)).wouldRefuse({ emails: 1, attachments });
  if (refusal !== undefined) throw refusal;
};

type ToReserve = Readonly<{ stream: StreamName; cost: Cost; cause: Cause }>;

/**
 * Reserves for the stream that is appended next. Where it cannot be known whether the reservation was written, that stream is certainly
 * not, and the due work returns what was reserved.
 */
export const reserveFor = async (
  deps: Pick<CommandDeps, 'credits'>,
  { teamId }: Pick<Caller, 'teamId'>,
  { stream, cost, cause }: ToReserve,
): Promise<Charged | undefined> => {
  try {
    return await deps.credits.reserve(teamId, stream, cost, cause);
  } catch (fault) {
    throw fault instanceof AppendUnknown ? new Error('the credits could not be reserved', { cause: fault }) : fault;
  }
};

/** The caller is told of the fault that it met first; what cannot be given back now is returned by the due work. */
export const giveBackQuietly = async (
  deps: Pick<CommandDeps, 'credits'>,
  { teamId }: Pick<Caller, 'teamId'>,
  charged: Charged,
  cause: Cause,
): Promise<void> => {
  try {
    await deps.credits.giveBack(teamId, charged.reference as StreamName, WHOLE, charged, cause);
  } catch {
    return;
  }
};
