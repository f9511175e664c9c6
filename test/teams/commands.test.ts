/** Teams as commands: made, changed by several at once, deleted with their keys, restored. */
import t from 'tap';
import { causeOf, type Caller } from '../../src/commands/core/caller.js';
import { addMember as addByOperator, removeErased } from '../../src/commands/teams/teams.js';
import type { CreatedApiKey } from '../../src/api/keys.js';
import { permissionsOfRole, type Permission, type Role } from '../../src/domain/access/permissions.js';
import { startOf } from '../../src/event-log/event-log.js';
import {
  INSTANCE_STREAM,
  NO_TEAM,
  parseApiKeyId,
  parseTeamId,
  assertDefined,
  teamStream,
  type StreamName,
  type TeamId,
  type UserId,
} from '../../src/domain/core/ids.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { caller, commandsOfTest, openWorld, OTHER_TEAM, TEAM, type World } from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { addMember, signedIn } from '../support/people.js';

t.setTimeout(900_000);

const asPerson = (userId: UserId, role: Role, teamId: TeamId = TEAM): Caller => ({
  teamId,
  actor: `user:${userId}`,
  permissions: permissionsOfRole[role],
  correlationId: 'request-1',
  user: { id: userId },
});

const openTeam = async (): Promise<World & Readonly<{ ann: Caller; bea: Caller; cy: Caller }>> => {
  const world = await openWorld();
  const join = async (name: string, role: Role): Promise<Caller> => {
    const { userId } = await signedIn(world.deps, { email: `${name}@example.com`, name, role, teamId: TEAM });
    return asPerson(userId, role);
  };
  return { ...world, ann: await join('ann', 'owner'), bea: await join('bea', 'admin'), cy: await join('cy', 'member') };
};

const idOf = ({ user }: Caller): UserId => assertDefined(user?.id, 'user');

void t.test('members are listed as they are, and their roles change', async (t) => {
  const { commands, ann, bea, cy } = await openTeam();
  t.match(await commands.listMembers(cy), {
    data: [
      { name: 'ann', email: 'ann@example.com', role: 'owner', secondFactor: false },
      { name: 'bea', role: 'admin' },
      { userId: idOf(cy), role: 'member' },
    ],
  });
  t.match(await commands.changeMember(bea, idOf(cy), 'viewer'), { userId: idOf(cy), role: 'viewer' });
  t.match(await commands.transferOwnership(ann, idOf(bea)), {
    data: [{ role: 'admin' }, { role: 'owner' }, { role: 'viewer' }],
  });
  await commands.leaveTeam(ann);
  t.match(
    (await commands.listMembers(cy)).data.map(({ name }) => name),
    ['bea', 'cy'],
  );
  await refusedWith(t, commands.leaveTeam(bea), 'LAST_OWNER');
});

const makesKeys = { permissions: ['api-keys:manage', 'emails:send'] as Permission[] };

/**
 * Keys of Bea: hers, one that this made, one that is revoked whose own key is not; beside keys of Ann and of the
 * operator.
 */
const withKeys = async () => {
  const world = await openTeam();
  const { commands, ann, bea } = world;
  const withKey = async ({ key }: CreatedApiKey): Promise<Caller> => {
    const by = await commands.authenticate(key);
    if (by.kind !== 'apiKey') throw new Error('no key');
    const { keyId: id, teamId, permissions, ...bounds } = by;
    return { teamId, actor: `apiKey:${id}`, permissions, correlationId: 'request-1', key: { id, ...bounds } };
  };
  const make = (by: Caller, name: string) => commands.createApiKey(by, { name, ...makesKeys });
  const hers = await make(bea, 'hers');
  const made = await make(await withKey(hers), 'made by hers');
  const gone = await make(bea, 'gone');
  const left = await make(await withKey(gone), 'made by one that is gone');
  await commands.revokeApiKey(ann, assertDefined(parseApiKeyId(gone.id), 'id'));
  const others = [await make(ann, 'of Ann'), await make(caller, 'of the operator')];
  const work = async (keys: readonly CreatedApiKey[]): Promise<readonly string[]> => {
    const ends = await Promise.allSettled(keys.map(({ key }) => commands.authenticate(key)));
    return keys.filter((_key, index) => ends[index]!.status === 'fulfilled').map(({ name }) => name);
  };
  return { ...world, hers: [hers, made, left], others, work };
};

