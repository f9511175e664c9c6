/** Suppressions and tracking, from event to event. */
import t, { type Test } from 'tap';
import { handle } from '../../src/commands/core/handle.js';
import { openEngagementRecorder, type ReaderRequest } from '../../src/commands/recipients/engagement-recorder.js';
import { suppressionIdOf } from '../../src/commands/recipients/suppression-check.js';
import { setTracking } from '../../src/commands/recipients/tracking.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { StoreAway } from '../../src/domain/core/errors.js';
import { emailIdInBatch, emailStream, suppressionStream, type EmailId } from '../../src/domain/core/ids.js';
import { isoTime, DAY_MS } from '../../src/domain/core/time.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import type { ReportCommand } from '../../src/domain/email/feedback.js';
import type { OutgoingMessage } from '../../src/domain/ports/mailer.js';
import { openTrackingTokens } from '../../src/domain/recipients/tracking.js';
import { returnCreditsWorker } from '../../src/processors/billing/billing.js';
import { makeProcessors } from '../../src/processors/index.js';
import { makeAnalyticsQueries } from '../../src/projections/analytics/analytics.js';
import { returnedUpTo } from '../../src/projections/billing/credits.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { makeRunner } from '../../src/projections/core/runner.js';
import { makeProjections } from '../../src/projections/index.js';
import { SUPPRESSIONS } from '../../src/projections/recipients/suppressions.js';
import { acceptBulk, bulk } from '../support/bulk.js';
import { caller, TEAM, nothingUsed } from '../support/command-world.js';
import { PERIODS } from '../support/email-facts.js';
import { answers, openProcessorWorld, until, workersOf, type ProcessorWorld } from '../support/processor-world.js';

// The suppression list where mail is delivered: hard bounces put addresses on it, and nothing leaves for an address
// that is there.

/** Without its moment. */
type ReportOf = ReportCommand extends infer Command
  ? Command extends ReportCommand
    ? Omit<Command, 'at'>
    : never
  : never;

const gone = 'gone@example.org';
const ann = 'ann@example.org';
const to = (...addresses: readonly string[]) => ({ to: addresses.map((email) => ({ email })) });

const all = (world: ProcessorWorld) => world.run(workersOf(world.processing, makeProcessors(world.processing)));

const typesOf = async (world: ProcessorWorld, id: EmailId) =>
  (await world.events(emailStream(id))).map(({ type }) => type);

const isSuppressed = async ({ commands }: ProcessorWorld, email: string) =>
  (await commands.checkSuppression(caller, email)).suppressed;

const inCredits = async (t: Test): Promise<ProcessorWorld> => {
  const world = await openProcessorWorld(t);
  const cause = {
    teamId: TEAM,
    actor: 'test',
    correlationId: 'test',
    causationId: 'test',
    at: isoTime(world.clock.now()),
  };
  await changeBilling(world.deps, TEAM, { billing: 'credits' }, cause, nothingUsed);
  return world;
};

const left = async ({ elsewhere }: ProcessorWorld): Promise<number | null> =>
  (await elsewhere().credits.quote(TEAM)).creditsRemaining;

void t.test(
  'an address that its host refuses for good is suppressed, and the second send to it does not leave',
  async (t) => {
    const world = await openProcessorWorld(t);
    all(world);
    world.mailer.next.push(answers('bounced'));
    const first = await world.send(to(gone));
    await world.reaches(first, 'bounced');
    await until(() => isSuppressed(world, gone), 'it is on the list');
    t.match(await world.commands.checkSuppression(caller, gone), {
      suppression: { reason: 'hard-bounce', emailId: first },
    });
    await until(async () => (await typesOf(world, first)).includes('EmailBouncesNoted'), 'the email says so');
    const second = await world.send(to(gone));
    t.match(await world.commands.getEmail(caller, second), { status: 'failed', failureReason: 'suppressed' });
    t.equal(world.mailer.sent.length, 1);
  },
);

/** The answer of a host to every recipient. */
const reply = (result: 'bounced' | 'blocked', rule: string, text: string) => (message: OutgoingMessage) => ({
  host: 'mx.example.net',
  durationMs: 1,
  recipients: message.envelope.to.map(() => ({ result, replyCode: 550, enhancedCode: null, rule, text })),
});

void t.test('an address that its host refuses without a reason is suppressed after the second mail', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const refused = reply('bounced', 'recipient-refused', '550 rejected');
  world.mailer.next.push(refused, refused);
  const first = await world.send(to(gone));
  await world.reaches(first, 'bounced');
  await until(async () => (await typesOf(world, first)).includes('EmailBouncesNoted'), 'the first is noted');
  t.notOk(await isSuppressed(world, gone));
  const stream = suppressionStream(suppressionIdOf(world.deps, TEAM, gone));
  t.same(
    (await world.events(stream)).map(({ type }) => type),
    ['AddressRefused'],
  );
  t.notMatch(JSON.stringify(await world.events(stream)), /example/, 'no address is kept for it');
  const second = await world.send(to(gone));
  await world.reaches(second, 'bounced');
  await until(() => isSuppressed(world, gone), 'it is on the list');
  t.match(await world.commands.checkSuppression(caller, gone), {
    suppression: { reason: 'hard-bounce', emailId: second },
  });
});

