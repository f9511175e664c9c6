/** Emails that wait: the backlog, calling back, sending again. */
import t from 'tap';
import type { SendEmailRequest } from '../../src/api/email.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { handle } from '../../src/commands/core/handle.js';
import { openBacklog, type TeamBacklog } from '../../src/commands/email/backlog.js';
import { emailStream, parseEmailId, assertDefined, type EmailId } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import type { RetryFilter } from '../../src/projections/email/emails.js';
import { watchBacklogsWorker } from '../../src/projections/email/queue.js';
import { makeQueries } from '../../src/projections/queries.js';
import { caller, simple, stranger, withTemplate, type World } from '../support/command-world.js';
import { DAY_MS, HOST } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { openProcessorWorld, relayAndTimers, deliverEmailWorker, until, answers } from '../support/processor-world.js';

// How much waits, in memory: the bound of a team, and how long a mail is likely to wait for its turn.

const limits = { queueWaitingMax: 100, hostAwayHoursMax: 1 };
const of = (team: string, ready: number, done: number, waiting = ready, held = 0): TeamBacklog => ({
  team,
  waiting,
  ready,
  held,
  done,
});

void t.test(
  'a team may have so much waiting, what was accepted since counted, and another is not held up by it',
  (t) => {
    const backlog = openBacklog(limits);
    backlog.update([of('a', 10, 0, 98)], 0);
    backlog.accepted('a');
    backlog.assertRoom('a');
    backlog.accepted('a');
    t.throws(() => backlog.assertRoom('a'), {
      code: 'QUEUE_FULL',
      details: { retryAfterS: 60, relatedInfo: { waiting: 100, max: 100 } },
    });
    backlog.assertRoom('b');
    backlog.update([of('a', 10, 0, 99)], 1_000);
    backlog.assertRoom('a');
    t.end();
  },
);

void t.test('the time until there is room is reckoned from how fast the queue moves, within bounds', (t) => {
  const backlog = openBacklog({ ...limits, queueWaitingMax: 1_000 });
  const after = (): number | undefined => {
    try {
      backlog.assertRoom('a');
    } catch (fault) {
      return (fault as { details: { retryAfterS: number } }).details.retryAfterS;
    }
    return undefined;
  };
  backlog.update([of('a', 1_000, 0)], 0);
  backlog.update([of('a', 1_000, 2)], 1_000);
  t.equal(after(), 5, 'ten at two a second');
  const slow = openBacklog({ ...limits, queueWaitingMax: 100 });
  slow.update([of('a', 5_000, 0)], 0);
  slow.update([of('a', 5_000, 1)], 1_000);
  t.throws(() => slow.assertRoom('a'), { code: 'QUEUE_FULL', details: { retryAfterS: 600 } });
  t.end();
});

void t.test(
  'a mail waits for what is ready before it, in turns between teams, at the rate of a queue that is never empty',
  (t) => {
    const backlog = openBacklog(limits);
    t.equal(backlog.waitMs('a'), 0, 'nothing is known yet');
    backlog.update([of('a', 3, 0)], 0);
    backlog.update([of('a', 2, 5)], 1_000);
    t.equal(backlog.waitMs('a'), 0, 'a queue that is as good as empty says nothing of the rate');
    backlog.update([of('a', 30_000, 5), of('b', 100, 0)], 2_000);
    backlog.update([of('a', 29_000, 1_005), of('b', 100, 0)], 3_000);
    t.equal(backlog.waitMs('a'), 29_100, 'a thousand a second');
    t.equal(backlog.waitMs('b'), 200, 'a hundred of its own, and as many of the other team');
    t.equal(backlog.waitMs('c'), 0);
    for (let second = 4; second < 60; second += 1) backlog.update([of('a', 29_000, 1_005)], second * 1_000);
    t.equal(backlog.waitMs('a'), 3_600_000, 'no longer than a mail waits at all');
    t.end();
  },
);

