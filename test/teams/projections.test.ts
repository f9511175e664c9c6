/** Teams as read models show them, and what happened in them. */
import t from 'tap';
import { assertDefined, parseUserId, type StreamName, type UserId } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { DomainEvent } from '../../src/domain/events.js';
import type { ReadModels } from '../../src/domain/ports/read-models.js';
import type { TeamEvent } from '../../src/domain/teams/events.js';
import { emptyCompany } from '../../src/domain/teams/state.js';
import { makeProjections } from '../../src/projections/index.js';
import { makeQueries } from '../../src/projections/queries.js';
import { teamActivityProjection } from '../../src/projections/teams/activity.js';
import { teamsProjection, teamsToRemove } from '../../src/projections/teams/teams.js';
import { at, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { memoryKeys } from '../support/memory-ports.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';

// Members of teams in the read models: equal for events that are batched, interrupted or replayed.

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

// The activity list of a team: newest first, with the present names of things, and without data that members do not
// need.

const USER = '00000000-0000-4000-8000-000000000001';
const TEMPLATE = '00000000-0000-4000-8000-0000000000bb';
const KEY = 'key_AAAAAAAAAAAAAAAAAAAAAA';
const streamNamed = (name: string): StreamName => name as StreamName;

const shop = { name: 'Shop', defaultFrom: { email: 'a@example.com' }, company: emptyCompany };
const shopCreated: DomainEvent = { type: 'TeamCreated', data: { at: T0, billing: 'unmetered', settings: shop } };
const key: DomainEvent = {
  type: 'ApiKeyCreated',
  data: {
    at: T0,
    name: 'Shop key',
    description: null,
    permissions: [],
    rateLimit: null,
    expiresAt: null,
    hash: 'h',
    start: 's',
    end: 'e',
  },
};

const activityStory = async () => {
  const test = openLogOfTest();
  await test.append(streamNamed(`team-${TEAM_ID}`), [
    shopCreated,
    { type: 'MemberAdded', data: { at: at(1), userId: USER, role: 'owner' } },
    { type: 'TeamSuppressionsBegan', data: { at: at(1) } },
  ]);
  await test.append(streamNamed(`apiKey-${KEY}`), [key, { type: 'ApiKeyUsed', data: { at: at(2) } }]);
  await test.append(streamNamed(`senderDomains-${TEAM_ID}`), [
    {
      type: 'SenderDomainAdded',
      data: { at: at(2), id: TEMPLATE, domain: 'example.com', keys: [], nextCheckAt: at(9) },
      sealed: { privateKeys: [] },
    },
  ]);
  await test.append(streamNamed(`attachmentTemplate-${TEMPLATE}`), [
    { type: 'TemplateCreated', data: { at: at(3), slug: 'x', kind: 'attachment' } },
    { type: 'TemplatePublished', data: { at: at(3), version: 1, revision: 1 } },
  ]);
  await test.append(streamNamed(`team-${OTHER}`), [shopCreated], OTHER);
  await test.append(streamNamed(`team-${TEAM_ID}`), [
    { type: 'MemberRemoved', data: { at: at(4), userId: USER, reason: 'left' } },
  ]);
  return test;
};

void t.test('the list of a team', async (t) => {
  const recorded = await (await activityStory()).recorded();
  const readModels = openDocuments(t);
  // The names are those of the other read models.
  for (const projection of makeProjections(defaultLimits)) await projectIn(readModels, projection, recorded);
  const queries = makeQueries({
    keys: memoryKeys(),
    readModels,
    clock: fakeClock(Date.parse(T0)),
    limits: defaultLimits,
    awaitOwnWrites: async () => {},
  });
  const { data, meta } = await queries.listTeamActivity(TEAM_ID as never, { page: 1, limit: 20 });
  t.same(
    data.map(({ kind }) => kind),
    [
      'member.left',
      'attachment-template.published',
      'attachment-template.created',
      'sender-domain.added',
      'api-key.created',
      'member.added',
      'team.created',
    ],
  );
  t.equal(meta.total, 7);
  t.match(data[4], { target: 'api-key', id: KEY, name: 'Shop key', at: String, actor: String });
  t.match(data[5], { target: 'member', id: USER, role: 'owner', name: null });
  const first = await queries.listTeamActivity(TEAM_ID as never, { page: 1, limit: 3 });
  const second = await queries.listTeamActivity(TEAM_ID as never, {
    page: 1,
    limit: 3,
    cursor: first.meta.nextCursor!,
  });
  t.same([...first.data, ...second.data], data.slice(0, 6));
  await t.rejects(queries.listTeamActivity(TEAM_ID as never, { page: 1, limit: 3, cursor: 'x' }), {
    code: 'INVALID_CURSOR',
  });
  const others = await queries.listTeamActivity(OTHER as never, { page: 1, limit: 20, cursor: first.meta.nextCursor! });
  t.ok(
    others.data.every(({ id }) => id === OTHER),
    'a cursor of another team shows nothing of it',
  );
});

void t.test('however the events are cut, torn or read again, the documents are the same', async (t) => {
  const recorded = await (await activityStory()).recorded();
  const whole = openDocuments(t);
  await projectIn(whole, teamActivityProjection, recorded);
  const expected = await documentsOf(whole, teamActivityProjection);
  for (const sizes of [[1], [2], [3, 1], [5]]) {
    const readModels = openDocuments(t);
    await projectIn(readModels, teamActivityProjection, recorded, { sizes, forgetful: true });
    t.strictSame(await documentsOf(readModels, teamActivityProjection), expected, `cut as ${sizes.join()}`);
  }
  const writes = await tearWrite(openDocuments(t), teamActivityProjection, recorded, 0);
  for (let count = 1; count < writes; count += 1) {
    const readModels = openDocuments(t);
    await tearWrite(readModels, teamActivityProjection, recorded, count);
    await projectIn(readModels, teamActivityProjection, recorded, { sizes: [2], forgetful: true });
    t.strictSame(await documentsOf(readModels, teamActivityProjection), expected, `torn after ${count}`);
  }
});
