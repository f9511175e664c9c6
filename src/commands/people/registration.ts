/** Registration: the first user of an instance, one who was invited, or anybody if the instance is open to all. */
import { timingSafeEqual } from 'node:crypto';
import { accountLink, sendAccountMail } from '../email/service-mails.js';
import { forgetAllOrigins } from '../access/origins.js';
import { handle, loadState } from '../core/handle.js';
import type { TeamNeeds } from '../teams/needs.js';
import { firstTeam } from '../core/caller.js';
import { joinBy, readInvitation } from '../teams/invitations.js';
import { personalCause, type RequestFrom } from './sessions.js';
import { claimAddress, confirmAddress, releaseAddress } from './users.js';
import { changeUser, ownerOf, signInAddress } from '../access/users.js';
import { addressTaken, identityLinked, userDecider, type NewIdentity } from '../../domain/people/decider.js';
import type { Registered, RegisterRequest } from '../../api/people.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  assertDefined,
  parseUserId,
  teamStream,
  userStream,
  type InvitationId,
  type TeamId,
  type UserId,
} from '../../domain/core/ids.js';
import { invitationNotYours, isInvitationToken } from '../../domain/teams/invitation.js';
import type { Keys } from '../../domain/ports/keys.js';
import { teamDecider } from '../../domain/teams/decider.js';
import { makeLink, assertPassword, normalPassword } from '../../domain/people/user.js';
import { isoTime } from '../../domain/core/time.js';
import { startOf, type Cause } from '../../event-log/event-log.js';
import type { PendingFirstKey } from '../../domain/ports/first-key.js';

/** `isFirst`: the user becomes an operator of the instance. */
type Making = Readonly<{
  isVerified: boolean;
  from: RequestFrom;
  passwordHash?: string;
  invitation?: InvitationId;
  identity?: NewIdentity;
  isFirst?: true;
}>;

/**
 * Rejects with VALIDATION_ERROR, ERR_EMAIL_001, REGISTRATION_CLOSED, ADDRESS_TAKEN (only to who proved to be meant),
 * PUBLIC_URL_REQUIRED, and with INVITATION_NOT_FOUND, INVITATION_EXPIRED or INVITATION_NOT_YOURS. If everybody may
 * register, an address that is taken is answered as one that is free, and its owner is told by mail.
 */
export const register = async (deps: TeamNeeds, request: RegisterRequest, from: RequestFrom): Promise<Registered> => {
  assertPassword('password', request.password, deps.people.passwords.isCommon);
  const { email } = signInAddress(deps, request.email);
  const { token } = request;
  if (token !== undefined && isInvitationToken(token)) return registerInvited(deps, { ...request, email }, token, from);
  const first = await teamWithoutOwner(deps);
  if (first !== undefined) return registerFirst(deps, { ...request, email }, first, from);
  if (deps.people.registration !== 'open')
    throw registrationClosed('Registration needs an invitation. Ask an owner or admin of a team for one.');
  return registerUnverified(deps, { ...request, email }, from);
};

/**
 * The token of the first user. It is derived from the master key, so that every process knows it; it is good until the
 * first team has had a member.
 */
export const firstUserToken = (keys: Pick<Keys, 'fingerprint'>): string =>
  `sealpost_first_${keys.fingerprint('first user', '').slice(0, 48)}`;

/** The first team, as long as nobody was ever in it: the next user to register owns it. */
export const teamWithoutOwner = async (deps: TeamNeeds): Promise<TeamId | undefined> => {
  const teamId = await firstTeam(deps);
  if (teamId === undefined) return undefined;
  const { state } = await deps.team(teamStream(teamId));
  return state !== undefined && state.members === undefined ? teamId : undefined;
};

/**
 * Shows the token of the first user, and keeps it in a file, until somebody owns the first team. On loopback no token
 * is needed.
 */
export const showFirstUserToken = async (
  deps: TeamNeeds,
  file: PendingFirstKey,
  show: (token: string) => void,
): Promise<void> => {
  if (deps.people.isOnLoopback || (await teamWithoutOwner(deps)) === undefined) {
    file.remove();
    return;
  }
  const token = firstUserToken(deps.keys);
  if (file.read() !== token) file.keep(token);
  show(token);
};

export const sendVerifyMail = (
  deps: TeamNeeds,
  { email, ...said }: Readonly<{ email: string; name: string; url: string }>,
  cause: Cause,
): Promise<void> => {
  const variables = { ...said, hoursValid: deps.limits.verifyLinkMs / 3_600_000 };
  return sendAccountMail(deps, { kind: 'verify-address', to: { email }, variables }, cause);
};

