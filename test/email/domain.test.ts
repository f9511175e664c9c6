/** Laws of an email: what is requested, reported, and holds in every order. */
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { assertDefined, parseEmailId } from '../../src/domain/core/ids.js';
import { emailDecider, type EmailCommand } from '../../src/domain/email/decider.js';
import type { EmailAccepted, EmailEvent } from '../../src/domain/email/events.js';
import { openReturnPath } from '../../src/domain/email/feedback.js';
import { putTogether, recipientPartsOf, takenApart } from '../../src/domain/email/recipient-parts.js';
import { openAttempt, type Email, type EmailState } from '../../src/domain/email/state.js';
import type { EmailStatus } from '../../src/domain/email/status.js';
import { archiveDueAt, emailTimer } from '../../src/domain/email/timers.js';
import type { ReportedRecipient } from '../../src/domain/ports/report-reader.js';
import { codec, decodeEvent, encodeEvent } from '../../src/event-log/codec.js';
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
  EMAIL_ID,
} from '../support/email-facts.js';
import { play, story } from '../support/email-stories.js';
import { specs } from '../support/given.js';

// Another time, and the end, of an email that has not left.

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

// Reports about an email after it has left: its states, and the return path that names it.

const told = (action: ReportedRecipient['action'], ...addresses: readonly string[]): ReportedRecipient => ({
  addresses,
  action,
  bounceType: 'hard',
  bounceSubType: 'no-such-mailbox',
  enhancedCode: '5.1.1',
  text: '550 5.1.1 no such user',
});
const report = (...recipients: readonly ReportedRecipient[]) => ({
  type: 'RecordReport' as const,
  at: at(60),
  recipients,
});
const complaint = (...addresses: readonly string[]) => ({
  type: 'RecordComplaint' as const,
  at: at(60),
  feedbackType: 'abuse',
  addresses,
});
const bounce = (...recipients: readonly number[]) => ({
  type: 'EmailBounceReported' as const,
  data: {
    at: at(60),
    bounces: recipients.map((recipient) => ({
      recipient,
      bounceType: 'hard' as const,
      bounceSubType: 'no-such-mailbox',
      enhancedCode: '5.1.1',
    })),
  },
  sealed: { replies: recipients.map(() => '550 5.1.1 no such user') },
});
const one = [queuedFor('to'), attempted(1, at(1)), sent(1, at(2), [0, 'accepted'])] as const;
const three = [queued, attempted(1, at(1)), sent(1, at(2), [0, 'accepted'], [1, 'accepted'], [2, 'accepted'])] as const;
const { given } = specs(emailDecider)(t);

void t.test('sent and delivered become bounced, sent becomes delivered, both become complained', async (t) => {
  const { given } = specs(emailDecider)(t);
  const addressed = { ...queuedFor('to'), sealed: { ...content, recipients: [{ email: 'ann@example.org' }] } };
  const only = [addressed, ...one.slice(1)] as unknown as typeof one;
  const bounced = given(...only)
    .when(report(told('failed', 'ANN@example.org')))
    .then(bounce(0));
  t.match(bounced, {
    status: 'bounced',
    failureReason: 'bounced',
    recipientStatuses: ['bounced'],
    replies: [{ bounceType: 'hard', rule: 'no-such-mailbox' }],
  });
  const delivered = { type: 'EmailDelivered' as const, data: { at: at(60), recipients: [0] } };
  t.match(
    given(...only)
      .when(report(told('delivered', 'ann@example.org')))
      .then(delivered),
    { status: 'delivered', deliveredAt: at(60) },
  );
  given(...only, delivered)
    .when(report(told('delivered', 'ann@example.org')))
    .nothing();
  t.equal(
    given(...only, delivered)
      .when(report(told('failed', 'forwarded@example.net')))
      .then(bounce(0))?.status,
    'bounced',
  );
  for (const action of ['delayed', 'relayed', 'expanded'] as const)
    given(...only)
      .when(report(told(action, 'ann@example.org')))
      .nothing();
  const complained = { type: 'EmailComplained' as const, data: { at: at(60), feedbackType: 'abuse', recipients: [0] } };
  t.match(
    given(...only)
      .when(complaint())
      .then(complained),
    { status: 'complained', complainedAt: at(60), recipientStatuses: ['complained'] },
  );
  given(...only, complained)
    .when(complaint('ann@example.org'))
    .nothing();
  given(...only, complained)
    .when(report(told('failed', 'ann@example.org')))
    .nothing();
  given(...only, bounce(0))
    .when(report(told('failed', 'ann@example.org')))
    .nothing();
});

