/** Commands on sessions: sign in, refresh, list and end them; and change the password, which ends all others. */
import type { TeamNeeds } from '../teams/needs.js';
import { userRecordOf, ownCause } from './users.js';
import { changeUser, signInAddress, ownerOf, loadUser, personOf } from '../access/users.js';
import { userDecider } from '../../domain/people/decider.js';
import { handle, loadState } from '../core/handle.js';
import { tellPerson } from '../email/service-mails.js';
import { monthOf, callOrigin } from '../../domain/access/origins.js';
import {
  userStream,
  type UserId,
  assertDefined,
  NO_TEAM,
  parseUserId,
  sessionIdOf,
  sessionStream,
  uuidV5,
  type SessionId,
  type TeamId,
} from '../../domain/core/ids.js';
import {
  deviceOf,
  networkOf,
  knowsPlace,
  mayChoosePassword,
  newPlacesOn,
  type User,
  normalPassword,
  holdsSession,
  assertPassword,
} from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';
import { noteLogins } from '../billing/billing.js';
import { makeAccessToken, type TokenOf } from '../access/tokens.js';
import { type Caller, withRefusedUser, causeOf } from '../core/caller.js';
import { finishJoining } from '../teams/invitations.js';
import { isoTime } from '../../domain/core/time.js';
import { assertSecondFactor, askingSession, assertOwnPassword, ownSession } from './credentials.js';
import type { Tokens, SignedIn, SessionRecord, ChangePasswordRequest } from '../../api/people.js';
import { DomainError, invalid } from '../../domain/core/errors.js';
import {
  makeRefreshToken,
  readRefreshToken,
  invalidToken,
  sessionDecider,
  sessionEnded,
  type EndReason,
  type SessionState,
  type Session,
} from '../../domain/people/session.js';
import type { Deleted } from '../../api/core/common.js';

/** From where a person calls. `isByOtherName`: the call names the service by a host name that is none of loopback. */
export type CalledFrom = Readonly<{
  requestId: string;
  ipAddress: string;
  userAgent: string;
  isByOtherName?: boolean;
}>;

/** The id of a request, with the address and program of the caller if a person calls. */
export type RequestFrom = string | CalledFrom;

export type Credentials = Readonly<{ email: string; password: string; code?: string | undefined }>;

/** `provider`: by which the person signed in. `byLink`: by a one-time link. Neither: by their password. */
type SessionStart = Readonly<{
  userId: UserId;
  user: User;
  secondFactor: boolean;
  provider?: string;
  byLink?: true;
}>;

type OpenSession = Readonly<{ userId: UserId; sessionId: SessionId; session: NonNullable<SessionState> }>;

/** The open sessions of a person, from a read model. A session that it misses ends when it is used, or expires. */
export type SessionsOf = (userId: UserId) => Promise<readonly SessionId[]>;

/**
 * Mails about new places in one day: somebody who knows the password and keeps changing devices does not fill the
 * mailbox.
 */
const MAILS_PER_DAY_MAX = 10;

/** New places recorded in one day, so that the stream of the person does not grow without bound. */
const NEW_PLACES_PER_DAY_MAX = 50;

/**
 * An address that nobody has is answered as a wrong password, and takes as long. Rejects with INVALID_CREDENTIALS; if
 * the password is right, with ADDRESS_NOT_VERIFIED, CODE_REQUIRED or INVALID_CODE. `teamsOf`: the teams of a person,
 * from a read model.
 */
export const login = async (
  deps: TeamNeeds,
  { email, password, code }: Credentials,
  from: CalledFrom,
  teamsOf?: (userId: UserId) => Promise<readonly TeamId[]>,
): Promise<SignedIn> => {
  const { addressId } = signInAddress(deps, email);
  // Without an owner another stream is read, so that the answer takes as long.
  const userId = (await ownerOf(deps, addressId)) ?? assertDefined(parseUserId(uuidV5('nobody', addressId)), 'user id');
  const { state } = await loadState(deps.eventLog, userStream(userId), userDecider);
  const user = state?.addressId === addressId && !state.isErased ? state : undefined;
  const isRight = await deps.people.passwords.verify(user?.passwordHash, normalPassword(password));
  if (!isRight || user === undefined) {
    const wrong = new DomainError('INVALID_CREDENTIALS', 'The address or the password is wrong.');
    throw user === undefined ? wrong : withRefusedUser(userId, wrong);
  }
  if (!user.isVerified) {
    const message =
      'Follow the link in the mail that went to this address; POST /api/auth/verify/resend sends another.';
    throw withRefusedUser(userId, new DomainError('ADDRESS_NOT_VERIFIED', message));
  }
  const cause = personalCause(deps, userId, from);
  const secondFactor = user.secondFactor !== undefined && (await assertSecondFactor(deps, userId, code, cause));
  await rehash(deps, userId, user, password, cause);
  if (user.invitation !== undefined) await finishJoining(deps, userId, user.invitation, cause);
  await noteSignInPlace(deps, userId, user, from, cause);
  const session = await startSession(deps, { userId, user, secondFactor }, from);
  if (teamsOf !== undefined) await noteLogins(deps, userId, await teamsOf(userId), cause);
  return session;
};