/**
 * Makes the link that verifies the address and sets the password; the earlier one ends. For a verified address the link
 * is void.
 */
export const makeVerifyLink = async (deps: TeamNeeds, userId: UserId, cause: Cause): Promise<string> => {
  const { token, ...link } = newVerifyLink(deps, userId, cause.at);
  await changeUser(deps, userId, { type: 'MakeVerifyLink', at: cause.at, ...link }, cause);
  return token;
};

/** Rejects with ADDRESS_TAKEN if another user has the address or the identity, and then no user is left behind. */
export const makeUser = async (
  deps: TeamNeeds,
  { email: given, password, name }: Pick<RegisterRequest, 'email' | 'password' | 'name'>,
  { isVerified, from, identity, ...known }: Making,
): Promise<UserId> => {
  const { email, addressId } = signInAddress(deps, given);
  const passwordHash = known.passwordHash ?? (await deps.people.passwords.hash(normalPassword(password)));
  const userId = assertDefined(parseUserId(deps.ids.uuid()), 'user id');
  const cause = personalCause(deps, userId, from);
  const claims = identity === undefined ? [addressId] : [addressId, identity.identityId];
  for (const id of claims) await claimAddress(deps, id, userId, cause);
  const stream = userStream(userId);
  const by = known.invitation === undefined ? {} : { invitation: known.invitation };
  // Not by `handle`: the stream begins here, so there is no state to decide on.
  await deps.eventLog.append(
    stream,
    startOf(stream),
    [
      {
        type: 'UserRegistered',
        data: { at: cause.at, addressId, isVerified, ...by },
        sealed: { email, name, passwordHash },
      },
      ...(identity === undefined ? [] : [identityLinked(identity, cause.at)]),
      ...(known.isFirst === true ? [{ type: 'OperatorGranted', data: { at: cause.at } } as const] : []),
    ],
    cause,
  );
  for (const id of claims) {
    if (await confirmAddress(deps, id, userId, cause)) continue;
    await removeUser(deps, userId, email, cause);
    throw addressTaken();
  }
  return userId;
};

const registerFirst = async (
  deps: TeamNeeds,
  request: RegisterRequest,
  teamId: TeamId,
  from: RequestFrom,
): Promise<Registered> => {
  const { token } = request;
  // A page of another site reaches loopback by a name of its own that the DNS leads there.
  const isAtLoopback = deps.people.isOnLoopback && (typeof from === 'string' || from.isByOtherName !== true);
  const isMeant = token === undefined ? isAtLoopback : isSame(token, firstUserToken(deps.keys));
  if (!isMeant) {
    throw registrationClosed(
      'The first user owns the first team, and needs the token that `sealpost serve` showed at its start (`sealpost user first-token` shows it again): send it as `token`.',
    );
  }
  const userId = await makeUser(deps, request, { isVerified: true, from, isFirst: true });
  const cause = personalCause(deps, userId, from);
  try {
    await takeOver(deps, teamId, userId, cause);
  } catch (fault) {
    // After any other fault the user stays: the append may have succeeded, and made them the owner.
    if (fault instanceof DomainError) await removeUser(deps, userId, request.email, cause);
    throw fault;
  }
  return {
    email: request.email,
    emailVerified: true,
    message: 'You own the first team. Sign in by POST /api/auth/login.',
  };
};

/** Makes the user the owner of the first team. Rejects with REGISTRATION_CLOSED if somebody was ever in it. */
export const takeOver = async (deps: TeamNeeds, teamId: TeamId, userId: UserId, cause: Cause): Promise<void> => {
  const command = { type: 'TakeOver', at: cause.at, userId } as const;
  await handle(deps.eventLog, teamStream(teamId), teamDecider, command, { ...cause, teamId });
};

/**
 * Makes a user, whose address is verified because the token went there by mail, and a member of the team. A call that
 * was broken off is finished by repeating it with the same password, or by the first sign-in.
 */
const registerInvited = async (
  deps: TeamNeeds,
  request: RegisterRequest,
  token: string,
  from: RequestFrom,
): Promise<Registered> => {
  if (deps.people.registration === 'closed')
    throw registrationClosed('Registration is closed. If you have an account, sign in and accept the invitation.');
  const invited = await readInvitation(deps, token);
  const { email } = request;
  if (invited.email !== email) throw invitationNotYours();
  const known = await verifiedBefore(deps, request, from);
  const userId = known ?? (await makeUser(deps, request, { isVerified: true, from, invitation: invited.id }));
  const cause = personalCause(deps, userId, from);
  try {
    await joinBy(deps, invited, userId, cause);
  } catch (fault) {
    // After any other fault the user stays: they may have joined, and the next attempt goes on.
    if (known === undefined && fault instanceof DomainError) await removeUser(deps, userId, email, cause);
    throw fault;
  }
  return {
    email,
    emailVerified: true,
    message: 'You are a member of the team. Sign in by POST /api/auth/login.',
    teamId: invited.teamId,
  };
};

