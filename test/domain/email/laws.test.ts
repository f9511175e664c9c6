/** What holds for every history of an email, whatever commands come in whatever order. */
import fc from 'fast-check';
import t from 'tap';
import { emailDecider, pendingRecipients, type EmailCommand } from '../../../src/domain/email/decider.js';
import type { EmailEvent } from '../../../src/domain/email/events.js';
import type { EmailStatus } from '../../../src/domain/email/request.js';
import { openAttempt, type Email, type EmailState } from '../../../src/domain/email/state.js';
import { openWork } from '../../../src/domain/email/work.js';
import { DomainError } from '../../../src/domain/errors.js';
import { decodeEvent, encodeEvent } from '../../../src/domain/event-codec.js';
import { accepted, at, content, HOST, outcome, RETENTION_MS, type Result } from '../../support/email-facts.js';

const results = ['accepted', 'deferred', 'bounced', 'refused'] as const;
const roles = fc.array(fc.constantFrom('to' as const, 'cc' as const, 'bcc' as const), { minLength: 1, maxLength: 4 });

/** A step: how many seconds pass, and which command comes. Outcomes are drawn for more recipients than there can be. */
type Step = Readonly<{ seconds: number; kind: EmailCommand['type']; draw: readonly Result[]; flag: boolean; older: boolean }>;
const kinds: readonly EmailCommand['type'][] = [
  'AttemptDelivery', 'RecordOutcome', 'AttemptDelivery', 'RecordOutcome', 'RetryEmail', 'ReleaseEmail', 'GiveUp', 'DeleteEmail', 'ArchiveEmail', 'AcceptEmail',
];
const step: fc.Arbitrary<Step> = fc.record({
  seconds: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.constant(700), fc.constant(31 * 86_400)),
  kind: fc.constantFrom(...kinds),
  draw: fc.array(fc.constantFrom(...results), { minLength: 4, maxLength: 4 }),
  flag: fc.boolean(),
  older: fc.boolean(),
});
const story = fc.record({ roles, later: fc.option(fc.integer({ min: 1, max: 2_000 }), { nil: undefined }), steps: fc.array(step, { maxLength: 40 }) });

const commandOf = ({ kind, draw, flag, older }: Step, now: number, email: Email): EmailCommand => {
  const attempt = (openAttempt(email)?.attempt ?? email.attempts.length) - (older ? 1 : 0);
  switch (kind) {
    case 'AcceptEmail':
      return { type: kind, accepted, scheduledAt: undefined, content };
    case 'ReleaseEmail':
    case 'DeleteEmail':
      return { type: kind, at: at(now) };
    case 'AttemptDelivery':
      return { type: kind, at: at(now), host: HOST, worker: flag ? 'a' : 'b', deadlineAt: at(now + 600), exclusive: older };
    case 'RecordOutcome':
      return {
        type: kind, attempt, at: at(now), host: HOST, durationMs: 1, final: flag, schedule: { delaysMs: [60_000, 300_000] },
        outcomes: pendingRecipients(email).map((recipient, index) => outcome(recipient, draw[index]!)),
      };
    case 'GiveUp':
      return { type: kind, attempt, at: at(now), reason: flag ? 'rendering' : 'content-lost', text: 'in words' };
    case 'RetryEmail':
      return { type: kind, at: at(now), idempotencyKey: undefined, fingerprint: undefined };
    case 'ArchiveEmail':
      return { type: kind, at: at(now), retentionMs: RETENTION_MS };
  }
};

/** The state table: where an email may go in one step. */
const allowed: Readonly<Record<EmailStatus, readonly EmailStatus[]>> = {
  scheduled: ['queued', 'cancelled'],
  queued: ['processing', 'cancelled'],
  processing: ['sent', 'delivered', 'queued', 'failed', 'bounced'],
  sent: ['delivered', 'bounced', 'complained'],
  delivered: ['bounced', 'complained'],
  failed: ['queued'],
  bounced: [],
  complained: [],
  cancelled: [],
};

