/**
 * Moving an instance to other stores: nothing is lost, nothing is doubled, everything verifies, and an interrupted move
 * goes on.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readConfig, type Config } from '../../src/service/settings/config.js';
import { openSqliteEventStore } from '../../src/adapters/event-store/sqlite.js';
import { copyLog, CopyBroken, migrate, settingsOf, type MigrationProgress } from '../../src/service/ops/migration.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';

t.setTimeout(900_000);

const SENT = 12;

const erased = 'erased@example.com';

/** An instance that has sent, delivered, deleted, and erased a recipient of an email to two; stopped. */
const instance = async (
  t: Test,
): Promise<Readonly<{ dataDir: string; ids: readonly string[]; deleted: string; both: string }>> => {
  const dataDir = temporaryDirectory(t);
  const app = await startTestApp({ dataDir, settings: { SEALPOST_LIMIT_LEDGER_SEAL_EVERY_MS: '50' } });
  const ids: string[] = [];
  for (let sent = 0; sent < SENT; sent += 1) ids.push((await app.send()).id);
  for (const id of ids) await app.whenStatus(id, 'delivered');
  const deleted = ids.pop()!;
  await app.call('DELETE', `/api/emails/${deleted}`);
  const { id: both } = await app.send({ to: [{ email: 'ada@example.com' }, { email: erased }] });
  await app.whenStatus(both, 'delivered');
  t.match(await app.call('POST', '/api/privacy/erase', { email: erased }), {
    body: { status: 'completed', emails: 1 },
  });
  await app.stop();
  return { dataDir, ids, deleted, both };
};

/** Settings that keep keys and files where they are and take another log and other read models. */
const otherLog = (
  t: Test,
  dataDir: string,
): Readonly<{ file: string; settings: Readonly<Record<string, string>>; config: Config }> => {
  const directory = temporaryDirectory(t);
  const settings = {
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_EVENT_STORE_URL: `sqlite:${join(directory, 'events.db')}`,
    SEALPOST_READ_MODELS_URL: `sqlite:${join(directory, 'documents.db')}`,
  };
  const file = join(directory, 'new.env');
  writeFileSync(
    file,
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  return { file, settings, config: settingsOf(file) };
};

const silent: MigrationProgress = { keys: () => {}, files: () => {}, copied: () => {}, verified: () => {} };

await t.test('An instance goes on in its new stores as if it had always been there', async (t) => {
  const { dataDir, ids, deleted, both } = await instance(t);
  const { settings, config } = otherLog(t, dataDir);
  const told: number[] = [];
  const progress = { ...silent, copied: (events: number) => told.push(events) };
  const moved = await migrate({ from: settingsOf(dataDir), to: config, oneAtATime: false, progress });
  t.equal(moved.events, told.at(-1));
  t.ok(moved.seals > 0, 'seals are among what was copied');

  const app = await startTestApp({ dataDir, settings: { ...settings, SEALPOST_LIMIT_LEDGER_SEAL_EVERY_MS: '50' } });
  t.teardown(() => app.stop());
  for (const id of ids)
    t.match(await app.email(id), { status: 'delivered', recipients: [{ email: 'ada@example.com' }] });
  t.equal((await app.call('GET', `/api/emails/${deleted}`)).status, 404, 'what was deleted stays so');
  t.match(
    await app.email(both),
    { recipients: [{ email: 'ada@example.com' }, { email: null, erased: true }] },
    'and who was erased',
  );
  const { id } = await app.send();
  await app.whenStatus(id, 'delivered');
  await app.whenCaughtUp();
  const listed = await app.call<{ meta: { total: number } }>('GET', '/api/emails?limit=1');
  t.equal(listed.body.meta.total, ids.length + 2);
  const found = (recipient: string) =>
    app.call<{ meta: { total: number } }>('GET', `/api/emails?recipient=${recipient}`);
  t.equal((await found(erased)).body.meta.total, 0);
  const { finding, seals } = await verifyLog(app.engine.store, undefined);
  t.equal(finding, undefined, 'chain and seals, the old and the new');
  t.ok(seals > moved.seals);
});

await t.test('What was interrupted goes on where it was, and ends with every event once', async (t) => {
  const { dataDir } = await instance(t);
  const { config } = otherLog(t, dataDir);
  const from = settingsOf(dataDir);
  const failing = (at: number): MigrationProgress => ({
    ...silent,
    copied: (events) => {
      if (events === at) throw new Error('the power went');
    },
  });
  for (const at of [7, 20])
    await t.rejects(migrate({ from, to: config, oneAtATime: false, progress: failing(at) }), {
      message: 'the power went',
    });
  const moved = await migrate({ from, to: config, oneAtATime: true, progress: silent });
  const source = openSqliteEventStore({ file: join(dataDir, 'events.db') });
  t.teardown(() => source.close());
  t.equal(moved.events, await source.head());
});

await t.test('What was interrupted after the last seal ends without another', async (t) => {
  const { dataDir } = await instance(t);
  const { config } = otherLog(t, dataDir);
  const from = settingsOf(dataDir);
  const stateFile = join(dataDir, 'migration.json');
  let state = '';
  const verified = (): void => void (state = readFileSync(stateFile, 'utf8'));
  const moved = await migrate({ from, to: config, oneAtATime: false, progress: { ...silent, verified } });
  writeFileSync(stateFile, state);
  t.match(await migrate({ from, to: config, oneAtATime: false, progress: silent }), {
    events: moved.events + 1,
    seals: moved.seals + 1,
  });
  t.notOk(existsSync(stateFile));
});

await t.test('A move is refused where it could do harm', async (t) => {
  const { dataDir } = await instance(t);
  const { config, settings } = otherLog(t, dataDir);
  const from = settingsOf(dataDir);
  await t.rejects(migrate({ from, to: from, oneAtATime: false, progress: silent }), {
    name: 'ConfigError',
    message: /is that of --from/,
  });
  const running = await startTestApp({ dataDir });
  await t.rejects(migrate({ from, to: config, oneAtATime: false, progress: silent }), {
    name: 'ConfigError',
    message: /stop it/,
  });
  await running.stop();
  const other = await startTestApp({
    dataDir: temporaryDirectory(t),
    settings: { SEALPOST_EVENT_STORE_URL: settings['SEALPOST_EVENT_STORE_URL'] ?? '' },
  });
  await other.stop();
  await t.rejects(migrate({ from, to: config, oneAtATime: false, progress: silent }), {
    name: 'ConfigError',
    message: /is not empty/,
  });
  t.throws(() => settingsOf(join(dataDir, 'nowhere')), { name: 'ConfigError', message: /is not there/ });
  t.throws(() => readConfig({ SEALPOST_EVENT_STORE_URL: 'what:ever' }), { name: 'ConfigError' });
});

await t.test('A server that takes events in another order is noticed', async (t) => {
  const { dataDir } = await instance(t);
  const source = openSqliteEventStore({ file: join(dataDir, 'events.db') });
  t.teardown(() => source.close());
  let position = 1_000_000;
  const append = async () => ({ kind: 'done', revision: 0, position: (position -= 1) }) as const;
  const target = { append, begin: append };
  await t.rejects(copyLog({ source, target, onCopied: () => {} }), { name: 'CopyBroken', message: /another order/ });
  t.ok(CopyBroken);
});
