/**
 * Becoming a user by an invitation: the right address alone, once, and into the team whatever breaks off in between.
 */
import t from 'tap';
import { register } from '../../src/commands/people/registration.js';
import { login } from '../../src/commands/people/sessions.js';
import type { Caller } from '../../src/commands/core/caller.js';
import type { RegisterRequest } from '../../src/api/people.js';
import { permissionsOfRole } from '../../src/domain/access/permissions.js';
import { assertDefined, invitationStream, parseInvitationId, teamStream } from '../../src/domain/core/ids.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { codeOf, openAccountWorld, quickly, tally, type AccountWorld } from '../support/account-world.js';
import { commandsOfTest, TEAM } from '../support/command-world.js';
import { faultPort } from '../support/fault-port.js';
import { addMember, from, PASSWORD, signedIn } from '../support/people.js';

t.setTimeout(900_000);

type Inviting = AccountWorld &
  Readonly<{ ann: Caller; invite: (email: string) => Promise<Readonly<{ id: string; token: string }>> }>;

const openInviting = async (): Promise<Inviting> => {
  const world = await openAccountWorld();
  const { userId } = await signedIn(world.deps, { email: 'ann@example.com', name: 'Ann', role: 'owner', teamId: TEAM });
  const ann: Caller = {
    teamId: TEAM,
    actor: `user:${userId}`,
    permissions: permissionsOfRole.owner,
    correlationId: 'request-1',
    user: { id: userId },
  };
  return {
    ...world,
    ann,
    invite: async (email) => {
      const { id } = await world.commands.inviteMember(ann, { email, role: 'member' });
      return { id, token: await world.tokenTo('invitation') };
    },
  };
};

const asking = (token: string, email = 'cy@example.com', password = PASSWORD): RegisterRequest => ({
  email,
  password,
  name: 'Cy',
  token,
});
const rolesIn = async ({ elsewhere }: AccountWorld) =>
  [...((await elsewhere().team(teamStream(TEAM))).state?.members?.values() ?? [])].map(({ role }) => role);

void t.test('who is invited registers with the token, is verified and in the team', async (t) => {
  const world = await openInviting();
  const { id, token } = await world.invite('Cy@Example.com');
  const invited = commandsOfTest({ ...world.deps, people: { ...world.deps.people, registration: 'invited' } });
  t.match(await world.commands.openInvitation(token), {
    email: 'cy@example.com',
    team: 'Shop',
    inviter: 'Ann',
    role: 'member',
    account: 'none',
  });
  t.match(await invited.register(asking(token, 'CY@example.com'), 'r'), {
    email: 'cy@example.com',
    emailVerified: true,
    teamId: TEAM,
  });
  t.strictSame(await rolesIn(world), ['owner', 'member']);
  t.match(await world.commands.login({ email: 'cy@example.com', password: PASSWORD }, from), {
    user: { emailVerified: true },
  });
  const stream = invitationStream(assertDefined(parseInvitationId(id), 'id'));
  t.equal(
    await world.deps.eventLog.existingKey(stream),
    undefined,
    'nothing of the address is left with the invitation',
  );
  t.equal(await codeOf(invited.register(asking(token, 'dan@example.com'), 'r')), 'INVITATION_NOT_FOUND', 'it was used');
  t.equal(await codeOf(world.commands.openInvitation(token)), 'INVITATION_NOT_FOUND');
});

void t.test('it is to one address alone, for a while, and not where registration is closed', async (t) => {
  const world = await openInviting();
  const { token } = await world.invite('cy@bücher.example');
  for (const email of ['dan@example.com', 'cy+1@bücher.example', 'cy@bucher.example', 'ann@example.com'])
    t.equal(await codeOf(world.commands.register(asking(token, email), 'r')), 'INVITATION_NOT_YOURS', email);
  for (const wrong of [
    `${token}A`,
    'sealpost_inv_',
    `sealpost_inv_${'A'.repeat(65)}`,
    `sealpost_inv_${'A'.repeat(200)}`,
  ])
    t.equal(
      await codeOf(world.commands.register(asking(wrong, 'cy@bücher.example'), 'r')),
      'INVITATION_NOT_FOUND',
      wrong,
    );
  t.equal(
    await codeOf(world.commands.register(asking(token, 'cy@bücher.example', 'password2026'), 'r')),
    'VALIDATION_ERROR',
  );
  const closed = commandsOfTest({ ...world.deps, people: { ...world.deps.people, registration: 'closed' } });
  t.equal(await codeOf(closed.register(asking(token, 'cy@bücher.example'), 'r')), 'REGISTRATION_CLOSED');
  const other = await openInviting();
  t.equal(
    await codeOf(other.commands.register(asking(token, 'cy@bücher.example'), 'r')),
    'INVITATION_NOT_FOUND',
    'of another instance',
  );
  await world.clock.advance(7 * DAY_MS);
  t.equal(await codeOf(world.commands.register(asking(token, 'CY@xn--bcher-kva.example'), 'r')), 'INVITATION_EXPIRED');
  t.strictSame(await rolesIn(world), ['owner']);
});

