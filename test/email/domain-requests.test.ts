/** Another time, and the end, of an email that has not left. */
import t from 'tap';
import { emailDecider, type EmailCommand } from '../../src/domain/email/decider.js';
import type { EmailAccepted, EmailEvent } from '../../src/domain/email/events.js';
import { archiveDueAt, emailTimer } from '../../src/domain/email/timers.js';
import { specs } from '../support/given.js';
import {
  accepted,
  at,
  attempted,
  bounced,
  cancelled,
  content,
  deferred,
  failed,
  HOST,
  queued,
  queuedFor,
  released,
  rescheduled,
  PERIODS,
  RETENTION_MS,
  retried,
  scheduled,
  sent,
  WORKER,
} from '../support/email-facts.js';

const email = specs(emailDecider);

const cancel = (when: string, idempotencyKey?: string, fingerprint?: string): EmailCommand => ({
  type: 'CancelEmail',
  at: when,
  idempotencyKey,
  fingerprint,
});
const reschedule = (when: string, scheduledAt: string, temporaryUntil = at(9e6)): EmailCommand => ({
  type: 'RescheduleEmail',
  at: when,
  scheduledAt,
  subject: 'Order 17',
  temporaryUntil,
});
const release = (when: string): EmailCommand => ({ type: 'ReleaseEmail', at: when });
const attempt = (when: string): EmailCommand => ({
  type: 'AttemptDelivery',
  at: when,
  host: HOST,
  worker: WORKER,
  deadlineAt: at(600),
  workerGone: true,
});

const held = (): EmailEvent => {
  const { data, ...rest } = deferred(0, at(2), at(2), [0, 'deferred']) as Extract<
    EmailEvent,
    { type: 'EmailDeferred' }
  >;
  return { ...rest, data: { ...data, heldUntil: at(900) } };
};
const waiting: Readonly<Record<string, readonly EmailEvent[]>> = {
  scheduled: [scheduled(at(10))],
  'scheduled anew': [scheduled(at(10)), rescheduled(at(1), at(20))],
  'due, and not released yet': [scheduled(at(3))],
  queued: [queuedFor('to')],
  released: [scheduled(at(3)), released(at(3))],
  deferred: [queuedFor('to'), attempted(1, at(1)), deferred(1, at(2), at(62), [0, 'deferred'])],
  held: [queuedFor('to'), held()],
  retried: [queuedFor('to'), attempted(1, at(1)), failed('refused', 1, at(2), [0, 'refused']), retried(at(3), 1)],
  'refused to some': [
    queued,
    attempted(1, at(1)),
    deferred(1, at(2), at(62), [0, 'bounced'], [1, 'deferred'], [2, 'deferred']),
  ],
};
const tooLate: Readonly<Record<string, readonly EmailEvent[]>> = {
  processing: [queuedFor('to'), attempted(1, at(1))],
  sent: [queuedFor('to'), attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])],
  failed: [queuedFor('to'), attempted(1, at(1)), failed('refused', 1, at(2), [0, 'refused'])],
  bounced: [queuedFor('to'), attempted(1, at(1)), bounced(1, at(2), [0, 'bounced'])],
  cancelled: [queuedFor('to'), cancelled(at(2))],
  queued: [queued, attempted(1, at(1)), deferred(1, at(2), at(62), [0, 'accepted'], [1, 'deferred'], [2, 'deferred'])],
};

void t.test(
  'what waits is cancelled, in whatever way it waits, and no attempt or release begins any more',
  async (t) => {
    const { given } = email(t);
    for (const [how, history] of Object.entries(waiting)) {
      const state = given(...history)
        .when(cancel(at(5)))
        .then(cancelled(at(5)));
      t.match(state, { status: 'cancelled', cancelledAt: at(5), nextAttemptAt: null }, how);
      t.notOk(state!.recipientStatuses.includes('queued'));
      for (const late of [attempt(at(1e5)), release(at(1e5))])
        given(...history, cancelled(at(5)))
          .when(late)
          .nothing();
    }
    given(queuedFor('to'))
      .when(cancel(at(5), 'key', 'print'))
      .then({ type: 'EmailCancelled', data: { at: at(5), idempotencyKey: 'key', fingerprint: 'print' } });
  },
);

