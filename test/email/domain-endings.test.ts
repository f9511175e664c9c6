/** How an email ends, and how it is erased. */
import t from 'tap';
import { emailRecord } from '../../src/commands/email/answers.js';
import { assertDefined, parseEmailId } from '../../src/domain/core/ids.js';
import { emailDecider, type EmailCommand } from '../../src/domain/email/decider.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { reachedBy, stoodAt } from '../../src/domain/email/milestones.js';
import { pendingRecipients, type Email, type EmailState } from '../../src/domain/email/state.js';
import { failedRecipientsOf, endsForFree } from '../../src/domain/email/status.js';
import {
  accepted,
  at,
  attempted,
  bounced,
  deferred,
  EMAIL_ID,
  failed,
  HOST,
  outcome,
  queued,
  queuedFor,
  released,
  RETENTION_MS,
  retried,
  scheduled,
  sent,
  T0,
  WORKER,
  type Result,
  cancelled,
  content,
} from '../support/email-facts.js';
import { specs } from '../support/given.js';

// Commands on an email that has ended, or is to end: retry, delete, archive; and the record that remains.

const email = specs(emailDecider);

const attempt = (when: string): EmailCommand => ({
  type: 'AttemptDelivery',
  at: when,
  host: HOST,
  worker: WORKER,
  deadlineAt: at(600),
  workerGone: false,
});
const record = (number: number, when: string, outcomes: readonly (readonly [number, Result])[]): EmailCommand => ({
  type: 'RecordOutcome',
  attempt: number,
  at: when,
  host: HOST,
  durationMs: 120,
  final: false,
  schedule: { delaysMs: [60_000, 300_000] },
  outcomes: outcomes.map(([recipient, result]) => outcome(recipient, result)),
});
const retry = (when: string, idempotencyKey?: string, fingerprint?: string): EmailCommand => ({
  type: 'RetryEmail',
  at: when,
  idempotencyKey,
  fingerprint,
});
const remove = (when: string): EmailCommand => ({ type: 'DeleteEmail', at: when });
const archive = (when: string): EmailCommand => ({ type: 'ArchiveEmail', at: when, retentionMs: RETENTION_MS });
const delivered = (when: string, ...recipients: number[]): EmailEvent => ({
  type: 'EmailDelivered',
  data: { at: when, recipients },
});

const statusOf = (state: Email | undefined): readonly string[] => [state!.status, ...state!.recipientStatuses];
const one = [queuedFor('to'), attempted(1, at(1))] as const;

void t.test('failed: retried, with the count and the whole schedule again', async (t) => {
  const { given } = email(t);
  const history = [
    queued,
    attempted(1, at(1)),
    deferred(1, at(2), at(62), [0, 'deferred'], [1, 'refused'], [2, 'bounced']),
    attempted(2, at(62)),
    failed('refused', 2, at(63), [0, 'refused']),
  ] as const;
  const state = given(...history)
    .when(retry(at(100)))
    .then({ type: 'EmailRetried', data: { at: at(100), priority: 'normal', retryCount: 1 } });
  t.same(statusOf(state), ['queued', 'queued', 'queued', 'bounced'], 'who bounced is not asked again');
  t.equal(state!.queuedAt, at(100));
  t.equal(state!.failureReason, null);
  t.equal(state!.deferrals, 0);
  given(...history)
    .when(retry(at(100), 'key', 'print'))
    .then({
      type: 'EmailRetried',
      data: { at: at(100), priority: 'normal', retryCount: 1, idempotencyKey: 'key', fingerprint: 'print' },
    });

  const again = [...history, retried(at(100), 1), attempted(3, at(101))] as const;
  given(...again)
    .when(
      record(3, at(102), [
        [0, 'deferred'],
        [1, 'deferred'],
      ]),
    )
    .then(deferred(3, at(102), at(162), [0, 'deferred'], [1, 'deferred']));
  given(...again, failed('refused', 3, at(102), [0, 'refused'], [1, 'refused']))
    .when(retry(at(200)))
    .then({ type: 'EmailRetried', data: { at: at(200), priority: 'normal', retryCount: 2 } });
});

const endings: Readonly<Record<string, readonly EmailEvent[]>> = {
  queued: [queuedFor('to')],
  scheduled: [scheduled(at(10))],
  processing: one,
  sent: [...one, sent(1, at(2), [0, 'accepted'])],
  delivered: [...one, sent(1, at(2), [0, 'accepted']), delivered(at(2), 0)],
  bounced: [...one, bounced(1, at(2), [0, 'bounced'])],
  failed: [...one, failed('refused', 1, at(2), [0, 'refused'])],
};

