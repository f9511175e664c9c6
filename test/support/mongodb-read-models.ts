/** Tests of projections once more, with their documents on a server of MongoDB's protocol. */
import t from 'tap';
import { openMongo } from '../../src/adapters/mongodb/client.js';
import { openMongoReadModels } from '../../src/adapters/read-models/mongodb.js';
import type { Logger } from '../../src/domain/ports/logger.js';
import { useReadModels } from './ports-of-tests.js';
import { isThere, mongoServer } from './servers.js';

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };

/**
 * Registers the tests of a file, whose read models are opened on a server, or one that says that there is no server.
 */
export const onMongoReadModels = async (register: () => Promise<unknown>): Promise<void> => {
  useReadModels(async (t) => {
    const server = await mongoServer(t);
    if (server === undefined) throw new Error('there is no server');
    return openMongoReadModels({
      mongo: await openMongo({ url: server.url, logger: silent }),
      clock: { now: Date.now },
      logger: silent,
    });
  });
  if (isThere('mongodb')) await register();
  else void t.test('documents on MongoDB', async (t) => void (await mongoServer(t)));
};
