/** The log of calls in memory, in a file, and on a real server of MongoDB's protocol, against one contract. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openMongo } from '../../../src/adapters/mongodb/client.js';
import { openMongoRequestLog, requestLogOn } from '../../../src/adapters/request-log/mongodb.js';
import { openSqliteRequestLog } from '../../../src/adapters/request-log/sqlite.js';
import type { RequestLog } from '../../../src/domain/ports/request-log.js';
import { readConfig } from '../../../src/service/settings/config.js';
import { openRequestLog } from '../../../src/service/stores/stores.js';
import { requestLogSuite } from '../../contracts/request-log-suite.js';
import { temporaryDirectory } from '../../support/data-directory.js';
import { memoryLog, memoryRequestLog } from '../../support/memory-ports.js';
import { mongoServer } from '../../support/servers.js';

void t.test('the contract, in memory', async (t) => {
  const stores = new Map<string, RequestLog>();
  requestLogSuite(t, {
    open: async (store, callsMax) => {
      const opened = stores.get(store) ?? memoryRequestLog(callsMax);
      stores.set(store, opened);
      return opened;
    },
  });
});

void t.test('the contract, in a file', async (t) => {
  const root = temporaryDirectory(t);
  requestLogSuite(t, {
    open: async (store, callsMax) => openSqliteRequestLog({ file: join(root, `${store}.db`), callsMax }),
  });
});

void t.test('the contract, on MongoDB', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  requestLogSuite(t, {
    open: async (collection, callsMax) => {
      const { db, close } = await openMongo({ url: server.url, logger: memoryLog() });
      return requestLogOn(db, close, { callsMax, days: 7, collection });
    },
  });
});

void t.test('the server deletes calls by their age, also after the days were changed', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const { db, close } = await openMongo({ url: server.url, logger: memoryLog() });
  t.teardown(close);
  const expiresAfterS = async () => {
    const indexes = await db.collection('requestLog').indexes();
    return indexes.find(({ key }) => key['at'] === 1)?.['expireAfterSeconds'] as unknown;
  };
  for (const days of [7, 3]) {
    const log = await openMongoRequestLog({ url: server.url, logger: memoryLog() }, { callsMax: 10, days });
    t.equal(Number(await expiresAfterS()), days * 86_400);
    await log.close();
  }
});

void t.test('a damaged file is replaced at the start', async (t) => {
  const dataDir = temporaryDirectory(t);
  const config = readConfig({ SEALPOST_DATA_DIR: dataDir });
  writeFileSync(
    join(dataDir, 'request-log.db'),
    'no database, but long enough to look like one at first sight'.repeat(99),
  );
  const logger = memoryLog();
  const log = await openRequestLog(config, { logger });
  t.teardown(log.close);
  t.equal(await log.count('0192f3c0-0000-7000-8000-000000000001', {}, 1), 0);
  t.match(logger.lines, [{ message: /begins anew/ }]);
});
