/** Some recipients of an email are erased, and it goes on for the others. */
import t from 'tap';
import { emailDecider, type EmailCommand } from '../../src/domain/email/decider.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import type { Email, EmailState } from '../../src/domain/email/state.js';
import { endsForFree } from '../../src/domain/email/status.js';
import { reachedBy, stoodAt } from '../../src/domain/email/milestones.js';
import { specs } from '../support/given.js';
import {
  accepted,
  at,
  attempted,
  cancelled,
  content,
  deferred,
  HOST,
  queued,
  queuedFor,
  retried,
  scheduled,
  sent,
  WORKER,
} from '../support/email-facts.js';

const email = specs(emailDecider);
const erase = (...recipients: readonly number[]): EmailCommand => ({ type: 'EraseRecipients', at: at(50), recipients });
const erased = (...recipients: readonly number[]): EmailEvent => ({
  type: 'RecipientsErased',
  data: { at: at(50), recipients: [...recipients], priority: 'normal' },
});
const archived: EmailEvent = { type: 'EmailArchived', data: { at: at(50) } };
const suppressed = (...recipients: readonly number[]): EmailEvent => ({
  type: 'RecipientsSuppressed',
  data: { at: at(1), recipients: [...recipients], priority: 'normal' },
});
const all = sent(1, at(2), [0, 'accepted'], [1, 'accepted'], [2, 'accepted']);
const fold = (...events: readonly EmailEvent[]): Email => events.reduce(emailDecider.evolve, undefined as EmailState)!;
const clicked = (recipient: number): EmailEvent => ({
  type: 'EmailClicked',
  data: { at: at(30), recipient, machine: false, link: 0 },
  sealed: { userAgent: 'Agent', ipAddress: '192.0.2.7', url: 'https://shop.example/' },
});

void t.test('a queued or scheduled email goes on for the others', async (t) => {
  email(t).given(queued).when(erase(1)).then(erased(1));
  email(t)
    .given(scheduled(at(900)))
    .when(erase(0, 2))
    .then(erased(0, 2));
  for (const first of [queued, scheduled(at(900))]) {
    const after = fold(first, erased(1));
    t.match(after, { recipientStatuses: ['queued', 'cancelled', 'queued'], erased: [1], failureReason: null });
    t.same(after.content?.recipients, [content.recipients[0], null, content.recipients[2]]);
    t.equal(after.content?.subject, content.subject);
  }
  email(t)
    .given(queued, erased(1))
    .when({ type: 'AttemptDelivery', at: at(60), host: HOST, worker: WORKER, deadlineAt: at(600), workerGone: false })
    .then(attempted(1, at(60), at(600)));
});

void t.test('repeated it does nothing, and what is not there is nobody', async (t) => {
  email(t).given(queued, erased(1)).when(erase(1)).nothing();
  email(t).given(queued, erased(1)).when(erase(1, 2)).then(erased(2));
  email(t).given(queued).when(erase(3, -1)).nothing();
  email(t).given(queued).when(erase()).nothing();
  email(t).given(queued, archived).when(erase(1)).nothing();
});

void t.test('while a dialogue is under way nothing happens', async (t) => {
  email(t)
    .given(queued, attempted(1, at(1)))
    .when(erase(1))
    .nothing();
  email(t)
    .given(queued, attempted(1, at(1)))
    .when(erase(0, 1, 2))
    .nothing();
});

void t.test('where nobody else is left it goes whole, and does not leave', async (t) => {
  const end = cancelled(at(50));
  email(t)
    .given(queued)
    .when(erase(0, 1, 2))
    .then(end, archived);
  email(t).given(queued, erased(1)).when(erase(0, 2)).then(end, archived);
  email(t)
    .given(queued, attempted(1, at(1)), all, erased(1))
    .when(erase(0, 2))
    .then(archived);
  email(t)
    .given(queued, cancelled(at(1)), { type: 'EmailDeleted', data: { at: at(1) } })
    .when(erase(1))
    .then(archived);
});