void t.test('the removal of a member tells which of their keys go on', async (t) => {
  const { commands, ann, bea, cy, hers, work } = await withKeys();
  const names = ['hers', 'made by hers', 'made by one that is gone'];
  t.match(await commands.removeMember(ann, idOf(bea)), {
    userId: idOf(bea),
    removed: true,
    keys: names.map((name) => ({ name, status: 'active' })),
  });
  t.same(await work(hers), names);
  t.same((await commands.removeMember(ann, idOf(cy))).keys, [], 'a member who made none');
});

void t.test('who leaves is told which of their keys go on', async (t) => {
  const { commands, bea, cy, hers, work } = await withKeys();
  const names = ['hers', 'made by hers', 'made by one that is gone'];
  t.match(await commands.leaveTeam(bea), {
    userId: idOf(bea),
    removed: true,
    keys: names.map((name) => ({ name, status: 'active' })),
  });
  t.same(await work(hers), names);
  t.same((await commands.leaveTeam(cy)).keys, []);
});

void t.test('keys of a member are revoked with the removal where that is asked for, and no other key is', async (t) => {
  const { commands, elsewhere, ann, bea, cy, hers, others, work } = await withKeys();
  const all = { revokeKeys: true };
  await refusedWith(t, commands.removeMember(cy, idOf(bea), all), 'FORBIDDEN');
  await refusedWith(t, commands.removeMember(bea, idOf(ann), all), 'FORBIDDEN');
  t.equal((await work(hers)).length, 3, 'a refused call revokes nothing');
  const { keys } = await commands.removeMember(ann, idOf(bea), all);
  t.match(
    keys.map(({ name, status }) => [name, status]),
    hers.map(({ name }) => [name, 'revoked']),
  );
  t.same(await work(hers), []);
  t.same(await work(others), ['of Ann', 'of the operator']);
  await refusedWith(t, commandsOfTest(elsewhere()).authenticate(hers[1]!.key), 'API_KEY_REVOKED');
});

void t.test('a member who is removed while they make a key gets none', async (t) => {
  const { commands, deps, events, ann, bea } = await openTeam();
  await commands.removeMember(ann, idOf(bea), { revokeKeys: true });
  // The call was let in before the removal.
  await refusedWith(t, commands.createApiKey(bea, { name: 'late', ...makesKeys }), 'TEAM_NOT_FOUND');
  const made: string[] = [];
  for await (const batch of deps.eventLog.readAll(0, { kinds: ['apiKey'], types: ['ApiKeyCreated'], decrypt: [] }))
    made.push(...batch.events.map(({ stream }) => stream));
  t.equal(made.length, 1);
  t.match(
    (await events(made[0] as StreamName)).map(({ type }) => type),
    ['ApiKeyCreated', 'ApiKeyRevoked'],
  );
});