/** Begins a new session for each sign-in, whatever session the caller had before. */
export const startSession = async (
  deps: TeamNeeds,
  { userId, user, secondFactor, provider, byLink }: SessionStart,
  from: CalledFrom,
): Promise<SignedIn> => {
  const sessionId = sessionIdOf(deps.ids.bytes(16));
  const { token, hash } = makeRefreshToken(deps.keys, sessionId, deps.ids.bytes(32));
  const cause = personalCause(deps, userId, from);
  const { ipAddress, userAgent } = from;
  const started = {
    at: cause.at,
    userId,
    epoch: user.epoch,
    hash,
    expiresAt: expiryOf(deps, cause.at),
    secondFactor,
    ...(provider === undefined ? {} : { provider }),
    ...(byLink === undefined ? {} : { byLink }),
  };
  const command = { type: 'StartSession' as const, started, from: { ipAddress, userAgent } };
  await handle(deps.eventLog, sessionStream(sessionId), sessionDecider, command, cause);
  // The next call needs both states: load them into the cache.
  await Promise.all([deps.session(sessionStream(sessionId)), deps.user(userStream(userId))]);
  return {
    ...(await tokensOf(deps, { userId, sessionId, at: cause.at }, token)),
    sessionId,
    user: userRecordOf(userId, user),
  };
};

/**
 * Rejects with INVALID_TOKEN, and with SESSION_ENDED where the session has ended, by this call too: a token that was
 * used before ends it.
 */
export const refresh = async (
  deps: TeamNeeds,
  refreshToken: string,
  from: RequestFrom,
): Promise<Tokens & Pick<SignedIn, 'sessionId'>> => {
  const read = readRefreshToken(deps.keys, refreshToken);
  if (read === undefined) throw invalidToken();
  const { sessionId } = read;
  const stream = sessionStream(sessionId);
  const { state: known } = await loadState(deps.eventLog, stream, sessionDecider);
  if (known === undefined) throw invalidToken();
  const userId = assertDefined(parseUserId(known.userId), 'user id');
  const cause = personalCause(deps, userId, from);
  await assertNotEnded(deps, { userId, sessionId, session: known }, cause);
  const { token, hash } = makeRefreshToken(deps.keys, sessionId, deps.ids.bytes(32));
  const command = {
    type: 'Refresh' as const,
    at: cause.at,
    used: read.hash,
    hash,
    expiresAt: expiryOf(deps, cause.at),
  };
  const { state } = await handle(deps.eventLog, stream, sessionDecider, command, cause);
  if (state?.ended !== undefined) {
    await deps.eventLog.destroyKey(stream);
    throw sessionEnded(state.ended);
  }
  return { ...(await tokensOf(deps, { userId, sessionId, at: cause.at }, token)), sessionId };
};

/**
 * This process refuses the tokens of the session at once, others within the bound of the state cache. Safe to repeat.
 */
export const endSession = async (
  { eventLog }: Pick<TeamNeeds, 'eventLog'>,
  sessionId: SessionId,
  reason: EndReason,
  cause: Cause,
): Promise<void> => {
  const stream = sessionStream(sessionId);
  const { state } = await handle(eventLog, stream, sessionDecider, { type: 'EndSession', at: cause.at, reason }, cause);
  if (state?.ended !== undefined) await eventLog.destroyKey(stream);
};

/** Ends the session that calls. */
export const logout = async (deps: TeamNeeds, caller: Caller): Promise<void> => {
  const sessionId = caller.user?.sessionId;
  if (sessionId === undefined) throw new Error('a call without a session signs nobody out');
  await endSession(deps, sessionId, 'logout', causeOf(deps, { ...caller, teamId: NO_TEAM }));
  await deps.whenHeldEverywhere();
};

export const sessionNotFound = (): DomainError =>
  new DomainError(
    'SESSION_NOT_FOUND',
    'You have no open session with this id. GET /api/users/me/sessions lists yours.',
  );

