/** Users: how an address is claimed and given up, and the profile that users see and change. */
import { changeUser, loadUser, personOf } from '../access/users.js';
import { addressTaken, isKeptBy, userAddressDecider, userDecider } from '../../domain/people/decider.js';
import { handle, loadState } from '../core/handle.js';
import type { TeamNeeds } from '../teams/needs.js';
import { WrongExpectedRevision } from '../../domain/core/errors.js';
import {
  assertDefined,
  parseUserId,
  sessionStream,
  userAddressStream,
  userStream,
  type UserId,
  NO_TEAM,
  teamStream,
  type TeamId,
} from '../../domain/core/ids.js';
import { mayChoosePassword, type User, userNotFound } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';
import type { UserRecord, Colleague, UpdateUserRequest } from '../../api/people.js';
import { causeOf, type Caller } from '../core/caller.js';

/**
 * Claims the address before the person gets it; `confirmAddress` follows afterwards. A claim that was broken off, so
 * that its person does not exist or does not use the address, is taken over; its own confirmation notices that. Throws
 * ADDRESS_TAKEN.
 */
export const claimAddress = async (deps: TeamNeeds, addressId: string, userId: UserId, cause: Cause): Promise<void> => {
  const stream = userAddressStream(addressId);
  const { state: owner, version } = await loadState(deps.eventLog, stream, userAddressDecider);
  if (owner !== undefined && owner !== userId) {
    const { state } = await loadState(
      deps.eventLog,
      userStream(assertDefined(parseUserId(owner), 'user id')),
      userDecider,
    );
    if (state !== undefined && isKeptBy(state, addressId, cause.at)) throw addressTaken();
  }
  try {
    // Not by `handle`: whether the address is free depends on the stream of its owner; who was slower does not get it.
    await deps.eventLog.append(
      stream,
      version,
      userAddressDecider.decide({ type: 'ClaimAddress', at: cause.at, userId }, owner),
      cause,
    );
  } catch (fault) {
    if (fault instanceof WrongExpectedRevision) throw addressTaken();
    throw fault;
  }
};

/**
 * Renews the claim once the person has the address, so that a call that wants to take it over fails. Out: false if it
 * was taken over before.
 */
export const confirmAddress = async (
  deps: TeamNeeds,
  addressId: string,
  userId: UserId,
  cause: Cause,
): Promise<boolean> => {
  const { events } = await handle(
    deps.eventLog,
    userAddressStream(addressId),
    userAddressDecider,
    { type: 'ConfirmAddress', at: cause.at, userId },
    cause,
  );
  return events.length > 0;
};

/** Gives the address up where the person still has it. */
export const releaseAddress = async (
  deps: TeamNeeds,
  addressId: string,
  userId: UserId,
  cause: Cause,
): Promise<void> => {
  await handle(
    deps.eventLog,
    userAddressStream(addressId),
    userAddressDecider,
    { type: 'ReleaseAddress', at: cause.at, userId },
    cause,
  );
};

/** A user as they see themselves. */
export const userRecordOf = (id: UserId, user: User): UserRecord => ({
  id,
  email: user.email ?? null,
  name: user.name ?? null,
  emailVerified: user.isVerified,
  secondFactor: user.secondFactor !== undefined,
  operator: user.isOperator,
  createdAt: user.registeredAt,
});

/** Events of a person's own account belong to no team, whichever team the call names. */
export const ownCause = (deps: TeamNeeds, caller: Caller): Cause => causeOf(deps, { ...caller, teamId: NO_TEAM });

export const getOwnUser = async (deps: TeamNeeds, caller: Caller): Promise<UserRecord> => {
  const id = personOf(caller);
  const user = await loadUser(deps, id);
  const sessionId = caller.user?.sessionId;
  const session = sessionId === undefined ? undefined : (await deps.session(sessionStream(sessionId))).state;
  const record = userRecordOf(id, user);
  return mayChoosePassword(user, session) ? { ...record, mayChoosePassword: true } : record;
};

export const updateOwnUser = async (
  deps: TeamNeeds,
  caller: Caller,
  { name }: UpdateUserRequest,
): Promise<UserRecord> => {
  const id = personOf(caller);
  const cause = ownCause(deps, caller);
  const { state } =
    name === undefined
      ? { state: await loadUser(deps, id) }
      : await changeUser(deps, id, { type: 'ChangeName', at: cause.at, name }, cause);
  return userRecordOf(id, state!);
};

/**
 * `teamsOf`: the teams of a person, from a read model; each team is asked whether both are in it. Rejects with
 * USER_NOT_FOUND.
 */
export const getUser = async (
  deps: TeamNeeds,
  caller: Caller,
  id: UserId,
  teamsOf: (userId: UserId) => Promise<readonly TeamId[]>,
): Promise<Colleague> => {
  const own = personOf(caller);
  if (own !== id && !(await areTogether(deps, [own, id], await teamsOf(own)))) throw userNotFound();
  const { email = null, name = null } = await loadUser(deps, id);
  return { id, email, name };
};

const areTogether = async (deps: TeamNeeds, people: readonly UserId[], teams: readonly TeamId[]): Promise<boolean> => {
  for (const teamId of teams) {
    const { state } = await deps.team(teamStream(teamId));
    if (people.every((id) => state?.members?.has(id) === true)) return true;
  }
  return false;
};
