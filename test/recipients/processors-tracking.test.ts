/** Opens and clicks from the mail that left to what is recorded of its reader. */
import t, { type Test } from 'tap';
import { openEngagementRecorder, type ReaderRequest } from '../../src/commands/recipients/engagement-recorder.js';
import { setTracking } from '../../src/commands/recipients/tracking.js';
import { emailStream, type EmailId } from '../../src/domain/core/ids.js';
import { StoreAway } from '../../src/domain/core/errors.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { openTrackingTokens } from '../../src/domain/recipients/tracking.js';
import { makeProcessors } from '../../src/processors/index.js';
import { makeAnalyticsQueries } from '../../src/projections/analytics/analytics.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { acceptBulk, bulk } from '../support/bulk.js';
import { caller, TEAM } from '../support/command-world.js';
import { PERIODS } from '../support/email-facts.js';
import { openProcessorWorld, until, workersOf, type ProcessorWorld } from '../support/processor-world.js';

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36';
const both = { opens: true, clicks: true };

const body = `<p><a href="https://shop.example/orders/{{name}}">order</a> <a href="https://shop.example/help" data-sealpost-track="off">help</a></p>`;
const template = {
  slug: 'order',
  name: 'Order',
  subject: 'Order',
  variables: [{ name: 'name', type: 'string', required: true }],
  schema: { sections: [{ id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: body }] }] },
  publish: true,
} as const;

/** With the service delivering, and what a reader of its mails finds. */
const opened = async (t: Test) => {
  const world = await openProcessorWorld(t);
  await world.commands.createTemplate(caller, template);
  world.run(workersOf(world.processing, makeProcessors(world.processing)));
  const recorder = openEngagementRecorder({ ...world.deps, logger: world.logger });
  const recording = world.run(recorder.worker);
  const tokens = openTrackingTokens(world.deps.keys);
  const send = async (more: Parameters<ProcessorWorld['send']>[0] = {}): Promise<EmailId> => {
    const id = await world.send({ templateId: 'order', ...more });
    await world.reaches(id, 'sent');
    return id;
  };
  /** Beyond the moments in which only machines are so quick. */
  const later = () => world.clock.advance(60_000);
  const see = (seen: Partial<ReaderRequest>): void =>
    recorder.note({
      emailId: seen.emailId!,
      recipient: 0,
      userAgent: CHROME,
      ipAddress: '192.0.2.7',
      requestId: 'request-2',
      ...seen,
    });
  const engaged = async (id: EmailId) =>
    (await world.events(emailStream(id))).filter(({ type }) => type === 'EmailOpened' || type === 'EmailClicked');
  const reaches = (id: EmailId, count: number) =>
    until(async () => (await engaged(id)).length === count, `${count} events`);
  return { ...world, recorder, recording, tokens, send, later, see, engaged, reachesEvents: reaches };
};

/** The parts of the newest mail, decoded from quoted-printable. */
const mailOf = ({ mailer }: Pick<ProcessorWorld, 'mailer'>) => htmlOf(mailer.sent.at(-1)!.raw);

const htmlOf = (bytes: Uint8Array) => {
  const raw = Buffer.from(bytes).toString();
  const plain = raw
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  const html = plain.slice(plain.indexOf('<!doctype html>'));
  return { html, text: plain.slice(0, plain.indexOf('<!doctype html>')) };
};

void t.test('a mail without tracking has nothing of it', async (t) => {
  const world = await opened(t);
  const id = await world.send();
  const { html } = mailOf(world);
  t.notMatch(html, '/t/');
  t.notMatch(html, 'data-sealpost');
  t.notOk('tracking' in (await world.events(emailStream(id)))[0]!.data);
  t.match(await world.commands.getEmail(caller, id), {
    openedAt: null,
    clickedAt: null,
    tracking: { opens: false, clicks: false, events: [] },
  });
});

void t.test('a mail with it carries a pixel and links that lead to what its author wrote', async (t) => {
  const world = await opened(t);
  const id = await world.send({ tracking: both });
  const { html, text } = mailOf(world);
  const [, token] = /href="https:\/\/mail\.example\.com\/t\/c\/([^"]+)"/.exec(html)!;
  t.same(world.tokens.openClick(token!), {
    emailId: id,
    recipient: 0,
    link: 0,
    url: 'https://shop.example/orders/Ann',
  });
  const [, pixel] = /<img src="https:\/\/mail\.example\.com\/t\/o\/([^"]+)"/.exec(html)!;
  t.same(world.tokens.openOpen(pixel!), { emailId: id, recipient: 0 });
  t.match(html, /<a class="t3" href="https:\/\/shop\.example\/help"/);
  t.notMatch(html, 'data-sealpost');
  t.match(text, 'https://shop.example/orders/Ann');
  t.notMatch(text, '/t/');
});

