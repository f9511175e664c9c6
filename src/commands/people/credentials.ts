/**
 * Passwords and second factors: what a person must give before their account changes, and commands that set up, remove
 * and renew a second factor.
 */
import { handle } from '../core/handle.js';
import { withRefusedUser, type Caller } from '../core/caller.js';
import type { TeamNeeds } from '../teams/needs.js';
import { ownCause } from './users.js';
import { changeUser, loadUser, personOf } from '../access/users.js';
import { DomainError } from '../../domain/core/errors.js';
import { userStream, type UserId, sessionStream, type SessionId } from '../../domain/core/ids.js';
import { decideUser, livingUser, type AskingSession, type GivenCode } from '../../domain/people/decider.js';
import { normalPassword, type User } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';
import { readRefreshToken, invalidToken, sessionDecider } from '../../domain/people/session.js';
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
  new DomainError(
    'CODE_REQUIRED',
    'This user has a second factor: send `code`, the six digits of the app or a recovery code.',
  );

/**
 * Checks a code and uses it up. Out: false if the person has no second factor any more, so that no code was used.
 * Rejects with CODE_REQUIRED and INVALID_CODE.
 */
export const assertSecondFactor = async (
  deps: TeamNeeds,
  userId: UserId,
  code: string | undefined,
  cause: Cause,
): Promise<boolean> => {
  if (code === undefined) throw codeRequired();
  const command = { type: 'UseCode', at: cause.at, code: readCode(deps, userId, code, cause.at) } as const;
  const { events } = await naming(userId, () => changeUser(deps, userId, command, cause));
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

/** The session that calls, as a decision on its person needs it. */
export const askingSession = async (deps: TeamNeeds, caller: Caller): Promise<AskingSession> => {
  const id = ownSession(caller);
  const { state } = await deps.session(sessionStream(id));
  return { id, epoch: state?.epoch };
};

/** The key under which attempts with the password or a code are counted: together with sign-ins as that person. */
export const ownLoginBucket = async (deps: TeamNeeds, caller: Caller): Promise<string> => {
  const { state } = await deps.user(userStream(personOf(caller)));
  return livingUser(state).addressId;
};

/**
 * The token that a page must send to act in that session. Knowing the id of the session is not enough to compute it.
 */
export const csrfTokenOf = async ({ keys }: Pick<TeamNeeds, 'keys'>, sessionId: SessionId): Promise<string> =>
  keys.fingerprint('csrf', sessionId).slice(0, 43);

/** The session that a refresh token was issued for, whether or not it is still good. Rejects with INVALID_TOKEN. */
export const sessionOfRefreshToken = async ({ keys }: Pick<TeamNeeds, 'keys'>, token: string): Promise<SessionId> => {
  const read = readRefreshToken(keys, token);
  if (read === undefined) throw invalidToken();
  return read.sessionId;
};

/**
 * Makes a secret. Sign-ins need no code until it is confirmed. Rejects with INVALID_CREDENTIALS and SECOND_FACTOR_SET.
 */
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
  await changeUser(deps, id, { type: 'PrepareSecondFactor', at: cause.at, secret }, cause);
  const url = secondFactors.uri(secret, email ?? id);
  return { secret, url, qrCode: `data:image/png;base64,${drawCode(url).toString('base64')}` };
};

/**
 * From now on each sign-in needs a code; the session that confirms it has given one. Rejects with INVALID_CODE,
 * SECOND_FACTOR_SET, and SECOND_FACTOR_NOT_SET if none was prepared, or too long ago.
 */
