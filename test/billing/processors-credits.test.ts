/**
 * Credits that come back by themselves: of an email that never came to be, and of one that was cancelled, after every
 * kind of interruption.
 */
import t, { type Test } from 'tap';
import { usedInMonth } from '../../src/cli/billing.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { emailStream, type EmailId } from '../../src/domain/core/ids.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { versionOf } from '../../src/event-log/event-log.js';
import { isoTime } from '../../src/domain/core/time.js';
import { makeProcessors } from '../../src/processors/index.js';
import { returnCreditsWorker } from '../../src/processors/billing/billing.js';
import { returnedUpTo } from '../../src/projections/billing/credits.js';
import { caller, simple, TEAM, nothingUsed } from '../support/command-world.js';
import {
  answers,
  deliverEmailWorker,
  openProcessorWorld,
  timersAndTheirWork,
  until,
  type ProcessorWorld,
} from '../support/processor-world.js';

const causeNow = ({ clock }: ProcessorWorld) => ({
  teamId: TEAM,
  actor: 'test',
  correlationId: 'test',
  causationId: 'test',
  at: isoTime(clock.now()),
});

const open = async (t: Test): Promise<ProcessorWorld> => {
  const world = await openProcessorWorld(t);
  await changeBilling(world.deps, TEAM, { billing: 'credits' }, causeNow(world), nothingUsed);
  return world;
};

/** The sum of the days of a month. */
const usedOf = ({ deps: { eventLog, clock, limits }, keys, readModels }: ProcessorWorld) =>
  usedInMonth({ eventLog, readModels, clock, limits, keys }, TEAM);

const returning = (world: ProcessorWorld) => returnCreditsWorker({ ...world.processing, returnedUpTo });

const left = async ({ elsewhere }: ProcessorWorld): Promise<number | null> =>
  (await elsewhere().credits.quote(TEAM)).creditsRemaining;

const tomorrow = { scheduledAt: '2030-01-05T00:00:00.000Z' };

const cancelled = async (world: ProcessorWorld): Promise<EmailId> => {
  const id = await world.send(tomorrow);
  await world.commands.deleteEmail(caller, id);
  return id;
};

void t.test(
  'a reservation whose email never came to be is returned in time, and an email that is there keeps its own',
  async (t) => {
    const world = await open(t);
    world.store.beforeAppend((stream) => {
      if (stream.startsWith('email-')) throw new Error('killed');
    });
    await t.rejects(world.commands.sendEmail(caller, simple(), { key: 'a', body: simple() }), /killed/);
    world.store.beforeAppend(undefined);
    await world.send();
    t.equal(await left(world), 998);
    await world.settled();
    const worker = world.run(timersAndTheirWork(world.processing));
    await world.clock.advance(59_000);
    t.equal(await left(world), 998);
    await world.clock.advance(10_000);
    await until(async () => (await left(world)) === 999, 'the credit is back');
    await world.settled();
    await world.clock.advance(600_000);
    t.equal(await left(world), 999);
    await worker.stop();
  },
);

void t.test('a cancelled email gives its credit back', async (t) => {
  const world = await open(t);
  await cancelled(world);
  t.equal(await left(world), 999);
  await world.settled();
  const worker = world.run(returning(world));
  await until(async () => (await left(world)) === 1_000, 'the credit is back');
  await cancelled(world);
  await world.clock.advance(2_000);
  await until(async () => (await left(world)) === 1_000, 'that of the next too');
  await worker.stop();
});

void t.test('whenever the worker is stopped and begins again, each cancelled email is returned once', async (t) => {
  const world = await open(t);
  for (let round = 0; round < 6; round += 1) {
    await cancelled(world);
    await cancelled(world);
    await world.settled();
    // The first append of a return fails, at another one in each round.
    let appends = 0;
    world.store.beforeAppend((stream) => {
      if (stream.startsWith('credits-') && (appends += 1) === (round % 3) + 1) throw new Error('disk full');
    });
    const failing = world.run(returning(world));
    failing.done.catch(() => {});
    await until(
      async () => appends > round % 3 || (await left(world)) === 1_000,
      'the worker has met the fault, or is done',
    );
    world.store.beforeAppend(undefined);
    await failing.stop().catch(() => {});
    const again = world.run(returning(world));
    await until(async () => (await left(world)) === 1_000, 'all are back');
    await again.stop();
    await world.settled();
  }
  t.equal(await left(world), 1_000);
});

