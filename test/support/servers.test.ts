/**
 * The servers of the tests: they answer, places are apart and go with their test, and one of a test's own comes back
 * after each fault.
 */
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { connect, type NatsConnection } from 'nats';
import t from 'tap';
import { mongoServer, natsServer, ownMongoServer, ownNatsServer, ownRedisServer, redisServer } from './servers.js';
import { eventually } from './wait.js';

void t.test('MongoDB: a place of its own, which goes with its test', async (t) => {
  const outer = await mongoServer(t);
  if (outer === undefined) return;
  const client = new MongoClient(outer.url);
  t.teardown(() => client.close());
  let inner = '';
  await t.test('one more test', async (t) => {
    inner = (await mongoServer(t))!.place;
    await client.db(inner).collection<{ _id: string }>('x').insertOne({ _id: 'a' });
  });
  t.not(inner, outer.place);
  t.equal(await client.db(inner).collection('x').countDocuments(), 0);
});

void t.test('Redis: a prefix of its own, which goes with its test', async (t) => {
  const outer = await redisServer(t);
  if (outer === undefined) return;
  const client = new Redis(outer.url);
  t.teardown(() => client.disconnect());
  await client.set(`${outer.place}kept`, '1');
  let inner = '';
  await t.test('one more test', async (t) => {
    inner = (await redisServer(t))!.place;
    await client.set(`${inner}x`, '1');
  });
  t.same(await client.mget(`${inner}x`, `${outer.place}kept`), [null, '1']);
});

void t.test('NATS: names of streams of its own, which go with its test', async (t) => {
  const outer = await natsServer(t);
  if (outer === undefined) return;
  const connection = await connect({ servers: outer.url });
  t.teardown(() => connection.close());
  const manager = await connection.jetstreamManager();
  let inner = '';
  await t.test('one more test', async (t) => {
    inner = (await natsServer(t))!.place;
    await manager.streams.add({ name: `${inner}x`, subjects: [`${inner}.>`] });
  });
  for await (const name of manager.streams.names()) t.notOk(name.startsWith(inner));
});

void t.test(
  'a MongoDB of its own keeps what it acknowledged when it is killed, and waits while it is frozen',
  async (t) => {
    const server = await ownMongoServer(t);
    if (server === undefined) return;
    const client = new MongoClient(server.url, { serverSelectionTimeoutMS: 20_000 });
    t.teardown(() => client.close());
    const collection = client.db(server.place).collection<{ _id: string }>('x');
    await collection.insertOne({ _id: 'a' });
    await server.kill();
    await server.restart();
    await eventually('it answers again', async () => (await collection.countDocuments()) === 1);
    server.freeze();
    const late = collection.insertOne({ _id: 'b' });
    server.resume();
    t.match(await late, { acknowledged: true });
  },
);

void t.test('a Redis of its own keeps its data when it is killed, and loses it when it is wiped', async (t) => {
  const server = await ownRedisServer(t);
  if (server === undefined) return;
  const client = new Redis(server.url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on('error', () => {});
  t.teardown(() => client.disconnect());
  await client.set('x', '1');
  await server.kill();
  await server.restart();
  t.equal(await client.get('x'), '1');
  await server.wipe();
  t.equal(await client.get('x'), null);
});

void t.test('a NATS of its own comes back under its address, with its streams until it is wiped', async (t) => {
  const server = await ownNatsServer(t);
  if (server === undefined) return;
  const streams = async (): Promise<number> => {
    const connection: NatsConnection = await connect({ servers: server.url });
    try {
      const { streams } = await (await connection.jetstreamManager()).getAccountInfo();
      return streams;
    } finally {
      await connection.close();
    }
  };
  const connection = await connect({ servers: server.url });
  await (await connection.jetstreamManager()).streams.add({ name: server.place, subjects: [`${server.place}.>`] });
  await connection.close();
  await server.kill();
  await server.restart();
  t.equal(await streams(), 1);
  await server.wipe();
  t.equal(await streams(), 0);
});
