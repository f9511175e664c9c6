/** Teams, their invitations and their removal. */
import t, { type Test } from 'tap';
import type { CreatedApiKey } from '../../src/api/keys.js';
import { causeOf, type Caller } from '../../src/commands/core/caller.js';
import { handle } from '../../src/commands/core/handle.js';
import { noteRefusal } from '../../src/commands/recipients/suppressions.js';
import { lapseInvitations } from '../../src/commands/teams/invitations.js';
import { removeTeam, closings } from '../../src/commands/teams/removal.js';
import { addMember as addByOperator, removeErased } from '../../src/commands/teams/teams.js';
import { permissionsOfRole, type Permission, type Role } from '../../src/domain/access/permissions.js';
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
  invitationStream,
  parseInvitationId,
  emailStream,
  parseEmailId,
  splitStream,
} from '../../src/domain/core/ids.js';
import { DAY_MS, isoTime, HOUR_MS } from '../../src/domain/core/time.js';
import { teamDecider, type TeamCommand } from '../../src/domain/teams/decider.js';
import { startOf, versionOf } from '../../src/event-log/event-log.js';
import { readableMetadata } from '../../src/event-log/hash-chain.js';
import { allKeyIds } from '../../src/event-log/stream-keys.js';
import {
  caller,
  commandsOfTest,
  openWorld,
  OTHER_TEAM,
  TEAM,
  type World,
  schemaSaying,
  stranger,
  simple,
  welcome,
  withTemplate,
} from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { memoryLog } from '../support/memory-ports.js';
import { addMember, signedIn } from '../support/people.js';
import { png } from '../support/pictures.js';

t.setTimeout(900_000);

// Teams as commands: made, changed by several at once, deleted with their keys, restored.

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

// Invitations as commands: made, mailed, accepted once by whom they are to, revoked, replaced, lapsed; and nothing of
// the address is left.

const asMember = (userId: UserId, role: Role, teamId = TEAM): Caller => ({
  teamId,
  actor: `user:${userId}`,
  permissions: permissionsOfRole[role],
  correlationId: 'request-1',
  user: { id: userId },
});

type Inviting = World &
  Readonly<{ ann: Caller; bea: Caller; lastToken: () => Promise<string>; mails: () => Promise<number> }>;

/** Ann owns the team, Bea is an admin. The first team of the instance is that of the mails. */
const openInviting = async (): Promise<Inviting> => {
  const world = await openWorld();
  const { deps, commands } = world;
  const initialised = { type: 'InstanceInitialised' as const, data: { at: T0, teamId: OTHER_TEAM } };
  await deps.eventLog.append(INSTANCE_STREAM, startOf(INSTANCE_STREAM), [initialised], causeOf(deps, caller));
  const variables = ['url', 'team', 'inviter', 'role'].map((name) => ({
    name,
    type: 'string' as const,
    required: true,
  }));
  await commands.createTemplate(stranger, {
    slug: 'account-invitation',
    name: 'Invitation',
    subject: '{{inviter}} invites you to {{team}} as {{role}}',
    variables: [...variables, { name: 'daysValid', type: 'number', required: true }],
    schema: schemaSaying('{{url}} {{daysValid}}'),
    publish: true,
  });
  const join = async (name: string, role: Role): Promise<Caller> =>
    asMember((await signedIn(deps, { email: `${name}@example.com`, name, role, teamId: TEAM })).userId, role);
  const accepted = async () => {
    const found: Readonly<Record<string, unknown>>[] = [];
    for await (const { events } of deps.eventLog.readAll(0, { kinds: ['email'] }))
      for (const { event } of events)
        if (event.type === 'EmailQueued') found.push(event.sealed?.variables as Record<string, unknown>);
    return found;
  };
  return {
    ...world,
    ann: await join('ann', 'owner'),
    bea: await join('bea', 'admin'),
    mails: async () => (await accepted()).length,
    lastToken: async () =>
      /\?token=(sealpost_inv_[A-Za-z0-9_-]{65})$/.exec(String((await accepted()).at(-1)?.url))?.[1] ?? 'none',
  };
};

/** A user whose address is verified, in no team. */
const someone = async ({ deps }: World, name: string): Promise<Caller> => {
  const { userId } = await signedIn(deps, { email: `${name}@example.com`, name });
  return { ...asMember(userId, 'viewer'), teamId: NO_TEAM };
};
const rolesIn = async ({ deps }: World) =>
  [...((await deps.team(teamStream(TEAM))).state?.members?.values() ?? [])].map(({ role }) => role);
const invitationIdOf = (text: string) => assertDefined(parseInvitationId(text), 'invitation id');

