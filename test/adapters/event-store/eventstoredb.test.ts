/** The event store on EventStoreDB: the contract on the stand-in, and what a connection to a server can come to. */
import t, { type Test } from 'tap';
import {
  AppendRefused,
  EventStoreAway,
  openEventStoreDb,
  type EventStoreDbOptions,
} from '../../../src/adapters/event-store/eventstoredb.js';
import { systemClock } from '../../../src/adapters/clock/system.js';
import type { EventStore } from '../../../src/domain/ports/event-store.js';
import { anEvent, eventStoreSuite, takeEvents } from '../../contracts/event-store-suite.js';
import { openServerLog, type ServerLog } from '../../support/eventstoredb/log.js';
import { openStandIn, type AppendFate, type StandIn } from '../../support/eventstoredb/server.js';
import { memoryLog } from '../../support/memory-ports.js';
import { eventStoreServer } from '../../support/servers.js';
import { openTcpRelay, type TcpRelay } from '../../support/tcp-relay.js';
import { eventually } from '../../support/wait.js';

const clock = systemClock();
const openAt = (url: string, more: Partial<EventStoreDbOptions> = {}): Promise<EventStore> =>
  openEventStoreDb({ url, clock, logger: memoryLog(), ...more });

/** The contract on the server at that URL; streams of this run begin with `run`. */
const contractOn = async (t: Test, url: string, run: string): Promise<void> => {
  const [before = '', host = '', port = '2113', query = ''] =
    /^(\w+:\/\/(?:[^@/]+@)?)([^:/?]+)(?::(\d+))?\/?(.*)$/.exec(url)?.slice(1) ?? [];
  const relays: TcpRelay[] = [];
  const at = (address: string, place: string) =>
    `${before}${address}${query}${query === '' ? '?' : '&'}prefix=${run}_${place.replaceAll('-', '_')}`;
  const open = (place: string) => openAt(at(`${host}:${port}`, place));
  const relayed = async (place: string): Promise<Readonly<{ store: EventStore; relay: TcpRelay }>> => {
    const relay = await openTcpRelay({ host, port: Number(port) });
    relays.push(relay);
    return { relay, store: await openAt(at(`127.0.0.1:${relay.port}`, place)) };
  };
  eventStoreSuite(t, {
    open,
    openLosing: async (place, when) => {
      const { store, relay } = await relayed(place);
      let isPast = false;
      return {
        ...store,
        append: async (...append) => {
          if (isPast) return store.append(...append);
          isPast = true;
          const swallowed = relay.swallow(when === 'written' ? 'answers' : 'requests');
          const outcome = store.append(...append);
          if (when === 'not written') await swallowed;
          else await arrived(await open(place), append[0]);
          relay.cut();
          return outcome;
        },
      };
    },
    openBreaking: async (place) => {
      const { store, relay } = await relayed(place);
      return { store, breakOff: relay.cut };
    },
    settle: async () => {},
    close: async () => {
      for (const relay of relays) await relay.close();
    },
  });
};

/** Resolves when the stream has an event. */
const arrived = async (store: EventStore, stream: string): Promise<void> => {
  await eventually(`${stream} has an event`, async () => (await store.readLast(stream)) !== undefined);
  await store.close();
};

void t.test('the contract, on the stand-in', async (t) => {
  const server = await openStandIn({ log: openServerLog() });
  await contractOn(t, server.url, 'test');
  t.teardown(server.close);
});

void t.test('the contract, on a real server', async (t) => {
  const server = await eventStoreServer(t);
  if (server !== undefined) await contractOn(t, server.url, server.place);
});

type World = Readonly<{
  log: ServerLog;
  server: StandIn;
  /** Sets the fate of the appends of a client of that name to streams of the log. */
  setFate: (client: string, fate: () => AppendFate) => void;
  open: (client?: string, more?: Partial<EventStoreDbOptions>) => Promise<EventStore>;
}>;