const play = ({ roles, later, steps }: { roles: readonly ('to' | 'cc' | 'bcc')[]; later: number | undefined; steps: readonly Step[] }, onStep: (before: Email, after: Email) => void): EmailEvent[] => {
  const whose = { ...content, recipients: roles.map((_, index) => ({ email: `r${index}@example.org` })) };
  const events = [...emailDecider.decide({ type: 'AcceptEmail', accepted: { ...accepted, roles: [...roles] }, scheduledAt: later === undefined ? undefined : at(later), content: whose }, undefined)];
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

const check = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

const assertSound = (email: Email): void => {
  const { status, recipientStatuses: each } = email;
  const some = (...wanted: string[]) => each.some((one) => wanted.includes(one));
  check(each.length === email.accepted.roles.length && email.replies.length === each.length, 'one state for each recipient');
  check((openAttempt(email) !== undefined) === (status === 'processing'), 'a dialogue is open exactly while the email is processing');
  check(email.attempts.every(({ attempt }, index) => attempt === index + 1), 'attempts are counted without gaps');
  check(email.attempts.slice(0, -1).every(({ ended }) => ended !== null), 'only the last attempt is open');
  check((email.dialogueDeadlineAt !== null) === (status === 'processing'), 'a deadline stands exactly while the email is processing');
  check(email.nextAttemptAt === null || status === 'queued', 'only a queued email waits for its next attempt');
  if (status === 'failed' || status === 'bounced') check(!some('sent', 'delivered', 'queued'), `${status} only when none got through and none waits`);
  if (status === 'sent') check(some('sent') && !some('queued'), 'sent when one got through and none waits');
  if (status === 'delivered') check(some('delivered') && !some('queued', 'sent'), 'delivered when nobody who may still get it is left');
  if (status === 'queued' || status === 'scheduled' || status === 'processing') check(some('queued'), `${status} only while someone waits`);
  if (status === 'cancelled') check(!some('queued'), 'nobody waits for a cancelled email');
  check((email.sentAt !== null) === (status === 'sent' || status === 'delivered'), 'sentAt tells that it was sent');
  check((email.deliveredAt !== null) === (status === 'delivered'), 'deliveredAt tells that it was delivered');
  check((email.failureReason !== null) === (status === 'failed' || status === 'bounced'), 'a reason stands exactly with a failure');
  const work = openWork(email, RETENTION_MS);
  check((work === undefined) === (email.archivedAt !== null), 'work is left until the email is archived');
  check(work === undefined || new Date(work.dueAt).toISOString() === work.dueAt, 'work is due at a moment');
};

void t.test('a history holds together after each command, and moves along the state table', async (t) => {
  let steps = 0;
  fc.assert(fc.property(story, (told) => {
    play(told, (before, after) => {
      steps += 1;
      assertSound(after);
      if (before.status !== after.status) check(allowed[before.status].includes(after.status), `${before.status} → ${after.status}`);
      if (before.archivedAt !== null && after !== before) check(after.status === before.status, 'an archived email stays as it is');
      if (before.deletedAt !== null && after !== before) check(after.archivedAt !== null, 'a deleted email is only archived');
    });
  }), { numRuns: 500 });
  t.ok(steps > 1_000, `${steps} commands were decided`);
});

void t.test('every history is the same after a round through the codec', async (t) => {
  fc.assert(fc.property(story, (told) => {
    const events = play(told, () => {});
    const read = events.map((event) => {
      const { type, data, sealed } = encodeEvent(event);
      return decodeEvent(type, data, sealed) as EmailEvent;
    });
    t.strictSame(read, events);
  }), { numRuns: 50 });
});

void t.test('with its key destroyed a history folds to the same summary, and an archived one to the very same state', async (t) => {
  let archived = 0;
  fc.assert(fc.property(story, (told) => {
    const events = play(told, () => {});
    const withKey = events.reduce(emailDecider.evolve, undefined as EmailState)!;
    const without = events.map((event) => ('sealed' in event ? { ...event, sealed: undefined } : event)).reduce(emailDecider.evolve, undefined as EmailState)!;
    if (withKey.archivedAt !== null) {
      archived += 1;
      if (JSON.stringify(without) !== JSON.stringify(withKey)) throw new Error('the archived forms differ');
      return;
    }
    const public_ = ({ content: _content, replies: _replies, attempts: _attempts, ...rest }: Email) => rest;
    if (JSON.stringify(public_(without)) !== JSON.stringify(public_(withKey))) throw new Error('the summaries differ');
  }), { numRuns: 500 });
  t.ok(archived > 20, `${archived} histories ended in the archive`);
});
