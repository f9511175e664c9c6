/**
 * The activity list of a team: newest first, with the present names of things, and without data that members do not
 * need.
 */
import t from 'tap';
import { makeQueries } from '../../src/projections/queries.js';
import { teamActivityProjection } from '../../src/projections/teams/activity.js';
import { makeProjections } from '../../src/projections/index.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { StreamName } from '../../src/domain/core/ids.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { emptyCompany } from '../../src/domain/teams/state.js';
import { at, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';
import { memoryKeys } from '../support/memory-ports.js';

const OTHER = '22222222-2222-4222-8222-222222222222';
const USER = '00000000-0000-4000-8000-000000000001';
const TEMPLATE = '00000000-0000-4000-8000-0000000000bb';
const KEY = 'key_AAAAAAAAAAAAAAAAAAAAAA';
const stream = (name: string): StreamName => name as StreamName;

const settings = { name: 'Shop', defaultFrom: { email: 'a@example.com' }, company: emptyCompany };
const created: DomainEvent = { type: 'TeamCreated', data: { at: T0, billing: 'unmetered', settings } };
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

const story = async () => {
  const test = openLogOfTest();
  await test.append(stream(`team-${TEAM_ID}`), [
    created,
    { type: 'MemberAdded', data: { at: at(1), userId: USER, role: 'owner' } },
    { type: 'TeamSuppressionsBegan', data: { at: at(1) } },
  ]);
  await test.append(stream(`apiKey-${KEY}`), [key, { type: 'ApiKeyUsed', data: { at: at(2) } }]);
  await test.append(stream(`senderDomains-${TEAM_ID}`), [
    {
      type: 'SenderDomainAdded',
      data: { at: at(2), id: TEMPLATE, domain: 'example.com', keys: [], nextCheckAt: at(9) },
      sealed: { privateKeys: [] },
    },
  ]);
  await test.append(stream(`attachmentTemplate-${TEMPLATE}`), [
    { type: 'TemplateCreated', data: { at: at(3), slug: 'x', kind: 'attachment' } },
    { type: 'TemplatePublished', data: { at: at(3), version: 1, revision: 1 } },
  ]);
  await test.append(stream(`team-${OTHER}`), [created], OTHER);
  await test.append(stream(`team-${TEAM_ID}`), [
    { type: 'MemberRemoved', data: { at: at(4), userId: USER, reason: 'left' } },
  ]);
  return test;
};

void t.test('the list of a team', async (t) => {
  const recorded = await (await story()).recorded();
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
  const recorded = await (await story()).recorded();
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
