/**
 * A recipient of an email who is erased stays so, whatever older copies of log and keys are put back; the others of the
 * email go on.
 */
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ErasureReceipt } from '../../src/api/privacy.js';
import { advanceUntil, startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { runCommand } from '../support/server-process.js';

t.setTimeout(900_000);

const gone = 'gone.again@private.example';
const ann = 'ann@private.example';
const subject = 'Goes on';

const settingsOf = (dataDir: string) => ({ SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'silent' });

type Told = Readonly<{ dataDir: string; clock: FakeClock; id: string; other: string }>;

const start = async (t: Test, { dataDir, clock }: Pick<Told, 'dataDir' | 'clock'>): Promise<TestApp> => {
  const app = await startTestApp({ dataDir, clock });
  t.teardown(() => app.stop());
  return app;
};

const erase = async (app: TestApp, clock: FakeClock, email: string): Promise<ErasureReceipt> => {
  let asked: Awaited<ReturnType<typeof app.call<ErasureReceipt>>> | undefined;
  void app.call<ErasureReceipt>('POST', '/api/privacy/erase', { email }).then((answer) => (asked = answer));
  await advanceUntil(clock, 50, 'it is answered', () => asked !== undefined);
  return asked!.body;
};

/**
 * Two emails to two that wait for tomorrow, and copies of the stores as they are then; one recipient is erased after
 * that.
 */
const erasedLater = async (t: Test, copy: (dataDir: string) => Promise<unknown> | void): Promise<Told> => {
  const [dataDir, clock] = [temporaryDirectory(t), fakeClock()];
  const app = await start(t, { dataDir, clock });
  const scheduledAt = new Date(clock.now() + DAY_MS).toISOString();
  const { id } = await app.send({ to: [{ email: ann }, { email: gone, name: 'Gone Again' }], subject, scheduledAt });
  const { id: other } = await app.send({
    to: [{ email: ann }, { email: 'bob@private.example' }],
    subject,
    scheduledAt,
  });
  // From where calls of a month come is sealed under one key, which the copies have so.
  t.equal((await app.call('POST', '/api/api-keys', { name: 'Another', permissions: ['emails:read'] })).status, 201);
  await app.stop();
  await copy(dataDir);
  const later = await start(t, { dataDir, clock });
  t.match(await erase(later, clock, gone), { status: 'completed', emails: 1, emailIds: [id] });
  await later.stop();
  return { dataDir, clock, id, other };
};

const goesOnWithout = async (t: Test, { dataDir, clock, id, other }: Told): Promise<void> => {
  const replayed = await runCommand(['replay', '--all', '--json'], settingsOf(dataDir));
  t.equal(replayed.code, 0);
  t.notMatch(replayed.stdout, /gone\.again|Gone Again/);
  t.equal(replayed.stdout.split('"type":"RecipientsErased"').length, 2, 'the log says it once');
  const app = await start(t, { dataDir, clock });
  t.match(await app.email(id), {
    subject,
    status: 'scheduled',
    recipients: [{ email: ann }, { email: null, name: null, status: 'cancelled', erased: true }],
  });
  await clock.advance(DAY_MS);
  await app.whenStatus(id, 'delivered', 1_000);
  t.match((await app.email(id)).recipients, [{ status: 'delivered' }, { status: 'cancelled' }]);
  await app.whenStatus(other, 'delivered', 1_000);
  t.notMatch(JSON.stringify((await app.email(other)).recipients), 'erased');
  await app.whenCaughtUp();
  await app.stop();
  t.match(await runCommand(['verify'], settingsOf(dataDir)), { code: 0 });
  t.match(await runCommand(['doctor'], settingsOf(dataDir)), { stdout: /every key is there/ });
};

await t.test('a log from before the erasure says it anew, beside keys that know of it', async (t) => {
  const place = temporaryDirectory(t);
  const told = await erasedLater(t, (dataDir) => copyFileSync(join(dataDir, 'events.db'), join(place, 'events.db')));
  const file = join(told.dataDir, 'events.db');
  for (const name of [`${file}-wal`, `${file}-shm`]) if (existsSync(name)) rmSync(name);
  copyFileSync(join(place, 'events.db'), file);
  t.match(await runCommand(['repair', 'log', '--accept-loss'], settingsOf(told.dataDir)), { code: 0 });
  await goesOnWithout(t, told);
});

await t.test('keys from before the erasure are destroyed again', async (t) => {
  const place = temporaryDirectory(t);
  const told = await erasedLater(t, (dataDir) => copyFileSync(join(dataDir, 'keys.db'), join(place, 'keys.db')));
  copyFileSync(join(place, 'keys.db'), join(told.dataDir, 'keys.db'));
  t.match(
    await runCommand(['replay', '--all', '--json'], settingsOf(told.dataDir)),
    { stdout: /gone\.again/ },
    'they are back',
  );
  t.match(await runCommand(['forget'], settingsOf(told.dataDir)), { code: 0, stdout: /^\d keys? .* destroyed now/m });
  await goesOnWithout(t, told);
});

await t.test('log and keys of a backup from before, restored over newer ones', async (t) => {
  const place = temporaryDirectory(t);
  const [log, keys] = [join(place, 'log'), join(place, 'keys')];
  const told = await erasedLater(t, async (dataDir) => {
    t.match(await runCommand(['backup', log], settingsOf(dataDir)), { code: 0 });
    t.match(await runCommand(['backup', '--keys', keys], settingsOf(dataDir)), { code: 0 });
  });
  const restored = await runCommand(['restore', log, '--keys', keys, '--accept-loss'], settingsOf(told.dataDir));
  t.match(restored, { code: 0, stderr: '' });
  await goesOnWithout(t, told);
});