void t.test('what blames the sender fails the email and suppresses nobody', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  world.mailer.next.push(reply('blocked', 'host-refused', '550 5.1.1 Your IP is on our block list'));
  const id = await world.send(to(gone, ann));
  await world.reaches(id, 'failed');
  t.match(await world.commands.getEmail(caller, id), {
    failureReason: 'blocked',
    recipients: [{ status: 'failed', rule: 'host-refused' }],
  });
  await world.settled();
  await world.clock.advance(10_000);
  await world.settled();
  t.notOk((await isSuppressed(world, gone)) || (await isSuppressed(world, ann)));
  await world.commands.retryEmail(caller, id);
  await world.reaches(id, 'sent');
});

void t.test('one of several recipients that is refused is found by its timer', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  world.mailer.next.push(answers('bounced', 'accepted'));
  const id = await world.send(to(gone, ann));
  await world.reaches(id, 'sent');
  await world.settled();
  await until(async () => {
    await world.clock.advance(1_000);
    return isSuppressed(world, gone);
  }, 'it is on the list');
  t.notOk(await isSuppressed(world, ann));
  await until(async () => (await typesOf(world, id)).includes('EmailBouncesNoted'), 'noted');
});

const reported = (address: string, bounceType: 'hard' | 'soft' | 'blocked', bounceSubType: string) => ({
  addresses: [address],
  action: 'failed' as const,
  bounceType,
  bounceSubType,
  enhancedCode: null,
  text: 'It came back.',
});

const hear = async (world: ProcessorWorld, id: EmailId, command: ReportOf) => {
  const at = isoTime(world.clock.now());
  const cause = { teamId: TEAM, actor: 'test', correlationId: 'test', causationId: 'test', at };
  await handle(world.deps.eventLog, emailStream(id), emailDecider, { ...command, at }, cause);
};

void t.test(
  'late bounces for good and complaints suppress, and those that say nothing against the address do not',
  async (t) => {
    const world = await openProcessorWorld(t);
    all(world);
    const [soft, ours, who] = ['soft@example.org', 'ours@example.org', 'complains@example.org'];
    const id = await world.send(to(gone, soft, ours, who, ann));
    await world.reaches(id, 'sent');
    const recipients = [
      reported(gone, 'hard', 'no-such-mailbox'),
      reported(soft, 'soft', 'mailbox-full'),
      reported(ours, 'blocked', 'reputation'),
    ];
    await hear(world, id, { type: 'RecordReport', recipients });
    await until(() => isSuppressed(world, gone), 'it is on the list');
    t.match(await world.commands.checkSuppression(caller, gone), {
      suppression: { reason: 'hard-bounce', emailId: id },
    });
    await until(async () => (await typesOf(world, id)).at(-1) === 'EmailBouncesNoted', 'the email says so');
    await hear(world, id, { type: 'RecordComplaint', feedbackType: 'abuse', addresses: [who] });
    await until(() => isSuppressed(world, who), 'it is on the list');
    t.match(await world.commands.checkSuppression(caller, who), { suppression: { reason: 'complaint', emailId: id } });
    await until(async () => (await typesOf(world, id)).at(-1) === 'EmailBouncesNoted', 'the email says so');
    for (const other of [soft, ours, ann]) t.notOk(await isSuppressed(world, other), other);
    t.same(await typesOf(world, id), [
      'EmailQueued',
      'DeliveryAttempted',
      'EmailSent',
      'EmailBounceReported',
      'EmailBouncesNoted',
      'EmailComplained',
      'EmailBouncesNoted',
    ]);
  },
);

void t.test(
  'a report that the bus has lost is found by its timer, and one that came before a removal suppresses no more',
  async (t) => {
    const world = await openProcessorWorld(t);
    const workers = all(world);
    const id = await world.send(to(gone));
    const second = await world.send(to(ann));
    await world.reaches(id, 'sent');
    await world.reaches(second, 'sent');
    await workers.stop();
    await hear(world, id, { type: 'RecordReport', recipients: [reported(gone, 'hard', 'mailbox-disabled')] });
    await hear(world, second, { type: 'RecordComplaint', feedbackType: 'abuse', addresses: [] });
    await world.clock.advance(1_000);
    await world.commands.addSuppression(caller, { email: ann });
    await world.commands.removeSuppression(caller, suppressionIdOf(world.deps, TEAM, ann));
    await world.settled();
    all(world);
    await until(async () => {
      await world.clock.advance(1_000);
      return isSuppressed(world, gone);
    }, 'it is on the list');
    await until(async () => {
      await world.clock.advance(1_000);
      return (await typesOf(world, second)).includes('EmailBouncesNoted');
    }, 'the complaint is noted');
    t.notOk(await isSuppressed(world, ann));
  },
);

