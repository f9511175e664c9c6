/** What the events of one email add up to: where it stands, what was accepted, and what was tried. */
import type { DeliveryOutcomeEvent, EmailAccepted, EmailContent, EmailEvent } from './events.js';
import { advanceSummary, beginSummary, type EmailProgress, type EmailSummary } from './summary.js';

/** The last reply for a recipient. */
export type RecipientReply = Readonly<{
  replyCode: number | null;
  enhancedCode: string | null;
  rule: string | null;
  reply: string | null;
}>;

export type AttemptState = Readonly<{
  attempt: number;
  startedAt: string;
  host: string;
  worker: string;
  deadlineAt: string;
  /** null while the dialogue may be under way. */
  ended: Readonly<{
    at: string;
    /** null where the program did not live to see the end. */
    durationMs: number | null;
    outcome: 'sent' | 'deferred' | 'bounced' | 'failed' | 'interrupted';
    replyCode: number | null;
    reply: string | null;
    nextAttemptAt: string | null;
  }> | null;
}>;

export type RetryState = Readonly<{ retryCount: number; at: string; idempotencyKey: string | undefined; fingerprint: string | undefined }>;

export type Email = EmailSummary &
  Readonly<{
    /** The data of the first event. */
    accepted: EmailAccepted['data'];
    /** undefined once the key is destroyed. */
    content: EmailContent | undefined;
    /** One for each recipient, in the order of the accepted roles. */
    replies: readonly RecipientReply[];
    attempts: readonly AttemptState[];
    /** Deferred attempts since acceptance or the last retry. */
    deferrals: number;
    retries: readonly RetryState[];
    failureReason: string | null;
  }>;

/** undefined: no event yet. */
export type EmailState = Email | undefined;

/** The attempt whose dialogue may be under way. */
export const openAttempt = (email: Email): AttemptState | undefined => {
  const last = email.attempts.at(-1);
  return last !== undefined && last.ended === null ? last : undefined;
};

/** Pure and total: events that need a first one are ignored where there is none. */
export const evolveEmail = (state: EmailState, event: EmailEvent): EmailState => {
  if (event.type === 'EmailQueued' || event.type === 'EmailScheduled') return begin(event);
  return state && { ...state, ...advanceSummary(state, event), ...details(state, event) };
};

const begin = (event: EmailAccepted): Email => ({
  ...beginSummary(event),
  accepted: event.data,
  content: event.sealed,
  replies: event.data.roles.map(() => ({ replyCode: null, enhancedCode: null, rule: null, reply: null })),
  attempts: [],
  deferrals: 0,
  retries: [],
  failureReason: null,
});

/** The fields beside the summary that an event changes. */
const details = (email: Email, event: EmailProgress): Partial<Email> => {
  switch (event.type) {
    case 'DeliveryAttempted':
      return { attempts: attempted(email, event.data) };
    case 'EmailSent':
      return outcome(email, event, 'sent');
    case 'EmailDeferred':
      return { ...outcome(email, event, 'deferred'), deferrals: email.deferrals + 1 };
    case 'EmailBounced':
      return { ...outcome(email, event, 'bounced'), failureReason: 'bounced' };
    case 'EmailFailed':
      return { ...outcome(email, event, 'failed'), failureReason: event.data.reason };
    case 'EmailRetried': {
      const { retryCount, at, idempotencyKey, fingerprint } = event.data;
      return { deferrals: 0, failureReason: null, retries: [...email.retries, { retryCount, at, idempotencyKey, fingerprint }] };
    }
    case 'EmailArchived':
      return withoutPersonal(email);
    case 'EmailReleased':
    case 'EmailDelivered':
    case 'EmailCancelled':
    case 'EmailDeleted':
      return {};
  }
};

const attempted = (email: Email, data: Extract<EmailEvent, { type: 'DeliveryAttempted' }>['data']): readonly AttemptState[] => {
  const cutOff = { at: data.at, durationMs: null, outcome: 'interrupted' as const, replyCode: null, reply: null, nextAttemptAt: null };
  const { attempt, at, host, worker, deadlineAt } = data;
  return [
    ...email.attempts.map((earlier) => (earlier.ended === null ? { ...earlier, ended: cutOff } : earlier)),
    { attempt, startedAt: at, host, worker, deadlineAt, ended: null },
  ];
};

const outcome = (email: Email, event: DeliveryOutcomeEvent, name: 'sent' | 'deferred' | 'bounced' | 'failed'): Partial<Email> => {
  const { attempt: number, at, durationMs, outcomes } = event.data;
  const replies = [...email.replies];
  outcomes.forEach(({ recipient, replyCode, enhancedCode, rule }, index) => {
    if (replies[recipient] !== undefined) replies[recipient] = { replyCode, enhancedCode, rule, reply: event.sealed?.replies[index] ?? null };
  });
  // Of several replies the attempt shows the first that was not good.
  const shown = Math.max(0, outcomes.findIndex(({ result }) => result !== 'accepted'));
  const end = {
    at,
    durationMs,
    outcome: name,
    replyCode: outcomes[shown]?.replyCode ?? null,
    reply: event.sealed?.replies[shown] ?? null,
    nextAttemptAt: event.type === 'EmailDeferred' ? event.data.nextAttemptAt : null,
  };
  return { replies, attempts: email.attempts.map((attempt) => (attempt.attempt === number ? { ...attempt, ended: end } : attempt)) };
};

/** What an archived email keeps is the same whether its key was there during the fold or not. */
const withoutPersonal = (email: Email): Partial<Email> => ({
  content: undefined,
  replies: email.replies.map((reply) => ({ ...reply, reply: null })),
  attempts: email.attempts.map((attempt) => (attempt.ended === null ? attempt : { ...attempt, ended: { ...attempt.ended, reply: null } })),
});
