/** What every event store must do, embedded or distributed. */
import type { Test } from 'tap';
import { WrongExpectedRevision } from '../../src/domain/errors.js';
import type { EventBatch, EventStore, EventToStore, StoredEvent } from '../../src/domain/ports/event-store.js';

export type EventStoreHarness = Readonly<{
  /** A client of the store of that name; a name not used before is an empty store, the same name again another client of the same store. */
  open: (place: string) => Promise<EventStore>;
  /** Resolves when what was appended can be read by every client. */
  settle: () => Promise<void>;
  close: () => Promise<void>;
}>;

let made = 0;

/** An event with an id of its own. */
export const anEvent = (data: string, more: Partial<EventToStore> = {}): EventToStore => ({
  eventId: `id-${(made += 1)}`,
  type: 'EmailQueued.v1',
  data: JSON.stringify(data),
  metadata: '{"about":"a test"}',
  sealed: undefined,
  hash: 'ab'.repeat(32),
  ...more,
});

/** Takes batches until `count` events are there, or the iterable ends. */
export const takeEvents = async (batches: AsyncIterable<EventBatch>, count: number): Promise<StoredEvent[]> => {
  const taken: StoredEvent[] = [];
  let reached = 0;
  for await (const { events, position } of batches) {
    if (position <= reached || position < (events.at(-1)?.position ?? 0)) throw new Error('the position of a batch must rise');
    reached = position;
    taken.push(...events);
    if (taken.length >= count) break;
  }
  return taken;
};

const positions = (events: readonly StoredEvent[]): number[] => events.map((event) => event.position);
const names = (events: readonly StoredEvent[]): string[] => events.map((event) => `${event.stream}@${event.revision}`);

