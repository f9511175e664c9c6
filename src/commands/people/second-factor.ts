/** Codes of a second factor: what is asked for beside a password. */
import { timingSafeEqual } from 'node:crypto';
import { handle } from '../core/handle.js';
import { refusing } from '../core/denials.js';
import type { CommandDeps } from '../core/deps.js';
import { userFold } from './addresses.js';
import { DomainError } from '../../domain/core/errors.js';
import { userStream, type UserId } from '../../domain/core/ids.js';
import type { UserEvent } from '../../domain/people/events.js';
import type { SecondFactor, UserState } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';

export const invalidCode = (): DomainError =>
  new DomainError('INVALID_CODE', 'The code is wrong, or was used before. Take the one that the app shows now, or a recovery code.');

export const codeRequired = (): DomainError =>
  new DomainError('CODE_REQUIRED', 'This user has a second factor: send `code`, the six digits of the app or a recovery code.');

const APP_CODE = /^\d{6}$/;

/** As people type it: apps show a blank in the middle. */
const withoutBlanks = (code: string): string => code.replaceAll(/\s/g, '');

/** What is kept of a recovery code. */
export const recoveryHashOf = ({ keys }: Pick<CommandDeps, 'keys'>, userId: UserId, code: string): string =>
  keys.fingerprint('recovery code', JSON.stringify([userId, code.toLowerCase().replace(/[^a-z0-9]/g, '')]));

/**
 * Takes a code, which is good for nothing afterwards. Out: whether one was taken; false where the person has no second factor any more.
 * Rejects with CODE_REQUIRED and INVALID_CODE.
 */
export const assertSecondFactor = async (deps: CommandDeps, userId: UserId, code: string | undefined, cause: Cause): Promise<boolean> => {
  if (code === undefined) throw codeRequired();
  const decide = (_: null, user: UserState): readonly UserEvent[] =>
    user?.secondFactor === undefined ? [] : [useCode(deps, userId, user.secondFactor, code, cause.at)];
  const { events } = await handle(deps.eventLog, userStream(userId), { decide, ...userFold }, null, cause);
  return events.length > 0;
};

/** The step of a code of the app, of about this moment; undefined where it is none of that secret. */
export const stepOfCode = (deps: CommandDeps, secret: string | undefined, code: string, at: string): number | undefined => {
  const digits = withoutBlanks(code);
  return secret === undefined || !APP_CODE.test(digits) ? undefined : deps.people.secondFactors.stepOf(secret, digits, Date.parse(at));
};

/** The event by which the code is used up. Throws INVALID_CODE where it is none that is good. */
export const useCode = (deps: CommandDeps, userId: UserId, factor: SecondFactor, code: string, at: string): UserEvent => {
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