void t.test(
  'while the host is away a mail waits for it and for all that it holds up, and the rate of before is kept',
  (t) => {
    const backlog = openBacklog(limits);
    backlog.update([of('a', 2_000, 0)], 0, 0);
    backlog.update([of('a', 1_900, 100)], 1_000, 0);
    t.equal(backlog.waitMs('a'), 19_000);
    for (let second = 2; second < 10; second += 1)
      backlog.update([of('a', 0, 100, 1_900, 1_900), of('b', 0, 0, 1, 1)], second * 1_000, 8_000);
    t.equal(backlog.waitMs('a'), 8_000 + 19_010, 'the pause, then what it holds up at the rate of before');
    t.equal(backlog.waitMs('b'), 8_000 + 20);
    t.equal(backlog.waitMs('c'), 8_000);
    backlog.update([of('a', 10, 100, 1_900, 1_890)], 10_000, 0);
    t.equal(backlog.waitMs('a'), 19_000, 'what is held goes as soon as the host is there');
    backlog.update([of('a', 10, 300, 1_700, 1_690)], 11_000, 0);
    t.equal(backlog.waitMs('a'), 8_500, 'at the rate of now');
    t.end();
  },
);

void t.test('a process that does not deliver knows a host that is away by what it holds up while none is done', (t) => {
  const backlog = openBacklog({ ...limits, queueWaitingMax: 1_000 });
  backlog.update([of('a', 900, 0)], 0);
  backlog.update([of('a', 800, 100)], 1_000);
  t.equal(backlog.waitMs('a'), 8_000);
  backlog.update([of('a', 500, 100, 1_000, 500)], 2_000);
  t.equal(backlog.waitMs('a'), 30_000 + 10_000);
  t.throws(
    () => backlog.assertRoom('a'),
    { code: 'QUEUE_FULL', details: { retryAfterS: 31 } },
    'no earlier than the host is asked',
  );
  backlog.update([of('a', 10, 150, 950, 940)], 3_000);
  t.equal(backlog.waitMs('a'), 9_500);
  const started = openBacklog(limits);
  started.update([of('a', 0, 0, 50, 50)], 0);
  t.equal(started.waitMs('a'), 30_000, 'at a start, too');
  t.end();
});

void t.test('what an earlier version keeps does not tell of held mail, and is reckoned with all the same', (t) => {
  const backlog = openBacklog(limits);
  backlog.update([{ team: 'a', waiting: 50, ready: 50, done: 0 }], 0);
  backlog.update([{ team: 'a', waiting: 40, ready: 40, done: 10 }], 1_000);
  t.equal(backlog.waitMs('a'), 4_000);
  t.end();
});

void t.test(
  'the answer of send says when a mail is likely to leave, the same when it is repeated, and refuses beyond the bound',
  async (t) => {
    const world = await openProcessorWorld(t, { limits: { queueWaitingMax: 5 } });
    const { backlog } = world.deps;
    backlog.update([of(caller.teamId, 4, 0)], 0);
    backlog.update([of(caller.teamId, 4, 0)], 1_000);
    // Four at a rate of nothing, reckoned with one in ten seconds.
    const idempotency = { key: 'k', body: simple({}) };
    const first = await world.commands.sendEmail(caller, simple({}), idempotency);
    const waits = (body: typeof first.body): number => Date.parse(body.estimatedDeliveryAt) - Date.parse(body.queuedAt);
    t.equal(waits(first.body), 40_000);
    await t.rejects(world.commands.sendEmail(caller, simple({})), { code: 'QUEUE_FULL' });
    t.same(
      await world.commands.sendEmail(caller, simple({}), idempotency),
      { body: first.body, replayed: true },
      'a repeated call is no new mail',
    );
    t.equal((await world.events(emailStream(parseEmailId(first.body.id)!))).length, 1);

    const watching = world.run(watchBacklogsWorker({ ...world.processing, readModels: world.readModels }));
    // Emails that were waiting before a start are counted from the read models.
    await world.settled();
    await world.clock.advance(1_000);
    for (let more = 0; more < 4; more += 1) await world.send();
    await t.rejects(world.commands.sendEmail(caller, simple({})), { code: 'QUEUE_FULL' });
    await world.settled();
    await world.clock.advance(1_000);
    await t.rejects(world.commands.sendEmail(caller, simple({})), { code: 'QUEUE_FULL' });
    world.run(relayAndTimers(world.processing));
    world.run(deliverEmailWorker(world.processing));
    await until(() => world.mailer.sent.length === 5, 'all are sent');
    await world.settled();
    await world.clock.advance(1_000);
    const next = await world.commands.sendEmail(caller, simple({}));
    t.equal(waits(next.body), 5_000);
    await watching.stop();
  },
);

