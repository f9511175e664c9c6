/** Users: how an address is claimed and given up, and the profile that users see and change. */
import { loadUser, personOf, userAddressFold, userFold } from '../access/users.js';
import { handle, loadState } from '../core/handle.js';
import type { TeamNeeds } from '../teams/needs.js';
import { DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import {
  assertDefined,
  parseUserId,
  userAddressStream,
  userStream,
  type UserId,
  NO_TEAM,
  teamStream,
  type TeamId,
} from '../../domain/core/ids.js';
import { type User, type UserAddressState, type UserState, userNotFound } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';
import type { UserRecord, Colleague, UpdateUserRequest } from '../../api/people.js';
import { causeOf, type Caller } from '../core/caller.js';
import type { UserEvent } from '../../domain/people/events.js';

export const addressTaken = (): DomainError =>
  new DomainError('ADDRESS_TAKEN', 'This address is that of a user. Sign in, or choose another.', {
    errors: [{ field: 'email', message: 'is taken' }],
  });

/** Whether the person who claimed the address has it, or is taking it right now: they followed the link that changes their address. */
const isKeptBy = ({ addressId, nextAddress, isErased }: User, claimed: string, at: string): boolean => {
  if (isErased) return false;
  // The link may have been followed in its last moment.
  const isNext = nextAddress?.addressId === claimed && Date.parse(at) < Date.parse(nextAddress.expiresAt) + 60_000;
  return addressId === claimed || isNext;
};

/**
 * Claims the address before the person gets it; `confirmAddress` follows afterwards. A claim that was broken off, so that its person does not
 * exist or does not use the address, is taken over; its own confirmation notices that. Throws ADDRESS_TAKEN.
 */
export const claimAddress = async (deps: TeamNeeds, addressId: string, userId: UserId, cause: Cause): Promise<void> => {
  const stream = userAddressStream(addressId);
  const { state: owner, version } = await loadState(deps.eventLog, stream, userAddressFold);
  if (owner !== undefined && owner !== userId) {
    const { state } = await loadState(deps.eventLog, userStream(assertDefined(parseUserId(owner), 'user id')), userFold);
    if (state !== undefined && isKeptBy(state, addressId, cause.at)) throw addressTaken();
  }
  try {
    await deps.eventLog.append(stream, version, [{ type: 'UserAddressClaimed', data: { at: cause.at, userId } }], cause);
  } catch (fault) {
    if (fault instanceof WrongExpectedRevision) throw addressTaken();
    throw fault;
  }
};

/** Renews the claim once the person has the address, so that a call that wants to take it over fails. Out: false if it was taken over before. */
export const confirmAddress = async (deps: TeamNeeds, addressId: string, userId: UserId, cause: Cause): Promise<boolean> => {
  const event = { type: 'UserAddressClaimed' as const, data: { at: cause.at, userId } };
  const decide = (_: null, owner: UserAddressState) => (owner === userId ? [event] : []);
  const { events } = await handle(deps.eventLog, userAddressStream(addressId), { decide, ...userAddressFold }, null, cause);
  return events.length > 0;
};

/** Gives the address up where the person still has it. */
export const releaseAddress = async (deps: TeamNeeds, addressId: string, userId: UserId, cause: Cause): Promise<void> => {
  const event = { type: 'UserAddressReleased' as const, data: { at: cause.at, userId } };
  const decide = (_: null, owner: UserAddressState) => (owner === userId ? [event] : []);
  await handle(deps.eventLog, userAddressStream(addressId), { decide, ...userAddressFold }, null, cause);
};

/** A user as they see themselves. */
export const userRecordOf = (id: UserId, user: User): UserRecord => ({
  id,
  email: user.email ?? null,
  name: user.name ?? null,
  emailVerified: user.isVerified,
  secondFactor: user.secondFactor !== undefined,
  createdAt: user.registeredAt,
});

/** Events of a person's own account belong to no team, whichever team the call names. */
export const ownCause = (deps: TeamNeeds, caller: Caller): Cause => causeOf(deps, { ...caller, teamId: NO_TEAM });

export const getOwnUser = async (deps: TeamNeeds, caller: Caller): Promise<UserRecord> => {
  const id = personOf(caller);
  return userRecordOf(id, await loadUser(deps, id));
};

export const updateOwnUser = async (deps: TeamNeeds, caller: Caller, { name }: UpdateUserRequest): Promise<UserRecord> => {
  const id = personOf(caller);
  const cause = ownCause(deps, caller);
  const decide = (_: null, user: UserState): readonly UserEvent[] => {
    if (user === undefined || user.isErased) throw userNotFound();
    return name === undefined || name === user.name ? [] : [{ type: 'UserProfileChanged', data: { at: cause.at }, sealed: { name } }];
  };
  const { state } = await handle(deps.eventLog, userStream(id), { decide, ...userFold }, null, cause);
  return userRecordOf(id, state!);
};

/** `teamsOf`: the teams of a person, from a read model; each team is asked whether both are in it. Rejects with USER_NOT_FOUND. */
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
