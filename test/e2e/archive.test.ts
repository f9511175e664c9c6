/** Thirty days on, or at once on deletion: what is personal of an email is nowhere in the data directory any more. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { versionOf } from '../../src/event-log/event-log.js';
import { emailStream, assertDefined, parseEmailId } from '../../src/domain/core/ids.js';
import type { EmailRecord } from '../../src/api/email.js';
import type { ErasureReceipt } from '../../src/api/privacy.js';
import { advanceUntil, startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { filesIn } from '../support/files.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { runCommand } from '../support/server-process.js';
import { at, openSmtpScript, reply } from '../support/smtp-script.js';
import { traces } from '../support/traces.js';
import { eventually } from '../support/wait.js';
import { DAY_MS } from '../../src/domain/core/time.js';

t.setTimeout(900_000);

/** Every personal thing of an email is made of a word of its own, so that finding the word anywhere tells on whom. */
const personal = (mark: string) => ({
  to: [{ email: `${mark}-to@private.example`, name: `${mark} Näme` }],
  cc: [{ email: `${mark}-cc@private.example`, name: `${mark} Copy` }],
  bcc: [{ email: `${mark}-bcc@private.example` }],
  replyTo: `${mark}-reply@private.example`,
  from: { email: `${mark}-from@private.example`, name: `${mark} Sender` },
  subject: `${mark} subject of mine`,
  variables: { code: `${mark}-code`, firstName: `${mark}-first`, device: `${mark}-device` },
  headers: { 'X-Private': `${mark}-header` },
  metadata: { order: `${mark}-metadata` },
  attachments: [
    {
      filename: `${mark}-file.txt`,
      contentType: 'text/plain',
      content: Buffer.from(`${mark}-attached `.repeat(50)).toString('base64'),
    },
  ],
  tags: ['receipt'],
});

const start = async (
  t: Test,
  dataDir: string,
  clock: FakeClock,
  settings: Readonly<Record<string, string>> = {},
): Promise<TestApp> => {
  const app = await startTestApp({ dataDir, clock, settings });
  t.teardown(() => app.stop());
  return app;
};

const streamOf = (id: string) => emailStream(assertDefined(parseEmailId(id), 'email id'));

const total = async (app: TestApp, query: string): Promise<number> =>
  (await app.call<{ meta: { total: number } }>('GET', `/api/emails?${query}`)).body.meta.total;

await t.test('30 days on', async (t) => {
  const dataDir = temporaryDirectory(t);
  const clock = fakeClock();
  const app = await start(t, dataDir, clock);
  const mark = 'Zanzibarian';
  const { id } = await app.send(personal(mark));
  const before = await app.whenStatus(id, 'delivered');
  await app.whenCaughtUp();
  t.equal(await total(app, `search=${mark}`), 1);
  t.ok(traces(dataDir, mark).length > 0, 'before, it is found in the read models and in the mailbox');

  await clock.advance(30 * DAY_MS - 60_000);
  await app.whenCaughtUp();
  t.equal((await app.email(id)).archived, false, 'not a minute too early');
  const young = 'Quetzalcoatl';
  const later = await app.send(personal(young));
  await app.whenStatus(later.id, 'delivered');
  await advanceUntil(clock, 1_000, 'the email is archived', async () => (await app.email(id)).archived);

  const after = await app.email(id);
  const kept = [
    'id',
    'messageId',
    'status',
    'emailTemplateName',
    'templateId',
    'templateVersion',
    'priority',
    'tags',
    'recipientCount',
    'attachmentCount',
    'retryCount',
    'queuedAt',
    'processingAt',
    'sentAt',
    'deliveredAt',
    'createdAt',
  ] as const satisfies readonly (keyof EmailRecord)[];
  for (const field of kept) t.same(after[field], before[field], field);
  t.match(after, { archived: true, archivedAt: String, subject: null, from: null, replyTo: null });
  t.same(
    after.recipients.map(({ email, name, role, status, reply: words }) => ({ email, name, role, status, words })),
    ['to', 'cc', 'bcc'].map((role) => ({ email: null, name: null, role, status: 'delivered', words: null })),
  );
  t.same(after.metadata, {
    recipients: { to: [], cc: [], bcc: [] },
    variables: {},
    attachments: [],
    omittedAttachments: [],
    custom: {},
  });
  t.notMatch(JSON.stringify(after), mark);
  t.match(await app.call('POST', `/api/emails/${id}/retry`), { status: 400, body: { code: 'EMAIL_ARCHIVED' } });

  await app.whenCaughtUp();
  t.equal(await total(app, `search=${mark}`), 0);
  t.equal(await total(app, `search=${young}`), 1, 'a younger one is still found');
  t.equal(await total(app, 'status=delivered'), 2, 'it still counts');
  await eventually('the mailbox has forgotten it', async () => {
    const { body } = await app.call<{ meta: { total: number } }>('GET', '/mailbox/messages');
    return body.meta.total === 1;
  });
  await eventually('nothing of it is left in any file', () => traces(dataDir, mark).length === 0).catch(() => {});
  t.same(traces(dataDir, mark), [], 'nothing of it is left in any file, without a rebuild');
  t.ok(traces(dataDir, young).length > 0);

  await app.stop();
  t.same(traces(dataDir, mark), [], 'nor after the stop');
  const replayed = await runCommand(['replay', `email-${id}`, '--json'], { SEALPOST_DATA_DIR: dataDir });
  t.match(replayed.stdout, /"sealed":"destroyed"/);
  t.notMatch(replayed.stdout, mark);
  t.match(await runCommand(['verify'], { SEALPOST_DATA_DIR: dataDir }), { code: 0 });
});

