/** Mails that tell a person what is done to their account, so that they hear of it where somebody else does it. */
import { sendAccountMail, type AccountMailKind } from './mails.js';
import type { CommandDeps } from '../core/deps.js';
import { firstTeam } from '../core/instance.js';
import { DomainError } from '../../domain/core/errors.js';
import { emailIdOfFingerprint, type UserId } from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { User } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';

export type Told = Readonly<{
  kind: Extract<AccountMailKind, 'password-changed' | 'address-changed' | 'second-factor-on' | 'second-factor-off' | 'new-sign-in'>;
  /** What makes it this one, and not another of the kind. */
  about: readonly (string | number | JsonObject | undefined)[];
  variables?: JsonObject;
}>;

/**
 * To be called before the fact is appended, by whoever is sure of all else: where the program dies in between, the call that does it again
 * sends no second mail. Goes to the address of before. Where no mail can be sent, because the template is gone or too many wait, it is done
 * all the same; a fault of a store rejects.
 */
export const tellPerson = async (
  deps: CommandDeps,
  userId: UserId,
  { email, name = '' }: Pick<User, 'email' | 'name'>,
  { kind, about, variables = {} }: Told,
  cause: Cause,
): Promise<void> => {
  if (email === undefined || (await firstTeam(deps)) === undefined) return;
  const id = emailIdOfFingerprint(deps.keys.fingerprint('email id', JSON.stringify([kind, userId, ...about])));
  const when = `${cause.at.slice(0, 10)} ${cause.at.slice(11, 16)} UTC`;
  try {
    await sendAccountMail(deps, { kind, to: { email }, variables: { name, when, ...variables }, id }, cause);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
  }
};
