/** The contract of every store of read models: a projection is rebuilt beside the live one. */
import type { Test } from 'tap';
import { CheckpointMoved, type Document, type Inspection } from '../../src/domain/ports/read-models.js';
import { anEmail, emailsSpec, placesOf, put, timersSpec, type DocumentsHarness } from './read-models-fixtures.js';

const scanned = async ({ scan }: Inspection, side: 'live' | 'rebuilt'): Promise<Document[]> => {
  const all: Document[] = [];
  for await (const document of scan('emails', side)) all.push(document);
  return all;
};

export const documentsRebuildSuite = (t: Test, harness: DocumentsHarness): void => {
  const fresh = placesOf(harness, 'rebuild');

  void t.test('a rebuild is filled beside the live collections, then put in their place', async (t) => {
    const { readModels, another } = await fresh(t);
    const live = await readModels.projection('emails', [emailsSpec, timersSpec]);
    await put(live, [anEmail(1, { text: 'anna' }), anEmail(2, { text: 'berta' })]);
    const reader = await another();
    t.ok(await reader.get('emails', 'id-0001'));
    const before = await live.checkpoint();
    const rebuild = await readModels.rebuild('emails');
    const start = await rebuild.store.checkpoint();
    t.equal(start.position, 0);
    t.ok(start.generation > before.generation);
    await put(rebuild.store, [
      anEmail(2, { text: 'berta', status: 'sent' }),
      anEmail(3, { text: 'clara' }),
      anEmail(4),
    ]);
    await put(rebuild.store, [anEmail(3, { text: 'clara', status: 'sent' })], ['id-0004']);
    t.same(
      [...(await rebuild.store.getMany('emails', ['id-0001', 'id-0003'])).values()],
      [{ ...anEmail(3, { text: 'clara', status: 'sent' }), position: 2 }],
    );
    await t.rejects(rebuild.store.write([], start, 9), CheckpointMoved);
    t.equal((await readModels.get('emails', 'id-0002'))?.['status'], 'queued', 'readers still see the live side');
    await put(live, [anEmail(5)]);
    const liveCheckpoint = await live.checkpoint();
    await rebuild.commit();
    await harness.settle();
    for (const client of [readModels, reader]) {
      t.same(
        (await client.find('emails', { where: {}, limit: 9 })).map(({ id, status }) => [id, status]),
        [
          ['id-0003', 'sent'],
          ['id-0002', 'sent'],
        ],
      );
      t.same(
        (await client.find('emails', { where: { teamId: { eq: 'team-1' } }, search: 'clara', limit: 9 })).map(
          ({ id }) => id,
        ),
        ['id-0003'],
      );
      t.equal(await client.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'anna' }, 9), 0);
    }
    const now = await live.checkpoint();
    t.same(now, { position: 2, generation: start.generation });
    await t.rejects(live.write([], liveCheckpoint, 10), CheckpointMoved);
    await put(live, [anEmail(6, { text: 'dora' })]);
    await put(live, [anEmail(2, { text: 'bertha', status: 'sent' })], ['id-0003']);
    t.same(
      [
        await reader.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'dora' }, 9),
        await reader.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'berta' }, 9),
        await reader.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'clara' }, 9),
      ],
      [1, 0, 0],
    );
  });

  void t.test('both sides are walked through in the order of ids, whole documents', async (t) => {
    const { readModels } = await fresh(t);
    const live = await readModels.projection('emails', [emailsSpec]);
    const emails = Array.from({ length: 1_203 }, (_, index) =>
      anEmail(index + 1, { id: `id-${(index * 7919) % 10_007}`, text: `text ${index}` }),
    );
    await put(live, emails);
    const inspection = (await readModels.inspect('emails', [emailsSpec]))!;
    await put(inspection.rebuilt, emails.slice(0, 1_000));
    const byId = (a: Document, b: Document): number => (a.id < b.id ? -1 : 1);
    const written = emails.map((email) => ({ ...email, position: 1 })).sort(byId);
    t.same(await scanned(inspection, 'live'), written);
    t.same(
      await scanned(inspection, 'rebuilt'),
      written.filter(({ seq }) => seq <= 1_000),
    );
    await inspection.close();
  });

  void t.test('an inspection reads the live side, and neither makes nor changes anything of it', async (t) => {
    const { readModels, another } = await fresh(t);
    t.equal(await readModels.inspect('emails', [emailsSpec]), undefined, 'there is no projection');
    const live = await readModels.projection('emails', [emailsSpec]);
    await put(live, [anEmail(1, { text: 'anna' })]);
    const before = await live.checkpoint();
    t.equal(await readModels.inspect('emails', [{ ...emailsSpec, version: 2 }]), undefined, 'it is of another version');
    const inspection = (await readModels.inspect('emails', [emailsSpec]))!;
    t.same(await inspection.live.checkpoint(), before);
    t.same([...(await inspection.live.getMany('emails', ['id-0001', 'id-0002'])).keys()], ['id-0001']);
    await put(inspection.rebuilt, [anEmail(9)]);
    t.same([...(await inspection.rebuilt.getMany('emails', ['id-0001', 'id-0009'])).keys()], ['id-0009']);
    for await (const fault of inspection.lookupFaults()) t.fail('a lookup differs from its document', { fault });
    await t.rejects((await another()).rebuild('emails'), 'no rebuild meanwhile');
    await inspection.close();
    t.same(await live.checkpoint(), before);
    t.same(
      (await readModels.find('emails', { where: {}, limit: 9 })).map(({ id }) => id),
      ['id-0001'],
    );
    await (await readModels.rebuild('emails')).discard();
  });

  void t.test('what a checkpoint has passed over stays noted, through writes and rebuilds', async (t) => {
    const { readModels } = await fresh(t);
    const live = await readModels.projection('emails', [emailsSpec]);
    await put(live, [anEmail(1)]);
    const { passedOver, ...before } = await live.checkpoint();
    t.equal(passedOver, undefined);
    await live.write([], { ...before, passedOver: 7 }, before.position + 8);
    await put(live, [anEmail(20)]);
    t.match(await live.checkpoint(), { passedOver: 7 });
    for (const noted of [9, undefined]) {
      const rebuild = await readModels.rebuild('emails');
      const from = await rebuild.store.checkpoint();
      await rebuild.store.write([], { ...from, ...(noted === undefined ? {} : { passedOver: noted }) }, 30);
      await put(rebuild.store, [anEmail(31)]);
      t.equal((await rebuild.store.checkpoint()).passedOver, noted);
      await rebuild.commit();
      await harness.settle();
      t.equal((await live.checkpoint()).passedOver, noted);
    }
  });

  void t.test('a discarded rebuild leaves the live side as it was, and another can begin', async (t) => {
    const { readModels, another } = await fresh(t);
    const live = await readModels.projection('emails', [emailsSpec]);
    await put(live, [anEmail(1)]);
    const before = await live.checkpoint();
    const rebuild = await readModels.rebuild('emails');
    await put(rebuild.store, [anEmail(9)]);
    await t.rejects((await another()).rebuild('emails'), 'one rebuild at a time');
    await rebuild.discard();
    await rebuild.discard();
    t.same(await live.checkpoint(), before);
    t.ok(await readModels.get('emails', 'id-0001'));
    const second = await readModels.rebuild('emails');
    await second.commit();
    t.equal(await readModels.count('emails', { where: {} }, 9), 0);
  });

  void t.test('a rebuild of another version than the live one is not put in place', async (t) => {
    const { readModels, another } = await fresh(t);
    await readModels.projection('emails', [emailsSpec]);
    const rebuild = await readModels.rebuild('emails');
    await put(rebuild.store, [anEmail(1)]);
    const newer = await another();
    const live = await newer.projection('emails', [{ ...emailsSpec, version: 2 }]);
    await put(live, [anEmail(2)]);
    await t.rejects(rebuild.commit(), CheckpointMoved);
    t.same(
      (await newer.find('emails', { where: {}, limit: 9 })).map(({ id }) => id),
      ['id-0002'],
    );
  });
};