void t.test('what the call says goes before the template, and that before the team', async (t) => {
  const world = await opened(t);
  const pinned = async (id: EmailId) => (await world.commands.getEmail(caller, id)).tracking;
  t.same(await world.commands.getTracking(caller), { opens: false, clicks: false });
  t.same(await setTracking(world.deps, caller, { opens: true, clicks: false }), { opens: true, clicks: false });
  const before = await world.send();
  t.match(await pinned(before), { opens: true, clicks: false });
  await world.commands.updateTemplate(caller, 'order', { tracking: { opens: false, clicks: true } });
  t.match(await pinned(await world.send()), { opens: true, clicks: false }, 'the draft is not published');
  await world.commands.publishTemplate(caller, 'order');
  t.match(await world.commands.getTemplate(caller, 'order'), { tracking: { opens: false, clicks: true } });
  t.match(await pinned(await world.send()), { opens: false, clicks: true });
  t.match(await pinned(await world.send({ tracking: { opens: false, clicks: false } })), {
    opens: false,
    clicks: false,
  });
  await setTracking(world.deps, caller, { opens: false, clicks: false });
  t.match(await pinned(before), { opens: true, clicks: false }, 'an accepted mail stays as it was accepted');
  await world.commands.updateTemplate(caller, 'order', { tracking: null });
  t.match(await world.commands.getTemplate(caller, 'order'), { tracking: null });
});

void t.test('without an address of the service it is refused', async (t) => {
  const world = await opened(t);
  const { linkBase: _linkBase, ...deps } = world.deps;
  await t.rejects(setTracking(deps, caller, both), { code: 'PUBLIC_URL_REQUIRED' });
  t.same(await setTracking(deps, caller, { opens: false, clicks: false }), { opens: false, clicks: false });
});

