/**
 * Invitations as commands: made, mailed, accepted once by whom they are to, revoked, replaced, lapsed; and nothing of
 * the address is left.
 */
import t from 'tap';
import { causeOf, type Caller } from '../../src/commands/core/caller.js';
import { lapseInvitations } from '../../src/commands/teams/invitations.js';
import { permissionsOfRole, type Role } from '../../src/domain/access/permissions.js';
import {
  assertDefined,
  INSTANCE_STREAM,
  invitationStream,
  NO_TEAM,
  parseInvitationId,
  teamStream,
  type UserId,
} from '../../src/domain/core/ids.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { startOf } from '../../src/event-log/event-log.js';
import {
  caller,
  commandsOfTest,
  openWorld,
  OTHER_TEAM,
  schemaSaying,
  stranger,
  TEAM,
  type World,
} from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { signedIn } from '../support/people.js';

t.setTimeout(900_000);

const asPerson = (userId: UserId, role: Role, teamId = TEAM): Caller => ({
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
    asPerson((await signedIn(deps, { email: `${name}@example.com`, name, role, teamId: TEAM })).userId, role);
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
  return { ...asPerson(userId, 'viewer'), teamId: NO_TEAM };
};
const rolesIn = async ({ deps }: World) =>
  [...((await deps.team(teamStream(TEAM))).state?.members?.values() ?? [])].map(({ role }) => role);
const idOf = (text: string) => assertDefined(parseInvitationId(text), 'invitation id');

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
  t.equal(await deps.eventLog.existingKey(invitationStream(idOf(made.id))), undefined);
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
  await commands.resendInvitation(bea, idOf(second.id));
  const cy = await someone(world, 'cy');
  for (const gone of [firstToken, secondToken])
    await refusedWith(t, commands.acceptInvitation(cy, gone), 'INVITATION_NOT_FOUND');
  t.equal(await commands.acceptInvitation(cy, await world.lastToken()), TEAM);
  t.strictSame(await rolesIn(world), ['owner', 'admin', 'member']);
  await refusedWith(t, commands.resendInvitation(bea, idOf(second.id)), 'INVITATION_NOT_FOUND');
});

void t.test('a revoked invitation is accepted no more, and of both at once one wins', async (t) => {
  const world = await openInviting();
  const { commands, bea, elsewhere } = world;
  const cy = await someone(world, 'cy');
  const made = await commands.inviteMember(bea, { email: 'cy@example.com', role: 'member' });
  const token = await world.lastToken();
  const others = commandsOfTest(elsewhere());
  const ends = await Promise.allSettled([
    commands.revokeInvitation(bea, idOf(made.id)),
    others.acceptInvitation(cy, token),
  ]);
  t.strictSame(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  t.match(ends.find((end) => end.status === 'rejected')?.reason, { code: 'INVITATION_NOT_FOUND' });
  t.equal((await rolesIn(world)).length, ends[1].status === 'fulfilled' ? 3 : 2);
  await refusedWith(t, commands.revokeInvitation(bea, idOf(made.id)), 'INVITATION_NOT_FOUND');
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
  const eve = asPerson(userId, 'owner', OTHER_TEAM);
  await refusedWith(t, commands.revokeInvitation(eve, idOf(made.id)), 'INVITATION_NOT_FOUND');
  await refusedWith(t, commands.resendInvitation(eve, idOf(made.id)), 'INVITATION_NOT_FOUND');
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
  t.equal(await deps.eventLog.existingKey(invitationStream(idOf(made.id))), undefined);
});
