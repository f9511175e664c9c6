/** The bus on a real NATS server against the contract of every bus, and what is its own. */
import { fileURLToPath } from 'node:url';
import { connect, DiscardPolicy, RetentionPolicy } from 'nats';
import t, { type Test } from 'tap';
import { readNatsUrl, openNatsBus } from '../../../src/adapters/bus/nats.js';
import { systemClock } from '../../../src/adapters/clock/system.js';
import { priorities, type Bus, type Pointer, type Work } from '../../../src/domain/ports/bus.js';
import type { Clock } from '../../../src/domain/ports/clock.js';
import { busSuite } from '../../contracts/bus-suite.js';
import { keptLog } from '../../support/kept-log.js';
import { startNatsWith } from '../../support/nats-with.js';
import { natsServer, ownNatsServer, type TestServer } from '../../support/servers.js';
import { openSlowNats } from '../../support/slow-nats.js';
import { eventually, pause } from '../../support/wait.js';

const clock = systemClock();
const never = new AbortController().signal;

const openOn = async (
  t: Test,
  { url, place }: TestServer,
  pointersMax = 1_000,
  logger = keptLog().logger,
): Promise<Bus> => {
  const bus = await openNatsBus({ url: `${url}?prefix=${place}`, clock, logger, pointersMax });
  t.teardown(() => bus.close());
  return bus;
};

const pointers = (count: number, more: Partial<Pointer> = {}): readonly Pointer[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `${more.team ?? 'a'}${at}`,
    stream: `email-${at}`,
    priority: 'normal' as const,
    ...more,
  }));

/** Acknowledges whatever comes. Out: the ids that were given out. */
const follow = (t: Test, bus: Bus, maxInFlight = 16): string[] => {
  const ids: string[] = [];
  const stopping = new AbortController();
  t.teardown(() => stopping.abort());
  const run = async (): Promise<void> => {
    for await (const work of bus.consume('p', { maxInFlight, signal: stopping.signal })) {
      ids.push(work.pointer.id);
      // A pointer whose acknowledgement did not reach the server is delivered again.
      void work.ack().catch(() => {});
    }
  };
  void run();
  return ids;
};

const take = async (work: AsyncIterator<Work>): Promise<Work> => {
  const next = await work.next();
  if (next.done === true) throw new Error('the work ended');
  return next.value;
};

const consumeOne = (bus: Bus, maxInFlight = 1): AsyncIterator<Work> =>
  bus.consume('p', { maxInFlight, signal: never })[Symbol.asyncIterator]();

void t.test('the contract', async (t) => {
  const server = await natsServer(t);
  if (server === undefined) return;
  let shiftedMs = 0;
  let opened = 0;
  const shifted = { ...clock, now: () => clock.now() + shiftedMs };
  busSuite(t, {
    open: ({ pointersMax }) => {
      opened += 1;
      const url = `${server.url}?prefix=${server.place}x${opened}`;
      return openNatsBus({ url, clock: shifted, logger: keptLog().logger, pointersMax });
    },
    now: shifted.now,
    // The server's time cannot be moved.
    pass: pause,
    shift: (ms) => {
      shiftedMs += ms;
    },
  });
});

void t.test('two processes share the work of one processor, and each pointer is given to one of them', async (t) => {
  const server = await natsServer(t);
  if (server === undefined) return;
  const [one, other] = [await openOn(t, server), await openOn(t, server)];
  const ids = [follow(t, one), follow(t, other)];
  t.same(await one.publish('p', pointers(300)), []);
  t.same(await other.publish('p', pointers(300, { team: 'b' })), []);
  await eventually('all is acknowledged', async () => (await one.depth('p')) === 0);
  t.same(ids.flat().sort(), [...pointers(300), ...pointers(300, { team: 'b' })].map(({ id }) => id).sort());
  t.ok(ids.every(({ length }) => length > 0));
});

void t.test('the room of a priority is shared by all processes, and grows no further', async (t) => {
  const server = await natsServer(t);
  if (server === undefined) return;
  const [one, other] = [await openOn(t, server, 100), await openOn(t, server, 100)];
  t.equal((await one.publish('p', pointers(150))).length, 50, 'the room is full');
  t.equal((await other.publish('p', pointers(150, { team: 'b' }))).length, 50, 'which another process finds out');
  t.equal((await other.publish('p', pointers(10, { team: 'c' }))).length, 10);
  t.equal(await one.depth('p'), 200);
  const ids = follow(t, one);
  await other.whenRoom('p', { priority: 'normal', team: 'c' }, never);
  t.ok(ids.length >= 150, `${ids.length} were done before half of it was free`);
  t.same(await other.publish('p', pointers(10, { team: 'c' })), []);
});

