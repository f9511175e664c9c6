/** Sessions of people: begun by a sign-in, kept alive by refresh tokens of which each is good once, and ended. */
import { noteLogins } from '../billing/activity.js';
import { makeAccessToken, type TokenOf } from '../access/tokens.js';
import type { Caller } from '../core/caller.js';
import { handle, loadState } from '../core/handle.js';
import { refusing } from '../core/denials.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { finishJoining } from '../teams/invitations.js';
import { isoMoment } from '../core/memo.js';
import { assertSecondFactor } from './second-factor.js';
import { noteSignInPlace } from './sign-in-places.js';
import { ownerOf, signInAddress, userFold } from './addresses.js';
import { userRecordOf } from './records.js';
import type { Tokens, SignedIn } from '../../api/people.js';
import { callOrigin } from '../../domain/access/origins.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  assertDefined,
  NO_TEAM,
  parseUserId,
  sessionIdOf,
  sessionStream,
  userStream,
  uuidV5,
  type SessionId,
  type TeamId,
  type UserId,
} from '../../domain/core/ids.js';
import { makeRefreshToken, readRefreshToken } from '../../domain/people/refresh-token.js';
import { invalidToken, sessionDecider, sessionEnded, type EndReason, type SessionState } from '../../domain/people/session.js';
import { normalPassword } from '../../domain/people/password.js';
import { holdsSession, type User } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';

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
