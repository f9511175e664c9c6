/**
 * Links in mails to people: sending them, and what they do (verify an address, reset a password, change an address).
 */
import { accountLink, sendAccountMail, tellPerson } from '../email/service-mails.js';
import type { Caller } from '../core/caller.js';
import { loadState } from '../core/handle.js';
import type { TeamNeeds } from '../teams/needs.js';
import { assertOwnPassword, assertSecondFactor } from './credentials.js';
import { isoTime } from '../../domain/core/time.js';
import { personalCause, type RequestFrom, recordEnds, type SessionsOf } from './sessions.js';
import { claimAddress, releaseAddress, ownCause } from './users.js';
import { changeUser, ownerOf, signInAddress, personOf } from '../access/users.js';
import { userDecider } from '../../domain/people/decider.js';
import type { ChangeAddressRequest } from '../../api/people.js';
import { invalid } from '../../domain/core/errors.js';
import { userStream, type UserId } from '../../domain/core/ids.js';
import {
  assertLink,
  linkInvalid,
  makeLink,
  readLink,
  assertPassword,
  normalPassword,
  type User,
} from '../../domain/people/user.js';
import { makeVerifyLink, sendVerifyMail } from './registration.js';
import type { Cause } from '../../event-log/event-log.js';

type LinkUse = 'verify' | 'reset' | 'address' | 'sign-in';

type KnownPerson = Readonly<{ userId: UserId; user: User; cause: Cause }>;

/**
 * Sends a link to the new address and a warning to the current one; the link of an earlier change ends. An address of
 * another user is answered as one that is free, and its owner is told. Rejects with INVALID_CREDENTIALS, CODE_REQUIRED,
 * INVALID_CODE, ERR_EMAIL_001, VALIDATION_ERROR, USER_NOT_FOUND, PUBLIC_URL_REQUIRED.
 */
export const askAddressChange = async (
  deps: TeamNeeds,
  caller: Caller,
  request: ChangeAddressRequest,
): Promise<void> => {
  const userId = personOf(caller);
  const { email, addressId } = signInAddress(deps, request.email);
  const page = accountLink(deps, 'address', '');
  const user = await assertOwnPassword(deps, userId, request.password);
  const cause = ownCause(deps, caller);
  if (user.secondFactor !== undefined) await assertSecondFactor(deps, userId, request.code, cause);
  if (addressId === user.addressId) throw invalid('request body', 'email', 'is your address already');
  const { token, hash } = makeLink(userId, deps.ids.bytes(32));
  const { changeLinkMs } = deps.limits;
  const expiresAt = isoTime(Date.parse(cause.at) + changeLinkMs);
  const command = {
    type: 'AskAddressChange',
    at: cause.at,
    before: user.passwordHash,
    hash,
    expiresAt,
    addressId,
    email,
  } as const;
  await changeUser(deps, userId, command, cause);
  const name = user.name ?? '';
  const hoursValid = changeLinkMs / 3_600_000;
  if (user.email !== undefined)
    await sendAccountMail(
      deps,
      { kind: 'address-change-asked', to: { email: user.email }, variables: { name, hoursValid } },
      cause,
    );
  const isTaken = (await ownerOf(deps, addressId)) !== undefined;
  if (isTaken) await sendAccountMail(deps, { kind: 'address-in-use', to: { email }, variables: {} }, cause);
  else
    await sendAccountMail(
      deps,
      { kind: 'change-address', to: { email }, variables: { name, url: `${page}${token}`, hoursValid } },
      cause,
    );
};

/** Changes nothing. Rejects with LINK_INVALID if the link would be refused when its form is sent. */
export const checkLink = async (deps: TeamNeeds, token: string, use: LinkUse): Promise<void> => {
  const { user } = await openLink(deps, token, use);
  if (use === 'verify' && user.isVerified) throw linkInvalid();
};

/**
 * The key under which attempts with a link are counted: together with sign-ins as its person. Rejects with
 * LINK_INVALID.
 */
export const addressLinkBucket = async (deps: TeamNeeds, token: string): Promise<string> =>
  (await openLink(deps, token, 'address')).user.addressId;

/**
 * Makes the new address the person's. The link needs the password of the account too: with a mistyped address it
 * reached a stranger. The address is claimed first, and nobody takes the claim over while the link is good. If the
 * program dies in between, the link can be followed again; once it has expired, so has the claim. Rejects with
 * LINK_INVALID, INVALID_CREDENTIALS, ADDRESS_TAKEN.
 */
