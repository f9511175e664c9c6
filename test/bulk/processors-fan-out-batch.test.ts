/** Bulk sends from acceptance to their end: every email once, whatever is cut off, repeated or cancelled. */
import t from 'tap';
import { fanOut } from '../../src/commands/bulk/batches.js';
import { causeOfWork } from '../../src/processors/core/declaration.js';
import { makeProcessors } from '../../src/processors/index.js';
import {
  assertDefined,
  batchStream,
  emailIdInBatch,
  emailStream,
  parseBatchId,
  type BatchId,
} from '../../src/domain/core/ids.js';
import { BATCHES, type BatchDocument } from '../../src/projections/bulk/batches.js';
import { batchCounts } from '../../src/domain/bulk/listing.js';
import { acceptBulk, bulk, people } from '../support/bulk.js';
import { caller, stranger } from '../support/command-world.js';
import { answers, openProcessorWorld, until, workersOf, type ProcessorWorld } from '../support/processor-world.js';
import { at } from '../support/email-facts.js';

const runAll = (world: ProcessorWorld) => world.run(workersOf(world.processing, makeProcessors(world.processing)));

const documentOf = async (world: ProcessorWorld, id: BatchId): Promise<BatchDocument> => {
  await world.settled();
  return (await world.readModels.get(BATCHES, id)) as BatchDocument;
};

const typesOf = async (world: ProcessorWorld, id: BatchId): Promise<readonly string[]> =>
  (await world.events(batchStream(id))).map(({ type }) => type);

const statusesOf = async (
  world: ProcessorWorld,
  id: BatchId,
  count: number,
): Promise<readonly (string | undefined)[]> =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      world.commands.getEmail(caller, emailIdInBatch(id, index)).then(
        ({ status }) => status,
        () => undefined,
      ),
    ),
  );

const cause = (world: ProcessorWorld) =>
  causeOfWork(world.processing, 'fan-out-batch', {
    teamId: caller.teamId,
    correlationId: 'request-1',
    causationId: 'x',
  });
const work = (world: ProcessorWorld, id: BatchId) => ({
  id,
  cause: cause(world),
  signal: new AbortController().signal,
});
const ended = (world: ProcessorWorld, id: BatchId, status: string): Promise<void> =>
  until(async () => {
    await world.clock.advance(500);
    return (await documentOf(world, id))?.status === status;
  }, `the batch is ${status}`);

void t.test('every recipient with a valid address gets one email, and the batch is completed', async (t) => {
  const world = await openProcessorWorld(t);
  runAll(world);
  const request = bulk(230, { batchName: 'May', tags: ['may'], baseVariables: { name: 'all' }, metadata: { run: 7 } });
  request.recipients.splice(3, 0, { email: 'no address' }, { email: 'R0@example.org' });
  const { body } = await world.commands.sendBulk(caller, request);
  t.match(body, { totalEmails: 230, status: 'queued', message: '230 emails are queued.', createdAt: at(0) });
  t.same(body.warnings, [
    'recipients[3] is left out: the address has no @',
    'recipients[4] is left out: its address is the address of recipients[0]',
  ]);
  const id = assertDefined(parseBatchId(body.batchId), 'batch id');
  await ended(world, id, 'completed');
  t.same(
    world.mailer.sent.map(({ envelope }) => envelope.to[0]).sort(),
    people(230)
      .map(({ email }) => email)
      .sort(),
  );
  t.same(await typesOf(world, id), [
    'BatchQueued',
    'BatchStarted',
    'BatchAdvanced',
    'BatchAdvanced',
    'BatchFannedOut',
    'BatchCompleted',
  ]);
  const batch = await documentOf(world, id);
  t.match(batchCounts(batch), { queued: 0, processing: 0, sent: 230, failed: 0, cancelled: 0 });
  t.match(batch, { total: 230, invalid: 1, duplicates: 1, name: 'May' });
  t.equal(
    await world.deps.eventLog.existingKey(batchStream(id)),
    undefined,
    'what its emails were made of is destroyed',
  );
  const email = await world.commands.getEmail(caller, emailIdInBatch(id, 3));
  const [made] = await world.deps.eventLog.load(emailStream(emailIdInBatch(id, 3)));
  t.match(
    made?.metadata,
    { actor: caller.actor, correlationId: caller.correlationId },
    'in the name of who asked for it',
  );
  t.match(email, {
    subject: 'Hello N3',
    priority: 'low',
    tags: ['may'],
    metadata: { variables: { name: 'N3' }, custom: { run: 7 } },
  });
});