const world = async (t: Test): Promise<World> => {
  const log = openServerLog();
  const fates = new Map<string, () => AppendFate>();
  const server = await openStandIn({
    log,
    fate: ({ stream, client }) => (stream.includes('.') ? fates.get(client)?.() : undefined),
  });
  t.teardown(server.close);
  return {
    log,
    server,
    setFate: (client, fate) => void fates.set(client, fate),
    open: async (client = 'test', more = {}) => {
      const store = await openAt(`${server.url}&connectionName=${client}`, more);
      t.teardown(() => store.close());
      return store;
    },
  };
};

const once = (fate: AppendFate): (() => AppendFate) => {
  let isPast = false;
  return () => {
    if (isPast) return undefined;
    isPast = true;
    return fate;
  };
};

void t.test('a call that breaks off leaves the appends of another client of the process alone', async (t) => {
  const { log, open, setFate } = await world(t);
  const [broken, sound] = [await open('broken'), await open('sound')];
  let answer = (): void => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  setFate('sound', () => held);
  setFate('broken', once('broken-before'));
  const underWay = Array.from({ length: 20 }, (_, index) => sound.append(`email-${index}`, -1, [anEvent('s')]));
  const lost = await broken.append('email-broken', -1, [anEvent('b')]);
  t.match(lost, { kind: 'unknown', cause: Error });
  answer();
  t.same(
    (await Promise.all(underWay)).map(({ kind }) => kind),
    Array.from({ length: 20 }, () => 'done'),
  );
  t.match(
    await broken.append('email-broken', -1, [anEvent('b')]),
    { kind: 'done', revision: 0 },
    'it goes on with a call of its own',
  );
  t.equal(log.all.filter(({ stream }) => stream.startsWith('sealpost.')).length, 21);
});

for (const fate of ['broken-before', 'broken-after'] as const) {
  void t.test(`of appends on a call that breaks off none is lost and none is written twice (${fate})`, async (t) => {
    const { log, open, setFate } = await world(t);
    const store = await open('breaking');
    let count = 0;
    setFate('breaking', () => ((count += 1) % 10 === 0 ? fate : undefined));
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const events = [anEvent(`a${index}`), anEvent(`b${index}`)];
        for (;;) {
          const outcome = await store.append(`email-${index}`, -1, events);
          if (outcome.kind !== 'unknown') return outcome;
        }
      }),
    );
    t.ok(outcomes.every(({ kind }) => kind === 'done'));
    t.ok(count > 100, 'some were made again');
    t.equal(log.all.filter(({ stream }) => stream.startsWith('sealpost.')).length, 200);
    t.equal((await takeEvents(store.readAll(0), 201)).length, 200);
  });
}

void t.test('an append without an answer is unknown alone, while others are answered', async (t) => {
  const { open, setFate } = await world(t);
  const store = await open('losing', { times: { appendMs: 200 } });
  let count = 0;
  setFate('losing', () => ((count += 1) === 1 ? 'answer-lost' : undefined));
  const lost = store.append('email-lost', -1, [anEvent('a')]);
  let isOver = false;
  void lost.then(() => (isOver = true));
  for (let index = 0; !isOver; index += 1)
    t.match(await store.append(`email-${index}`, -1, [anEvent('x')]), { kind: 'done' });
  t.match(await lost, { kind: 'unknown', cause: { message: /not answered within 200 ms/ } });
});

void t.test('events that are too large are refused with a sentence, and nothing is written', async (t) => {
  const { log, open } = await world(t);
  const store = await open();
  const before = log.all.length;
  const large = (bytes: number) => anEvent('x'.repeat(bytes));
  for (const events of [[large(1_100_000)], [large(600_000), large(600_000)], [large(17_000_000)]])
    await t.rejects(store.append('email-1', -1, events), AppendRefused);
  await t.rejects(store.append('email-1', -1, [large(1_100_000)]), { message: /1048576 bytes/ });
  t.equal(log.all.length, before);
  t.match(await store.append('email-1', -1, [large(900_000), anEvent('small')]), { kind: 'done', revision: 1 });
});

