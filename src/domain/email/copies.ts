/** Emails that leave as one copy for each recipient: what is known of copies while the attempt that sends them is under way. */
import type { RecipientOutcome } from '../ports/mailer.js';
import type { EmailEvent } from './events.js';
import { withoutOthers } from './quoting.js';
import type { Email } from './state.js';

/** What became of one recipient, by its place in the email. */
export type PlacedOutcome = RecipientOutcome & Readonly<{ recipient: number; /** No host was asked. */ simulated?: true }>;

/** Whether what one recipient gets differs from what another gets. */
export const leavesAsCopies = ({ accepted }: Pick<Email, 'accepted'>): boolean =>
  accepted.unsubscribeList !== undefined || accepted.tracking !== undefined;

/** The recipients that still wait for a host to take the mail, by their place in the email. */
export const pendingRecipients = ({ recipientStatuses, copies }: Pick<Email, 'recipientStatuses' | 'copies'>): readonly number[] =>
  recipientStatuses.flatMap((status, index) =>
    status === 'queued' && copies?.some(({ recipient }) => recipient === index) !== true ? [index] : [],
  );

/** With the answers to copies that no event has said yet which ends an attempt, in the order of the recipients; these answers stand. */
export const withCopies = ({ copies }: Pick<Email, 'copies'>, outcomes: readonly PlacedOutcome[]): readonly PlacedOutcome[] => {
  if (copies === undefined) return outcomes;
  const others = outcomes.filter(({ recipient }) => !copies.some((copy) => copy.recipient === recipient));
  return [...copies, ...others].sort((one, other) => one.recipient - other.recipient);
};

type Answer = Readonly<{ attempt: number; at: string; host: string; durationMs: number; outcomes: readonly PlacedOutcome[] }>;

/** The data and the sealed part of an event that tells of outcomes. */
export const toldOutcomes = ({ attempt, at, host, durationMs, outcomes }: Answer, email: Pick<Email, 'accepted' | 'content'>) => ({
  data: {
    attempt,
    at,
    host,
    durationMs,
    outcomes: outcomes.map(({ recipient, result, replyCode, enhancedCode, rule, simulated }) => {
      const outcome = { recipient, result, replyCode, enhancedCode, rule };
      return simulated === undefined ? outcome : { ...outcome, simulated };
    }),
  },
  sealed: { replies: outcomes.map(({ recipient, text }) => withoutOthers(email, recipient, text)) },
});

/** A copy that is deferred is tried again in any case, so nothing is said of it before the attempt ends. */
export const answerCopy = (answer: Answer, email: Email): readonly EmailEvent[] => {
  const pending = pendingRecipients(email);
  const outcomes = answer.outcomes.filter(({ recipient, result }) => result !== 'deferred' && pending.includes(recipient));
  return outcomes.length === 0 ? [] : [{ type: 'CopyAnswered', ...toldOutcomes({ ...answer, outcomes }, email) }];
};

/** The copies that have an answer, after that event. */
export const copiesAfter = (
  { copies = [] }: Pick<Email, 'copies'>,
  { data, sealed }: Extract<EmailEvent, { type: 'CopyAnswered' }>,
): readonly PlacedOutcome[] => [...copies, ...data.outcomes.map((outcome, index) => ({ ...outcome, text: sealed?.replies[index] ?? '' }))];
