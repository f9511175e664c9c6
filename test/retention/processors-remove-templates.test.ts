/** Deleted templates are removed when nobody can take them back any more; what was accepted with them still leaves. */
import t, { type Test } from 'tap';
import {
  assertDefined,
  attachmentTemplateStream,
  parseAttachmentTemplateId,
  parseTemplateId,
  templateStream,
} from '../../src/domain/core/ids.js';
import { makeProcessors } from '../../src/processors/index.js';
import { makeQueries } from '../../src/projections/queries.js';
import { caller, TEAM, welcome } from '../support/command-world.js';
import { at, DAY_MS } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import {
  openProcessorWorld,
  timersAndTheirWork,
  until,
  workersOf,
  type ProcessorOptions,
  type ProcessorWorld,
} from '../support/processor-world.js';

const bill = {
  name: 'Bill',
  slug: 'bill',
  publish: true,
  schema: {
    outputFormats: ['pdf'],
    pages: [
      {
        pageId: 'p',
        pageName: 'Page',
        sections: [{ id: 's', type: 'main', components: [{ id: 'text', type: 'rich-text', content: '<p>Bill</p>' }] }],
      },
    ],
  },
};

/** A world with one template of each kind, both deleted. */
const withDeleted = async (t: Test, options: ProcessorOptions = {}) => {
  const world = await openProcessorWorld(t, options);
  const { id } = await world.commands.getTemplate(caller, 'welcome');
  const made = await world.commands.createAttachmentTemplate(caller, bill);
  await world.commands.deleteTemplate(caller, 'welcome');
  await world.commands.deleteAttachmentTemplate(caller, made.id);
  const streams = [
    templateStream(assertDefined(parseTemplateId(id), 'template id')),
    attachmentTemplateStream(assertDefined(parseAttachmentTemplateId(made.id), 'attachment template id')),
  ];
  const last = async (): Promise<readonly (string | undefined)[]> =>
    Promise.all(streams.map(async (stream) => (await world.events(stream)).at(-1)?.type));
  return { world, id, made, last };
};

const both = (type: string): readonly string[] => [type, type];
const passes = async (world: ProcessorWorld, seconds: number): Promise<void> => {
  for (let look = 0; look < seconds * 2; look += 1) await world.clock.advance(500);
  await world.settled();
};
const setTo = (world: ProcessorWorld, days: number, ms = 0): Promise<void> =>
  world.clock.set(Date.parse(at(0)) + days * DAY_MS + ms);

void t.test('a deleted template is removed after its days, once, and cannot be taken back then', async (t) => {
  const { world, id, made, last } = await withDeleted(t);
  await world.settled();
  world.run(timersAndTheirWork(world.processing));
  await setTo(world, 29);
  await passes(world, 12);
  t.same(await last(), both('TemplateDeleted'));
  const { listTemplates, listAttachmentTemplates } = makeQueries({
    ...world.deps,
    readModels: world.readModels,
    awaitOwnWrites: async () => {},
  });
  const rows = async (): Promise<number> => {
    const lists = [listTemplates, listAttachmentTemplates].map((list) =>
      list(TEAM, { deleted: true }, { page: 1, limit: 10 }),
    );
    return (await Promise.all(lists)).reduce((sum, { data }) => sum + data.length, 0);
  };
  t.equal(await rows(), 2);
  await setTo(world, 30, 60_000);
  await until(async () => {
    await world.clock.advance(500);
    return (await last()).every((type) => type === 'TemplateRemoved');
  }, 'both are removed');
  await world.settled();
  t.equal(await rows(), 0);
  for (const collection of ['templates', 'attachmentTemplates', 'templateTimers', 'attachmentTemplateTimers'])
    t.equal(await world.readModels.count(collection, { where: {} }, 10), 0, collection);
  const position = await world.deps.eventLog.head();
  await passes(world, 12);
  t.equal(await world.deps.eventLog.head(), position, 'nothing more is written');
  await refusedWith(t, world.commands.restoreTemplate(caller, id, {}), 'TEMPLATE_NOT_FOUND');
  await refusedWith(t, world.commands.restoreAttachmentTemplate(caller, made.shortId, {}), 'TEMPLATE_NOT_FOUND');
  await refusedWith(t, world.commands.getTemplate(caller, id), 'TEMPLATE_NOT_FOUND');
  t.equal((await world.commands.createTemplate(caller, welcome)).slug, 'welcome', 'its slug is free');
  t.same(
    world.logger.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

void t.test('one that was restored stays', async (t) => {
  const { world, id, made, last } = await withDeleted(t);
  await world.commands.restoreTemplate(caller, id, {});
  await world.commands.restoreAttachmentTemplate(caller, made.id, {});
  await world.settled();
  world.run(timersAndTheirWork(world.processing));
  await setTo(world, 31);
  await passes(world, 12);
  t.same(await last(), both('TemplateRestored'));
});

void t.test('while the clock is not to be believed nothing is removed; then it is', async (t) => {
  let isBelieved = false;
  const { world, last } = await withDeleted(t, { mayDestroy: () => isBelieved });
  await world.settled();
  world.run(timersAndTheirWork(world.processing));
  await setTo(world, 31);
  await passes(world, 12);
  t.same(await last(), both('TemplateDeleted'));
  isBelieved = true;
  await until(async () => {
    await world.clock.advance(500);
    return (await last()).every((type) => type === 'TemplateRemoved');
  }, 'both are removed');
});

void t.test('nobody waits for it: its timers are looked for once in five seconds', async (t) => {
  const { world } = await withDeleted(t);
  await world.settled();
  let reads = 0;
  const find: ProcessorWorld['readModels']['find'] = (collection, query) => {
    if (collection === 'templateTimers' || collection === 'attachmentTemplateTimers') reads += 1;
    return world.readModels.find(collection, query);
  };
  world.run(timersAndTheirWork({ ...world.processing, readModels: { find } }));
  await until(() => world.clock.waiting() >= 1, 'it has looked');
  for (let look = 0; look < 40; look += 1) await world.clock.advance(500);
  t.ok(reads >= 2 && reads <= 2 * 5, `${reads} reads in 20 seconds`);
});

void t.test(
  'what was accepted with a template leaves as it was accepted, however long ago that was removed',
  async (t) => {
    const world = await openProcessorWorld(t);
    const { id } = await world.commands.getTemplate(caller, 'welcome');
    const later = at(40 * 86_400);
    const emailId = await world.send({ subject: 'Mine {{name}}', scheduledAt: later });
    const recipients = ['r1@example.org', 'r2@example.org'].map((email) => ({ email, variables: { name: 'Ann' } }));
    await world.commands.sendBulk(caller, { templateId: 'welcome', recipients, scheduledAt: later });
    await world.commands.deleteTemplate(caller, 'welcome');
    await world.settled();
    world.run(workersOf(world.processing, makeProcessors(world.processing)));
    await setTo(world, 31);
    const stream = templateStream(assertDefined(parseTemplateId(id), 'template id'));
    await until(async () => {
      await world.clock.advance(500);
      return (await world.events(stream)).at(-1)?.type === 'TemplateRemoved';
    }, 'the template is removed');
    t.equal(world.mailer.sent.length, 0);
    await setTo(world, 40);
    await until(async () => {
      await world.clock.advance(500);
      await world.settled();
      return world.mailer.sent.length === 3;
    }, 'all three have left');
    for (const { raw } of world.mailer.sent) t.match(raw.toString(), /Dear Ann, from Example Ltd/);
    await world.reaches(emailId, 'sent');
  },
);
