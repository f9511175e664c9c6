/** The read models on a server of MongoDB's protocol. */
import t, { type Test } from 'tap';
import { openMongo } from '../../../src/adapters/mongodb/client.js';
import { openMongoReadModels } from '../../../src/adapters/read-models/mongodb.js';
import type { Logger } from '../../../src/domain/ports/logger.js';
import type { ReadModels } from '../../../src/domain/ports/read-models.js';
import { documentsSuite } from '../../contracts/read-models-suite.js';
import { dropMongoDatabase } from '../../support/server-places.js';
import { mongoServer, mongoUrlOf } from '../../support/servers.js';

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };
const clock = { now: Date.now };

void t.test('the contract', async (t: Test) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const databases = new Set<string>();
  const open = async (place: string): Promise<ReadModels> => {
    const database = `${server.place}_${place.replaceAll('-', '_')}`;
    databases.add(database);
    return openMongoReadModels({
      mongo: await openMongo({ url: mongoUrlOf(server.url, database), logger: silent }),
      clock,
      logger: silent,
    });
  };
  const close = async (): Promise<void> => {
    for (const database of databases) await dropMongoDatabase(server.url, database);
  };
  documentsSuite(t, { open, settle: async () => {}, close, isSlow: true });
});