void t.test('what has left stays as it is for all, and tells no more of those who are erased', async (t) => {
  const history = [
    queued,
    attempted(1, at(1)),
    sent(1, at(2), [0, 'accepted'], [1, 'bounced'], [2, 'accepted']),
    clicked(0),
    clicked(1),
  ];
  email(t)
    .given(...history)
    .when(erase(1))
    .then(erased(1));
  const [before, after] = [fold(...history), fold(...history, erased(1))];
  t.same(after.recipientStatuses, before.recipientStatuses);
  t.match(after, { status: 'sent', updatedAt: at(50), sentAt: at(2) });
  t.same(
    after.replies.map(({ reply }) => reply === null),
    [false, true, false],
  );
  t.match(before.attempts[0]!.ended, { reply: String, replyOf: 1 });
  t.match(after.attempts[0]!.ended, { reply: null, replyCode: before.attempts[0]!.ended!.replyCode });
  t.match(after.engagements, [
    { recipient: 0, ipAddress: '192.0.2.7' },
    { recipient: 1, ipAddress: null, url: null, userAgent: null },
  ]);
});

void t.test('where nobody else waits it ends by what became of the others', async (t) => {
  const once = (
    ...outcomes: Parameters<typeof deferred> extends [number, string, string, ...infer Rest] ? Rest : never
  ) => [queued, attempted(1, at(1)), deferred(1, at(2), at(900), ...outcomes)];
  const got = once([0, 'accepted'], [1, 'deferred'], [2, 'bounced']);
  email(t)
    .given(...got)
    .when(erase(1))
    .then(erased(1));
  t.match(fold(...got, erased(1)), { status: 'sent', sentAt: at(50), nextAttemptAt: null, failureReason: null });
  const bounced = once([0, 'bounced'], [1, 'deferred'], [2, 'bounced']);
  email(t)
    .given(...bounced)
    .when(erase(1))
    .then(erased(1));
  t.match(fold(...bounced, erased(1)), { status: 'bounced', failureReason: 'bounced', nextAttemptAt: null });
  const refused = once([0, 'refused'], [1, 'deferred'], [2, 'bounced']);
  t.match(fold(...refused, erased(1)), { status: 'failed', failureReason: 'refused' });
  email(t)
    .given(...refused, erased(1))
    .when({ type: 'RetryEmail', at: at(60), idempotencyKey: undefined, fingerprint: undefined })
    .then(retried(at(60), 1));
  for (const [history, milestone] of [
    [got, 'sent'],
    [bounced, 'bounced'],
    [refused, 'failed'],
  ] as const) {
    const before = fold(...history);
    const reached = reachedBy(erased(1) as never, stoodAt(before), fold(...history, erased(1)));
    t.same(reached.milestones, [milestone], 'and counts as that');
    const later = erased(0);
    t.same(
      reachedBy(later as never, stoodAt(fold(...history, erased(1))), fold(...history, erased(1), later)).milestones,
      [],
      'once',
    );
  }
});

void t.test('where nobody of the others was or will be attempted it is cancelled, and costs nothing', async (t) => {
  const history = [queued, suppressed(0, 2)];
  const end = cancelled(at(50));
  email(t)
    .given(...history)
    .when(erase(1))
    .then(erased(1), end);
  const after = fold(...history, erased(1), end);
  t.match(after, { status: 'cancelled', recipientStatuses: ['suppressed', 'cancelled', 'suppressed'] });
  t.equal(endsForFree(after, end, false), true);
  t.equal(endsForFree(fold(...history, erased(1)), erased(1), false), false, 'the fact before it returns nothing');
  const suppressedAfter = fold(queued, erased(1), suppressed(0, 2));
  t.match(suppressedAfter, { status: 'failed', failureReason: 'suppressed' });
  t.equal(endsForFree(suppressedAfter, suppressed(0, 2), false), true, 'nor does it matter which comes first');
});

