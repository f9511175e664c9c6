/** The contract of every event store, embedded or distributed. */
import type { Test } from 'tap';
import type {
  AppendOutcome,
  EventBatch,
  EventStore,
  EventToStore,
  StoredEvent,
} from '../../src/domain/ports/event-store.js';

export type EventStoreHarness = Readonly<{
  /**
   * A client of the store of that name; a name not used before is an empty store, the same name again another client of
   * the same store.
   */
  open: (place: string) => Promise<EventStore>;
  /** Such a client whose first append has its answer lost, after the events were written or before. */
  openLosing: (place: string, when: 'written' | 'not written') => Promise<EventStore>;
  /** Such a client whose connections `breakOff` ends at once; absent where a store has none. */
  openBreaking?: (place: string) => Promise<Readonly<{ store: EventStore; breakOff: () => void }>>;
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
    if (position <= reached || position < (events.at(-1)?.position ?? 0))
      throw new Error('the position of a batch must rise');
    reached = position;
    taken.push(...events);
    if (taken.length >= count) break;
  }
  return taken;
};

/** Appends, and throws where that is not done. */
const append = async (
  store: EventStore,
  stream: string,
  expectedRevision: number,
  events: readonly EventToStore[],
): Promise<AppendOutcome & Readonly<{ kind: 'done' }>> => {
  const outcome = await store.append(stream, expectedRevision, events);
  if (outcome.kind !== 'done') throw new Error(`the append to ${stream} ended with ${outcome.kind}`);
  return outcome;
};

const rises = (numbers: readonly number[]): boolean =>
  numbers.every((number, index) => index === 0 || number > numbers[index - 1]!);
const positions = (events: readonly StoredEvent[]): number[] => events.map((event) => event.position);
const names = (events: readonly StoredEvent[]): string[] => events.map((event) => `${event.stream}@${event.revision}`);

