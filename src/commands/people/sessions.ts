/** Sessions of people: begun by a sign-in, kept alive by refresh tokens of which each is good once, and ended. */
import { type CommandDeps, causeOf } from '../core/deps.js';
import { signInAddress, userFold, ownerOf, userRecordOf, loadUser, ownCause, personOf } from './users.js';
import { handle, loadState } from '../core/handle.js';
import { tellPerson } from './mails.js';
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
import type { UserEvent } from '../../domain/people/events.js';
import {
  deviceOf,
  networkOf,
  knowsPlace,
  newPlacesOn,
  type User,
  type UserState,
  normalPassword,
  holdsSession,
  assertPassword,
} from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';
import { noteLogins } from '../billing/account.js';
import { makeAccessToken, type TokenOf } from '../access/tokens.js';
import { type Caller, refusing } from '../core/caller.js';
import { finishJoining } from '../teams/invitations.js';
import { isoMoment } from '../core/memo.js';
import { assertSecondFactor, bySession, ownSession, assertOwnPassword } from './credentials.js';
import type { Tokens, SignedIn, SessionRecord, ChangePasswordRequest } from '../../api/people.js';
import { DomainError } from '../../domain/core/errors.js';
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

/* Whose sign-ins are counted together. */

/** In: an address as it was typed. Out: a name for it that tells nothing of it. Rejects with ERR_EMAIL_001. */
export const loginBucketOf = async (deps: CommandDeps, email: string): Promise<string> => signInAddress(deps, email).addressId;

/* From where people sign in: a place that they never signed in from is told to them by mail. */

/** Of one day: whoever knows a password and signs in by ever other devices does not fill the mailbox, nor the person's stream. */
const TOLD_MAX = 10;
const KEPT_MAX = 50;

/**
 * To be called before the session begins, of somebody who has shown who they are. They get one mail for each place, however often this is
 * broken off, and no more than some a day; the first place is told to nobody.
 */
export const noteSignInPlace = async (deps: CommandDeps, userId: UserId, user: User, from: CalledFrom, cause: Cause): Promise<void> => {
  const { ipAddress, userAgent } = callOrigin(from.ipAddress, from.userAgent);
  const fingerprint = (what: string, text: string) => deps.keys.fingerprint('sign-in place', JSON.stringify([userId, what, text]));
  const place = { network: fingerprint('network', networkOf(ipAddress)), device: fingerprint('device', deviceOf(userAgent)) };
  const newToday = newPlacesOn(user, cause.at);
  if (knowsPlace(user, place) || newToday >= KEPT_MAX) return;
  if (user.places.size > 0 && newToday < TOLD_MAX) {
    const variables = { network: ipAddress, device: userAgent };
    await tellPerson(deps, userId, user, { kind: 'new-sign-in', about: [place, monthOf(cause.at)], variables }, cause);
  }
  const seen: UserEvent = { type: 'UserSignInPlaceSeen', data: { at: cause.at }, sealed: place };
  const decide = (_: null, now: UserState) => (now === undefined || now.isErased || knowsPlace(now, place) ? [] : [seen]);
  await handle(deps.eventLog, userStream(userId), { decide, ...userFold }, null, cause);
};

/** From where a person calls. */
export type CalledFrom = Readonly<{ requestId: string; ipAddress: string; userAgent: string }>;

/** The id of a request, or of what a program begins by itself; and from where it came where a person calls. */
export type RequestFrom = string | CalledFrom;

export type Credentials = Readonly<{ email: string; password: string; code?: string | undefined }>;

/** In: who causes it and by which request, and from where it came where that is known. What people do to their own account belongs to no team. */
export const personalCause = (deps: Pick<CommandDeps, 'clock'>, userId: UserId, request: RequestFrom): Cause =>
  typeof request === 'string'
    ? ownCauseOf(deps, userId, request)
    : { ...ownCauseOf(deps, userId, request.requestId), calledFrom: () => callOrigin(request.ipAddress, request.userAgent) };

