/** The in-process bus against the contract of every bus, and what is its own. */
import t from 'tap';
import { priorities, type Pointer, type Priority } from '../../../src/domain/ports/bus.js';
import { openMemoryBus } from '../../../src/adapters/bus/memory.js';
import { systemClock } from '../../../src/adapters/clock/system.js';
import { fifo } from '../../../src/adapters/bus/fair-queue.js';
import { busSuite } from '../../contracts/bus-suite.js';
import { fakeClock } from '../../support/fake-clock.js';

const clock = fakeClock();
busSuite(t, {
  open: async (options) => openMemoryBus({ clock, ...options }),
  now: clock.now,
  pass: clock.advance,
  shift: clock.shift,
});

void t.test('closing ends the waits for retries and takes no more', async (t) => {
  const clock = fakeClock();
  const bus = openMemoryBus({ clock, pointersMax: 10 });
  await bus.publish('p', [{ id: 'a', stream: 's', priority: 'low' }]);
  for await (const work of bus.consume('p', { maxInFlight: 1, signal: new AbortController().signal })) {
    await work.retryAt(clock.now() + 60_000);
    await t.rejects(work.ack(), /settled twice/);
    break;
  }
  t.equal(clock.waiting(), 1);
  await bus.close();
  t.equal(clock.waiting(), 0);
  const more = [{ id: 'b', stream: 's', priority: 'low' }] as const;
  t.same(await bus.publish('p', more), more);
});

void t.test('many retries wait at once without a warning', async (t) => {
  const warnings: unknown[] = [];
  const onWarning = (warning: unknown): void => void warnings.push(warning);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  const bus = openMemoryBus({ clock: systemClock(), pointersMax: 100 });
  await bus.publish(
    'p',
    Array.from({ length: 50 }, (_, at) => ({ id: String(at), stream: 's', priority: 'low' as const })),
  );
  const stopping = new AbortController();
  for await (const work of bus.consume('p', { maxInFlight: 1, signal: stopping.signal })) {
    await work.retryAt(Number.POSITIVE_INFINITY);
    if (work.pointer.id === '49') stopping.abort();
  }
  t.equal(await bus.depth('p'), 50);
  await bus.close();
  await new Promise((resolve) => setImmediate(resolve));
  t.same(warnings, []);
});

void t.test('a pointer whose id is waiting or in work is not taken again; afterwards it is new', async (t) => {
  const bus = openMemoryBus({ clock, pointersMax: 10 });
  const double = { id: 'a', stream: 's', priority: 'low' } as const;
  await bus.publish('p', [double, double]);
  t.equal(await bus.depth('p'), 1);
  const work = bus.consume('p', { maxInFlight: 5, signal: new AbortController().signal })[Symbol.asyncIterator]();
  const first = (await work.next()).value!;
  await bus.publish('p', [double]);
  t.equal(await bus.depth('p'), 1);
  await first.ack();
  await bus.publish('p', [double]);
  t.equal((await work.next()).value!.deliveries, 1);
  await bus.close();
});

void t.test(
  'within a priority pointers come in the order in which they were taken, and shares are exact',
  async (t) => {
    const bus = openMemoryBus({ clock, pointersMax: 1_000 });
    const pointers = priorities.flatMap((priority) =>
      Array.from({ length: 60 }, (_, at) => ({ id: `${priority}-${at}`, stream: 's', priority })),
    );
    await bus.publish('p', pointers);
    const taken: string[] = [];
    for await (const { pointer } of bus.consume('p', { maxInFlight: 1_000, signal: new AbortController().signal })) {
      taken.push(pointer.id);
      if (taken.length === 60) break;
    }
    for (const [priority, count] of [
      ['high', 40],
      ['normal', 15],
      ['low', 5],
    ] as const) {
      const own = taken.filter((id) => id.startsWith(priority));
      t.same(
        own,
        Array.from({ length: count }, (_, at) => `${priority}-${at}`),
      );
    }
    await bus.close();
  },
);

