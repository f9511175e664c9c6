/** Whether the team of an email is deleted by now: asked when a connection is there, before the attempt begins. */
import type { CommandDeps } from '../../commands/core/deps.js';
import { deletedAtOf } from '../../commands/core/team-access.js';
import type { EmailCommand } from '../../domain/email/decider.js';
import type { Email } from '../../domain/email/state.js';
import { hasIt } from '../../domain/email/email-status.js';
import type { MaybePromise } from '../../domain/core/maybe-promise.js';
import { isoTime } from '../../domain/core/iso-time.js';

type Withdraw = Extract<EmailCommand, { type: 'WithdrawEmail' }>;

/** In place of an attempt. An email that some of its recipients have goes on to the others. It is no promise where the team is at hand. */
export const withdrawalOf = (
  deps: Pick<CommandDeps, 'team' | 'clock'>,
  teamId: string,
  email: Email,
): MaybePromise<Withdraw | undefined> => {
  const deleted = deletedAtOf(deps, teamId);
  const decide = (deletedAt: string | undefined): Withdraw | undefined =>
    deletedAt === undefined || email.recipientStatuses.some(hasIt)
      ? undefined
      : { type: 'WithdrawEmail', at: isoTime(deps.clock.now()), cancelledAt: deletedAt, endsBrokenOff: true };
  return deleted instanceof Promise ? deleted.then(decide) : decide(deleted);
};