void t.test('of many who register by one invitation at once one becomes a user', async (t) => {
  const world = await openInviting();
  const { token } = await world.invite('cy@example.com');
  const processes = [quickly(world.elsewhere()), quickly(world.elsewhere())];
  const codes = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      codeOf(register(processes[index % 2]!, asking(token, 'cy@example.com', `a password of number ${index}`), 'r')),
    ),
  );
  t.equal(tally(codes)['fine'], 1);
  t.strictSame(
    Object.keys(tally(codes)).filter((code) => !/^(?:fine|ADDRESS_TAKEN|INVITATION_NOT_FOUND)$/.test(code)),
    [],
  );
  t.strictSame(await rolesIn(world), ['owner', 'member']);
});

void t.test('who has an account gives its password or accepts when signed in, and nobody takes it over', async (t) => {
  const world = await openInviting();
  await signedIn(world.deps, { email: 'cy@example.com', name: 'Cy' });
  const { token } = await world.invite('cy@example.com');
  t.match(await world.commands.openInvitation(token), { account: 'password' });
  t.equal(
    await codeOf(world.commands.register(asking(token, 'cy@example.com', 'another password of mine'), 'r')),
    'ADDRESS_TAKEN',
  );
  t.strictSame(await rolesIn(world), ['owner']);
  t.equal(await codeOf(world.commands.register(asking(token), 'r')), 'fine');
  t.strictSame(await rolesIn(world), ['owner', 'member']);
});

void t.test('a revoked invitation makes nobody', async (t) => {
  const world = await openInviting();
  const { id, token } = await world.invite('cy@example.com');
  const [registered] = await Promise.all([
    codeOf(register(quickly(world.elsewhere()), asking(token), 'r')),
    codeOf(world.commands.revokeInvitation(world.ann, assertDefined(parseInvitationId(id), 'id'))),
  ]);
  const members = await rolesIn(world);
  t.equal(members.length, registered === 'fine' ? 2 : 1);
  if (registered !== 'fine')
    t.equal(
      await codeOf(login(quickly(world.elsewhere()), { email: 'cy@example.com', password: PASSWORD }, from)),
      'INVALID_CREDENTIALS',
    );
});

/**
 * The program dies at one write after the other, before it or when it is done; then the person goes on in one of two
 * ways.
 */
for (const afterwards of [false, true])
  for (const way of ['registers again', 'signs in'] as const)
    void t.test(
      `whatever breaks off ${afterwards ? 'after' : 'before'} a write, whoever ${way} is in the team`,
      async (t) => {
        for (let failCall = 1; ; failCall += 1) {
          const world = await openInviting();
          const { id, token } = await world.invite('cy@example.com');
          const deps = quickly(world.elsewhere());
          const { port: eventLog, calls } = faultPort(deps.eventLog, {
            failCall,
            error: new Error('the program died'),
            only: ['append', 'destroyKey'],
            afterwards,
          });
          const end = await codeOf(register({ ...deps, eventLog }, asking(token), 'r'));
          const [again, credentials] = [quickly(world.elsewhere()), { email: 'cy@example.com', password: PASSWORD }];
          const isUser = (await codeOf(login(again, credentials, from))) === 'fine';
          if (way === 'registers again' && (await rolesIn(world)).length === 1)
            t.equal(await codeOf(register(again, asking(token), 'r')), 'fine');
          if (isUser || way === 'registers again') {
            t.strictSame(await rolesIn(world), ['owner', 'member'], `write ${failCall}`);
            const stream = invitationStream(assertDefined(parseInvitationId(id), 'id'));
            const { events } = world;
            t.ok(
              (await events(stream)).some(({ type }) => type === 'InvitationClosed'),
              `the invitation is closed, write ${failCall}`,
            );
          } else t.equal(await codeOf(register(again, asking(token), 'r')), 'fine', 'nobody came to be');
          if (calls() < failCall) {
            t.equal(end, 'fine');
            t.ok(failCall > 5, 'every write was tried');
            return;
          }
        }
      },
    );

void t.test('nobody else is brought into a team by signing in', async (t) => {
  const world = await openInviting();
  const { userId } = await signedIn(world.deps, { email: 'dan@example.com', name: 'Dan' });
  await addMember(world.deps, TEAM, userId, 'viewer');
  await world.invite('cy@example.com');
  await world.commands.login({ email: 'dan@example.com', password: PASSWORD }, from);
  t.strictSame(await rolesIn(world), ['owner', 'viewer']);
});