/** In: ids from a read model. Sessions that are not the caller's, or have ended, are left out. */
export const readSessions = async (
  deps: TeamNeeds,
  caller: Caller,
  ids: readonly SessionId[],
): Promise<SessionRecord[]> => {
  const userId = personOf(caller);
  const user = await loadUser(deps, userId);
  const loaded = await Promise.all(ids.map((id) => loadState(deps.eventLog, sessionStream(id), sessionDecider)));
  return ids.flatMap((id, at) => {
    const session = loaded[at]?.state;
    if (!isOpen(deps, userId, user, id, session)) return [];
    const { startedAt, refreshedAt, expiresAt, secondFactor, ipAddress, userAgent } = session;
    const from = { ipAddress: ipAddress ?? null, userAgent: userAgent ?? null };
    return [
      {
        id,
        current: id === caller.user?.sessionId,
        startedAt,
        lastUsedAt: refreshedAt,
        expiresAt,
        secondFactor,
        ...from,
      },
    ];
  });
};

/** Rejects with SESSION_NOT_FOUND, also for the session of another person. */
export const revokeSession = async (deps: TeamNeeds, caller: Caller, id: SessionId): Promise<Deleted> => {
  const userId = personOf(caller);
  const user = await loadUser(deps, userId);
  const { state: session } = await loadState(deps.eventLog, sessionStream(id), sessionDecider);
  if (!isOpen(deps, userId, user, id, session)) throw sessionNotFound();
  await endSession(deps, id, 'revoked', ownCause(deps, caller));
  await deps.whenHeldEverywhere();
  return { id, deleted: true };
};

/**
 * Ends all sessions of the person but the one that calls. Rejects with SESSION_ENDED where another has ended that one
 * first.
 */
export const revokeOtherSessions = async (deps: TeamNeeds, caller: Caller, sessionsOf: SessionsOf): Promise<void> => {
  const id = personOf(caller);
  const cause = ownCause(deps, caller);
  const session = await askingSession(deps, caller);
  await changeUser(deps, id, { type: 'EndOtherSessions', at: cause.at, session }, cause);
  await deps.whenHeldEverywhere();
  await recordEnds(deps, id, await sessionsOf(id), cause);
};

/**
 * All other sessions end. `currentPassword` is not needed in a session that began by a one-time link. Rejects with
 * INVALID_CREDENTIALS, VALIDATION_ERROR, and CONFLICT where the password was changed meanwhile.
 */
export const changePassword = async (
  deps: TeamNeeds,
  caller: Caller,
  { currentPassword, newPassword }: ChangePasswordRequest,
  sessionsOf?: SessionsOf,
): Promise<void> => {
  const id = personOf(caller);
  assertPassword('newPassword', newPassword, deps.people.passwords.isCommon);
  const user =
    currentPassword === undefined
      ? await assertCameByLink(deps, caller)
      : await assertOwnPassword(deps, id, currentPassword);
  const before = user.passwordHash;
  const cause = ownCause(deps, caller);
  const passwordHash = await deps.people.passwords.hash(normalPassword(newPassword));
  const session = await askingSession(deps, caller);
  await tellPerson(deps, id, user, { kind: 'password-changed', about: [before] }, cause);
  await changeUser(deps, id, { type: 'ChangePassword', at: cause.at, session, before, passwordHash }, cause);
  await deps.whenHeldEverywhere();
  if (sessionsOf !== undefined) await recordEnds(deps, id, await sessionsOf(id), cause);
};

/** Rejects with VALIDATION_ERROR unless the person may choose a password without giving the one of before. */
const assertCameByLink = async (deps: TeamNeeds, caller: Caller): Promise<User> => {
  const user = await loadUser(deps, personOf(caller));
  const { state: session } = await deps.session(sessionStream(ownSession(caller)));
  if (!mayChoosePassword(user, session)) throw invalid('request body', 'currentPassword', 'is missing');
  return user;
};

/** Records in each session that its person ended all of them, and destroys the address and program it was used from. */
export const recordEnds = async (
  deps: TeamNeeds,
  userId: UserId,
  ids: readonly SessionId[],
  cause: Cause,
): Promise<void> => {
  const { state: user } = await loadState(deps.eventLog, userStream(userId), userDecider);
  for (const id of ids) {
    const { state: session } = await deps.session(sessionStream(id));
    if (user === undefined || session === undefined || session.userId !== userId || session.ended !== undefined)
      continue;
    if (!holdsSession(user, id, session.epoch)) await endSession(deps, id, user.endedBy ?? 'revoked', cause);
  }
};

