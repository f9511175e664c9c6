/** How a batch is fanned out, and its credits. */
import t, { type Test } from 'tap';
import { fanOut } from '../../src/commands/bulk/batches.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { batchCounts } from '../../src/domain/bulk/listing.js';
import { DomainError } from '../../src/domain/core/errors.js';
import {
  assertDefined,
  batchStream,
  emailIdInBatch,
  emailStream,
  parseBatchId,
  type BatchId,
} from '../../src/domain/core/ids.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { isoTime } from '../../src/domain/core/time.js';
import { returnCreditsWorker } from '../../src/processors/billing/billing.js';
import { causeOfWork } from '../../src/processors/core/declaration.js';
import { makeProcessors } from '../../src/processors/index.js';
import { returnedUpTo } from '../../src/projections/billing/credits.js';
import { BATCHES, type BatchDocument } from '../../src/projections/bulk/batches.js';
import { acceptBulk, bulk, people } from '../support/bulk.js';
import { caller, stranger, commandsOfTest, TEAM, nothingUsed } from '../support/command-world.js';
import { attachmentOf } from '../support/documents.js';
import { at } from '../support/email-facts.js';
import { answers, openProcessorWorld, until, workersOf, type ProcessorWorld } from '../support/processor-world.js';
import { recordingGenerator } from '../support/recording-generator.js';

// Bulk sends from acceptance to their end: every email once, whatever is cut off, repeated or cancelled.

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