void t.test('what somebody has, or what has failed before, is paid for, though it is called back then', async (t) => {
  const world = await open(t);
  const delivering = world.run(deliverEmailWorker(world.processing));
  const both = [{ email: 'ann@example.org' }, { email: 'bob@example.org' }];
  world.mailer.next.push(answers('accepted', 'deferred'), answers('refused'));
  const partly = await world.send({ to: both });
  await world.publish(partly);
  await world.reaches(partly, 'queued');
  await until(async () => (await world.commands.getEmail(caller, partly)).attempts.length === 1, 'one has it');
  const failed = await world.send();
  await world.publish(failed);
  await world.reaches(failed, 'failed');
  await delivering.stop();
  await world.commands.deleteEmail(caller, partly);
  await world.commands.retryEmail(caller, failed);
  await world.commands.cancelEmail(caller, failed);
  const free = await cancelled(world);
  t.ok(free);
  t.equal(await left(world), 997);
  await world.settled();
  const worker = world.run(returning(world));
  await until(async () => (await left(world)) === 998, 'that of the third is back');
  await world.clock.advance(10_000);
  await world.settled();
  t.equal(await left(world), 998);
  await worker.stop();
});

void t.test('an email that was sent in part, called back from its retry, is paid for and stays counted', async (t) => {
  const world = await open(t);
  const delivering = world.run(deliverEmailWorker(world.processing));
  world.mailer.next.push(answers('accepted', 'refused'));
  const id = await world.send({ to: [{ email: 'ann@example.org' }, { email: 'bob@example.org' }] });
  await world.publish(id);
  await world.reaches(id, 'sent');
  await delivering.stop();
  await world.commands.retryEmail(caller, id);
  const bounce: DomainEvent = {
    type: 'EmailBounceReported',
    data: {
      at: isoTime(world.clock.now()),
      bounces: [{ recipient: 0, bounceType: 'hard', bounceSubType: 'no-such-mailbox', enhancedCode: '5.1.1' }],
    },
    sealed: { replies: ['gone'] },
  };
  const stream = emailStream(id);
  await world.deps.eventLog.append(
    stream,
    versionOf((await world.deps.eventLog.load(stream)).at(-1)!),
    [bounce],
    causeNow(world),
  );
  await world.commands.cancelEmail(caller, id);
  await world.settled();
  t.strictSame(await usedOf(world)('2030-01'), { emails: 1, attachments: 0 });
});

void t.test('an email that was sent before its team was metered counts until it is cancelled', async (t) => {
  const world = await openProcessorWorld(t);
  const [early, ...later] = [await world.send(tomorrow), await world.send(tomorrow), await world.send(tomorrow)];
  await world.commands.cancelEmail(caller, early!);
  await world.settled();
  const used = usedOf(world);
  await changeBilling(world.deps, TEAM, { billing: 'plan', plan: 'free', emailsPerMonth: 3 }, causeNow(world), used);
  const usedOfQuota = async () => (await world.elsewhere().credits.quote(TEAM)).emailQuota.used;
  t.equal(await usedOfQuota(), 2);
  await world.commands.cancelEmail(caller, later[0]!);
  await world.settled();
  for (let round = 0; round < 2; round += 1) {
    const worker = world.run(returning(world));
    await until(async () => (await usedOfQuota()) === 1, 'it is not counted');
    await worker.stop();
    await world.settled();
  }
  t.strictSame(await used('2030-01'), { emails: 1, attachments: 0 }, 'as the days say');
});

void t.test('the processor of reservations reads no long stream', async (t) => {
  const world = await open(t);
  const settle = makeProcessors(world.processing).find(({ name }) => name === 'settle-credits');
  t.strictSame(settle?.timers, [{ kind: 'settle', read: 'due' }]);
  t.strictSame(settle?.startingTypes, []);
});
