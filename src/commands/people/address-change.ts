/** A person takes another address: asked for by whoever knows the password, done by whoever reads the mails of the new one. */
import { accountLink, sendAccountMail } from './mails.js';
import type { Caller } from '../core/caller.js';
import { handle, loadState } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import { assertOwnPassword } from './credentials.js';
import { isoMoment } from '../core/memo.js';
import { assertSecondFactor } from './second-factor.js';
import { personalCause, type RequestFrom } from './sessions.js';
import { tellPerson } from './tell-person.js';
import { claimAddress, ownerOf, releaseAddress, signInAddress, userFold } from './addresses.js';
import { ownCause, personOf } from './users.js';
import type { ChangeAddressRequest } from '../../api/people.js';
import { DomainError, invalid } from '../../domain/core/errors.js';
import { userStream } from '../../domain/core/ids.js';
import type { UserEvent } from '../../domain/people/events.js';
import { assertLink, linkInvalid, makeLink, readLink } from '../../domain/people/links.js';
import { userNotFound, type UserState } from '../../domain/people/user.js';

/**
 * A link goes to the new address, a warning to the one of now; the link of an earlier change ends. An address that is another user's is
 * answered as one that is not, and its owner is told. Rejects with INVALID_CREDENTIALS, CODE_REQUIRED, INVALID_CODE, ERR_EMAIL_001,
 * VALIDATION_ERROR, USER_NOT_FOUND, PUBLIC_URL_REQUIRED.
 */
export const askAddressChange = async (deps: CommandDeps, caller: Caller, request: ChangeAddressRequest): Promise<void> => {
  const userId = personOf(caller);
  const { email, addressId } = signInAddress(deps, request.email);
  const page = accountLink(deps, 'address', '');
  const user = await assertOwnPassword(deps, userId, request.password);
  const cause = ownCause(deps, caller);
  if (user.secondFactor !== undefined) await assertSecondFactor(deps, userId, request.code, cause);
  if (addressId === user.addressId) throw invalid('request body', 'email', 'is your address already');
  const { token, hash } = makeLink(userId, deps.ids.bytes(32));
  const { changeLinkMs } = deps.limits;
  const expiresAt = isoMoment(Date.parse(cause.at) + changeLinkMs);
  const asked: UserEvent = { type: 'UserAddressChangeAsked', data: { at: cause.at, hash, expiresAt, addressId }, sealed: { email } };
  const decide = (_: null, now: UserState): readonly UserEvent[] => {
    if (now === undefined || now.isErased) throw userNotFound();
    // What was shown is the password of then.
    if (now.passwordHash !== user.passwordHash) throw new DomainError('INVALID_CREDENTIALS', 'The password was changed at this moment.');
    return [asked];
  };
  await handle(deps.eventLog, userStream(userId), { decide, ...userFold }, null, cause);
  const name = user.name ?? '';
  const hoursValid = changeLinkMs / 3_600_000;
  if (user.email !== undefined)
    await sendAccountMail(deps, { kind: 'address-change-asked', to: { email: user.email }, variables: { name, hoursValid } }, cause);
  const isTaken = (await ownerOf(deps, addressId)) !== undefined;
  if (isTaken) await sendAccountMail(deps, { kind: 'address-in-use', to: { email }, variables: {} }, cause);
  else
    await sendAccountMail(deps, { kind: 'change-address', to: { email }, variables: { name, url: `${page}${token}`, hoursValid } }, cause);
};

/** Whose link it is. Rejects with LINK_INVALID. */
const ofGoodLink = async (deps: CommandDeps, token: string) => {
  const read = readLink(token);
  if (read === undefined) throw linkInvalid();
  const { state: user } = await loadState(deps.eventLog, userStream(read.userId), userFold);
  assertLink(user?.nextAddress, read.hash, isoMoment(deps.clock.now()));
  return { ...read, user: user! };
};

/** Whose attempts are counted where a link is followed: together with those to sign in as them. Rejects with LINK_INVALID. */
export const addressLinkBucket = async (deps: CommandDeps, token: string): Promise<string> =>
  (await ofGoodLink(deps, token)).user.addressId;

/**
 * Who follows the link gives the password of the account: the address that was asked for may be anybody's, who shall not be given an
 * account that somebody else signs in to, nor be given theirs by a mistyped address. The address is claimed first: as long as the link is good nobody
 * else takes it over. Where the program dies in between, the link does it again, or the claim is worth nothing once it has expired. Rejects
 * with LINK_INVALID, INVALID_CREDENTIALS, ADDRESS_TAKEN.
 */
export const changeAddress = async (
  deps: CommandDeps,
  token: string,
  password: string,
  from: RequestFrom,
): Promise<Readonly<{ email: string }>> => {
  const { userId, hash, user: before } = await ofGoodLink(deps, token);
  const { addressId, email } = before.nextAddress!;
  if (email === undefined) throw linkInvalid();
  await assertOwnPassword(deps, userId, password);
  const cause = personalCause(deps, userId, from);
  await claimAddress(deps, addressId, userId, cause);
  // To the address of before.
  await tellPerson(deps, userId, before, { kind: 'address-changed', about: [hash] }, cause);
  const decide = (_: null, now: UserState): readonly UserEvent[] => {
    assertLink(now?.nextAddress, hash, cause.at);
    return [{ type: 'UserAddressChanged', data: { at: cause.at, addressId }, sealed: { email } }];
  };
  await handle(deps.eventLog, userStream(userId), { decide, ...userFold }, null, cause);
  await releaseAddress(deps, before.addressId, userId, cause);
  return { email };
};
