/** Emails that reach nobody: those of test keys and to addresses of the simulator. */
import t, { type Test } from 'tap';
import { openRenderer } from '../../src/adapters/render/email/renderer.js';
import type { Caller } from '../../src/commands/core/caller.js';
import { handle } from '../../src/commands/core/handle.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import {
  assertDefined,
  emailIdInBatch,
  emailStream,
  parseBatchId,
  parseEmailId,
  type EmailId,
} from '../../src/domain/core/ids.js';
import { isoTime, DAY_MS } from '../../src/domain/core/time.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import { noticesOf } from '../../src/domain/events.js';
import { bodyOf } from '../../src/domain/webhooks/body.js';
import { DELIVER_EMAIL } from '../../src/processors/email/delivery.js';
import { makeProcessors } from '../../src/processors/index.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { makeQueries } from '../../src/projections/queries.js';
import {
  caller,
  OTHER_TEAM,
  simple,
  stranger,
  TEAM,
  nothingUsed,
  schemaSaying,
  welcome,
} from '../support/command-world.js';
import { PERIODS, HOST } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { memoryKeys } from '../support/memory-ports.js';
import {
  answers,
  openProcessorWorld,
  until,
  workersOf,
  type ProcessorWorld,
  deliverEmailWorker,
} from '../support/processor-world.js';

// Emails sent with a test key: they take the whole way, nothing leaves the service, and they neither cost nor count.

const key = {
  id: 'key_TTTTTTTTTTTTTTTTTTTTTT',
  expiresAt: null,
  rateLimit: null,
  madeBy: [],
  networks: null,
  test: true,
} as unknown as NonNullable<Caller['key']>;
const tester: Caller = { ...caller, actor: `apiKey:${key.id}`, key };

const all = (world: ProcessorWorld) => world.run(workersOf(world.processing, makeProcessors(world.processing)));
const to = (...addresses: readonly string[]) => ({ to: addresses.map((email) => ({ email })) });
const idOf = (text: string): EmailId => assertDefined(parseEmailId(text), 'email id');
const send = async ({ commands }: ProcessorWorld, by: Caller, more = {}): Promise<EmailId> =>
  idOf((await commands.sendEmail(by, simple(more))).body.id);
const typesOf = async (world: ProcessorWorld, id: EmailId) =>
  (await world.events(emailStream(id))).map(({ type }) => type);
const queriesOf = ({ readModels, clock, deps }: ProcessorWorld) =>
  makeQueries({ keys: memoryKeys(), readModels, clock, limits: deps.limits, awaitOwnWrites: async () => {} });

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

void t.test('it goes its whole way, says that it is a test, and no host hears of it', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const id = await send(world, tester, {
    ...to('ann@example.org', 'bounce@simulator.sealpost'),
    cc: [{ email: 'bob@example.org' }],
  });
  await world.reaches(id, 'delivered');
  t.same(await typesOf(world, id), ['EmailQueued', 'DeliveryAttempted', 'EmailSent', 'EmailDelivered']);
  const email = await world.commands.getEmail(caller, id);
  t.match(email, { test: true, attempts: [{ host: 'simulator.sealpost' }] });
  t.same(
    email.recipients.map(({ status, simulated }) => [status, simulated]),
    [
      ['delivered', true],
      ['bounced', true],
      ['delivered', true],
    ],
  );
  const events = await world.events(emailStream(id));
  const entry = { stream: emailStream(id), at: '', kind: 'email.delivered', recipient: 0 };
  t.match(JSON.parse(bodyOf(entry, events)!), {
    data: { test: true, recipient: 'ann@example.org', status: 'delivered' },
  });
  t.same(world.mailer.sent, []);
  t.equal((await world.commands.getEmail(caller, await send(world, caller))).test, false);
});