void t.test('what is under way, has ended, or has reached somebody is not cancelled', async (t) => {
  const { given } = email(t);
  for (const [status, history] of Object.entries(tooLate)) {
    const { details } = given(...history)
      .when(cancel(at(5)))
      .refused('EMAIL_NOT_CANCELLABLE');
    t.same(details.relatedInfo, { status });
  }
  given(...waiting['queued']!, cancelled(at(1)), { type: 'EmailDeleted', data: { at: at(1) } })
    .when(cancel(at(5)))
    .refused('EMAIL_NOT_FOUND');
});

void t.test('what is scheduled gets another time, earlier or later, and is released at that alone', async (t) => {
  const { given } = email(t);
  const state = given(scheduled(at(10)))
    .when(reschedule(at(5), at(20)))
    .then(rescheduled(at(5), at(20)));
  t.match(state, { status: 'scheduled', scheduledAt: at(20), createdAt: at(0) });
  t.same(emailTimer(state!, PERIODS), { kind: 'scheduled', dueAt: at(20) });
  const later = [scheduled(at(10)), rescheduled(at(5), at(20), 'Order 17 of May')] as const;
  given(...later)
    .when(release(at(19.999)))
    .nothing();
  t.equal(
    given(...later)
      .when(release(at(20)))
      .then(released(at(20)))!.content!.subject,
    'Order 17 of May',
  );
  given(scheduled(at(100)), rescheduled(at(5), at(20)))
    .when(release(at(20)))
    .then(released(at(20)));
  given(...later)
    .when(reschedule(at(6), at(20)))
    .nothing();
  t.equal(
    archiveDueAt([...later].reduce(emailDecider.evolve, undefined as ReturnType<typeof emailDecider.evolve>)!, 1_000),
    at(21),
  );
});

void t.test('generated files are kept for the latest time that there was', async (t) => {
  const { given } = email(t);
  const data = {
    ...accepted,
    attachmentBytes: { lasting: 1, temporary: 2, temporaryUntil: at(700) },
    scheduledAt: at(100),
  };
  const withFiles: EmailAccepted = { type: 'EmailScheduled', data, sealed: content };
  const moved = (to: string, until: string): EmailEvent => ({
    type: 'EmailRescheduled',
    data: { at: at(5), scheduledAt: to, temporaryUntil: until },
    sealed: { subject: 'Order 17' },
  });
  given(withFiles)
    .when(reschedule(at(5), at(200), at(800)))
    .then(moved(at(200), at(800)));
  given(withFiles, moved(at(200), at(800)))
    .when(reschedule(at(5), at(50), at(650)))
    .then(moved(at(50), at(800)));
});

void t.test('only what is scheduled gets another time', async (t) => {
  const { given } = email(t);
  const { scheduled: _scheduled, 'scheduled anew': _anew, 'due, and not released yet': _due, ...others } = waiting;
  for (const history of [...Object.values(others), ...Object.values(tooLate)])
    given(...history)
      .when(reschedule(at(5), at(20)))
      .refused('EMAIL_NOT_SCHEDULED');
});

void t.test('a cancelled email is archived 30 days after it was cancelled, whenever it was to leave', async (t) => {
  const { given } = email(t);
  const history = [scheduled(at(300 * 86_400)), cancelled(at(5))] as const;
  const month = RETENTION_MS / 1_000;
  const archive = (when: string): EmailCommand => ({ type: 'ArchiveEmail', at: when, retentionMs: RETENTION_MS });
  given(...history)
    .when(archive(at(4.999 + month)))
    .nothing();
  given(...history)
    .when(archive(at(5 + month)))
    .then({ type: 'EmailArchived', data: { at: at(5 + month) } });
});
