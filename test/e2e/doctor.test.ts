/** What `sealpost doctor` says of an instance that is well, running or stopped, and of one that is not. */
import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { temporaryDirectory } from '../support/data-directory.js';
import { copyOf, removeStore, sendMails, settingsOf, startOn } from '../support/kept-data.js';
import { runCommand } from '../support/server-process.js';

t.setTimeout(900_000);

const doctor = (dataDir: string, more: Readonly<Record<string, string>> = {}) => runCommand(['doctor'], settingsOf(dataDir, more));

const dataDir = join(temporaryDirectory(t), 'data');
const server = await startOn(t, dataDir);
const apiKey = await server.firstKey();
await server.printed(/curl/);
await sendMails(server.base, apiKey, 3);

await t.test('all is well, beside a running service and on a stopped one', async (t) => {
  const running = await doctor(dataDir);
  t.match(running, { code: 0, stdout: /ok +service: one delivers from/ });
  t.match(running.stdout, / 0 warnings, 0 faults\n$/);
  await server.end('SIGTERM');
  const stopped = await doctor(dataDir);
  t.match(stopped, { code: 0, stdout: /ok +service: none delivers from/, stderr: '' });
  for (const name of ['settings', 'disk', 'stores', 'keys', 'files', 'events', 'read models'])
    t.match(stopped.stdout, new RegExp(`^ok +${name}: `, 'm'), name);
  t.match(stopped.stdout, /^ok +read models: have every event$/m);
});

await t.test('what is missing is a fault with what helps, and ends with 2', async (t) => {
  // A start on the data notes that it has seen the log to its end, and what is lost after that a start does not see.
  const again = await startOn(t, dataDir);
  await again.end('SIGTERM');
  const withoutFile = copyOf(t, dataDir);
  for (const folder of readdirSync(join(withoutFile, 'files')).filter((name) => /^[0-9a-f]{2}$/.test(name)))
    rmSync(join(withoutFile, 'files', folder), { recursive: true });
  const lacking = await doctor(withoutFile);
  t.match(lacking, { code: 2, stdout: /FAULT +files: 3 files are missing, [0-9a-f]{64} first\n +→ put back what is missing in/ });
  t.match(lacking.stdout, /ok +keys: every key is there/);

  const withoutKeys = copyOf(t, dataDir);
  removeStore(withoutKeys, 'keys.db');
  t.match(await doctor(withoutKeys), { code: 2, stdout: /FAULT +stores: .*keys\.db is missing or empty.*sealpost repair keys/ });

  const damaged = copyOf(t, dataDir);
  removeStore(damaged, 'events.db');
  writeFileSync(join(damaged, 'events.db'), 'no database at all '.repeat(1_000));
  t.match(await doctor(damaged), { code: 2, stdout: /FAULT +file: .*events\.db is damaged \(file is not a database\)\n +→ restore/ });
});

await t.test('what heals by itself, or only should not be so, is a warning', async (t) => {
  const copy = copyOf(t, dataDir);
  const name = readdirSync(copy).find((entry) => /^documents\.emails\.\d+\.db$/.test(entry))!;
  writeFileSync(join(copy, name), 'no database at all '.repeat(1_000));
  chmodSync(copy, 0o755);
  const { code, stdout } = await doctor(copy);
  t.equal(code, 0);
  t.match(stdout, /WARNING data: .* can be read by others/);
  t.match(stdout, new RegExp(`WARNING file: .*${name} is damaged`));
  t.match(stdout, / 2 warnings, 0 faults\n$/);
});

await t.test('where there is nothing, nothing is made', async (t) => {
  const nowhere = join(temporaryDirectory(t), 'nowhere');
  t.match(await doctor(nowhere), { code: 2, stdout: /FAULT +data: .*nowhere does not exist/ });
  t.notOk(existsSync(nowhere));
  t.match(await doctor(dataDir, { SEALPOST_LOG_LEVEL: 'loud' }), { code: 2, stdout: /FAULT +settings: SEALPOST_LOG_LEVEL=loud/ });
});