void t.test('an email to several stands where the furthest stands that all have reached', async (t) => {
  const { given } = specs(emailDecider)(t);
  const state = given(...three)
    .when(report(told('failed', 'bob@example.org'), told('delivered', 'ann@example.org')))
    .then({ type: 'EmailDelivered', data: { at: at(60), recipients: [0] } }, bounce(1));
  t.match(state, { status: 'sent', recipientStatuses: ['delivered', 'bounced', 'sent'] });
  t.match(
    given(...three, bounce(1))
      .when(report(told('delivered', 'ann@example.org'), told('failed', 'cyd@example.org')))
      .then({ type: 'EmailDelivered', data: { at: at(60), recipients: [0] } }, bounce(2)),
    { status: 'delivered', deliveredAt: at(60) },
  );
  given(...three)
    .when(report(told('failed', 'nobody@example.org')))
    .nothing();
  t.match(
    given(...three)
      .when(complaint('cyd@example.org'))
      .then({ type: 'EmailComplained', data: { at: at(60), feedbackType: 'abuse', recipients: [2] } }),
    { status: 'sent', complainedAt: at(60) },
  );
  const unnamed = { type: 'EmailComplained' as const, data: { at: at(60), feedbackType: 'abuse', recipients: [] } };
  given(...three)
    .when(complaint())
    .then(unnamed);
  given(...three, unnamed)
    .when(complaint())
    .nothing();
});

void t.test('an archived or deleted email records nothing; one whose dialogue is under way is told later', async () => {
  given(...three, { type: 'EmailDeleted', data: { at: at(3) } })
    .when(report(told('failed', 'ann@example.org')))
    .nothing();
  given(...three, { type: 'EmailArchived', data: { at: at(3) } })
    .when(complaint('ann@example.org'))
    .nothing();
  given(queued, attempted(1, at(1)))
    .when(report(told('failed', 'ann@example.org')))
    .refused('EMAIL_IN_PROGRESS');
});

void t.test('a return path names its email to who has the key, and to nobody else', async (t) => {
  const keys = (secret: string) => ({
    fingerprint: (purpose: string, text: string | Uint8Array) =>
      createHmac('sha256', secret).update(purpose).update(text).digest('hex'),
  });
  const path = openReturnPath('bounces.example.com', keys('a'));
  const id = assertDefined(parseEmailId(EMAIL_ID), 'email id');
  const sender = path.senderOf(id);
  t.match(sender, /^bounce\+[a-z2-7]{52}@bounces\.example\.com$/);
  t.ok(sender.indexOf('@') <= 64);
  t.equal(path.emailOf(sender), id);
  t.equal(path.emailOf(`<${sender.toUpperCase()}>`), id);
  const [local = ''] = sender.split('@');
  for (let at = 7; at < local.length; at += 1) {
    const other = local[at] === 'a' ? 'b' : 'a';
    t.equal(
      path.emailOf(`${local.slice(0, at)}${other}${local.slice(at + 1)}@bounces.example.com`),
      undefined,
      `another letter at ${at}`,
    );
    t.equal(path.emailOf(`${local.slice(0, at)}@bounces.example.com`), undefined, `cut short at ${at}`);
  }
  t.equal(path.emailOf(`${local}@example.com`), undefined);
  t.equal(path.emailOf(`${local}a@bounces.example.com`), undefined);
  t.equal(openReturnPath('bounces.example.com', keys('b')).emailOf(sender), undefined, 'another instance');
});

// Laws for every history of an email, with any commands in any order.