export const confirmSecondFactor = async (
  deps: TeamNeeds,
  caller: Caller,
  { code }: ConfirmSecondFactorRequest,
): Promise<RecoveryCodes> => {
  const id = personOf(caller);
  const cause = ownCause(deps, caller);
  const { codes, hashes } = makeRecoveryCodes(deps, id);
  const command = {
    type: 'ConfirmSecondFactor',
    at: cause.at,
    code: readCode(deps, id, code, cause.at),
    recoveryHashes: hashes,
    preparedMs: deps.limits.secondFactorPreparedMs,
  } as const;
  const user = await loadUser(deps, id);
  decideUser(command, user);
  await tellPerson(deps, id, user, { kind: 'second-factor-on', about: [user.prepared?.at] }, cause);
  await changeUser(deps, id, command, cause);
  await handle(
    deps.eventLog,
    sessionStream(ownSession(caller)),
    sessionDecider,
    { type: 'GiveSecondFactor', at: cause.at },
    cause,
  );
  await deps.whenHeldEverywhere();
  return { recoveryCodes: codes };
};

/** Rejects with INVALID_CREDENTIALS, INVALID_CODE and SECOND_FACTOR_NOT_SET. */
export const removeSecondFactor = async (
  deps: TeamNeeds,
  caller: Caller,
  { password, code }: WithCodeRequest,
): Promise<void> => {
  const id = personOf(caller);
  const known = await assertOwnPassword(deps, id, password);
  const cause = ownCause(deps, caller);
  const command = { type: 'RemoveSecondFactor', at: cause.at, code: readCode(deps, id, code, cause.at) } as const;
  await naming(id, async () => decideUser(command, known));
  await tellPerson(deps, id, known, { kind: 'second-factor-off', about: [known.secondFactor?.secret] }, cause);
  await naming(id, () => changeUser(deps, id, command, cause));
};

/** Replaces all recovery codes. Rejects as `removeSecondFactor` does. */
export const renewRecoveryCodes = async (
  deps: TeamNeeds,
  caller: Caller,
  { password, code }: WithCodeRequest,
): Promise<RecoveryCodes> => {
  const id = personOf(caller);
  await assertOwnPassword(deps, id, password);
  const cause = ownCause(deps, caller);
  const { codes, hashes } = makeRecoveryCodes(deps, id);
  const command = {
    type: 'RenewRecoveryCodes',
    at: cause.at,
    code: readCode(deps, id, code, cause.at),
    recoveryHashes: hashes,
  } as const;
  await naming(id, () => changeUser(deps, id, command, cause));
  return { recoveryCodes: codes };
};

/** Apps show a blank in the middle of a code, and people type it. */
const withoutBlanks = (code: string): string => code.replaceAll(/\s/g, '');

/** Stored hash of a recovery code. */
const recoveryHashOf = ({ keys }: Pick<TeamNeeds, 'keys'>, userId: UserId, code: string): string =>
  keys.fingerprint('recovery code', JSON.stringify([userId, code.toLowerCase().replace(/[^a-z0-9]/g, '')]));

/** The code as the decision needs it. */
const readCode = (deps: TeamNeeds, userId: UserId, code: string, at: string): GivenCode => {
  const digits = withoutBlanks(code);
  return {
    isOfApp: APP_CODE.test(digits),
    stepOf: (secret) => deps.people.secondFactors.stepOf(secret, digits, Date.parse(at)),
    recoveryHash: recoveryHashOf(deps, userId, code),
  };
};

/** Names the person to the audit log if their code is refused. */
const naming = async <Answer>(userId: UserId, act: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await act();
  } catch (fault) {
    throw fault instanceof DomainError && fault.code === 'INVALID_CODE' ? withRefusedUser(userId, fault) : fault;
  }
};

const makeRecoveryCodes = (deps: TeamNeeds, id: UserId): Readonly<{ codes: string[]; hashes: string[] }> => {
  const codes = Array.from({ length: deps.limits.recoveryCodes }, () =>
    recoveryCodeOf(deps.ids.bytes(RECOVERY_CODE_BYTES)),
  );
  return { codes, hashes: codes.map((code) => recoveryHashOf(deps, id, code)) };
};

/** Four groups of four letters and digits, five bits each. */
const recoveryCodeOf = (bytes: Buffer): string => {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = (bits.match(/.{5}/g) ?? []).map((five) => LETTERS[Number.parseInt(five, 2)]).join('');
  return (letters.match(/.{4}/g) ?? []).join('-');
};