// Emails that have not left: another time, or their end; what was asked twice, and what comes at the same moment.

const idOf = (id: string): EmailId => assertDefined(parseEmailId(id), 'email id');
const inDays = ({ clock }: World, days: number): string => isoTime(clock.now() + days * DAY_MS);
const schedule = async (world: World, days: number, more: Parameters<typeof simple>[0] = {}): Promise<EmailId> =>
  idOf((await world.commands.sendEmail(caller, simple({ ...more, scheduledAt: inDays(world, days) }))).body.id);
const queue = async (world: World): Promise<EmailId> =>
  idOf((await world.commands.sendEmail(caller, simple())).body.id);

const attempt = (world: World, id: EmailId) =>
  handle(
    world.deps.eventLog,
    emailStream(id),
    emailDecider,
    {
      type: 'AttemptDelivery',
      at: isoTime(world.clock.now()),
      host: HOST,
      worker: 'w',
      deadlineAt: isoTime(world.clock.now() + 600_000),
      workerGone: false,
    },
    causeOf(world.deps, caller),
  );

const typesOf = (world: World, id: EmailId): readonly string[] =>
  world.store.events.filter(({ stream }) => stream === emailStream(id)).map(({ type }) => type.split('.')[0]!);

void t.test('a scheduled email gets another time; the answer and the record say which', async (t) => {
  const world = await withTemplate();
  const id = await schedule(world, 10);
  const scheduledAt = inDays(world, 20);
  const answer = await world.commands.rescheduleEmail(caller, id, { scheduledAt });
  t.match(answer, {
    id,
    status: 'scheduled',
    scheduledAt,
    estimatedDeliveryAt: isoTime(Date.parse(scheduledAt) + 5_000),
  });
  t.match(await world.commands.getEmail(caller, id), { status: 'scheduled', scheduledAt, cancelledAt: null });
  const before = world.store.events.length;
  t.same(await world.commands.rescheduleEmail(caller, id, { scheduledAt }), answer);
  t.equal(world.store.events.length, before, 'the same time again is no event');
  const withZone = `${isoTime(Date.parse(scheduledAt) + 2 * 3_600_000).slice(0, -1)}+02:00`;
  t.same(
    await world.commands.rescheduleEmail(caller, id, { scheduledAt: withZone }),
    answer,
    'in whatever zone it is written',
  );
  await refusedWith(t, world.commands.rescheduleEmail(stranger, id, { scheduledAt }), 'EMAIL_NOT_FOUND');
  await refusedWith(
    t,
    world.commands.rescheduleEmail(caller, await queue(world), { scheduledAt }),
    'EMAIL_NOT_SCHEDULED',
  );
});

