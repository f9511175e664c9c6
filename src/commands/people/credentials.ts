/** Who is signed in shows again who they are, before what protects their account changes. */
import type { Caller } from '../core/caller.js';
import type { CommandDeps } from '../core/deps.js';
import { loadUser, personOf } from './users.js';
import { DomainError } from '../../domain/core/errors.js';
import { sessionStream, userStream, type SessionId, type UserId } from '../../domain/core/ids.js';
import { readRefreshToken } from '../../domain/people/refresh-token.js';
import { invalidToken, sessionEnded } from '../../domain/people/session.js';
import { normalPassword } from '../../domain/people/password.js';
import type { UserEvent } from '../../domain/people/events.js';
import { holdsSession, userNotFound, type User, type UserState } from '../../domain/people/user.js';

/** Throws USER_NOT_FOUND. */
export const livingUser = (user: UserState): User => {
  if (user === undefined || user.isErased) throw userNotFound();
  return user;
};

/** The session that calls. Only people reach what needs one: keys and apps lack the permission. */
export const ownSession = ({ user }: Caller): SessionId => {
  if (user?.sessionId === undefined) throw new Error('a call without a session came where one is needed');
  return user.sessionId;
};

/** In: the person, and what they gave as their password. Rejects with INVALID_CREDENTIALS and USER_NOT_FOUND. */
export const assertOwnPassword = async (deps: CommandDeps, id: UserId, password: string): Promise<User> => {
  const user = await loadUser(deps, id);
  if (!(await deps.people.passwords.verify(user.passwordHash, normalPassword(password))))
    throw new DomainError('INVALID_CREDENTIALS', 'The password is wrong.');
  return user;
};

/** Whose attempts are counted where a person shows again who they are: together with those to sign in as them. */
export const ownLoginBucket = async (deps: CommandDeps, caller: Caller): Promise<string> => {
  const { state } = await deps.user(userStream(personOf(caller)));
  return livingUser(state).addressId;
};

/** What a page shows to act in that session of a browser: it is known to nobody who only knows the session. */
export const csrfTokenOf = async ({ keys }: Pick<CommandDeps, 'keys'>, sessionId: SessionId): Promise<string> =>
  keys.fingerprint('csrf', sessionId).slice(0, 43);

/** Of which session a refresh token once was. Rejects with INVALID_TOKEN. */
export const sessionOfRefreshToken = async ({ keys }: Pick<CommandDeps, 'keys'>, token: string): Promise<SessionId> => {
  const read = readRefreshToken(keys, token);
  if (read === undefined) throw invalidToken();
  return read.sessionId;
};

/**
 * Decides about a person as one of their sessions asks for it, which may have been ended at this very moment. Throws SESSION_ENDED:
 * of two sessions that end each other one stays.
 */
export const bySession = async (
  deps: CommandDeps,
  caller: Caller,
  decide: (user: User) => readonly UserEvent[],
): Promise<(_: null, user: UserState) => readonly UserEvent[]> => {
  const sessionId = ownSession(caller);
  const { state: session } = await deps.session(sessionStream(sessionId));
  return (_, user) => {
    const living = livingUser(user);
    if (session === undefined || !holdsSession(living, sessionId, session.epoch)) throw sessionEnded(living.endedBy ?? 'revoked');
    return decide(living);
  };
};