void t.test('somebody is invited by mail, accepts once, and their address goes', async (t) => {
  const world = await openInviting();
  const { commands, deps, bea, store } = world;
  const made = await commands.inviteMember(bea, { email: 'Cy@Example.com', role: 'member' });
  t.match(made, {
    email: 'cy@example.com',
    role: 'member',
    invitedBy: bea.user?.id,
    expiresAt: '2030-01-08T12:00:00.000Z',
  });
  t.match(await commands.listInvitations(bea), { data: [{ id: made.id, email: 'cy@example.com' }] });
  const token = await world.lastToken();
  t.notOk(JSON.stringify(store.events).includes(token.slice(-43)), 'the token stands nowhere in the log');
  const cy = await someone(world, 'cy');
  t.equal(await commands.acceptInvitation(cy, token), TEAM);
  t.strictSame(await rolesIn(world), ['owner', 'admin', 'member']);
  t.strictSame((await commands.listInvitations(bea)).data, []);
  t.equal(await deps.eventLog.existingKey(invitationStream(invitationIdOf(made.id))), undefined);
  await refusedWith(t, commands.acceptInvitation(cy, token), 'INVITATION_NOT_FOUND');
});

void t.test('an invitation is accepted by whom it is to, and by nobody else', async (t) => {
  const world = await openInviting();
  const { commands, bea, clock } = world;
  await commands.inviteMember(bea, { email: 'cy@example.com', role: 'viewer' });
  const token = await world.lastToken();
  const [cy, dan] = [await someone(world, 'cy'), await someone(world, 'dan')];
  await refusedWith(t, commands.acceptInvitation(dan, token), 'INVITATION_NOT_YOURS');
  for (const wrong of [
    '',
    'sealpost_inv_x',
    `${token}A`,
    `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`,
    token.replace('sealpost_inv_', ''),
  ])
    await refusedWith(t, commands.acceptInvitation(cy, wrong), 'INVITATION_NOT_FOUND');
  await clock.advance(7 * DAY_MS);
  await refusedWith(t, commands.acceptInvitation(cy, token), 'INVITATION_EXPIRED');
  t.strictSame(await rolesIn(world), ['owner', 'admin']);
});

void t.test('nobody invites above their own role, or whoever is in the team', async (t) => {
  const world = await openInviting();
  const { commands, ann, bea } = world;
  await refusedWith(t, commands.inviteMember(bea, { email: 'cy@example.com', role: 'owner' }), 'FORBIDDEN');
  await refusedWith(t, commands.inviteMember(bea, { email: 'ANN@example.com', role: 'viewer' }), 'ALREADY_MEMBER');
  await refusedWith(t, commands.inviteMember(bea, { email: 'nobody', role: 'viewer' }), 'ERR_EMAIL_001');
  t.match(await commands.inviteMember(ann, { email: 'cy@example.com', role: 'owner' }), { role: 'owner' });
  t.equal(await world.mails(), 1);
});

void t.test('an invitation that is made again or sent again ends the link before', async (t) => {
  const world = await openInviting();
  const { commands, bea } = world;
  const first = await commands.inviteMember(bea, { email: 'cy@example.com', role: 'viewer' });
  const firstToken = await world.lastToken();
  const second = await commands.inviteMember(bea, { email: 'cy@example.com', role: 'member' });
  t.not(second.id, first.id);
  t.match(
    (await commands.listInvitations(bea)).data.map(({ id }) => id),
    [second.id],
  );
  const secondToken = await world.lastToken();
  await commands.resendInvitation(bea, invitationIdOf(second.id));
  const cy = await someone(world, 'cy');
  for (const gone of [firstToken, secondToken])
    await refusedWith(t, commands.acceptInvitation(cy, gone), 'INVITATION_NOT_FOUND');
  t.equal(await commands.acceptInvitation(cy, await world.lastToken()), TEAM);
  t.strictSame(await rolesIn(world), ['owner', 'admin', 'member']);
  await refusedWith(t, commands.resendInvitation(bea, invitationIdOf(second.id)), 'INVITATION_NOT_FOUND');
});

