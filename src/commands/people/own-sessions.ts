/** The sessions of a person: shown to them, and ended by them from elsewhere. */
import type { Caller } from '../core/caller.js';
import { handle, loadState } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import { bySession, ownSession } from './credentials.js';
import { endSession } from './sessions.js';
import { userFold } from './addresses.js';
import { loadUser, ownCause, personOf } from './users.js';
import type { Deleted } from '../../api/core/common.js';
import type { SessionRecord } from '../../api/own-account.js';
import { DomainError } from '../../domain/core/errors.js';
import { sessionStream, userStream, type SessionId, type UserId } from '../../domain/core/ids.js';
import { sessionDecider, type Session } from '../../domain/people/session.js';
import { holdsSession, type User } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';

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
