/**
 * Stores that do not belong together, are older than others, are missing or damaged: a start says so, and loses nothing
 * by itself.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { runCommand } from '../support/server-process.js';
import { openSmtpScript } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';
import {
  copyOf,
  countOf,
  exchangeStore,
  keptData,
  refusedStart,
  removeStore,
  sendMails,
  settingsOf,
  startOn,
  storedNow,
} from '../support/kept-data.js';

t.setTimeout(900_000);

const MAILS = 4;
const { old, newest, apiKey, ids } = await keptData(t, MAILS);
const headers = { authorization: `Bearer ${apiKey}` };

const repair = (dataDir: string, ...args: readonly string[]) => runCommand(['repair', ...args], settingsOf(dataDir));

const totals = async (base: string, query = ''): Promise<number> => {
  const answer = (await (await fetch(`${base}/api/emails?${query}`, { headers })).json()) as {
    meta: { total: number };
  };
  return answer.meta.total;
};

const isRefused = async (t: Tap, dataDir: string, sentence: RegExp): Promise<void> => {
  const { code, stderr } = await refusedStart(dataDir);
  t.equal(code, 1);
  t.match(stderr, sentence);
  t.notMatch(stderr, /\n\s+at /, 'a sentence, no stack');
};
type Tap = Parameters<typeof copyOf>[0];

await t.test('the data as they were left start without a word', async (t) => {
  const server = await startOn(t, copyOf(t, newest));
  t.equal(await totals(server.base), 2 * MAILS);
});

await t.test(
  'a log older than what the others have seen: the start says what is lost and goes on only where that is accepted',
  async (t) => {
    const dataDir = copyOf(t, newest);
    exchangeStore(dataDir, 'events.db', old);
    await isRefused(
      t,
      dataDir,
      /events\.db ends at position \d+, but .* has seen it up to position \d+: .*sealpost repair log --accept-loss/,
    );
    t.match(await runCommand(['key', 'create', '--name', 'x'], settingsOf(dataDir)), {
      code: 1,
      stderr: /ends at position/,
    });
    t.match(await repair(dataDir, 'log'), { code: 1, stderr: /without --accept-loss nothing is given up/ });
    t.match(await repair(dataDir, 'keys', '--accept-loss'), {
      code: 1,
      stderr: /this comes first: .*ends at position/,
    });
    t.match(await repair(dataDir, 'log', '--accept-loss'), {
      code: 0,
      stdout: /events up to position \d+ are given up; the log says so/,
    });
    const events = await storedNow(dataDir);
    t.equal(countOf(events, 'LossAccepted'), 1);
    t.equal(countOf(events, 'EmailFailed'), 0);
    const server = await startOn(t, dataDir);
    await eventually('the list is that of the log', async () => (await totals(server.base)) === MAILS);
    await eventually(
      'what the log has still waits for the relay',
      async () => (await totals(server.base, 'status=queued')) === MAILS,
    );
  },
);

await t.test('a log that is missing is not begun anew beside what belongs to it', async (t) => {
  const dataDir = copyOf(t, newest);
  removeStore(dataDir, 'events.db');
  await isRefused(t, dataDir, /events\.db is missing or empty, but .* has seen it up to position \d+/);
  // The first start has left an empty file.
  await isRefused(t, dataDir, /events\.db is missing or empty, but .* has seen it up to position \d+/);
  exchangeStore(dataDir, 'events.db', newest);
  const server = await startOn(t, dataDir);
  t.equal(await totals(server.base), 2 * MAILS);
  await server.end('SIGTERM');
  removeStore(dataDir, 'events.db');
  t.match(await repair(dataDir, 'log', '--accept-loss'), { code: 0 });
  const anew = await startOn(t, dataDir);
  await anew.firstKey();
});

await t.test('keys that are missing: no mail fails, and all go on where they are put back', async (t) => {
  const dataDir = copyOf(t, newest);
  removeStore(dataDir, 'keys.db');
  await isRefused(
    t,
    dataDir,
    new RegExp(
      `keys\\.db is missing or empty, and the keys of ${2 * MAILS} emails .*sealpost repair keys --accept-loss`,
    ),
  );
  t.equal(countOf(await storedNow(dataDir), 'EmailFailed'), 0);
  exchangeStore(dataDir, 'keys.db', newest);
  const server = await startOn(t, dataDir);
  await eventually('all wait for the relay', async () => (await totals(server.base, 'status=queued')) === 2 * MAILS);
});

await t.test(
  'keys older than the log: what has none is counted, and fails only where its loss is accepted',
  async (t) => {
    const dataDir = copyOf(t, newest);
    exchangeStore(dataDir, 'keys.db', old);
    await isRefused(
      t,
      dataDir,
      new RegExp(
        `keys\\.db is older than the log: it has seen it up to position \\d+, and the keys of ${MAILS} emails`,
      ),
    );
    t.equal(countOf(await storedNow(dataDir), 'EmailFailed'), 0);
    t.match(await repair(dataDir, 'keys', '--accept-loss'), {
      code: 0,
      stdout: new RegExp(`The keys of ${MAILS} emails or assets are given up`),
    });
    const events = await storedNow(dataDir);
    t.equal(countOf(events, 'EmailFailed'), MAILS);
    t.equal(countOf(events, 'LossAccepted'), 1);
    const server = await startOn(t, dataDir);
    await eventually('the list says so', async () => (await totals(server.base, 'status=failed')) === MAILS);
    await eventually('the others wait', async () => (await totals(server.base, 'status=queued')) === MAILS);
    t.match(await (await fetch(`${server.base}/api/emails/${ids.at(-1)}`, { headers })).json(), {
      failureReason: 'content-lost',
    });
    const retried = await fetch(`${server.base}/api/emails/${ids.at(-1)}/retry`, { method: 'POST', headers });
    t.match(
      { status: retried.status, body: await retried.json() },
      { status: 400, body: { code: 'EMAIL_NOT_RETRYABLE' } },
    );
  },
);

await t.test('keys that lack only from where was called in a month: the start says it and goes on', async (t) => {
  const dataDir = copyOf(t, newest);
  const before = copyOf(t, newest);
  const server = await startOn(t, dataDir);
  const made = async (base: string, name: string): Promise<number> => {
    const body = JSON.stringify({ name, permissions: ['emails:read'] });
    return (
      await fetch(`${base}/api/api-keys`, {
        method: 'POST',
        body,
        headers: { ...headers, 'content-type': 'application/json' },
      })
    ).status;
  };
  t.equal(await made(server.base, 'before'), 201);
  await server.end('SIGTERM');
  exchangeStore(dataDir, 'keys.db', before);
  const examined = await runCommand(['doctor'], settingsOf(dataDir, { SEALPOST_SMTP_URL: 'mailbox:' }));
  t.match(examined, {
    code: 0,
    stdout: /WARNING stores: .*What is lost is from where 1 person or team called in a month/,
  });
  t.match(
    examined.stdout,
    /WARNING keys: 1 key is missing by which the audit log tells from where was called, and no other/,
  );
  t.notMatch(examined.stdout, /FAULT/);
  const { printed, base, end } = await startOn(t, dataDir, { SEALPOST_LOG_LEVEL: 'warn' });
  await printed(/What is lost is from where 1 person or team called/);
  t.equal(await totals(base), 2 * MAILS);
  for (const name of ['one', 'two']) t.equal(await made(base, name), 201, 'what an auditor is told of is done still');
  await end('SIGTERM');
  t.equal(countOf(await storedNow(dataDir), 'CallOriginSeen'), 1, 'and nothing is appended that nobody could read');
  t.match(await repair(dataDir, 'keys'), { code: 0, stdout: /nothing to repair/ });
});

await t.test('files that are missing or older than the log', async (t) => {
  const dataDir = copyOf(t, newest);
  rmSync(join(dataDir, 'files'), { recursive: true });
  await isRefused(t, dataDir, new RegExp(`files is missing or empty, and ${2 * MAILS} files that the log names`));
  exchangeStore(dataDir, 'files', old);
  await isRefused(
    t,
    dataDir,
    new RegExp(
      `files is older than the log: it has seen it up to position \\d+, and ${MAILS} files that the log names`,
    ),
  );
  t.match(await repair(dataDir, 'files', '--accept-loss'), { code: 0, stdout: `${MAILS} files are given up` });
  await startOn(t, dataDir);
  t.equal(countOf(await storedNow(dataDir), 'LossAccepted'), 1);
});

await t.test('stores of two instances are not mixed', async (t) => {
  const { newest: another } = await keptData(t, 1);
  for (const store of ['keys.db', 'files']) {
    const dataDir = copyOf(t, newest);
    exchangeStore(dataDir, store, another);
    await isRefused(t, dataDir, new RegExp(`${store} belongs to the log of another instance than .*events\\.db`));
  }
  const dataDir = copyOf(t, newest);
  exchangeStore(dataDir, 'events.db', another);
  await isRefused(t, dataDir, /belongs to the log of another instance/);
  exchangeStore(dataDir, 'events.db', newest);
  exchangeStore(dataDir, 'documents', another);
  await isRefused(t, dataDir, /documents\.db belongs to the log of another instance .*sealpost repair read-models/);
  t.match(await repair(dataDir, 'read-models'), { code: 0, stdout: /emails: made anew/ });
  const server = await startOn(t, dataDir);
  t.equal(await totals(server.base), 2 * MAILS);
});

await t.test('a log or keys that are no database: the sentence names the file', async (t) => {
  for (const name of ['events.db', 'keys.db']) {
    const dataDir = copyOf(t, newest);
    removeStore(dataDir, name);
    writeFileSync(join(dataDir, name), 'no database at all '.repeat(1_000));
    await isRefused(t, dataDir, new RegExp(`${name} is damaged .*sealpost restore`));
  }
});

await t.test('read models that are missing are made anew, and mail goes on meanwhile', async (t) => {
  const dataDir = copyOf(t, newest);
  removeStore(dataDir, 'documents');
  const server = await startOn(t, dataDir);
  await eventually('all are listed again', async () => (await totals(server.base)) === 2 * MAILS);
});

await t.test('a damaged read model is moved aside, named and made anew, and mail goes on meanwhile', async (t) => {
  const dataDir = copyOf(t, newest);
  const name = readdirSync(dataDir).find((entry) => /^documents\.emails\.\d+\.db$/.test(entry))!;
  writeFileSync(join(dataDir, name), 'no database at all '.repeat(1_000));
  const sink = await openSmtpScript();
  t.teardown(() => sink.close());
  const server = await startOn(t, dataDir, { SEALPOST_SMTP_URL: `${sink.url}?tls=off` });
  await sendMails(server.base, apiKey, 1);
  await sink.whenReceived(1);
  await eventually('all are listed again', async () => (await totals(server.base)) === 2 * MAILS + 1);
  await server.printed(/a read model is damaged: it was moved aside, and is made anew from the log/);
  t.ok(existsSync(join(dataDir, `${name}.damaged`)));
  await server.end('SIGTERM');
  t.match(await runCommand(['verify'], settingsOf(dataDir)), { code: 0 });
});

await t.test('a store that cannot note where the log ends refuses no start', async (t) => {
  const dataDir = copyOf(t, newest);
  t.match(await runCommand(['key', 'create', '--name', 'after the note'], settingsOf(dataDir)), { code: 0 });
  rmSync(join(dataDir, 'files', 'tmp'), { recursive: true, force: true });
  writeFileSync(join(dataDir, 'files', 'tmp'), 'where what is written should stand');
  const server = await startOn(t, dataDir, { SEALPOST_LOG_LEVEL: 'warn' });
  await server.printed(/the stores could not note where the log ends/);
  t.equal(await totals(server.base), 2 * MAILS);
});

await t.test('nothing to repair: nothing is changed', async (t) => {
  const dataDir = copyOf(t, newest);
  for (const store of ['log', 'keys', 'files'])
    t.match(
      await repair(dataDir, store, '--accept-loss'),
      { code: 0, stdout: /There is nothing to repair here/ },
      store,
    );
  t.equal(countOf(await storedNow(dataDir), 'LossAccepted'), 0);
  t.match(await repair(dataDir, 'everything'), { code: 1, stderr: /everything is no store/ });
  await startOn(t, dataDir);
  t.match(await repair(dataDir, 'log'), { code: 1, stderr: /A sealpost runs on/ });
});