void t.test('a part that is made again, beside another or after a crash, makes no email twice', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await acceptBulk(world, bulk(150));
  const cutOff = new AbortController();
  cutOff.abort();
  await fanOut(world.deps, { ...work(world, id), signal: cutOff.signal });
  t.same(await typesOf(world, id), ['BatchQueued', 'BatchStarted'], 'nothing is made once the time is over');
  await Promise.all([fanOut(world.deps, work(world, id)), fanOut(world.elsewhere(), work(world, id))]);
  t.same(await typesOf(world, id), ['BatchQueued', 'BatchStarted', 'BatchAdvanced']);
  await fanOut(world.deps, work(world, id));
  await fanOut(world.deps, work(world, id));
  t.same(await typesOf(world, id), ['BatchQueued', 'BatchStarted', 'BatchAdvanced', 'BatchFannedOut']);
  for (let index = 0; index < 150; index += 1)
    t.same(
      (await world.events(emailStream(emailIdInBatch(id, index)))).map(({ type }) => type),
      ['EmailQueued'],
      String(index),
    );
});

void t.test(
  'an email that cannot be rendered for its recipient fails alone; where the first ten cannot, the call is refused',
  async (t) => {
    const world = await openProcessorWorld(t);
    runAll(world);
    const recipients = people(12).map((one, index) => (index === 5 || index === 11 ? { email: one.email } : one));
    const id = await acceptBulk(world, bulk(0, { recipients }));
    await ended(world, id, 'completed');
    t.match(batchCounts(await documentOf(world, id)), { sent: 10, failed: 2, cancelled: 0 });
    t.match(await world.commands.getEmail(caller, emailIdInBatch(id, 5)), {
      status: 'failed',
      failureReason: 'rendering',
      recipients: [{ status: 'failed', reply: /name/ }],
    });
    const bad = [...people(10).map(({ email }) => ({ email })), ...people(11).slice(10)];
    await t.rejects(world.commands.sendBulk(caller, bulk(0, { recipients: bad })), {
      code: 'VALIDATION_ERROR',
      message: /^recipients\[0\]/,
    });
    const one = [...people(9).map(({ email }) => ({ email })), ...people(10).slice(9)];
    t.match((await world.commands.sendBulk(caller, bulk(0, { recipients: one }))).body, { totalEmails: 10 });
  },
);

void t.test('a scheduled batch makes its emails when its time comes, and no sooner', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await acceptBulk(world, bulk(3, { scheduledAt: at(3_600) }));
  t.match(await documentOf(world, id), { status: 'scheduled', scheduledAt: at(3_600) });
  await fanOut(world.deps, work(world, id));
  t.same(await typesOf(world, id), ['BatchScheduled']);
  runAll(world);
  await world.clock.advance(3_500_000);
  t.same(await typesOf(world, id), ['BatchScheduled']);
  await world.clock.advance(100_000);
  await ended(world, id, 'completed');
  t.match(await world.commands.getEmail(caller, emailIdInBatch(id, 0)), { createdAt: at(3_600), status: 'sent' });
});