void t.test('also where it is scheduled, and where it is sent in bulk', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const scheduled = await send(world, tester, { scheduledAt: isoTime(world.clock.now() + 60_000) });
  const recipients = ['ann@example.org', 'bounce+2@simulator.sealpost', 'cyd@example.org'].map((email) => ({ email }));
  const { body } = await world.commands.sendBulk(tester, {
    templateId: 'welcome',
    baseVariables: { name: 'Ann' },
    recipients,
  });
  const batch = assertDefined(parseBatchId(body.batchId), 'batch id');
  for (const [index, status] of ['delivered', 'bounced', 'delivered'].entries()) {
    await until(async () => (await world.events(emailStream(emailIdInBatch(batch, index)))).length > 0, 'it is made');
    await world.reaches(emailIdInBatch(batch, index), status);
    t.match(await world.commands.getEmail(caller, emailIdInBatch(batch, index)), { test: true, batchId: batch });
  }
  t.match(await world.commands.getBatch(caller, batch), { test: true, totalEmails: 3 });
  await world.settled();
  t.match(await queriesOf(world).batch(TEAM, batch), { test: true, sent: 2, delivered: 2, failed: 1, bounced: 1 });
  await until(async () => {
    await world.clock.advance(5_000);
    return (await world.commands.getEmail(caller, scheduled)).status === 'delivered';
  }, 'the scheduled one is delivered');
  t.same(world.mailer.sent, []);
});

void t.test('it costs nothing, also where nothing is left', async (t) => {
  const world = await inCredits(t);
  all(world);
  const before = await left(world);
  t.ok(before! > 0);
  await world.reaches(await send(world, tester), 'delivered');
  const bulk = { templateId: 'welcome', baseVariables: { name: 'Ann' }, recipients: [{ email: 'ann@example.org' }] };
  t.match(await world.commands.dryRunBulk(tester, bulk), { valid: true, totalQuotaCost: 0 });
  await world.commands.sendBulk(tester, bulk);
  t.equal(await left(world), before);
  await world.reaches(await send(world, caller), 'sent');
  t.equal(await left(world), before! - 1, 'a live one costs');
});

void t.test('it counts in no usage and no analytics, and is found by its filter', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const [live, test] = [await send(world, caller), await send(world, tester)];
  await world.reaches(live, 'sent');
  await world.reaches(test, 'delivered');
  await world.reaches(await send(world, tester, to('bounce@simulator.sealpost')), 'bounced');
  const cancelled = await send(world, tester, { scheduledAt: isoTime(world.clock.now() + DAY_MS) });
  await world.commands.cancelEmail(tester, cancelled);
  await world.settled();
  const queries = queriesOf(world);
  t.same(await queries.usedByDay(TEAM, '2030-01-01', '2030-01-01'), [{ day: '2030-01-01', emails: 1, documents: 0 }]);
  const [summary, ...others] = await world.readModels.find('emailSummaries', {
    where: { team: { eq: TEAM } },
    limit: 10,
  });
  t.match(summary, { team: TEAM, counts: { accepted: 1, sent: 1 } });
  t.same(
    Object.keys((summary as unknown as { counts: object }).counts).filter((name) => /deliver|bounce|cancel/.test(name)),
    [],
  );
  t.same(others, []);
  const paging = { page: 1, limit: 10 };
  const found = async (filter: object) => {
    const { data, meta } = await queries.listEmails(TEAM, filter, paging);
    t.equal(meta.total, data.length);
    return data.map(({ id, test: is }) => [id, is]);
  };
  t.same(await found({ test: false }), [[live, false]]);
  t.equal((await found({ test: true })).length, 3);
  t.same(await found({ test: true, status: 'delivered' }), [[test, true]]);
  t.same(await found({ test: true, recipientStatus: 'cancelled' }), [[cancelled, true]]);
  t.equal(
    (await found({ test: true, startDate: '2030-01-01T11:00:00.000Z', endDate: '2030-01-01T13:00:00.000Z' })).length,
    3,
  );
  t.equal((await found({})).length, 4);
  const { eventLog } = world.deps;
  t.equal(
    (await compareWithRebuild(emailsProjection(PERIODS), { eventLog, readModels: world.readModels })).difference,
    undefined,
  );
});