void t.test('a time that cannot be is refused, on sending and later, and one that can be is exact', async (t) => {
  const world = await withTemplate();
  const id = await schedule(world, 10);
  const wrong: readonly (readonly [string, RegExp])[] = [
    [isoTime(world.clock.now()), /in the past/],
    [inDays(world, -1), /in the past/],
    [inDays(world, 2 * 365), /more than 365 days ahead/],
    [inDays(world, 365.001), /more than 365 days ahead/],
    ['soon', /not a moment/],
  ];
  for (const [scheduledAt, message] of wrong) {
    for (const call of [
      world.commands.rescheduleEmail(caller, id, { scheduledAt }),
      world.commands.sendEmail(caller, simple({ scheduledAt })),
    ]) {
      const { details } = await refusedWith(t, call, 'VALIDATION_ERROR');
      t.match(details.errors, [{ field: 'scheduledAt', message }]);
    }
  }
  const year = new Date(world.clock.now()).getUTCFullYear();
  const right: readonly (readonly [string, string])[] = [
    [inDays(world, 365), inDays(world, 365)],
    // On the night when clocks go from 01:59:59 to 03:00:00 the offset selects the moment.
    [`${year}-03-28T02:30:00+01:00`, `${year}-03-28T01:30:00.000Z`],
    [`${year}-06-30T23:59:60Z`, `${year}-07-01T00:00:00.000Z`],
    [`${year}-06-30T23:59:60.25Z`, `${year}-07-01T00:00:00.250Z`],
    [`${year}-06-30T12:00:00.1239Z`, `${year}-06-30T12:00:00.123Z`],
  ];
  for (const [given, scheduledAt] of right) {
    t.match(await world.commands.rescheduleEmail(caller, id, { scheduledAt: given }), { scheduledAt });
    const { body } = await world.commands.sendEmail(caller, simple({ scheduledAt: given }));
    t.match(await world.commands.getEmail(caller, idOf(body.id)), { scheduledAt });
  }
});

void t.test('the subject says the date of the new time', async (t) => {
  const world = await withTemplate();
  const id = await schedule(world, 10, { subject: 'Of {{__CURRENT_DATE__}}' });
  const first = (await world.commands.getEmail(caller, id)).subject!;
  await world.commands.rescheduleEmail(caller, id, { scheduledAt: inDays(world, 40) });
  const { subject } = await world.commands.getEmail(caller, id);
  t.match(subject, /^Of ./);
  t.not(subject, first);
});

void t.test('a cancelled email does not leave; the call may be repeated under its key', async (t) => {
  const world = await withTemplate();
  const id = await schedule(world, 10);
  const key = { key: 'cancel-1', body: null };
  const both = await Promise.all([
    world.commands.cancelEmail(caller, id, key),
    world.commands.cancelEmail(caller, id, key),
  ]);
  t.same(both.map(({ replayed }) => replayed).sort(), [false, true]);
  t.same(both[0]!.body, both[1]!.body);
  t.match(both[0]!.body, { id, status: 'cancelled', cancelledAt: isoTime(world.clock.now()) });
  t.same(await world.commands.cancelEmail(caller, id, key), { body: both[0]!.body, replayed: true });
  t.match(await world.commands.getEmail(caller, id), {
    status: 'cancelled',
    cancelledAt: isoTime(world.clock.now()),
    recipients: [{ status: 'cancelled' }],
  });
  await refusedWith(t, world.commands.cancelEmail(caller, id), 'EMAIL_NOT_CANCELLABLE');
  await refusedWith(
    t,
    world.commands.cancelEmail(caller, id, { key: 'cancel-2', body: null }),
    'EMAIL_NOT_CANCELLABLE',
  );
  await refusedWith(
    t,
    world.commands.cancelEmail(caller, id, { key: 'cancel-1', body: { other: 1 } }),
    'IDEMPOTENCY_KEY_REUSED',
  );
  await refusedWith(
    t,
    world.commands.rescheduleEmail(caller, id, { scheduledAt: inDays(world, 1) }),
    'EMAIL_NOT_SCHEDULED',
  );
  await refusedWith(t, world.commands.retryEmail(caller, id), 'EMAIL_NOT_RETRYABLE');
  await refusedWith(t, world.commands.cancelEmail(stranger, id), 'EMAIL_NOT_FOUND');
  t.same(await world.commands.deleteEmail(caller, id), { id, deleted: true });
  await refusedWith(t, world.commands.cancelEmail(caller, id, key), 'EMAIL_NOT_FOUND');
});

