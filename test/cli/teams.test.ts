/** `sealpost team …` beside a running server: who is in which team. */
import t from 'tap';
import { openCliWorld } from './world.js';

t.setTimeout(900_000);

const { run, call, firstKey } = await openCliWorld(t, { SEALPOST_REGISTRATION: 'open' });
const ada = { email: 'ada@example.com', password: 'a pelican in the rain', name: 'Ada Example' };

const idOf = async (): Promise<string> => {
  const { stdout } = await run('team', 'members', '--json');
  return String((JSON.parse(stdout) as { userId: string }[])[0]?.userId);
};

await t.test('the operator lists teams and members, adds and removes people', async (t) => {
  const listed = await run('team', 'list');
  t.match(listed, { code: 0, stdout: /^[-0-9a-f]{36} {2}First team {2}0 members\n$/ });
  const [{ id: teamId = '' } = {}] = JSON.parse((await run('team', 'list', '--json')).stdout) as { id?: string }[];
  t.match(await run('team', 'add-member', ada.email, '--role', 'owner'), {
    code: 1,
    stderr: /there is no user ada@example\.com/,
  });
  t.equal((await call('', 'POST', '/api/auth/register', ada)).status, 201);
  const { body } = await call('', 'POST', '/api/auth/login', { email: ada.email, password: ada.password });
  const token = String(body.accessToken);
  t.match(await run('team', 'members'), { stdout: /owner {2}ada@example\.com {2}Ada Example {2}since / });
  const userId = await idOf();
  t.match(JSON.parse((await run('team', 'show')).stdout), { id: teamId, members: { [userId]: { role: 'owner' } } });
  t.match(await run('team', 'remove-member', ada.email), { code: 1, stderr: /only one/ }, 'a team keeps an owner');

  const second = await call(token, 'POST', '/api/teams', {
    name: 'Market',
    defaultFrom: { email: 'market@example.com' },
  });
  const market = String(second.body.id);
  t.match(await run('team', 'list'), { stdout: new RegExp(`${market} {2}Market {2}1 member\n$`) });
  t.match(await run('team', 'members', '--team', market), { stdout: /ada@example\.com/ });
  t.match(await run('team', 'add-member', userId, '--role', 'viewer', '--team', market), {
    code: 1,
    stderr: /in the team already/,
  });
  t.match(await run('team', 'add-member', userId, '--role', 'king'), {
    code: 1,
    stderr: /--role king is not one of owner, admin/,
  });
  for (const unknown of ['nonsense', '00000000-0000-4000-8000-000000000000'])
    t.match(await run('team', 'members', '--team', unknown), { code: 1, stderr: /there is no team/ });
  t.match(await run('team', 'remove-member', '00000000-0000-4000-8000-000000000000'), {
    code: 1,
    stderr: /there is no user/,
  });

  const bob = { email: 'bob@example.com', password: 'a pelican in the snow', name: 'Bob Example' };
  t.equal((await call('', 'POST', '/api/auth/register', bob)).status, 201);
  t.match(await run('team', 'add-member', 'BOB@example.com', '--role', 'viewer', '--team', market), {
    code: 0,
    stdout: /is viewer of team/,
  });
  t.match((await call(token, 'GET', `/api/teams/${market}/members`)).body, {
    data: [{ userId }, { email: bob.email, role: 'viewer' }],
  });
  t.match(await run('team', 'remove-member', bob.email, '--team', market), {
    code: 0,
    stdout: /is not in team .* any more/,
  });
  t.match(await run('team', 'remove-member', bob.email, '--team', market), {
    code: 1,
    stderr: /The team has no member with this id/,
  });

  const activity = await call(token, 'GET', `/api/teams/${market}/activity`);
  t.match(activity.body, {
    data: [
      { kind: 'member.removed', actor: { type: 'operator', id: null }, target: { name: 'Bob Example' } },
      { kind: 'member.added', actor: { type: 'operator' }, target: { name: 'Bob Example' }, role: 'viewer' },
      {
        kind: 'member.added',
        actor: { type: 'user', id: userId, name: 'Ada Example' },
        target: { name: 'Ada Example' },
        role: 'owner',
      },
      { kind: 'team.created', target: { id: market, name: 'Market' } },
    ],
  });
  t.equal((await call(firstKey, 'GET', `/api/teams/${teamId}/activity`)).status, 403, 'a key is no member');

  // From here on Ada is in one team, and Bob owns both.
  for (const team of [teamId, market])
    t.equal((await run('team', 'add-member', bob.email, '--role', 'owner', '--team', team)).code, 0);
  t.equal((await run('team', 'remove-member', ada.email)).code, 0);
  for (const [options, end] of [
    [[], /^key_\S+ {2}of Ada {2}goes on; sealpost key revoke ends it$/m],
    [['--revoke-keys'], /^key_\S+ {2}of Ada {2}revoked$/m],
  ] as const) {
    const made = await call(token, 'POST', '/api/api-keys', { name: 'of Ada', permissions: ['emails:read'] });
    t.equal(made.status, 201);
    t.match(await run('team', 'remove-member', ada.email, '--team', market, ...options), { code: 0, stdout: end });
    t.equal((await call(String(made.body.key), 'GET', '/api/emails')).status, options.length === 0 ? 200 : 401);
    t.equal((await run('team', 'add-member', ada.email, '--role', 'admin', '--team', market)).code, 0);
  }
});