void t.test('with a test key what was sent for real is left alone', async (t) => {
  const world = await openProcessorWorld(t);
  const { commands } = world;
  const live = await send(world, caller, { scheduledAt: isoTime(world.clock.now() + DAY_MS) });
  const test = await send(world, tester, { scheduledAt: isoTime(world.clock.now() + DAY_MS) });
  const { body } = await commands.sendBulk(caller, {
    templateId: 'welcome',
    baseVariables: { name: 'Ann' },
    recipients: [{ email: 'ann@example.org' }],
  });
  const batch = assertDefined(parseBatchId(body.batchId), 'batch id');
  const before = world.store.events.length;
  const later = { scheduledAt: isoTime(world.clock.now() + 2 * DAY_MS) };
  const refused = (call: Promise<unknown>) => refusedWith(t, call, 'TEST_KEY_NOT_ALLOWED');
  await refused(commands.cancelEmail(tester, live));
  await refused(commands.rescheduleEmail(tester, live, later));
  await refused(commands.retryEmail(tester, live));
  await refused(commands.deleteEmail(tester, live));
  await refused(commands.deleteEmails(tester, [test, live]));
  await refused(commands.cancelBatch(tester, batch));
  await refused(commands.eraseAddress(tester, { email: 'ann@example.org' }));
  await refused(commands.recordFeedback(tester, { raw: Buffer.from(''), recipient: undefined }));
  await refused(commands.addCredits(tester, { credits: 5 }));
  t.same(await commands.retryEmails(tester, { status: 'queued', ids: [live], held: [live] }), { retried: 0, held: 0 });
  await refusedWith(t, commands.cancelEmail({ ...stranger, key }, live), 'EMAIL_NOT_FOUND');
  t.equal(OTHER_TEAM, stranger.teamId);
  t.equal(world.store.events.length, before, 'and nothing is written');
  await commands.rescheduleEmail(tester, test, later);
  await commands.cancelEmail(tester, test);
  t.match(await commands.deleteEmails(tester, [test]), { deleted: 1 });
  await commands.deleteEmail(caller, live);
});

void t.test(
  'under one Idempotency-Key a live call is never answered with a test, nor the other way round',
  async (t) => {
    const world = await openProcessorWorld(t);
    const idempotency = { key: 'order-17', body: {} };
    const ids = new Set<string>();
    for (const by of [tester, caller, tester, caller])
      ids.add((await world.commands.sendEmail(by, simple(), idempotency)).body.id);
    t.equal(ids.size, 2);
    t.same(await Promise.all([...ids].map(async (id) => (await world.commands.getEmail(caller, idOf(id))).test)), [
      true,
      false,
    ]);
    const bulk = { templateId: 'welcome', baseVariables: { name: 'Ann' }, recipients: [{ email: 'ann@example.org' }] };
    const batches = new Set<string>();
    for (const by of [tester, caller, tester])
      batches.add((await world.commands.sendBulk(by, bulk, idempotency)).body.batchId);
    t.equal(batches.size, 2);
  },
);

void t.test('what has failed is tried again, and still does not leave', async (t) => {
  const world = await openProcessorWorld(t, { delaysMs: [] });
  all(world);
  world.mailer.next.push(answers('accepted'));
  const id = await send(world, tester, to('delay@simulator.sealpost'));
  await world.reaches(id, 'failed');
  t.match(await world.commands.getEmail(caller, id), { failureReason: 'attempts-spent' });
  await world.commands.retryEmail(tester, id);
  await world.reaches(id, 'delivered');
  t.same(world.mailer.sent, []);
});

// Addresses of the simulator: each goes its way through the states, nothing leaves for it, and nothing of it is held
// against an address.

const isSuppressed = async ({ commands }: ProcessorWorld, email: string) =>
  (await commands.checkSuppression(caller, email)).suppressed;
const idle = (world: ProcessorWorld) =>
  until(async () => (await world.bus.depth(DELIVER_EMAIL)) === 0, 'all work is acknowledged');

/** The kinds of webhook events of an email. */
const told = async (world: ProcessorWorld, id: EmailId) => {
  const stream = emailStream(id);
  const recorded = await world.deps.eventLog.load(stream);
  const events = recorded.map(({ event }) => event);
  return recorded.flatMap(({ event, revision, metadata }) =>
    noticesOf(event).map((notice) => {
      const body = bodyOf({ stream, at: metadata.occurredAt, ...notice }, events.slice(0, revision + 1));
      return JSON.parse(body!) as { event: string; data: Record<string, unknown> };
    }),
  );
};

const BEGINS = ['EmailQueued', 'DeliveryAttempted'];

void t.test('each of them goes its way, and no host hears of it', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const cases = [
    { address: 'success@simulator.sealpost', status: 'delivered', types: ['EmailSent', 'EmailDelivered'] },
    { address: 'success+1@simulator.sealpost', status: 'delivered', types: ['EmailSent', 'EmailDelivered'] },
    { address: 'bounce@simulator.sealpost', status: 'bounced', types: ['EmailBounced'] },
    { address: 'Bounce+any.Thing@Simulator.SEALPOST', status: 'bounced', types: ['EmailBounced'] },
    { address: 'nobody@simulator.sealpost', status: 'bounced', types: ['EmailBounced'] },
    { address: 'softbounce@simulator.sealpost', status: 'bounced', types: ['EmailSent', 'EmailBounceReported'] },
    {
      address: 'complaint@simulator.sealpost',
      status: 'complained',
      types: ['EmailSent', 'EmailDelivered', 'EmailComplained'],
    },
  ];
  for (const { address, status, types } of cases) {
    const id = await world.send(to(address));
    await world.reaches(id, status);
    t.same(await typesOf(world, id), [...BEGINS, ...types], address);
    t.match(await world.commands.getEmail(caller, id), {
      attempts: [{ host: 'simulator.sealpost', attempt: 1 }],
      recipients: [{ simulated: true, reply: /Simulated: / }],
    });
  }
  await idle(world);
  t.same(world.mailer.sent, []);
});