void t.test('a cancel and an attempt in the same moment: exactly one of them happens', async (t) => {
  const world = await withTemplate();
  const ends = new Set<string>();
  for (let round = 0; round < 40; round += 1) {
    const id = await queue(world);
    const cancelling = (): Promise<unknown> => world.commands.cancelEmail(caller, id).catch((fault: unknown) => fault);
    const attempting = (): Promise<unknown> => attempt(world, id);
    await Promise.all(round % 2 === 0 ? [cancelling(), attempting()] : [attempting(), cancelling()]);
    const types = typesOf(world, id);
    t.equal(types.length, 2, types.join());
    ends.add(types[1]!);
  }
  t.same([...ends].sort(), ['DeliveryAttempted', 'EmailCancelled'], 'each was faster once');
});

void t.test('a new time and the release in the same moment: it leaves at once, or at the new time', async (t) => {
  const world = await withTemplate();
  for (let round = 0; round < 10; round += 1) {
    const id = await schedule(world, 1);
    await world.clock.advance(DAY_MS);
    const release = handle(
      world.deps.eventLog,
      emailStream(id),
      emailDecider,
      { type: 'ReleaseEmail', at: isoTime(world.clock.now()) },
      causeOf(world.deps, caller),
    );
    const moved = world.commands
      .rescheduleEmail(caller, id, { scheduledAt: inDays(world, 2) })
      .catch((fault: unknown) => fault);
    await Promise.all([release, moved]);
    t.equal(typesOf(world, id).length, 2);
    t.match((await moved) instanceof Error, (await world.commands.getEmail(caller, id)).status === 'queued');
  }
});

// Pushing many emails on by hand: what waits is due now, what has failed is tried anew, and all else is left alone.

/** A world with one mail for each of these results, in that order. */
const openWorld = async (t: Parameters<typeof openProcessorWorld>[0]) => {
  const world = await openProcessorWorld(t, { delaysMs: [3_600_000] });
  world.run(relayAndTimers(world.processing));
  world.run(deliverEmailWorker(world.processing));
  const queries = makeQueries({ ...world.processing, readModels: world.readModels, awaitOwnWrites: async () => {} });
  const send = async (
    result: 'deferred' | 'refused' | 'accepted',
    more: Partial<SendEmailRequest> = {},
  ): Promise<EmailId> => {
    world.mailer.next.push(answers(result));
    const id = await world.send(more);
    const ends = { deferred: 'deferred', refused: 'failed', accepted: 'sent' } as const;
    await until(
      async () => (await world.commands.getEmail(caller, id)).attempts.at(-1)?.outcome === ends[result],
      `it is ${ends[result]}`,
    );
    await world.settled();
    return id;
  };
  const retry = async (filter: RetryFilter, domain?: string) => {
    const found = await queries.emailsToRetry(caller.teamId, filter, undefined);
    return world.commands.retryEmails(caller, {
      status: filter.status,
      ...found,
      ...(domain === undefined ? {} : { domain }),
    });
  };
  return { world, queries, send, retry };
};

const to = (email: string): Partial<SendEmailRequest> => ({ to: [{ email }] });