void t.test('a revoked invitation is accepted no more, and of both at once one wins', async (t) => {
  const world = await openInviting();
  const { commands, bea, elsewhere } = world;
  const cy = await someone(world, 'cy');
  const made = await commands.inviteMember(bea, { email: 'cy@example.com', role: 'member' });
  const token = await world.lastToken();
  const others = commandsOfTest(elsewhere());
  const ends = await Promise.allSettled([
    commands.revokeInvitation(bea, invitationIdOf(made.id)),
    others.acceptInvitation(cy, token),
  ]);
  t.strictSame(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  t.match(ends.find((end) => end.status === 'rejected')?.reason, { code: 'INVITATION_NOT_FOUND' });
  t.equal((await rolesIn(world)).length, ends[1].status === 'fulfilled' ? 3 : 2);
  await refusedWith(t, commands.revokeInvitation(bea, invitationIdOf(made.id)), 'INVITATION_NOT_FOUND');
});

void t.test('accepts that race make one member', async (t) => {
  const world = await openInviting();
  const cy = await someone(world, 'cy');
  await world.commands.inviteMember(world.bea, { email: 'cy@example.com', role: 'member' });
  const token = await world.lastToken();
  const processes = Array.from({ length: 8 }, () => commandsOfTest(world.elsewhere()));
  const ends = await Promise.allSettled(processes.map((commands) => commands.acceptInvitation(cy, token)));
  t.ok(ends.some(({ status }) => status === 'fulfilled'));
  for (const end of ends)
    if (end.status === 'rejected') t.match(end.reason, { code: /^INVITATION_NOT_FOUND|CONFLICT$/ });
  t.strictSame(await rolesIn(world), ['owner', 'admin', 'member']);
});

void t.test('an invitation does not outlive the role of who made it, nor its team', async (t) => {
  const world = await openInviting();
  const { commands, ann, bea } = world;
  const cy = await someone(world, 'cy');
  await commands.inviteMember(bea, { email: 'cy@example.com', role: 'admin' });
  const token = await world.lastToken();
  await commands.changeMember(ann, assertDefined(bea.user?.id, 'bea'), 'viewer');
  await refusedWith(t, commands.acceptInvitation(cy, token), 'INVITATION_NOT_FOUND');
  await commands.inviteMember(ann, { email: 'cy@example.com', role: 'admin' });
  await commands.deleteTeam(ann);
  await refusedWith(t, commands.acceptInvitation(cy, await world.lastToken()), 'INVITATION_NOT_FOUND');
});

void t.test('invitations of another team are unknown, and those open are bounded', async (t) => {
  const world = await openInviting();
  const { commands, deps, bea } = world;
  const made = await commands.inviteMember(bea, { email: 'cy@example.com', role: 'member' });
  const { userId } = await signedIn(deps, { email: 'eve@example.com', name: 'eve', role: 'owner', teamId: OTHER_TEAM });
  const eve = asMember(userId, 'owner', OTHER_TEAM);
  await refusedWith(t, commands.revokeInvitation(eve, invitationIdOf(made.id)), 'INVITATION_NOT_FOUND');
  await refusedWith(t, commands.resendInvitation(eve, invitationIdOf(made.id)), 'INVITATION_NOT_FOUND');
  const few = commandsOfTest({ ...deps, limits: { ...deps.limits, teamInvitationsMax: 1 } });
  await refusedWith(
    t,
    few.inviteMember(bea, { email: 'dan@example.com', role: 'member' }),
    'INVITATION_LIMIT_EXCEEDED',
  );
  t.match(
    await few.inviteMember(bea, { email: 'cy@example.com', role: 'viewer' }),
    { role: 'viewer' },
    'the same address again is no more',
  );
  const narrow = commandsOfTest({ ...deps, limits: { ...deps.limits, teamMembersMax: 3 } });
  await refusedWith(t, narrow.inviteMember(bea, { email: 'dan@example.com', role: 'member' }), 'MEMBER_LIMIT_EXCEEDED');
});

void t.test('after seven days an invitation is withdrawn, and nothing of the address is left', async (t) => {
  const world = await openInviting();
  const { commands, deps, bea, clock } = world;
  const made = await commands.inviteMember(bea, { email: 'cy@example.com', role: 'member' });
  await lapseInvitations(deps, TEAM, causeOf(deps, bea));
  t.equal((await commands.listInvitations(bea)).data.length, 1, 'not before its time');
  await clock.advance(7 * DAY_MS);
  await lapseInvitations(deps, TEAM, causeOf(deps, bea));
  t.equal((await commands.listInvitations(bea)).data.length, 0);
  t.equal(await deps.eventLog.existingKey(invitationStream(invitationIdOf(made.id))), undefined);
});

// A team that was deleted long ago is removed with all that is sealed of it, whatever the program was killed in; other
// teams keep everything.

/** One of each kind that holds something sealed, or lets somebody in. */
const fill = async ({ commands, deps }: World, by: Caller): Promise<void> => {
  const scheduledAt = isoTime(deps.clock.now() + HOUR_MS);
  await commands.sendEmail(by, simple({ to: [{ email: 'ann@example.org' }, { email: 'bob@example.org' }] }));
  await commands.sendEmail(
    by,
    simple({ scheduledAt, attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: 'YWJj' }] }),
  );
  const recipients = [{ email: 'cy@example.org', variables: { name: 'Cy' } }];
  await commands.sendBulk(by, { templateId: 'welcome', recipients });
  await commands.sendBulk(by, { templateId: 'welcome', recipients, scheduledAt });
  await commands.createAttachmentTemplate(by, {
    slug: 'invoice',
    name: 'Invoice',
    variables: [],
    schema: {
      outputFormats: ['pdf'],
      pages: [{ pageId: 'p', pageName: 'P', sections: schemaSaying('hello').sections }],
    },
  });
  await commands.uploadAsset(by, { filename: 'logo.png', bytes: png }, { count: 0, sizeBytes: 0 });
  const trashed = await commands.uploadAsset(by, { filename: 'old.png', bytes: png }, { count: 1, sizeBytes: 1 });
  await commands.deleteAsset(by, trashed.id as never);
  await commands.createWebhook(by, { url: 'https://example.com/', events: ['email.sent'] }, 0);
  await commands.addDomain(by, { domain: 'example.com' });
  await commands.addSuppression(by, { email: 'dan@example.org' });
  const cause = causeOf(deps, by);
  const refusal = {
    teamId: by.teamId,
    email: 'eve@example.org',
    reason: 'hard-bounce',
    learnedAt: cause.at,
    emailId: 'email-1',
    cause,
  } as const;
  await noteRefusal(deps, refusal);
  await commands.createApiKey(by, { name: 'key', permissions: ['emails:send'] });
  await commands.createOAuthApp(by, { name: 'App', redirectUris: ['https://app.example/'], scopes: ['emails:read'] });
};