void t.test('each of several recipients has links of its own, and is told from the others', async (t) => {
  const world = await opened(t);
  const id = await world.send({
    tracking: both,
    to: [{ email: 'ann@example.org' }],
    cc: [{ email: 'bob@example.org' }],
  });
  t.same(
    world.mailer.sent.map(({ envelope }) => envelope.to),
    [['ann@example.org'], ['bob@example.org']],
  );
  const clicked = world.mailer.sent.map((message) => {
    const { html } = htmlOf(message.raw);
    return world.tokens.openClick(/\/t\/c\/([^"]+)"/.exec(html)![1]!)!;
  });
  t.same(
    clicked.map(({ emailId, recipient }) => [emailId, recipient]),
    [
      [id, 0],
      [id, 1],
    ],
  );
  await world.later();
  world.see({ ...clicked[1]! });
  await world.reachesEvents(id, 1);
  const { recipients } = await world.commands.getEmail(caller, id);
  t.same([recipients[0]!.clickedAt, typeof recipients[1]!.clickedAt], [null, 'string']);
});

void t.test('the emails of a bulk send have it from their call', async (t) => {
  const world = await opened(t);
  const id = await acceptBulk(world, bulk(2, { templateId: 'order', tracking: { opens: true, clicks: false } }));
  await until(async () => (await world.commands.getBatch(caller, id)).sent > 0, 'one is sent');
  t.match(mailOf(world).html, /<img src="https:\/\/mail\.example\.com\/t\/o\//);
});

void t.test('an open and a click are recorded with what is known of the reader', async (t) => {
  const world = await opened(t);
  const id = await world.send({ tracking: both });
  await world.later();
  world.see({ emailId: id });
  await world.reachesEvents(id, 1);
  world.see({ emailId: id, link: 0, url: 'https://shop.example/orders/Ann' });
  await world.reachesEvents(id, 2);
  const record = await world.commands.getEmail(caller, id);
  t.type(record.openedAt, 'string');
  t.equal(record.clickedAt, record.recipients[0]!.clickedAt);
  t.match(record.tracking.events, [
    {
      type: 'opened',
      recipient: 0,
      times: 1,
      machine: false,
      rule: null,
      url: null,
      userAgent: CHROME,
      ipAddress: '192.0.2.7',
    },
    { type: 'clicked', url: 'https://shop.example/orders/Ann', machine: false },
  ]);
  for (const { data } of await world.engaged(id)) t.notMatch(JSON.stringify(data), /192\.0\.2|Chrome|shop/);
  const stored = JSON.stringify((await world.deps.eventLog.load(emailStream(id))).map(({ event }) => event.data));
  t.notMatch(stored, 'example.org');
});

void t.test('machines are flagged and count for nothing', async (t) => {
  const world = await opened(t);
  const id = await world.send({ tracking: both });
  world.see({ emailId: id });
  await world.reachesEvents(id, 1);
  await world.later();
  world.see({ emailId: id, userAgent: 'Mozilla/5.0' });
  await world.reachesEvents(id, 2);
  for (const link of [0, 1, 2]) {
    world.see({ emailId: id, link, url: 'https://shop.example/' });
    await world.reachesEvents(id, 3 + link);
  }
  const { openedAt, tracking } = await world.commands.getEmail(caller, id);
  t.equal(openedAt, null);
  t.same(
    tracking.events.map(({ machine, rule }) => [machine, rule]),
    [
      [true, 'too-soon'],
      [true, 'apple-mail-privacy'],
      [false, null],
      [false, null],
      [true, 'burst'],
    ],
  );
});

void t.test('a million requests for one picture are a handful of events, and cost no reading', async (t) => {
  const world = await opened(t);
  const id = await world.send({ tracking: both });
  await world.later();
  for (let count = 0; count < 12; count += 1) {
    world.see({ emailId: id });
    await until(() => world.recorder.waiting() === 0, 'nothing waits');
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  t.equal((await world.engaged(id)).length, 10);
  const position = await world.deps.eventLog.head();
  for (let count = 0; count < 100_000; count += 1) world.see({ emailId: id });
  await until(async () => (await world.engaged(id)).length > 10, 'more is recorded');
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const events = await world.engaged(id);
  t.ok(events.length <= 16, `${events.length} events`);
  const times = (await world.commands.getEmail(caller, id)).tracking.events.reduce(
    (sum, event) => sum + event.times,
    0,
  );
  t.ok(times > 100_000, `${times} are counted`);
  t.ok((await world.deps.eventLog.head()) - position <= 12);
  world.see({ emailId: id, userAgent: 'curl/8' });
  await until(async () => (await world.engaged(id)).length === events.length + 1, 'a machine is counted by itself');
});

void t.test('of an archived or deleted email nothing is recorded', async (t) => {
  const world = await opened(t);
  const [archived, deleted] = [await world.send({ tracking: both }), await world.send({ tracking: both })];
  await world.later();
  world.see({ emailId: archived });
  await world.reachesEvents(archived, 1);
  await world.commands.deleteEmail(caller, deleted);
  await world.clock.advance(31 * DAY_MS);
  await until(async () => {
    await world.clock.advance(1_000);
    return (await world.commands.getEmail(caller, archived)).archived;
  }, 'it is archived');
  const head = await world.deps.eventLog.head();
  for (const emailId of [archived, deleted]) world.see({ emailId, userAgent: 'Mozilla/5.0 (X11)' });
  await until(() => world.recorder.waiting() === 0, 'nothing waits');
  await world.recording.stop();
  t.equal(await world.deps.eventLog.head(), head);
  t.match((await world.commands.getEmail(caller, archived)).tracking.events, [
    { type: 'opened', userAgent: null, ipAddress: null },
  ]);
});

void t.test('where the store is away it is recorded when it is back, and the reader never waits', async (t) => {
  const world = await opened(t);
  const id = await world.send({ tracking: both });
  await world.later();
  let away = true;
  const eventLog = {
    ...world.deps.eventLog,
    load: (...args: Parameters<typeof world.deps.eventLog.load>) =>
      away ? Promise.reject(new StoreAway('away')) : world.deps.eventLog.load(...args),
  };
  const recorder = openEngagementRecorder({ ...world.deps, eventLog, logger: world.logger });
  world.run(recorder.worker);
  recorder.note({ emailId: id, recipient: 0, userAgent: CHROME, ipAddress: undefined, requestId: 'r' });
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  t.equal(recorder.waiting(), 1);
  away = false;
  await until(async () => {
    await world.clock.advance(1_000);
    return recorder.waiting() === 0;
  }, 'nothing waits');
  await world.reachesEvents(id, 1);
  t.equal(recorder.waiting(), 0);
});

void t.test('the day counts what persons opened and clicked, of those that were sent with it', async (t) => {
  const world = await opened(t);
  const [id] = [await world.send({ tracking: both }), await world.send({ tracking: both }), await world.send()];
  await world.later();
  world.see({ emailId: id! });
  await world.reachesEvents(id!, 1);
  world.see({ emailId: id!, link: 0, url: 'https://shop.example/' });
  await world.reachesEvents(id!, 2);
  world.see({ emailId: id! });
  await world.reachesEvents(id!, 3);
  await world.settled();
  const { today } = await makeAnalyticsQueries({ readModels: world.readModels, clock: world.clock }).dashboardSummary(
    TEAM,
  );
  t.match(today.totals, { sent: 3, opened: 1, clicked: 1 });
  t.match(today.rates, { opened: 50, clicked: 50 });
  const { eventLog } = world.deps;
  t.equal(
    (await compareWithRebuild(emailsProjection(PERIODS), { eventLog, readModels: world.readModels })).difference,
    undefined,
  );
});