void t.test('of two owners who remove each other at once, one stays', async (t) => {
  const { commands, deps, elsewhere, ann } = await openTeam();
  const { userId } = await signedIn(deps, { email: 'dan@example.com', name: 'dan', role: 'owner', teamId: TEAM });
  const dan = asPerson(userId, 'owner');
  const others = commandsOfTest(elsewhere());
  const ends = await Promise.allSettled([commands.removeMember(ann, idOf(dan)), others.removeMember(dan, idOf(ann))]);
  t.strictSame(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  const refused = ends.find((end) => end.status === 'rejected');
  t.match(refused?.reason, { code: 'TEAM_NOT_FOUND' }, 'who was removed is in the team no more');
  const owners = (await deps.team(teamStream(TEAM))).state?.members ?? new Map();
  t.equal([...owners.values()].filter(({ role }) => role === 'owner').length, 1);
});

void t.test('of two owners who leave at once, one stays', async (t) => {
  const { commands, deps, elsewhere, ann } = await openTeam();
  const { userId } = await signedIn(deps, { email: 'dan@example.com', name: 'dan', role: 'owner', teamId: TEAM });
  const others = commandsOfTest(elsewhere());
  const ends = await Promise.allSettled([commands.leaveTeam(ann), others.leaveTeam(asPerson(userId, 'owner'))]);
  t.match(ends.find((end) => end.status === 'rejected')?.reason, { code: 'LAST_OWNER' });
  t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
});

void t.test('a request that was let in under a role that changed meanwhile does nothing to the team', async (t) => {
  const { commands, ann, bea, cy } = await openTeam();
  await commands.changeMember(ann, idOf(bea), 'viewer');
  await refusedWith(t, commands.changeMember(bea, idOf(cy), 'admin'), 'FORBIDDEN');
  await refusedWith(t, commands.updateTeam(bea, { name: 'Mine' }), 'FORBIDDEN');
  await commands.removeMember(ann, idOf(bea));
  await refusedWith(t, commands.updateTeam(bea, { name: 'Mine' }), 'TEAM_NOT_FOUND');
});

void t.test('a person is let in by the role of the moment, and not once they are removed', async (t) => {
  const { commands, deps, ann } = await openTeam();
  const dan = await signedIn(deps, { email: 'dan@example.com', name: 'dan', role: 'viewer', teamId: TEAM });
  const admitted = () => commands.authenticate(dan.accessToken, { asked: TEAM, isNeeded: true });
  t.match(await admitted(), { permissions: permissionsOfRole.viewer });
  await commands.changeMember(ann, dan.userId, 'member');
  t.match(await admitted(), { permissions: permissionsOfRole.member });
  await refusedWith(t, commands.authenticate(dan.accessToken, { asked: OTHER_TEAM, isNeeded: true }), 'TEAM_NOT_FOUND');
  await commands.removeMember(ann, dan.userId);
  await refusedWith(t, admitted(), 'TEAM_NOT_FOUND');
});

void t.test('keys and apps change no team', async (t) => {
  const { commands, ann, cy } = await openTeam();
  const key: Caller = {
    ...caller,
    key: {
      id: 'key_AAAAAAAAAAAAAAAAAAAAAA' as never,
      permissions: [],
      rateLimit: null,
      expiresAt: null,
      madeBy: [],
    } as never,
  };
  await refusedWith(t, commands.updateTeam(key, { name: 'Mine' }), 'FORBIDDEN');
  const app: Caller = { ...ann, app: { clientId: 'app_x' as never, grantId: 'grant_x' as never } };
  await refusedWith(t, commands.removeMember(app, idOf(cy)), 'FORBIDDEN');
});

void t.test('who owns a team makes another; who owns none only where everybody may register', async (t) => {
  const { commands, deps, ann, bea } = await openTeam();
  const closed = commandsOfTest({ ...deps, people: { ...deps.people, registration: 'invited' } });
  const request = { name: 'Market', defaultFrom: { email: 'Market@Example.com', name: 'Market' } };
  const nowhere = (person: Caller): Caller => ({ ...person, teamId: NO_TEAM });
  const made = await closed.createTeam(nowhere(ann), request, [TEAM]);
  t.match(made, {
    name: 'Market',
    role: 'owner',
    billing: 'unmetered',
    memberCount: 1,
    requiresSecondFactor: false,
    company: { name: 'Market' },
  });
  const id = assertDefined(parseTeamId(made.id), 'team');
  t.match(await commands.getTeam({ ...ann, teamId: id }), { id, name: 'Market', role: 'owner' });
  t.match((await deps.eventLog.load(teamStream(id)))[0]?.metadata, { teamId: id, actor: ann.actor });
  await refusedWith(t, closed.createTeam(nowhere(bea), request, [TEAM]), 'FORBIDDEN');
  t.match(await commands.createTeam(nowhere(bea), request, [TEAM]), { billing: 'credits' });
  await refusedWith(
    t,
    commands.createTeam(nowhere(bea), { ...request, defaultFrom: { email: 'no address' } }, []),
    'ERR_EMAIL_001',
  );
  const few = commandsOfTest({ ...deps, limits: { ...deps.limits, teamsOwnedMax: 1 } });
  await refusedWith(t, few.createTeam(nowhere(ann), request, [TEAM]), 'TEAM_LIMIT_EXCEEDED');
});

void t.test('a deleted team lets nobody in until it is restored', async (t) => {
  const { commands, deps, ann, bea } = await openTeam();
  const { key } = await commands.createApiKey(caller, { name: 'Shop', permissions: ['emails:send'] });
  const dan = await signedIn(deps, { email: 'dan@example.com', name: 'dan', role: 'owner', teamId: TEAM });
  await refusedWith(t, commands.deleteTeam(bea), 'FORBIDDEN');
  await commands.deleteTeam(ann);
  const refused = await refusedWith(t, commands.authenticate(key), 'TEAM_DELETED');
  t.notOk(refused.message.includes(TEAM));
  await refusedWith(t, commands.authenticate(dan.accessToken, { asked: TEAM, isNeeded: true }), 'TEAM_NOT_FOUND');
  t.match(await commands.authenticate(dan.accessToken, { asked: undefined, isNeeded: false }), { teamId: NO_TEAM });
  await refusedWith(t, commands.restoreTeam({ ...bea, teamId: NO_TEAM }, TEAM), 'FORBIDDEN');
  await refusedWith(t, commands.restoreTeam({ ...ann, teamId: NO_TEAM }, OTHER_TEAM), 'TEAM_NOT_FOUND');
  t.match(await commands.restoreTeam({ ...ann, teamId: NO_TEAM }, TEAM), { id: TEAM, role: 'owner' });
  await t.resolves(commands.authenticate(key));
  t.match(await commands.authenticate(dan.accessToken, { asked: TEAM, isNeeded: true }), { teamId: TEAM });
});

void t.test('after thirty days a deleted team is restored no more', async (t) => {
  const { commands, clock, ann } = await openTeam();
  await commands.deleteTeam(ann);
  await clock.advance(30 * DAY_MS);
  t.match(await commands.restoreTeam(ann, TEAM), { id: TEAM });
  await commands.deleteTeam(ann);
  await clock.advance(30 * DAY_MS + 1);
  await refusedWith(t, commands.restoreTeam(ann, TEAM), 'TEAM_NOT_FOUND');
});

void t.test('the first team is never deleted', async (t) => {
  const { commands, deps, ann } = await openTeam();
  const initialised = { type: 'InstanceInitialised' as const, data: { at: T0, teamId: TEAM } };
  await deps.eventLog.append(INSTANCE_STREAM, startOf(INSTANCE_STREAM), [initialised], causeOf(deps, caller));
  await refusedWith(t, commands.deleteTeam(ann), 'FIRST_TEAM');
});

void t.test('the operator adds somebody; a person who is erased leaves, but for the last owner', async (t) => {
  const { deps, ann, cy } = await openTeam();
  const { userId } = await signedIn(deps, { email: 'dan@example.com', name: 'dan' });
  const cause = causeOf(deps, { ...caller, actor: 'cli' });
  await addByOperator(deps, TEAM, userId, 'admin', cause);
  await refusedWith(t, addByOperator(deps, TEAM, userId, 'owner', cause), 'ALREADY_MEMBER');
  await removeErased(deps, TEAM, idOf(cy), cause);
  await refusedWith(t, removeErased(deps, TEAM, idOf(ann), cause), 'LAST_OWNER');
  await addMember(deps, TEAM, userId, 'owner');
  await removeErased(deps, TEAM, idOf(ann), cause);
  t.strictSame([...((await deps.team(teamStream(TEAM))).state?.members?.keys() ?? [])].length, 2);
});