void t.test(
  'what waits for its next attempt is tried now and keeps its attempts; what has failed only where that is asked',
  async (t) => {
    const { world, send, retry } = await openWorld(t);
    const [later, failed] = [await send('deferred'), await send('refused')];
    await send('accepted');
    t.same(await retry({ status: 'queued' }), { retried: 1, held: 0 });
    await world.reaches(later, 'sent');
    t.match(await world.commands.getEmail(caller, later), {
      retryCount: 0,
      attempts: [{ outcome: 'deferred' }, { outcome: 'sent' }],
    });
    t.equal((await world.commands.getEmail(caller, failed)).status, 'failed');
    t.same(await retry({ status: 'failed' }), { retried: 1, held: 0 });
    await world.reaches(failed, 'sent');
    t.equal((await world.commands.getEmail(caller, failed)).retryCount, 1);
    await world.settled();
    t.same(
      [await retry({ status: 'queued' }), await retry({ status: 'failed' })],
      [
        { retried: 0, held: 0 },
        { retried: 0, held: 0 },
      ],
    );
  },
);

void t.test('of one domain, compared as the DNS does; of one template; of a time', async (t) => {
  const { world, send, retry } = await openWorld(t);
  const [here, there] = [
    await send('deferred', to('a@M\u00fcnchen.example')),
    await send('deferred', to('b@sub.xn--mnchen-3ya.example')),
  ];
  t.same(await retry({ status: 'queued' }, 'other.example'), { retried: 0, held: 0 });
  t.same(await retry({ status: 'queued', templateId: '00000000-0000-4000-8000-000000000000' }), {
    retried: 0,
    held: 0,
  });
  t.same(await retry({ status: 'queued', endDate: '2001-01-01T00:00:00.000Z' }), { retried: 0, held: 0 });
  t.same(await retry({ status: 'queued' }, 'XN--MNCHEN-3YA.example'), { retried: 1, held: 0 });
  await world.reaches(here, 'sent');
  t.equal((await world.commands.getEmail(caller, there)).status, 'queued');
});

void t.test('what has moved on since it was found, and what is of another team, is left alone', async (t) => {
  const { world, queries, send } = await openWorld(t);
  const [later, deleted] = [await send('deferred'), await send('deferred')];
  const found = await queries.emailsToRetry(caller.teamId, { status: 'queued' }, undefined);
  t.same([...found.ids].sort(), [later, deleted].sort());
  t.same(await world.commands.retryEmails(stranger, { status: 'queued', ...found }), { retried: 0, held: 0 });
  await world.commands.deleteEmail(caller, deleted);
  t.same(await world.commands.retryEmails(caller, { status: 'failed', ...found }), { retried: 0, held: 0 });
  t.same(await world.commands.retryEmails(caller, { status: 'queued', ...found }), { retried: 1, held: 0 });
});

void t.test('a call looks at a bounded number of emails and says where the next goes on', async (t) => {
  const { world, queries } = await openWorld(t);
  const documents = Array.from({ length: 2_500 }, (_, at) => ({
    id: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
    seq: at + 1,
    position: at + 1,
    createdAt: new Date(1_900_000_000_000 + Math.floor(at / 7)).toISOString(),
    status: 'queued',
    summary: { nextAttemptAt: at % 2 === 0 ? '2031-01-01T00:00:00.000Z' : null },
  }));
  const read: number[] = [];
  const many = makeQueries({
    ...world.processing,
    awaitOwnWrites: async () => {},
    readModels: {
      ...world.readModels,
      find: async (_collection, { after, limit }) => {
        const from = documents.findIndex(({ seq }) => after === undefined || seq > after.seq);
        const page = documents.slice(from, from + limit);
        read.push(page.length);
        return page;
      },
    },
  });
  t.ok(queries);
  const ids: string[] = [];
  let cursor: string | undefined;
  let calls = 0;
  do {
    calls += 1;
    const page = await many.emailsToRetry(caller.teamId, { status: 'queued' }, cursor);
    ids.push(...page.ids);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  t.equal(calls, 3);
  t.same(read, [...Array.from({ length: 25 }, () => 100), 0], 'a hundred in one turn of the event loop');
  t.same(
    ids,
    documents.filter((_, at) => at % 2 === 0).map(({ id }) => id),
  );
});
