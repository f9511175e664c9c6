/**
 * A host that takes no sessions: one attempt in growing pauses asks again, every mail waits without spending any, and
 * all leave when it answers.
 */
import t, { type Test } from 'tap';
import { emailStream, type EmailId } from '../../src/domain/core/ids.js';
import type { Mailer, RecipientOutcome } from '../../src/domain/ports/mailer.js';
import { makeQueries } from '../../src/projections/queries.js';
import { watchBacklogsWorker } from '../../src/projections/email/queue.js';
import { deliverEmail } from '../../src/processors/email/delivery.js';
import { openHostBreaker } from '../../src/processors/email/conditions.js';
import { HOST, said } from '../support/email-facts.js';
import { caller, simple } from '../support/command-world.js';
import { fakeClock } from '../support/fake-clock.js';
import { memoryLog } from '../support/memory-ports.js';
import {
  answers,
  openProcessorWorld,
  until,
  workersOf,
  type ProcessorOptions,
  type ProcessorWorld,
} from '../support/processor-world.js';

/** A world whose host is away until `isAway` is set to false; `asked` counts the sessions that were tried meanwhile. */
const withHost = async (
  t: Test,
  options: ProcessorOptions = {},
  unwatchedMs = (_sinceMs: number): number => 0,
  fault: Partial<RecipientOutcome> = {},
) => {
  const world = await openProcessorWorld(t, options);
  const host = { isAway: true, asked: 0 };
  const mailer: Mailer = {
    ...world.mailer,
    lend: async (wanted, use) => {
      if (!host.isAway) return world.mailer.lend(wanted, use);
      host.asked += 1;
      return {
        kind: 'host-away',
        fault: { ...said('deferred'), replyCode: null, enhancedCode: null, rule: 'connection-refused', ...fault },
      };
    },
    probe: async () => {
      host.asked += 1;
      return !host.isAway;
    },
  };
  const deps = { ...world.processing, mailer, unwatchedMs };
  const read = { documents: 0 };
  const readModels: Pick<ProcessorWorld['readModels'], 'find'> = {
    find: async (...query) => {
      const found = await world.readModels.find(...query);
      read.documents += found.length;
      return found;
    },
  };
  const processor = deliverEmail(deps);
  const start = (): void => void world.run(workersOf({ ...deps, readModels }, [processor]));
  return { world, host, read, start, gate: processor.gate! };
};

const typesOf = async (world: ProcessorWorld, id: EmailId): Promise<readonly string[]> =>
  (await world.events(emailStream(id))).map(({ type }) => type);

const sendMany = async (world: ProcessorWorld, count: number): Promise<readonly EmailId[]> => {
  const ids: EmailId[] = [];
  while (ids.length < count) ids.push(await world.send());
  return ids;
};

/** Lets time pass in steps in which everything that is due is done. */
const pass = async (world: ProcessorWorld, ms: number, stepMs = 500): Promise<void> => {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await world.settled();
    await world.clock.advance(stepMs);
  }
};

const haveStatus = (world: ProcessorWorld, ids: readonly EmailId[], status: string): Promise<void> =>
  until(async () => {
    await pass(world, 500);
    for (const id of ids) if ((await world.commands.getEmail(caller, id)).status !== status) return false;
    return true;
  }, `all are ${status}`);

void t.test('the log has the words of a host that takes no session, without addresses', async (t) => {
  const text = '421 4.7.0 Try again later, closing connection. (EHLO) <ada@example.org> - gsmtp';
  const { world, start } = await withHost(t, {}, undefined, { rule: 'service-closing', replyCode: 421, text });
  await world.send();
  start();
  await until(async () => {
    await pass(world, 500);
    return world.logger.lines.some(({ message }) => message === 'no session could be opened');
  }, 'it is logged');
  t.match(
    world.logger.lines.find(({ message }) => message === 'no session could be opened'),
    { fields: { rule: 'service-closing', reply: '421 4.7.0 Try again later, closing connection. (EHLO) <…> - gsmtp' } },
  );
});

void t.test(
  'a host that is away costs few attempts; each mail is deferred once, and all leave when it answers',
  async (t) => {
    const { world, host, read, start } = await withHost(t, { inFlightMax: 4 });
    const ids = await sendMany(world, 60);
    start();
    await until(async () => {
      await pass(world, 500);
      for (const id of ids) if ((await typesOf(world, id)).length < 2) return false;
      return true;
    }, 'each mail says that it waits');
    const readBefore = read.documents;
    await pass(world, 600_000);
    // Those whose sessions were under way when it was found out, then one after 1, 2, 4, 8, 16, 30, 30, … seconds.
    t.ok(host.asked <= 4 + 5 + 21 && host.asked > 15, `${host.asked} sessions were tried in ten minutes`);
    t.ok(
      read.documents - readBefore <= 400,
      `${read.documents - readBefore} documents were read while nothing could be done`,
    );
    let deferred = 0;
    for (const id of ids) {
      const types = await typesOf(world, id);
      deferred += types.filter((type) => type === 'EmailDeferred').length;
      const record = await world.commands.getEmail(caller, id);
      t.equal(record.status, 'queued');
      t.equal(record.failureReason, null);
    }
    t.equal(deferred, ids.length, 'one of each mail');
    t.equal(world.logger.lines.filter(({ level }) => level === 'warn').length, 1, 'the log says it once');

    host.isAway = false;
    await pass(world, 31_000);
    await haveStatus(world, ids, 'sent');
    t.equal(world.mailer.sent.length, ids.length, 'each left once');
  },
);