void t.test('a batch is made little ahead of its delivery, and goes on where no attempt begins', async (t) => {
  const world = await openProcessorWorld(t);
  const fanningOut = makeProcessors(world.processing).filter(({ name }) => name === 'fan-out-batch');
  world.run(workersOf(world.processing, fanningOut));
  const id = await acceptBulk(world, bulk(450));
  const made = async (): Promise<number> => {
    let count = 0;
    while (count < 450 && (await world.events(emailStream(emailIdInBatch(id, count)))).length > 0) count += 1;
    return count;
  };
  const wait = async (ms: number): Promise<void> => {
    for (let waitedMs = 0; waitedMs < ms; waitedMs += 50) {
      await world.clock.advance(50);
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await until(async () => (await made()) === 200, 'two parts are made');
  await wait(3_000);
  t.equal(await made(), 200, 'the third waits for the delivery of the first');
  await world.commands.cancelEmail(caller, emailIdInBatch(id, 100));
  await until(async () => {
    await wait(50);
    return (await made()) === 300;
  }, 'the stream of the first email of the second part goes on');
  await wait(2_000);
  t.equal(await made(), 300);
  await wait(4_000);
  await until(async () => (await made()) >= 400, 'a host that takes nothing only delays it');
});

void t.test('batches that wait for their delivery keep no batch of another team from being made', async (t) => {
  const world = await openProcessorWorld(t);
  const { clock } = world;
  const fanningOut = makeProcessors(world.processing).filter(({ name }) => name === 'fan-out-batch');
  world.run(workersOf(world.processing, fanningOut));
  const isMade = async (id: BatchId, count: number): Promise<boolean> =>
    (await world.events(emailStream(emailIdInBatch(id, count - 1)))).length > 0;
  const waiting: BatchId[] = [];
  for (let count = 0; count < 8; count += 1) waiting.push(await acceptBulk(world, bulk(450)));
  await until(
    async () => (await Promise.all(waiting.map((id) => isMade(id, 200)))).every(Boolean),
    'two parts of each',
  );
  await clock.advance(1_000);
  const begunAt = clock.monotonic();
  const content = { subject: 'Hello', html: '<p>Hello</p>' };
  const id = await acceptBulk(world, { content, recipients: people(450) }, stranger);
  await until(() => isMade(id, 200), 'two parts of the other are made');
  for (const upTo of [200, 300]) {
    await world.commands.cancelEmail(stranger, emailIdInBatch(id, upTo - 100));
    await until(async () => {
      await clock.advance(20);
      return isMade(id, upTo + 100);
    }, `its delivery goes on, and so does the making, beyond ${upTo}`);
  }
  t.ok(clock.monotonic() - begunAt <= 400, `within ${clock.monotonic() - begunAt} ms`);
  t.same(
    await Promise.all(waiting.map((one) => isMade(one, 300))),
    waiting.map(() => false),
    'the others wait',
  );
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

// Credits of bulk sends: reserved before the batch is there, and given back for every email that is cancelled or never
// made, once.

type World = ProcessorWorld & Readonly<{ deps: CommandNeeds }>;

const causeOf = (world: ProcessorWorld) => ({
  teamId: TEAM,
  actor: 'test',
  correlationId: 'test',
  causationId: 'test',
  at: isoTime(world.clock.now()),
});

/** `fails`: whether a document with these variables cannot be made. */
const open = async (t: Test, fails: (variables: JsonObject) => boolean = () => false): Promise<World> => {
  const world = await openProcessorWorld(t);
  await changeBilling(world.deps, TEAM, { billing: 'credits' }, causeOf(world), nothingUsed);
  const recording = recordingGenerator();
  const generator: CommandNeeds['generator'] = {
    ...recording,
    make: async (input, ...rest) => {
      if (fails(input.variables)) throw new DomainError('GENERATION_FAILED', 'It cannot be made.');
      return recording.make(input, ...rest);
    },
  };
  const deps = { ...world.deps, generator };
  return { ...world, deps, commands: commandsOfTest(deps) };
};

const left = async ({ elsewhere }: World): Promise<number | null> =>
  (await elsewhere().credits.quote(TEAM)).creditsRemaining;

const makePart = (world: World, id: BatchId): Promise<void> =>
  fanOut(world.deps, { id, cause: causeOf(world), signal: new AbortController().signal });

const allComeBack = async (world: World): Promise<void> => {
  await world.settled();
  const worker = world.run(returnCreditsWorker({ ...world.processing, returnedUpTo }));
  await until(async () => {
    await world.clock.advance(2_000);
    return (await left(world)) === 1_000;
  }, 'all credits are back');
  await world.clock.advance(10_000);
  t.equal(await left(world), 1_000, 'and no more');
  await worker.stop();
};

void t.test('a batch takes what it costs, or is refused whole with nothing written', async (t) => {
  const world = await open(t);
  const id = await acceptBulk(world, bulk(600));
  t.equal(await left(world), 400);
  t.match(await world.events(batchStream(id)), [{ data: { charged: { month: '2030-01', isByCredits: true } } }]);
  const before = world.store.events.length;
  await t.rejects(world.commands.sendBulk(caller, bulk(401)), {
    code: 'QUOTA_EXCEEDED',
    details: { relatedInfo: { needed: 401, remaining: 400 } },
  });
  t.equal(world.store.events.length, before);
  await makePart(world, id);
  t.match(await world.events(emailStream(emailIdInBatch(id, 7))), [
    {
      data: { charged: { reference: batchStream(id), month: '2030-01', isByCredits: true, emails: 1, attachments: 0 } },
    },
  ]);
  t.equal(await left(world), 400, 'its emails take nothing more');
});

void t.test(
  'a batch that certainly does not come to be gives back what it took; under its key the same call takes it once',
  async (t) => {
    const world = await open(t);
    const refuse = (): void =>
      world.store.beforeAppend((stream) => {
        if (stream.startsWith('batch-')) throw new Error('disk full');
      });
    refuse();
    await t.rejects(world.commands.sendBulk(caller, bulk(10)), /disk full/);
    t.equal(await left(world), 1_000);
    const request = bulk(10);
    const call = () => world.commands.sendBulk(caller, request, { key: 'k', body: request });
    await t.rejects(call(), /disk full/);
    world.store.beforeAppend(undefined);
    await call();
    await call();
    t.equal(await left(world), 990);
  },
);

void t.test(
  'cancelled before, while and after its emails are made, a batch gives back all that did not leave',
  async (t) => {
    for (const parts of [0, 1, 3]) {
      const world = await open(t);
      const id = await acceptBulk(world, bulk(230));
      for (let part = 0; part < parts; part += 1) await makePart(world, id);
      await world.commands.cancelBatch(caller, id);
      await allComeBack(world);
    }
  },
);

void t.test('a cancel that is cut off before it is recorded, and made again, gives back once', async (t) => {
  const world = await open(t);
  const id = await acceptBulk(world, bulk(230));
  await makePart(world, id);
  let batchAppends = 0;
  world.store.beforeAppend((stream) => {
    if (stream.startsWith('batch-') && (batchAppends += 1) === 2) throw new Error('killed');
  });
  const call = () => world.commands.cancelBatch(caller, id, { key: 'c', body: undefined });
  await t.rejects(call(), /killed/);
  world.store.beforeAppend(undefined);
  t.match(await call(), { body: { cancelled: 230 } });
  await allComeBack(world);
});

const makeTemplate = async (world: World, slug: string): Promise<void> => {
  const template = attachmentOf([{ id: 'text', type: 'rich-text', content: '<p>{{name}}</p>' }], {
    schema: { outputFormats: ['pdf', 'excel'] },
    slug,
    name: slug,
    publish: true,
  });
  await world.commands.createAttachmentTemplate(caller, template as never);
};

void t.test('documents are one credit each, as many as each recipient is to have', async (t) => {
  const world = await open(t);
  for (const slug of ['bill', 'terms']) await makeTemplate(world, slug);
  const recipients = people(14);
  recipients[1] = { ...recipients[1]!, attachmentOverrides: [{ attachmentTemplateId: 'bill', skip: true }] };
  recipients[2] = {
    ...recipients[2]!,
    attachmentOverrides: [{ attachmentTemplateId: 'terms', outputFormats: ['pdf', 'excel'] }],
  };
  recipients[13] = {
    ...recipients[13]!,
    attachmentOverrides: [{ attachmentTemplateId: 'bill', outputFormats: ['pdf'] }],
  };
  const attachments = [
    { attachmentTemplateId: 'bill' },
    { attachmentTemplateId: 'terms', outputFormats: ['pdf' as const] },
  ];
  // Three for each, but for the second one, the third one and the last.
  const id = await acceptBulk(world, bulk(0, { recipients, attachments }));
  t.equal(await left(world), 1_000 - 14 - (14 * 3 - 2 + 1 - 1));
  await makePart(world, id);
  for (const [index, documents] of [3, 1, 4, 3].entries())
    t.match(await world.events(emailStream(emailIdInBatch(id, index))), [
      { data: { charged: { attachments: documents }, attachmentCount: documents } },
    ]);
  await world.commands.cancelBatch(caller, id);
  await allComeBack(world);
});

/**
 * A bulk send to 14 people. The documents of three cannot be made, two of them among the first ten, which form one
 * part.
 */
const openWithFailing = async (t: Test): Promise<Readonly<{ world: World; id: BatchId }>> => {
  const world = await open(t, ({ fails }) => fails === true);
  await makeTemplate(world, 'bill');
  const recipients = people(14).map((one, index) => ({
    ...one,
    variables: { ...one.variables, fails: [3, 7, 12].includes(index) },
  }));
  const id = await acceptBulk(
    world,
    bulk(0, { recipients, attachments: [{ attachmentTemplateId: 'bill', required: false }] }),
  );
  t.equal(await left(world), 1_000 - 14 * 3);
  return { world, id };
};

void t.test(
  'a document that an email goes without gives its credit back, once, however often its part is made',
  async (t) => {
    const { world, id } = await openWithFailing(t);
    // The part is made, and that it is made is not recorded.
    let hasGivenBack = false;
    world.store.beforeAppend((stream) => {
      hasGivenBack ||= stream.startsWith('credits-');
      if (hasGivenBack && stream.startsWith('batch-')) throw new Error('killed');
    });
    for (let times = 0; times < 2; times += 1) {
      await t.rejects(makePart(world, id), /killed/);
      t.equal(await left(world), 1_000 - 14 * 3 + 2 * 2);
    }
    world.store.beforeAppend(undefined);
    await makePart(world, id);
    await makePart(world, id);
    t.equal(await left(world), 1_000 - 14 - 11 * 2);
    t.match(await world.events(emailStream(emailIdInBatch(id, 3))), [
      { data: { charged: { emails: 1, attachments: 0 } } },
    ]);
    await world.commands.cancelBatch(caller, id);
    await allComeBack(world);
  },
);

void t.test('an email that cannot be made is paid for, the documents that it has not got are not', async (t) => {
  const world = await open(t, ({ fails }) => fails === true);
  await makeTemplate(world, 'bill');
  const recipients = people(3).map((one, index) => ({ ...one, variables: { ...one.variables, fails: index === 1 } }));
  const id = await acceptBulk(
    world,
    bulk(0, { recipients, attachments: [{ attachmentTemplateId: 'bill', required: true }] }),
  );
  t.equal(await left(world), 1_000 - 3 * 3);
  await makePart(world, id);
  t.match(await world.events(emailStream(emailIdInBatch(id, 1))), [
    { data: { charged: { attachments: 0 } } },
    { type: 'EmailFailed' },
  ]);
  t.equal(await left(world), 1_000 - 3 - 2 * 2);
});

void t.test(
  'a batch that is cancelled while a part of it gives back for documents gives back all the same',
  async (t) => {
    const { world, id } = await openWithFailing(t);
    world.store.beforeAppend((stream) => {
      if (stream.startsWith('credits-')) throw new Error('killed');
    });
    await t.rejects(makePart(world, id), /killed/);
    world.store.beforeAppend(undefined);
    await world.commands.cancelBatch(caller, id);
    await allComeBack(world);
  },
);