void t.test('an email that some have is retried for exactly those whom it failed', async (t) => {
  const { given } = email(t);
  const history = [
    queuedFor('to', 'cc', 'bcc'),
    attempted(1, at(1)),
    sent(1, at(2), [0, 'accepted'], [1, 'refused'], [2, 'bounced']),
    delivered(at(2), 0),
  ];
  given(...history)
    .when(retry(at(50)))
    .then({ type: 'EmailRetried', data: { at: at(50), priority: 'normal', retryCount: 1 } });
  const fold = (...events: readonly EmailEvent[]): Email =>
    events.reduce(emailDecider.evolve, undefined as EmailState)!;
  const again = [...history, retried(at(50), 1), attempted(2, at(51))];
  t.same(fold(...history).recipientStatuses, ['delivered', 'failed', 'bounced']);
  t.equal(failedRecipientsOf(fold(...history)), 2);
  t.same(pendingRecipients(fold(...again)), [1], 'who has it does not get it twice');
  t.match(fold(...again, sent(2, at(52), [1, 'accepted']), delivered(at(52), 1)), {
    status: 'delivered',
    recipientStatuses: ['delivered', 'delivered', 'bounced'],
    deliveredAt: at(52),
  });
  t.match(
    fold(...again, sent(2, at(52), [1, 'refused'])),
    { status: 'delivered', deliveredAt: at(2) },
    'refused again: as it was',
  );
});

void t.test('only a failed email is retried', async (t) => {
  const { given } = email(t);
  for (const [status, history] of Object.entries(endings)) {
    if (status === 'failed') continue;
    const refusal = given(...history)
      .when(retry(at(50)))
      .refused('EMAIL_NOT_RETRYABLE');
    t.same(refusal.details.relatedInfo, { status });
  }
  given(queuedFor('to', 'cc'), attempted(1, at(1)), sent(1, at(2), [0, 'accepted'], [1, 'bounced']))
    .when(retry(at(50)))
    .refused('EMAIL_NOT_RETRYABLE');
  given(...endings['failed']!, { type: 'EmailArchived', data: { at: at(40 * 86_400) } })
    .when(retry(at(50 * 86_400)))
    .refused('EMAIL_ARCHIVED');
  given(...endings['failed']!, { type: 'EmailDeleted', data: { at: at(3) } })
    .when(retry(at(50)))
    .refused('EMAIL_NOT_FOUND');
});

void t.test('deleted: what waits is cancelled first, what is under way stays, what has ended goes', async (t) => {
  const { given } = email(t);
  for (const [status, history] of Object.entries(endings)) {
    const when = given(...history).when(remove(at(50)));
    if (status === 'processing') when.refused('EMAIL_IN_PROGRESS');
    else if (status === 'queued' || status === 'scheduled') {
      const state = when.then(
        { type: 'EmailCancelled', data: { at: at(50) } },
        { type: 'EmailDeleted', data: { at: at(50) } },
      );
      t.equal(state!.status, 'cancelled');
      t.ok(state!.recipientStatuses.every((recipient) => recipient === 'cancelled'));
      t.equal(state!.deletedAt, at(50));
    } else when.then({ type: 'EmailDeleted', data: { at: at(50) } });
  }
  const gone = [
    queuedFor('to'),
    { type: 'EmailCancelled', data: { at: at(50) } },
    { type: 'EmailDeleted', data: { at: at(50) } },
  ] as const;
  given(...gone)
    .when(remove(at(51)))
    .refused('EMAIL_NOT_FOUND');
  given(...gone)
    .when(attempt(at(51)))
    .nothing();
  const some = given(
    queued,
    attempted(1, at(1)),
    deferred(1, at(2), at(62), [0, 'accepted'], [1, 'deferred'], [2, 'deferred']),
  ).when(remove(at(50)));
  t.same(
    statusOf(
      some.then({ type: 'EmailCancelled', data: { at: at(50) } }, { type: 'EmailDeleted', data: { at: at(50) } }),
    ),
    ['cancelled', 'sent', 'cancelled', 'cancelled'],
  );
});

