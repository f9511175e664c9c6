/**
 * Credits of bulk sends: reserved before the batch is there, and given back for every email that is cancelled or never
 * made, once.
 */
import t, { type Test } from 'tap';
import { fanOut } from '../../src/commands/bulk/batches.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { batchStream, emailIdInBatch, emailStream, type BatchId } from '../../src/domain/core/ids.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { isoTime } from '../../src/domain/core/time.js';
import { returnCreditsWorker } from '../../src/processors/billing/billing.js';
import { returnedUpTo } from '../../src/projections/billing/credits.js';
import { acceptBulk, bulk, people } from '../support/bulk.js';
import { caller, commandsOfTest, TEAM, nothingUsed } from '../support/command-world.js';
import { attachmentOf } from '../support/documents.js';
import { openProcessorWorld, until, type ProcessorWorld } from '../support/processor-world.js';
import { recordingGenerator } from '../support/recording-generator.js';

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
