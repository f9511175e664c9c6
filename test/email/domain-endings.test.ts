/** Commands on an email that has ended, or is to end: retry, delete, archive; and the record that remains. */
import t from 'tap';
import { pendingRecipients, type Email, type EmailState } from '../../src/domain/email/state.js';
import { emailDecider, type EmailCommand } from '../../src/domain/email/decider.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { emailRecord } from '../../src/commands/email/answers.js';
import { failedRecipientsOf } from '../../src/domain/email/status.js';
import { assertDefined, parseEmailId } from '../../src/domain/core/ids.js';
import { specs } from '../support/given.js';
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
} from '../support/email-facts.js';

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
