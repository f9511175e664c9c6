/**
 * Six years of one instance, line by line of docs/retention.md: when its time is over nothing of it is left, and
 * rebuild, comparison and verification hold.
 */
import t, { type Test } from 'tap';
import { DAY_MS, HOUR_MS } from '../../src/domain/core/time.js';
import { makeProjections } from '../../src/projections/index.js';
import { rebuildProjection } from '../../src/projections/core/rebuild.js';
import { advanceUntil, startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { attachmentOf } from '../support/documents.js';
import { openEngineOfTest, type EngineName } from '../support/engines.js';
import { fakeClock } from '../support/fake-clock.js';
import { filesIn } from '../support/files.js';
import { png } from '../support/pictures.js';
import { runCommand } from '../support/server-process.js';
import { eventually } from '../support/wait.js';
import { openReceiver } from '../support/webhook-receiver.js';
import {
  assertGone,
  assertSound,
  cutOff,
  due,
  figuresOf,
  inClear,
  makeDeletedTeam,
  marks,
  opened,
  settle,
  START_MS,
  walkTo,
  type World,
} from './six-years.js';

t.setTimeout(900_000);

const SUBSCRIPTIONS = '/api/v1/webhook-subscriptions';

const post = async <Body>(t: Test, { app }: World, path: string, body: unknown): Promise<Body> => {
  const answer = await app.call<Body>('POST', path, body);
  t.match(
    answer.status,
    /^20[01]$/,
    `${path} is answered ${answer.status}: ${answer.status < 300 ? '' : answer.text.slice(0, 300)}`,
  );
  return answer.body;
};

const personal = (mark: string) => ({
  to: [{ email: `${mark}-to@private.example`, name: `${mark} Name` }],
  subject: `${mark} subject`,
  variables: { code: `${mark}-code`, firstName: `${mark}-first`, minutesValid: 10 },
  metadata: { order: `${mark}-metadata` },
});

const attachmentOfMark = (mark: string) => ({
  filename: `${mark}.txt`,
  contentType: 'text/plain',
  content: Buffer.from(`${mark} attached `.repeat(50)).toString('base64'),
});

type Made = Readonly<{
  sent: string;
  deleted: string;
  document: string;
  batch: string;
  webhook: string;
  domain: string;
}>;

/** Everything of which the documentation has a line. */
const make = async (t: Test, world: World, hook: string): Promise<Made> => {
  const { app } = world;
  const subscription = await post<{ id: string }>(t, world, SUBSCRIPTIONS, {
    url: `${hook}/hooks`,
    events: ['email.sent', 'email.opened', 'batch.completed'],
  });
  const doomed = await post<{ id: string }>(t, world, SUBSCRIPTIONS, {
    url: `${hook}/${marks.webhook}`,
    events: ['email.failed'],
    description: marks.webhook,
  });
  const sent = await app.send({
    ...personal(marks.sent),
    attachments: [attachmentOfMark(marks.sent)],
    tracking: { opens: true, clicks: true },
  });
  const deleted = await app.send({ ...personal(marks.deleted), attachments: [attachmentOfMark(marks.deleted)] });
  const paper = attachmentOf([{ id: 'text', type: 'rich-text', content: '<p>{{word}}</p>' }], {
    variables: [{ name: 'word', type: 'string', defaultValue: 'none' }],
  });
  await post(t, world, '/api/templates/attachment', { slug: 'paper', name: 'Paper', ...paper, publish: true });
  const document = await app.send({
    ...personal(marks.document),
    attachments: [{ attachmentTemplateId: 'paper', variables: { word: marks.document }, filename: marks.document }],
  });
  const { batchId: batch } = await post<{ batchId: string }>(t, world, '/api/emails/send/bulk', {
    templateId: 'sign-in-code',
    batchName: marks.batchName,
    recipients: ['one', 'two'].map((which) => ({
      email: `${marks.batch}-${which}@private.example`,
      name: `${marks.batch} ${which}`,
      variables: { code: marks.batch, firstName: marks.batch, minutesValid: 10 },
    })),
  });
  for (const { id } of [sent, deleted, document]) await app.whenStatus(id, 'delivered', 100);
  await advanceUntil(world.clock, 500, 'the bulk send is completed', async () => {
    const { body } = await app.call<{ status: string }>('GET', `/api/emails/batch/${batch}/status`);
    return body.status === 'completed';
  });
  const asset = await post<{ id: string }>(t, world, '/api/assets', {
    filename: `${marks.asset}.png`,
    content: png.toString('base64'),
  });
  const template = await post<{ id: string }>(t, world, '/api/templates', {
    slug: marks.template.toLowerCase(),
    name: marks.template,
    subject: marks.template,
    variables: [],
    schema: {
      sections: [
        {
          id: 'main',
          type: 'main',
          components: [{ id: 'text', type: 'rich-text', content: `<p>${marks.template}</p>` }],
        },
      ],
    },
  });
  const domain = await post<{ id: string }>(t, world, '/api/domains', { domain: `${marks.domain}.example` });
  for (const path of [
    `/api/assets/${asset.id}`,
    `/api/templates/${template.id}`,
    `/api/domains/${domain.id}`,
    `${SUBSCRIPTIONS}/${doomed.id}`,
    `/api/emails/${deleted.id}`,
  ])
    t.equal((await app.call('DELETE', path)).status, 200, path);
  return {
    sent: sent.id,
    deleted: deleted.id,
    document: document.id,
    batch,
    webhook: subscription.id,
    domain: domain.id,
  };
};

/** Opens the mail as a recipient does. */
const open = async (t: Test, { app, clock }: World, sent: string): Promise<void> => {
  const { body: listed } = await app.call<{ data: { id: string; subject: string }[] }>(
    'GET',
    '/mailbox/messages?limit=100',
  );
  const mail = listed.data.find(({ subject }) => subject.startsWith(marks.sent));
  const { body } = await app.call<{ html: string }>('GET', `/mailbox/messages/${mail?.id}`);
  const [, pixel = ''] = /(\/t\/o\/[^"?]+)/.exec(body.html) ?? [];
  const agent = `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 ${marks.visitor}`;
  // Sooner after it was taken only a program opens a mail.
  await clock.advance(10_000);
  t.equal((await app.server.inject({ url: pixel, headers: { 'user-agent': agent } })).statusCode, 200);
  await advanceUntil(clock, 1_000, 'the opening is recorded', async () => (await app.email(sent)).openedAt !== null);
};

const begin = async (t: Test, world: Omit<World, 'app'>): Promise<World> => {
  const { dataDir, clock, settings } = world;
  const app = await startTestApp({ dataDir, clock, settings });
  t.teardown(() => app.stop());
  return { ...world, app };
};

const story = async (whole: Test, engine: EngineName): Promise<void> => {
  const t = whole;
  const stores = await openEngineOfTest(t, engine);
  if (stores === undefined) return;
  const { SEALPOST_DATA_DIR: dataDir = temporaryDirectory(t), ...rest } = stores.ofProcess();
  const clock = fakeClock(START_MS);
  const settings = { ...rest, SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1' } as Readonly<Record<string, string>>;
  const isEmbedded = engine === 'embedded';
  const receiver = await openReceiver();
  t.teardown(() => receiver.close());
  receiver.answer((_request, response) => void response.end(`thanks, ${marks.answer}`));
  let world = await begin(t, { dataDir, clock, settings });
  const made = await make(t, world, receiver.url);
  await open(t, world, made.sent);
  await makeDeletedTeam(world);
  await advanceUntil(clock, 1_000, 'the endpoint has heard of all', () => receiver.received().length >= 6);
  // Five emails, one opening, one bulk send; of the deleted email it may be recorded that nothing was posted.
  await advanceUntil(clock, 1_000, 'what it answered is recorded', async () => {
    const { body } = await world.app.call<{ deliveries: unknown[] }>(
      'GET',
      `${SUBSCRIPTIONS}/${made.webhook}/deliveries`,
    );
    return body.deliveries.length >= 7;
  });
  const before = await opened(world);
  for (const mark of Object.values(marks)) {
    if (mark === marks.deleted) continue;
    t.ok(before.includes(mark), `${mark} is in the log`);
  }
  const figures = await figuresOf(world);
  t.match(figures, { accepted: 5, delivered: 5, opened: 1 });
  await assertSound(t, world, 'on the first day');

  await t.test('what was deleted is gone at once', async (t) => assertGone(t, world, marks.deleted));

  await t.test('after a day: files whose writing was cut off', async (t) => {
    const file = isEmbedded ? cutOff(dataDir) : undefined;
    await clock.advance(25 * HOUR_MS);
    if (file !== undefined)
      await advanceUntil(
        clock,
        60_000,
        'it is removed',
        () => !filesIn(dataDir, 'files').some((one) => one.endsWith('cut-off')),
      );
    t.equal((await due(world))['files'], 0);
  });

  await t.test('after a week: generated files', async (t) => {
    const filesBefore = filesIn(dataDir, 'files').length;
    await walkTo(world, 8);
    await settle(world, 'files');
    // The document, when it expires, and the note of that for the sweep.
    if (isEmbedded) await eventually('all three are gone', () => filesIn(dataDir, 'files').length === filesBefore - 3);
    t.match(await world.app.email(made.document), { archived: false });
  });

  await t.test('after a month: logs, records of webhooks, what was deleted', async (t) => {
    await walkTo(world, 30);
    await clock.advance(10 * 60_000);
    await settle(world, 'emails', 'deleted.asset', 'deleted.webhook', 'deleted.template', 'deleted.senderDomains');
    await walkTo(world, 32);
    await settle(world, 'webhookRecords', 'deleted.team');
    t.match(await world.app.email(made.sent), { archived: true, subject: null });
    for (const mark of [marks.sent, marks.batch, marks.visitor, marks.answer, marks.document, marks.asset, marks.team])
      await assertGone(t, world, mark);
    // The log has the names of templates, subscriptions and domains in clear, so bytes of them may be in read models,
    // too.
    for (const mark of [marks.template, marks.webhook, marks.domain]) await assertGone(t, world, mark, inClear);
    const { body } = await world.app.call<{ deliveries: unknown[] }>(
      'GET',
      `${SUBSCRIPTIONS}/${made.webhook}/deliveries`,
    );
    t.same(body.deliveries, []);
    t.same(await figuresOf(world), figures);
    await assertSound(t, world, 'after a month');
  });

  await t.test('after two years: entries of the audit log', async (t) => {
    await walkTo(world, 31 + 731 + 2);
    await settle(world, 'audit');
    await assertSound(t, world, 'without the first month of the audit log');
  });

  await t.test('up to five years later the records are there', async (t) => {
    await walkTo(world, 30 + 1_825);
    await clock.advance(10 * 60_000);
    t.match(await due(world), { archivedEmails: 0, bulkSends: 0 });
    t.match(await world.app.email(made.sent), { archived: true, status: 'delivered' });
    t.match((await world.app.call('GET', `/api/emails/batch/${made.batch}/status`)).body, {
      batchName: marks.batchName,
    });
    const { body } = await world.app.call<{ meta: { total: number } }>('GET', '/api/emails');
    t.equal(body.meta.total, 4);
  });

  await t.test('after five years: the records of emails and bulk sends', async (t) => {
    // A program that ends in the midst of it goes on at its next start.
    await clock.advance(DAY_MS);
    await world.app.stop();
    world = await begin(whole, { dataDir, clock, settings });
    await walkTo(world, 30 + 1_826 + 2);
    await settle(world, 'archivedEmails', 'bulkSends');
    for (const id of [made.sent, made.document])
      t.equal((await world.app.call('GET', `/api/emails/${id}`)).status, 404);
    t.equal((await world.app.call('GET', `/api/emails/batch/${made.batch}/status`)).status, 404);
    t.match((await world.app.call('GET', '/api/emails')).body, { data: [], meta: { total: 0 } });
    t.match((await world.app.call('GET', '/api/emails/batches')).body, { data: [] });
    await assertGone(t, world, marks.batchName, inClear);
    t.same(await figuresOf(world), figures, 'the daily summaries stay');
  });

  await t.test('after six years', async (t) => {
    await walkTo(world, 6 * 365 + 2);
    const now = await due(world);
    t.same(
      Object.values(now),
      Object.values(now).map(() => 0),
      'nothing is left to go',
    );
    await assertSound(t, world, 'after six years');
    for (const projection of makeProjections(world.app.engine.limits))
      await rebuildProjection(projection, world.app.engine);
    await assertSound(t, world, 'after a rebuild');
    await assertGone(t, world, marks.batchName, inClear);
    t.same(await figuresOf(world), figures, 'the daily summaries are those of the first month');
    await world.app.stop();
    if (isEmbedded) t.match(await runCommand(['verify'], { SEALPOST_DATA_DIR: dataDir }), { code: 0 });
  });
};

await t.test('embedded', (t) => story(t, 'embedded'));
await t.test('distributed', (t) => story(t, 'distributed'));
