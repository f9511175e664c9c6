/**
 * A service that removes the records of archived emails and bulk sends is killed in the midst, again and again: each
 * goes once, and what is counted stays.
 */
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import t from 'tap';
import { DAY_MS } from '../../src/domain/core/time.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { makeProjections } from '../../src/projections/index.js';
import { BATCHES } from '../../src/projections/bulk/batches.js';
import { EMAILS } from '../../src/projections/email/emails.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { readRetentionLines } from '../../src/projections/retention/retention.js';
import { SUMMARIES } from '../../src/projections/email/summaries.js';
import { advanceUntil, signInVariables, startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock } from '../support/fake-clock.js';
import { seededRandom } from '../support/random.js';
import { runCommand, startServer } from '../support/server-process.js';
import { eventually, pause } from '../support/wait.js';

t.setTimeout(900_000);

const BULK_SENDS = 3;
const RECIPIENTS = 150;
const REMOVED = BULK_SENDS * RECIPIENTS;
const KILLS = 3;
/** Longer ago than a record is kept, and short of what leaves the log after it. */
const BEGAN_MS = Date.now() - 1_870 * DAY_MS;
const PERSON = 'Zanzibarian';

const due = async ({ engine }: TestApp, nowMs: number): Promise<Readonly<Record<string, number>>> => {
  const lines = await readRetentionLines(engine, nowMs);
  return Object.fromEntries(lines.map(({ name, due: count }) => [name, count]));
};

const countsOf = async ({ engine, whenCaughtUp }: TestApp): Promise<readonly unknown[]> => {
  await whenCaughtUp();
  const days = await engine.readModels.find(SUMMARIES, { where: {}, limit: 100 });
  return days.map(({ counts }) => counts);
};

/** Bulk sends that were delivered and archived in their time. Out: what is counted of them. */
const makeOld = async (dataDir: string): Promise<readonly unknown[]> => {
  const clock = fakeClock(BEGAN_MS);
  const app = await startTestApp({ dataDir, clock });
  for (let batch = 0; batch < BULK_SENDS; batch += 1) {
    const recipients = Array.from({ length: RECIPIENTS }, (_, index) => ({
      email: `${PERSON}-${batch}-${index}@private.example`,
    }));
    const { status, text } = await app.call('POST', '/api/emails/send/bulk', {
      templateId: 'sign-in-code',
      recipients: recipients.map((to) => ({ ...to, variables: signInVariables })),
    });
    if (status !== 201) throw new Error(`a bulk send is answered ${status}: ${text}`);
  }
  const isCompleted = async (): Promise<boolean> =>
    (await app.engine.readModels.count(BATCHES, { where: { status: { eq: 'completed' } } }, 10)) === BULK_SENDS;
  await advanceUntil(clock, 500, 'all are sent', isCompleted, 300_000);
  await app.whenCaughtUp();
  await clock.advance(31 * DAY_MS);
  await advanceUntil(
    clock,
    2_000,
    'all are archived',
    async () => (await due(app, clock.now()))['emails'] === 0,
    300_000,
  );
  const counts = await countsOf(app);
  await app.stop();
  return counts;
};

/** How many events of that type there are, and in how many streams; a server may write them meanwhile. */
const inLog = (
  dataDir: string,
  type: string,
): Readonly<{ events: number; streams: number; first: number; last: number }> => {
  const log = new Sqlite(join(dataDir, 'events.db'), { readonly: true });
  try {
    const sql =
      'SELECT count(*) AS events, count(DISTINCT stream) AS streams, min(position) AS first, max(position) AS last FROM events WHERE type LIKE ?';
    return log
      .prepare<[string], { events: number; streams: number; first: number; last: number }>(sql)
      .get(`${type}.v%`)!;
  } finally {
    log.close();
  }
};

await t.test(`${KILLS} kills: each record goes once, none stays, and what is counted is what it was`, async (t) => {
  const dataDir = temporaryDirectory(t);
  const settings = { SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'error' };
  const counts = await makeOld(dataDir);
  t.match(JSON.stringify(counts), new RegExp(`"accepted":${REMOVED}\\b`));
  t.match(inLog(dataDir, 'EmailArchived'), { events: REMOVED, streams: REMOVED });
  t.equal(inLog(dataDir, 'EmailRemoved').events, 0);

  const { between } = seededRandom(20_270_101);
  const removed = () => inLog(dataDir, 'EmailRemoved').events;
  const reached: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = removed();
    const server = startServer(settings);
    t.teardown(() => server.end('SIGKILL'));
    await server.listening;
    // For years nobody has seen this instance: until the time of day is confirmed nothing goes by its age.
    if (kill === 0) t.match(await runCommand(['clock', 'confirm'], settings), { code: 0 });
    const more = between(1, Math.max(1, Math.floor((REMOVED - before) / 2)));
    await eventually(
      'some have gone',
      async () => (await pause(1), removed() >= Math.min(REMOVED, before + more)),
      120_000,
    );
    await server.end('SIGKILL');
    const { events, streams } = inLog(dataDir, 'EmailRemoved');
    t.equal(events, streams, `after kill ${kill + 1}: ${events} have gone, each once`);
    reached.push(events);
    t.match(await runCommand(['verify'], settings, 120_000), { code: 0 });
  }
  t.ok(reached[0]! > 0 && reached[0]! < REMOVED, `kills fell into the work: ${reached.join(', ')} had gone`);

  const server = startServer(settings);
  t.teardown(() => server.end('SIGKILL'));
  await server.listening;
  await eventually(
    'all have gone',
    async () => (await pause(50), inLog(dataDir, 'BatchRemoved').events === BULK_SENDS),
    180_000,
  );
  t.match(await server.end('SIGTERM'), { code: 0 });
  const [emails, batches] = [inLog(dataDir, 'EmailRemoved'), inLog(dataDir, 'BatchRemoved')];
  t.match(emails, { events: REMOVED, streams: REMOVED }, 'each email once, and none is left');
  t.match(batches, { events: BULK_SENDS, streams: BULK_SENDS });
  t.match(await runCommand(['verify'], settings, 120_000), { code: 0 });

  const app = await startTestApp({ dataDir });
  t.teardown(() => app.stop());
  t.same(await countsOf(app), counts, 'what is counted stays');
  const { archivedEmails, bulkSends } = await due(app, Date.now());
  t.same([archivedEmails, bulkSends], [0, 0]);
  const shown = (await app.engine.readModels.find(EMAILS, { where: {}, limit: 1_000 })).filter(
    ({ gone }) => gone !== 1,
  );
  t.same(shown, []);
  const left = await app.engine.readModels.find(BATCHES, { where: {}, limit: 100 });
  t.same(
    [...new Set(left.flatMap(Object.keys))].sort(),
    ['gone', 'id', 'position', 'seq'],
    'where the events of a bulk send are still in the log, its document says only that it is gone',
  );
  t.equal((await verifyLog(app.engine.store, undefined)).finding, undefined);
  for (const projection of makeProjections(app.engine.limits)) {
    const { difference, lookupFault } = await compareWithRebuild(projection, app.engine);
    t.same([difference, lookupFault], [undefined, undefined], `${projection.name} equals a rebuild`);
  }
});
