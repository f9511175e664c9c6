/** The first steps of a new user: an empty directory, one command, one line to paste, one mail to look at. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { childrenOf } from '../../bench/support/processes.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { copyFounded } from '../support/founded.js';
import {
  environmentOf,
  finished,
  mainFile,
  runCommand,
  startServer,
  type Settings,
} from '../support/server-process.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

type Messages = Readonly<{
  data: readonly Readonly<{
    id: string;
    to: readonly Readonly<{ address: string }>[];
    subject: string;
    receivedAt: string;
  }>[];
}>;

const shell = (line: string) =>
  finished(spawn('sh', ['-c', line], { env: environmentOf({}), stdio: ['ignore', 'pipe', 'pipe'] }));

await t.test('the printed line, pasted into a shell, brings a mail into the mailbox', async (t) => {
  const dataDir = join(temporaryDirectory(t), 'data');
  const first = startServer({ SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'error' });
  t.teardown(() => first.end('SIGKILL'));
  const base = await first.listening;
  const [, link = ''] = await first.printed(/Then look at (\S+)/);
  const output = first.output();
  t.match(output, `API reference  ${base}/docs`);
  t.match(output, `Mailbox        ${link}\n`);
  t.match(output, `Dashboard      ${base}/app/start#sealpost_start_`);
  t.ok(link.startsWith(`${base}/mailbox?token=`));
  const headers = await first.mailboxCookie();
  const curl = (await first.printed(/^(curl .*)$/m))[1]!;

  // The first mail pays for what is loaded and compiled once; the promise holds for it as well.
  const { code, stdout } = await shell(curl);
  const pastedMs = performance.now();
  t.equal(code, 0);
  const answer = JSON.parse(stdout) as { status: string; messageId: string };
  t.equal(answer.status, 'queued');
  const { data } = await eventually(
    'the mail is in the mailbox',
    async () => {
      const messages = (await (await fetch(`${base}/mailbox/messages`, { headers })).json()) as Messages;
      return messages.data.length > 0 && messages;
    },
    5_000,
  );
  t.comment(`in the mailbox ${Math.round(performance.now() - pastedMs)} ms after the answer`);
  t.match(data, [{ to: [{ address: 'ada@example.com' }], subject: String }]);

  const message = (await (await fetch(`${base}/mailbox/messages/${data[0]!.id}`, { headers })).json()) as {
    html: string;
    text: string;
    headers: { name: string; value: string }[];
  };
  t.match(message.html, /<table/);
  t.notMatch(message.html, /\{\{/);
  t.ok(message.text.length > 100);
  t.equal(message.headers.find(({ name }) => name.toLowerCase() === 'message-id')?.value, answer.messageId);
  t.match(
    await (await fetch(`${base}/mailbox/messages/${data[0]!.id}/raw`, { headers })).text(),
    `Message-ID: ${answer.messageId}`,
  );
  for (const page of ['/docs', '/mailbox', '/openapi.json', '/health/live', '/health/ready'])
    t.equal((await fetch(base + page, { headers })).status, 200, page);
  t.equal((await fetch(`${base}/mailbox`)).status, 401, 'not without the link');

  for (const secret of ['master.key', 'keys.db', 'events.db', 'documents.db', 'mailbox.db', 'mailbox-token']) {
    t.equal(statSync(join(dataDir, secret)).mode & 0o077, 0, `${secret} is for its owner alone`);
  }
  t.match(await first.end('SIGTERM'), { code: 0 });

  const second = startServer({ SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'error' });
  t.teardown(() => second.end('SIGKILL'));
  const nextBase = await second.listening;
  t.match(await second.end('SIGTERM'), { code: 0 });
  t.notMatch(second.output(), /shown this once|curl/);
  t.match(second.output(), link.replace(base, nextBase), 'the link opens it after a restart too');
});

await t.test('no document process runs until somebody changes an attachment template', async (t) => {
  const settings = { SEALPOST_DATA_DIR: join(temporaryDirectory(t), 'data'), SEALPOST_LOG_LEVEL: 'error' };
  const first = startServer(settings);
  t.teardown(() => first.end('SIGKILL'));
  const base = await first.listening;
  const authorization = `Bearer ${await first.firstKey()}`;
  t.same(childrenOf(first.pid), []);
  const invoice = JSON.parse(readFileSync('samples/attachments/invoice.json', 'utf8')) as object;
  const { status } = await fetch(`${base}/api/templates/attachment`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ ...invoice, slug: 'own-invoice' }),
  });
  t.equal(status, 201);
  const runsOne = (pid: number) => () => childrenOf(pid).length === 1;
  await eventually('a process stands ready for the preview', runsOne(first.pid));
  t.match(await first.end('SIGTERM'), { code: 0 });

  const second = startServer(settings);
  t.teardown(() => second.end('SIGKILL'));
  await second.listening;
  await eventually('a process stands ready after the next start', runsOne(second.pid));
});

await t.test('with a certificate every printed address is https, and it answers there', async (t) => {
  const tls = (name: string): string => fileURLToPath(new URL(`../../../test/support/tls/${name}`, import.meta.url));
  const server = startServer({
    SEALPOST_DATA_DIR: temporaryDirectory(t),
    SEALPOST_LOG_LEVEL: 'error',
    SEALPOST_TLS_CERT: tls('valid.pem'),
    SEALPOST_TLS_KEY: tls('key.pem'),
  });
  t.teardown(() => server.end('SIGKILL'));
  const base = await server.listening;
  await server.printed(/Then look at/);
  t.match(base, /^https:/);
  t.equal(server.output().split(`sealpost is running on ${base}\n`).length, 2, 'once');
  t.notMatch(server.output(), /http:/);
  const status = await new Promise((resolve, reject) => {
    // The certificate of the test names another host than the loopback address.
    request(`${base}/health/live`, { rejectUnauthorized: false }, (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end();
  });
  t.equal(status, 200);
  t.match(await server.end('SIGTERM'), { code: 0 });
});

await t.test('two serves on one data directory: the second stops with a sentence, the first goes on', async (t) => {
  const dataDir = temporaryDirectory(t);
  await copyFounded(dataDir);
  const first = startServer({ SEALPOST_DATA_DIR: dataDir });
  t.teardown(() => first.end('SIGKILL'));
  const base = await first.listening;
  const second = await runCommand(['serve'], { SEALPOST_DATA_DIR: dataDir, PORT: '0' });
  t.equal(second.code, 1);
  t.match(second.stderr, /Another sealpost already delivers from .*; stop it, or set SEALPOST_ROLES=http/);
  t.notMatch(second.stderr, /\n\s+at /, 'a sentence, no stack');
  t.equal((await fetch(`${base}/health/ready`)).status, 200);

  const onlyHttp = startServer({ SEALPOST_DATA_DIR: dataDir, SEALPOST_ROLES: 'http' });
  t.teardown(() => onlyHttp.end('SIGKILL'));
  t.equal((await fetch(`${await onlyHttp.listening}/health/live`)).status, 200, 'a second process may serve the API');
});

await t.test('a port in use: a sentence', async (t) => {
  const [dataDir, other] = [temporaryDirectory(t), temporaryDirectory(t)];
  await copyFounded(dataDir);
  await copyFounded(other);
  const first = startServer({ SEALPOST_DATA_DIR: dataDir });
  t.teardown(() => first.end('SIGKILL'));
  const { port } = new URL(await first.listening);
  const second = await runCommand(['serve'], { SEALPOST_DATA_DIR: other, PORT: port });
  t.equal(second.code, 1);
  t.match(second.stderr, `port ${port} on 127.0.0.1 is in use`);
});

await t.test('a start that fails has made no key; the next one that listens makes it', async (t) => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const port = String((other.address() as AddressInfo).port);
  const settings = { SEALPOST_DATA_DIR: temporaryDirectory(t), SEALPOST_LOG_LEVEL: 'silent' };
  t.match(await runCommand(['serve'], { ...settings, PORT: port }), { code: 1 });
  other.close();
  const created = async () =>
    (await runCommand(['replay', '--all', '--json'], settings)).stdout.match(/"ApiKeyCreated/g)?.length ?? 0;
  t.equal(await created(), 0);
  t.equal(statSync(join(settings.SEALPOST_DATA_DIR, 'first-key')).mode & 0o777, 0o600);
  const next = startServer(settings);
  t.teardown(() => next.end('SIGKILL'));
  const headers = { authorization: `Bearer ${await next.firstKey()}` };
  t.equal((await fetch(`${await next.listening}/api/emails`, { headers })).status, 200);
  await next.printed(/Then look at/);
  t.notOk(existsSync(join(settings.SEALPOST_DATA_DIR, 'first-key')), 'what was shown is not kept');
  t.equal(await created(), 1);
});

await t.test('settings of a file .env are read, and the real environment wins', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(
    join(directory, '.env'),
    'HOST=127.0.0.2\nSEALPOST_PUBLIC_URL=https://mail.example.com\nSEALPOST_LOG_LEVEL=loud\n',
  );
  const serve = (settings: Settings) =>
    // The test runner's loader stays out of the program.
    finished(
      spawn(process.execPath, [mainFile, 'serve'], {
        cwd: directory,
        env: environmentOf({ ...settings, NODE_OPTIONS: '' }),
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  t.match(await serve({}), { code: 1, stderr: 'SEALPOST_LOG_LEVEL=loud' });
  t.match(await serve({ SEALPOST_LOG_LEVEL: 'silent' }), {
    code: 1,
    stderr: 'SEALPOST_SMTP_URL is not set, and SEALPOST_PUBLIC_URL=',
  });
  writeFileSync(join(directory, '.env'), '\ufeffSEALPOST_LOG_LEVEL=loud\r\n');
  t.match(
    await serve({}),
    { code: 1, stderr: 'SEALPOST_LOG_LEVEL=loud' },
    'a byte order mark is no part of the first name',
  );
  writeFileSync(join(directory, '.env'), 'SEALPOST_LOG_LEVEL=error\nSEALPOST_PUBLIC_URL https://mail.example.com\n');
  t.match(
    await serve({}),
    { code: 1, stderr: /\.env, line 2, is no setting: write NAME=value/ },
    'nothing is passed over in silence',
  );
});
