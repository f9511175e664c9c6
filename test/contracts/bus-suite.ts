/** The contract of every bus, in process or not. */
import type { Test } from 'tap';
import {
  priorities,
  priorityShares,
  type Bus,
  type Pointer,
  type Priority,
  type Work,
} from '../../src/domain/ports/bus.js';

export type BusHarness = Readonly<{
  open: (options: Readonly<{ pointersMax: number }>) => Promise<Bus>;
  now: () => number;
  /** Lets that much of the bus's time pass. */
  pass: (ms: number) => Promise<void>;
  /** Sets the time of day without letting time pass; absent where a test cannot do that. */
  shift?: (ms: number) => void;
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

const byId = (pointers: readonly Pointer[]): readonly Pointer[] => [...pointers].sort((a, b) => (a.id < b.id ? -1 : 1));

/** Takes whatever comes until the work ends. Out: the ids in the order in which they came. */
const acknowledgeAll = async (work: AsyncIterator<Work>): Promise<readonly string[]> => {
  const ids: string[] = [];
  for (let next = await work.next(); next.done !== true; next = await work.next()) {
    ids.push(next.value.pointer.id);
    await next.value.ack();
  }
  return ids;
};

export const busSuite = (t: Test, harness: BusHarness): void => {
  const withBus = async (
    t: Test,
    pointersMax = 100,
  ): Promise<
    Readonly<{ bus: Bus; consume: (maxInFlight: number, processor?: string) => AsyncIterator<Work>; stop: () => void }>
  > => {
    const bus = await harness.open({ pointersMax });
    const stopping = new AbortController();
    t.teardown(async () => {
      stopping.abort();
      await bus.close();
    });
    return {
      bus,
      consume: (maxInFlight, processor = 'p') =>
        bus.consume(processor, { maxInFlight, signal: stopping.signal })[Symbol.asyncIterator](),
      stop: () => stopping.abort(),
    };
  };

  /** A bus may count late. */
  const hasDepth = async (bus: Bus, depth: number): Promise<void> => {
    for (let look = 0; look < 1_000; look += 1) {
      if ((await bus.depth('p')) === depth) return;
      await harness.pass(10);
    }
    throw new Error(`the depth never was ${depth}, but ${await bus.depth('p')}`);
  };

  void t.test('what is published is delivered as it was given', async (t) => {
    const { bus, consume } = await withBus(t);
    const given = [pointer('l', 'low'), pointer('n1'), pointer('n2'), pointer('h', 'high')];
    t.same(await bus.publish('p', given), []);
    await hasDepth(bus, 4);
    const work = consume(10);
    const taken = [await take(work), await take(work), await take(work), await take(work)];
    t.same(byId(taken.map((one) => one.pointer)), byId(given));
    t.ok(taken.every((one) => one.deliveries >= 1));
    for (const one of taken) await one.ack();
    await hasDepth(bus, 0);
  });

  void t.test('while all priorities wait each is given about its share, and none starves', async (t) => {
    const { bus, consume } = await withBus(t, 500);
    for (const priority of priorities) {
      t.same(
        await bus.publish(
          'p',
          Array.from({ length: 400 }, (_, at) => pointer(`${priority}-${at}`, priority)),
        ),
        [],
      );
    }
    const work = consume(20);
    const counts = { high: 0, normal: 0, low: 0 };
    for (let taken = 0; taken < 240; taken += 1) {
      const one = await take(work);
      counts[one.pointer.priority] += 1;
      await one.ack();
    }
    const shares = priorities.reduce((sum, priority) => sum + priorityShares[priority], 0);
    for (const priority of priorities) {
      const expected = (240 * priorityShares[priority]) / shares;
      t.ok(
        counts[priority] >= expected / 2 && counts[priority] <= expected * 2,
        `${priority}: ${counts[priority]} of 240`,
      );
    }
  });

  void t.test('a double does no harm: it is delivered at least once and leaves nothing behind', async (t) => {
    const { bus, consume, stop } = await withBus(t);
    t.same(await bus.publish('p', [pointer('a'), pointer('a')]), []);
    const work = consume(10);
    const first = await take(work);
    t.same(await bus.publish('p', [pointer('a'), pointer('b')]), []);
    await first.ack();
    const rest = acknowledgeAll(work);
    await hasDepth(bus, 0);
    stop();
    t.ok((await rest).includes('b'), 'another id is other work');
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
    const b = await take(work);
    const third = take(work);
    t.ok(await isOpen(third), 'the third waits');
    await a.ack();
    const ids = [a, b, await third].map((one) => one.pointer.id);
    t.same(ids.sort(), ['a', 'b', 'c']);
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
    await (await take(work)).retryAt(harness.now() + 5_000);
    const again = take(work);
    await hasDepth(bus, 1);
    await harness.pass(4_000);
    t.ok(await isOpen(again), 'not before its time');
    await harness.pass(2_000);
    const second = await again;
    t.equal(second.pointer.id, 'a');
    t.ok(second.deliveries >= 2);
    await second.ack();
    await hasDepth(bus, 0);
  });

  void t.test('a pause is a distance: setting the clock while it lasts changes nothing', async (t) => {
    const { shift = () => {} } = harness;
    const { bus, consume } = await withBus(t);
    const work = consume(1);
    for (const byMs of [86_400_000, -86_400_000]) {
      await bus.publish('p', [pointer(`a${byMs}`)]);
      await (await take(work)).retryAt(harness.now() + 5_000);
      shift(byMs);
      const again = take(work);
      await harness.pass(4_000);
      t.ok(await isOpen(again), 'not before its time');
      await harness.pass(2_000);
      await (await again).ack();
    }
  });

  void t.test('what is parked is gone', async (t) => {
    const { bus, consume } = await withBus(t);
    await bus.publish('p', [pointer('a'), pointer('b')]);
    const work = consume(1);
    const first = await take(work);
    await first.park('poison');
    t.not((await take(work)).pointer.id, first.pointer.id);
    await hasDepth(bus, 1);
  });

  void t.test('what has no room comes back; whenRoom tells when half of it is free', async (t) => {
    const { bus, consume } = await withBus(t, 4);
    const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => pointer(id));
    t.same(await bus.publish('p', all), all.slice(4));
    t.same(await bus.publish('p', [pointer('h', 'high')]), [], 'another priority has room of its own');
    const never = new AbortController();
    const room = bus.whenRoom('p', { priority: 'normal' }, never.signal);
    const work = consume(10);
    const normal: Work[] = [];
    while (normal.length < 3) {
      const one = await take(work);
      if (one.pointer.priority === 'normal') normal.push(one);
    }
    await normal[0]!.ack();
    t.ok(await isOpen(room), 'one of four is free');
    await normal[1]!.ack();
    await normal[2]!.ack();
    await room;
    t.same(await bus.publish('p', all.slice(4)), []);
    await bus.whenRoom('p', { priority: 'low' }, never.signal);
  });

  void t.test(
    'the signal ends a consumer and a wait for room; work that is out may still be acknowledged',
    async (t) => {
      const { bus, consume, stop } = await withBus(t, 1);
      await bus.publish('p', [pointer('a')]);
      const work = consume(1);
      const a = await take(work);
      const next = work.next();
      const aborting = new AbortController();
      const room = bus.whenRoom('p', { priority: 'normal' }, aborting.signal);
      t.ok(await isOpen(room));
      aborting.abort();
      await room;
      stop();
      t.equal((await next).done, true);
      await a.ack();
      await hasDepth(bus, 0);
    },
  );

  void t.test('nothing is lost between several consumers', async (t) => {
    const { bus, stop } = await withBus(t, 1_000);
    const stopping = new AbortController();
    const seen = new Set<string>();
    const consumers = [1, 2, 3].map(async (maxInFlight) => {
      for await (const work of bus.consume('p', { maxInFlight, signal: stopping.signal })) {
        setImmediate(() => {
          seen.add(work.pointer.id);
          void work.ack().then(() => {
            if (seen.size === 500) stopping.abort();
          });
        });
      }
    });
    await bus.publish(
      'p',
      Array.from({ length: 500 }, (_, at) => pointer(String(at), priorities[at % 3]!)),
    );
    await Promise.all(consumers);
    t.equal(seen.size, 500);
    stop();
  });

  void t.test('closing ends every consumer', async (t) => {
    const { bus, consume } = await withBus(t);
    const next = consume(1).next();
    await bus.close();
    t.equal((await next).done, true);
  });
};
