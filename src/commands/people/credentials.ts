/** Passwords and second factors: what a person must give before their account changes, and commands that set up, remove and renew a second factor. */
import { timingSafeEqual } from 'node:crypto';
import { handle } from '../core/handle.js';
import { refusing, type Caller } from '../core/caller.js';
import type { TeamNeeds } from '../teams/needs.js';
import { ownCause } from './users.js';
import { userFold, loadUser, personOf } from '../access/users.js';
import { DomainError } from '../../domain/core/errors.js';
import { userStream, type UserId, sessionStream, type SessionId } from '../../domain/core/ids.js';
import type { UserEvent } from '../../domain/people/events.js';
import { type SecondFactor, type UserState, normalPassword, holdsSession, userNotFound, type User } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';
import { readRefreshToken, invalidToken, sessionEnded, sessionDecider } from '../../domain/people/session.js';
import { tellPerson } from '../email/service-mails.js';
import type {
  ConfirmSecondFactorRequest,
  PrepareSecondFactorRequest,
  PreparedSecondFactor,
  RecoveryCodes,
  WithCodeRequest,
} from '../../api/people.js';

const APP_CODE = /^\d{6}$/;

/** 80 bits each: nobody guesses one. */
const RECOVERY_CODE_BYTES = 10;

/** Base32 without letters that look like others (Crockford). */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz';

export const codeRequired = (): DomainError =>
  new DomainError('CODE_REQUIRED', 'This user has a second factor: send `code`, the six digits of the app or a recovery code.');

/**
 * Checks a code and uses it up. Out: false if the person has no second factor any more, so that no code was used. Rejects with CODE_REQUIRED
 * and INVALID_CODE.
 */
export const assertSecondFactor = async (deps: TeamNeeds, userId: UserId, code: string | undefined, cause: Cause): Promise<boolean> => {
  if (code === undefined) throw codeRequired();
  const decide = (_: null, user: UserState): readonly UserEvent[] =>
    user?.secondFactor === undefined ? [] : [useCode(deps, userId, user.secondFactor, code, cause.at)];
  const { events } = await handle(deps.eventLog, userStream(userId), { decide, ...userFold }, null, cause);
  return events.length > 0;
};

/** Checks the password of the person. Rejects with INVALID_CREDENTIALS and USER_NOT_FOUND. */
export const assertOwnPassword = async (deps: TeamNeeds, id: UserId, password: string): Promise<User> => {
  const user = await loadUser(deps, id);
  if (!(await deps.people.passwords.verify(user.passwordHash, normalPassword(password))))
    throw new DomainError('INVALID_CREDENTIALS', 'The password is wrong.');
  return user;
};

/** The session that calls. Only people reach what needs one: keys and apps lack the permission. */
export const ownSession = ({ user }: Caller): SessionId => {
  if (user?.sessionId === undefined) throw new Error('a call without a session came where one is needed');
  return user.sessionId;
};

/**
 * A decision on a person that a session of theirs asks for. It throws SESSION_ENDED if that session was ended at the same moment: of two
 * sessions that end each other, one goes on.
 */
