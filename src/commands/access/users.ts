/** Users as sign-in knows them: who has which address, who calls, and the state of a person. */
import { requireAddress } from '../../domain/mime/address.js';
import { handle, loadState } from '../core/handle.js';
import type { AccessNeeds } from './needs.js';
import {
  assertDefined,
  parseUserId,
  userAddressIdOfFingerprint,
  userAddressStream,
  userStream,
  type UserId,
} from '../../domain/core/ids.js';
import { livingUser, userAddressDecider, userDecider, type UserCommand } from '../../domain/people/decider.js';
import { type User, userNotFound } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';
import type { Caller } from '../core/caller.js';

/** An address in the form in which people sign in by it, and the id of the stream that says who has it. */
export type SignInAddress = Readonly<{ email: string; addressId: string }>;

/** Letter case makes no difference. Throws ERR_EMAIL_001. */
export const signInAddress = (deps: Pick<AccessNeeds, 'keys'>, text: string): SignInAddress => {
  const email = requireAddress(text.trim(), 'email').toLowerCase();
  return { email, addressId: userAddressIdOfFingerprint(deps.keys.fingerprint('user address', email)) };
};

/** The person who has the address now; undefined where nobody has. */
export const ownerOf = async (deps: Pick<AccessNeeds, 'eventLog'>, addressId: string): Promise<UserId | undefined> => {
  const { state } = await loadState(deps.eventLog, userAddressStream(addressId), userAddressDecider);
  return state === undefined ? undefined : assertDefined(parseUserId(state), 'user id');
};

/** The person who calls, or on whose behalf an app does. Rejects with USER_NOT_FOUND where an app calls for itself. */
export const personOf = ({ user }: Caller): UserId => {
  if (user === undefined) throw userNotFound();
  return user.id;
};

/** Rejects with USER_NOT_FOUND. */
export const loadUser = async (deps: Pick<AccessNeeds, 'eventLog'>, id: UserId): Promise<User> => {
  const { state } = await loadState(deps.eventLog, userStream(id), userDecider);
  return livingUser(state);
};

/** Changes a person. Rejects as `decideUser` throws. */
export const changeUser = (
  { eventLog }: Pick<AccessNeeds, 'eventLog'>,
  id: UserId,
  command: UserCommand,
  cause: Cause,
) => handle(eventLog, userStream(id), userDecider, command, cause);
