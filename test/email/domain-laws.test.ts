/** Laws for every history of an email, with any commands in any order. */
import fc from 'fast-check';
import t from 'tap';
import { emailDecider } from '../../src/domain/email/decider.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import type { EmailStatus } from '../../src/domain/email/status.js';
import { openAttempt, type Email, type EmailState } from '../../src/domain/email/state.js';
import { emailTimer } from '../../src/domain/email/timers.js';
import { putTogether, recipientPartsOf, takenApart } from '../../src/domain/email/recipient-parts.js';
import { codec, decodeEvent, encodeEvent } from '../../src/event-log/codec.js';
import { at, PERIODS } from '../support/email-facts.js';
import { play, story } from '../support/email-stories.js';

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
