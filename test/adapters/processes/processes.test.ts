/** Processes tell of themselves in files and on a real server of MongoDB's protocol, against one contract. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openDirectoryProcesses, openMongoProcesses, processesOn } from '../../../src/adapters/processes/processes.js';
import { openMongo } from '../../../src/adapters/mongodb/client.js';
import { processesSuite } from '../../contracts/processes-suite.js';
import { temporaryDirectory } from '../../support/data-directory.js';
import { fakeClock } from '../../support/fake-clock.js';
import { memoryLog } from '../../support/memory-ports.js';
import { mongoServer } from '../../support/servers.js';

void t.test('the contract, in files', async (t) => {
  const clock = fakeClock();
  const root = temporaryDirectory(t);
  processesSuite(t, {
    open: async (store) => openDirectoryProcesses({ directory: join(root, store), clock }),
    pass: clock.advance,
  });
});

void t.test('the contract, on MongoDB, whose clock stands still until the test moves it', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const clock = fakeClock();
  processesSuite(t, {
    open: async (collection) => {
      const { db, close } = await openMongo({ url: server.url, logger: memoryLog() });
      return processesOn(db, { close, collection, serverNow: () => new Date(clock.now()) });
    },
    pass: clock.advance,
  });
});

void t.test('the clock of the server counts', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const processes = await openMongoProcesses({ url: server.url, logger: memoryLog() });
  t.teardown(processes.close);
  await processes.tell('0192f3c0-0000-7000-8000-000000000009', { n: 9 }, 600_000);
  t.same(await processes.read(), [{ n: 9 }]);
  await processes.forget('0192f3c0-0000-7000-8000-000000000009');
});

void t.test('files of killed processes, torn ones and those of others do no harm', async (t) => {
  const directory = temporaryDirectory(t);
  const clock = fakeClock();
  const processes = openDirectoryProcesses({ directory, clock });
  await processes.tell('0192f3c0-0000-7000-8000-000000000001', { n: 1 }, 1_000);
  writeFileSync(join(directory, '0192f3c0-0000-7000-8000-000000000002.json'), '{"endsAtMs": 99');
  writeFileSync(join(directory, '0192f3c0-0000-7000-8000-000000000003.json'), '[]');
  writeFileSync(join(directory, 'notes.txt'), 'mine');
  t.same(await processes.read(), [{ n: 1 }]);
  await clock.advance(1_000);
  t.same(await processes.read(), []);
  t.same(readdirSync(directory), ['notes.txt']);
});