void t.test('a server that is away is told of with its address and without the password', async (t) => {
  const { server } = await world(t);
  await server.close();
  const opening = openAt(`esdb://admin:secret@127.0.0.1:${server.port}?tls=false`, { times: { connectMs: 500 } });
  const fault = await opening.then(
    () => undefined,
    (error: unknown) => error as Error,
  );
  t.ok(fault instanceof EventStoreAway);
  t.match(fault?.message, new RegExp(`esdb://127.0.0.1:${server.port} cannot be reached`));
  t.notMatch(JSON.stringify([fault?.message, String(fault?.cause)]), /secret/);
  await t.rejects(openAt('esdb://host:2113?tls=perhaps'), RangeError);
});

void t.test('streams of others and of the server itself are no part of the log', async (t) => {
  const { log, server, open } = await world(t);
  const other = await openAt(`${server.url}&prefix=other`);
  t.teardown(() => other.close());
  const store = await open();
  await other.append('email-1', -1, [anEvent('other')]);
  log.append('order-1', 'any', [
    { id: '1', type: 'Order', contentType: 'text', data: new Uint8Array(3), meta: new Uint8Array(0) },
  ]);
  t.equal(await store.head(), 0);
  t.same(await store.readStream('email-1'), []);
  const done = await store.append('email-1', -1, [anEvent('ours')]);
  await other.append('email-2', -1, [anEvent('other')]);
  t.equal(await store.head(), done.kind === 'done' ? done.position : -1);
  t.same(
    (await takeEvents(store.readAll(0), 9)).map(({ data }) => data),
    ['"ours"'],
  );
  t.equal((await takeEvents(other.readAll(0), 9)).length, 2);
  t.same([...(await store.types()).keys()], ['EmailQueued.v1']);
});

void t.test('the place just before an event is one from which that event is read', async (t) => {
  const { open } = await world(t);
  const store = await open();
  for (let index = 0; index < 3; index += 1) await store.append(`email-${index}`, -1, [anEvent('x')]);
  const [first, second, third] = await takeEvents(store.readAll(0), 3);
  const before = second!.position - 1;
  t.ok(before > first!.position);
  t.same(await takeEvents(store.readAll(before), 9), [second, third]);
  const { signal } = new AbortController();
  t.same(await takeEvents(store.subscribeAll(before, { signal, batchSize: 1 }), 2), [second, third]);
  t.same(await takeEvents(store.subscribeAll(before, { signal, kinds: ['email'] }), 2), [second, third]);
});

void t.test('a server that ends filtered readings early, or finds nothing at once, hides no event', async (t) => {
  const log = openServerLog();
  const server = await openStandIn({ log, readsEndAfter: 10 });
  t.teardown(server.close);
  const store = await openAt(server.url);
  t.teardown(() => store.close());
  for (let index = 0; index < 60; index += 1)
    await store.append(`${index % 30 === 5 ? 'template' : 'email'}-${index}`, -1, [anEvent('x')]);
  for (let index = 0; index < 30; index += 1)
    log.append('order-1', 'any', [
      { id: `${index}`, type: 'Order', contentType: 'text', data: new Uint8Array(3), meta: new Uint8Array(0) },
    ]);
  const all = await takeEvents(store.readAll(0), 99);
  t.equal(all.length, 60);
  t.equal(await store.head(), all.at(-1)!.position);
  t.equal((await takeEvents(store.readAll(0, { kinds: ['template'] }), 99)).length, 2);
  const again = await openAt(server.url);
  t.teardown(() => again.close());
  t.equal(await again.head(), all.at(-1)!.position, 'a log behind many events of others is not taken for empty');
});
