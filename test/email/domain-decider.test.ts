/** The state table of an email, row by row: what happened, the command, and every event that follows. */
import t from 'tap';
import { pendingRecipients, type Email } from '../../src/domain/email/state.js';
import { emailDecider, type EmailCommand, type RetrySchedule } from '../../src/domain/email/decider.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { specs } from '../support/given.js';
import {
  accepted,
  at,
  attempted,
  bounced,
  content,
  deferred,
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
const schedule: RetrySchedule = { delaysMs: [60_000, 300_000] };
const DEADLINE = at(600);

const accept = (scheduledAt?: string): EmailCommand => ({ type: 'AcceptEmail', accepted, scheduledAt, content });
const attempt = (when: string, options: { worker?: string; workerGone?: boolean } = {}): EmailCommand => ({
  type: 'AttemptDelivery',
  at: when,
  host: HOST,
  worker: options.worker ?? WORKER,
  deadlineAt: DEADLINE,
  workerGone: options.workerGone ?? false,
});
const record = (
  number: number,
  when: string,
  outcomes: readonly (readonly [number, Result])[],
  final = false,
): EmailCommand => ({
  type: 'RecordOutcome',
  attempt: number,
  at: when,
  host: HOST,
  durationMs: 120,
  final,
  schedule,
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

void t.test('accepted', async (t) => {
  const { given } = email(t);
  const state = given().when(accept()).then(queued);
  t.same(statusOf(state), ['queued', 'queued', 'queued', 'queued']);
  t.equal(state!.queuedAt, T0);
  t.equal(state!.createdAt, T0);
  given(queued).when(accept()).nothing();

  const later = given()
    .when(accept(at(3_600)))
    .then({ type: 'EmailScheduled', data: { ...accepted, scheduledAt: at(3_600) }, sealed: content });
  t.equal(later!.status, 'scheduled');
  t.equal(later!.queuedAt, null);
  t.equal(later!.scheduledAt, at(3_600));
});

void t.test('every command but the first needs an email', async (t) => {
  const { given } = email(t);
  const commands: EmailCommand[] = [
    { type: 'ReleaseEmail', at: T0 },
    attempt(T0),
    record(1, T0, []),
    retry(T0),
    remove(T0),
    archive(T0),
    { type: 'GiveUp', attempt: 1, at: T0, reason: 'rendering', text: '' },
  ];
  for (const command of commands) given().when(command).refused('EMAIL_NOT_FOUND');
});

void t.test(
  'pushed by hand: what waits for its next attempt or for the host is due now; nothing else changes',
  async (t) => {
    const { given } = email(t);
    const push = { type: 'PushEmail', at: at(10) } as const;
    const released = {
      type: 'EmailReleased',
      data: { at: at(10), priority: 'normal', pushedFrom: at(3_600) },
    } as const;
    const waiting = given(queued, attempted(1, at(1)), deferred(1, at(2), at(3_600), [0, 'deferred']));
    waiting.when(attempt(at(10))).nothing();
    const state = waiting.when(push).then(released);
    t.match(state, { status: 'queued', nextAttemptAt: null, deferrals: 1, retries: [], queuedAt: at(10) });
    const again = given(queued, attempted(1, at(1)), deferred(1, at(2), at(3_600), [0, 'deferred']), released);
    again.when(push).nothing();
    given(scheduled(at(3_600)))
      .when(push)
      .nothing();
    given(queued).when(push).nothing();
    given(queued, attempted(1, at(1)))
      .when(push)
      .nothing();
    given(queued, attempted(1, at(1)), sent(1, at(2), [0, 'accepted']))
      .when(push)
      .nothing();
  },
);

void t.test(
  'pushed by hand any number of times: the schedule is where it was, and its last attempt is still to come',
  (t) => {
    const { given } = email(t);
    const pushedFrom = at(400);
    let history: readonly EmailEvent[] = [
      queued,
      attempted(1, at(1)),
      deferred(1, at(2), at(62), [0, 'deferred']),
      attempted(2, at(62)),
      deferred(2, at(100), pushedFrom, [0, 'deferred']),
    ];
    for (let number = 3; number < 9; number += 1) {
      const pushed: EmailEvent = {
        type: 'EmailReleased',
        data: { at: at(100 + number), priority: 'normal', pushedFrom },
      };
      given(...history)
        .when({ type: 'PushEmail', at: at(100 + number) })
        .then(pushed);
      history = [...history, pushed, attempted(number, at(100 + number))];
      const again = deferred(number, at(101 + number), pushedFrom, [0, 'deferred']);
      const state = given(...history)
        .when(record(number, at(101 + number), [[0, 'deferred']]))
        .then(again);
      t.match(state, { status: 'queued', nextAttemptAt: pushedFrom, deferrals: 2 });
      history = [...history, again];
    }
    const pushed: EmailEvent = { type: 'EmailReleased', data: { at: at(390), priority: 'normal', pushedFrom } };
    given(...history, pushed, attempted(9, at(390)))
      .when(record(9, at(401), [[0, 'deferred']]))
      .then(failed('attempts-spent', 9, at(401), [0, 'deferred']));
    t.end();
  },
);

void t.test('scheduled: released when its time comes, not before, and once', async (t) => {
  const { given } = email(t);
  const waiting = given(scheduled(at(3_600)));
  waiting.when({ type: 'ReleaseEmail', at: at(3_599.999) }).nothing();
  waiting.when(attempt(at(3_600))).nothing();
  const state = waiting
    .when({ type: 'ReleaseEmail', at: at(3_600) })
    .then({ type: 'EmailReleased', data: { at: at(3_600), priority: 'normal' } });
  t.equal(state!.status, 'queued');
  t.equal(state!.queuedAt, at(3_600));
  given(scheduled(at(3_600)), released(at(3_601)))
    .when({ type: 'ReleaseEmail', at: at(3_602) })
    .nothing();
  given(queued)
    .when({ type: 'ReleaseEmail', at: at(3_600) })
    .nothing();
});

void t.test('queued: a processor takes it', async (t) => {
  const { given } = email(t);
  const state = given(queued)
    .when(attempt(at(1)))
    .then({
      type: 'DeliveryAttempted',
      data: { attempt: 1, at: at(1), host: HOST, worker: WORKER, deadlineAt: DEADLINE },
    });
  t.equal(state!.status, 'processing');
  t.equal(state!.processingAt, at(1));
  t.equal(state!.dialogueDeadlineAt, DEADLINE);
});

void t.test('processing: the relay accepts', async (t) => {
  const { given } = email(t);
  const whole = given(queued, attempted(1, at(1)));
  const all = [
    [0, 'accepted'],
    [1, 'accepted'],
    [2, 'accepted'],
  ] as const;
  const state = whole.when(record(1, at(2), all)).then({
    type: 'EmailSent',
    data: {
      attempt: 1,
      at: at(2),
      host: HOST,
      durationMs: 120,
      outcomes: [0, 1, 2].map((recipient) => ({
        recipient,
        result: 'accepted',
        replyCode: 250,
        enhancedCode: '2.0.0',
        rule: 'accepted',
      })),
    },
    sealed: { replies: ['250 2.0.0 queued as 4711', '250 2.0.0 queued as 4711', '250 2.0.0 queued as 4711'] },
  });
  t.same(statusOf(state), ['sent', 'sent', 'sent', 'sent']);
  t.equal(state!.sentAt, at(2));
  t.equal(state!.deliveredAt, null);
  t.equal(state!.dialogueDeadlineAt, null);
});

void t.test('processing: the final host accepts, which is delivered', async (t) => {
  const { given } = email(t);
  const state = given(...one)
    .when(record(1, at(2), [[0, 'accepted']], true))
    .then(sent(1, at(2), [0, 'accepted']), delivered(at(2), 0));
  t.same(statusOf(state), ['delivered', 'delivered']);
  t.equal(state!.deliveredAt, at(2));
});

void t.test('processing: refused softly, attempts left, then spent', async (t) => {
  const { given } = email(t);
  const state = given(...one)
    .when(record(1, at(2), [[0, 'deferred']]))
    .then({
      type: 'EmailDeferred',
      data: {
        attempt: 1,
        at: at(2),
        host: HOST,
        durationMs: 120,
        nextAttemptAt: at(62),
        outcomes: [{ recipient: 0, result: 'deferred', replyCode: 451, enhancedCode: '4.7.1', rule: 'greylisted' }],
      },
      sealed: { replies: ['451 4.7.1 try again later'] },
    });
  t.same(statusOf(state), ['queued', 'queued']);
  t.equal(state!.nextAttemptAt, at(62));

  const once = [...one, deferred(1, at(2), at(62), [0, 'deferred'])] as const;
  given(...once)
    .when(attempt(at(61.999)))
    .nothing();
  given(...once)
    .when(attempt(at(62)))
    .then({
      type: 'DeliveryAttempted',
      data: { attempt: 2, at: at(62), host: HOST, worker: WORKER, deadlineAt: DEADLINE },
    });
  const twice = given(...once, attempted(2, at(62))).when(record(2, at(63), [[0, 'deferred']]));
  twice.then(deferred(2, at(63), at(363), [0, 'deferred']));

  const spent = [
    ...once,
    attempted(2, at(62)),
    deferred(2, at(63), at(363), [0, 'deferred']),
    attempted(3, at(363)),
  ] as const;
  const end = given(...spent)
    .when(record(3, at(364), [[0, 'deferred']]))
    .then(failed('attempts-spent', 3, at(364), [0, 'deferred']));
  t.same(statusOf(end), ['failed', 'failed']);
  t.equal(end!.failureReason, 'attempts-spent');
  given(...one)
    .when({ ...record(1, at(2), [[0, 'deferred']]), schedule: { delaysMs: [] } } as EmailCommand)
    .then(failed('attempts-spent', 1, at(2), [0, 'deferred']));
});

void t.test('processing: refused for good', async (t) => {
  const { given } = email(t);
  const blamed = given(...one)
    .when(record(1, at(2), [[0, 'bounced']]))
    .then(bounced(1, at(2), [0, 'bounced']));
  t.same(statusOf(blamed), ['bounced', 'bounced']);
  t.equal(blamed!.failureReason, 'bounced');
  const us = given(...one)
    .when(record(1, at(2), [[0, 'refused']]))
    .then(failed('refused', 1, at(2), [0, 'refused']));
  t.same(statusOf(us), ['failed', 'failed']);
  t.equal(us!.failureReason, 'refused');
});

void t.test('processing: rendering fails, or the content is gone', async (t) => {
  const { given } = email(t);
  for (const reason of ['rendering', 'content-lost'] as const) {
    const state = given(queued, attempted(1, at(1)))
      .when({ type: 'GiveUp', attempt: 1, at: at(2), reason, text: 'in words' })
      .then({
        type: 'EmailFailed',
        data: {
          attempt: 1,
          at: at(2),
          host: HOST,
          durationMs: 0,
          reason,
          outcomes: [0, 1, 2].map((recipient) => ({
            recipient,
            result: 'refused',
            replyCode: null,
            enhancedCode: null,
            rule: reason,
          })),
        },
        sealed: { replies: ['in words', 'in words', 'in words'] },
      });
    t.same(statusOf(state), ['failed', 'failed', 'failed', 'failed']);
    t.equal(state!.failureReason, reason);
  }
});

void t.test('several recipients: each has a state, and the email the furthest that all have reached', async (t) => {
  const { given } = email(t);
  const taken = given(queued, attempted(1, at(1)));
  const cases: readonly (readonly [readonly (readonly [number, Result])[], EmailEvent, readonly string[]])[] = [
    [
      [
        [0, 'accepted'],
        [1, 'bounced'],
        [2, 'refused'],
      ],
      sent(1, at(2), [0, 'accepted'], [1, 'bounced'], [2, 'refused']),
      ['sent', 'sent', 'bounced', 'failed'],
    ],
    [
      [
        [0, 'accepted'],
        [1, 'deferred'],
        [2, 'bounced'],
      ],
      deferred(1, at(2), at(62), [0, 'accepted'], [1, 'deferred'], [2, 'bounced']),
      ['queued', 'sent', 'queued', 'bounced'],
    ],
    [
      [
        [0, 'bounced'],
        [1, 'bounced'],
        [2, 'refused'],
      ],
      failed('refused', 1, at(2), [0, 'bounced'], [1, 'bounced'], [2, 'refused']),
      ['failed', 'bounced', 'bounced', 'failed'],
    ],
    [
      [
        [0, 'bounced'],
        [1, 'bounced'],
        [2, 'bounced'],
      ],
      bounced(1, at(2), [0, 'bounced'], [1, 'bounced'], [2, 'bounced']),
      ['bounced', 'bounced', 'bounced', 'bounced'],
    ],
  ];
  for (const [outcomes, event, statuses] of cases)
    t.same(statusOf(taken.when(record(1, at(2), outcomes)).then(event)), statuses);

  const partial = [
    queued,
    attempted(1, at(1)),
    deferred(1, at(2), at(62), [0, 'accepted'], [1, 'deferred'], [2, 'refused']),
    attempted(2, at(62)),
  ] as const;
  t.same(pendingRecipients(given(...partial).state!), [1]);
  t.same(
    statusOf(
      given(...partial)
        .when(record(2, at(63), [[1, 'bounced']]))
        .then(sent(2, at(63), [1, 'bounced'])),
    ),
    ['sent', 'sent', 'bounced', 'failed'],
  );

  const nobody = [
    queuedFor('to', 'cc'),
    attempted(1, at(1)),
    deferred(1, at(2), at(62), [0, 'refused'], [1, 'deferred']),
    attempted(2, at(62)),
  ] as const;
  given(...nobody)
    .when(record(2, at(63), [[1, 'bounced']]))
    .then(failed('refused', 2, at(63), [1, 'bounced']));
});

void t.test('several recipients at a final host: delivered when nobody who may still get it is left', async (t) => {
  const { given } = email(t);
  const half = [queuedFor('to', 'cc'), attempted(1, at(1))] as const;
  const state = given(...half)
    .when(
      record(
        1,
        at(2),
        [
          [0, 'accepted'],
          [1, 'deferred'],
        ],
        true,
      ),
    )
    .then(deferred(1, at(2), at(62), [0, 'accepted'], [1, 'deferred']), delivered(at(2), 0));
  t.same(statusOf(state), ['queued', 'delivered', 'queued']);
  t.equal(state!.deliveredAt, null);

  const again = [
    ...half,
    deferred(1, at(2), at(62), [0, 'accepted'], [1, 'deferred']),
    delivered(at(2), 0),
    attempted(2, at(62)),
  ] as const;
  t.same(
    statusOf(
      given(...again)
        .when(record(2, at(63), [[1, 'accepted']], true))
        .then(sent(2, at(63), [1, 'accepted']), delivered(at(63), 1)),
    ),
    ['delivered', 'delivered', 'delivered'],
  );
  // The last one bounces: the other has it since long, and no further event will come to say so.
  const end = given(...again)
    .when(record(2, at(63), [[1, 'bounced']], true))
    .then(sent(2, at(63), [1, 'bounced']));
  t.same(statusOf(end), ['delivered', 'delivered', 'bounced']);
  t.equal(end!.deliveredAt, at(63));
});

void t.test('an email that somebody got has not failed, even where it cannot be rendered for the rest', async (t) => {
  const { given } = email(t);
  const half = [
    queuedFor('to', 'cc'),
    attempted(1, at(1)),
    deferred(1, at(2), at(62), [0, 'accepted'], [1, 'deferred']),
    attempted(2, at(62)),
  ] as const;
  const state = given(...half)
    .when({ type: 'GiveUp', attempt: 2, at: at(63), reason: 'content-lost', text: 'gone' })
    .then({
      type: 'EmailSent',
      data: {
        attempt: 2,
        at: at(63),
        host: HOST,
        durationMs: 0,
        outcomes: [{ recipient: 1, result: 'refused', replyCode: null, enhancedCode: null, rule: 'content-lost' }],
      },
      sealed: { replies: ['gone'] },
    });
  t.same(statusOf(state), ['sent', 'sent', 'failed']);
});

void t.test('an outcome counts once, and only for the attempt that is open', async (t) => {
  const { given } = email(t);
  given(...one)
    .when(record(2, at(2), [[0, 'accepted']]))
    .nothing();
  given(...one, sent(1, at(2), [0, 'accepted']))
    .when(record(1, at(3), [[0, 'bounced']]))
    .nothing();
  given(queuedFor('to'))
    .when(record(1, at(3), [[0, 'accepted']]))
    .nothing();
  given(...one, sent(1, at(2), [0, 'accepted']))
    .when({ type: 'GiveUp', attempt: 1, at: at(3), reason: 'rendering', text: '' })
    .nothing();
  given(...one, attempted(2, at(601)))
    .when(record(1, at(602), [[0, 'accepted']]))
    .nothing();
});

void t.test('a dialogue that was cut off is made again', async (t) => {
  const { given } = email(t);
  const open = given(queuedFor('to'), attempted(1, at(1), DEADLINE));
  open.when(attempt(at(599))).nothing();
  open.when(attempt(at(2), { worker: 'worker-2' })).nothing();
  const second = { attempt: 2, host: HOST, deadlineAt: DEADLINE };
  const state = open
    .when(attempt(at(600)))
    .then({ type: 'DeliveryAttempted', data: { ...second, at: at(600), worker: WORKER } });
  t.same(
    state!.attempts.map(({ ended }) => ended?.outcome),
    ['interrupted', undefined],
  );
  t.same(state!.attempts[0]!.ended, {
    at: at(600),
    durationMs: null,
    outcome: 'interrupted',
    replyCode: null,
    reply: null,
    nextAttemptAt: null,
  });
  t.equal(state!.deferrals, 0, 'an interruption is no refusal');
  open
    .when(attempt(at(2), { worker: 'worker-2', workerGone: true }))
    .then({ type: 'DeliveryAttempted', data: { ...second, at: at(2), worker: 'worker-2' } });
});

const interrupted = (from: number, count: number): EmailEvent[] =>
  Array.from({ length: count }, (_, index) => attempted(from + index, at(from + index), at(from + index)));

void t.test('a mail that cuts off every dialogue is given up, and a retry begins to count anew', async (t) => {
  const { given } = email(t);
  given(queuedFor('to'), ...interrupted(1, 10))
    .when(attempt(at(600)))
    .then({
      type: 'DeliveryAttempted',
      data: { attempt: 11, at: at(600), host: HOST, worker: WORKER, deadlineAt: DEADLINE },
    });
  const cut = 'the delivery was cut off too often';
  const end: Extract<EmailEvent, { type: 'EmailFailed' }>['data'] = {
    attempt: 11,
    at: at(600),
    host: HOST,
    durationMs: 0,
    outcomes: [{ recipient: 0, result: 'refused', replyCode: null, enhancedCode: null, rule: 'attempts-spent' }],
    reason: 'attempts-spent',
  };
  const state = given(queuedFor('to'), ...interrupted(1, 11))
    .when(attempt(at(600)))
    .then({ type: 'EmailFailed', data: end, sealed: { replies: [cut] } });
  t.equal(state!.status, 'failed');
  given(
    queuedFor('to'),
    ...interrupted(1, 11),
    { type: 'EmailFailed', data: end, sealed: { replies: [cut] } },
    retried(at(700), 1),
    attempted(12, at(700), at(701)),
  )
    .when(attempt(at(702)))
    .then({
      type: 'DeliveryAttempted',
      data: { attempt: 13, at: at(702), host: HOST, worker: WORKER, deadlineAt: DEADLINE },
    });
});