await t.test('a failed email: archived too, with the words of the replies', async (t) => {
  const dataDir = temporaryDirectory(t);
  const mark = 'Popocatepetl';
  const sink = await openSmtpScript({ script: at('rcpt', reply(`550 5.1.1 no ${mark} here`)) });
  t.teardown(() => sink.close());
  const clock = fakeClock();
  const app = await start(t, dataDir, clock, { SEALPOST_SMTP_URL: `${sink.url}?tls=off` });
  const { id } = await app.send(personal(mark));
  t.match((await app.whenStatus(id, 'bounced')).recipients[0]!.reply, mark);
  await app.whenCaughtUp();
  await clock.advance(30 * DAY_MS);
  await advanceUntil(clock, 1_000, 'the email is archived', async () => (await app.email(id)).archived);
  const after = await app.email(id);
  t.match(after, { status: 'bounced', attempts: [{ outcome: 'bounced', replyCode: 550, reply: null }] });
  t.match(after.recipients[0], { replyCode: 550, enhancedCode: '5.1.1', rule: 'mailbox-unknown', reply: null });
  await app.stop();
  t.same(traces(dataDir, mark), []);
});

await t.test('an email whose payload went into files: they are gone, too', async (t) => {
  const dataDir = temporaryDirectory(t);
  const clock = fakeClock();
  const app = await start(t, dataDir, clock);
  const filesOf = (): number => filesIn(dataDir, 'files').length;
  const filesBefore = filesOf();
  const mark = 'Tegucigalpa';
  const { id } = await app.send({ ...personal(mark), variables: { code: mark, ballast: `${mark} `.repeat(40_000) } });
  await app.whenStatus(id, 'delivered');
  await app.whenCaughtUp();
  t.equal(filesOf(), filesBefore + 2, 'one for the attachment, one for the payload');
  await clock.advance(30 * DAY_MS);
  await advanceUntil(clock, 1_000, 'the email is archived', async () => (await app.email(id)).archived);
  await eventually('its files are gone', () => filesOf() === filesBefore);
});

await t.test('DELETE destroys at once', async (t) => {
  const dataDir = temporaryDirectory(t);
  const app = await start(t, dataDir, fakeClock());
  const mark = 'Ouagadougou';
  const { id } = await app.send(personal(mark));
  await app.whenStatus(id, 'delivered');
  t.match(await app.call('DELETE', `/api/emails/${id}`), { status: 200, body: { id, deleted: true } });
  t.equal(await app.engine.eventLog.existingKey(streamOf(id)), undefined, 'the key is gone when the answer is there');
  t.match(await app.call('GET', `/api/emails/${id}`), { status: 404 });
  t.match(await app.call('DELETE', `/api/emails/${id}`), { status: 404 });
  await app.whenCaughtUp();
  t.equal(await total(app, `search=${mark}`), 0);
  await eventually('nothing of it is left in any file', () => traces(dataDir, mark).length === 0).catch(() => {});
  t.same(traces(dataDir, mark), []);
});

