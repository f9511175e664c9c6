/** A disk that refuses: no 201, nothing half written, and all goes on when there is room again. */
import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { StoreAway } from '../../src/domain/core/errors.js';
import type { EventStore } from '../../src/domain/ports/event-store.js';
import { advanceUntil, sendBody, startTestApp, storedEvents, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { startServer } from '../support/server-process.js';
import { openSmtpScript, type SmtpScriptServer } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

type Switch = { refuses: (types: readonly string[]) => boolean };

/** Lets appends fail, as SQLite does when the disk is full, while the switch says so. */
const refusing =
  (disk: Switch) =>
  (store: EventStore): EventStore => ({
    ...store,
    append: async (stream, expectedRevision, events) => {
      if (disk.refuses(events.map(({ type }) => type)))
        throw new StoreAway('the disk is full', { code: 'SQLITE_FULL' });
      return store.append(stream, expectedRevision, events);
    },
  });

const never = (): boolean => false;

const setUp = async (
  t: Test,
): Promise<Readonly<{ app: TestApp; clock: FakeClock; sink: SmtpScriptServer; disk: Switch }>> => {
  const disk: Switch = { refuses: never };
  const sink = await openSmtpScript();
  t.teardown(() => sink.close());
  const clock = fakeClock();
  const app = await startTestApp({
    dataDir: temporaryDirectory(t),
    clock,
    wrapStore: refusing(disk),
    settings: { SEALPOST_SMTP_URL: `${sink.url}?tls=off` },
  });
  t.teardown(async () => {
    disk.refuses = never;
    await app.stop();
  });
  return { app, clock, sink, disk };
};

await t.test(
  'a commit that the disk refuses: 503, nothing written, and the same request goes through later',
  async (t) => {
    const { app, sink, disk } = await setUp(t);
    await app.whenStatus((await app.send()).id, 'sent');
    const before = await storedEvents(app.engine);

    disk.refuses = (types) => types.some((type) => type.startsWith('EmailQueued'));
    const headers = { 'idempotency-key': 'disk-full' };
    for (let calls = 0; calls < 3; calls += 1) {
      const refused = await app.call('POST', '/api/emails/send', sendBody(), headers);
      t.match(refused, {
        status: 503,
        headers: { 'retry-after': '5' },
        body: { code: 'STORE_AWAY', requestId: String },
      });
      t.notMatch(refused.text, /full|sqlite/i, 'the answer says nothing of our insides');
    }
    t.same(await storedEvents(app.engine), before);

    disk.refuses = never;
    const accepted = await app.call<{ id: string }>('POST', '/api/emails/send', sendBody(), headers);
    t.equal(accepted.status, 201);
    await app.whenStatus(accepted.body.id, 'sent');
    t.equal(sink.received.length, 2);
  },
);

await t.test('the attempt cannot be recorded: no dialogue; it is made when the disk takes it', async (t) => {
  const { app, clock, sink, disk } = await setUp(t);
  let refused = 0;
  disk.refuses = (types) => types.some((type) => type.startsWith('DeliveryAttempted')) && (refused += 1) > 0;
  const { id } = await app.send();
  await advanceUntil(clock, 1_000, 'the attempt was refused more than once', () => refused > 1);
  t.notOk(
    sink.commands.some((line) => line.includes('MAIL')),
    'nothing of the mail was said',
  );
  t.equal((await app.email(id)).status, 'queued');
  disk.refuses = never;
  t.equal((await app.whenStatus(id, 'sent', 1_000)).attempts.length, 1);
});

await t.test('the outcome cannot be recorded: the mail is not sent twice, the outcome is written later', async (t) => {
  const { app, clock, sink, disk } = await setUp(t);
  let refused = 0;
  disk.refuses = (types) => types.some((type) => type.startsWith('EmailSent')) && (refused += 1) > 0;
  const { id } = await app.send();
  await sink.whenReceived(1);
  await advanceUntil(clock, 1_000, 'the outcome was refused several times', () => refused > 3);
  t.equal((await app.email(id)).status, 'processing');
  disk.refuses = never;
  t.equal((await app.whenStatus(id, 'sent', 1_000)).attempts.length, 1);
  t.equal(sink.received.length, 1);
});

/**
 * The operating system's own bound on file sizes: a write beyond it fails as on a full disk (setrlimit(2),
 * RLIMIT_FSIZE).
 */
const limitFileSize = (pid: number, sizeBytes: number | 'unlimited'): void =>
  void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${sizeBytes}:unlimited`]);
const hasPrlimit = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0;

await t.test('a real full disk under a real server', { skip: hasPrlimit ? false : 'needs prlimit(1)' }, async (t) => {
  const dataDir = temporaryDirectory(t);
  const sink = await openSmtpScript();
  t.teardown(() => sink.close());
  const server = startServer({
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
    SEALPOST_LOG_LEVEL: 'silent',
  });
  t.teardown(() => server.end('SIGKILL'));
  const base = await server.listening;
  const headers = { authorization: `Bearer ${await server.firstKey()}`, 'content-type': 'application/json' };
  const send = () =>
    fetch(`${base}/api/emails/send`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': 'one' },
      body: JSON.stringify(sendBody()),
    });
  const total = async (): Promise<number> =>
    ((await (await fetch(`${base}/api/emails`, { headers })).json()) as { meta: { total: number } }).meta.total;

  // First nothing at all can be written, then the keys can, but the log cannot grow.
  for (const bound of [0, statSync(join(dataDir, 'events.db-wal')).size]) {
    limitFileSize(server.pid, bound);
    const refused = await send();
    t.equal(refused.status, 503, `file size bound ${bound}`);
    t.equal(refused.headers.get('retry-after'), '5');
    t.match(await refused.json(), { code: 'STORE_AWAY' });
    limitFileSize(server.pid, 'unlimited');
    t.equal(await total(), 0);
  }
  const accepted = await send();
  t.equal(accepted.status, 201);
  const { id } = (await accepted.json()) as { id: string };
  await eventually(
    'the email is sent',
    async () =>
      ((await (await fetch(`${base}/api/emails/${id}`, { headers })).json()) as { status: string }).status === 'sent',
  );
  t.equal(sink.received.length, 1);
  t.equal(await total(), 1);
  t.match(await server.end('SIGTERM'), { code: 0 });
});