/**
 * The key under which sign-ins by that address are counted; it does not reveal the address. Rejects with ERR_EMAIL_001,
 * and with STORE_AWAY if the log is away: an attempt that cannot be checked is not counted.
 */
export const loginBucketOf = async (deps: TeamNeeds, email: string): Promise<string> => {
  const { addressId } = signInAddress(deps, email);
  await ownerOf(deps, addressId);
  return addressId;
};

/**
 * Records from which network and device a person signs in, and tells them by mail if one is new. Call it once the
 * person has authenticated and before the session begins. They get one mail for each place, even if the call is
 * repeated; the very first place gets none.
 */
export const noteSignInPlace = async (
  deps: TeamNeeds,
  userId: UserId,
  user: User,
  from: CalledFrom,
  cause: Cause,
): Promise<void> => {
  const { ipAddress, userAgent } = callOrigin(from.ipAddress, from.userAgent);
  const fingerprint = (what: string, text: string) =>
    deps.keys.fingerprint('sign-in place', JSON.stringify([userId, what, text]));
  const place = {
    network: fingerprint('network', networkOf(ipAddress)),
    device: fingerprint('device', deviceOf(userAgent)),
  };
  const newToday = newPlacesOn(user, cause.at);
  if (knowsPlace(user, place) || newToday >= NEW_PLACES_PER_DAY_MAX) return;
  if (user.places.size > 0 && newToday < MAILS_PER_DAY_MAX) {
    const variables = { network: ipAddress, device: userAgent };
    await tellPerson(deps, userId, user, { kind: 'new-sign-in', about: [place, monthOf(cause.at)], variables }, cause);
  }
  await changeUser(deps, userId, { type: 'NoteSignInPlace', at: cause.at, place }, cause);
};

/** The cause of what a person does to their own account, which belongs to no team. */
export const personalCause = (deps: Pick<TeamNeeds, 'clock'>, userId: UserId, request: RequestFrom): Cause =>
  typeof request === 'string'
    ? ownCauseOf(deps, userId, request)
    : {
        ...ownCauseOf(deps, userId, request.requestId),
        calledFrom: () => callOrigin(request.ipAddress, request.userAgent),
      };

const ownCauseOf = (deps: Pick<TeamNeeds, 'clock'>, userId: UserId, requestId: string): Cause => ({
  teamId: NO_TEAM,
  actor: `user:${userId}`,
  correlationId: requestId,
  causationId: requestId,
  at: isoTime(deps.clock.now()),
});

/** Hashes the password again if its hash has outdated parameters: only a sign-in knows the password. */
const rehash = async (
  deps: TeamNeeds,
  userId: UserId,
  { passwordHash }: User,
  password: string,
  cause: Cause,
): Promise<void> => {
  if (passwordHash === undefined || !deps.people.passwords.isOutdated(passwordHash)) return;
  const renewed = await deps.people.passwords.hash(normalPassword(password));
  await changeUser(
    deps,
    userId,
    { type: 'RehashPassword', at: cause.at, before: passwordHash, passwordHash: renewed },
    cause,
  );
};

const tokensOf = async (deps: TeamNeeds, of: TokenOf, refreshToken: string): Promise<Tokens> => ({
  accessToken: await makeAccessToken(deps, of),
  refreshToken,
  expiresIn: deps.limits.accessTokenMs / 1_000,
  tokenType: 'Bearer',
});

const expiryOf = (deps: TeamNeeds, at: string): string => isoTime(Date.parse(at) + deps.limits.sessionUnusedMs);

/** Rejects with SESSION_ENDED if the person has ended all sessions, and ends this one. */
const assertNotEnded = async (
  deps: TeamNeeds,
  { userId, sessionId, session }: OpenSession,
  cause: Cause,
): Promise<void> => {
  const { state: user } = await loadState(deps.eventLog, userStream(userId), userDecider);
  if (user !== undefined && holdsSession(user, sessionId, session.epoch)) return;
  const reason = user?.endedBy ?? 'revoked';
  await endSession(deps, sessionId, reason, cause);
  throw sessionEnded(session.ended ?? reason);
};

/** Whether it is a session of that person and still accepts calls. */
const isOpen = (
  deps: TeamNeeds,
  userId: UserId,
  user: User,
  id: SessionId,
  session: Session | undefined,
): session is Session =>
  session?.userId === userId &&
  session.ended === undefined &&
  Date.parse(session.expiresAt) > deps.clock.now() &&
  holdsSession(user, id, session.epoch);
