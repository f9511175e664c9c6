/** How much waits, in memory: the bound of a team, and how long a mail is likely to wait for its turn. */
import t from 'tap';
import { openBacklog, type TeamBacklog } from '../../src/commands/email/backlog.js';
import { emailStream, parseEmailId } from '../../src/domain/core/ids.js';
import { watchBacklogsWorker } from '../../src/projections/email/queue.js';
import { caller, simple } from '../support/command-world.js';
import { openProcessorWorld, relayAndTimers, deliverEmailWorker, until } from '../support/processor-world.js';

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