void t.test('in what is pulled ahead teams take turns', async (t) => {
  const server = await natsServer(t);
  if (server === undefined) return;
  const bus = await openOn(t, server, 100);
  await bus.publish('p', [...pointers(10, { team: 'a' }), ...pointers(2, { team: 'b' })]);
  const work = consumeOne(bus, 100);
  const first = await take(work);
  await eventually('all is pulled', async () => (await bus.depth('p')) === 12);
  const ids = [first.pointer.id];
  while (ids.length < 5) ids.push((await take(work)).pointer.id);
  t.ok(ids.includes('b0') && ids.includes('b1'), ids.join());
});

void t.test('what was pulled ahead goes to others at once when its consumer ends', async (t) => {
  const server = await natsServer(t);
  if (server === undefined) return;
  const [one, other] = [await openOn(t, server), await openOn(t, server)];
  await one.publish('p', pointers(30));
  const taken = await take(consumeOne(one, 30));
  await taken.ack();
  await one.close();
  const ids = follow(t, other);
  await eventually('the others are given out', () => ids.length === 29);
});

void t.test(
  'a server that is killed and comes back: nothing is taken meanwhile, and all that was is delivered',
  async (t) => {
    const server = await ownNatsServer(t);
    if (server === undefined) return;
    const { logger, lines } = keptLog();
    const bus = await openOn(t, server, 10_000, logger);
    t.same(await bus.publish('p', pointers(300)), []);
    const ids = follow(t, bus, 4);
    await eventually('some are done', () => ids.length > 100);
    await server.kill();
    await eventually('the bus knows', () => lines.length === 1);
    const more = pointers(5, { team: 'b' });
    t.same(await bus.publish('p', more), more);
    let hasRoom = false;
    const room = bus.whenRoom('p', { priority: 'normal' }, never).then(() => (hasRoom = true));
    t.notOk(hasRoom);
    await server.restart();
    await room;
    t.same(await bus.publish('p', more), []);
    await eventually('all is done', () => new Set(ids).size === 305, 60_000);
    t.equal(lines.length, 2, 'that it went and that it came back');
  },
);

void t.test('a server whose directory is wiped is given its streams and consumers again', async (t) => {
  const server = await ownNatsServer(t);
  if (server === undefined) return;
  const bus = await openOn(t, server);
  const ids = follow(t, bus);
  await bus.publish('p', pointers(100));
  await eventually('some are done', () => ids.length > 10);
  await server.wipe();
  const more = pointers(100, { team: 'b' });
  await eventually('it takes pointers again', async () => (await bus.publish('p', more)).length === 0);
  await eventually('and delivers them', () => more.every(({ id }) => ids.includes(id)));
});

void t.test('streams that somebody deletes are made again', async (t) => {
  const server = await ownNatsServer(t);
  if (server === undefined) return;
  const bus = await openOn(t, server);
  const ids = follow(t, bus);
  await bus.publish('p', pointers(1));
  await eventually('it is done', () => ids.length === 1);
  const connection = await connect({ servers: server.url });
  const manager = await connection.jetstreamManager();
  for (const stream of ['WORK', 'PARKED']) await manager.streams.delete(`${server.place.toUpperCase()}_${stream}`);
  await connection.close();
  t.same(await bus.publish('p', pointers(10, { team: 'b' })), []);
  await eventually('the new ones come', () => ids.length === 11);
});

void t.test('a frozen server: publishing answers that there is no room, work comes when it goes on', async (t) => {
  const server = await ownNatsServer(t);
  if (server === undefined) return;
  const bus = await openOn(t, server);
  const ids = follow(t, bus);
  await bus.publish('p', pointers(1));
  await eventually('it is done', () => ids.length === 1);
  server.freeze();
  const more = pointers(3, { team: 'b' });
  t.same(await bus.publish('p', more), more);
  server.resume();
  await eventually('it takes pointers again', async () => (await bus.publish('p', more)).length === 0);
  await eventually('they come', () => more.every(({ id }) => ids.includes(id)));
});

