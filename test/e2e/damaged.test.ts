/**
 * Rows of the log that are damaged in every way: only their own streams are affected, and everybody who meets them says
 * so.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import t, { type Test } from 'tap';
import { advanceUntil, startTestApp, storedEvents, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { memoryLog } from '../support/memory-ports.js';
import { runCommand } from '../support/server-process.js';

t.setTimeout(900_000);

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const scheduledIn = (clock: FakeClock): Readonly<Record<string, unknown>> => ({
  scheduledAt: new Date(clock.now() + HOUR_MS).toISOString(),
});

/** Each is an SQL expression for a column of the first event of an email. */
const damages: Readonly<Record<string, string>> = {
  'data cut short': 'data = substr(data, 1, length(data) - 20)',
  'data that is no JSON': "data = 'x' || data",
  'data of another type': "data = '[]'",
  'data without a field': `data = replace(data, '"priority"', '"urgency"')`,
  'data with a time that is none': `data = replace(data, '"at":"2', '"at":"x')`,
  'metadata cut short': 'metadata = substr(metadata, 1, 90)',
  'metadata that is null': "metadata = 'null'",
  'metadata without a team': `metadata = replace(metadata, '"teamId"', '"TEAMiD"')`,
  'sealed part cut short': 'sealed = substr(sealed, 1, 20)',
  'sealed part of zeros': 'sealed = zeroblob(length(sealed))',
  'sealed part gone': 'sealed = NULL',
};

type Report = Readonly<{
  status: string;
  workers: readonly Readonly<{ name: string; stuckWork: number; lastFault: string | null; state: string }>[];
  log: Readonly<{ unreadableEvents: number; unknownEvent: unknown }>;
}>;

const healthOf = async (app: TestApp): Promise<Report> => (await app.call<Report>('GET', '/health/ready')).body;
const release = (report: Report) => report.workers.find(({ name }) => name === 'release-email')!;

/**
 * Emails that wait for their hour, one for each damage and one that is sound; the service is stopped and the rows are
 * damaged.
 */
const damaged = async (
  t: Test,
  clock: FakeClock,
): Promise<Readonly<{ dataDir: string; sound: string; ids: readonly string[] }>> => {
  const dataDir = temporaryDirectory(t);
  const app = await startTestApp({ dataDir, clock });
  const sound = await app.send(scheduledIn(clock));
  const ids: string[] = [];
  for (const _ of Object.keys(damages)) ids.push((await app.send(scheduledIn(clock))).id);
  await app.whenCaughtUp();
  await app.stop();
  const database = new Sqlite(join(dataDir, 'events.db'));
  Object.values(damages).forEach(
    (change, index) =>
      void database.prepare(`UPDATE events SET ${change} WHERE stream = ? AND revision = 0`).run(`email-${ids[index]}`),
  );
  database.close();
  return { dataDir, sound: sound.id, ids };
};

await t.test('a running service: every other mail goes on, and the damaged ones wait and say why', async (t) => {
  const clock = fakeClock();
  const { dataDir, sound, ids } = await damaged(t, clock);
  const logger = memoryLog();
  const app = await startTestApp({ dataDir, clock, logger });
  t.teardown(app.stop);
  await clock.advance(HOUR_MS);
  await app.whenStatus(sound, 'delivered', SECOND_MS);
  await advanceUntil(
    clock,
    SECOND_MS,
    'the others wait',
    async () => release(await healthOf(app)).stuckWork === ids.length,
  );
  const report = await healthOf(app);
  t.match(report, { status: 'degraded', log: { unreadableEvents: ids.length, unknownEvent: null } });
  t.match(release(report), { lastFault: 'EVENT_UNREADABLE', state: 'running' });

  const before = (await storedEvents(app.engine)).filter(({ stream }) => ids.includes(stream.slice('email-'.length)));
  for (const [index, id] of ids.entries()) {
    const name = Object.keys(damages)[index]!;
    for (const [method, path] of [
      ['GET', `/api/emails/${id}`],
      ['POST', `/api/emails/${id}/retry`],
      ['DELETE', `/api/emails/${id}`],
    ] as const) {
      t.match(
        await app.call(method, path),
        { status: 500, body: { code: 'EVENT_UNREADABLE', message: /Nothing was changed/ } },
        `${method}: ${name}`,
      );
    }
  }
  const after = (await storedEvents(app.engine)).filter(({ stream }) => ids.includes(stream.slice('email-'.length)));
  t.equal(after.length, before.length, 'nothing was appended to them');
  const other = await app.send();
  await app.whenStatus(other.id, 'delivered', SECOND_MS);
  const bulk = await app.call('DELETE', '/api/emails/bulk', { ids: [ids[0], other.id] });
  t.match(bulk, { status: 500, body: { code: 'EVENT_UNREADABLE' } });
  t.match(
    await app.call('DELETE', `/api/emails/${other.id}`),
    { status: 404 },
    'what is sound of the request was deleted',
  );
  const told = logger.lines.filter(({ message }) => message.startsWith('an event cannot be read'));
  t.equal(told.length, ids.length, 'each is told of once');
  t.ok(
    told.every(
      ({ fields }) => typeof fields['position'] === 'number' && ids.some((id) => fields['stream'] === `email-${id}`),
    ),
  );
});

await t.test('read models made anew, rebuild, replay and the list of what is unreadable pass over them', async (t) => {
  const clock = fakeClock();
  const { dataDir, sound, ids } = await damaged(t, clock);
  for (const name of readdirSync(dataDir)) if (name.startsWith('documents.')) rmSync(join(dataDir, name));
  const app = await startTestApp({ dataDir, clock });
  await clock.advance(HOUR_MS);
  await app.whenStatus(sound, 'delivered', SECOND_MS);
  await app.whenCaughtUp();
  const listed = await app.call<{ data: readonly { id: string }[] }>('GET', '/api/emails?limit=50');
  const shown = listed.body.data.map(({ id }) => id);
  t.ok(shown.includes(sound));
  t.equal((await healthOf(app)).status, 'degraded');
  const next = await app.send();
  await app.whenStatus(next.id, 'delivered');
  await app.stop();

  const settings = { SEALPOST_DATA_DIR: dataDir };
  const unreadable = await runCommand(['events', 'unreadable'], settings);
  t.equal(unreadable.code, 2);
  const lines = unreadable.stdout.trim().split('\n');
  t.equal(lines.length, ids.length);
  for (const id of ids)
    t.match(unreadable.stdout, new RegExp(`\\d+ {2}email-${id}@0 {2}EmailScheduled\\.v1 {2}cannot be read: .`));
  const json = await runCommand(['events', 'unreadable', '--json'], settings);
  t.same(
    json.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { stream: string }).stream),
    ids.map((id) => `email-${id}`),
  );
  const rebuilt = await runCommand(['rebuild', 'emails'], settings);
  t.equal(rebuilt.code, 0);
  t.match(rebuilt.stderr, `email-${ids[0]}@0`);
  const replayed = await runCommand(['replay', '--all'], settings);
  t.equal(replayed.code, 0);
  t.equal(replayed.stderr.match(/cannot be read/g)?.length, ids.length);
  const one = await runCommand(['replay', ids[0]!], settings);
  t.match(one, { code: 0, stderr: /cannot be read: / });
});

await t.test('where nothing is damaged that is said', async (t) => {
  const dataDir = temporaryDirectory(t);
  const app = await startTestApp({ dataDir });
  await app.stop();
  t.match(await runCommand(['events', 'unreadable'], { SEALPOST_DATA_DIR: dataDir }), {
    code: 0,
    stdout: /every event can be read/,
  });
});
