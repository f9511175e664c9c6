/**
 * Emails sent with a test key: they take the whole way, nothing leaves the service, and they neither cost nor count.
 */
import t, { type Test } from 'tap';
import type { Caller } from '../../src/commands/core/caller.js';
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
import { bodyOf } from '../../src/domain/webhooks/body.js';
import { makeProcessors } from '../../src/processors/index.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { makeQueries } from '../../src/projections/queries.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { caller, OTHER_TEAM, simple, stranger, TEAM, nothingUsed } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';
import { PERIODS } from '../support/email-facts.js';
import { answers, openProcessorWorld, until, workersOf, type ProcessorWorld } from '../support/processor-world.js';
import { memoryKeys } from '../support/memory-ports.js';

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
