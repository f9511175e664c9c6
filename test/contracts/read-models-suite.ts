/** The contract of every store of read models. */
import type { Test } from 'tap';
import { documentsQuerySuite } from './read-models-query-suite.js';
import { documentsRebuildSuite } from './read-models-rebuild-suite.js';
import {
  anEmail,
  emailsSpec,
  placesOf,
  put,
  timersSpec,
  withoutPosition,
  type DocumentsHarness,
} from './read-models-fixtures.js';
import { CheckpointMoved, type Document, type Removal } from '../../src/domain/ports/read-models.js';

export const documentsSuite = (t: Test, harness: DocumentsHarness): void => {
  const fresh = placesOf(harness, 'write');
  t.teardown(() => harness.close());
  void t.test('writing', (t) => {
    writingSuite(t, harness, fresh);
    t.end();
  });
  void t.test('queries', (t) => {
    documentsQuerySuite(t, harness);
    t.end();
  });
  void t.test('rebuilding', (t) => {
    documentsRebuildSuite(t, harness);
    t.end();
  });
};

const writingSuite = (t: Test, harness: DocumentsHarness, fresh: ReturnType<typeof placesOf>): void => {
  void t.test('documents are read as they were put, the searched text only by the projection', async (t) => {
    const { readModels } = await fresh(t);
    const store = await readModels.projection('emails', [emailsSpec, timersSpec]);
    const email: Document = {
      ...anEmail(1),
      text: 'Anna 😀',
      tags: ['a', { b: null }],
      nothing: null,
      'odd "name"': '\0',
      amount: 1.5,
    };
    const [first, second] = await put(store, [email, anEmail(2)]);
    await harness.settle();
    t.same(
      await store.getMany('emails', ['id-0001', 'id-0002', 'id-none', 'id-0001']),
      new Map([
        ['id-0001', first],
        ['id-0002', second],
      ]),
    );
    const { text: _text, ...shown } = first!;
    t.same(await readModels.get('emails', 'id-0001'), shown);
    t.equal(await readModels.get('emails', 'id-none'), undefined);
    t.same(await readModels.find('emails', { where: { teamId: { eq: 'team-1' } }, limit: 1, search: 'Anna' }), [shown]);
    t.same((await store.getMany('timers', ['id-0001'])).size, 0);
  });

  void t.test('the checkpoint moves with the documents, and only from where it stands', async (t) => {
    const { readModels } = await fresh(t);
    const store = await readModels.projection('emails', [emailsSpec, timersSpec]);
    const start = await store.checkpoint();
    t.equal(start.position, 0);
    await store.write(
      [
        { collection: 'emails', put: [anEmail(1)], remove: [] },
        { collection: 'timers', put: [{ id: 't', seq: 1, position: 1, dueAt: 5 }], remove: [] },
      ],
      start,
      7,
    );
    t.same(await store.checkpoint(), { ...start, position: 7 });
    for (const from of [start, { ...start, position: 6 }, { position: 7, generation: start.generation + 1 }]) {
      await t.rejects(
        store.write(
          [{ collection: 'emails', put: [{ ...anEmail(2), position: 8 }], remove: [{ id: 'id-0001', position: 8 }] }],
          from,
          9,
        ),
        CheckpointMoved,
      );
    }
    t.same(await store.checkpoint(), { ...start, position: 7 });
    await store.write([], await store.checkpoint(), 12);
    t.equal((await store.checkpoint()).position, 12, 'events that make no document move it too');
  });

  void t.test('a put or a removal of what the document has folded already changes nothing', async (t) => {
    const { readModels } = await fresh(t);
    const store = await readModels.projection('emails', [emailsSpec]);
    const write = async (to: number, emails: readonly Document[], remove: readonly Removal[] = []): Promise<void> =>
      store.write([{ collection: 'emails', put: emails, remove }], await store.checkpoint(), to);
    const at = (position: number, status: string): Document => ({
      ...anEmail(1, { status, text: `text ${status}` }),
      position,
    });
    await write(20, [at(20, 'sent')]);
    await write(21, [at(20, 'queued')], [{ id: 'id-0001', position: 20 }]);
    await write(22, [at(7, 'queued')], [{ id: 'id-0001', position: 7 }]);
    await harness.settle();
    t.match(await readModels.get('emails', 'id-0001'), { position: 20, status: 'sent' });
    t.equal(await readModels.count('emails', { where: { status: { eq: 'queued' } } }, 9), 0);
    const team = { teamId: { eq: 'team-1' } };
    t.equal(await readModels.count('emails', { where: team, search: 'text queued' }, 9), 0);
    t.equal(await readModels.count('emails', { where: team, search: 'text sent' }, 9), 1);
    await write(30, [{ ...at(23, 'queued'), seq: 23 }], []);
    t.match(await readModels.get('emails', 'id-0001'), { seq: 23, status: 'queued' }, 'made anew by a later event');
    await write(31, [{ ...at(22, 'sent'), seq: 22 }], []);
    await harness.settle();
    t.match(await readModels.find('emails', { where: {}, limit: 9 }), [{ seq: 23, status: 'queued' }]);
  });

  void t.test(
    'a writer that wakes after another has gone on changes nothing, and what was removed stays so',
    async (t) => {
      const { readModels, another } = await fresh(t);
      const store = await readModels.projection('emails', [emailsSpec]);
      const frozen = await (await another()).projection('emails', [emailsSpec]);
      await put(store, [anEmail(1), anEmail(2)]);
      const from = await frozen.checkpoint();
      await put(store, [anEmail(1, { status: 'sent' })], ['id-0002']);
      const late = [anEmail(1), anEmail(2), anEmail(3)].map((email) => ({ ...email, position: from.position + 1 }));
      await t.rejects(
        frozen.write([{ collection: 'emails', put: late, remove: [] }], from, from.position + 1),
        CheckpointMoved,
      );
      await harness.settle();
      t.match(await readModels.get('emails', 'id-0001'), { status: 'sent' });
      t.equal(await readModels.get('emails', 'id-0002'), undefined);
    },
  );

  void t.test('of two that write from the same checkpoint one is refused', async (t) => {
    const { readModels, another } = await fresh(t);
    const stores = [
      await readModels.projection('emails', [emailsSpec]),
      await (await another()).projection('emails', [emailsSpec]),
    ];
    const from = await stores[0]!.checkpoint();
    const results = await Promise.allSettled(
      stores.map((store, index) =>
        store.write([{ collection: 'emails', put: [anEmail(index + 1)], remove: [] }], from, 5),
      ),
    );
    t.same(results.map((result) => result.status).sort(), ['fulfilled', 'rejected']);
    t.ok(results.some((result) => result.status === 'rejected' && result.reason instanceof CheckpointMoved));
    await harness.settle();
    t.ok((await readModels.count('emails', { where: {} }, 10)) >= 1);
  });

  void t.test('a write that cannot be carried out leaves everything as it was', async (t) => {
    const { readModels } = await fresh(t);
    const store = await readModels.projection('emails', [emailsSpec]);
    await put(store, [anEmail(1, { text: 'first text' })]);
    const before = await store.checkpoint();
    const wrong: Document = { ...anEmail(3), status: ['no string'] };
    await t.rejects(
      store.write(
        [{ collection: 'emails', put: [anEmail(1, { text: 'second text' }), anEmail(2), wrong], remove: [] }],
        before,
        9,
      ),
    );
    await t.rejects(store.write([{ collection: 'unknown', put: [], remove: [{ id: 'x', position: 9 }] }], before, 9));
    await t.rejects(store.write([{ collection: 'emails', put: [{ ...anEmail(4), text: 5 }], remove: [] }], before, 9));
    t.same(await store.checkpoint(), before);
    t.equal(await readModels.count('emails', { where: {} }, 10), 1);
    t.equal(
      (await readModels.find('emails', { where: { teamId: { eq: 'team-1' } }, search: 'first', limit: 5 })).length,
      1,
    );
    t.equal(
      (await readModels.find('emails', { where: { teamId: { eq: 'team-1' } }, search: 'second', limit: 5 })).length,
      0,
    );
  });

  void t.test('a put replaces the whole document, fields and searched text included', async (t) => {
    const { readModels } = await fresh(t);
    const store = await readModels.projection('emails', [emailsSpec]);
    const found = async (search: string): Promise<number> =>
      (await readModels.count('emails', { where: { teamId: { eq: 'team-1' } }, search }, 10)) +
      (await readModels.count('emails', { where: { teamId: { eq: 'team-2' } }, search }, 10));
    await put(store, [anEmail(1, { text: 'anna@example.com', extra: 'x', cost: 3 })]);
    await put(store, [anEmail(1, { text: 'anna@example.com', status: 'sent' })]);
    t.same(
      withoutPosition((await readModels.get('emails', 'id-0001'))!),
      withoutPosition(anEmail(1, { status: 'sent' })),
    );
    t.equal(await found('anna'), 1);
    t.equal(await readModels.count('emails', { where: { status: { eq: 'queued' } } }, 9), 0);
    t.equal(await readModels.count('emails', { where: { cost: { gte: 0 } } }, 9), 0);
    await put(store, [anEmail(1, { text: 'berta@example.com' })]);
    t.same([await found('anna'), await found('berta'), await found('example')], [0, 1, 1]);
    await put(store, [anEmail(1, { text: 'berta@example.com', teamId: 'team-2' })]);
    t.equal(await readModels.count('emails', { where: { teamId: { eq: 'team-2' } }, search: 'berta' }, 10), 1);
    t.equal(await readModels.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'berta' }, 10), 0);
    await put(store, [anEmail(1, { teamId: 'team-2' })]);
    t.same([await found('berta'), await found('example')], [0, 0], 'a document put without its text is found no more');
    t.same(
      withoutPosition((await store.getMany('emails', ['id-0001'])).get('id-0001')!),
      withoutPosition(anEmail(1, { teamId: 'team-2' })),
    );
    await put(store, [anEmail(1, { text: 'clara' })]);
    t.equal(await found('clara'), 1);
  });

  void t.test('documents are removed, within one write in the order given', async (t) => {
    const { readModels } = await fresh(t);
    const store = await readModels.projection('emails', [emailsSpec]);
    await put(store, [anEmail(1, { text: 'anna one' }), anEmail(2, { text: 'anna two' })]);
    await put(store, [], ['id-0001', 'id-none']);
    t.same(
      (await readModels.find('emails', { where: { teamId: { eq: 'team-1' } }, search: 'anna', limit: 5 })).map(
        ({ id }) => id,
      ),
      ['id-0002'],
    );
    const from = await store.checkpoint();
    await store.write(
      [
        { collection: 'emails', put: [{ ...anEmail(3), position: 11 }], remove: [{ id: 'id-0003', position: 12 }] },
        { collection: 'emails', put: [], remove: [{ id: 'id-0002', position: 13 }] },
        { collection: 'emails', put: [{ ...anEmail(2, { status: 'sent' }), position: 14 }], remove: [] },
      ],
      from,
      14,
    );
    t.same(
      (await readModels.find('emails', { where: {}, limit: 5 })).map(({ id, status }) => [id, status]),
      [['id-0002', 'sent']],
    );
    await put(store, [{ ...anEmail(9, { text: 'anna nine' }), id: 'id-0002' }]);
    t.same(
      (await readModels.find('emails', { where: {}, limit: 5 })).map(({ id, seq }) => [id, seq]),
      [['id-0002', 9]],
      'an id made anew stands once',
    );
  });

  void t.test('a new version starts again, the same version goes on', async (t) => {
    const { readModels, another } = await fresh(t);
    const store = await readModels.projection('emails', [emailsSpec, timersSpec]);
    const other = await readModels.projection('others', [{ ...timersSpec, name: 'others' }]);
    await put(store, [anEmail(1)]);
    await put(other, [{ id: 'o', seq: 1, position: 1 }], [], 'others');
    const before = await store.checkpoint();
    t.same(await (await readModels.projection('emails', [emailsSpec, timersSpec])).checkpoint(), before);
    const again = await another();
    const newer = await again.projection('emails', [
      { ...emailsSpec, version: 2, fields: [...emailsSpec.fields, 'templateId'] },
      timersSpec,
    ]);
    const after = await newer.checkpoint();
    t.equal(after.position, 0);
    t.ok(after.generation > before.generation);
    t.equal(await again.get('emails', 'id-0001'), undefined);
    await put(newer, [anEmail(5, { templateId: 'x' })]);
    t.equal(await again.count('emails', { where: { templateId: { eq: 'x' } } }, 5), 1);
    t.ok(await again.get('others', 'o'), 'other projections are left alone');
    await t.rejects(store.write([], before, before.position + 1), 'a writer of the old version is stopped');
  });

  void t.test('collections and fields that were not declared are refused', async (t) => {
    const { readModels } = await fresh(t);
    await readModels.projection('emails', [emailsSpec]);
    await t.rejects(readModels.get('unknown', 'x'));
    await t.rejects(readModels.find('unknown', { where: {}, limit: 1 }));
    await t.rejects(readModels.find('emails', { where: {}, search: 'anna', limit: 1 }), 'a search names its team');
    await t.rejects(readModels.find('emails', { where: { teamId: { gte: 'team-1' } }, search: 'anna', limit: 1 }));
    await t.rejects(readModels.find('emails', { where: { subject: { eq: 'x' } }, limit: 1 }));
    await t.rejects(
      readModels.find('emails', { where: {}, sort: { field: 'x; DROP TABLE', direction: 'asc' }, limit: 1 }),
    );
    await t.rejects(readModels.projection('second', [emailsSpec]), 'a collection belongs to one projection');
    await t.rejects(readModels.projection('x"y', [timersSpec]));
    await t.rejects(readModels.projection('x', [{ ...timersSpec, indexes: [['other']] }]));
    await t.rejects(readModels.rebuild('unknown'));
  });

  void t.test(
    'what was written is there after closing and opening again, by a process that only reads too',
    async (t) => {
      const { readModels, another } = await fresh(t);
      const store = await readModels.projection('emails', [emailsSpec]);
      const [written] = await put(store, [anEmail(1, { text: 'anna' })]);
      const checkpoint = await store.checkpoint();
      await readModels.close();
      const reader = await another();
      const { text: _text, ...shown } = written!;
      t.same(await reader.get('emails', 'id-0001'), shown);
      t.equal(await reader.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'anna' }, 5), 1);
      t.same(await (await reader.projection('emails', [emailsSpec])).checkpoint(), checkpoint);
    },
  );
};
