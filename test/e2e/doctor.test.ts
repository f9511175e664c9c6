/** `sealpost doctor` on a healthy instance, running or stopped, and on a faulty one. */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import type { DomainRecord } from '../../src/api/domains.js';
import { reasonOf } from '../../src/shared/files.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { copyOf, removeStore, sendMails, settingsOf, startOn } from '../support/kept-data.js';
import { openDnsServer } from '../support/dns-server.js';
import { at, openSmtpScript, refusedPort, reply } from '../support/smtp-script.js';
import { environmentOf, mainFile, runCommand } from '../support/server-process.js';

t.setTimeout(900_000);

const dns = await openDnsServer(t);
const relay = await openSmtpScript({ user: { name: 'shop', password: 'secret' } });
t.teardown(() => relay.close());
const world = {
  SEALPOST_SMTP_URL: `smtp://shop:secret@127.0.0.1:${relay.port}?tls=off`,
  SEALPOST_DNS_SERVERS: dns.address,
};

const doctor = (dataDir: string, more: Readonly<Record<string, string>> = {}, ...args: readonly string[]) =>
  runCommand(['doctor', ...args], settingsOf(dataDir, { ...world, ...more }));

const dataDir = join(temporaryDirectory(t), 'data');
const server = await startOn(t, dataDir, world);
const apiKey = await server.firstKey();
await server.printed(/curl/);
const MAILS = 3;
await sendMails(server.base, apiKey, MAILS);
await relay.whenReceived(MAILS);

/** In three states: no record is set, all are, and that of a signing key is gone. */
const senderDomainIsTold = async (t: Test): Promise<void> => {
  const call = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    return (await (
      await fetch(server.base + path, { method: 'POST', headers, body: JSON.stringify(body) })
    ).json()) as DomainRecord;
  };
  const { id, records } = await call('/api/domains', { domain: 'service.test' });
  const told = { SEALPOST_PUBLIC_URL: server.base };
  t.match(await doctor(dataDir, told), {
    code: 0,
    stdout:
      /^WARNING domain: service\.test is pending, but not every record is right: DKIM \(\S+\) missing, .*SPF missing, DMARC missing\n/m,
  });
  for (const { name, value } of records) dns.zone.set(name, [value]);
  t.match(await doctor(dataDir, told), {
    stdout: /^WARNING domain: service\.test is pending, and its records are right\n +→ POST /m,
  });
  await call(`/api/domains/${id}/verify`, {});
  t.match(await doctor(dataDir, told), { stdout: /^ok +domain: 1 sender domain of 1 verified, with every record$/m });
  const signing = records.find(({ purpose }) => purpose === 'dkim')!;
  dns.zone.delete(signing.name);
  t.match(await doctor(dataDir, told), {
    code: 2,
    stdout: /^FAULT +domain: service\.test is verified, .*: DKIM \(\S+\) missing\n/m,
  });
  dns.zone.set(signing.name, [signing.value]);
};

await t.test('all is well, beside a running service and on a stopped one', async (t) => {
  const running = await doctor(dataDir, { SEALPOST_PUBLIC_URL: server.base });
  t.match(running, { code: 0, stdout: /ok +service: one delivers from/ });
  t.match(running.stdout, / 0 warnings, 0 faults\n$/);
  t.match(running.stdout, /^ok +public URL: .* answers: ready$/m);
  t.match(running.stdout, /^ok +relay: 127\.0\.0\.1:\d+ takes a session from \S+, in clear, with a login$/m);
  t.equal(relay.received.length, MAILS, 'no mail is sent');
  t.match(await doctor(dataDir, { SEALPOST_PUBLIC_URL: 'http://127.0.0.1:1' }), {
    code: 0,
    stdout: /^WARNING public URL: nobody answers at http:\/\/127\.0\.0\.1:1 \(.+\)\n +→ set SEALPOST_PUBLIC_URL/m,
  });
  await senderDomainIsTold(t);
  await server.end('SIGTERM');
  const stopped = await doctor(dataDir);
  t.match(stopped, { code: 0, stdout: /ok +service: none delivers from/, stderr: '' });
  for (const name of [
    'settings',
    'relay',
    'disk',
    'clock',
    'sender',
    'domain',
    'stores',
    'keys',
    'files',
    'events',
    'read models',
  ])
    t.match(stopped.stdout, new RegExp(`^ok +${name}: `, 'm'), name);
  t.match(stopped.stdout, /^ok +read models: have every event$/m);
});

await t.test('a file without access is named with owner, mode and uid, and is no damage', (t) => {
  const closed = copyOf(t, dataDir);
  // Root may use every file.
  const user = process.getuid?.() === 0 ? { uid: 54_321, gid: 54_321 } : {};
  const uid = user.uid ?? process.getuid?.();
  for (const name of [...readdirSync(closed, { recursive: true, encoding: 'utf8' }), '.']) {
    const path = join(closed, name);
    chmodSync(path, statSync(path).isDirectory() ? 0o500 : 0o400);
    if (user.uid !== undefined) chownSync(path, user.uid, user.gid);
  }
  chmodSync(dirname(closed), 0o755);
  t.teardown(() => chmodSync(closed, 0o700));
  const env = { ...environmentOf(settingsOf(closed)), NODE_OPTIONS: '' };
  const run = (command: string) => spawnSync(process.execPath, [mainFile, command], { ...user, env, encoding: 'utf8' });
  const denied = String.raw`cannot be used: this user may not use it: it belongs to uid ${uid} \(mode 0400\), this is uid ${uid}`;
  const said = run('doctor');
  t.equal(said.status, 2);
  for (const name of ['events.db', 'keys.db'])
    t.match(
      said.stdout,
      new RegExp(String.raw`^FAULT +file: \S+${name} ${denied}\n +→ give it to the user of the service`, 'm'),
    );
  t.notMatch(said.stdout, /is damaged|sealpost restore/);
  t.match(run('serve').stderr, new RegExp(String.raw`^sealpost: \S+\.(?:lock|db) ${denied}\n$`));
  t.equal(reasonOf(Object.assign(new Error('too many'), { code: 'EMFILE' })).includes('LimitNOFILE'), true);
  t.end();
});

