/** The relay: new work goes to the bus, and what the bus had no room for, lost, or never saw is found again. */
import t from 'tap';
import { DELIVER_EMAIL } from '../../src/processors/email/delivery.js';
import { pointerOf } from '../../src/processors/core/declaration.js';
import { emailStream, type EmailId } from '../../src/domain/core/ids.js';
import type { Bus, Pointer } from '../../src/domain/ports/bus.js';
import { caller } from '../support/command-world.js';
import {
  answers,
  deliverEmailWorker,
  openProcessorWorld,
  relayAndTimers,
  until,
  type ProcessorWorld,
} from '../support/processor-world.js';

const depth = (world: ProcessorWorld): Promise<number> => world.bus.depth(DELIVER_EMAIL);

/** The bus, with a list of what was published and whether it was taken. */
const watched = (bus: Bus): { bus: Bus; published: Pointer[] } => {
  const published: Pointer[] = [];
  return {
    published,
    bus: {
      ...bus,
      publish: async (processor, pointers) => {
        const refused = await bus.publish(processor, pointers);
        published.push(...pointers.filter((pointer) => !refused.includes(pointer)));
        return refused;
      },
    },
  };
};

/** Moves the clock until it comes true: the relay looks for missed work now and then. */
const inTime = async (world: ProcessorWorld, holds: () => boolean | Promise<boolean>, what: string): Promise<void> =>
  until(async () => {
    if (await holds()) return true;
    await world.clock.advance(50);
    return false;
  }, what);

void t.test('the same work at the same place of the log has the same id', async (t) => {
  t.strictSame(pointerOf({ stream: 'email-1', position: 7, priority: 'high', team: caller.teamId, source: 'relay' }), {
    id: 'email-1@7',
    stream: 'email-1',
    priority: 'high',
    team: caller.teamId,
    source: 'relay',
  });
  t.equal(
    pointerOf({ stream: 'email-1', position: 7, priority: 'whatever', team: caller.teamId, source: 'relay' }).priority,
    'normal',
  );
});

void t.test('an accepted email comes to the bus with its priority; a scheduled one does not', async (t) => {
  const world = await openProcessorWorld(t);
  const { bus, published } = watched(world.bus);
  world.run(relayAndTimers({ ...world.processing, bus }));
  await until(() => world.clock.waiting() >= 3, 'it has looked for what was open before');
  const high = await world.send({ priority: 'high' });
  const low = await world.send({ priority: 'low' });
  await world.send({ scheduledAt: '2030-01-02T00:00:00Z' });
  // The look for what was open before may find an email that has just come: its pointer has the same id.
  const distinct = () => [...new Map(published.map((pointer) => [pointer.id, pointer])).values()];
  await until(() => distinct().length >= 2, 'two pointers');
  t.same(
    distinct().map(({ stream, priority }) => [stream, priority]),
    [
      [emailStream(high), 'high'],
      [emailStream(low), 'low'],
    ],
  );
  await world.settled();
  await inTime(world, () => world.clock.now() > Date.parse('2030-01-01T12:00:01Z'), 'a second passes');
  t.equal(await depth(world), 2, 'nothing is found twice');
});

void t.test('what was open before the start is found, each priority by itself', async (t) => {
  const world = await openProcessorWorld(t);
  const ids: EmailId[] = [];
  for (const priority of ['low', 'normal', 'high'] as const) ids.push(await world.send({ priority }));
  await world.settled();
  world.run(relayAndTimers(world.processing));
  await until(async () => (await depth(world)) === 3, 'three pointers');
  world.run(deliverEmailWorker({ ...world.processing, inFlightMax: 1 }));
  for (const id of ids) await world.reaches(id, 'sent');
  // A share is no order: which of three comes first the bus decides.
  t.same(world.mailer.sent.map(({ messageId }) => messageId.slice(1, 37)).sort(), ids);
});

void t.test(
  'where the bus is full nothing is lost: all is delivered, once, in the order in which it came',
  async (t) => {
    const world = await openProcessorWorld(t, { pointersMax: 4 });
    world.run(relayAndTimers(world.processing));
    const ids: EmailId[] = [];
    for (let index = 0; index < 30; index += 1) ids.push(await world.send());
    await world.settled();
    t.ok((await depth(world)) <= 4);
    world.run(deliverEmailWorker({ ...world.processing, inFlightMax: 1 }));
    await inTime(world, () => world.mailer.sent.length >= 30, 'all are sent');
    for (const id of ids) await world.reaches(id, 'sent');
    t.same(world.mailer.sent.map(({ messageId }) => messageId.slice(1, 37)).sort(), [...ids].sort(), 'each once');
  },
);