/**
 * The user who has the address, with the address verified; undefined if nobody has it. The password must be theirs, or
 * it rejects with ADDRESS_TAKEN; only if they never verified the address, the password is replaced, for anybody may
 * have registered it.
 */
const verifiedBefore = async (
  deps: TeamNeeds,
  request: RegisterRequest,
  from: RequestFrom,
): Promise<UserId | undefined> => {
  const { addressId } = signInAddress(deps, request.email);
  const userId = await ownerOf(deps, addressId);
  if (userId === undefined) return undefined;
  const { state: user } = await loadState(deps.eventLog, userStream(userId), userDecider);
  if (user === undefined || user.isErased || user.addressId !== addressId) return undefined;
  const password = normalPassword(request.password);
  const isSamePassword = await deps.people.passwords.verify(user.passwordHash, password);
  if (!isSamePassword && user.isVerified) throw addressTaken();
  const cause = personalCause(deps, userId, from);
  const replacedBy = isSamePassword
    ? {}
    : { replacedBy: { name: request.name, passwordHash: await deps.people.passwords.hash(password) } };
  await changeUser(deps, userId, { type: 'VerifyByInvitation', at: cause.at, ...replacedBy }, cause);
  return userId;
};

/**
 * Registers an address again that was registered but not verified: the new name and password replace the old ones, and
 * the earlier link ends. Out: the token of the new link. Rejects with ADDRESS_TAKEN if the address was verified.
 */
const registerAnew = async (
  deps: TeamNeeds,
  userId: UserId,
  made: Readonly<{ name: string; passwordHash: string }>,
  from: RequestFrom,
): Promise<string> => {
  const cause = personalCause(deps, userId, from);
  const { token, ...link } = newVerifyLink(deps, userId, cause.at);
  await changeUser(deps, userId, { type: 'RegisterAnew', at: cause.at, ...made, ...link }, cause);
  return token;
};

const registerUnverified = async (
  deps: TeamNeeds,
  request: RegisterRequest,
  from: RequestFrom,
): Promise<Registered> => {
  const { email, addressId } = signInAddress(deps, request.email);
  const page = accountLink(deps, 'verify', '');
  const answer = {
    email,
    emailVerified: false,
    message: 'A mail with a link goes to this address. Follow it, then sign in.',
  };
  const owner = await ownerOf(deps, addressId);
  const passwordHash = await deps.people.passwords.hash(normalPassword(request.password));
  const at = isoTime(deps.clock.now());
  const cause = { ...personalCause(deps, assertDefined(parseUserId(deps.ids.uuid()), 'user id'), from), at };
  try {
    const token =
      owner === undefined
        ? await registerFresh(deps, request, { isVerified: false, from, passwordHash })
        : await registerAnew(deps, owner, { name: request.name, passwordHash }, from);
    await sendVerifyMail(deps, { email, name: request.name, url: `${page}${token}` }, cause);
  } catch (fault) {
    if (!(fault instanceof DomainError) || fault.code !== 'ADDRESS_TAKEN') throw fault;
    await sendAccountMail(deps, { kind: 'address-in-use', to: { email }, variables: {} }, cause);
  }
  return answer;
};

const registerFresh = async (deps: TeamNeeds, request: RegisterRequest, making: Making): Promise<string> => {
  const userId = await makeUser(deps, request, making);
  return makeVerifyLink(deps, userId, personalCause(deps, userId, making.from));
};

const newVerifyLink = (
  deps: TeamNeeds,
  userId: UserId,
  at: string,
): Readonly<{ token: string; hash: string; expiresAt: string }> => ({
  ...makeLink(userId, deps.ids.bytes(32)),
  expiresAt: isoTime(Date.parse(at) + deps.limits.verifyLinkMs),
});

/** Erases a user who was just created, because their address or their place in the team turned out to be taken. */
export const removeUser = async (deps: TeamNeeds, userId: UserId, email: string, cause: Cause): Promise<void> => {
  await changeUser(deps, userId, { type: 'Erase', at: cause.at }, cause);
  await forgetAllOrigins(deps.eventLog, userId, deps.limits.auditDays, cause);
  await deps.eventLog.destroyKey(userStream(userId));
  await releaseAddress(deps, signInAddress(deps, email).addressId, userId, cause);
};

export const isSame = (given: string, expected: string): boolean =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));

export const registrationClosed = (why: string): DomainError => new DomainError('REGISTRATION_CLOSED', why);