await t.test('what is missing is a fault with what helps, and ends with 2', async (t) => {
  // A start on the data notes that it has seen the log to its end, and what is lost after that a start does not see.
  const again = await startOn(t, dataDir, world);
  await again.end('SIGTERM');
  const withoutFile = copyOf(t, dataDir);
  for (const folder of readdirSync(join(withoutFile, 'files')).filter((name) => /^[0-9a-f]{2}$/.test(name)))
    rmSync(join(withoutFile, 'files', folder), { recursive: true });
  const lacking = await doctor(withoutFile);
  t.match(lacking, {
    code: 2,
    stdout: /FAULT +files: 3 files are missing, [0-9a-f]{64} first\n +→ put back what is missing in/,
  });
  t.match(lacking.stdout, /ok +keys: every key is there/);

  const withoutKeys = copyOf(t, dataDir);
  removeStore(withoutKeys, 'keys.db');
  t.match(await doctor(withoutKeys), {
    code: 2,
    stdout: /FAULT +stores: .*keys\.db is missing or empty.*sealpost repair keys/,
  });

  const damaged = copyOf(t, dataDir);
  removeStore(damaged, 'events.db');
  writeFileSync(join(damaged, 'events.db'), 'no database at all '.repeat(1_000));
  t.match(await doctor(damaged), {
    code: 2,
    stdout: /FAULT +file: .*events\.db is damaged \(file is not a database\)\n +→ .*restore/,
  });
});

await t.test('a relay that takes no session is a fault, in its own words', async (t) => {
  const away = await doctor(dataDir, { SEALPOST_SMTP_URL: `smtp://127.0.0.1:${await refusedPort()}` });
  t.match(away, {
    code: 2,
    stdout: /^FAULT +relay: 127\.0\.0\.1:\d+ takes no session: .*ECONNREFUSED.* \(connection-refused\)\n/m,
  });
  t.match(away.stdout, / 1 fault\n$/);
  const login = await doctor(dataDir, { SEALPOST_SMTP_URL: `smtp://shop:wrong@127.0.0.1:${relay.port}?tls=off` });
  t.match(login, { code: 2, stdout: /^FAULT +relay: .* takes no session: .*535 .*\(\S+\)\n/m });
  t.notMatch(login.stdout, 'wrong');
});

await t.test('--send gives the relay one mail, and prints what it says', async (t) => {
  const before = relay.received.length;
  const sent = await doctor(dataDir, {}, '--send', 'ada@example.com');
  t.match(sent, {
    code: 0,
    stdout: /^ok +test mail: from hello@service\.test, signed by its domain: 250 .*\(accepted\)$/m,
  });
  const mail = relay.received[before]!;
  t.same(mail.envelope, { from: 'hello@service.test', to: ['ada@example.com'] });
  t.match(mail.raw.toString('latin1'), /^DKIM-Signature: [^]*\r\nSubject: Test mail of sealpost\r\n/);
  t.equal(relay.received.length, before + 1);
  relay.setScript(at('rcpt', reply('550 5.7.1 not from you')));
  t.match(await doctor(dataDir, {}, '--send', 'ada@example.com'), {
    code: 2,
    stdout:
      /^FAULT +test mail: from hello@service\.test, signed by its domain, was not taken: 550 5\.7\.1 not from you \(\S+\)\n/m,
  });
  relay.setScript(() => undefined);
  t.match(await doctor(dataDir, {}, '--send', 'nobody'), {
    code: 1,
    stdout: '',
    stderr: /^sealpost: --send is not a valid email address: /,
  });
  t.match(await doctor(dataDir, { SEALPOST_SMTP_URL: 'mailbox:' }, '--send', 'ada@example.com'), {
    code: 2,
    stdout: /^FAULT +test mail: nothing was sent: no relay is set\n/m,
  });
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
  t.match(stdout, /WARNING data: .* is a copy of a data directory on which a service has run/);
  t.match(stdout, / 3 warnings, 0 faults\n$/);
});

await t.test('where there is nothing, nothing is made', async (t) => {
  const nowhere = join(temporaryDirectory(t), 'nowhere');
  t.match(await doctor(nowhere), { code: 2, stdout: /FAULT +data: .*nowhere does not exist/ });
  t.notOk(existsSync(nowhere));
  t.match(await doctor(dataDir, { SEALPOST_LOG_LEVEL: 'loud' }), {
    code: 2,
    stdout: /FAULT +settings: SEALPOST_LOG_LEVEL=loud/,
  });
});