void t.test('archived: 30 days after it left or should have, at once where deleted, never while open', async (t) => {
  const { given } = email(t);
  const month = 30 * 86_400;
  for (const [status, history] of Object.entries(endings)) {
    if (status === 'queued' || status === 'scheduled' || status === 'processing') {
      given(...history)
        .when(archive(at(10 * month)))
        .nothing();
      continue;
    }
    given(...history)
      .when(archive(at(month - 0.001)))
      .nothing();
    const state = given(...history)
      .when(archive(at(month)))
      .then({ type: 'EmailArchived', data: { at: at(month) } });
    t.equal(state!.status, status, 'archived is a flag beside the status');
    t.equal(state!.archivedAt, at(month));
    t.equal(state!.content, undefined);
    t.ok(state!.replies.every(({ reply }) => reply === null));
    given(...history, { type: 'EmailArchived', data: { at: at(month) } })
      .when(archive(at(month + 1)))
      .nothing();
  }
  const late = [
    scheduled(at(100 * 86_400)),
    released(at(100 * 86_400)),
    attempted(1, at(100 * 86_400)),
    sent(1, at(100 * 86_400), [0, 'accepted'], [1, 'accepted'], [2, 'accepted']),
  ] as const;
  given(...late)
    .when(archive(at(129 * 86_400)))
    .nothing();
  given(...late)
    .when(archive(at(130 * 86_400)))
    .then({ type: 'EmailArchived', data: { at: at(130 * 86_400) } });
  given(...endings['sent']!, { type: 'EmailDeleted', data: { at: at(3) } })
    .when(archive(at(3)))
    .then({ type: 'EmailArchived', data: { at: at(3) } });
});

void t.test('the record of an archived email keeps what statistics may know and nothing personal', async (t) => {
  const history = [
    queued,
    attempted(1, at(1)),
    sent(1, at(2), [0, 'accepted'], [1, 'accepted'], [2, 'bounced']),
    { type: 'EmailArchived', data: { at: at(40 * 86_400) } },
  ] as const;
  const id = assertDefined(parseEmailId(EMAIL_ID), 'email id');
  const unread = { openedAt: null, clickedAt: null };
  const made = emailRecord(id, email(t).given(...history).state!);
  t.strictSame(made, {
    id: EMAIL_ID,
    messageId: accepted.messageId,
    status: 'sent',
    archived: true,
    test: false,
    emailTemplateName: 'Order confirmation',
    templateId: accepted.templateId,
    templateVersion: 2,
    subject: null,
    from: null,
    replyTo: null,
    priority: 'normal',
    locale: null,
    timeZone: null,
    tags: ['order'],
    recipientCount: 3,
    failedRecipients: 1,
    attachmentCount: 0,
    retryCount: 0,
    batchId: null,
    failureReason: null,
    scheduledAt: null,
    queuedAt: T0,
    processingAt: at(1),
    nextAttemptAt: null,
    sentAt: at(2),
    deliveredAt: null,
    openedAt: null,
    clickedAt: null,
    cancelledAt: null,
    archivedAt: at(40 * 86_400),
    createdAt: T0,
    updatedAt: at(40 * 86_400),
    recipients: [
      {
        email: null,
        name: null,
        role: 'to',
        status: 'sent',
        replyCode: 250,
        enhancedCode: '2.0.0',
        rule: 'accepted',
        reply: null,
        ...unread,
      },
      {
        email: null,
        name: null,
        role: 'cc',
        status: 'sent',
        replyCode: 250,
        enhancedCode: '2.0.0',
        rule: 'accepted',
        reply: null,
        ...unread,
      },
      {
        email: null,
        name: null,
        role: 'bcc',
        status: 'bounced',
        replyCode: 550,
        enhancedCode: '5.1.1',
        rule: 'mailbox-unknown',
        reply: null,
        ...unread,
      },
    ],
    attempts: [
      {
        attempt: 1,
        startedAt: at(1),
        endedAt: at(2),
        host: HOST,
        durationMs: 120,
        outcome: 'sent',
        replyCode: 550,
        reply: null,
        nextAttemptAt: null,
      },
    ],
    tracking: { opens: false, clicks: false, events: [] },
    metadata: {
      recipients: { to: [], cc: [], bcc: [] },
      variables: {},
      attachments: [],
      omittedAttachments: [],
      custom: {},
    },
  });
  const sealedGone = history.map((event) => ('sealed' in event ? { ...event, sealed: undefined } : event));
  t.strictSame(emailRecord(id, email(t).given(...sealedGone).state!), made);
});

// Some recipients of an email are erased, and it goes on for the others.

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
