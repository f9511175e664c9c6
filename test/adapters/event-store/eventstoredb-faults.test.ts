/**
 * The event store on EventStoreDB while its server is killed, frozen, slow, or another node becomes the leader; and
 * over TLS.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import {
  EventStoreAway,
  EventStoreDenied,
  openEventStoreDb,
  type EventStoreDbTimes,
} from '../../../src/adapters/event-store/eventstoredb.js';
import { systemClock } from '../../../src/adapters/clock/system.js';
import type { EventStore, EventToStore } from '../../../src/domain/ports/event-store.js';
import { anEvent, takeEvents } from '../../contracts/event-store-suite.js';
import { temporaryDirectory } from '../../support/data-directory.js';
import { openServerLog } from '../../support/eventstoredb/log.js';
import { startStandInProcess, type StandInProcess } from '../../support/eventstoredb/process.js';
import { openStandIn } from '../../support/eventstoredb/server.js';
import { memoryLog } from '../../support/memory-ports.js';
import { eventually } from '../../support/wait.js';

const clock = systemClock();
const never = new AbortController().signal;

const openAt = async (t: Test, url: string, times: Partial<EventStoreDbTimes> = {}): Promise<EventStore> => {
  const store = await openEventStoreDb({ url, clock, logger: memoryLog(), times });
  t.teardown(() => store.close());
  return store;
};

type Load = Readonly<{
  /** How many appends are done. */
  done: () => number;
  /** Lets the appends under way come to their end; gives the ids of all that are done. */
  stop: () => Promise<ReadonlySet<string>>;
  unknown: () => number;
}>;

/** Appends to streams of its own in turn, each again under the same ids until it is done. */
const loadOn = (store: EventStore, name: string, writers = 10): Load => {
  const ids = new Set<string>();
  let isOver = false;
  let count = 0;
  let unknown = 0;
  let done = 0;
  const untilDone = async (stream: string, events: readonly EventToStore[]): Promise<void> => {
    for (;;) {
      // A rejection says that nothing was written.
      const outcome = await store.append(stream, -1, events).catch((): undefined => undefined);
      if (outcome?.kind === 'done') return;
      if (outcome?.kind === 'conflict') throw new Error(`its own events are no conflict: ${stream}`);
      if (outcome?.kind === 'unknown') unknown += 1;
      await clock.sleep(20, never);
    }
  };
  const write = async (): Promise<void> => {
    while (!isOver) {
      const events = [anEvent('a'), anEvent('b')];
      await untilDone(`email-${name}-${(count += 1)}`, events);
      for (const { eventId } of events) ids.add(eventId);
      done += 1;
    }
  };
  const writing = Promise.all(Array.from({ length: writers }, write));
  return {
    done: () => done,
    unknown: () => unknown,
    stop: async () => {
      isOver = true;
      await writing;
      return ids;
    },
  };
};

/** Follows the log until it has seen as many events as there are; throws where one comes twice. */
const follow = (store: EventStore) => {
  const stopping = new AbortController();
  const seen = new Set<string>();
  let reached = 0;
  const following = (async () => {
    for await (const { events, position } of store.subscribeAll(0, { signal: stopping.signal })) {
      if (position <= reached) throw new Error('the position of a batch must rise');
      reached = position;
      for (const { eventId } of events) {
        if (seen.has(eventId)) throw new Error(`seen twice: ${eventId}`);
        seen.add(eventId);
      }
    }
  })();
  return {
    seen,
    stop: () => {
      stopping.abort();
      return following;
    },
  };
};

const ofProcess = async (t: Test): Promise<StandInProcess> => {
  const server = await startStandInProcess(join(temporaryDirectory(t), 'log.jsonl'));
  t.teardown(server.kill);
  return server;
};

const whole = async (
  t: Test,
  store: EventStore,
  ids: ReadonlySet<string>,
  followed: ReturnType<typeof follow>,
): Promise<void> => {
  await eventually('the subscription has seen everything', () => followed.seen.size >= ids.size);
  await followed.stop();
  const read = await takeEvents(store.readAll(0), ids.size + 1);
  t.equal(read.length, ids.size, 'nothing twice');
  t.ok(
    read.every(({ eventId }) => ids.has(eventId)),
    'nothing lost',
  );
  t.equal(followed.seen.size, ids.size);
};