export const bySession = async (
  deps: TeamNeeds,
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

/** The key under which attempts with the password or a code are counted: together with sign-ins as that person. */
export const ownLoginBucket = async (deps: TeamNeeds, caller: Caller): Promise<string> => {
  const { state } = await deps.user(userStream(personOf(caller)));
  return livingUser(state).addressId;
};

/** The token that a page must send to act in that session. Knowing the id of the session is not enough to compute it. */
export const csrfTokenOf = async ({ keys }: Pick<TeamNeeds, 'keys'>, sessionId: SessionId): Promise<string> =>
  keys.fingerprint('csrf', sessionId).slice(0, 43);

/** The session that a refresh token was issued for, whether or not it is still good. Rejects with INVALID_TOKEN. */
export const sessionOfRefreshToken = async ({ keys }: Pick<TeamNeeds, 'keys'>, token: string): Promise<SessionId> => {
  const read = readRefreshToken(keys, token);
  if (read === undefined) throw invalidToken();
  return read.sessionId;
};

/** Makes a secret. Sign-ins need no code until it is confirmed. Rejects with INVALID_CREDENTIALS and SECOND_FACTOR_SET. */
export const prepareSecondFactor = async (
  deps: TeamNeeds,
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
 * From now on each sign-in needs a code; the session that confirms it has given one. Rejects with INVALID_CODE, SECOND_FACTOR_SET, and
 * SECOND_FACTOR_NOT_SET if none was prepared, or too long ago.
 */
export const confirmSecondFactor = async (
  deps: TeamNeeds,
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

/** Rejects with INVALID_CREDENTIALS, INVALID_CODE and SECOND_FACTOR_NOT_SET. */
export const removeSecondFactor = async (deps: TeamNeeds, caller: Caller, { password, code }: WithCodeRequest): Promise<void> => {
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

/** Replaces all recovery codes. Rejects as `removeSecondFactor` does. */
export const renewRecoveryCodes = async (deps: TeamNeeds, caller: Caller, { password, code }: WithCodeRequest): Promise<RecoveryCodes> => {
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

const invalidCode = (): DomainError =>
  new DomainError('INVALID_CODE', 'The code is wrong, or was used before. Take the one that the app shows now, or a recovery code.');

/** Apps show a blank in the middle of a code, and people type it. */
const withoutBlanks = (code: string): string => code.replaceAll(/\s/g, '');

/** What is stored of a recovery code. */
const recoveryHashOf = ({ keys }: Pick<TeamNeeds, 'keys'>, userId: UserId, code: string): string =>
  keys.fingerprint('recovery code', JSON.stringify([userId, code.toLowerCase().replace(/[^a-z0-9]/g, '')]));

/** The time step of a code of the app; undefined if it is not a code of that secret for about this moment. */
const stepOfCode = (deps: TeamNeeds, secret: string | undefined, code: string, at: string): number | undefined => {
  const digits = withoutBlanks(code);
  return secret === undefined || !APP_CODE.test(digits) ? undefined : deps.people.secondFactors.stepOf(secret, digits, Date.parse(at));
};

/** The event that uses the code up. Throws INVALID_CODE. */
const useCode = (deps: TeamNeeds, userId: UserId, factor: SecondFactor, code: string, at: string): UserEvent => {
  if (APP_CODE.test(withoutBlanks(code))) {
    const step = stepOfCode(deps, factor.secret, code, at);
    if (step === undefined || step <= factor.step) throw refusing(userId, invalidCode());
    return { type: 'SecondFactorUsed', data: { at, step } };
  }
  const hash = Buffer.from(recoveryHashOf(deps, userId, code));
  const index = factor.recoveryHashes.findIndex((kept) => timingSafeEqual(Buffer.from(kept), hash));
  if (index < 0 || factor.usedRecovery.has(index)) throw refusing(userId, invalidCode());
  return { type: 'RecoveryCodeUsed', data: { at, index } };
};

/** Throws USER_NOT_FOUND. */
const livingUser = (user: UserState): User => {
  if (user === undefined || user.isErased) throw userNotFound();
  return user;
};

const factorSet = (): DomainError =>
  new DomainError('SECOND_FACTOR_SET', 'There is a second factor already. POST /api/auth/totp/remove takes it away.');

const factorNotSet = (): DomainError =>
  new DomainError('SECOND_FACTOR_NOT_SET', 'There is no second factor. POST /api/auth/totp/prepare begins to set one up.');

const factorOf = (user: UserState): SecondFactor => {
  const { secondFactor } = livingUser(user);
  if (secondFactor === undefined) throw factorNotSet();
  return secondFactor;
};

const preparedSecret = ({ limits }: TeamNeeds, { prepared }: User, at: string): string => {
  if (prepared?.secret === undefined || Date.parse(prepared.at) + limits.secondFactorPreparedMs <= Date.parse(at)) throw factorNotSet();
  return prepared.secret;
};

const makeRecoveryCodes = (deps: TeamNeeds, id: UserId): Readonly<{ codes: string[]; hashes: string[] }> => {
  const codes = Array.from({ length: deps.limits.recoveryCodes }, () => recoveryCodeOf(deps.ids.bytes(RECOVERY_CODE_BYTES)));
  return { codes, hashes: codes.map((code) => recoveryHashOf(deps, id, code)) };
};

/** Four groups of four letters and digits, five bits each. */
const recoveryCodeOf = (bytes: Buffer): string => {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = (bits.match(/.{5}/g) ?? []).map((five) => LETTERS[Number.parseInt(five, 2)]).join('');
  return (letters.match(/.{4}/g) ?? []).join('-');
};
