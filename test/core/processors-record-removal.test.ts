/**
 * After five years the record of an archived email goes, and that of a bulk send after those of its emails; what is
 * counted stays.
 */
import t from 'tap';
import { batchStream, emailIdInBatch, emailStream } from '../../src/domain/core/ids.js';
import { makeProcessors } from '../../src/processors/index.js';
import { makeAnalyticsQueries } from '../../src/projections/analytics/analytics.js';
import { BATCHES } from '../../src/projections/bulk/batches.js';
import { EMAILS } from '../../src/projections/email/emails.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { makeQueries } from '../../src/projections/queries.js';
import { compareWithRebuild, rebuildProjection } from '../../src/projections/core/rebuild.js';
import { readRetentionLines } from '../../src/projections/retention/retention.js';
import { acceptBulk, bulk } from '../support/bulk.js';
import { caller, TEAM } from '../support/command-world.js';
import { ARCHIVE_MS, DAY_MS, PERIODS, RETENTION_MS, T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { openProcessorWorld, until, workersOf } from '../support/processor-world.js';
import { memoryKeys } from '../support/memory-ports.js';

void t.test('records go in time, one that was deleted is gone already, and a rebuild gives the same', async (t) => {
  let isBelieved = true;
  const world = await openProcessorWorld(t, { mayDestroy: () => isBelieved });
  const { readModels, commands } = world;
  const { eventLog, limits } = world.deps;
  const queries = makeQueries({
    keys: memoryKeys(),
    readModels,
    clock: world.clock,
    limits,
    awaitOwnWrites: () => Promise.resolve(),
  });
  /** Beside stubs. */
  const shown = async () => (await readModels.find(EMAILS, { where: {}, limit: 10 })).filter(({ gone }) => gone !== 1);
  const lines = async () => {
    await world.settled();
    const told = await readRetentionLines({ ...world.deps, readModels }, world.clock.now());
    return Object.fromEntries(told.map(({ name, due, oldest, next }) => [name, [due, oldest, next]]));
  };
  const typesOf = async (stream: Parameters<typeof eventLog.load>[0]) =>
    (await eventLog.load(stream)).map(({ event }) => event.type);

  world.run(workersOf(world.processing, makeProcessors(world.processing)));
  const alone = await world.send();
  const deleted = await world.send();
  const batch = await acceptBulk(world, bulk(2));
  const ofBatch = [0, 1].map((index) => emailIdInBatch(batch, index));
  for (const id of [alone, deleted]) await world.reaches(id, 'sent');
  await until(async () => {
    await world.clock.advance(500);
    return (await typesOf(batchStream(batch))).includes('BatchCompleted');
  }, 'the bulk send is completed');
  await commands.deleteEmail(caller, deleted);
  const range = { startDate: T0.slice(0, 10), endDate: T0.slice(0, 10), days: 1 };
  const summaries = async () => {
    await world.settled();
    return (await makeAnalyticsQueries({ readModels, clock: world.clock }).analyticsOverview(TEAM, range, {})).totals;
  };
  const counted = await summaries();
  t.match(counted, { accepted: 4, sent: 4 });

  await world.clock.set(Date.parse(T0) + RETENTION_MS + 60_000);
  await until(async () => {
    await world.clock.advance(500);
    return (await typesOf(emailStream(ofBatch[1]!))).includes('EmailArchived') && (await lines())['emails']![0] === 0;
  }, 'all are archived');
  const { archivedEmails, bulkSends } = await lines();
  t.match(archivedEmails, [0, null, String]);
  t.match(bulkSends, [0, null, String]);

  isBelieved = false;
  await world.clock.set(Date.parse(T0) + RETENTION_MS + ARCHIVE_MS + DAY_MS);
  for (let look = 0; look < 30; look += 1) await world.clock.advance(500);
  t.match(
    await lines(),
    { archivedEmails: [3, String, null], bulkSends: [1, String, null] },
    'nothing while the clock is not believed',
  );
  t.match(await commands.getEmail(caller, alone), { archived: true, status: 'sent' });

  isBelieved = true;
  await until(async () => {
    await world.clock.advance(500);
    const now = await lines();
    return now['archivedEmails']![0] === 0 && now['bulkSends']![0] === 0;
  }, 'the records have gone');
  t.match(await lines(), { archivedEmails: [0, null, null], bulkSends: [0, null, null] });
  t.same((await typesOf(emailStream(alone))).slice(-2), ['EmailArchived', 'EmailRemoved']);
  t.notOk(
    (await typesOf(emailStream(deleted))).includes('EmailRemoved'),
    'of what was deleted there is no record that could go',
  );
  for (const id of [alone, ...ofBatch]) {
    await refusedWith(t, commands.getEmail(caller, id), 'EMAIL_NOT_FOUND');
    await refusedWith(t, commands.deleteEmail(caller, id), 'EMAIL_NOT_FOUND');
    await refusedWith(t, commands.retryEmail(caller, id), 'EMAIL_NOT_FOUND');
  }
  await refusedWith(t, commands.cancelBatch(caller, batch), 'BATCH_NOT_FOUND');
  t.same(await shown(), []);
  const batches = await readModels.find(BATCHES, { where: {}, limit: 10 });
  t.same(
    batches.map(({ gone }) => gone),
    [1],
    'of a bulk send whose events are in the log its place is left',
  );
  t.match(await queries.listEmails(TEAM, {}, { page: 1, limit: 20 }), { data: [], meta: { total: 0 } });
  t.same(await summaries(), counted, 'what is counted stays');

  const projection = emailsProjection(PERIODS);
  t.equal((await compareWithRebuild(projection, { eventLog, readModels })).difference, undefined);
  await rebuildProjection(projection, { eventLog, readModels });
  t.same(await summaries(), counted, 'after a rebuild, too');
  t.same(await shown(), []);
});
