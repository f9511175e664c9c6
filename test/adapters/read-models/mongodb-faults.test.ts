/** Read models in MongoDB whose server is killed or frozen while documents are written. */
import t, { type Test } from 'tap';
import { openMongo } from '../../../src/adapters/mongodb/client.js';
import { openMongoReadModels } from '../../../src/adapters/read-models/mongodb.js';
import type { Logger } from '../../../src/domain/ports/logger.js';
import type { Document, ProjectionStore, ReadModels } from '../../../src/domain/ports/read-models.js';
import { anEmail, emailsSpec, timersSpec } from '../../contracts/read-models-fixtures.js';
import { ownMongoServer, type OwnServer } from '../../support/servers.js';
import { eventually } from '../../support/wait.js';

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };

const [EVENTS, BATCH] = [1_200, 20];
/** Each event makes an email, changes one and removes one before it, and puts a timer aside. */
const stateAt = (position: number): Document => ({
  ...anEmail(position, { text: `anna ${position}`, status: 'queued' }),
  position,
});
const changedAt = (position: number): Document => ({
  ...anEmail(position - 3, { text: `anna ${position - 3}`, status: 'sent' }),
  position,
});

/**
 * Writes batch after batch from the checkpoint, and again from where that is after each failure, as a projection does.
 * Out: how often it failed.
 */
const projectAll = async (store: ProjectionStore, onBatch: (position: number) => void): Promise<number> => {
  let failures = 0;
  for (;;) {
    try {
      for (;;) {
        const from = await store.checkpoint();
        if (from.position >= EVENTS) return failures;
        const positions = Array.from({ length: BATCH }, (_, at) => from.position + at + 1);
        const put = [...positions.map(stateAt), ...positions.filter((position) => position > 3).map(changedAt)];
        // One that the same batch makes and changes is put once.
        const last = new Map(put.map((document) => [document.id, document]));
        const remove = positions
          .filter((position) => position % 7 === 0)
          .map((position) => ({ id: anEmail(position - 5).id, position }));
        for (const { id } of remove) last.delete(id);
        const timers = positions.map((position) => ({
          id: `t${position % 50}`,
          seq: position,
          position,
          dueAt: position,
        }));
        const own = new Map(timers.map((timer) => [timer.id, timer]));
        const writes = [
          { collection: 'timers', put: [...own.values()], remove: [] },
          { collection: 'emails', put: [...last.values()], remove },
        ];
        const write = store.write(writes, from, from.position + BATCH);
        onBatch(from.position);
        await write;
      }
    } catch {
      failures += 1;
    }
  }
};

const opened = async (t: Test, server: OwnServer): Promise<ReadModels> => {
  const url = `${server.url}${server.url.includes('?') ? '&' : '?'}serverSelectionTimeoutMS=30000`;
  const readModels = openMongoReadModels({
    mongo: await openMongo({ url, logger: silent }),
    clock: { now: Date.now },
    logger: silent,
  });
  t.teardown(() => readModels.close());
  return readModels;
};

const documentsOf = async (readModels: ReadModels): Promise<readonly (readonly unknown[])[]> => {
  const emails = await readModels.find('emails', { where: {}, sort: { field: 'seq', direction: 'asc' }, limit: 5_000 });
  return emails.map(({ id, status, position }) => [id, status, position]);
};

void t.test(
  'a server that is killed in the middle of writes, and comes back: the documents are those of the events',
  async (t) => {
    const server = await ownMongoServer(t);
    if (server === undefined) return;
    const readModels = await opened(t, server);
    const store = await readModels.projection('emails', [timersSpec, emailsSpec]);
    let kills = 0;
    let killing = Promise.resolve();
    const failures = await projectAll(store, (position) => {
      if (kills >= 4 || position < (kills + 1) * (EVENTS / 6)) return;
      kills += 1;
      killing = killing.then(() => server.kill()).then(() => server.restart());
    });
    await killing;
    t.ok(failures > 0, 'writes were broken off');
    t.equal(kills, 4);
    const expected = new Map<string, readonly unknown[]>();
    for (let position = 1; position <= EVENTS; position += 1) {
      expected.set(anEmail(position).id, [anEmail(position).id, 'queued', position]);
      if (position > 3) expected.set(anEmail(position - 3).id, [anEmail(position - 3).id, 'sent', position]);
      if (position % 7 === 0) expected.delete(anEmail(position - 5).id);
    }
    t.same(await documentsOf(readModels), [...expected.values()]);
    const team = { teamId: { eq: 'team-1' } };
    t.equal(await readModels.count('emails', { where: team, search: 'anna' }, 5_000), expected.size);
    t.equal(await readModels.count('timers', { where: {} }, 100), 50);
  },
);

void t.test('a server that is frozen: what was sent to it is written when it goes on', async (t) => {
  const server = await ownMongoServer(t);
  if (server === undefined) return;
  const readModels = await opened(t, server);
  const store = await readModels.projection('emails', [timersSpec, emailsSpec]);
  const from = await store.checkpoint();
  server.freeze();
  const writing = store.write([{ collection: 'emails', put: [stateAt(1)], remove: [] }], from, 1);
  const reading = readModels.get('emails', anEmail(1).id);
  server.resume();
  await writing;
  await reading;
  await eventually('it is there', async () => (await readModels.get('emails', anEmail(1).id)) !== undefined);
  t.equal((await store.checkpoint()).position, 1);
});