void t.test('cancelled in the middle: what has not left does not leave, and the counts add up', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await acceptBulk(world, bulk(250));
  await fanOut(world.deps, work(world, id));
  const { body, replayed } = await world.commands.cancelBatch(caller, id, { key: 'k', body: undefined });
  t.equal(replayed, false);
  t.same(body, {
    batchId: id,
    status: 'cancelled',
    message: '250 emails will not leave.',
    totalEmails: 250,
    sent: 0,
    cancelled: 250,
    failed: 0,
    processing: 0,
  });
  t.same(await world.commands.cancelBatch(caller, id, { key: 'k', body: undefined }), { body, replayed: true });
  await t.rejects(world.commands.cancelBatch(caller, id), { code: 'BATCH_NOT_CANCELLABLE' });
  await t.rejects(world.commands.cancelBatch(stranger, id), { code: 'BATCH_NOT_FOUND' });
  // A part that was begun before the cancel and goes on after it finds its places taken.
  await fanOut(world.deps, work(world, id));
  runAll(world);
  for (let turn = 0; turn < 5; turn += 1) await world.clock.advance(500);
  t.equal(world.mailer.sent.length, 0);
  const statuses = await statusesOf(world, id, 250);
  t.same(
    statuses.map((status) => status ?? 'none'),
    statuses.map((_, index) => (index < 200 ? 'cancelled' : 'none')),
    'the part that might have been under way is taken, and nothing beyond it',
  );
  t.match(batchCounts(await documentOf(world, id)), { queued: 0, processing: 0, sent: 0, failed: 0, cancelled: 250 });
  t.equal(await world.deps.eventLog.existingKey(batchStream(id)), undefined);
});

void t.test('an email in its dialogue may leave; one that comes back from it is cancelled', async (t) => {
  const world = await openProcessorWorld(t);
  runAll(world);
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  world.mailer.next.push(
    async (message) => {
      await held;
      return answers('accepted')(message);
    },
    async (message) => {
      await held;
      return answers('deferred')(message);
    },
  );
  const id = await acceptBulk(world, bulk(2));
  await until(() => world.mailer.sent.length === 2, 'both are in their dialogue');
  const cancelling = world.commands.cancelBatch(caller, id);
  await until(async () => (await typesOf(world, id)).includes('BatchCancelled'), 'it is cancelled');
  let isOver = false;
  void cancelling.finally(() => (isOver = true));
  await until(async () => {
    await world.clock.advance(100);
    return isOver;
  }, 'it waits for them no longer');
  const { body } = await cancelling;
  t.match(body, { totalEmails: 2, sent: 0, failed: 0, cancelled: 0, processing: 2 });
  release();
  await until(async () => {
    await world.clock.advance(1_000);
    return (await statusesOf(world, id, 2)).every((status) => status === 'sent' || status === 'cancelled');
  }, 'both have ended');
  t.same([...(await statusesOf(world, id, 2))].sort(), ['cancelled', 'sent']);
  t.match(batchCounts(await documentOf(world, id)), { queued: 0, processing: 0, sent: 1, failed: 0, cancelled: 1 });
});

void t.test('a batch whose emails have all ended cannot be cancelled', async (t) => {
  const world = await openProcessorWorld(t);
  const running = runAll(world);
  const done = await acceptBulk(world, bulk(2));
  await until(async () => (await statusesOf(world, done, 2)).every((status) => status === 'sent'), 'both have left');
  await running.stop();
  await t.rejects(world.commands.cancelBatch(caller, done), {
    code: 'BATCH_NOT_CANCELLABLE',
    details: { relatedInfo: { status: 'completed' } },
  });
});

void t.test('the content of a batch is read once for each part, and of few batches at once', async (t) => {
  const world = await openProcessorWorld(t);
  const seen = { loads: 0, maxInFlight: 0 };
  const { eventLog } = world.processing;
  const bus: typeof world.bus = {
    ...world.bus,
    consume: (name, options) => {
      if (name === 'fan-out-batch') seen.maxInFlight = options.maxInFlight;
      return world.bus.consume(name, options);
    },
  };
  const counting: typeof eventLog = {
    ...eventLog,
    load: (stream, fromRevision = 0) => {
      if (stream.startsWith('batch-') && fromRevision === 0) seen.loads += 1;
      return eventLog.load(stream, fromRevision);
    },
  };
  const processing = { ...world.processing, bus, eventLog: counting };
  world.run(workersOf(processing, makeProcessors(processing)));
  const id = await acceptBulk(world, bulk(320));
  await ended(world, id, 'completed');
  t.ok(seen.loads <= 6, `${seen.loads} times for four parts and the end`);
  t.equal(seen.maxInFlight, 4);
});