/** The state table: where an email may go in one step. */
const allowed: Readonly<Record<EmailStatus, readonly EmailStatus[]>> = {
  scheduled: ['queued', 'cancelled', 'failed'],
  queued: ['processing', 'cancelled', 'failed', 'bounced', 'complained', 'sent', 'delivered'],
  processing: ['sent', 'delivered', 'queued', 'failed', 'bounced', 'complained'],
  sent: ['delivered', 'queued', 'bounced', 'failed', 'complained'],
  delivered: ['queued', 'bounced', 'failed', 'complained'],
  failed: ['queued'],
  bounced: [],
  complained: [],
  cancelled: [],
};

const check = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

const assertSound = (email: Email): void => {
  const { status, recipientStatuses: each } = email;
  const some = (...wanted: string[]) => each.some((one) => wanted.includes(one));
  check(
    each.length === email.accepted.roles.length && email.replies.length === each.length,
    'one state for each recipient',
  );
  check(
    (openAttempt(email) !== undefined) === (status === 'processing'),
    'a dialogue is open exactly while the email is processing',
  );
  check(
    email.attempts.every(({ attempt }, index) => attempt === index + 1),
    'attempts are counted without gaps',
  );
  check(
    email.attempts.slice(0, -1).every(({ ended }) => ended !== null),
    'only the last attempt is open',
  );
  check(
    (email.dialogueDeadlineAt !== null) === (status === 'processing'),
    'a deadline stands exactly while the email is processing',
  );
  check(email.nextAttemptAt === null || status === 'queued', 'only a queued email waits for its next attempt');
  if (status === 'failed' || status === 'bounced')
    check(!some('sent', 'delivered', 'complained', 'queued'), `${status} only when none got through and none waits`);
  if (status === 'sent') check(some('sent') && !some('queued'), 'sent when one got through and none waits');
  if (status === 'delivered')
    check(some('delivered') && !some('queued', 'sent'), 'delivered when nobody who may still get it is left');
  if (status === 'queued' || status === 'scheduled' || status === 'processing')
    check(some('queued'), `${status} only while someone waits`);
  if (status === 'cancelled') check(!some('queued'), 'nobody waits for a cancelled email');
  // Deleting or erasing cancels an email only for recipients who still wait.
  if (status === 'cancelled' && email.deletedAt === null && email.archivedAt === null)
    check(!some('sent', 'delivered'), 'what somebody has is not cancelled');
  check((email.cancelledAt !== undefined) === (status === 'cancelled'), 'cancelledAt tells that it was cancelled');
  // A retry for those who did not get it leaves both moments as they are.
  const isRetried = email.retries.length > 0;
  const [wasSent, wasDelivered] = [email.sentAt !== null, email.deliveredAt !== null];
  const isSent = status === 'sent' || status === 'delivered';
  // Later reports leave both moments unchanged, too.
  const isReported =
    email.complainedAt !== undefined || email.replies.some(({ bounceType }) => bounceType !== undefined);
  if (status === 'complained')
    check(some('complained') && !some('queued', 'sent', 'delivered'), 'complained when all have who have it');
  if (isReported) check((wasSent || !isSent) && (wasDelivered || status !== 'delivered'), 'both moments are there');
  else {
    check(isRetried && wasSent ? some('sent', 'delivered') : wasSent === isSent, 'sentAt tells that it was sent');
    check(
      isRetried && wasDelivered ? some('delivered') : wasDelivered === (status === 'delivered'),
      'deliveredAt: that it was delivered',
    );
  }
  // If no call has cancelled the email, only erased recipients are cancelled.
  const isAll = each.every((one) => one === 'suppressed' || (one === 'cancelled' && status !== 'cancelled'));
  check(!isAll || status === 'failed', 'an email to suppressed addresses alone has failed');
  check((email.failureReason === 'suppressed') === (status === 'failed' && isAll), 'and says so, and no other does');
  check(
    (email.failureReason !== null) === (status === 'failed' || status === 'bounced'),
    'a reason stands exactly with a failure',
  );
  const work = emailTimer(email, PERIODS);
  check(
    (work === undefined) === (email.archivedAt !== null && email.deletedAt !== null),
    'nothing is due once nothing is shown of the email',
  );
  if (work !== undefined) check(new Date(work.dueAt).toISOString() === work.dueAt, 'work is due at a moment');
};

