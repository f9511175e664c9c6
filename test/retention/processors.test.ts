/** Deleted things and templates are removed when their time is over. */
import t, { type Test } from 'tap';
import {
  assertDefined,
  assetStream,
  parseAssetId,
  parseSenderDomainId,
  parseWebhookId,
  senderDomainsStream,
  webhookStream,
  attachmentTemplateStream,
  blockStream,
  parseBlockId,
  parseAttachmentTemplateId,
  parseTemplateId,
  templateStream,
} from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { makeProcessors } from '../../src/processors/index.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { makeProjections } from '../../src/projections/index.js';
import { makeQueries } from '../../src/projections/queries.js';
import { caller, TEAM, welcome } from '../support/command-world.js';
import { at, DAY_MS } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { memoryKeys } from '../support/memory-ports.js';
import { png } from '../support/pictures.js';
import {
  openProcessorWorld,
  timersAndTheirWork,
  until,
  type ProcessorOptions,
  type ProcessorWorld,
  workersOf,
} from '../support/processor-world.js';

// Deleted things are destroyed when they cannot be restored: assets, webhook subscriptions, sender domains.

const PAGE = { page: 1, limit: 20 };

/** One of each, deleted. */
const withDeleted = async (t: Test, options: ProcessorOptions = {}) => {
  const world = await openProcessorWorld(t, options);
  const { commands } = world;
  const asset = await commands.uploadAsset(caller, { filename: 'logo.png', bytes: png }, { count: 0, sizeBytes: 0 });
  const webhook = await commands.createWebhook(caller, { url: 'https://example.com/', events: ['email.sent'] }, 0);
  const domain = await commands.addDomain(caller, { domain: 'example.com' });
  const assetId = assertDefined(parseAssetId(asset.id), 'asset id');
  const webhookId = assertDefined(parseWebhookId(webhook.id), 'webhook id');
  const domainId = assertDefined(parseSenderDomainId(domain.id), 'domain id');
  await commands.deleteAsset(caller, assetId);
  await commands.deleteWebhook(caller, webhookId);
  await commands.deleteDomain(caller, domainId);
  const streams = [assetStream(assetId), webhookStream(webhookId), senderDomainsStream(TEAM)];
  const last = async (): Promise<readonly (string | undefined)[]> =>
    Promise.all(streams.map(async (stream) => (await world.events(stream)).at(-1)?.type));
  const queries = makeQueries({
    keys: memoryKeys(),
    readModels: world.readModels,
    clock: world.clock,
    limits: world.deps.limits,
    awaitOwnWrites: async () => {},
  });
  return { world, last, queries, assetId, webhookId, domainId };
};

const passes = async (world: ProcessorWorld, seconds: number): Promise<void> => {
  for (let look = 0; look < seconds * 2; look += 1) await world.clock.advance(500);
  await world.settled();
};

const setTo = (world: ProcessorWorld, days: number, ms = 0): Promise<void> =>
  world.clock.set(Date.parse(at(0)) + days * DAY_MS + ms);
const TRASHED = ['AssetTrashed', 'WebhookTrashed', 'SenderDomainTrashed'];
const GONE = ['AssetDeleted', 'WebhookDeleted', 'SenderDomainDeleted'];

void t.test('for 30 days all of it can be restored, and then it is destroyed with its keys', async (t) => {
  const { world, last, queries, assetId, webhookId, domainId } = await withDeleted(t);
  await world.settled();
  const live = makeProjections(world.deps.limits);
  t.match((await queries.listAssets(TEAM, { deleted: true }, PAGE)).data, [{ id: assetId, deletedAt: at(0) }]);
  t.match((await queries.listWebhooks(TEAM, PAGE, { deleted: true })).data, [
    { id: webhookId, url: 'https://example.com/', deletedAt: at(0) },
  ]);
  for (const list of [await queries.listAssets(TEAM, {}, PAGE), await queries.listWebhooks(TEAM, PAGE)])
    t.same(list.data, []);
  t.match(await queries.assetUsage(TEAM), { count: 1 }, 'what can be restored takes room');
  const keysBefore = world.keys.ids().length;
  const filesBefore = world.files.stored.size;
  world.run(timersAndTheirWork(world.processing));
  await setTo(world, 30);
  await passes(world, 12);
  t.same(await last(), TRASHED, 'at the end of the last day');
  await setTo(world, 30, 120_000);
  await until(async () => {
    await world.clock.advance(500);
    return (await last()).join() === GONE.join();
  }, 'all are gone');
  await passes(world, 2);
  for (const collection of ['assetTimers', 'webhookTimers', 'senderDomainsTimers'])
    t.equal(await world.readModels.count(collection, { where: { kind: { eq: 'removal' } } }, 10), 0, collection);
  t.equal(world.keys.ids().length, keysBefore - 3, 'of asset, subscription and domain');
  t.equal(world.files.stored.size, filesBefore - 1);
  await t.rejects(world.commands.restoreAsset(caller, assetId), { code: 'ASSET_NOT_FOUND' });
  await t.rejects(world.commands.restoreWebhook(caller, webhookId, 0), { code: 'WEBHOOK_NOT_FOUND' });
  await t.rejects(world.commands.restoreDomain(caller, domainId), { code: 'DOMAIN_NOT_FOUND' });
  t.match(await queries.assetUsage(TEAM), { count: 0, sizeBytes: 0 });
  for (const projection of live)
    t.equal(
      (await compareWithRebuild(projection, { eventLog: world.deps.eventLog, readModels: world.readModels }))
        .difference,
      undefined,
      projection.name,
    );
});