void t.test(
  'an address that is suppressed between acceptance and delivery is not written to, and its credit comes back',
  async (t) => {
    const world = await inCredits(t);
    const id = await world.send(to(gone));
    const both = await world.send(to(ann, gone));
    t.equal(await left(world), 998);
    await world.commands.addSuppression(caller, { email: gone });
    await world.clock.advance(2_000);
    all(world);
    await world.settled();
    await world.publish(id, both);
    await world.reaches(id, 'failed');
    await world.reaches(both, 'sent');
    t.same(await typesOf(world, id), ['EmailQueued', 'RecipientsSuppressed']);
    t.same(await typesOf(world, both), ['EmailQueued', 'RecipientsSuppressed', 'DeliveryAttempted', 'EmailSent']);
    t.same(
      world.mailer.sent.map(({ envelope }) => envelope.to),
      [[ann]],
    );
    await world.settled();
    world.run(returnCreditsWorker({ ...world.processing, returnedUpTo }));
    await until(async () => {
      await world.clock.advance(2_000);
      return (await left(world)) === 999;
    }, 'the credit of the first is back');
    await world.clock.advance(10_000);
    await world.settled();
    t.equal(await left(world), 999, 'and no other');
  },
);

void t.test('a retry goes to nobody who is suppressed by then', async (t) => {
  const world = await openProcessorWorld(t);
  const workers = all(world);
  world.mailer.next.push(answers('refused', 'refused'));
  const id = await world.send(to(ann, gone));
  await world.reaches(id, 'failed');
  await world.commands.addSuppression(caller, { email: gone });
  await world.clock.advance(2_000);
  await world.commands.retryEmail(caller, id);
  await world.reaches(id, 'sent');
  t.same(world.mailer.sent.at(-1)!.envelope.to, [ann]);
  t.match(await world.commands.getEmail(caller, id), { recipients: [{ status: 'sent' }, { status: 'suppressed' }] });
  await workers.stop();
});

void t.test('a batch counts its suppressed recipients as failed, completes, and gets their credits back', async (t) => {
  const world = await inCredits(t);
  await world.commands.addSuppression(caller, { email: 'R1@example.org' });
  const id = await acceptBulk(world, bulk(3));
  t.equal(await left(world), 997);
  all(world);
  world.run(returnCreditsWorker({ ...world.processing, returnedUpTo }));
  await until(async () => {
    await world.clock.advance(1_000);
    return (await world.commands.getBatch(caller, id)).status === 'completed';
  }, 'it is completed');
  t.match(await world.commands.getBatch(caller, id), { sent: 2, failed: 1, cancelled: 0, queued: 0 });
  t.match(await world.commands.getEmail(caller, emailIdInBatch(id, 1)), {
    status: 'failed',
    failureReason: 'suppressed',
    attempts: [],
  });
  await until(async () => {
    await world.clock.advance(2_000);
    return (await left(world)) === 998;
  }, 'one credit is back');
  await world.clock.advance(10_000);
  t.equal(await left(world), 998);
});

void t.test('read models made anew are those that followed', async (t) => {
  const world = await openProcessorWorld(t);
  const { readModels } = world;
  const workers = all(world);
  world.mailer.next.push(answers('bounced'), answers('bounced', 'accepted'));
  const first = await world.send(to(gone));
  await world.reaches(first, 'bounced');
  await until(() => isSuppressed(world, gone), 'suppressed');
  const second = await world.send(to('moved@example.org', ann));
  await world.reaches(second, 'sent');
  await world.settled();
  await until(async () => {
    await world.clock.advance(1_000);
    return isSuppressed(world, 'moved@example.org');
  }, 'suppressed');
  await world.send(to(gone));
  await world.commands.removeSuppression(caller, suppressionIdOf(world.deps, TEAM, gone));
  await world.commands.deleteEmail(caller, first);
  await workers.stop();
  await world.settled();
  const { eventLog, limits } = world.deps;
  const suppressions = makeProjections(limits).find(({ name }) => name === SUPPRESSIONS)!;
  const store = await readModels.projection(suppressions.name, suppressions.collections);
  const runner = makeRunner(suppressions, {
    eventLog,
    clock: world.clock,
    makeAnew: async () => {},
    store,
    pause: async () => {},
  });
  world.run(runner.worker);
  await runner.caughtUp(await eventLog.head(), new AbortController().signal);
  for (const projection of [emailsProjection(PERIODS), suppressions])
    t.equal((await compareWithRebuild(projection, { eventLog, readModels })).difference, undefined, projection.name);
  const listed = await readModels.find(SUPPRESSIONS, { where: { team: { eq: TEAM } }, limit: 10 });
  t.match(listed, [{ reason: 'hard-bounce' }]);
  t.notMatch(JSON.stringify(listed), /example/, 'they tell no address');
});

// Opens and clicks from the mail that left to what is recorded of its reader.

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
