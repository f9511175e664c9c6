/** What every bus must do, in process or not. */
import type { Test } from 'tap';
import type { Bus, Pointer, Priority, Work } from '../../src/domain/ports/bus.js';

export type BusHarness = Readonly<{
  open: (options: Readonly<{ pointersMax: number }>) => Promise<Bus>;
  now: () => number;
  /** Lets that much of the bus's time pass. */
  pass: (ms: number) => Promise<void>;
}>;

const pointer = (id: string, priority: Priority = 'normal'): Pointer => ({ id, stream: `email-${id}`, priority });

/** The next piece of work. */
const take = async (work: AsyncIterator<Work>): Promise<Work> => {
  const next = await work.next();
  if (next.done === true) throw new Error('the work ended');
  return next.value;
};

/** True where the promise is still open after everything that is under way had its turn. */
const isOpen = async (promise: Promise<unknown>): Promise<boolean> => {
  let open = true;
  void promise.then(() => (open = false));
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return open;
};

export const busSuite = (t: Test, harness: BusHarness): void => {
  const withBus = async (
    t: Test,
    pointersMax = 100,
  ): Promise<Readonly<{ bus: Bus; consume: (maxInFlight: number, processor?: string) => AsyncIterator<Work>; stop: () => void }>> => {
    const bus = await harness.open({ pointersMax });
    const stopping = new AbortController();
    t.teardown(async () => {
      stopping.abort();
      await bus.close();
    });
    return {
      bus,
      consume: (maxInFlight, processor = 'p') => bus.consume(processor, { maxInFlight, signal: stopping.signal })[Symbol.asyncIterator](),
      stop: () => stopping.abort(),
    };
  };

  void t.test('work comes in order, higher priorities first', async (t) => {
    const { bus, consume } = await withBus(t);
    t.same(await bus.publish('p', [pointer('l', 'low'), pointer('n1'), pointer('n2'), pointer('h', 'high')]), []);
    t.equal(await bus.depth('p'), 4);
    const work = consume(10);
    const taken = [await take(work), await take(work), await take(work), await take(work)];
    t.same(
      taken.map((one) => one.pointer.id),
      ['h', 'n1', 'n2', 'l'],
    );
    t.same(
      taken.map((one) => one.deliveries),
      [1, 1, 1, 1],
    );
    t.same(taken[0]!.pointer, pointer('h', 'high'));
    for (const one of taken) one.ack();
    t.equal(await bus.depth('p'), 0);
  });

  void t.test('a double is taken once, while it waits and while it is in work; afterwards it is new', async (t) => {
    const { bus, consume } = await withBus(t);
    t.same(await bus.publish('p', [pointer('a'), pointer('a')]), []);
    t.equal(await bus.depth('p'), 1);
    const work = consume(10);
    const first = await take(work);
    t.same(await bus.publish('p', [pointer('a')]), []);
    t.equal(await bus.depth('p'), 1);
    first.ack();
    await bus.publish('p', [pointer('a')]);
    const second = await take(work);
    t.equal(second.deliveries, 1);
    second.ack();
  });

  void t.test('processors have queues of their own', async (t) => {
    const { bus, consume } = await withBus(t);
    await bus.publish('p', [pointer('a')]);
    await bus.publish('q', [pointer('b')]);
    t.equal((await take(consume(1, 'q'))).pointer.id, 'b');
    t.equal((await take(consume(1, 'p'))).pointer.id, 'a');
  });

  void t.test('no more than maxInFlight is out at once', async (t) => {
    const { bus, consume } = await withBus(t);
    await bus.publish('p', [pointer('a'), pointer('b'), pointer('c')]);
    const work = consume(2);
    const a = await take(work);
    await take(work);
    const third = take(work);
    t.ok(await isOpen(third), 'the third waits');
    a.ack();
    t.equal((await third).pointer.id, 'c');
  });

  void t.test('work that comes later wakes a waiting consumer', async (t) => {
    const { bus, consume } = await withBus(t);
    const next = take(consume(1));
    t.ok(await isOpen(next));
    await bus.publish('p', [pointer('a')]);
    t.equal((await next).pointer.id, 'a');
  });

  void t.test('retryAt brings the pointer back at its time, counted', async (t) => {
    const { bus, consume } = await withBus(t);
    await bus.publish('p', [pointer('a')]);
    const work = consume(1);
    (await take(work)).retryAt(harness.now() + 5_000);
    const again = take(work);
    t.equal(await bus.depth('p'), 1, 'it still counts');
    t.same(await bus.publish('p', [pointer('a')]), [], 'and a double is still one');
    await harness.pass(4_000);
    t.ok(await isOpen(again), 'not before its time');
    await harness.pass(2_000);
    const second = await again;
    t.equal(second.pointer.id, 'a');
    t.equal(second.deliveries, 2);
    second.ack();
    t.equal(await bus.depth('p'), 0);
  });

  void t.test('what is parked is gone', async (t) => {
    const { bus, consume } = await withBus(t);
    await bus.publish('p', [pointer('a'), pointer('b')]);
    const work = consume(1);
    (await take(work)).park('poison');
    t.equal((await take(work)).pointer.id, 'b');
    t.equal(await bus.depth('p'), 1);
  });

  void t.test('what has no room comes back; whenRoom tells when half of it is free', async (t) => {
    const { bus, consume } = await withBus(t, 4);
    const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => pointer(id));
    t.same(await bus.publish('p', all), all.slice(4));
    t.same(
      await bus.publish('p', [pointer('a'), pointer('h', 'high')]),
      [],
      'a double counts as taken, another priority has room of its own',
    );
    const never = new AbortController();
    const room = bus.whenRoom('p', 'normal', never.signal);
    const work = consume(10);
    (await take(work)).ack();
    (await take(work)).ack();
    t.ok(await isOpen(room), 'one of four is free');
    (await take(work)).ack();
    await room;
    t.same(await bus.publish('p', all.slice(4)), []);
    await bus.whenRoom('p', 'low', never.signal);
  });

  void t.test('the signal ends a consumer and a wait for room; work that is out may still be acknowledged', async (t) => {
    const { bus, consume, stop } = await withBus(t, 1);
    await bus.publish('p', [pointer('a')]);
    const work = consume(1);
    const a = await take(work);
    const next = work.next();
    const aborting = new AbortController();
    const room = bus.whenRoom('p', 'normal', aborting.signal);
    t.ok(await isOpen(room));
    aborting.abort();
    await room;
    stop();
    t.equal((await next).done, true);
    a.ack();
    t.equal(await bus.depth('p'), 0);
  });

  void t.test('nothing is lost or doubled between several consumers', async (t) => {
    const { bus, stop } = await withBus(t, 1_000);
    const stopping = new AbortController();
    const seen: string[] = [];
    const consumers = [1, 2, 3].map(async (maxInFlight) => {
      for await (const work of bus.consume('p', { maxInFlight, signal: stopping.signal })) {
        setImmediate(() => {
          seen.push(work.pointer.id);
          work.ack();
          if (seen.length === 500) stopping.abort();
        });
      }
    });
    await bus.publish(
      'p',
      Array.from({ length: 500 }, (_, at) => pointer(String(at), (['high', 'normal', 'low'] as const)[at % 3]!)),
    );
    await Promise.all(consumers);
    t.equal(new Set(seen).size, 500);
    t.equal(seen.length, 500);
    stop();
  });

  void t.test('closing ends every consumer', async (t) => {
    const { bus, consume } = await withBus(t);
    const next = consume(1).next();
    await bus.close();
    t.equal((await next).done, true);
  });
};
