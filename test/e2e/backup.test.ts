/**
 * Backups taken while the service runs, and restored elsewhere: what was accepted before is there, and what was deleted
 * stays deleted.
 */
import { chownSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { temporaryDirectory } from '../support/data-directory.js';
import { assertRestorable } from '../../src/service/ops/backup.js';
import { readConfig } from '../../src/service/settings/config.js';
import { runCommand, type Settings } from '../support/server-process.js';
import { openSmtpScript } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';
import {
  copyOf,
  countOf,
  refusedStart,
  removeStore,
  sendMails,
  settingsOf,
  startOn,
  storedNow,
} from '../support/kept-data.js';

t.setTimeout(900_000);

const sink = await openSmtpScript();
t.teardown(() => sink.close());
const relay = { SEALPOST_SMTP_URL: `${sink.url}?tls=off` };
const place = temporaryDirectory(t);
const dataDir = join(place, 'data');
const run = (dataDir: string, ...args: readonly string[]) => runCommand(args, settingsOf(dataDir, relay));
const at = (name: string): string => join(place, name);

const server = await startOn(t, dataDir, relay);
const created = await run(
  dataDir,
  ...[
    'key',
    'create',
    '--json',
    '--name',
    'fast',
    '--rate-limit',
    '1000000',
    '--permissions',
    'emails:send,emails:read,emails:delete',
  ],
);
const apiKey = (JSON.parse(created.stdout) as { key: string }).key;
const headers = { authorization: `Bearer ${apiKey}` };
const remove = (base: string, id: string) => fetch(`${base}/api/emails/${id}`, { method: 'DELETE', headers });
const statusOf = async (base: string, id: string): Promise<number> =>
  (await fetch(`${base}/api/emails/${id}`, { headers })).status;
const deleteAll = async (ids: readonly string[]): Promise<void> => {
  // One that is in its dialogue can be deleted when that has ended.
  for (const id of ids)
    await eventually(`${id} is deleted`, async () => (await remove(server.base, id)).status === 200);
};

// Sends go on from here until the kill.
let accepted: readonly string[] = [];
let sending = true;
const sends = (async () => {
  while (sending) accepted = [...accepted, ...(await sendMails(server.base, apiKey, 4).catch(() => []))];
})();
await eventually('some are accepted', () => accepted.length >= 40);
await deleteAll(accepted.slice(0, 2));
const before = accepted;
const logBackup = await run(dataDir, 'backup', at('log'));
const between = before.slice(2, 4);
await deleteAll(between);
const keysBackup = await run(dataDir, 'backup', '--keys', at('keys'));
const after = before.slice(4, 6);
await deleteAll(after);
await server.end('SIGKILL');
sending = false;
await sends;

await t.test('the backups say what they hold, and the keys when they expire', async (t) => {
  t.match(logBackup, { code: 0, stdout: /the log up to position \d+, and \d+ files/ });
  t.match(keysBackup, { code: 0, stdout: /Destroy this copy by 20/ });
  t.same(readdirSync(at('log')).sort(), ['backup.json', 'events.db', 'files', 'settings.env']);
  t.same(readdirSync(at('keys')).sort(), ['backup.json', 'keys.db']);
  for (const file of ['log/events.db', 'log/backup.json', 'keys/keys.db'])
    t.equal(statSync(at(file)).mode & 0o077, 0, file);
  const kept = readFileSync(at('log/settings.env'), 'utf8');
  t.match(kept, '# SEALPOST_MASTER_KEY is set, and is not kept here\n');
  t.notMatch(kept, Buffer.alloc(32, 7).toString('base64'));
  t.match(await run(dataDir, 'backup', at('log')), { code: 1, stderr: /is not empty/ });
  // Linux denies having a directory there in a way that never ends the recursion of Node.
  for (const keys of [[], ['--keys']])
    t.match(await run(dataDir, 'backup', ...keys, '/proc/sealpost/backup'), {
      code: 1,
      stderr: /the directory \/proc\/sealpost cannot be made/,
    });
  t.match(await run(dataDir, 'backup', '--keys', '--days', '0', at('never')), { code: 1, stderr: /--days 0 is not/ });
});

await t.test(
  'restored elsewhere: all that was accepted before the backup is there, and what was deleted stays so',
  async (t) => {
    const elsewhere = join(temporaryDirectory(t), 'data');
    t.match(await run(elsewhere, 'restore', at('log'), '--keys', at('keys')), {
      code: 0,
      stdout: /The log ends at position \d+/,
      stderr: '',
    });
    t.match(await run(elsewhere, 'verify'), { code: 0 });
    const restored = await startOn(t, elsewhere, relay);
    for (const id of before.slice(6)) t.equal(await statusOf(restored.base, id), 200, id);
    for (const id of [...before.slice(0, 2), ...between])
      t.equal(await statusOf(restored.base, id), 404, `${id} was deleted`);
    await eventually('all are delivered', async () => {
      const waiting = (await (await fetch(`${restored.base}/api/emails?status=queued`, { headers })).json()) as {
        meta: { total: number };
      };
      return waiting.meta.total === 0;
    });
    const failed = (await (await fetch(`${restored.base}/api/emails?status=failed`, { headers })).json()) as {
      meta: { total: number };
    };
    t.equal(failed.meta.total, 0);
    t.equal(countOf(await storedNow(elsewhere), 'LossAccepted'), 1);
    t.match(await restored.end('SIGTERM'), { code: 0 });
    t.match(await run(elsewhere, 'verify'), { code: 0 });
  },
);

await t.test('restored over newer stores: only where asked, and what they know of deletions holds', async (t) => {
  const copy = copyOf(t, dataDir);
  const args = ['restore', at('log'), '--keys', at('keys')];
  t.match(await run(copy, ...args), { code: 1, stderr: /events\.db and .*keys\.db would be replaced.*--accept-loss/ });
  t.match(await run(copy, ...args, '--accept-loss'), {
    code: 0,
    stdout: /\d+ events are known to be lost/,
    stderr: '',
  });
  t.notOk(
    readdirSync(copy).some((name) => name.includes('.replaced')),
    'nothing is left of what was replaced',
  );
  const restored = await startOn(t, copy, relay);
  for (const id of [...before.slice(0, 2), ...between, ...after])
    t.equal(await statusOf(restored.base, id), 404, `${id} was deleted`);
  for (const id of before.slice(6)) t.equal(await statusOf(restored.base, id), 200, id);
  await restored.end('SIGTERM');
  t.match(await run(copy, 'verify'), { code: 0 });
});

await t.test('the log alone, beside keys that are still there', async (t) => {
  const copy = copyOf(t, dataDir);
  removeStore(copy, 'events.db');
  t.match(await run(copy, 'restore', at('log')), { code: 0, stderr: '' });
  const restored = await startOn(t, copy, relay);
  for (const id of [...between, ...after]) t.equal(await statusOf(restored.base, id), 404, `${id} was deleted`);
  for (const id of before.slice(6)) t.equal(await statusOf(restored.base, id), 200, id);
});

await t.test('keys older than the log: the restore says what the start will say', async (t) => {
  const copy = copyOf(t, dataDir);
  removeStore(copy, 'keys.db');
  const restored = await run(copy, 'restore', '--keys', at('keys'));
  t.match(restored, { code: 0, stdout: /Restored: keys of / });
  // Whether all keys of the newest mails were made before the backup depends on how many there were.
  if (/The start will be refused/.test(restored.stdout))
    t.match(await refusedStart(copy, relay), { code: 1, stderr: /keys\.db is older than the log/ });
  t.equal(countOf(await storedNow(copy), 'EmailFailed'), 0);
});

await t.test('what cannot be restored is refused with a sentence, and nothing is touched', async (t) => {
  const elsewhere = join(temporaryDirectory(t), 'data');
  for (const [args, sentence] of [
    [[], /name the backup of the log/],
    [[at('nowhere')], /holds no whole backup/],
    [[at('keys')], /holds a backup of the keys, not of the log/],
    [['--keys', at('log')], /holds a backup of the log, not of the keys/],
  ] as const) {
    t.match(await run(elsewhere, 'restore', ...args), { code: 1, stderr: sentence });
  }
  const description = JSON.parse(readFileSync(at('keys/backup.json'), 'utf8')) as Record<string, unknown>;
  writeFileSync(at('keys/backup.json'), JSON.stringify({ ...description, expiresAt: '2020-01-01T00:00:00.000Z' }));
  const both = ['restore', at('log'), '--keys', at('keys')];
  t.match(await run(elsewhere, ...both), { code: 1, stderr: /expired at 2020-.*--expired/ });
  t.notOk(existsSync(join(elsewhere, 'events.db')));
  t.match(await run(elsewhere, ...both, '--expired'), { code: 0 });
  writeFileSync(
    at('keys/backup.json'),
    JSON.stringify({ ...description, note: { instance: 'another', position: 1, hash: 'x' } }),
  );
  t.match(await run(elsewhere, ...both, '--accept-loss'), { code: 1, stderr: /of two instances/ });
  await startOn(t, elsewhere, relay);
  t.match(await run(elsewhere, ...both, '--accept-loss'), { code: 1, stderr: /A sealpost runs on/ });
});

await t.test('a restore that would break off changes nothing', async (t) => {
  const below = temporaryDirectory(t);
  const elsewhere = join(below, 'data');
  const both = ['restore', at('log'), '--keys', at('keys')];
  const other = Buffer.alloc(32, 9).toString('base64');
  const refused = async (settings: Settings, stderr: RegExp) => {
    t.match(await runCommand(both, { ...settingsOf(elsewhere, relay), ...settings }), { code: 1, stderr });
    t.notOk(existsSync(elsewhere));
  };
  await refused(
    { SEALPOST_MASTER_KEY: other },
    /the master key is not the one that .*keys\.db was made with: set SEALPOST_MASTER_KEY .*Nothing was changed/,
  );
  await refused({ SEALPOST_MASTER_KEY: '' }, /There are keys, or a log, but no master key/);
  if (process.geteuid?.() === 0) {
    chownSync(below, 1_000, 1_000);
    await refused({}, /belongs to uid 1000, whose service could not use what root restores there.*Nothing was changed/);
    chownSync(below, 0, 0);
  }
  const config = readConfig({ ...settingsOf(elsewhere, relay) });
  const given = [{ kind: 'log' as const, directory: at('log') }];
  t.throws(() => assertRestorable(config, given, () => 1_000), {
    message: /^the restore needs \d+ MiB in .*, and 1 MiB are free: make room/,
  });
  t.doesNotThrow(() => assertRestorable(config, given, () => 2 ** 40));
});