await t.test('of many emails that are deleted while others are sent nothing stays in any file', async (t) => {
  const dataDir = temporaryDirectory(t);
  const app = await start(t, dataDir, fakeClock());
  const word = (index: number): string => `Doomed${index}Person`;
  const sendAll = (wordOf: (index: number) => string): Promise<readonly string[]> =>
    Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const to = [{ email: `${wordOf(index)}@private.example`, name: wordOf(index) }];
        const { id } = await app.send({
          to,
          subject: `about ${wordOf(index)}`,
          variables: { code: '1', firstName: wordOf(index) },
        });
        return id;
      }),
    );
  const doomed = await sendAll(word);
  for (const id of doomed) await app.whenStatus(id, 'delivered');
  await app.whenCaughtUp();
  t.ok(traces(dataDir, 'Doomed').length > 0);
  const beside = sendAll((index) => `Beside${index}Person`);
  for (const id of doomed) t.equal((await app.call('DELETE', `/api/emails/${id}`)).status, 200);
  for (const id of await beside) await app.whenStatus(id, 'delivered');
  await app.whenCaughtUp();
  await eventually('nothing of them is left in any file', () => traces(dataDir, 'Doomed').length === 0).catch(() => {});
  t.same(traces(dataDir, 'Doomed'), []);
  t.ok(traces(dataDir, 'Beside').length > 0, 'the others are there');
});

await t.test(
  'keys and mails that an older backup brought back are destroyed again by `forget`, the others stay',
  async (t) => {
    const dataDir = temporaryDirectory(t);
    const app = await start(t, dataDir, fakeClock());
    const [doomed, kept] = [await app.send(personal('Nouakchott')), await app.send(personal('Lilongwe'))];
    for (const { id } of [doomed, kept]) await app.whenStatus(id, 'delivered');
    await app.stop();
    const backup = temporaryDirectory(t);
    const backedUp = ['keys.db', 'mailbox.db'] as const;
    for (const name of backedUp) copyFileSync(join(dataDir, name), join(backup, name));
    const again = await start(t, dataDir, fakeClock());
    t.match(await again.call('DELETE', `/api/emails/${doomed.id}`), { status: 200 });
    await again.stop();
    for (const name of backedUp) copyFileSync(join(backup, name), join(dataDir, name));
    t.not(traces(dataDir, 'Nouakchott').length, 0);

    const [first, second] = [
      await runCommand(['forget'], { SEALPOST_DATA_DIR: dataDir }),
      await runCommand(['forget'], { SEALPOST_DATA_DIR: dataDir }),
    ];
    t.match(first, { code: 0, stdout: /^1 key .* destroyed now/m });
    t.match(second, { code: 0, stdout: /^0 keys/m });
    t.same(traces(dataDir, 'Nouakchott'), [], 'nor is its copy left in the mailbox');
    t.not(traces(dataDir, 'Lilongwe').length, 0);
    const restored = await start(t, dataDir, fakeClock());
    t.equal(await restored.engine.eventLog.existingKey(streamOf(doomed.id)), undefined);
    t.not(await restored.engine.eventLog.existingKey(streamOf(kept.id)), undefined);
  },
);

await t.test('a deletion that died half way is finished by the next start', async (t) => {
  const dataDir = temporaryDirectory(t);
  const clock = fakeClock();
  const first = await start(t, dataDir, clock);
  const { id } = await first.send(personal('Antananarivo'));
  await first.whenStatus(id, 'delivered');
  // Does the first step of a DELETE and none of the later ones.
  const { eventLog } = first.engine;
  const recorded = await eventLog.load(streamOf(id));
  const last = recorded.at(-1)!;
  const cause = {
    teamId: last.metadata.teamId,
    actor: 'test',
    correlationId: 'test',
    causationId: 'test',
    at: new Date(clock.now()).toISOString(),
  };
  await first.stop();
  const half = await start(t, dataDir, clock, { SEALPOST_ROLES: 'http' });
  await half.engine.eventLog.append(
    streamOf(id),
    versionOf(last),
    [{ type: 'EmailDeleted', data: { at: cause.at } }],
    cause,
  );
  t.not(await half.engine.eventLog.existingKey(streamOf(id)), undefined);
  await half.stop();

  const second = await start(t, dataDir, clock);
  await advanceUntil(
    clock,
    500,
    'the key is destroyed',
    async () => (await second.engine.eventLog.existingKey(streamOf(id))) === undefined,
  );
  await eventually('it is recorded', async () =>
    (await second.engine.eventLog.load(streamOf(id))).some(({ event }) => event.type === 'EmailArchived'),
  );
});

