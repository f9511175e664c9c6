/** Deleted things are destroyed when they cannot be restored: assets, webhook subscriptions, sender domains. */
import { defaultLimits } from '../../src/domain/core/limits.js';
import t, { type Test } from 'tap';
import {
  assertDefined,
  assetStream,
  parseAssetId,
  parseSenderDomainId,
  parseWebhookId,
  senderDomainsStream,
  webhookStream,
} from '../../src/domain/core/ids.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { makeProjections } from '../../src/projections/index.js';
import { makeQueries } from '../../src/projections/queries.js';
import { caller, TEAM } from '../support/command-world.js';
import { at, DAY_MS } from '../support/email-facts.js';
import { png } from '../support/pictures.js';
import {
  openProcessorWorld,
  timersAndTheirWork,
  until,
  type ProcessorOptions,
  type ProcessorWorld,
} from '../support/processor-world.js';
import { memoryKeys } from '../support/memory-ports.js';

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
