/** Random histories of emails for property tests: commands in any order, decided by the real decider. */
import fc from 'fast-check';
import { pendingRecipients, openAttempt, type Email, type EmailState } from '../../src/domain/email/state.js';
import { emailDecider, type EmailCommand } from '../../src/domain/email/decider.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import type { ReportedRecipient } from '../../src/domain/ports/report-reader.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { accepted, ARCHIVE_MS, at, content, HOST, outcome, RETENTION_MS, type Result } from './email-facts.js';

const results = ['accepted', 'deferred', 'bounced', 'refused', 'blocked'] as const;
const roles = fc.array(fc.constantFrom('to' as const, 'cc' as const, 'bcc' as const), { minLength: 1, maxLength: 4 });

/** A step: how many seconds pass, and which command comes. Outcomes are drawn for more recipients than there can be. */
export type Step = Readonly<{
  seconds: number;
  kind: EmailCommand['type'];
  draw: readonly Result[];
  flag: boolean;
  older: boolean;
}>;
/** Deliveries most of the time; the commands that end a history come rarely, or few histories would grow long. */
const kinds = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom<EmailCommand['type']>('AttemptDelivery', 'RecordOutcome') },
  {
    weight: 3,
    arbitrary: fc.constantFrom<EmailCommand['type']>(
      'SuppressRecipients',
      'RecordCopy',
      'NoteBounces',
      'RetryEmail',
      'ReleaseEmail',
      'RescheduleEmail',
      'GiveUp',
      'HoldEmail',
      'PushEmail',
      'RecordReport',
      'EraseRecipients',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<EmailCommand['type']>(
      'CancelEmail',
      'DeleteEmail',
      'EraseEmail',
      'ArchiveEmail',
      'RemoveEmail',
      'AcceptEmail',
      'LoseContent',
      'RefuseEmail',
      'WithdrawEmail',
      'RecordComplaint',
      'RecordEngagement',
    ),
  },
);
const step: fc.Arbitrary<Step> = fc.record({
  seconds: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 0, max: 400 }) },
    { weight: 3, arbitrary: fc.constant(700) },
    { weight: 1, arbitrary: fc.constant(31 * 86_400) },
  ),
  kind: kinds,
  draw: fc.array(fc.constantFrom(...results), { minLength: 4, maxLength: 4 }),
  flag: fc.boolean(),
  older: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
export const story = fc.record({
  roles,
  later: fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 2_000 }) },
  ),
  steps: fc.array(step, { maxLength: 40, size: 'max' }),
});