void t.test('a retry goes to nobody who is erased', async (t) => {
  const failed = [queuedFor('to', 'cc'), attempted(1, at(1)), sent(1, at(2), [0, 'accepted'], [1, 'refused'])];
  const retry: EmailCommand = { type: 'RetryEmail', at: at(60), idempotencyKey: undefined, fingerprint: undefined };
  email(t)
    .given(...failed)
    .when(retry)
    .then(retried(at(60), 1));
  email(t)
    .given(...failed, erased(1))
    .when(retry)
    .refused('EMAIL_NOT_RETRYABLE');
  const both = [
    queued,
    attempted(1, at(1)),
    sent(1, at(2), [0, 'accepted'], [1, 'refused'], [2, 'refused']),
    erased(1),
    retried(at(60), 1),
  ];
  t.same(fold(...both).recipientStatuses, ['sent', 'failed', 'queued']);
});

void t.test('nothing is recorded any more of whoever is erased', async (t) => {
  const history = [
    {
      ...queued,
      data: { ...accepted, tracking: { opens: true, clicks: true, url: 'https://m.example' } },
    } as EmailEvent,
  ];
  const left = [...history, attempted(1, at(1)), all, erased(1)];
  const open = (recipient: number): EmailCommand => ({
    type: 'RecordEngagement',
    at: at(60),
    recipient,
    link: undefined,
    url: undefined,
    times: 1,
    machine: undefined,
    userAgent: null,
    ipAddress: null,
  });
  email(t)
    .given(...left)
    .when(open(1))
    .nothing();
  t.equal(emailDecider.decide(open(0), fold(...left)).length, 1);
  const report = (address: string): EmailCommand => ({
    type: 'RecordReport',
    at: at(60),
    recipients: [
      {
        addresses: [address],
        action: 'failed',
        bounceType: 'hard',
        bounceSubType: 'x',
        enhancedCode: null,
        text: 'gone',
      },
    ],
  });
  email(t)
    .given(...left)
    .when(report('bob@example.org'))
    .nothing();
  t.equal(emailDecider.decide(report('ann@example.org'), fold(...left)).length, 1);
});

void t.test(
  'a reply to one recipient does not keep the address of another, which would outlive its erasure',
  async (t) => {
    const text =
      '550 <BOB@example.org>, ann@example.org, xbob@example.org, bob@example.org.uk: refused; bob@example.org';
    const kept = '550 <…>, ann@example.org, xbob@example.org, …: refused; …';
    const outcome = { recipient: 0, result: 'bounced', replyCode: 550, enhancedCode: null, rule: 'x', text } as const;
    const record: EmailCommand = {
      type: 'RecordOutcome',
      attempt: 1,
      at: at(2),
      host: HOST,
      durationMs: 1,
      outcomes: [outcome],
      final: false,
      schedule: { delaysMs: [] },
    };
    const told = (history: readonly EmailEvent[], command: EmailCommand) =>
      emailDecider.decide(command, fold(...history));
    t.match(told([queued, attempted(1, at(1))], record), [
      { sealed: { replies: [kept.replace('…: refused', 'bob@example.org.uk: refused')] } },
    ]);
    const alone = {
      ...queuedFor('to'),
      sealed: { ...content, recipients: content.recipients.slice(0, 1) },
    } as EmailEvent;
    t.match(told([alone, attempted(1, at(1))], record), [{ sealed: { replies: [text] } }]);
    const report: EmailCommand = {
      type: 'RecordReport',
      at: at(60),
      recipients: [
        {
          addresses: ['ann@example.org'],
          action: 'failed',
          bounceType: 'hard',
          bounceSubType: 'x',
          enhancedCode: null,
          text: 'ann@example.org and bob@example.org',
        },
      ],
    };
    t.match(told([queued, attempted(1, at(1)), all], report), [{ sealed: { replies: ['ann@example.org and …'] } }]);
  },
);
