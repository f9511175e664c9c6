/** A person sets up a second factor, gives it up, and takes recovery codes anew. */
import type { Caller } from '../core/caller.js';
import { handle } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import { assertOwnPassword, livingUser, ownSession } from './credentials.js';
import { invalidCode, recoveryHashOf, stepOfCode, useCode } from './second-factor.js';
import { tellPerson } from './tell-person.js';
import { userFold } from './addresses.js';
import { loadUser, ownCause, personOf } from './users.js';
import type {
  ConfirmSecondFactorRequest,
  PrepareSecondFactorRequest,
  PreparedSecondFactor,
  RecoveryCodes,
  WithCodeRequest,
} from '../../api/second-factor.js';
import { DomainError } from '../../domain/core/errors.js';
import { sessionStream, userStream, type UserId } from '../../domain/core/ids.js';
import { sessionDecider } from '../../domain/people/session.js';
import type { UserEvent } from '../../domain/people/events.js';
import type { SecondFactor, User, UserState } from '../../domain/people/user.js';

const factorSet = (): DomainError =>
  new DomainError('SECOND_FACTOR_SET', 'There is a second factor already. POST /api/auth/totp/remove takes it away.');

const factorNotSet = (): DomainError =>
  new DomainError('SECOND_FACTOR_NOT_SET', 'There is no second factor. POST /api/auth/totp/prepare begins to set one up.');

const factorOf = (user: UserState): SecondFactor => {
  const { secondFactor } = livingUser(user);
  if (secondFactor === undefined) throw factorNotSet();
  return secondFactor;
};

/** Nothing is asked for yet. Rejects with INVALID_CREDENTIALS and SECOND_FACTOR_SET. */
export const prepareSecondFactor = async (
  deps: CommandDeps,
  caller: Caller,
  { password }: PrepareSecondFactorRequest,
): Promise<PreparedSecondFactor> => {
  const id = personOf(caller);
  const { email } = await assertOwnPassword(deps, id, password);
  const cause = ownCause(deps, caller);
  const { secondFactors, drawCode } = deps.people;
  const secret = secondFactors.newSecret();
  const decide = (_: null, user: UserState): readonly UserEvent[] => {
    if (livingUser(user).secondFactor !== undefined) throw factorSet();
    return [{ type: 'SecondFactorPrepared', data: { at: cause.at }, sealed: { secret } }];
  };
  await handle(deps.eventLog, userStream(id), { decide, ...userFold }, null, cause);
  const url = secondFactors.uri(secret, email ?? id);
  return { secret, url, qrCode: `data:image/png;base64,${drawCode(url).toString('base64')}` };
};

/**
 * From here on a code is asked for at each sign-in; the session that confirms it has given one. Rejects with INVALID_CODE,
 * SECOND_FACTOR_SET, and SECOND_FACTOR_NOT_SET where none was prepared, or too long ago.
 */
export const confirmSecondFactor = async (
  deps: CommandDeps,
  caller: Caller,
  { code }: ConfirmSecondFactorRequest,
): Promise<RecoveryCodes> => {
  const id = personOf(caller);
  const cause = ownCause(deps, caller);
  const { codes, hashes } = makeRecoveryCodes(deps, id);
  const decide = (_: null, state: UserState): readonly UserEvent[] => {
    const user = livingUser(state);
    if (user.secondFactor !== undefined) throw factorSet();
    const secret = preparedSecret(deps, user, cause.at);
    const step = stepOfCode(deps, secret, code, cause.at);
    if (step === undefined) throw invalidCode();
    return [{ type: 'SecondFactorConfirmed', data: { at: cause.at, step }, sealed: { secret, recoveryHashes: hashes } }];
  };
  const user = await loadUser(deps, id);
  decide(null, user);
  await tellPerson(deps, id, user, { kind: 'second-factor-on', about: [user.prepared?.at] }, cause);
  await handle(deps.eventLog, userStream(id), { decide, ...userFold }, null, cause);
  await handle(deps.eventLog, sessionStream(ownSession(caller)), sessionDecider, { type: 'GiveSecondFactor', at: cause.at }, cause);
  await deps.whenHeldEverywhere();
  return { recoveryCodes: codes };
};

const preparedSecret = ({ limits }: CommandDeps, { prepared }: User, at: string): string => {
  if (prepared?.secret === undefined || Date.parse(prepared.at) + limits.secondFactorPreparedMs <= Date.parse(at)) throw factorNotSet();
  return prepared.secret;
};

/** Rejects with INVALID_CREDENTIALS, INVALID_CODE and SECOND_FACTOR_NOT_SET. */
export const removeSecondFactor = async (deps: CommandDeps, caller: Caller, { password, code }: WithCodeRequest): Promise<void> => {
  const id = personOf(caller);
  const known = await assertOwnPassword(deps, id, password);
  const cause = ownCause(deps, caller);
  const decide = (_: null, user: UserState): readonly UserEvent[] => {
    useCode(deps, id, factorOf(user), code, cause.at);
    return [{ type: 'SecondFactorRemoved', data: { at: cause.at } }];
  };
  decide(null, known);
  await tellPerson(deps, id, known, { kind: 'second-factor-off', about: [known.secondFactor?.secret] }, cause);
  await handle(deps.eventLog, userStream(id), { decide, ...userFold }, null, cause);
};

/** Those of before are good for nothing any more. Rejects as `removeSecondFactor`. */
export const renewRecoveryCodes = async (
  deps: CommandDeps,
  caller: Caller,
  { password, code }: WithCodeRequest,
): Promise<RecoveryCodes> => {
  const id = personOf(caller);
  await assertOwnPassword(deps, id, password);
  const cause = ownCause(deps, caller);
  const { codes, hashes } = makeRecoveryCodes(deps, id);
  const decide = (_: null, user: UserState): readonly UserEvent[] => [
    useCode(deps, id, factorOf(user), code, cause.at),
    { type: 'RecoveryCodesRenewed', data: { at: cause.at }, sealed: { recoveryHashes: hashes } },
  ];
  await handle(deps.eventLog, userStream(id), { decide, ...userFold }, null, cause);
  return { recoveryCodes: codes };
};

/** 80 bits each: nobody guesses one, however it is kept. */
const RECOVERY_CODE_BYTES = 10;
/** Base32 without what is taken for something else (Crockford). */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz';

const makeRecoveryCodes = (deps: CommandDeps, id: UserId): Readonly<{ codes: string[]; hashes: string[] }> => {
  const codes = Array.from({ length: deps.limits.recoveryCodes }, () => recoveryCodeOf(deps.ids.bytes(RECOVERY_CODE_BYTES)));
  return { codes, hashes: codes.map((code) => recoveryHashOf(deps, id, code)) };
};

/** Four groups of four letters and digits, five bits each. */
const recoveryCodeOf = (bytes: Buffer): string => {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = (bits.match(/.{5}/g) ?? []).map((five) => LETTERS[Number.parseInt(five, 2)]).join('');
  return (letters.match(/.{4}/g) ?? []).join('-');
};