const ownCauseOf = (deps: Pick<CommandDeps, 'clock'>, userId: UserId, requestId: string): Cause => ({
  teamId: NO_TEAM,
  actor: `user:${userId}`,
  correlationId: requestId,
  causationId: requestId,
  at: isoMoment(deps.clock.now()),
});

/**
 * An address that nobody has is answered as a wrong password, and takes as long. Rejects with INVALID_CREDENTIALS; where the password is
 * right, with ADDRESS_NOT_VERIFIED, CODE_REQUIRED or INVALID_CODE. `teamsOf`: the teams of a person, as far as they are known.
 */
export const login = async (
  deps: CommandDeps,
  { email, password, code }: Credentials,
  from: CalledFrom,
  teamsOf?: (userId: UserId) => Promise<readonly TeamId[]>,
): Promise<SignedIn> => {
  const { addressId } = signInAddress(deps, email);
  // Of an address that nobody has a stream is read too.
  const userId = (await ownerOf(deps, addressId)) ?? assertDefined(parseUserId(uuidV5('nobody', addressId)), 'user id');
  const { state } = await loadState(deps.eventLog, userStream(userId), userFold);
  const user = state?.addressId === addressId && !state.isErased ? state : undefined;
  const isRight = await deps.people.passwords.verify(user?.passwordHash, normalPassword(password));
  if (!isRight || user === undefined) {
    const wrong = new DomainError('INVALID_CREDENTIALS', 'The address or the password is wrong.');
    throw user === undefined ? wrong : refusing(userId, wrong);
  }
  if (!user.isVerified) {
    const message = 'Follow the link in the mail that went to this address; POST /api/auth/verify/resend sends another.';
    throw refusing(userId, new DomainError('ADDRESS_NOT_VERIFIED', message));
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

/** Parameters grow with the years; a password can be hashed anew only while it is known. */
const rehash = async (deps: CommandDeps, userId: UserId, { passwordHash }: User, password: string, cause: Cause): Promise<void> => {
  if (passwordHash === undefined || !deps.people.passwords.isOutdated(passwordHash)) return;
  const renewed = await deps.people.passwords.hash(normalPassword(password));
  const event = {
    type: 'UserPasswordChanged' as const,
    data: { at: cause.at, reason: 'rehashed' as const },
    sealed: { passwordHash: renewed },
  };
  const decide = (_: null, user: User | undefined) => (user?.passwordHash === passwordHash ? [event] : []);
  await handle(deps.eventLog, userStream(userId), { decide, ...userFold }, null, cause);
};

const tokensOf = async (deps: CommandDeps, of: TokenOf, refreshToken: string): Promise<Tokens> => ({
  accessToken: await makeAccessToken(deps, of),
  refreshToken,
  expiresIn: deps.limits.accessTokenMs / 1_000,
  tokenType: 'Bearer',
});

const expiryOf = (deps: CommandDeps, at: string): string => isoMoment(Date.parse(at) + deps.limits.sessionUnusedMs);

type Starting = Readonly<{ userId: UserId; user: User; secondFactor: boolean }>;

/** A session of its own for each sign-in: what the caller had before is none of it. */
export const startSession = async (deps: CommandDeps, { userId, user, secondFactor }: Starting, from: CalledFrom): Promise<SignedIn> => {
  const sessionId = sessionIdOf(deps.ids.bytes(16));
  const { token, hash } = makeRefreshToken(deps.keys, sessionId, deps.ids.bytes(32));
  const cause = personalCause(deps, userId, from);
  const { ipAddress, userAgent } = from;
  const started = { at: cause.at, userId, epoch: user.epoch, hash, expiresAt: expiryOf(deps, cause.at), secondFactor };
  const command = { type: 'StartSession' as const, started, from: { ipAddress, userAgent } };
  await handle(deps.eventLog, sessionStream(sessionId), sessionDecider, command, cause);
  // Who signs in calls next: what that call asks for is read now.
  await Promise.all([deps.session(sessionStream(sessionId)), deps.user(userStream(userId))]);
  return { ...(await tokensOf(deps, { userId, sessionId, at: cause.at }, token)), sessionId, user: userRecordOf(userId, user) };
};

/** Rejects with INVALID_TOKEN, and with SESSION_ENDED where the session has ended, by this call too: a token that was used before ends it. */
export const refresh = async (
  deps: CommandDeps,
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
  await assertHeld(deps, { userId, sessionId, session: known }, cause);
  const { token, hash } = makeRefreshToken(deps.keys, sessionId, deps.ids.bytes(32));
  const command = { type: 'Refresh' as const, at: cause.at, used: read.hash, hash, expiresAt: expiryOf(deps, cause.at) };
  const { state } = await handle(deps.eventLog, stream, sessionDecider, command, cause);
  if (state?.ended !== undefined) {
    await deps.eventLog.destroyKey(stream);
    throw sessionEnded(state.ended);
  }
  return { ...(await tokensOf(deps, { userId, sessionId, at: cause.at }, token)), sessionId };
};

type Held = Readonly<{ userId: UserId; sessionId: SessionId; session: NonNullable<SessionState> }>;

/** Ends a session that the person has ended with all others, and rejects with SESSION_ENDED. */
const assertHeld = async (deps: CommandDeps, { userId, sessionId, session }: Held, cause: Cause): Promise<void> => {
  const { state: user } = await loadState(deps.eventLog, userStream(userId), userFold);
  if (user !== undefined && holdsSession(user, sessionId, session.epoch)) return;
  const reason = user?.endedBy ?? 'revoked';
  await endSession(deps, sessionId, reason, cause);
  throw sessionEnded(session.ended ?? reason);
};

/** From its end on the tokens of the session are refused here; in other processes within the bound of the state cache. Safe to repeat. */
export const endSession = async (
  { eventLog }: Pick<CommandDeps, 'eventLog'>,
  sessionId: SessionId,
  reason: EndReason,
  cause: Cause,
): Promise<void> => {
  const stream = sessionStream(sessionId);
  const { state } = await handle(eventLog, stream, sessionDecider, { type: 'EndSession', at: cause.at, reason }, cause);
  if (state?.ended !== undefined) await eventLog.destroyKey(stream);
};

/** Ends the session that calls. */
export const logout = async (deps: CommandDeps, caller: Caller): Promise<void> => {
  const sessionId = caller.user?.sessionId;
  if (sessionId === undefined) throw new Error('a call without a session signs nobody out');
  await endSession(deps, sessionId, 'logout', causeOf(deps, { ...caller, teamId: NO_TEAM }));
  await deps.whenHeldEverywhere();
};

/* The sessions of a person: shown to them, and ended by them from elsewhere. */

/** The open sessions of a person as far as they are known: those that are not named end when they are used, or expire. */
export type SessionsOf = (userId: UserId) => Promise<readonly SessionId[]>;

export const sessionNotFound = (): DomainError =>
  new DomainError('SESSION_NOT_FOUND', 'You have no open session with this id. GET /api/users/me/sessions lists yours.');

/** Whether a session is one of that person in which calls are let in. */
const isOpen = (deps: CommandDeps, userId: UserId, user: User, id: SessionId, session: Session | undefined): session is Session =>
  session?.userId === userId &&
  session.ended === undefined &&
  Date.parse(session.expiresAt) > deps.clock.now() &&
  holdsSession(user, id, session.epoch);

/** In: sessions that are said to be of who calls. Those that are none, or have ended, are left out. */
export const readSessions = async (deps: CommandDeps, caller: Caller, ids: readonly SessionId[]): Promise<SessionRecord[]> => {
  const userId = personOf(caller);
  const user = await loadUser(deps, userId);
  const loaded = await Promise.all(ids.map((id) => loadState(deps.eventLog, sessionStream(id), sessionDecider)));
  return ids.flatMap((id, at) => {
    const session = loaded[at]?.state;
    if (!isOpen(deps, userId, user, id, session)) return [];
    const { startedAt, refreshedAt, expiresAt, secondFactor, ipAddress, userAgent } = session;
    const from = { ipAddress: ipAddress ?? null, userAgent: userAgent ?? null };
    return [{ id, current: id === caller.user?.sessionId, startedAt, lastUsedAt: refreshedAt, expiresAt, secondFactor, ...from }];
  });
};

/** Rejects with SESSION_NOT_FOUND, for the session of another too. */
export const revokeSession = async (deps: CommandDeps, caller: Caller, id: SessionId): Promise<Deleted> => {
  const userId = personOf(caller);
  const user = await loadUser(deps, userId);
  const { state: session } = await loadState(deps.eventLog, sessionStream(id), sessionDecider);
  if (!isOpen(deps, userId, user, id, session)) throw sessionNotFound();
  await endSession(deps, id, 'revoked', ownCause(deps, caller));
  await deps.whenHeldEverywhere();
  return { id, deleted: true };
};

/** Ends all sessions of the person but the one that calls. Rejects with SESSION_ENDED where another has ended that one first. */
export const revokeOtherSessions = async (deps: CommandDeps, caller: Caller, sessionsOf: SessionsOf): Promise<void> => {
  const id = personOf(caller);
  const cause = ownCause(deps, caller);
  const keptSession = ownSession(caller);
  const decide = await bySession(deps, caller, () => [{ type: 'UserSessionsEnded', data: { at: cause.at, keptSession } }]);
  await handle(deps.eventLog, userStream(id), { decide, ...userFold }, null, cause);
  await deps.whenHeldEverywhere();
  await recordEnds(deps, id, await sessionsOf(id), cause);
};

/** Of the sessions that the person has ended with others it is recorded in each, and from where they were used is destroyed. */
export const recordEnds = async (deps: CommandDeps, userId: UserId, ids: readonly SessionId[], cause: Cause): Promise<void> => {
  const { state: user } = await loadState(deps.eventLog, userStream(userId), userFold);
  for (const id of ids) {
    const { state: session } = await deps.session(sessionStream(id));
    if (user === undefined || session === undefined || session.userId !== userId || session.ended !== undefined) continue;
    if (!holdsSession(user, id, session.epoch)) await endSession(deps, id, user.endedBy ?? 'revoked', cause);
  }
};

/* A person chooses another password. */

/** All other sessions end. Rejects with INVALID_CREDENTIALS, VALIDATION_ERROR, and CONFLICT where the password was changed meanwhile. */
export const changePassword = async (
  deps: CommandDeps,
  caller: Caller,
  { currentPassword, newPassword }: ChangePasswordRequest,
  sessionsOf?: SessionsOf,
): Promise<void> => {
  const id = personOf(caller);
  assertPassword('newPassword', newPassword, deps.people.passwords.isCommon);
  const user = await assertOwnPassword(deps, id, currentPassword);
  const before = user.passwordHash;
  const cause = ownCause(deps, caller);
  const passwordHash = await deps.people.passwords.hash(normalPassword(newPassword));
  const keptSession = ownSession(caller);
  const decide = await bySession(deps, caller, (user) => {
    // What was shown is the password of then.
    if (user.passwordHash !== before) throw new DomainError('CONFLICT', 'The password was changed at the same moment. Sign in again.');
    return [{ type: 'UserPasswordChanged', data: { at: cause.at, reason: 'changed', keptSession }, sealed: { passwordHash } }];
  });
  await tellPerson(deps, id, user, { kind: 'password-changed', about: [before] }, cause);
  await handle(deps.eventLog, userStream(id), { decide, ...userFold }, null, cause);
  await deps.whenHeldEverywhere();
  if (sessionsOf !== undefined) await recordEnds(deps, id, await sessionsOf(id), cause);
};