const open = async (): Promise<World> => {
  const world = await withTemplate();
  await world.commands.createTemplate(stranger, welcome);
  await fill(world, caller);
  await fill(world, stranger);
  return world;
};

const apply = (world: World, command: TeamCommand) =>
  handle(world.deps.eventLog, teamStream(TEAM), teamDecider, command, causeOf(world.deps, { ...caller, actor: 'cli' }));

const deleted = async (world: World): Promise<void> => {
  await apply(world, { type: 'DeleteTeam', at: isoTime(world.clock.now()), by: 'operator', firstTeam: false });
  await world.clock.advance(30 * DAY_MS + 61_000);
};

const remove = (world: World, signal = new AbortController().signal) =>
  removeTeam(
    { ...world.deps, logger: memoryLog() },
    TEAM,
    causeOf(world.deps, { ...caller, actor: 'processor:test' }),
    signal,
  );

/** The streams of a team of which a key exists. */
const sealedOf = ({ store, keys }: World, team: TeamId): readonly string[] => {
  const living = new Set(keys.ids());
  const found = new Set<string>();
  for (const event of store.events) {
    const metadata = readableMetadata(event);
    if (metadata?.teamId === team && allKeyIds(metadata).some((id) => living.has(id))) found.add(event.stream);
  }
  return [...found].sort();
};

/** How each stream of the team ends. */
const endsOf = ({ store }: World): Readonly<Record<string, string>> => {
  const ends: Record<string, string> = {};
  for (const event of store.events) {
    const metadata = readableMetadata(event);
    if (metadata?.teamId === TEAM) ends[event.stream] = event.type;
  }
  return ends;
};

const kindsOf = (streams: readonly string[]): readonly string[] =>
  [...new Set(streams.map((stream) => splitStream(stream).kind))].sort();

void t.test('nothing sealed of the team is left, and of another team all', async (t) => {
  const world = await open();
  const others = sealedOf(world, OTHER_TEAM);
  const filesBefore = world.files.stored.size;
  t.same(kindsOf(sealedOf(world, TEAM)), kindsOf(others));
  t.ok(kindsOf(others).length >= 6, kindsOf(others).join());
  await deleted(world);
  t.equal(await remove(world), 'removed');
  t.same(sealedOf(world, TEAM), []);
  t.same(sealedOf(world, OTHER_TEAM), others);
  t.equal(world.files.stored.size, filesBefore / 2);
  const ends = endsOf(world);
  const left = Object.keys(closings);
  for (const [stream, end] of Object.entries(ends))
    if (left.includes(splitStream(stream).kind))
      t.match(
        end,
        /(?:Archived|Stopped|Deleted|Removed|Revoked|Destroyed|Erased|Ended|Completed|Closed|Uncounted)\.v/,
        stream,
      );
  t.match(ends[teamStream(TEAM)], 'TeamErased');
  const appended = world.store.events.length;
  t.equal(await remove(world), 'removed');
  t.equal(world.store.events.length, appended, 'nothing is said twice');
  await t.rejects(world.commands.sendEmail(caller, simple()), { code: 'ERR_TMPL_002' });
});

