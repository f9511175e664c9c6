/**
 * Addresses of the simulator: each goes its way through the states, nothing leaves for it, and nothing of it is held
 * against an address.
 */
import t from 'tap';
import { openRenderer } from '../../src/adapters/render/email/renderer.js';
import { handle } from '../../src/commands/core/handle.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import { emailStream, type EmailId } from '../../src/domain/core/ids.js';
import { DELIVER_EMAIL } from '../../src/processors/email/delivery.js';
import { makeProcessors } from '../../src/processors/index.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { bodyOf } from '../../src/domain/webhooks/body.js';
import { noticesOf } from '../../src/domain/events.js';
import { caller, schemaSaying, welcome } from '../support/command-world.js';
import { HOST, PERIODS } from '../support/email-facts.js';
import {
  answers,
  deliverEmailWorker,
  openProcessorWorld,
  until,
  workersOf,
  type ProcessorWorld,
} from '../support/processor-world.js';

const all = (world: ProcessorWorld) => world.run(workersOf(world.processing, makeProcessors(world.processing)));
const to = (...addresses: readonly string[]) => ({ to: addresses.map((email) => ({ email })) });
const typesOf = async (world: ProcessorWorld, id: EmailId) =>
  (await world.events(emailStream(id))).map(({ type }) => type);
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
  t.same(await world.readModels.find('emailTimers', { where: { kind: { eq: 'bounced' } }, limit: 10 }), []);
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