void t.test('a server that takes nothing, though there is room, is not asked again and again', async (t) => {
  const server = await natsServer(t);
  if (server === undefined) return;
  const connection = await connect({ servers: server.url });
  const manager = await connection.jetstreamManager();
  const [name, subjects] = [`${server.place.toUpperCase()}_WORK`, [`${server.place}.work.>`]];
  await manager.streams.add({
    name,
    subjects,
    discard: DiscardPolicy.New,
    max_msgs: 2,
    retention: RetentionPolicy.Workqueue,
  });
  await connection.close();
  const { logger, lines } = keptLog();
  const bus = await openOn(t, server, 1_000, logger);
  const given = pointers(4);
  t.equal((await bus.publish('p', given)).length, 2);
  t.equal((await bus.publish('p', given)).length, 4);
  t.same(lines, ['the NATS server takes no pointers: work waits until it does']);
  const refusedMs = clock.monotonic();
  await bus.whenRoom('p', { priority: 'normal' }, never);
  t.ok(clock.monotonic() - refusedMs > 500);
});

void t.test('a pause outlasts a restart of the server', async (t) => {
  const server = await ownNatsServer(t);
  if (server === undefined) return;
  const bus = await openOn(t, server);
  await bus.publish('p', pointers(1));
  const work = consumeOne(bus, 4);
  await (await take(work)).retryAt(clock.now() + 3_600_000 * 48);
  await server.kill();
  await server.restart();
  await eventually(
    'it takes pointers again',
    async () => (await bus.publish('p', pointers(1, { team: 'b' }))).length === 0,
  );
  const next = await take(work);
  t.equal(next.pointer.team, 'b');
  await next.ack();
  t.equal(await bus.depth('p'), 1);
});

