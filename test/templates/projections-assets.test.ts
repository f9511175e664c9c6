/** The list of assets and the measure of each gallery: however the events are cut, and after keys were destroyed. */
import t from 'tap';
import { DAY_MS } from '../../src/domain/core/time.js';
import type { AssetEvent } from '../../src/domain/templates/events.js';
import { assertDefined, parseTeamId, type StreamName } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { assetsProjection } from '../../src/projections/templates/templates.js';
import { makeQueries } from '../../src/projections/queries.js';
import { T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';
import { memoryKeys } from '../support/memory-ports.js';

const OTHER = '22222222-2222-4222-8222-222222222222';
const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const stream = (n: number): StreamName => `asset-${idOf(n)}` as StreamName;
const uploaded = (filename: string, sizeBytes: number): AssetEvent => ({
  type: 'AssetUploaded',
  data: { at: T0, contentType: 'text/plain', sizeBytes, file: 'f' },
  sealed: { filename, sha256: 's' },
});
const deleted: AssetEvent = { type: 'AssetDeleted', data: { at: T0 } };

/** Three of one team, one of them deleted again, and one of another. */
const story = async () => {
  const test = openLogOfTest();
  await test.append(stream(1), [uploaded('terms.txt', 10)]);
  await test.append(stream(2), [uploaded('Größe.txt', 20)]);
  await test.append(stream(3), [uploaded('other.txt', 5)], OTHER);
  await test.append(stream(1), [deleted]);
  await test.append(stream(4), [uploaded('more terms.txt', 30)]);
  return test;
};

void t.test('lists show what is there, newest first, and galleries are measured', async (t) => {
  const { recorded } = await story();
  const readModels = openDocuments(t);
  const queries = makeQueries({
    keys: memoryKeys(),
    readModels,
    clock: fakeClock(Date.parse(T0)),
    limits: defaultLimits,
    awaitOwnWrites: async () => {},
  });
  const [team, other] = [assertDefined(parseTeamId(TEAM_ID), 'team'), assertDefined(parseTeamId(OTHER), 'team')];
  await projectIn(readModels, assetsProjection(30 * DAY_MS), []);
  t.same(await queries.assetUsage(team), { count: 0, sizeBytes: 0 });
  const events = await recorded();
  await projectIn(readModels, assetsProjection(30 * DAY_MS), events);
  const page = await queries.listAssets(team, {}, { page: 1, limit: 1 });
  t.match(page, {
    data: [
      { id: idOf(4), filename: 'more terms.txt', sizeBytes: 30, contentType: 'text/plain', sha256: 's', createdAt: T0 },
    ],
    meta: { total: 2, totalPages: 2, totalIsLowerBound: false },
  });
  t.match(await queries.listAssets(team, {}, { page: 1, limit: 1, cursor: page.meta.nextCursor! }), {
    data: [{ id: idOf(2) }],
    meta: { nextCursor: null },
  });
  t.match(await queries.listAssets(team, { search: 'TERMS' }, { page: 1, limit: 20 }), {
    data: [{ id: idOf(4) }],
    meta: { total: 1 },
  });
  t.match(await queries.listAssets(other, { search: 'terms' }, { page: 1, limit: 20 }), {
    data: [],
    meta: { total: 0 },
  });
  // Positions are those of the store, whichever it gives.
  const lastOf = (teamId: string) => events.findLast(({ metadata }) => metadata.teamId === teamId)!.position;
  t.same(await queries.assetUsage(team), { count: 2, sizeBytes: 50, position: lastOf(team) });
  t.same(await queries.assetUsage(other), { count: 1, sizeBytes: 5, position: lastOf(other) });
});

void t.test(
  'the documents are the same however the events are cut, and when they are rebuilt after the key is gone',
  async (t) => {
    const test = await story();
    const live = openDocuments(t);
    await projectIn(live, assetsProjection(30 * DAY_MS), await test.recorded());
    const expected = await documentsOf(live, assetsProjection(30 * DAY_MS));
    t.same(
      Object.values(expected).map((found) => found.length),
      [0, 2, 3],
    );
    for (const sizes of [[1], [2], [3, 1]]) {
      const readModels = openDocuments(t);
      await projectIn(readModels, assetsProjection(30 * DAY_MS), await test.recorded(), { sizes, forgetful: true });
      t.same(await documentsOf(readModels, assetsProjection(30 * DAY_MS)), expected, `cut as ${sizes.join()}`);
    }
    await test.eventLog.destroyKey(stream(1));
    t.match((await test.recorded())[0], { event: { sealed: undefined } });
    const rebuilt = openDocuments(t);
    await projectIn(rebuilt, assetsProjection(30 * DAY_MS), await test.recorded());
    t.same(await documentsOf(rebuilt, assetsProjection(30 * DAY_MS)), expected);
  },
);

void t.test('a write that was torn anywhere and is made again gives the same', async (t) => {
  const recorded = await (await story()).recorded();
  const whole = openDocuments(t);
  await projectIn(whole, assetsProjection(30 * DAY_MS), recorded);
  const expected = await documentsOf(whole, assetsProjection(30 * DAY_MS));
  for (let count = 0, all = 1; count <= all; count += 1) {
    const readModels = openDocuments(t);
    all = await tearWrite(readModels, assetsProjection(30 * DAY_MS), recorded, count);
    await projectIn(readModels, assetsProjection(30 * DAY_MS), recorded, { sizes: [2] });
    t.same(await documentsOf(readModels, assetsProjection(30 * DAY_MS)), expected, `${count} of ${all}`);
  }
});
