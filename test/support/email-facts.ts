/** Facts of one email, as constants: the events that tests of the email give, written out. */
import type { RecipientOutcome } from '../../src/domain/ports/mailer.js';
import type { DeliveryOutcomeEvent, EmailAccepted, EmailContent, EmailEvent } from '../../src/domain/email/events.js';
import { DAY_MS } from '../../src/domain/core/time.js';

export const EMAIL_ID = '0198f000-0000-7000-8000-00000000000a';
export const TEMPLATE_ID = '0198f000-0000-7000-8000-00000000000b';
export const TEAM_ID = '0198f000-0000-7000-8000-00000000000c';
export const HOST = 'mx.example.net';
export const WORKER = 'worker-1';
export { DAY_MS };
export const RETENTION_MS = 30 * DAY_MS;
/** How long the record of an archived email is kept. */
export const ARCHIVE_MS = 1_826 * DAY_MS;
export const PERIODS = { retentionMs: RETENTION_MS, archiveMs: ARCHIVE_MS };
export const T0 = '2030-01-01T12:00:00.000Z';

/** That many seconds after T0. */
export const at = (seconds: number): string => new Date(Date.parse(T0) + seconds * 1_000).toISOString();

export const accepted: EmailAccepted['data'] = {
  messageId: `<${EMAIL_ID}@example.com>`,
  templateId: TEMPLATE_ID,
  templateName: 'Order confirmation',
  templateRevision: 3,
  templateVersion: 2,
  priority: 'normal',
  tags: ['order'],
  roles: ['to', 'cc', 'bcc'],
  attachmentCount: 0,
  company: { name: 'Example' },
  at: T0,
};

export const content: EmailContent = {
  from: { email: 'shop@example.com', name: 'Shop' },
  recipients: [{ email: 'ann@example.org', name: 'Ann' }, { email: 'bob@example.org' }, { email: 'cyd@example.org' }],
  subject: 'Order 17',
  variables: { order: 17 },
  headers: { 'X-Order': '17' },
  metadata: { customer: 4 },
  attachments: [],
};

export const queued: EmailEvent = { type: 'EmailQueued', data: accepted, sealed: content };
export const queuedFor = (...roles: EmailAccepted['data']['roles']): EmailEvent => ({
  type: 'EmailQueued',
  data: { ...accepted, roles },
  sealed: content,
});
export const scheduled = (scheduledAt: string): EmailEvent => ({
  type: 'EmailScheduled',
  data: { ...accepted, scheduledAt },
  sealed: content,
});
export const rescheduled = (when: string, scheduledAt: string, subject = content.subject): EmailEvent => ({
  type: 'EmailRescheduled',
  data: { at: when, scheduledAt },
  sealed: { subject },
});
export const cancelled = (when: string): EmailEvent => ({ type: 'EmailCancelled', data: { at: when } });
export const released = (when: string): EmailEvent => ({
  type: 'EmailReleased',
  data: { at: when, priority: 'normal' },
});
export const retried = (when: string, retryCount: number): EmailEvent => ({
  type: 'EmailRetried',
  data: { at: when, priority: 'normal', retryCount },
});

export const attempted = (
  attempt: number,
  when: string,
  deadlineAt = '2030-01-01T23:00:00.000Z',
  worker = WORKER,
): EmailEvent => ({
  type: 'DeliveryAttempted',
  data: { attempt, at: when, host: HOST, worker, deadlineAt },
});

export type Result = RecipientOutcome['result'];
const replies: Readonly<
  Record<Result, Readonly<{ replyCode: number; enhancedCode: string; rule: string; text: string }>>
> = {
  accepted: { replyCode: 250, enhancedCode: '2.0.0', rule: 'accepted', text: '250 2.0.0 queued as 4711' },
  deferred: { replyCode: 451, enhancedCode: '4.7.1', rule: 'greylisted', text: '451 4.7.1 try again later' },
  bounced: { replyCode: 550, enhancedCode: '5.1.1', rule: 'mailbox-unknown', text: '550 5.1.1 no such user' },
  refused: { replyCode: 554, enhancedCode: '5.7.1', rule: 'policy', text: '554 5.7.1 we do not like you' },
  blocked: { replyCode: 550, enhancedCode: '5.7.1', rule: 'host-refused', text: '550 5.7.1 Client host blocked' },
};

/** The mailer's outcome for a recipient. */
export const said = (result: Result): RecipientOutcome => ({ result, ...replies[result] });
/** The result with the place of the recipient, as the command has it. */
export const outcome = (recipient: number, result: Result) => ({ recipient, ...said(result) });

/** The data and sealed part that an outcome event holds for these outcomes. */
export const outcomeData = (attempt: number, when: string, ...outcomes: readonly (readonly [number, Result])[]) => ({
  data: {
    attempt,
    at: when,
    host: HOST,
    durationMs: 120,
    outcomes: outcomes.map(([recipient, result]) => {
      const { replyCode, enhancedCode, rule } = replies[result];
      return { recipient, result, replyCode, enhancedCode, rule };
    }),
  },
  sealed: { replies: outcomes.map(([, result]) => replies[result].text) },
});

type OutcomeOf<Type extends DeliveryOutcomeEvent['type']> = Extract<DeliveryOutcomeEvent, { type: Type }>;
type Outcomes = readonly (readonly [number, Result])[];

export const sent = (attempt: number, when: string, ...outcomes: Outcomes): OutcomeOf<'EmailSent'> => ({
  type: 'EmailSent',
  ...outcomeData(attempt, when, ...outcomes),
});

export const deferred = (
  attempt: number,
  when: string,
  nextAttemptAt: string,
  ...outcomes: Outcomes
): OutcomeOf<'EmailDeferred'> => {
  const { data, sealed } = outcomeData(attempt, when, ...outcomes);
  return { type: 'EmailDeferred', data: { ...data, nextAttemptAt }, sealed };
};

export const bounced = (attempt: number, when: string, ...outcomes: Outcomes): OutcomeOf<'EmailBounced'> => {
  const { data, sealed } = outcomeData(attempt, when, ...outcomes);
  return { type: 'EmailBounced', data: { ...data, bounceType: 'hard' }, sealed };
};

export const failed = (
  reason: 'refused' | 'attempts-spent',
  attempt: number,
  when: string,
  ...outcomes: Outcomes
): OutcomeOf<'EmailFailed'> => {
  const { data, sealed } = outcomeData(attempt, when, ...outcomes);
  return { type: 'EmailFailed', data: { ...data, reason }, sealed };
};
