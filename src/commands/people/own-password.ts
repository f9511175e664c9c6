/** A person chooses another password. */
import type { Caller } from '../core/caller.js';
import { handle } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import { assertOwnPassword, bySession, ownSession } from './credentials.js';
import { recordEnds, type SessionsOf } from './own-sessions.js';
import { tellPerson } from './tell-person.js';
import { userFold } from './addresses.js';
import { ownCause, personOf } from './users.js';
import type { ChangePasswordRequest } from '../../api/own-account.js';
import { DomainError } from '../../domain/core/errors.js';
import { userStream } from '../../domain/core/ids.js';
import { assertPassword, normalPassword } from '../../domain/people/password.js';

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