void t.test('what is restored stays', async (t) => {
  const { world, last, queries, assetId, webhookId, domainId } = await withDeleted(t);
  await setTo(world, 29);
  await world.commands.restoreAsset(caller, assetId);
  t.match(await world.commands.restoreWebhook(caller, webhookId, 24), { id: webhookId, enabled: true });
  await world.commands.restoreDomain(caller, domainId);
  await world.settled();
  world.run(timersAndTheirWork(world.processing));
  await setTo(world, 35);
  await passes(world, 12);
  t.same((await last()).slice(0, 2), ['AssetRestored', 'WebhookRestored']);
  t.match(await world.commands.listDomains(caller), { data: [{ id: domainId }] });
  t.match((await queries.listAssets(TEAM, {}, PAGE)).data, [{ id: assetId }]);
  t.match((await queries.listWebhooks(TEAM, PAGE)).data, [{ id: webhookId }]);
});

void t.test('a subscription is not restored beyond the bound of a team', async (t) => {
  const { world, webhookId } = await withDeleted(t);
  await t.rejects(world.commands.restoreWebhook(caller, webhookId, defaultLimits.webhooksMax), {
    code: 'WEBHOOK_LIMIT_REACHED',
  });
});

void t.test('nothing is destroyed while the clock is not to be believed', async (t) => {
  const { world, last } = await withDeleted(t, { mayDestroy: () => false });
  await world.settled();
  world.run(timersAndTheirWork(world.processing));
  await setTo(world, 40);
  await passes(world, 12);
  t.same(await last(), TRASHED);
});

// Deleted templates are removed when nobody can take them back any more; what was accepted with them still leaves.

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
const withDeletedTemplates = async (t: Test, options: ProcessorOptions = {}) => {
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

void t.test('a deleted template is removed after its days, once, and cannot be taken back then', async (t) => {
  const { world, id, made, last } = await withDeletedTemplates(t);
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
  const { world, id, made, last } = await withDeletedTemplates(t);
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
  const { world, last } = await withDeletedTemplates(t, { mayDestroy: () => isBelieved });
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
  const { world } = await withDeletedTemplates(t);
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

void t.test('mails leave with the blocks of their acceptance, whatever becomes of the blocks', async (t) => {
  const world = await openProcessorWorld(t);
  const { commands } = world;
  const components = (content: string) => [{ id: 'text', type: 'rich-text', content }];
  const block = { slug: 'foot', name: 'Foot', schema: { components: components('<p>First foot</p>') }, publish: true };
  const { id } = await commands.createBlock(caller, block);
  const include = [{ id: 'foot', type: 'include', props: { block: 'foot' } }];
  const schema = { sections: [{ id: 'main', type: 'main', components: include }] };
  await commands.createTemplate(caller, { slug: 'footed', name: 'Footed', subject: 'Footed', schema, publish: true });
  await commands.createAttachmentTemplate(caller, {
    slug: 'sheet',
    name: 'Sheet',
    publish: true,
    schema: { outputFormats: ['excel'], pages: [{ pageId: 'p', pageName: 'P', sections: schema.sections }] },
  });
  const later = at(40 * 86_400);
  const mail = { templateId: 'footed', to: [{ email: 'r0@example.org' }], variables: {}, scheduledAt: later };
  await commands.sendEmail(caller, mail);
  await commands.sendBulk(caller, {
    templateId: 'footed',
    attachments: [{ attachmentTemplateId: 'sheet' }],
    recipients: ['r1@example.org', 'r2@example.org'].map((email) => ({ email, variables: {} })),
    scheduledAt: later,
  });
  await commands.updateBlock(caller, 'foot', { schema: { components: components('<p>Second foot</p>') } });
  await commands.publishBlock(caller, 'foot');
  await commands.sendEmail(caller, { ...mail, to: [{ email: 'second@example.org' }] });
  await commands.deleteTemplate(caller, 'footed');
  await commands.deleteAttachmentTemplate(caller, 'sheet');
  await commands.deleteBlock(caller, 'foot');
  await commands.createBlock(caller, { ...block, schema: { components: components('<p>Another block</p>') } });
  await world.settled();
  world.run(workersOf(world.processing, makeProcessors(world.processing)));
  await setTo(world, 31);
  const stream = blockStream(assertDefined(parseBlockId(id), 'block id'));
  await until(async () => {
    await world.clock.advance(500);
    return (await world.events(stream)).at(-1)?.type === 'TemplateRemoved';
  }, 'the block is removed');
  await refusedWith(t, commands.restoreBlock(caller, id, {}), 'BLOCK_NOT_FOUND');
  await setTo(world, 40);
  await until(async () => {
    await world.clock.advance(500);
    await world.settled();
    return world.mailer.sent.length === 4;
  }, 'all four have left');
  for (const { envelope, raw } of world.mailer.sent) {
    const isSecond = envelope.to.includes('second@example.org');
    t.match(raw.toString(), isSecond ? 'Second foot' : 'First foot', envelope.to.join());
    t.notMatch(raw.toString(), 'Another block');
  }
  t.equal(world.mailer.sent.filter(({ raw }) => raw.toString().includes('Sheet.xlsx')).length, 2);
});
