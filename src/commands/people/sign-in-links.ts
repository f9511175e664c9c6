/**
 * Sign-in by a one-time link: that of the first user, which `sealpost serve` shows on loopback, and those that the
 * operator makes for a person by `sealpost user link`.
 */
import type { FollowSignInLinkRequest, SignedIn } from '../../api/people.js';
import { DomainError } from '../../domain/core/errors.js';
import { teamStream, type TeamId, type UserId } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import { FIRST_USER_ADDRESS, linkInvalid, makeLink } from '../../domain/people/user.js';
import type { Keys } from '../../domain/ports/keys.js';
import { teamDecider } from '../../domain/teams/decider.js';
import type { Cause } from '../../event-log/event-log.js';
import { changeUser, loadUser, ownerOf, signInAddress } from '../access/users.js';
import { noteLogins } from '../billing/billing.js';
import { loadState } from '../core/handle.js';
import { finishJoining } from '../teams/invitations.js';
import type { TeamNeeds } from '../teams/needs.js';
import { assertSecondFactor } from './credentials.js';
import { openLink } from './links.js';
import { isSame, makeUser, removeUser, takeOver, teamWithoutOwner } from './registration.js';
import { noteSignInPlace, personalCause, startSession, type CalledFrom } from './sessions.js';

/** `team`: the one that the first user owns now. */
export type SignedInByLink = Readonly<{ signedIn: SignedIn; team?: TeamId }>;

/** A first user who did not follow the link within this time restarts the service, which shows another one. */
const FIRST_LINK_MS = 24 * 3_600_000;

/** The end of the link, in seconds since 1970 to the base 36, and the HMAC of it. */
const FIRST_LINK = /^sealpost_start_([0-9a-z]{1,9})_([0-9a-f]{48})$/;

const FIRST_USER_NAME = 'Owner';

const PASSWORD_BYTES = 32;

/** The address that a browser opens. The token stands behind the #, which no browser sends and no server logs. */
export const signInLink = (base: string, token: string): string => `${base}/app/start#${token}`;

/** Shows the token of the first user's link, if nobody was ever in the first team and the service is on loopback. */
export const showFirstLink = async (deps: TeamNeeds, show: (token: string) => void): Promise<void> => {
  if (!deps.people.isOnLoopback || (await teamWithoutOwner(deps)) === undefined) return;
  const end = Math.floor((deps.clock.now() + FIRST_LINK_MS) / 1_000).toString(36);
  show(`sealpost_start_${end}_${markOf(deps.keys, end)}`);
};

/**
 * Makes a link that signs the person in once, within the hour; the one before it ends. Out: its token. Rejects with
 * USER_NOT_FOUND and ADDRESS_NOT_VERIFIED.
 */
export const makeSignInLink = async (deps: TeamNeeds, userId: UserId, cause: Cause): Promise<string> => {
  const { token, hash } = makeLink(userId, deps.ids.bytes(32));
  const expiresAt = isoTime(Date.parse(cause.at) + deps.limits.signInLinkMs);
  await changeUser(deps, userId, { type: 'MakeSignInLink', at: cause.at, hash, expiresAt }, cause);
  return token;
};

/**
 * The key under which attempts with the link are counted: together with sign-ins as its person. Rejects with
 * LINK_INVALID.
 */
export const signInLinkBucket = async (deps: TeamNeeds, token: string): Promise<string> => {
  if (!FIRST_LINK.test(token)) return (await openLink(deps, token, 'sign-in')).user.addressId;
  assertFirstLink(deps, token);
  return 'first user';
};

/**
 * Begins a session, in which the person may choose a password. The link of the first user makes a user who owns the
 * first team. Rejects with LINK_INVALID, CODE_REQUIRED and INVALID_CODE. `teamsOf`: the teams of a person, from a read
 * model.
 */
export const signInByLink = async (
  deps: TeamNeeds,
  { token, code }: FollowSignInLinkRequest,
  from: CalledFrom,
  teamsOf?: (userId: UserId) => Promise<readonly TeamId[]>,
): Promise<SignedInByLink> => {
  if (FIRST_LINK.test(token)) {
    assertFirstLink(deps, token);
    return signInFirst(deps, from);
  }
  const { userId, hash, user } = await openLink(deps, token, 'sign-in');
  const cause = personalCause(deps, userId, from);
  // The operator vouches for the person, who may have lost the password but not the second factor.
  const secondFactor = user.secondFactor !== undefined && (await assertSecondFactor(deps, userId, code, cause));
  await changeUser(deps, userId, { type: 'FollowSignInLink', at: cause.at, hash }, cause);
  if (user.invitation !== undefined) await finishJoining(deps, userId, user.invitation, cause);
  await noteSignInPlace(deps, userId, user, from, cause);
  const signedIn = await startSession(deps, { userId, user, secondFactor, byLink: true }, from);
  if (teamsOf !== undefined) await noteLogins(deps, userId, await teamsOf(userId), cause);
  return { signedIn };
};

/** Throws LINK_INVALID if this service did not make the token, or it has expired. */
const assertFirstLink = ({ keys, clock }: Pick<TeamNeeds, 'keys' | 'clock'>, token: string): void => {
  const [, end = '', mark = ''] = FIRST_LINK.exec(token) ?? [];
  if (!isSame(mark, markOf(keys, end)) || Number.parseInt(end, 36) * 1_000 <= clock.now()) throw linkInvalid();
};

const markOf = ({ fingerprint }: Pick<Keys, 'fingerprint'>, end: string): string =>
  fingerprint('link of the first user', end).slice(0, 48);

/** If two follow the link at once, the one whose append makes the user the owner is signed in. */
const signInFirst = async (deps: TeamNeeds, from: CalledFrom): Promise<SignedInByLink> => {
  const team = deps.people.isOnLoopback ? await teamWithoutOwner(deps) : undefined;
  if (team === undefined) throw linkInvalid();
  const userId = await firstUser(deps, from);
  const cause = personalCause(deps, userId, from);
  try {
    await takeOver(deps, team, userId, cause);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    const { state } = await loadState(deps.eventLog, teamStream(team), teamDecider);
    if (state?.members?.has(userId) !== true) await removeUser(deps, userId, FIRST_USER_ADDRESS, cause);
    throw linkInvalid();
  }
  const user = await loadUser(deps, userId);
  await noteSignInPlace(deps, userId, user, from, cause);
  return { signedIn: await startSession(deps, { userId, user, secondFactor: false, byLink: true }, from), team };
};

/** The first user, also where an earlier attempt broke off after making them. Rejects with LINK_INVALID. */
const firstUser = async (deps: TeamNeeds, from: CalledFrom): Promise<UserId> => {
  const { addressId } = signInAddress(deps, FIRST_USER_ADDRESS);
  const made = await ownerOf(deps, addressId);
  if (made !== undefined && (await loadUser(deps, made).catch(undefinedIfGone))?.addressId === addressId) return made;
  const password = deps.ids.bytes(PASSWORD_BYTES).toString('base64url');
  const request = { email: FIRST_USER_ADDRESS, password, name: FIRST_USER_NAME };
  try {
    return await makeUser(deps, request, { isVerified: true, from, isFirst: true });
  } catch (fault) {
    throw fault instanceof DomainError && fault.code === 'ADDRESS_TAKEN' ? linkInvalid() : fault;
  }
};

const undefinedIfGone = (fault: unknown): undefined => {
  if (fault instanceof DomainError && fault.code === 'USER_NOT_FOUND') return undefined;
  throw fault;
};