void t.test('a full bus of one priority does not hold up another', async (t) => {
  const world = await openProcessorWorld(t, { pointersMax: 2 });
  world.run(relayAndTimers(world.processing));
  for (let index = 0; index < 10; index += 1) await world.send({ priority: 'low' });
  const urgent = await world.send({ priority: 'high' });
  await world.settled();
  await inTime(world, async () => (await depth(world)) === 3, 'two of low, and the urgent one');
  world.run(deliverEmailWorker({ ...world.processing, inFlightMax: 1 }));
  await world.reaches(urgent, 'sent');
  // A bus gives shares and no order: the two of low that it holds may come first.
  const place = world.mailer.sent.findIndex(({ messageId }) => messageId === `<${urgent}@example.com>`);
  t.ok(place <= 2, 'before those of low that the bus had no room for');
  await inTime(world, () => world.mailer.sent.length === 11, 'then the others');
});

void t.test('a bus that forgets everything delays work and loses none: the next start finds it', async (t) => {
  const world = await openProcessorWorld(t);
  const forgetful: Bus = { ...world.bus, publish: async () => [] };
  const { stop } = world.run(relayAndTimers({ ...world.processing, bus: forgetful }));
  const id = await world.send();
  await world.settled();
  await until(() => world.clock.waiting() >= 3, 'it has looked');
  await stop();
  t.equal(await depth(world), 0);
  world.run(relayAndTimers(world.processing));
  world.run(deliverEmailWorker(world.processing));
  await world.reaches(id, 'sent');
});

void t.test(
  'a dialogue of an earlier run is taken up at the start, where that run holds its lease no more',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send();
    world.mailer.next.push(() => new Promise(() => {}));
    void deliverEmailWorker(world.processing).run(new AbortController().signal);
    await world.publish(id);
    await world.reaches(id, 'processing');
    await world.settled();
    const next = await openProcessorWorld(t);
    world.keeper.kill(world.processing.worker);
    const processing = { ...world.processing, bus: next.bus, worker: 'worker-2' };
    world.run(relayAndTimers(processing));
    world.run(deliverEmailWorker(processing));
    await world.reaches(id, 'sent');
    t.equal(world.mailer.sent.length, 2);
  },
);

void t.test('a retry comes to the bus as well, with the priority of its email', async (t) => {
  const world = await openProcessorWorld(t);
  const { bus, published } = watched(world.bus);
  world.run(relayAndTimers({ ...world.processing, bus }));
  world.run(deliverEmailWorker({ ...world.processing, bus }));
  await until(() => world.clock.waiting() >= 3, 'it has looked');
  world.mailer.next.push(answers('refused'));
  const id = await world.send({ priority: 'high' });
  await world.reaches(id, 'failed');
  await world.commands.retryEmail(caller, id);
  await world.reaches(id, 'sent');
  t.same(
    published.map(({ priority }) => priority),
    ['high', 'high'],
  );
  t.equal(world.mailer.sent.length, 2);
});

void t.test('it stops at once', async (t) => {
  const world = await openProcessorWorld(t);
  const { stop, done } = world.run(relayAndTimers(world.processing));
  await until(() => world.clock.waiting() >= 3, 'it waits');
  await stop();
  await t.resolves(done);
});

void t.test(
  'of two processes one has both the relay and the reader of timers, and the other takes both over',
  async (t) => {
    const world = await openProcessorWorld(t);
    const leases = world.keeper.open();
    const holder = async () => (await leases.read('dispatch'))?.holder;
    const { bus, published } = watched(world.bus);
    const first = world.run(relayAndTimers(world.processing));
    await until(async () => (await holder()) === 'worker-1', 'the first has it');
    world.run(relayAndTimers({ ...world.processing, bus, leases: world.keeper.open(), worker: 'worker-2' }));
    await world.send();
    await until(async () => (await depth(world)) === 1, 'the first brings it to the bus');
    t.equal(published.length, 0);
    await first.stop();
    await inTime(world, async () => (await holder()) === 'worker-2', 'the second has it');
    await world.send();
    await inTime(world, () => published.length >= 2, 'the second brings what waits and what comes');
  },
);
