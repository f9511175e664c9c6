/** What must hold before an email is accepted to whose recipients nothing leaves. */
import type { CommandDeps } from '../core/deps.js';
import { isSimulatorAddress } from '../../domain/email/simulator.js';
import { DomainError } from '../../domain/core/errors.js';
import { COPIES_FROM } from '../../domain/core/write-level.js';

/** Throws NOT_DURING_UPDATE: an older program that runs beside this one would give the mail to a host. */
export const assertSimulatable = (
  { withoutCopies }: Pick<CommandDeps, 'withoutCopies'>,
  recipients: readonly Readonly<{ email: string }>[],
): void => {
  if (withoutCopies !== true || !recipients.some(({ email }) => isSimulatorAddress(email))) return;
  throw new DomainError(
    'NOT_DURING_UPDATE',
    `Nothing is sent to addresses of the simulator while an older version of the service runs beside this one: that needs level ${COPIES_FROM} of SEALPOST_WRITE_EVENTS.`,
  );
};
