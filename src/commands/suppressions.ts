/** Commands on the addresses that a team does not write to. */
import type { Caller } from './caller.js';
import { handle, handleFrom, loadState } from './command-handler.js';
import { causeOf, type CommandDeps } from './deps.js';
import { ownedBy } from './owned-by.js';
import { requireAddress } from './check-request.js';
import { suppressionIdOf } from './suppression-check.js';
import type { Deleted } from '../api/common.js';
import type { AddSuppressionRequest, SuppressionCheck, SuppressionRecord } from '../api/suppressions.js';
import type { Decider } from '../domain/decider.js';
import { assertDefined, suppressionStream, teamStream, type SuppressionId, type TeamId } from '../domain/ids.js';
import {
  suppressionDecider,
  suppressionNotFound,
  type Suppression,
  type SuppressionReason,
  type SuppressionState,
} from '../domain/suppression/state.js';
import type { TeamEvent } from '../domain/team/events.js';
import { evolveTeam, type TeamState } from '../domain/team/state.js';
import type { Cause } from '../event-log/event-log.js';

export type AddressToSuppress = Readonly<{
  teamId: TeamId;
  /** As emails have it, or as `parseAddress` gives it. */
  email: string;
  /** Where it is kept from this list alone. */
  list?: string | undefined;
  reason: SuppressionReason;
  cause: Cause;
  /** When the reason came to be, ISO 8601; default: now. What came to be before the address was last removed suppresses it no more. */
  learnedAt?: string;
  /** The email that was refused or complained about. */
  emailId?: string;
}>;

type Suppressed = Readonly<{ id: SuppressionId; suppression: SuppressionState; isNew: boolean; isFirst: boolean }>;

/**
 * From its end on the team does not write to the address: at once where it had suppressed one before, else when states are fresh in every
 * process (`isFirst`). Safe to repeat. Rejects with NOT_DURING_UPDATE.
 */
export const suppressAddress = async (
  deps: Pick<CommandDeps, 'eventLog' | 'keys' | 'team'>,
  address: AddressToSuppress,
): Promise<Suppressed> => suppressUnder(deps, suppressionIdOf(deps, address.teamId, address.email, address.list), address);

/** The same of an address that may be destroyed: its suppression is known by its id alone then. */
export const suppressUnder = async (
  deps: Pick<CommandDeps, 'eventLog' | 'team'>,
  id: SuppressionId,
  { teamId, email, list, reason, cause, learnedAt, emailId }: Omit<AddressToSuppress, 'email'> & Readonly<{ email?: string }>,
): Promise<Suppressed> => {
  // Before the first address: where the program dies in between, the team asks for nothing.
  const isFirst = await begin(deps, teamId, cause);
  const command = { type: 'Suppress' as const, at: cause.at, learnedAt, reason, emailId, list, address: email };
  const { state, events } = await handle(deps.eventLog, suppressionStream(id), suppressionDecider, command, cause);
  return { id, suppression: state, isNew: events.length > 0, isFirst };
};

const beginning: Decider<string, TeamEvent, TeamState> = {
  decide: (at, team) => (team === undefined || team.hasSuppressions === true ? [] : [{ type: 'TeamSuppressionsBegan', data: { at } }]),
  evolve: evolveTeam,
  initialState: undefined,
};

const begin = async (deps: Pick<CommandDeps, 'eventLog' | 'team'>, teamId: TeamId, cause: Cause): Promise<boolean> => {
  const stream = teamStream(teamId);
  const known = await deps.team(stream);
  if (known.state?.hasSuppressions === true) return false;
  return (await handleFrom(known, deps.eventLog, stream, beginning, cause.at, cause)).events.length > 0;
};

const recordOf = (id: SuppressionId, { address, list, reason, emailId, at }: Suppression): SuppressionRecord => ({
  id,
  email: address ?? null,
  list,
  reason,
  emailId,
  createdAt: at,
});

/** An address that is suppressed already stays as it is. Rejects with ERR_EMAIL_001. */
export const addSuppression = async (
  deps: CommandDeps,
  caller: Caller,
  { email, list }: AddSuppressionRequest,
): Promise<SuppressionRecord> => {
  const address = requireAddress(email, 'email');
  const cause = causeOf(deps, caller);
  const { id, suppression, isFirst } = await suppressAddress(deps, {
    teamId: caller.teamId,
    email: address,
    list,
    reason: 'manual',
    cause,
  });
  if (isFirst) await deps.whenHeldEverywhere();
  return recordOf(id, assertDefined(suppression, 'suppression'));
};

/** Rejects with SUPPRESSION_NOT_FOUND. */
export const removeSuppression = async (deps: CommandDeps, caller: Caller, id: SuppressionId): Promise<Deleted> => {
  const cause = causeOf(deps, caller);
  const command = { type: 'RemoveSuppression' as const, at: cause.at };
  const guard = ownedBy(caller.teamId, suppressionNotFound);
  await handle(deps.eventLog, suppressionStream(id), suppressionDecider, command, cause, guard);
  return { id, deleted: true };
};

/** Whether the team writes to that address now; with a list, whether mails of that list are kept from it, or all. Rejects with ERR_EMAIL_001. */
export const checkSuppression = async (deps: CommandDeps, { teamId }: Caller, email: string, list?: string): Promise<SuppressionCheck> => {
  const address = requireAddress(email, 'email');
  const ids = [suppressionIdOf(deps, teamId, address), ...(list === undefined ? [] : [suppressionIdOf(deps, teamId, address, list)])];
  const [suppression = null] = await readSuppressions(deps, { teamId }, ids);
  return { email: address, suppressed: suppression !== null, suppression };
};

/** Of these ids those that are suppressed, in their order: the addresses are nowhere but in the streams. */
export const readSuppressions = async (
  deps: CommandDeps,
  { teamId: owner }: Pick<Caller, 'teamId'>,
  ids: readonly SuppressionId[],
): Promise<readonly SuppressionRecord[]> => {
  const loaded = await Promise.all(ids.map((id) => loadState(deps.eventLog, suppressionStream(id), suppressionDecider)));
  return loaded.flatMap(({ state, teamId }, index) =>
    state?.isSuppressed === true && teamId === owner ? [recordOf(ids[index]!, state)] : [],
  );
};
