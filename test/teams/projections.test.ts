/** Members of teams in the read models: equal for events that are batched, interrupted or replayed. */
import t from 'tap';
import type { TeamEvent } from '../../src/domain/teams/events.js';
import { assertDefined, parseUserId, type StreamName, type UserId } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { ReadModels } from '../../src/domain/ports/read-models.js';
import { emptyCompany } from '../../src/domain/teams/state.js';
import { makeQueries } from '../../src/projections/queries.js';
import { teamsProjection, teamsToRemove } from '../../src/projections/teams/teams.js';
import { at, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';
import { memoryKeys } from '../support/memory-ports.js';

const OTHER = '22222222-2222-4222-8222-222222222222';
const stream = (team: string): StreamName => `team-${team}` as StreamName;
const user = (n: number): UserId =>
  assertDefined(parseUserId(`00000000-0000-4000-8000-${String(n).padStart(12, '0')}`), 'user');
const [ann, bea, cy] = [user(1), user(2), user(3)];

const settings = (name: string) => ({ name, defaultFrom: { email: 'a@example.com' }, company: emptyCompany });
const created = (name: string): TeamEvent => ({
  type: 'TeamCreated',
  data: { at: T0, billing: 'unmetered', settings: settings(name) },
});
const added = (userId: UserId, role: 'owner' | 'member', minute: number): TeamEvent => ({
  type: 'MemberAdded',
  data: { at: at(minute), userId, role },
});

/**
 * Ann owns two teams, one of which is deleted and comes back; Bea joins, rises and leaves; Cy is in the other alone.
 */
const story = async () => {
  const test = openLogOfTest();
  await test.append(stream(TEAM_ID), [created('Shop'), added(ann, 'owner', 1), added(bea, 'member', 2)]);
  await test.append(stream(OTHER), [created('Market'), added(ann, 'owner', 3), added(cy, 'owner', 4)], OTHER);
  await test.append(stream(TEAM_ID), [{ type: 'MemberRoleChanged', data: { at: at(5), userId: bea, role: 'admin' } }]);
  return test;
};

const queriesOf = (readModels: ReadModels) =>
  makeQueries({
    keys: memoryKeys(),
    readModels,
    clock: fakeClock(Date.parse(T0)),
    limits: defaultLimits,
    awaitOwnWrites: async () => {},
  });
const paging = { page: 1, limit: 20 };

void t.test('a person finds the teams that live, with the role there, and those that can be restored', async (t) => {
  const test = await story();
  const readModels = openDocuments(t);
  const queries = queriesOf(readModels);
  const project = async () => projectIn(readModels, teamsProjection, await test.recorded());
  await project();
  t.strictSame(await queries.teamsOfUser(ann), [OTHER, TEAM_ID]);
  t.strictSame(await queries.teamsOfUser(user(9)), []);
  t.match(await queries.listTeams(bea, {}, paging), {
    data: [{ id: TEAM_ID, name: 'Shop', role: 'admin', createdAt: T0, memberCount: 2 }],
    meta: { total: 1 },
  });
  await test.append(stream(TEAM_ID), [{ type: 'TeamDeleted', data: { at: at(6) } }]);
  await project();
  t.strictSame(await queries.teamsOfUser(bea), []);
  t.strictSame((await queries.listTeams(bea, {}, paging)).data, []);
  t.match((await queries.listTeams(bea, { deleted: true }, paging)).data, [
    { id: TEAM_ID, role: 'admin', deletedAt: at(6) },
  ]);
  t.strictSame(await teamsToRemove(readModels, at(5), 10), []);
  t.strictSame(await teamsToRemove(readModels, at(6), 10), [TEAM_ID]);
  await test.append(stream(TEAM_ID), [
    { type: 'TeamRestored', data: { at: at(7) } },
    { type: 'MemberRemoved', data: { at: at(8), userId: bea, reason: 'left' } },
    { type: 'TeamSettingsChanged', data: { at: at(9), settings: settings('Bazaar') } },
  ]);
  await project();
  t.strictSame(await queries.teamsOfUser(bea), []);
  t.match((await queries.listTeams(ann, {}, paging)).data, [
    { id: OTHER },
    { id: TEAM_ID, name: 'Bazaar', memberCount: 1 },
  ]);
  t.strictSame(await teamsToRemove(readModels, at(60), 10), []);
});

void t.test('a team of which nothing is left is in no list, and is removed once', async (t) => {
  const test = await story();
  await test.append(stream(TEAM_ID), [
    { type: 'TeamDeleted', data: { at: at(6) } },
    { type: 'TeamRemoved', data: { at: at(7) } },
  ]);
  const readModels = openDocuments(t);
  await projectIn(readModels, teamsProjection, await test.recorded());
  t.strictSame(await teamsToRemove(readModels, at(60), 10), [TEAM_ID], 'as long as something is left');
  await test.append(stream(TEAM_ID), [{ type: 'TeamErased', data: { at: at(8) } }]);
  await projectIn(readModels, teamsProjection, await test.recorded());
  t.strictSame(await teamsToRemove(readModels, at(60), 10), []);
  t.strictSame((await queriesOf(readModels).listTeams(ann, { deleted: true }, paging)).data, []);
  t.strictSame(await queriesOf(readModels).teamsOfUser(ann), [OTHER]);
});

void t.test('the documents are the same however the events are cut, and where a write was torn', async (t) => {
  const test = await story();
  await test.append(stream(TEAM_ID), [
    { type: 'MemberRemoved', data: { at: at(6), userId: bea, reason: 'removed' } },
    { type: 'TeamDeleted', data: { at: at(7) } },
  ]);
  const recorded = await test.recorded();
  const whole = openDocuments(t);
  await projectIn(whole, teamsProjection, recorded);
  const expected = await documentsOf(whole, teamsProjection);
  t.strictSame(
    Object.values(expected).map((found) => found.length),
    [3, 2],
  );
  for (const sizes of [[1], [2], [3, 1]]) {
    const readModels = openDocuments(t);
    await projectIn(readModels, teamsProjection, recorded, { sizes, forgetful: true });
    t.strictSame(await documentsOf(readModels, teamsProjection), expected, `cut as ${sizes.join()}`);
  }
  const writes = await tearWrite(openDocuments(t), teamsProjection, recorded, 0);
  for (let count = 1; count <= writes; count += 1) {
    const readModels = openDocuments(t);
    await tearWrite(readModels, teamsProjection, recorded, count);
    await projectIn(readModels, teamsProjection, recorded, { sizes: [2], forgetful: true });
    t.strictSame(await documentsOf(readModels, teamsProjection), expected, `torn after ${count}`);
  }
});