void t.test('a team that lives, or was deleted a day ago, is left alone', async (t) => {
  const world = await open();
  const sealed = sealedOf(world, TEAM);
  t.equal(await remove(world), 'kept');
  await apply(world, { type: 'DeleteTeam', at: isoTime(world.clock.now()), by: 'operator', firstTeam: false });
  await world.clock.advance(30 * DAY_MS);
  t.equal(await remove(world), 'kept', 'an owner with a clock that is behind may restore it still');
  t.same(sealedOf(world, TEAM), sealed);
});

void t.test('killed at any write it goes on, and ends where it ends untouched', async (t) => {
  const untouched = await open();
  await deleted(untouched);
  await remove(untouched);
  const expected = Object.values(endsOf(untouched)).sort();
  for (let kill = 1; ; kill += 1) {
    const world = await open();
    await deleted(world);
    let appends = 0;
    world.store.beforeAppend(() => {
      appends += 1;
      if (appends >= kill) throw new Error('killed');
    });
    const end = await remove(world).catch(() => 'killed');
    world.store.beforeAppend(undefined);
    if (end === 'removed') break;
    await world.clock.advance(HOUR_MS);
    t.equal(await remove(world), 'removed', `killed at write ${kill}`);
    t.same(sealedOf(world, TEAM), [], `killed at write ${kill}`);
    t.same(Object.values(endsOf(world)).sort(), expected, `killed at write ${kill}`);
  }
});

void t.test('an email in a dialogue is waited for', async (t) => {
  const world = await open();
  const { id } = (await world.commands.sendEmail(caller, simple())).body;
  const stream = emailStream(assertDefined(parseEmailId(id), 'email id'));
  await deleted(world);
  const at = isoTime(world.clock.now());
  const attempted = { attempt: 1, at, host: 'h', worker: 'w', deadlineAt: isoTime(world.clock.now() + 60_000) };
  const loaded = await world.deps.eventLog.load(stream);
  const last = loaded.at(-1)!;

  const cause = causeOf(world.deps, caller);
  await world.deps.eventLog.append(stream, versionOf(last), [{ type: 'DeliveryAttempted', data: attempted }], cause);
  t.equal(await remove(world), 'unfinished');
  t.same(sealedOf(world, TEAM), [stream]);
  const early = await world.deps.eventLog.load(stream);
  t.same(
    early.map(({ event }) => event.type),
    ['EmailQueued', 'DeliveryAttempted'],
  );
  const sent = { attempt: 1, at, host: 'h', durationMs: 1, outcomes: [] };
  const [open2] = (await world.deps.eventLog.load(stream)).slice(-1);
  await world.deps.eventLog.append(
    stream,
    versionOf(open2!),
    [{ type: 'EmailSent', data: sent, sealed: { replies: [] } }],
    cause,
  );
  t.equal(await remove(world), 'removed');
  t.same(sealedOf(world, TEAM), []);
});

void t.test('where it is to stop it stops, and goes on later', async (t: Test) => {
  const world = await open();
  await deleted(world);
  const stopping = new AbortController();
  let appends = 0;
  world.store.beforeAppend(() => {
    appends += 1;
    if (appends === 5) stopping.abort();
  });
  t.equal(await remove(world, stopping.signal), 'unfinished');
  t.not(sealedOf(world, TEAM).length, 0);
  t.equal(await remove(world), 'removed');
  t.same(sealedOf(world, TEAM), []);
});

void t.test('an email whose dialogue was broken off has failed', async (t) => {
  const world = await open();
  const { id } = (await world.commands.sendEmail(caller, simple())).body;
  const stream = emailStream(assertDefined(parseEmailId(id), 'email id'));
  const at = isoTime(world.clock.now());
  const attempted = { attempt: 1, at, host: 'h', worker: 'w', deadlineAt: isoTime(world.clock.now() + 60_000) };
  const last = (await world.deps.eventLog.load(stream)).at(-1)!;
  await world.deps.eventLog.append(
    stream,
    versionOf(last),
    [{ type: 'DeliveryAttempted', data: attempted }],
    causeOf(world.deps, caller),
  );
  await deleted(world);
  t.equal(await remove(world), 'removed');
  t.same(
    (await world.events(stream)).map(({ type }) => type),
    ['EmailQueued', 'DeliveryAttempted', 'EmailFailed', 'EmailDeleted', 'EmailArchived'],
  );
});