void t.test('a server that is killed under load again and again loses nothing and has nothing twice', async (t) => {
  const server = await ofProcess(t);
  const [writer, reader] = [await openAt(t, server.url()), await openAt(t, server.url())];
  const load = loadOn(writer, 'killed');
  const followed = follow(reader);
  for (let round = 1; round <= 4; round += 1) {
    const before = load.done();
    await eventually('appends are done', () => load.done() > before + 30);
    await server.kill();
    await t.rejects(reader.readStream('email-1'), EventStoreAway);
    await server.start();
  }
  await whole(t, writer, await load.stop(), followed);
  t.ok(load.unknown() > 0, `${load.unknown()} were unknown`);
});

void t.test('a server that is frozen under load loses nothing and has nothing twice when it goes on', async (t) => {
  const server = await ofProcess(t);
  const times = { appendMs: 300, readMs: 300, connectMs: 300 };
  const [writer, reader] = [await openAt(t, server.url(), times), await openAt(t, server.url(), times)];
  const load = loadOn(writer, 'frozen');
  const followed = follow(reader);
  for (let round = 1; round <= 2; round += 1) {
    const before = load.done();
    await eventually('appends are done', () => load.done() > before + 30);
    const unknown = load.unknown();
    server.freeze();
    await eventually('appends are unknown', () => load.unknown() > unknown + 20);
    await t.rejects(reader.readStream('email-1'));
    server.goOn();
  }
  await whole(t, writer, await load.stop(), followed);
});

void t.test('a server that answers slowly is waited for', async (t) => {
  const server = await openStandIn({ log: openServerLog(), fate: () => clock.sleep(150, never) });
  t.teardown(server.close);
  const store = await openAt(t, server.url);
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, index) => store.append(`email-${index}`, -1, [anEvent('x')])),
  );
  t.ok(outcomes.every(({ kind }) => kind === 'done'));
});

void t.test('another leader is found, and what was under way is done once', async (t) => {
  const log = openServerLog();
  let leaderIs = 0;
  const ports: number[] = [];
  const leader = (node: number) => () =>
    node === leaderIs ? undefined : { host: '127.0.0.1', port: ports[leaderIs]! };
  const members = () => ports.map((port, node) => ({ port, isLeader: node === leaderIs }));
  const nodes = [
    await openStandIn({ log, leader: leader(0), members }),
    await openStandIn({ log, leader: leader(1), members }),
  ];
  for (const { port, close } of nodes) {
    ports.push(port);
    t.teardown(close);
  }
  const store = await openAt(t, `esdb://127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}?tls=false`);
  const load = loadOn(store, 'moved', 3);
  const followed = follow(store);
  await eventually('appends are done', () => load.done() > 30);
  leaderIs = 1;
  t.ok((await store.head()) > 0, 'reads go to the new leader');
  await nodes[0]!.close();
  const before = load.done();
  await eventually('appends go to the new leader', () => load.done() > before + 30);
  await whole(t, store, await load.stop(), followed);
  const found = await openAt(
    t,
    `esdb://127.0.0.1:1,127.0.0.1:${ports[1]}?tls=false&maxDiscoverAttempts=3&nodePreference=leader`,
  );
  t.equal(await found.head(), await store.head(), 'several addresses are asked for the leader');
});

const tlsDirectory = fileURLToPath(new URL('../../../../test/support/tls/', import.meta.url));

void t.test('over TLS, with credentials', async (t) => {
  const [key, certificate] = ['key.pem', 'valid.pem'].map((file) => readFileSync(join(tlsDirectory, file)));
  const tls = { key: key!, certificate: certificate!, user: 'sealpost', password: 's:cret@' };
  const server = await openStandIn({ log: openServerLog(), tls });
  t.teardown(server.close);
  const trusted = `tlsCAFile=${encodeURIComponent(join(tlsDirectory, 'valid.pem'))}`;
  const at = (user: string, query: string) => `kurrentdb://${user}@127.0.0.1:${server.port}${query}`;
  const store = await openAt(t, at('sealpost:s%3Acret%40', `?${trusted}`));
  t.match(await store.append('email-1', -1, [anEvent('x')]), { kind: 'done', revision: 0 });
  t.equal((await takeEvents(store.readAll(0), 2)).length, 1);
  await t.rejects(openAt(t, at('sealpost:wrong', `?${trusted}`)), EventStoreDenied);
  await t.rejects(openAt(t, at('sealpost:s%3Acret%40', '')), EventStoreAway, 'a certificate that nobody vouches for');
  await t.rejects(openAt(t, at('sealpost:s%3Acret%40', '?tlsCAFile=/nowhere.pem')), { message: /certificate file/ });
});
