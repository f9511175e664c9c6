/** Every test of projections once more, with their documents on a server of MongoDB's protocol. */
import t from 'tap';
import { openMongo } from '../../src/adapters/mongodb/client.js';
import { openMongoReadModels } from '../../src/adapters/read-models/mongodb.js';
import type { Logger } from '../../src/domain/ports/logger.js';
import { useReadModels } from '../support/ports-of-tests.js';
import { isThere, mongoServer } from '../support/servers.js';

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };

useReadModels(async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) throw new Error('there is no server');
  return openMongoReadModels({ mongo: await openMongo({ url: server.url, logger: silent }), clock: { now: Date.now }, logger: silent });
});

if (isThere('mongodb')) {
  await import('./assets.test.js');
  await import('./emails.test.js');
  await import('./queries.test.js');
  await import('./runner.test.js');
} else void t.test('documents on MongoDB', async (t) => void (await mongoServer(t)));