for (const delivers of [true, false]) {
  const where = delivers ? 'the process that delivers' : 'a process that only serves';
  void t.test(
    `${where} says while the host is away that a mail leaves later, and when it is there that it leaves soon`,
    async (t) => {
      const { world, host, start, gate } = await withHost(t);
      start();
      const { clock, deps } = world;
      const hostPauseMs = delivers ? { hostPauseMs: gate.pauseMs } : {};
      world.run(watchBacklogsWorker({ readModels: world.readModels, clock, backlog: deps.backlog, ...hostPauseMs }));
      const waits = async (): Promise<number> => {
        const { body } = await world.commands.sendEmail(caller, simple({}));
        return Date.parse(body.estimatedDeliveryAt) - Date.parse(body.queuedAt);
      };
      t.equal(await waits(), 5_000);
      await pass(world, 120_000, 1_000);
      t.equal(await waits(), 30_000, 'at the earliest when the host is asked again');
      await pass(world, 5_000);
      t.equal(await waits(), 30_000);
      host.isAway = false;
      await pass(world, 31_000);
      await until(async () => {
        await pass(world, 500);
        return world.mailer.sent.length === 3;
      }, 'all are sent');
      await pass(world, 2_000);
      t.equal(await waits(), 5_000);
    },
  );
}

void t.test('no attempt is spent by it: a mail that is held still has all of its own', async (t) => {
  const { world, host, start } = await withHost(t);
  start();
  const id = await world.send();
  await pass(world, 600_000, 10_000);
  host.isAway = false;
  world.mailer.next.push(answers('deferred'), answers('deferred'), answers('accepted'));
  await haveStatus(world, [id], 'sent');
  t.equal(world.mailer.sent.length, 3);
});

void t.test(
  'a mail fails when the host has been away for the whole of its time, also without an attempt',
  async (t) => {
    const { world, host, start } = await withHost(t, { limits: { hostAwayHoursMax: 1 } });
    const ids = await sendMany(world, 5);
    start();
    await pass(world, 3_500_000, 10_000);
    for (const id of ids) t.equal((await world.commands.getEmail(caller, id)).status, 'queued');
    await pass(world, 200_000, 10_000);
    await haveStatus(world, ids, 'failed');
    for (const id of ids) t.equal((await world.commands.getEmail(caller, id)).failureReason, 'attempts-spent');
    host.isAway = false;
    await world.commands.retryEmail(caller, ids[0]!, undefined);
    await haveStatus(world, ids.slice(0, 1), 'sent');
  },
);

void t.test('the time in which the service did not run is no time in which the host was away', async (t) => {
  const away = { ms: 0 };
  const { world, host, start } = await withHost(t, { limits: { hostAwayHoursMax: 1 } }, () => away.ms);
  const ids = await sendMany(world, 3);
  start();
  await pass(world, 60_000, 10_000);
  const offMs = 4 * 24 * 3_600_000;
  away.ms = offMs;
  await world.clock.advance(offMs);
  await pass(world, 60_000, 10_000);
  for (const id of ids) t.match(await world.commands.getEmail(caller, id), { status: 'queued', attempts: [] });
  await pass(world, 3_700_000, 60_000);
  await haveStatus(world, ids, 'failed');
  host.isAway = false;
});

void t.test('a host that refuses one session while it holds others is not away', async (t) => {
  const clock = fakeClock();
  const breaker = openHostBreaker({ clock, logger: memoryLog(), host: HOST, probe: async () => false });
  const begunMs = clock.monotonic();
  await clock.advance(10);
  breaker.answered();
  t.equal(breaker.away(begunMs), false);
  t.ok(breaker.isOpen());
  await clock.advance(10);
  const changed = breaker.changed();
  t.equal(breaker.away(clock.monotonic()), true);
  t.ok(changed.aborted);
  t.notOk(breaker.isOpen());
});

void t.test(
  'it asks after pauses that grow to a bound, also where the asking fails, and ends with its worker',
  async (t) => {
    const clock = fakeClock();
    const asked: number[] = [];
    const breaker = openHostBreaker({
      clock,
      logger: memoryLog(),
      host: HOST,
      probe: async () => {
        asked.push(clock.monotonic());
        throw new Error('a fault of ours');
      },
    });
    const stopping = new AbortController();
    const watching = breaker.watch(stopping.signal);
    const fromMs = clock.monotonic();
    breaker.away(fromMs);
    await until(() => clock.waiting() === 1, 'it pauses');
    for (let second = 0; second < 130; second += 1) await clock.advance(1_000);
    t.same(
      asked.map((atMs) => atMs - fromMs),
      [1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000, 121_000],
    );
    stopping.abort();
    await watching;
  },
);

void t.test(
  'a push by hand asks the host at once, however long the pause has grown, and at most once a second',
  async (t) => {
    const { world, host, start } = await withHost(t);
    start();
    const ids = await sendMany(world, 20);
    await pass(world, 120_000, 1_000);
    host.isAway = false;
    const { asked } = host;
    const queries = makeQueries({ ...world.processing, readModels: world.readModels, awaitOwnWrites: async () => {} });
    const found = await queries.emailsToRetry(caller.teamId, { status: 'queued' }, undefined);
    t.same([found.ids.length, found.held.length, found.nextCursor], [0, 20, null]);
    t.same(await world.commands.retryEmails(caller, { status: 'queued', ...found }), { retried: 0, held: 20 });
    await pass(world, 1_000);
    await haveStatus(world, ids, 'sent');
    t.equal(host.asked, asked + 1);
  },
);
