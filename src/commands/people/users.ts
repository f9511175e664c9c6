/** Users: who has which sign-in address, and the profile that users see and change. */
import { requireAddress } from '../../domain/mime/address.js';
import { handle, loadState } from '../core/handle.js';
import { type CommandDeps, causeOf } from '../core/deps.js';
import { DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import {
  assertDefined,
  parseUserId,
  userAddressIdOfFingerprint,
  userAddressStream,
  userStream,
  type UserId,
  NO_TEAM,
  teamStream,
  type TeamId,
} from '../../domain/core/ids.js';
import { evolveUser, evolveUserAddress, type User, type UserAddressState, type UserState, userNotFound } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';
import type { UserRecord, Colleague, UpdateUserRequest } from '../../api/people.js';
import type { Caller } from '../core/caller.js';
import type { UserEvent } from '../../domain/people/events.js';

/** An address in the form in which people sign in by it, and the id of the stream that says who has it. */
type SignInAddress = Readonly<{ email: string; addressId: string }>;

/** Letter case makes no difference. Throws ERR_EMAIL_001. */
export const signInAddress = (deps: Pick<CommandDeps, 'keys'>, text: string): SignInAddress => {
  const email = requireAddress(text.trim(), 'email').toLowerCase();
  return { email, addressId: userAddressIdOfFingerprint(deps.keys.fingerprint('user address', email)) };
};

export const userFold = { evolve: evolveUser, initialState: undefined as UserState };
const fold = { evolve: evolveUserAddress, initialState: undefined as UserAddressState };

/** The person who has the address now; undefined where nobody has. */
export const ownerOf = async (deps: Pick<CommandDeps, 'eventLog'>, addressId: string): Promise<UserId | undefined> => {
  const { state } = await loadState(deps.eventLog, userAddressStream(addressId), fold);
  return state === undefined ? undefined : assertDefined(parseUserId(state), 'user id');
};

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
export const claimAddress = async (deps: CommandDeps, addressId: string, userId: UserId, cause: Cause): Promise<void> => {
  const stream = userAddressStream(addressId);
  const { state: owner, version } = await loadState(deps.eventLog, stream, fold);
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
export const confirmAddress = async (deps: CommandDeps, addressId: string, userId: UserId, cause: Cause): Promise<boolean> => {
  const event = { type: 'UserAddressClaimed' as const, data: { at: cause.at, userId } };
  const decide = (_: null, owner: UserAddressState) => (owner === userId ? [event] : []);
  const { events } = await handle(deps.eventLog, userAddressStream(addressId), { decide, ...fold }, null, cause);
  return events.length > 0;
};

/** Gives the address up where the person still has it. */
export const releaseAddress = async (deps: CommandDeps, addressId: string, userId: UserId, cause: Cause): Promise<void> => {
  const event = { type: 'UserAddressReleased' as const, data: { at: cause.at, userId } };
  const decide = (_: null, owner: UserAddressState) => (owner === userId ? [event] : []);
  await handle(deps.eventLog, userAddressStream(addressId), { decide, ...fold }, null, cause);
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

/** The person who calls, or on whose behalf an app does. Rejects with USER_NOT_FOUND where an app calls for itself. */
export const personOf = ({ user }: Caller): UserId => {
  if (user === undefined) throw userNotFound();
  return user.id;
};

/** Events of a person's own account belong to no team, whichever team the call names. */
export const ownCause = (deps: CommandDeps, caller: Caller): Cause => causeOf(deps, { ...caller, teamId: NO_TEAM });

/** Rejects with USER_NOT_FOUND. */
export const loadUser = async (deps: Pick<CommandDeps, 'eventLog'>, id: UserId): Promise<User> => {
  const { state } = await loadState(deps.eventLog, userStream(id), userFold);
  if (state === undefined || state.isErased) throw userNotFound();
  return state;
};

export const getOwnUser = async (deps: CommandDeps, caller: Caller): Promise<UserRecord> => {
  const id = personOf(caller);
  return userRecordOf(id, await loadUser(deps, id));
};

export const updateOwnUser = async (deps: CommandDeps, caller: Caller, { name }: UpdateUserRequest): Promise<UserRecord> => {
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
  deps: CommandDeps,
  caller: Caller,
  id: UserId,
  teamsOf: (userId: UserId) => Promise<readonly TeamId[]>,
): Promise<Colleague> => {
  const own = personOf(caller);
  if (own !== id && !(await areTogether(deps, [own, id], await teamsOf(own)))) throw userNotFound();
  const { email = null, name = null } = await loadUser(deps, id);
  return { id, email, name };
};

const areTogether = async (deps: CommandDeps, people: readonly UserId[], teams: readonly TeamId[]): Promise<boolean> => {
  for (const teamId of teams) {
    const { state } = await deps.team(teamStream(teamId));
    if (people.every((id) => state?.members?.has(id) === true)) return true;
  }
  return false;
};
