/** The second factor of a person: codes of an app, and recovery codes for when it is lost. */
import { timingSafeEqual } from 'node:crypto';
import { handle } from './command-handler.js';
import type { CommandDeps } from './deps.js';
import { userFold } from './user-addresses.js';
import { DomainError } from '../domain/errors.js';
import { userStream, type UserId } from '../domain/ids.js';
import type { UserEvent } from '../domain/user/events.js';
import type { SecondFactor, UserState } from '../domain/user/state.js';
import type { Cause } from '../event-log/event-log.js';

export const invalidCode = (): DomainError =>
  new DomainError('INVALID_CODE', 'The code is wrong, or was used before. Take the one that the app shows now, or a recovery code.');

const codeRequired = (): DomainError =>
  new DomainError('CODE_REQUIRED', 'This user has a second factor: send `code`, the six digits of the app or a recovery code.');

const APP_CODE = /^\d{6}$/;

/** What is kept of a recovery code. */
export const recoveryHashOf = ({ keys }: Pick<CommandDeps, 'keys'>, userId: UserId, code: string): string =>
  keys.fingerprint('recovery code', JSON.stringify([userId, code.toLowerCase().replace(/[^a-z0-9]/g, '')]));

/** Takes a code, which is good for nothing afterwards. Rejects with CODE_REQUIRED and INVALID_CODE. */
export const assertSecondFactor = async (deps: CommandDeps, userId: UserId, code: string | undefined, cause: Cause): Promise<void> => {
  if (code === undefined) throw codeRequired();
  const decide = (_: null, user: UserState): readonly UserEvent[] => {
    if (user?.secondFactor === undefined) return [];
    const used = usedBy(deps, userId, user.secondFactor, code.trim(), cause.at);
    if (used === undefined) throw invalidCode();
    return [used];
  };
  await handle(deps.eventLog, userStream(userId), { decide, ...userFold }, null, cause);
};

/** The event by which the code is used up; undefined where it is none that is good. */
const usedBy = (deps: CommandDeps, userId: UserId, factor: SecondFactor, code: string, at: string): UserEvent | undefined => {
  if (APP_CODE.test(code)) {
    const step = factor.secret === undefined ? undefined : deps.people.secondFactors.stepOf(factor.secret, code, Date.parse(at));
    return step === undefined || step <= factor.step ? undefined : { type: 'SecondFactorUsed', data: { at, step } };
  }
  const hash = Buffer.from(recoveryHashOf(deps, userId, code));
  const index = factor.recoveryHashes.findIndex((kept) => timingSafeEqual(Buffer.from(kept), hash));
  return index < 0 || factor.usedRecovery.has(index) ? undefined : { type: 'RecoveryCodeUsed', data: { at, index } };
};