export const eventStoreSuite = (t: Test, harness: EventStoreHarness): void => {
  let places = 0;
  const fresh = async (
    t: Test,
  ): Promise<{
    store: EventStore;
    another: () => Promise<EventStore>;
    losing: (when: 'written' | 'not written') => Promise<EventStore>;
    breaking: () => Promise<Readonly<{ store: EventStore; breakOff: () => void }> | undefined>;
    signal: AbortSignal;
    stop: () => void;
  }> => {
    places += 1;
    const place = `place-${places}`;
    const stopping = new AbortController();
    const closing = (store: EventStore): EventStore => {
      t.teardown(() => store.close());
      return store;
    };
    const open = async (): Promise<EventStore> => closing(await harness.open(place));
    const losing = async (when: 'written' | 'not written'): Promise<EventStore> =>
      closing(await harness.openLosing(place, when));
    // A subscription that waits need not keep a process alive; a test does.
    const alive = setInterval(() => undefined, 1_000);
    t.teardown(() => {
      clearInterval(alive);
      stopping.abort();
    });
    const breaking = async () => {
      const opened = await harness.openBreaking?.(place);
      if (opened === undefined) t.pass('it has no connection', { skip: true });
      return opened && { ...opened, store: closing(opened.store) };
    };
    return {
      store: await open(),
      another: open,
      losing,
      breaking,
      signal: stopping.signal,
      stop: () => stopping.abort(),
    };
  };
  t.teardown(() => harness.close());

  void t.test('an event is read as it was written, with its stream, revision and position', async (t) => {
    const { store } = await fresh(t);
    const sealed = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
    const odd = anEvent('"\\ \0 ü 漢 😀', { sealed, metadata: '{"a":"\u2028"}', hash: '0'.repeat(64) });
    const done = await append(store, 'email-1', -1, [odd, anEvent('b')]);
    t.equal(done.revision, 1);
    await harness.settle();
    const [first, second, ...rest] = await store.readStream('email-1');
    t.same(rest, []);
    const { eventId, type, data, metadata, hash } = odd;
    t.match(first, { stream: 'email-1', revision: 0, eventId, type, data, metadata, hash });
    t.equal(second?.position, done.position);
    t.ok(first!.position > 0 && first!.position < done.position);
    t.same(Buffer.from(first?.sealed ?? []), Buffer.from(sealed));
    t.equal(second?.sealed, undefined);
    t.same(await store.readLast('email-1'), second);
    const empty = await append(store, 'email-2', -1, [anEvent('c', { sealed: new Uint8Array(0) })]);
    t.ok(empty.position > done.position);
    t.equal(
      (await store.readLast('email-2'))?.sealed?.byteLength,
      0,
      'nothing sealed is not the same as no sealed part',
    );
  });

  void t.test('a stream is read from a revision on, and a store that is empty says so', async (t) => {
    const { store } = await fresh(t);
    t.equal(await store.head(), 0);
    t.same(await store.readStream('email-1'), []);
    t.equal(await store.readLast('email-1'), undefined);
    t.same(await takeEvents(store.readAll(0), 1), []);
    const { position } = await append(store, 'email-1', -1, [anEvent('a'), anEvent('b'), anEvent('c')]);
    await harness.settle();
    t.same(names(await store.readStream('email-1', 1)), ['email-1@1', 'email-1@2']);
    t.same(await store.readStream('email-1', 3), []);
    t.same(await store.readStream('email-1', 99), []);
    t.same(await store.readStream('email'), [], 'a stream is not a prefix');
    t.equal(await store.head(), position);
  });

  void t.test('an append at another revision is refused, says where the stream is, and writes nothing', async (t) => {
    const { store } = await fresh(t);
    await append(store, 'email-1', -1, [anEvent('a'), anEvent('b')]);
    for (const expected of [-1, 0, 2, 7])
      t.same(await store.append('email-1', expected, [anEvent('x'), anEvent('y')]), {
        kind: 'conflict',
        actualRevision: 1,
      });
    t.same(await store.append('email-2', 0, [anEvent('x')]), { kind: 'conflict', actualRevision: -1 });
    t.equal((await append(store, 'email-1', 1, [anEvent('c')])).revision, 2);
    await harness.settle();
    t.same(names(await takeEvents(store.readAll(0), 4)), ['email-1@0', 'email-1@1', 'email-1@2']);
    await t.rejects(store.append('email-1', 2, []));
    await t.rejects(store.append('email-1', -2, [anEvent('x')]));
  });

  void t.test('of appends at the same time one wins and the others are refused alone', async (t) => {
    const { store, another } = await fresh(t);
    const other = await another();
    const stores = [store, other];
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        stores[index % 2]!.append(`email-${index % 100}`, -1, [anEvent(`e${index}`)]),
      ),
    );
    const won = outcomes.flatMap((outcome) => (outcome.kind === 'done' ? [outcome.position] : []));
    t.equal(new Set(won).size, 100, 'no position is given twice');
    t.equal(outcomes.filter((outcome) => outcome.kind === 'conflict' && outcome.actualRevision === 0).length, 200);
    await harness.settle();
    t.same(
      positions(await takeEvents(store.readAll(0), 101)),
      [...won].sort((a, b) => a - b),
    );
  });

  void t.test('appends to one stream build on each other', async (t) => {
    const { store } = await fresh(t);
    const a = await append(store, 'email-1', -1, [anEvent('a')]);
    const b = await append(store, 'email-1', a.revision, [anEvent('b')]);
    const d = await append(store, 'email-1', b.revision, [anEvent('c'), anEvent('d')]);
    t.same([a.revision, b.revision, d.revision], [0, 1, 3]);
    t.ok(rises([a.position, b.position, d.position]));
  });

  void t.test('an append that stands there already, by the ids of its events, is done and not repeated', async (t) => {
    const { store, another } = await fresh(t);
    const [events, more] = [
      [anEvent('a'), anEvent('b')],
      [anEvent('c'), anEvent('d')],
    ];
    const first = await append(store, 'email-1', -1, events);
    t.same(await append(store, 'email-1', -1, events), first);
    const second = await append(store, 'email-1', 1, more);
    const other = await another();
    await harness.settle();
    t.same(await append(other, 'email-1', 1, more), second);
    t.same(await append(other, 'email-1', -1, events), first, 'whatever came after');
    t.same(
      await other.append('email-1', -1, [events[0]!, anEvent('b')]),
      { kind: 'conflict', actualRevision: 3 },
      'only where all are',
    );
    t.same(names(await takeEvents(store.readAll(0), 5)), ['email-1@0', 'email-1@1', 'email-1@2', 'email-1@3']);
  });

  for (const when of ['written', 'not written'] as const) {
    void t.test(`an append whose answer is lost is unknown; made again it is done, once (${when})`, async (t) => {
      const { store, losing } = await fresh(t);
      const client = await losing(when);
      const events = [anEvent('a'), anEvent('b')];
      const outcome = await client.append('email-1', -1, events);
      t.match(outcome, { kind: 'unknown', cause: Error });
      await harness.settle();
      t.equal((await store.readStream('email-1')).length, when === 'written' ? 2 : 0);
      const { revision, position } = await append(client, 'email-1', -1, events);
      t.equal(revision, 1);
      await harness.settle();
      const read = await takeEvents(store.readAll(0), 3);
      t.same(
        read.map(({ eventId }) => eventId),
        events.map(({ eventId }) => eventId),
      );
      t.equal(read[1]?.position, position);
    });
  }

  void t.test('it tells which types of event it has, each with the position of one, to every client', async (t) => {
    const { store, another } = await fresh(t);
    t.equal((await store.types()).size, 0);
    const first = await append(store, 'email-1', -1, [anEvent('a'), anEvent('b', { type: 'EmailSent.v1' })]);
    const second = await append(store, 'email-2', -1, [anEvent('c', { type: 'EmailFailed.v9' })]);
    await harness.settle();
    for (const client of [store, await another()]) {
      const types = await client.types();
      t.same([...types.keys()].sort(), ['EmailFailed.v9', 'EmailQueued.v1', 'EmailSent.v1']);
      t.equal(types.get('EmailSent.v1'), first.position);
      t.equal(types.get('EmailFailed.v9'), second.position);
    }
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
      if (sizes.length === 1) await store.append('email-late', -1, [anEvent('late')]);
    }
    t.ok(sizes.every((size) => size <= 10));
    t.same(
      all.map(({ stream }) => stream),
      [...Array.from({ length: 25 }, (_, index) => `${index % 5 === 0 ? 'template' : 'email'}-${index}`), 'ledger'],
      'what comes later is not read',
    );
    t.ok(rises(positions(all)));
    t.same(names(await takeEvents(store.readAll(all[23]!.position), 99)), ['email-24@0', 'ledger@0', 'email-late@0']);
    t.same(await takeEvents(store.readAll(await store.head()), 1), []);
    const filtered = await takeEvents(store.readAll(0, { kinds: ['template', 'ledger'], batchSize: 2 }), 99);
    t.same(
      filtered.map((event) => event.stream),
      ['template-0', 'template-5', 'template-10', 'template-15', 'template-20', 'ledger'],
    );
    t.same(await takeEvents(store.readAll(0, { kinds: ['temp', 'emai'] }), 1), [], 'a kind is not a prefix');
    t.same(await takeEvents(store.readAll(0, { kinds: [] }), 1), []);
  });

  void t.test('events are read by their types, with kinds or without, up to the head of now', async (t) => {
    const { store } = await fresh(t);
    const types = ['EmailQueued.v1', 'EmailSent.v1', 'EmailDeleted.v1'] as const;
    for (let index = 0; index < 12; index += 1)
      await append(store, `${index % 4 === 0 ? 'asset' : 'email'}-${index}`, -1, [
        anEvent('e', { type: types[index % 3]! }),
      ]);
    await harness.settle();
    const head = await store.head();
    const read = async (
      options: Readonly<{ types: readonly string[]; kinds?: readonly string[] }>,
    ): Promise<readonly string[]> => {
      const found: StoredEvent[] = [];
      let reached = 0;
      for await (const { events, position } of store.readAll(0, { ...options, batchSize: 2 })) {
        found.push(...events);
        reached = position;
      }
      t.equal(reached, head, 'the position of the last batch is the head');
      return found.map(({ stream, type }) => `${stream} ${type}`);
    };
    t.same(
      await read({ types: ['EmailDeleted.v1'] }),
      [2, 5, 8, 11].map((index) => `${index % 4 === 0 ? 'asset' : 'email'}-${index} EmailDeleted.v1`),
    );
    t.same((await read({ types: ['EmailDeleted.v1', 'EmailSent.v1'] })).length, 8);
    t.same(await read({ types: ['EmailDeleted.v1'], kinds: ['asset'] }), ['asset-8 EmailDeleted.v1']);
    t.same(await read({ types: ['EmailDeleted'] }), [], 'a type is a whole name');
    t.same(await read({ types: [] }), []);
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
    const { position } = await append(store, 'email-late', -1, [anEvent('late')]);
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
    t.ok(read > 0 && read <= 10);
  });

  void t.test('a subscription catches up and goes on live, nothing skipped, nothing twice', async (t) => {
    const { store, another, signal } = await fresh(t);
    const other = await another();
    for (let index = 0; index < 30; index += 1) await store.append(`email-a${index}`, -1, [anEvent('a')]);
    const subscription = takeEvents(store.subscribeAll(0, { batchSize: 7, signal }), 130);
    const after = (await takeEvents(store.readAll(0), 30))[27]!.position;
    const late = takeEvents(store.subscribeAll(after, { signal }), 102);
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        await store.append(`email-b${index}`, -1, [anEvent('b')]);
        await other.append(`email-c${index}`, -1, [anEvent('c')]);
      }),
    );
    const seen = await subscription;
    t.ok(rises(positions(seen)));
    t.equal(new Set(seen.map(({ eventId }) => eventId)).size, 130);
    t.same(positions(await late), positions(seen).slice(28));
    await harness.settle();
    t.same(positions(await takeEvents(store.readAll(0), 131)), positions(seen));
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
    t.same(
      events.map((event) => event.stream).sort(),
      Array.from({ length: 20 }, (_, index) => `template-${index * 40}`).sort(),
    );
    t.ok(rises(positions(events)));
  });

  void t.test('a subscription at the head waits, and ends when its signal aborts', async (t) => {
    const { store, signal, stop } = await fresh(t);
    const { position } = await append(store, 'email-1', -1, [anEvent('a')]);
    const idle = takeEvents(store.subscribeAll(position, { signal }), 1);
    const fromTheFuture = takeEvents(store.subscribeAll(Number.MAX_SAFE_INTEGER, { signal }), 1);
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
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => store.append(`email-${index + 1}`, -1, [anEvent('x')])),
    );
    const seen = await quick;
    t.equal(seen.length, 101);
    const rest = await takeEvents({ [Symbol.asyncIterator]: () => slow }, 100);
    t.same(positions([...(first.done === true ? [] : first.value.events), ...rest]), positions(seen));
  });

  void t.test('what was appended is there after closing and opening again', async (t) => {
    const { store, another } = await fresh(t);
    const waiting = store.append('email-1', -1, [anEvent('a')]);
    await store.close();
    t.match(await waiting, { kind: 'done', revision: 0 }, 'an append under way is finished');
    await t.rejects(store.append('email-1', 0, [anEvent('b')]));
    const again = await another();
    t.same(names(await again.readStream('email-1')), ['email-1@0']);
    t.equal((await append(again, 'email-1', 0, [anEvent('b')])).revision, 1);
  });

  void t.test('closing ends subscriptions', async (t) => {
    const { store, signal } = await fresh(t);
    const subscription = takeEvents(store.subscribeAll(0, { signal }), 1);
    await store.close();
    t.same(await subscription, []);
  });

  void t.test(
    'a subscription whose connection breaks off goes on where it was, nothing skipped, nothing twice',
    async (t) => {
      const { store, breaking, signal } = await fresh(t);
      const client = await breaking();
      if (client === undefined) return;
      const all = takeEvents(client.store.subscribeAll(0, { batchSize: 7, signal }), 200);
      const few = takeEvents(client.store.subscribeAll(0, { kinds: ['template'], signal }), 20);
      for (let index = 0; index < 200; index += 1) {
        await append(store, `${index % 10 === 0 ? 'template' : 'email'}-${index}`, -1, [anEvent('x')]);
        if (index % 40 === 20) client.breakOff();
      }
      const seen = await all;
      t.same(positions(seen), positions(await takeEvents(store.readAll(0), 201)));
      t.same(names(await few), names(seen.filter(({ stream }) => stream.startsWith('template-'))));
      const { position } = await append(store, 'email-last', -1, [anEvent('x')]);
      client.breakOff();
      for await (const batch of client.store.subscribeAll(positions(seen).at(-1)!, { kinds: ['template'], signal })) {
        t.same(batch, { events: [], position }, 'it tells how far it is, where nothing is for it');
        break;
      }
    },
  );

  void t.test('a reading of all events whose connection breaks off goes on where it was', async (t) => {
    const { store, breaking } = await fresh(t);
    const client = await breaking();
    if (client === undefined) return;
    const many = Array.from({ length: 100 }, (_, index) => anEvent(`${index} ${'x'.repeat(2_000)}`));
    for (let index = 0; index < 20; index += 1)
      await append(
        store,
        `email-${index}`,
        -1,
        many.map((event) => anEvent(event.data)),
      );
    const read: StoredEvent[] = [];
    for await (const { events } of client.store.readAll(0, { batchSize: 300 })) {
      read.push(...events);
      if (read.length < 1_000) client.breakOff();
    }
    t.same(positions(read), positions(await takeEvents(store.readAll(0), 2_001)));
    t.equal(read.length, 2_000);
    client.breakOff();
    t.equal((await client.store.readStream('email-3')).length, 100);
    client.breakOff();
    t.equal((await client.store.readLast('email-3'))?.revision, 99);
    client.breakOff();
    t.equal(await client.store.head(), read.at(-1)!.position);
  });

  void t.test(
    'of appends whose connection breaks off again and again none is lost and none is written twice',
    async (t) => {
      const { store, breaking } = await fresh(t);
      const client = await breaking();
      if (client === undefined) return;
      let outcomes = 0;
      const until = async (stream: string): Promise<void> => {
        const events = [anEvent('a'), anEvent('b')];
        for (;;) {
          const outcome = await client.store.append(stream, -1, events).catch((): undefined => undefined);
          outcomes += 1;
          if (outcomes % 25 === 0) client.breakOff();
          if (outcome?.kind === 'done') return;
          if (outcome?.kind === 'conflict') throw new Error('its own events are no conflict');
        }
      };
      await Promise.all(Array.from({ length: 200 }, (_, index) => until(`email-${index}`)));
      await harness.settle();
      const read = await takeEvents(store.readAll(0), 401);
      t.equal(read.length, 400);
      t.equal(new Set(read.map(({ eventId }) => eventId)).size, 400);
    },
  );

  void t.test('where appends at the same revision race, one is done and the loser reads it', async (t) => {
    const { store, another } = await fresh(t);
    const stores = [store, await another()];
    for (let revision = -1; revision < 20; revision += 1) {
      const outcomes = await Promise.all(
        stores.map((one, index) => one.append('team-1', revision, [anEvent(`${revision} ${index}`)])),
      );
      t.same(outcomes.map(({ kind }) => kind).toSorted(), ['conflict', 'done']);
      const lost = outcomes.findIndex(({ kind }) => kind === 'conflict');
      t.match(outcomes[lost], { actualRevision: revision + 1 });
      await harness.settle();
      t.equal((await stores[lost]!.readLast('team-1'))?.data, JSON.stringify(`${revision} ${1 - lost}`));
    }
  });
};