export const changeAddress = async (
  deps: TeamNeeds,
  token: string,
  password: string,
  from: RequestFrom,
): Promise<Readonly<{ email: string }>> => {
  const { userId, hash, user: before } = await openLink(deps, token, 'address');
  const { addressId, email } = before.nextAddress!;
  if (email === undefined) throw linkInvalid();
  await assertOwnPassword(deps, userId, password);
  const cause = personalCause(deps, userId, from);
  await claimAddress(deps, addressId, userId, cause);
  // This mail goes to the old address.
  await tellPerson(deps, userId, before, { kind: 'address-changed', about: [hash] }, cause);
  await changeUser(deps, userId, { type: 'ChangeAddress', at: cause.at, hash, addressId, email }, cause);
  await releaseAddress(deps, before.addressId, userId, cause);
  return { email };
};

/**
 * Verifies the address and sets the password to the one given: anybody may have registered the address, but the link
 * proves who reads its mails. Rejects with VALIDATION_ERROR and LINK_INVALID.
 */
export const verifyAddress = async (
  deps: TeamNeeds,
  token: string,
  password: string,
  from: RequestFrom,
): Promise<void> => {
  assertPassword('password', password, deps.people.passwords.isCommon);
  const { userId, hash, user } = await openLink(deps, token, 'verify');
  const given = normalPassword(password);
  const isRegistered = await deps.people.passwords.verify(user.passwordHash, given);
  const passwordHash =
    isRegistered && user.passwordHash !== undefined ? user.passwordHash : await deps.people.passwords.hash(given);
  const cause = personalCause(deps, userId, from);
  await changeUser(deps, userId, { type: 'FollowVerifyLink', at: cause.at, hash, passwordHash }, cause);
};

/** Every session ends. Rejects with VALIDATION_ERROR and LINK_INVALID. */
export const resetPassword = async (
  deps: TeamNeeds,
  token: string,
  password: string,
  from: RequestFrom,
  sessionsOf?: SessionsOf,
): Promise<void> => {
  assertPassword('password', password, deps.people.passwords.isCommon);
  const { userId, hash, user } = await openLink(deps, token, 'reset');
  const passwordHash = await deps.people.passwords.hash(normalPassword(password));
  const cause = personalCause(deps, userId, from);
  await tellPerson(deps, userId, user, { kind: 'password-changed', about: [hash] }, cause);
  await changeUser(deps, userId, { type: 'FollowResetLink', at: cause.at, hash, passwordHash }, cause);
  await deps.whenHeldEverywhere();
  if (sessionsOf !== undefined) await recordEnds(deps, userId, await sessionsOf(userId), cause);
};

/** Call it after the answer is sent: it takes longer if somebody has the address, which the answer must not reveal. */
export const sendResetLink = async (deps: TeamNeeds, email: string, from: RequestFrom): Promise<void> => {
  const known = await findPerson(deps, email, from);
  if (known === undefined) return;
  const { userId, user, cause } = known;
  const { token, hash } = makeLink(userId, deps.ids.bytes(32));
  const { resetLinkMs } = deps.limits;
  const expiresAt = isoTime(Date.parse(cause.at) + resetLinkMs);
  const url = accountLink(deps, 'reset', token);
  const command = { type: 'MakeResetLink', at: cause.at, hash, expiresAt, addressId: user.addressId } as const;
  const { events } = await changeUser(deps, userId, command, cause);
  if (events.length === 0) return;
  const variables = { name: user.name ?? '', url, hoursValid: resetLinkMs / 3_600_000 };
  await sendAccountMail(deps, { kind: 'reset-password', to: { email: user.email! }, variables }, cause);
};

/** Sends another link if the address is not verified yet. Call it after the answer is sent, as `sendResetLink`. */
export const sendVerifyLink = async (deps: TeamNeeds, email: string, from: RequestFrom): Promise<void> => {
  const known = await findPerson(deps, email, from);
  if (known === undefined || known.user.isVerified) return;
  const { userId, user, cause } = known;
  const page = accountLink(deps, 'verify', '');
  const url = `${page}${await makeVerifyLink(deps, userId, cause)}`;
  await sendVerifyMail(deps, { email: user.email!, name: user.name ?? '', url }, cause);
};

/**
 * The person of a link. The link is checked here, before a password is hashed, and again when it is followed. Rejects
 * with LINK_INVALID.
 */
export const openLink = async (deps: TeamNeeds, token: string, use: LinkUse) => {
  const read = readLink(token);
  if (read === undefined) throw linkInvalid();
  const { state: user } = await loadState(deps.eventLog, userStream(read.userId), userDecider);
  assertLink(use === 'address' ? user?.nextAddress : user?.links[use], read.hash, isoTime(deps.clock.now()));
  return { ...read, user: user! };
};

const findPerson = async (deps: TeamNeeds, email: string, from: RequestFrom): Promise<KnownPerson | undefined> => {
  const { addressId } = signInAddress(deps, email);
  const userId = await ownerOf(deps, addressId);
  if (userId === undefined) return undefined;
  const { state: user } = await loadState(deps.eventLog, userStream(userId), userDecider);
  if (user === undefined || user.isErased || user.addressId !== addressId || user.email === undefined) return undefined;
  return { userId, user, cause: personalCause(deps, userId, from) };
};
