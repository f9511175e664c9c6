/**
 * One client for each URL, and what is said of a MongoDB that cannot be used: the setting and the host, nothing of the
 * credentials.
 */
import { createServer, type Server } from 'node:net';
import t, { type Test } from 'tap';
import { systemClock } from '../../../src/adapters/clock/system.js';
import { openMongoFiles } from '../../../src/adapters/files/gridfs.js';
import { openMongoKeys } from '../../../src/adapters/keys/mongodb.js';
import { MongoUnusable, openMongo } from '../../../src/adapters/mongodb/client.js';
import { openMongoReadModels } from '../../../src/adapters/read-models/mongodb.js';
import { StoreAway } from '../../../src/domain/core/errors.js';
import type { LogFields, Logger } from '../../../src/domain/ports/logger.js';
import { mongoServer } from '../../support/servers.js';
import { openTcpRelay } from '../../support/tcp-relay.js';

const PASSWORD = 'hunter2secret';
const setting = 'SEALPOST_READ_MODELS_URL';

type Line = Readonly<{ fields: LogFields; message: string }>;

const recording = (): Readonly<{ logger: Logger; lines: readonly Line[] }> => {
  const lines: Line[] = [];
  const write = (fields: LogFields, message: string): void => void lines.push({ fields, message });
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  return { logger, lines };
};

const listening = async (t: Test, server: Server): Promise<number> => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('no port');
  return address.port;
};

const refusal = async (url: string): Promise<Error> => {
  const { logger } = recording();
  return openMongo({ url, setting, logger }).then(
    () => new Error('it was opened'),
    (error: unknown) => error as Error,
  );
};

void t.test('a URL that is none is refused, with the setting and an example', async (t) => {
  for (const url of [
    `http://user:${PASSWORD}@db.example.com`,
    `mongodb://user:${PASSWORD}@`,
    `mongodb://user:p@ss:${PASSWORD}@db.example.com:99999999/x`,
    `mongodb://user:${PASSWORD}@db.example.com/x?tls=perhaps`,
    '',
  ]) {
    const error = await refusal(url);
    t.type(error, MongoUnusable, url);
    t.match(error.message, new RegExp(`${setting} is no connection string of MongoDB; write for example mongodb://`));
    t.notMatch(error.message, PASSWORD);
  }
});

void t.test('a server that is away is named by its host', async (t) => {
  const port = await listening(
    t,
    createServer((socket) => void socket.destroy()),
  );
  const hosts = `127.0.0.1:${port},127.0.0.1:1`;
  const error = await refusal(`mongodb://user:${PASSWORD}@${hosts}/mail?replicaSet=rs0&serverSelectionTimeoutMS=200`);
  t.type(error, MongoUnusable);
  t.match(error.message, `MongoDB at ${hosts} cannot be used: `);
  t.match(error.message, `the server that ${setting} names.`);
  t.notMatch(error.message, PASSWORD);
  const again = await refusal(`mongodb://user:${PASSWORD}@${hosts}/mail?replicaSet=rs0&serverSelectionTimeoutMS=200`);
  t.type(again, MongoUnusable, 'a second attempt is made anew');
});

const { SEALPOST_TEST_MONGODB_URL: url, CI } = process.env;

void t.test('keys, files and read models whose server is away say so, whatever they are asked', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const { hostname, port, pathname } = new URL(server.url);
  const relay = await openTcpRelay({ host: hostname, port: Number(port) });
  const there = `mongodb://127.0.0.1:${relay.port}${pathname}?directConnection=true&serverSelectionTimeoutMS=1500`;
  const { logger } = recording();
  const keys = await openMongoKeys({ url: there, logger, masterKey: Buffer.alloc(32, 1) });
  const files = await openMongoFiles({ url: there, logger });
  const mongo = await openMongo({ url: there, logger });
  const readModels = openMongoReadModels({ mongo, clock: systemClock(), logger });
  t.teardown(() => Promise.all([keys.close(), files.close(), readModels.close()]));
  const { id } = await keys.create();
  const store = await readModels.projection('away', [{ name: 'things', version: 1, fields: [], indexes: [] }]);
  await relay.close();

  const takeAll = async (): Promise<void> => {
    for (;;) await keys.create();
  };
  await t.rejects(takeAll(), StoreAway, 'when those that were made ahead are used up');
  await t.rejects(async () => keys.getMany([id]), StoreAway);
  await t.rejects(keys.destroy([id]), StoreAway);
  await t.rejects(files.put(Buffer.from('a')), StoreAway);
  await t.rejects(files.get('a'.repeat(64)), StoreAway);
  await t.rejects(readModels.find('things', { where: {}, limit: 1 }), StoreAway);
  // A list that waits for what its caller has written asks the store of the projection.
  await t.rejects(store.checkpoint(), StoreAway);
  await t.rejects(store.getMany('things', ['a']), StoreAway);
  await t.rejects(files.get('no hash'), RangeError, 'other faults are what they were');
});

void t.test(
  'everybody who opens a URL shares its client until all have closed it',
  { skip: url === undefined && CI !== '1' },
  async (t) => {
    if (url === undefined) throw new Error('SEALPOST_TEST_MONGODB_URL is not set');
    const { logger } = recording();
    const [one, two] = await Promise.all([openMongo({ url, logger }), openMongo({ url, logger })]);
    t.equal(one.db.client, two.db.client);
    t.equal(one.db.writeConcern?.w, 'majority');
    t.equal(one.db.databaseName, /^[^/]+\/\/[^/]+\/([^?]+)/.exec(url)?.[1] ?? 'sealpost');
    await one.close();
    await one.close();
    t.same((await two.db.command({ ping: 1 }))['ok'], 1, 'one that is closed twice leaves the others theirs');
    await two.close();
    await t.rejects(two.db.command({ ping: 1 }));
    const three = await openMongo({ url, logger });
    t.teardown(() => three.close());
    t.same((await three.db.command({ ping: 1 }))['ok'], 1);
  },
);