void t.test('the queue keeps its order over many turns and gives its memory back', async (t) => {
  const queue = fifo<number>();
  let pushed = 0;
  let expected = 0;
  for (let round = 0; round < 200; round += 1) {
    for (let at = 0; at < 37; at += 1) queue.push(pushed++);
    for (let at = 0; at < 31; at += 1) if (queue.shift() !== expected++) t.fail('out of order');
  }
  while (expected < pushed) if (queue.shift() !== expected++) t.fail('out of order');
  t.equal(queue.shift(), undefined);
});

void t.test(
  'teams take turns within a priority, and within a team what the relay brings waits behind no backlog of timers',
  async (t) => {
    const bus = openMemoryBus({ clock, pointersMax: 20_000 });
    const many = (
      id: string,
      count: number,
      team: string,
      source: string,
      priority: Priority = 'normal',
    ): readonly Pointer[] =>
      Array.from({ length: count }, (_, at) => ({ id: `${id}-${at}`, stream: 's', priority, team, source }));
    t.same(await bus.publish('p', many('due', 20_000, 'a', 'deferred')), []);
    t.same(await bus.publish('p', many('new', 2, 'a', 'relay')), [], 'the backlog of timers takes no room of others');
    t.same(
      await bus.publish('p', many('late', 1, 'a', 'deferred')),
      many('late', 1, 'a', 'deferred'),
      'it has filled its own',
    );
    t.same(await bus.publish('p', [...many('other', 3, 'b', 'relay'), ...many('urgent', 1, 'a', 'relay', 'high')]), []);
    const taken: string[] = [];
    for await (const { pointer } of bus.consume('p', { maxInFlight: 100, signal: new AbortController().signal })) {
      taken.push(pointer.id);
      if (taken.length === 9) break;
    }
    t.same(taken, ['urgent-0', 'due-0', 'other-0', 'new-0', 'other-1', 'due-1', 'other-2', 'new-1', 'due-2']);
    await bus.close();
  },
);

void t.test(
  'a team that fills the room leaves others a share beyond it, which is bounded, and is told of room later than they',
  async (t) => {
    const bus = openMemoryBus({ clock, pointersMax: 320 });
    const of = (team: string, count: number): readonly Pointer[] =>
      Array.from({ length: count }, (_, at) => ({
        id: `${team}-${at}`,
        stream: 's',
        priority: 'normal',
        team,
        source: 'deferred',
      }));
    t.equal((await bus.publish('p', of('a', 400))).length, 80);
    t.equal((await bus.publish('p', of('b', 40))).length, 30, 'a thirty-second of the room');
    const told: string[] = [];
    const stopping = new AbortController();
    for (const team of ['a', 'b', 'c'])
      void bus
        .whenRoom('p', { priority: 'normal', source: 'deferred', team }, stopping.signal)
        .then(() => told.push(team));
    await new Promise((resolve) => setImmediate(resolve));
    t.same(told, ['c']);
    const work = bus.consume('p', { maxInFlight: 1, signal: stopping.signal })[Symbol.asyncIterator]();
    for (let taken = 0; taken < 12; taken += 1) await (await work.next()).value!.ack();
    t.same(told, ['c', 'b'], 'half of its share is free');
    for (let team = 0; team < 400; team += 1) await bus.publish('p', of(`t${team}`, 1));
    t.equal(await bus.depth('p'), 640, 'twice the room is the most');
    stopping.abort();
    await bus.close();
  },
);

void t.test('within a source the senders of a team take turns', async (t) => {
  const bus = openMemoryBus({ clock, pointersMax: 1_000 });
  const of = (sender: string, count: number): readonly Pointer[] =>
    Array.from({ length: count }, (_, at) => ({
      id: `${sender}-${at}`,
      stream: 's',
      priority: 'low',
      team: 'a',
      source: 'relay',
      sender,
    }));
  await bus.publish('p', [...of('import', 500), ...of('shop', 2)]);
  const taken: string[] = [];
  for await (const { pointer } of bus.consume('p', { maxInFlight: 100, signal: new AbortController().signal })) {
    taken.push(pointer.id);
    if (taken.length === 4) break;
  }
  t.same(taken, ['import-0', 'shop-0', 'import-1', 'shop-1']);
  await bus.close();
});