void t.test('one that is delayed is deferred once, then delivered', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const id = await world.send(to('delay@simulator.sealpost'));
  await until(async () => (await typesOf(world, id)).includes('EmailDeferred'), 'it is deferred');
  t.match(await world.commands.getEmail(caller, id), {
    status: 'queued',
    recipients: [{ status: 'queued', replyCode: 451 }],
  });
  await world.settled();
  await until(async () => {
    await world.clock.advance(5_000);
    return (await world.commands.getEmail(caller, id)).status === 'delivered';
  }, 'it is delivered');
  t.same(await typesOf(world, id), [...BEGINS, 'EmailDeferred', 'DeliveryAttempted', 'EmailSent', 'EmailDelivered']);
  t.same(world.mailer.sent, []);
});

void t.test('webhooks tell of them as of any', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const said = async (address: string, status: string) => {
    const id = await world.send({ ...to(address), metadata: { orderId: '4711' } });
    await world.reaches(id, status);
    return (await told(world, id)).map(({ event, data }) => ({ event, ...data }));
  };
  const common = { recipient: 'complaint@simulator.sealpost', metadata: { orderId: '4711' } };
  t.match(await said('complaint@simulator.sealpost', 'complained'), [
    { event: 'email.queued' },
    { event: 'email.sent', status: 'sent', ...common },
    { event: 'email.delivered', status: 'delivered', ...common, deliveredAt: String },
    { event: 'email.complained', status: 'complained', ...common, complainedAt: String, feedbackType: 'abuse' },
  ]);
  t.match(await said('bounce@simulator.sealpost', 'bounced'), [
    { event: 'email.queued' },
    {
      event: 'email.bounced',
      bouncedAt: String,
      bounceType: 'hard',
      bounceSubType: 'mailbox-unknown',
      bounceMessage: '550 5.1.1 Simulated: there is no such mailbox',
    },
  ]);
  t.match(await said('softbounce@simulator.sealpost', 'bounced'), [
    { event: 'email.queued' },
    { event: 'email.sent' },
    {
      event: 'email.bounced',
      bounceType: 'soft',
      bounceSubType: 'mailbox-full',
      bounceMessage: '552 5.2.2 Simulated: the mailbox is full',
    },
  ]);
});

void t.test('what is simulated puts no address on the suppression list, and leaves no work for it', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const addresses = ['bounce@simulator.sealpost', 'complaint@simulator.sealpost', 'softbounce@simulator.sealpost'];
  const id = await world.send(to(...addresses));
  await world.reaches(id, 'complained');
  await world.settled();
  await until(async () => (await world.bus.depth('note-bounces')) === 0, 'nothing is left to be noted');
  for (const address of addresses) t.notOk(await isSuppressed(world, address), address);
  t.same(await world.readModels.find('bouncedTimers', { where: {}, limit: 10 }), []);
  t.same(
    (await world.commands.getEmail(caller, id)).recipients.map(({ status }) => status),
    ['bounced', 'complained', 'bounced'],
  );
  const again = await world.send(to(...addresses));
  await world.reaches(again, 'complained');

  await t.test('nor does what somebody reports of it', async (t) => {
    const before = await typesOf(world, id);
    const reported = {
      addresses: [addresses[1]!],
      action: 'failed',
      bounceType: 'hard',
      bounceSubType: 'x',
      enhancedCode: null,
      text: '',
    } as const;
    const cause = {
      teamId: caller.teamId,
      actor: 'test',
      correlationId: 'test',
      causationId: 'test',
      at: '2030-01-01T13:00:00.000Z',
    };
    for (const command of [
      { type: 'RecordReport', at: cause.at, recipients: [reported] },
      { type: 'RecordComplaint', at: cause.at, feedbackType: 'abuse', addresses },
    ] as const)
      await handle(world.deps.eventLog, emailStream(id), emailDecider, command, cause);
    t.same(await typesOf(world, id), before);
  });
});