const commandOf = ({ kind, draw, flag, older }: Step, now: number, email: Email): EmailCommand => {
  const attempt = (openAttempt(email)?.attempt ?? email.attempts.length) - (older ? 1 : 0);
  switch (kind) {
    case 'AcceptEmail':
      return { type: kind, accepted, scheduledAt: undefined, content };
    case 'ReleaseEmail':
    case 'PushEmail':
    case 'DeleteEmail':
    case 'EraseEmail':
      return { type: kind, at: at(now) };
    case 'AttemptDelivery':
      return {
        type: kind,
        at: at(now),
        host: HOST,
        worker: flag ? 'a' : 'b',
        deadlineAt: at(now + 600),
        workerGone: older,
      };
    case 'RecordOutcome':
      return {
        type: kind,
        attempt,
        at: at(now),
        host: HOST,
        durationMs: 1,
        final: flag,
        schedule: { delaysMs: [60_000, 300_000] },
        outcomes: pendingRecipients(email).map((recipient, index) => outcome(recipient, draw[index]!)),
      };
    case 'RecordReport':
      return {
        type: kind,
        at: at(now),
        recipients: content.recipients.map((recipient, index) => reported(recipient!.email, draw[index]!)),
      };
    case 'RecordComplaint':
      return { type: kind, at: at(now), feedbackType: 'abuse', addresses: flag ? [content.recipients[0]!.email] : [] };
    case 'KeepProviderEvent':
      return {
        type: kind,
        at: at(now),
        provider: 'postmark',
        toldBy: `event ${older ? 0 : now}`,
        recipient: flag ? 0 : undefined,
        payload: '{"RecordType":"New"}',
      };
    case 'RecordCopy':
      return {
        type: kind,
        attempt,
        at: at(now),
        host: HOST,
        durationMs: 1,
        outcomes: pendingRecipients(email)
          .slice(0, -1)
          .slice(0, 1)
          .map((recipient) => outcome(recipient, draw[recipient]!)),
      };
    case 'HoldEmail':
      return { type: kind, at: at(now), host: HOST, waitForHostMs: 600_000 };
    case 'GiveUp':
      return { type: kind, attempt, at: at(now), reason: flag ? 'rendering' : 'content-lost', text: 'in words' };
    case 'LoseContent':
      return { type: kind, at: at(now), text: 'in words' };
    case 'RefuseEmail':
      return { type: kind, at: at(now), text: 'in words' };
    case 'WithdrawEmail':
      return {
        type: kind,
        at: at(now),
        cancelledAt: at(now - (older ? 300 : 0)),
        ...(flag ? { endsBrokenOff: true as const } : {}),
      };
    case 'RescheduleEmail':
      return {
        type: kind,
        at: at(now),
        scheduledAt: at(now + (flag ? 100 : 2_000)),
        subject: `At ${now}`,
        temporaryUntil: at(now + 604_800),
      };
    case 'CancelEmail':
    case 'RetryEmail':
      return { type: kind, at: at(now), idempotencyKey: undefined, fingerprint: undefined };
    case 'SuppressRecipients':
    case 'NoteBounces':
    case 'EraseRecipients':
      return {
        type: kind,
        at: at(now),
        recipients: draw.flatMap((result, index) => (result === 'deferred' ? [] : [index])),
      };
    case 'RecordEngagement':
      return {
        type: kind,
        at: at(now - (older ? 300 : 0)),
        recipient: draw.indexOf('accepted') + 1,
        link: flag ? 1 : undefined,
        url: flag ? 'https://shop.example/' : undefined,
        times: 1,
        machine: draw[0] === 'refused' ? 'program' : undefined,
        userAgent: 'Mozilla/5.0 (X11)',
        ipAddress: '192.0.2.7',
      };
    case 'ArchiveEmail':
      return { type: kind, at: at(now), retentionMs: RETENTION_MS };
    case 'RemoveEmail':
      return { type: kind, at: at(now), archiveMs: flag ? ARCHIVE_MS : 1_000 };
  }
};

export type Story = Readonly<{
  roles: readonly ('to' | 'cc' | 'bcc')[];
  later: number | undefined;
  steps: readonly Step[];
}>;

/**
 * Plays a story to its end. Out: the events; `onStep` sees the email before and after each command that was not
 * refused.
 */
export const play = (
  { roles, later, steps }: Story,
  onStep: (before: Email, after: Email) => void = () => {},
): EmailEvent[] => {
  const whose = { ...content, recipients: roles.map((_, index) => ({ email: `r${index}@example.org` })) };
  const events = [
    ...emailDecider.decide(
      {
        type: 'AcceptEmail',
        accepted: {
          ...accepted,
          roles: [...roles],
          domains: roles.map((_, index) => (index % 2 === 0 ? 'gmail.com' : null)),
          senderDomain: 'example.com',
        },
        scheduledAt: later === undefined ? undefined : at(later),
        content: whose,
      },
      undefined,
    ),
  ];
  let email = events.reduce(emailDecider.evolve, undefined as EmailState)!;
  let now = 0;
  for (const next of steps) {
    now += next.seconds;
    let made: readonly EmailEvent[];
    try {
      made = emailDecider.decide(commandOf(next, now, email), email);
    } catch (fault) {
      if (!(fault instanceof DomainError)) throw fault;
      continue;
    }
    const before = email;
    email = made.reduce(emailDecider.evolve, email as EmailState)!;
    events.push(...made);
    onStep(before, email);
  }
  return events;
};

const reported = (address: string, result: (typeof results)[number]): ReportedRecipient => ({
  addresses: [address],
  action: result === 'accepted' ? 'delivered' : result === 'deferred' ? 'delayed' : 'failed',
  bounceType: result === 'blocked' ? 'blocked' : 'hard',
  bounceSubType: 'no-such-mailbox',
  enhancedCode: '5.1.1',
  text: 'in words',
});