void t.test('a history holds together after each command, and moves along the state table', async (t) => {
  let steps = 0;
  fc.assert(
    fc.property(story, (told) => {
      play(told, (before, after) => {
        steps += 1;
        assertSound(after);
        if (before.status !== after.status)
          check(allowed[before.status].includes(after.status), `${before.status} → ${after.status}`);
        for (const [index, one] of before.recipientStatuses.entries())
          if (one === 'suppressed')
            check(after.recipientStatuses[index] === one, 'who is suppressed stays so, whatever is retried');
        if (before.archivedAt !== null && after !== before)
          check(after.status === before.status, 'an archived email stays as it is');
        if (before.deletedAt !== null && after !== before)
          check(after.archivedAt !== null, 'a deleted email is only archived');
      });
    }),
    { numRuns: 1_500 },
  );
  t.ok(steps > 1_000, `${steps} commands were decided`);
});

void t.test('every history is the same after a round through the codec', async (t) => {
  fc.assert(
    fc.property(story, (told) => {
      const events = play(told);
      const read = events.map((event) => {
        const { type, data, sealed } = encodeEvent(event);
        return decodeEvent(type, data, sealed) as EmailEvent;
      });
      t.strictSame(read, events);
    }),
    { numRuns: 50 },
  );
});

void t.test(
  'with its key destroyed a history folds to the same summary, and once archived to the very same state',
  async (t) => {
    let events = 0;
    const fold = (history: readonly EmailEvent[]): Email =>
      history.reduce(emailDecider.evolve, undefined as EmailState)!;
    const withoutSealed = ({
      content: _content,
      replies: _replies,
      attempts: _attempts,
      copies: _copies,
      ...rest
    }: Email) => rest;
    fc.assert(
      fc.property(story, (told) => {
        const history = play(told);
        events += history.length;
        const destroyed = history.map((event) => ('sealed' in event ? { ...event, sealed: undefined } : event));
        check(
          JSON.stringify(withoutSealed(fold(destroyed))) === JSON.stringify(withoutSealed(fold(history))),
          'the summaries differ',
        );
        const archived: EmailEvent = { type: 'EmailArchived', data: { at: at(1e7) } };
        check(
          JSON.stringify(fold([...destroyed, archived])) === JSON.stringify(fold([...history, archived])),
          'the archived forms differ',
        );
      }),
      { numRuns: 500 },
    );
    t.ok(events > 1_000, `${events} events were folded`);
  },
);

void t.test('with the keys of erased recipients destroyed a history folds to the very same state', async (t) => {
  let erased = 0;
  fc.assert(
    fc.property(story, (told) => {
      const history = play(told);
      const gone = new Set(
        history.flatMap((event) => (event.type === 'RecipientsErased' ? event.data.recipients : [])),
      );
      if (gone.size > 0) erased += 1;
      const left = history.map((event): EmailEvent => {
        const parts = recipientPartsOf(event.type);
        if (parts === undefined || !('sealed' in event) || event.sealed === undefined) return event;
        const { shared, own } = takenApart(parts, event.data, event.sealed);
        const kept = new Map([...own].filter(([place]) => !gone.has(place)));
        return { ...event, sealed: putTogether(parts, event.data, { shared, own: kept }) } as EmailEvent;
      });
      const [before, after] = [history, left].map((events) =>
        events.reduce(emailDecider.evolve, undefined as EmailState),
      );
      check(JSON.stringify(sorted(before)) === JSON.stringify(sorted(after)), 'the states differ');
      for (const place of gone)
        check(!JSON.stringify(before).includes(`r${place}@example.org`), 'the address is still told');
    }),
    { numRuns: 2_500 },
  );
  t.ok(erased > 100, `${erased} histories had erased recipients`);
});

/** With the fields of objects in their order by name. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => [name, sorted(field)]),
  );
};

void t.test('every history is the same after it was taken apart by recipients', async (t) => {
  fc.assert(
    fc.property(story, (told) => {
      const events = play(told);
      const read = events.map((event) => {
        const { type, data, sealed, apart } = codec.encodeApart(event);
        return codec.decode(type, data, apart ?? sealed) as EmailEvent;
      });
      t.strictSame(read, events);
    }),
    { numRuns: 50 },
  );
});