void t.test('of one mail those who are real get it, and the others are simulated', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  world.mailer.next.push((message) => answers('accepted', 'bounced')(message));
  const id = await world.send({
    ...to('complaint@simulator.sealpost', 'ann@example.org', 'bounce@simulator.sealpost'),
    cc: [{ email: 'gone@example.org' }, { email: 'success@simulator.sealpost' }],
  });
  await until(async () => (await typesOf(world, id)).includes('EmailComplained'), 'it has ended');
  t.same(
    world.mailer.sent.map(({ envelope }) => envelope.to),
    [['ann@example.org', 'gone@example.org']],
  );
  t.same((await typesOf(world, id)).slice(0, 6), [
    ...BEGINS,
    'CopyAnswered',
    'EmailSent',
    'EmailDelivered',
    'EmailComplained',
  ]);
  const email = await world.commands.getEmail(caller, id);
  t.match(email, { status: 'sent', attempts: [{ host: HOST }] });
  t.same(
    email.recipients.map(({ status, simulated = false }) => [status, simulated]),
    [
      ['complained', true],
      ['sent', false],
      ['bounced', true],
      ['bounced', false],
      ['delivered', true],
    ],
  );
  await until(() => isSuppressed(world, 'gone@example.org'), 'the real one is on the list');
  t.notOk(await isSuppressed(world, 'bounce@simulator.sealpost'));
  await world.settled();
  const { eventLog } = world.deps;
  const rebuilt = await compareWithRebuild(emailsProjection(PERIODS), { eventLog, readModels: world.readModels });
  t.equal(rebuilt.difference, undefined, 'made anew it is the same');
});

void t.test('where each has a copy of its own, the copies of the simulated are made and stay here', async (t) => {
  const world = await openProcessorWorld(t);
  await world.commands.createTemplate(caller, {
    ...welcome,
    slug: 'news',
    unsubscribeList: 'newsletter',
    schema: schemaSaying('News. <a href="{{__UNSUBSCRIBE_URL__}}">Unsubscribe</a>'),
    publish: true,
  });
  all(world);
  const id = await world.send({
    templateId: 'news',
    ...to('bounce@simulator.sealpost', 'ann@example.org', 'success@simulator.sealpost'),
  });
  await until(async () => (await typesOf(world, id)).includes('EmailSent'), 'it has ended');
  t.same(
    world.mailer.sent.map(({ envelope }) => envelope.to),
    [['ann@example.org']],
  );
  t.same(
    (await world.commands.getEmail(caller, id)).recipients.map(({ status }) => status),
    ['bounced', 'sent', 'delivered'],
  );
});

void t.test('while the host is away, what needs none goes on', async (t) => {
  const world = await openProcessorWorld(t);
  let isAway = true;
  const { mailer } = world;
  const away: typeof mailer = {
    ...mailer,
    probe: async () => !isAway,
    lend: async (wanted, use) =>
      isAway
        ? {
            kind: 'host-away',
            fault: {
              result: 'deferred',
              replyCode: null,
              enhancedCode: null,
              rule: 'connection-refused',
              text: 'refused',
            },
          }
        : mailer.lend(wanted, use),
  };
  const processing = { ...world.processing, mailer: away };
  world.run(workersOf(processing, makeProcessors(processing)));
  const real = await world.send(to('ann@example.org', 'success@simulator.sealpost'));
  await until(async () => (await typesOf(world, real)).includes('EmailDeferred'), 'it is held');
  const simulated = await world.send(to('success@simulator.sealpost'));
  await world.reaches(simulated, 'delivered');
  t.equal((await world.commands.getEmail(caller, real)).status, 'queued', 'with others it waits for their host');
  isAway = false;
  await world.settled();
  await until(async () => {
    await world.clock.advance(1_000);
    return (await world.commands.getEmail(caller, real)).status === 'sent';
  }, 'the host takes sessions again');
});

void t.test('what cannot be rendered any more fails, whoever it was for', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send(to('success@simulator.sealpost'));
  const renderer = openRenderer({ limits: { ...world.deps.limits, subjectCharsMax: 1 } });
  world.run(deliverEmailWorker({ ...world.processing, renderer }));
  await world.publish(id);
  await world.reaches(id, 'failed');
  t.match(await world.commands.getEmail(caller, id), {
    failureReason: 'rendering',
    recipients: [{ rule: 'rendering' }],
  });
});