export const eventStoreSuite = (t: Test, harness: EventStoreHarness): void => {
  let places = 0;
  const fresh = async (
    t: Test,
  ): Promise<{ store: EventStore; another: () => Promise<EventStore>; signal: AbortSignal; stop: () => void }> => {
    places += 1;
    const place = `place-${places}`;
    const stopping = new AbortController();
    const open = async (): Promise<EventStore> => {
      const store = await harness.open(place);
      t.teardown(() => store.close());
      return store;
    };
    // A subscription that waits need not keep a process alive; a test does.
    const alive = setInterval(() => undefined, 1_000);
    t.teardown(() => {
      clearInterval(alive);
      stopping.abort();
    });
    return { store: await open(), another: open, signal: stopping.signal, stop: () => stopping.abort() };
  };
  t.teardown(() => harness.close());

  void t.test('an event is read as it was written, with its stream, revision and position', async (t) => {
    const { store } = await fresh(t);
    const sealed = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
    const odd = anEvent('"\\ \0 ü 漢 😀', { sealed, metadata: '{"a":"\u2028"}', hash: '0'.repeat(64) });
    t.same(await store.append('email-1', -1, [odd, anEvent('b')]), { revision: 1, position: 2 });
    await harness.settle();
    const [first, second, ...rest] = await store.readStream('email-1');
    t.same(rest, []);
    t.match(first, { stream: 'email-1', revision: 0, position: 1, type: odd.type, data: odd.data, metadata: odd.metadata, hash: odd.hash });
    t.same(Buffer.from(first?.sealed ?? []), Buffer.from(sealed));
    t.equal(second?.sealed, undefined);
    t.same(await store.readLast('email-1'), second);
    const empty = await store.append('email-2', -1, [anEvent('c', { sealed: new Uint8Array(0) })]);
    t.equal(empty.position, 3);
    t.equal((await store.readLast('email-2'))?.sealed?.byteLength, 0, 'nothing sealed is not the same as no sealed part');
  });

  void t.test('a stream is read from a revision on, and a store that is empty says so', async (t) => {
    const { store } = await fresh(t);
    t.equal(await store.head(), 0);
    t.same(await store.readStream('email-1'), []);
    t.equal(await store.readLast('email-1'), undefined);
    t.same(await takeEvents(store.readAll(0), 1), []);
    await store.append('email-1', -1, [anEvent('a'), anEvent('b'), anEvent('c')]);
    await harness.settle();
    t.same(names(await store.readStream('email-1', 1)), ['email-1@1', 'email-1@2']);
    t.same(await store.readStream('email-1', 3), []);
    t.same(await store.readStream('email-1', 99), []);
    t.same(await store.readStream('email'), [], 'a stream is not a prefix');
    t.equal(await store.head(), 3);
  });

  void t.test('an append at another revision is refused, says where the stream is, and writes nothing', async (t) => {
    const { store } = await fresh(t);
    await store.append('email-1', -1, [anEvent('a'), anEvent('b')]);
    for (const expected of [-1, 0, 2, 7]) {
      const refusal = await store.append('email-1', expected, [anEvent('x'), anEvent('y')]).catch((error: unknown) => error);
      t.ok(refusal instanceof WrongExpectedRevision);
      t.match(refusal, { stream: 'email-1', expected, actual: 1 });
    }
    t.match(await store.append('email-2', 0, [anEvent('x')]).catch((error: unknown) => error), { expected: 0, actual: -1 });
    t.same(await store.append('email-1', 1, [anEvent('c')]), { revision: 2, position: 3 }, 'no position was used up');
    await t.rejects(store.append('email-1', 2, []));
    await t.rejects(store.append('email-1', -2, [anEvent('x')]));
  });

  void t.test('of appends at the same time one wins and the others are refused alone', async (t) => {
    const { store, another } = await fresh(t);
    const other = await another();
    const stores = [store, other];
    const results = await Promise.allSettled(
      Array.from({ length: 300 }, (_, index) => stores[index % 2]!.append(`email-${index % 100}`, -1, [anEvent(`e${index}`)])),
    );
    const won = results.filter((result) => result.status === 'fulfilled').map((result) => result.value.position);
    t.same(
      [...won].sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, index) => index + 1),
      'positions have no gaps',
    );
    t.ok(results.every((result) => result.status === 'fulfilled' || result.reason instanceof WrongExpectedRevision));
    await harness.settle();
    t.equal((await takeEvents(store.readAll(0), 101)).length, 100);
  });

  void t.test('appends to one stream that build on each other share a commit', async (t) => {
    const { store } = await fresh(t);
    const results = await Promise.all([
      store.append('email-1', -1, [anEvent('a')]),
      store.append('email-1', 0, [anEvent('b')]),
      store.append('email-1', 1, [anEvent('c'), anEvent('d')]),
    ]);
    t.same(
      results.map((result) => result.revision),
      [0, 1, 3],
    );
  });

  void t.test('all events are read in order, in batches, from a position on, up to the head of now', async (t) => {
    const { store } = await fresh(t);
    for (let index = 0; index < 25; index += 1)
      await store.append(`${index % 5 === 0 ? 'template' : 'email'}-${index}`, -1, [anEvent(`e${index}`)]);
    await store.append('ledger', -1, [anEvent('seal')]);
    await harness.settle();
    const sizes: number[] = [];
    const all: StoredEvent[] = [];
    for await (const batch of store.readAll(0, { batchSize: 10 })) {
      sizes.push(batch.events.length);
      all.push(...batch.events);
      if (all.length === 10) await store.append('email-late', -1, [anEvent('late')]);
    }
    t.same(sizes, [10, 10, 6], 'what comes later is not read');
    t.same(
      positions(all),
      Array.from({ length: 26 }, (_, index) => index + 1),
    );
    t.same(positions(await takeEvents(store.readAll(24), 99)), [25, 26, 27]);
    t.same(await takeEvents(store.readAll(27), 1), []);
    const filtered = await takeEvents(store.readAll(0, { kinds: ['template', 'ledger'], batchSize: 2 }), 99);
    t.same(
      filtered.map((event) => event.stream),
      ['template-0', 'template-5', 'template-10', 'template-15', 'template-20', 'ledger'],
    );
    t.same(await takeEvents(store.readAll(0, { kinds: ['temp', 'emai'] }), 1), [], 'a kind is not a prefix');
    t.same(await takeEvents(store.readAll(0, { kinds: [] }), 1), []);
  });

  void t.test('a filtered reader learns how far the log was looked at, where nothing is for it', async (t) => {
    const { store, signal } = await fresh(t);
    for (let index = 0; index < 40; index += 1) await store.append(`email-${index}`, -1, [anEvent('e')]);
    await harness.settle();
    const head = await store.head();
    let reached = 0;
    for await (const { events, position } of store.readAll(0, { kinds: ['template'], batchSize: 3 })) {
      t.same(events, []);
      t.ok(position > reached);
      reached = position;
    }
    t.equal(reached, head);
    const late = store.subscribeAll(head, { kinds: ['template'], signal })[Symbol.asyncIterator]();
    const next = late.next();
    const { position } = await store.append('email-late', -1, [anEvent('late')]);
    t.match(await next, { value: { events: [], position } });
    await late.return?.();
  });

  void t.test('reading ends when its signal aborts', async (t) => {
    const { store } = await fresh(t);
    await store.append(
      'email-1',
      -1,
      Array.from({ length: 30 }, (_, index) => anEvent(`e${index}`)),
    );
    const stopping = new AbortController();
    let read = 0;
    for await (const batch of store.readAll(0, { batchSize: 10, signal: stopping.signal })) {
      read += batch.events.length;
      stopping.abort();
    }
    t.equal(read, 10);
  });

  void t.test('a subscription catches up and goes on live, nothing skipped, nothing twice', async (t) => {
    const { store, another, signal } = await fresh(t);
    const other = await another();
    for (let index = 0; index < 30; index += 1) await store.append(`email-a${index}`, -1, [anEvent('a')]);
    const subscription = takeEvents(store.subscribeAll(0, { batchSize: 7, signal }), 130);
    const late = takeEvents(store.subscribeAll(28, { signal }), 102);
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        await store.append(`email-b${index}`, -1, [anEvent('b')]);
        await other.append(`email-c${index}`, -1, [anEvent('c')]);
      }),
    );
    t.same(
      positions(await subscription),
      Array.from({ length: 130 }, (_, index) => index + 1),
    );
    t.same(
      positions(await late),
      Array.from({ length: 102 }, (_, index) => index + 29),
    );
    t.same(await takeEvents(store.readAll(0), 131), await takeEvents(other.readAll(0), 131));
  });

  void t.test('a filtered subscription sees its kinds only, near the head and far from it', async (t) => {
    const { store, signal } = await fresh(t);
    const append = async (from: number, to: number): Promise<void> => {
      await Promise.all(
        Array.from({ length: to - from }, (_, index) =>
          store.append(`${(from + index) % 40 === 0 ? 'template' : 'email'}-${from + index}`, -1, [anEvent('x')]),
        ),
      );
    };
    await append(0, 400);
    const subscription = takeEvents(store.subscribeAll(0, { kinds: ['template'], batchSize: 3, signal }), 20);
    await append(400, 800);
    const events = await subscription;
    t.same(events.map((event) => event.stream).sort(), Array.from({ length: 20 }, (_, index) => `template-${index * 40}`).sort());
    t.same(
      positions(events),
      [...positions(events)].sort((a, b) => a - b),
    );
  });

  void t.test('a subscription at the head waits, and ends when its signal aborts', async (t) => {
    const { store, signal, stop } = await fresh(t);
    await store.append('email-1', -1, [anEvent('a')]);
    const idle = takeEvents(store.subscribeAll(1, { signal }), 1);
    const fromTheFuture = takeEvents(store.subscribeAll(99, { signal }), 1);
    stop();
    t.same(await idle, []);
    t.same(await fromTheFuture, []);
    t.same(await takeEvents(store.subscribeAll(0, { signal }), 1), [], 'an aborted signal ends it before it began');
  });

  void t.test('a slow subscriber holds up neither writers nor other subscribers', async (t) => {
    const { store, signal } = await fresh(t);
    const slow = store.subscribeAll(0, { signal, batchSize: 10 })[Symbol.asyncIterator]();
    await store.append('email-0', -1, [anEvent('x')]);
    const first = await slow.next();
    const quick = takeEvents(store.subscribeAll(0, { signal }), 101);
    await Promise.all(Array.from({ length: 100 }, (_, index) => store.append(`email-${index + 1}`, -1, [anEvent('x')])));
    t.equal((await quick).length, 101);
    const rest = await takeEvents({ [Symbol.asyncIterator]: () => slow }, 100);
    t.same(
      positions([...(first.done === true ? [] : first.value.events), ...rest]),
      Array.from({ length: 101 }, (_, index) => index + 1),
    );
  });

  void t.test('what was appended is there after closing and opening again', async (t) => {
    const { store, another } = await fresh(t);
    const waiting = store.append('email-1', -1, [anEvent('a')]);
    await store.close();
    t.same(await waiting, { revision: 0, position: 1 }, 'an append under way is finished');
    await t.rejects(store.append('email-1', 0, [anEvent('b')]));
    const again = await another();
    t.same(names(await again.readStream('email-1')), ['email-1@0']);
    t.same(await again.append('email-1', 0, [anEvent('b')]), { revision: 1, position: 2 });
  });

  void t.test('closing ends subscriptions', async (t) => {
    const { store, signal } = await fresh(t);
    const subscription = takeEvents(store.subscribeAll(0, { signal }), 1);
    await store.close();
    t.same(await subscription, []);
  });
};