void t.test('what a killed process holds is given to another within 15 seconds', async (t) => {
  const server = await natsServer(t);
  if (server === undefined) return;
  const relay = await openSlowNats({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
  t.teardown(relay.close);
  const one = await openOn(t, { ...server, url: `nats://127.0.0.1:${relay.port}` });
  const other = await openOn(t, server);
  t.same(await one.publish('p', pointers(2)), []);
  const taken = await take(consumeOne(one));
  await relay.close();
  const killedMs = clock.monotonic();
  const ids = follow(t, other);
  await eventually('both come', () => ids.length === 2, 20_000);
  t.ok(ids.includes(taken.pointer.id), 'that in work, and that which was pulled ahead');
  t.ok(clock.monotonic() - killedMs < 15_000, `after ${clock.monotonic() - killedMs} ms`);
});

void t.test(
  'a server that is slow to make consumers: few are asked for, in turns, and a reconnect asks for none',
  async (t) => {
    const server = await ownNatsServer(t);
    if (server === undefined) return;
    const slow = await openSlowNats({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
    t.teardown(slow.close);
    // Ten of its seconds are one of ours, so that it waits as long for a slow server as it does, in a tenth of the
    // time.
    const quick: Clock = {
      ...clock,
      monotonic: () => clock.monotonic() * 10,
      sleep: (ms, signal) => clock.sleep(ms / 10, signal),
    };
    const { logger, lines } = keptLog();
    const url = `nats://127.0.0.1:${slow.port}?prefix=${server.place}`;
    const bus = await openNatsBus({ url, clock: quick, logger, pointersMax: 1_000 });
    t.teardown(() => bus.close());
    const ids = follow(t, bus);
    slow.slow(600);
    const teams = ['a', 'b', 'c'];
    const publishAll = async (source: string): Promise<void> => {
      for (const team of teams)
        await bus.publish(
          'p',
          pointers(20, { team, source }).map((one) => ({ ...one, id: `${source}-${one.id}` })),
        );
    };
    await publishAll('x');
    await eventually('all is delivered', () => new Set(ids).size === 60, 15_000);
    const first = slow.asked();
    t.equal(first.of['CONSUMER.CREATE'], priorities.length, 'a consumer for each priority');
    t.ok(first.mostAtOnce <= 2, `${first.mostAtOnce} requests at once`);
    slow.cut();
    await eventually('the bus knows', () => lines.length === 2);
    await publishAll('y');
    await eventually('all is delivered again', () => new Set(ids).size === 120, 15_000);
    t.same(slow.asked().of, {}, 'consumers are kept over a reconnect');
    t.equal(lines.length, 2, 'a slow answer is no absence');
  },
);

void t.test('parked work is kept, listed and released', async (t) => {
  const server = await natsServer(t);
  if (server === undefined) return;
  const { logger, lines } = keptLog();
  const bus = await openOn(t, server, 100, logger);
  const given = pointers(2, { team: 'a', source: 'relay', sender: 'key' });
  await bus.publish('p', given);
  const work = consumeOne(bus);
  await (await take(work)).park('poison');
  await (await take(work)).park('more poison');
  t.equal(await bus.depth('p'), 0);
  t.same(lines, ['work was parked', 'work was parked']);
  const { list, release } = (await openOn(t, server)).parked!;
  const parked = [];
  for await (const one of list()) parked.push(one);
  t.match(parked, [
    { processor: 'p', pointer: given[0]!, deliveries: 1, reason: 'poison' },
    { processor: 'p', pointer: given[1]!, deliveries: 1, reason: 'more poison' },
  ]);
  t.equal(await release({ processor: 'p', id: 'unknown' }), false);
  t.equal(await release({ processor: 'p', id: given[1]!.id }), true);
  t.equal(await release({ processor: 'p', id: given[1]!.id }), false, 'it is not parked any more');
  const again = await take(work);
  t.same(again.pointer, given[1]);
  await again.ack();
});

void t.test('without a server, without JetStream, or with a URL that says something else, nothing opens', async (t) => {
  const open = (url: string) => openNatsBus({ url, clock, logger: keptLog().logger, pointersMax: 10 });
  await t.rejects(
    open('nats://u:secret@127.0.0.1:1'),
    /^SEALPOST_BUS_URL: no NATS server can be used at 127\.0\.0\.1:1 \(CONNECTION_REFUSED\)/,
  );
  for (const [url, why] of [
    ['http://u:secret@localhost', /SEALPOST_BUS_URL=http:\/\/…@localhost has no scheme of NATS/],
    ['nats://u:secret@', /names no host/],
    ['nats://u:secret@localhost?prefix=a.b', /prefix that is not made of/],
    ['nats://u:secret@localhost?replicas=9', /no number from 1 to 5/],
    ['nats://u:secret@localhost?domain=x', /has a parameter domain/],
  ] as const) {
    await t.rejects(open(url), why);
    await open(url).catch((fault: Error) => t.notMatch(fault.message, /secret/));
  }
});

void t.test('TLS and credentials come from the URL', async (t) => {
  if ((await ownNatsServer(t)) === undefined) return;
  const file = (name: string): string =>
    fileURLToPath(new URL(`../../../../test/support/tls/${name}.pem`, import.meta.url));
  const port = await startNatsWith(
    t,
    `tls { cert_file: "${file('valid')}", key_file: "${file('key')}" }\nauthorization { users = [ { user: "us@er", password: "p:w/d" } ] }`,
  );
  const open = (scheme: string, rest: string) =>
    openNatsBus({
      url: `${scheme}://${rest.replace('HOST', `localhost:${port}`)}`,
      clock,
      logger: keptLog().logger,
      pointersMax: 10,
    });
  for (const scheme of ['nats', 'tls']) {
    const bus = await open(scheme, `us%40er:p%3Aw%2Fd@HOST?ca=${file('valid')}`);
    t.same(await bus.publish('p', pointers(1, { id: scheme })), []);
    await bus.close();
  }
  await t.rejects(
    open('tls', `us%40er:wrong@HOST?ca=${file('valid')}`),
    /^SEALPOST_BUS_URL: no NATS server can be used at .*Authorization Violation/,
  );
  await t.rejects(open('tls', 'us%40er:p%3Aw%2Fd@HOST'), /self-signed certificate/);
  await t.rejects(open('nats', `HOST?creds=${file('nowhere')}`), /SEALPOST_BUS_URL: /);
  const plain = await startNatsWith(t, '');
  await t.rejects(
    openNatsBus({ url: `tls://127.0.0.1:${plain}`, clock, logger: keptLog().logger, pointersMax: 10 }),
    /it offers no TLS/,
  );
});

void t.test('a URL names servers, credentials, TLS and the prefix', async (t) => {
  t.match(readNatsUrl('nats://some%40one:p%3Aw@a:4222,b:4223?prefix=mail&replicas=3'), {
    servers: ['a:4222', 'b:4223'],
    user: 'some@one',
    pass: 'p:w',
    prefix: 'mail',
    replicas: 3,
    tls: undefined,
  });
  t.match(readNatsUrl('tls://token@a'), {
    servers: ['a'],
    token: 'token',
    user: undefined,
    tls: {},
    prefix: 'sealpost',
    replicas: 1,
  });
  t.match(readNatsUrl('nats://a/?ca=/ca.pem&creds=/x.creds'), { tls: { caFile: '/ca.pem' }, credentials: '/x.creds' });
});