await t.test('an address is erased: emails sent and waiting, a bulk send that waits, its suppression', async (t) => {
  const dataDir = temporaryDirectory(t);
  const clock = fakeClock();
  const app = await start(t, dataDir, clock);
  const mark = 'Ulaanbaatar';
  const email = `${mark}-to@private.example`;
  const { cc: _cc, bcc: _bcc, ...alone } = personal(mark);
  const scheduledAt = new Date(clock.now() + DAY_MS).toISOString();
  const sent = await app.send(alone);
  const later = await app.send({ ...alone, scheduledAt });
  const shared = 'Montevideo';
  const several = await app.send({ ...personal(shared), cc: [{ email, name: `${mark} Näme` }] });
  const others = await app.send({ ...personal(shared), bcc: [{ email }], scheduledAt });
  const kept = await app.send(personal('Bratislava'));
  for (const { id } of [sent, several, kept]) await app.whenStatus(id, 'delivered');
  const suppressed = await app.call('POST', '/api/suppressions', { email });
  t.equal(suppressed.status, 201);
  const batch = await app.call<{ batchId: string }>('POST', '/api/emails/send/bulk', {
    templateId: 'sign-in-code',
    scheduledAt,
    recipients: [
      { email, name: `${mark} Name`, variables: { code: `${mark}-code` } },
      { email: 'other@private.example', variables: { code: '7' } },
    ],
  });
  t.equal(batch.status, 201);
  await app.whenCaughtUp();
  t.ok(traces(dataDir, mark).length > 0, 'before, it is found in the read models and in the mailbox');
  t.equal(await total(app, `recipient=${email}`), 4);
  t.equal(await total(app, `search=${mark}`), 4);
  await app.stop();
  const [keysFile, backup] = [join(dataDir, 'keys.db'), join(dataDir, 'keys.backup')];
  copyFileSync(keysFile, backup);

  const again = await start(t, dataDir, clock);
  let asked: Awaited<ReturnType<typeof again.call<ErasureReceipt>>> | undefined;
  void again.call<ErasureReceipt>('POST', '/api/privacy/erase', { email }).then((answer) => (asked = answer));
  await advanceUntil(clock, 50, 'it is answered', () => asked !== undefined);
  const { status, body: receipt } = asked!;
  t.equal(status, 200);
  t.match(receipt, {
    status: 'pending',
    emails: 4,
    bulkSends: [batch.body.batchId],
    waiting: { bulkSends: [batch.body.batchId] },
  });
  t.same(new Set(receipt.emailIds), new Set([sent.id, later.id, several.id, others.id]));
  t.notMatch(JSON.stringify(receipt), mark);
  for (const { id } of [sent, later])
    t.equal(
      await again.engine.eventLog.existingKey(streamOf(id)),
      undefined,
      'the key is gone when the answer is there',
    );
  await again.whenCaughtUp();
  t.equal(await total(again, `recipient=${email}`), 0);
  t.equal(await total(again, `search=${mark}`), 0);
  t.equal(await total(again, `search=${shared}`), 2, 'the others are found');
  t.match(await again.email(several.id), {
    archived: false,
    subject: `${shared} subject of mine`,
    recipients: [
      { email: `${shared}-to@private.example` },
      { email: null, name: null, status: 'delivered', erased: true },
      {},
    ],
  });
  t.match((await again.email(others.id)).recipients, [
    { status: 'queued' },
    { status: 'queued' },
    { email: null, status: 'cancelled' },
  ]);
  t.match(await again.email(kept.id), { archived: false });
  await eventually('nothing of it is left in any file', () => traces(dataDir, mark).length === 0).catch(() => {});
  t.same(traces(dataDir, mark), [], 'nothing of it is left in any file in clear');

  t.match(await again.call('POST', `/api/emails/batch/${batch.body.batchId}/cancel`), { status: 200 });
  const erasure = async () => (await again.call<ErasureReceipt>('GET', `/api/privacy/erasures/${receipt.id}`)).body;
  await advanceUntil(
    clock,
    1_000,
    'the bulk send holds it no more',
    async () => (await erasure()).status === 'completed',
  );
  t.match(await erasure(), { suppressed: true, waiting: null });
  t.match(await again.call('GET', `/api/suppressions/check?email=${email}`), {
    body: { suppressed: true, suppression: { email: null } },
  });
  await clock.advance(DAY_MS);
  await again.whenStatus(others.id, 'delivered');
  t.same(
    (await again.email(others.id)).recipients.map(({ status }) => status),
    ['delivered', 'delivered', 'cancelled'],
  );
  await again.whenCaughtUp();
  await again.stop();
  t.same(traces(dataDir, mark), [], 'nor after the stop');
  t.match(await runCommand(['verify'], { SEALPOST_DATA_DIR: dataDir }), { code: 0 });

  copyFileSync(backup, keysFile);
  t.match(
    await runCommand(['forget'], { SEALPOST_DATA_DIR: dataDir }),
    { code: 0, stdout: /^6 keys .* destroyed now/m },
    'an older copy of the keys',
  );
  const told = await runCommand(['replay', '--all', '--json'], { SEALPOST_DATA_DIR: dataDir });
  t.equal(told.code, 0);
  t.notMatch(told.stdout, mark);
  t.match(told.stdout, 'Bratislava');
  t.match(told.stdout, `${shared}-to@private.example`);
});
