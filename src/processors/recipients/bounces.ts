/**
 * Suppresses the addresses of recipients who complained, whose host named them unknown, or whose host refused two mails
 * without a reason.
 */
import type { RecipientNeeds } from '../../commands/recipients/needs.js';
import { noteRefusal, suppressAddress } from '../../commands/recipients/suppressions.js';
import { emailDecider, type EmailCommand } from '../../domain/email/decider.js';
import type { Email, EmailState } from '../../domain/email/state.js';
import { bouncesToNote, signOfRecipient } from '../../domain/email/feedback.js';
import { BOUNCED_TIMER, BOUNCED_TIMERS } from '../../domain/email/timers.js';
import { assertDefined, parseTeamId, splitStream } from '../../domain/core/ids.js';
import type { Context, Outcome, Processor } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';

export type NoteBouncesDeps = Pick<RecipientNeeds, 'eventLog' | 'keys' | 'team'>;

/**
 * A bounce of an email with one recipient, and a report, start it at once; the bounce of one of several recipients is
 * found by the timer.
 */
export const noteBounces = (deps: NoteBouncesDeps): Processor =>
  makeProcessor<'email', EmailState, EmailCommand>({
    name: 'note-bounces',
    kind: 'email',
    decider: emailDecider,
    startedBy: {
      EmailBounced: () => 'low',
      EmailBounceReported: () => 'low',
      EmailComplained: () => 'low',
    },
    timers: [{ kind: BOUNCED_TIMER, in: BOUNCED_TIMERS, read: 'due' }],
    deadlineMs: 60_000,
    act: (context) => note(deps, context),
  });

/**
 * `learnedAt` is when the bounce was reported: an address that was removed from the list later is not suppressed again.
 */
const note = async (
  deps: NoteBouncesDeps,
  { stream, state: email, cause }: Context<Email>,
): Promise<Outcome<EmailCommand>> => {
  const recipients = bouncesToNote(email);
  if (recipients.length === 0) return {};
  const { fence: _fence, ...of } = cause;
  const teamId = assertDefined(parseTeamId(of.teamId), 'team id');
  for (const index of recipients) {
    const address = email.content?.recipients[index]?.email;
    if (address === undefined) continue;
    const emailId = splitStream(stream).id;
    const reason = email.recipientStatuses[index] === 'complained' ? 'complaint' : 'hard-bounce';
    const learnedAt = email.replies[index]?.reportedAt ?? refusedAt(email);
    const suppress = signOfRecipient(email, index) === 'unproved' ? noteRefusal : suppressAddress;
    await suppress(deps, { teamId, email: address, reason, cause: of, learnedAt, emailId });
  }
  return { command: { type: 'NoteBounces', at: cause.at, recipients } };
};

/** The time at which a host last answered. */
const refusedAt = ({ attempts, updatedAt }: Email): string =>
  attempts.findLast(({ ended }) => ended !== null && ended.durationMs !== null)?.ended?.at ?? updatedAt;
