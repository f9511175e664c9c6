/** The token endpoint of apps, also on two processes. */
import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import type { CreatedOAuthApp, CreateOAuthAppRequest } from '../../src/api/apps.js';
import { authenticateApp } from '../../src/commands/authenticate.js';
import type { Caller } from '../../src/commands/core/caller.js';
import { openOAuth, type OAuth } from '../../src/commands/index.js';
import { roles, scopes, type Role, type Scope } from '../../src/domain/access/permissions.js';
import { assertDefined, parseUserId, teamStream } from '../../src/domain/core/ids.js';
import type { TeamEvent } from '../../src/domain/teams/events.js';
import { exchange, type TokenAnswer } from '../../src/http/apps/endpoints.js';
import { makeCommandNeeds } from '../../src/service/engine.js';
import { caller, OTHER_TEAM, openWorld, TEAM, type World } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';
import { goldenPermissions } from '../support/golden-permissions.js';
import { addMember } from '../support/people.js';

// The exchange of codes, refresh tokens and secrets for tokens, and the attacks of RFC 9700 on it.

const userId = assertDefined(parseUserId('0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21'), 'user id');
const person: Caller & { user: { id: typeof userId } } = { ...caller, actor: `user:${userId}`, user: { id: userId } };
const verifier = 'dBjftJeZ4CVP-mBqPk3k1b2c3d4e5f6g7h8i9j0kLmN';
const challenge = createHash('sha256').update(verifier).digest('base64url');
const redirectUri = 'https://shop.example.com/callback';
const request: CreateOAuthAppRequest = {
  name: 'Shop',
  redirectUris: [redirectUri],
  scopes: ['emails:read', 'emails:send', 'profile:read'],
};
const needed = { asked: undefined, isNeeded: true };

type Setting = Readonly<{
  world: World;
  oauth: OAuth;
  app: CreatedOAuthApp;
  code: (scopes?: readonly Scope[]) => Promise<string>;
  token: (form: Readonly<Record<string, string | null>>, authorization?: string) => Promise<TokenAnswer>;
  /** The scopes of the access token, or its refusal. */
  allowed: (accessToken: unknown) => Promise<readonly string[]>;
}>;

const become = async (world: World, role: Role | undefined): Promise<void> => {
  const stream = teamStream(TEAM);
  const { version, state } = await world.deps.team(stream);
  const at = '2030-01-01T12:00:00.000Z';
  const cause = { teamId: TEAM, actor: 'system', correlationId: 'test', causationId: 'test', at };
  const event =
    role === undefined
      ? ({ type: 'MemberRemoved', data: { at, userId, reason: 'removed' } } as const)
      : state?.members?.has(userId) === true
        ? ({ type: 'MemberRoleChanged', data: { at, userId, role } } as const)
        : ({ type: 'MemberAdded', data: { at, userId, role } } as const);
  await world.deps.eventLog.append(stream, version, [event], cause);
};

const open = async (more: Partial<CreateOAuthAppRequest> = {}): Promise<Setting> => {
  const world = await openWorld();
  const oauth = openOAuth(world.deps);
  await become(world, 'member');
  const app = await world.commands.createOAuthApp(caller, { ...request, ...more });
  const token: Setting['token'] = (given, authorization) => {
    const own = app.clientSecret === null ? {} : { client_secret: app.clientSecret };
    const form = { client_id: app.id, ...own, ...given };
    const present = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== null);
    return exchange({ oauth }, { requestId: 'request-2', form: Object.fromEntries(present), authorization });
  };
  return {
    world,
    oauth,
    app,
    token,
    code: async (scopes = ['emails:read', 'emails:send']) => {
      const known = assertDefined(await oauth.openOAuthApp(app.id), 'app');
      return oauth.giveConsent(person, { app: known, scopes, redirectUri, challenge });
    },
    allowed: async (accessToken) => (await authenticateApp(world.deps, String(accessToken), needed)).permissions,
  };
};

const forCode = (code: string) => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: redirectUri,
  code_verifier: verifier,
});
const refused = (t: Test, answer: TokenAnswer, status: number, error: string, message = error): void => {
  t.match({ status: answer.status, error: answer.body['error'] }, { status, error }, message);
  t.notOk('access_token' in answer.body);
};

void t.test('a code becomes tokens that do what was granted', async (t) => {
  const { token, code, allowed, world, app } = await open();
  const { status, body, headers } = await token(forCode(await code()));
  t.equal(status, 200);
  t.match(body, {
    access_token: /^sealpost_at_[A-Za-z0-9_-]{65}$/,
    refresh_token: /^sealpost_or_[A-Za-z0-9_-]{65}$/,
    token_type: 'Bearer',
    scope: 'emails:read emails:send',
  });
  t.ok(Math.abs(Number(body['expires_in']) - 3_600) <= 1);
  t.match(headers, { 'cache-control': 'no-store' });
  t.strictSame(await allowed(body['access_token']), ['emails:read', 'emails:send']);
  const stored = JSON.stringify(world.store.events.map(({ data, metadata }) => [String(data), String(metadata)]));
  for (const secret of [body['access_token'], body['refresh_token'], app.clientSecret])
    t.notOk(stored.includes(String(secret)));
  t.match(await authenticateApp(world.deps, String(body['access_token']), { asked: TEAM, isNeeded: true }), {
    kind: 'app',
    teamId: TEAM,
    clientId: app.id,
    userId,
  });
  await refusedWith(
    t,
    authenticateApp(world.deps, String(body['access_token']), { asked: OTHER_TEAM, isNeeded: true }),
    'TEAM_NOT_FOUND',
  );
});

void t.test('a token does no more than its person may do at that moment', async (t) => {
  const { token, code, allowed, world } = await open();
  const accessToken = (await token(forCode(await code()))).body['access_token'];
  await become(world, 'viewer');
  t.strictSame(await allowed(accessToken), ['emails:read']);
  await become(world, undefined);
  await refusedWith(t, allowed(accessToken), 'INVALID_TOKEN');
  await become(world, 'owner');
  t.strictSame(await allowed(accessToken), ['emails:read', 'emails:send']);
});

void t.test(
  'a token does what both its scope and the role of its person allow, for every endpoint of the table',
  async (t) => {
    const { token, code, allowed, world } = await open({ scopes: [...scopes] });
    const held = new Map<string, readonly string[]>();
    for (const scope of scopes) {
      const accessToken = (await token(forCode(await code([scope])))).body['access_token'];
      for (const role of roles) {
        await become(world, role);
        held.set(`${scope} of ${role}`, await allowed(accessToken));
      }
    }
    for (const [name, line] of goldenPermissions()) {
      for (const scope of line.scopes) {
        for (const role of roles) {
          t.strictSame(
            held.get(`${scope} of ${role}`),
            line.roles.includes(role) ? [scope] : [],
            `${name}: ${scope} of ${role}`,
          );
        }
      }
    }
  },
);

void t.test('tokens end with their hour, their app, its scopes, and by its wish', async (t) => {
  const { token, code, allowed, world, app, oauth } = await open();
  const { body } = await token(forCode(await code()));
  const id = assertDefined(await oauth.openOAuthApp(app.id), 'app').id;
  await world.commands.updateOAuthApp(caller, id, { scopes: ['emails:read'] });
  t.strictSame(await allowed(body['access_token']), ['emails:read']);
  await world.clock.advance(3_600_001);
  await refusedWith(t, allowed(body['access_token']), 'TOKEN_EXPIRED');
  const again = (await token({ grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) })).body;
  const known = assertDefined(await oauth.openOAuthApp(app.id), 'app');
  await oauth.revokeToken(known, String(again['access_token']), { requestId: 'r' });
  await refusedWith(t, allowed(again['access_token']), 'INVALID_TOKEN');
  const third = (await token({ grant_type: 'refresh_token', refresh_token: String(again['refresh_token']) })).body;
  t.strictSame(await allowed(third['access_token']), ['emails:read']);
  await oauth.revokeToken(known, String(third['refresh_token']), { requestId: 'r' });
  await refusedWith(t, allowed(third['access_token']), 'INVALID_TOKEN');
  const fourth = (await token(forCode(await code(['emails:read'])))).body;
  await world.commands.deleteOAuthApp(caller, id);
  await refusedWith(t, allowed(fourth['access_token']), 'INVALID_TOKEN');
  refused(
    t,
    await token({ grant_type: 'refresh_token', refresh_token: String(fourth['refresh_token']) }),
    400,
    'invalid_client',
  );
});

void t.test('a code is good once: the second use ends what the first gave', async (t) => {
  const { token, code, allowed } = await open();
  const one = await code();
  const { body } = await token(forCode(one));
  refused(t, await token(forCode(one)), 400, 'invalid_grant');
  await refusedWith(t, allowed(body['access_token']), 'INVALID_TOKEN');
  refused(
    t,
    await token({ grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) }),
    400,
    'invalid_grant',
  );
});

void t.test('of many uses of one code at once at most one gets tokens, and none of them lasts', async (t) => {
  const { token, code, allowed } = await open();
  const one = await code();
  const answers = await Promise.all(Array.from({ length: 20 }, () => token(forCode(one))));
  const good = answers.filter(({ status }) => status === 200);
  t.ok(good.length <= 1);
  for (const { body } of good) await refusedWith(t, allowed(body['access_token']), 'INVALID_TOKEN');
});

void t.test('a code is good for its app, its address, its verifier and ten minutes', async (t) => {
  const { token, code, world } = await open();
  refused(
    t,
    await token({ ...forCode(await code()), code_verifier: 'x'.repeat(43) }),
    400,
    'invalid_grant',
    'another verifier',
  );
  refused(
    t,
    await token({ ...forCode(await code()), code_verifier: null }),
    400,
    'invalid_grant',
    'no verifier: PKCE is not taken back',
  );
  refused(
    t,
    await token({ ...forCode(await code()), code_verifier: challenge }),
    400,
    'invalid_grant',
    'the challenge is no verifier',
  );
  refused(t, await token({ ...forCode(await code()), redirect_uri: 'https://evil.example/' }), 400, 'invalid_request');
  refused(t, await token({ ...forCode(await code()), redirect_uri: null }), 400, 'invalid_request');
  const other = await world.commands.createOAuthApp(caller, { ...request, name: 'Other' });
  const injected = await code();
  refused(
    t,
    await token({ ...forCode(injected), client_id: other.id, client_secret: other.clientSecret }),
    400,
    'invalid_grant',
    'a code of another app',
  );
  const burnt = await code();
  await token({ ...forCode(burnt), code_verifier: 'x'.repeat(43) });
  refused(t, await token(forCode(burnt)), 400, 'invalid_grant', 'a wrong verifier burns the code');
  const old = await code();
  await world.clock.advance(600_000);
  refused(t, await token(forCode(old)), 400, 'invalid_grant', 'ten minutes');
  for (const wrong of ['', 'nothing', `${old}x`, old.replace('_ac_', '_at_')]) {
    t.match((await token(forCode(wrong))).status, 400, wrong);
  }
});

void t.test('a refresh token is used once; its reuse ends the grant', async (t) => {
  const { token, code, allowed } = await open();
  const first = (await token(forCode(await code()))).body;
  const refresh = (text: unknown, more = {}) =>
    token({ grant_type: 'refresh_token', refresh_token: String(text), ...more });
  const second = (await refresh(first['refresh_token'])).body;
  t.not(second['refresh_token'], first['refresh_token']);
  t.strictSame(await allowed(second['access_token']), ['emails:read', 'emails:send']);
  refused(t, await refresh(first['refresh_token']), 400, 'invalid_grant', 'stolen, or used by the thief before');
  refused(t, await refresh(second['refresh_token']), 400, 'invalid_grant', 'the whole family has ended');
  await refusedWith(t, allowed(second['access_token']), 'INVALID_TOKEN');
});

void t.test('a refresh asks for at most what was granted', async (t) => {
  const { token, code, allowed } = await open();
  const first = (await token(forCode(await code(['emails:read'])))).body;
  const upgraded = await token({
    grant_type: 'refresh_token',
    refresh_token: String(first['refresh_token']),
    scope: 'emails:read emails:send',
  });
  refused(t, upgraded, 400, 'invalid_scope');
  const second = await token({
    grant_type: 'refresh_token',
    refresh_token: String(first['refresh_token']),
    scope: 'emails:read',
  });
  t.strictSame(await allowed(second.body['access_token']), ['emails:read']);
});

void t.test('a refresh token is good for 30 days and for its own app', async (t) => {
  const { token, code, world } = await open();
  const { body } = await token(forCode(await code()));
  const other = await world.commands.createOAuthApp(caller, { ...request, name: 'Other' });
  const text = String(body['refresh_token']);
  const stolen = {
    grant_type: 'refresh_token',
    refresh_token: text,
    client_id: other.id,
    client_secret: other.clientSecret,
  };
  refused(t, await token(stolen), 400, 'invalid_grant');
  await world.clock.advance(30 * 86_400_000);
  refused(t, await token({ grant_type: 'refresh_token', refresh_token: text }), 400, 'invalid_grant');
});

void t.test('an app shows that it is itself', async (t) => {
  const { token, code, app, world, oauth } = await open();
  for (const client_secret of [null, 'sealpost_cs_wrong', `${String(app.clientSecret)}x`]) {
    refused(
      t,
      await token({ ...forCode(await code()), client_secret }),
      400,
      'invalid_client',
      `secret: ${String(client_secret)}`,
    );
  }
  const basic = `Basic ${Buffer.from(`${app.id}:${String(app.clientSecret)}`).toString('base64')}`;
  t.equal((await token({ ...forCode(await code()), client_id: null, client_secret: null }, basic)).status, 200);
  const inHeader = { client_id: null, client_secret: null };
  const wrong = await token(
    { ...forCode(await code()), ...inHeader },
    `Basic ${Buffer.from(`${app.id}:wrong`).toString('base64')}`,
  );
  refused(t, wrong, 401, 'invalid_client');
  t.match(wrong.headers, { 'www-authenticate': /Basic/ });
  const id = assertDefined(await oauth.openOAuthApp(app.id), 'app').id;
  const rotated = await world.commands.rotateOAuthAppSecret(caller, id, { overlapHours: 1 });
  t.equal((await token(forCode(await code()))).status, 200, 'the old secret in the overlap');
  t.equal((await token({ ...forCode(await code()), client_secret: rotated.clientSecret })).status, 200);
  await world.clock.advance(3_600_000);
  refused(t, await token(forCode(await code())), 400, 'invalid_client');
});

void t.test('an app authenticates in one way, which every endpoint reads alike', async (t) => {
  const { token, code, app } = await open();
  const secret = String(app.clientSecret);
  const basic = (id: string, pass: string, scheme = 'Basic'): string =>
    `${scheme} ${Buffer.from(`${id}:${pass}`).toString('base64')}`;
  const percent = (text: string): string => [...text].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('');
  const inHeader = { client_id: null, client_secret: null };
  const good: readonly (readonly [string, Readonly<Record<string, string | null>>, string | undefined])[] = [
    ['by the form', {}, undefined],
    ['by a header', inHeader, basic(app.id, secret)],
    ['by a header that is encoded as a form', inHeader, basic(percent(app.id), percent(secret))],
    ['by a header whose scheme is in small letters', inHeader, basic(app.id, secret, 'basic')],
    ['by a header, with its id in the form too', { client_secret: null }, basic(app.id, secret)],
  ];
  for (const [name, form, header] of good)
    t.equal((await token({ ...forCode(await code()), ...form }, header)).status, 200, name);
  const assertion = {
    client_assertion: 'eyJ',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  };
  const bad: readonly (readonly [
    string,
    Readonly<Record<string, string | null>>,
    string | undefined,
    number,
    string,
  ])[] = [
    ['by both', {}, basic(app.id, secret), 400, 'invalid_request'],
    [
      'by both, and the secret of the form is wrong',
      { client_secret: 'x' },
      basic(app.id, secret),
      400,
      'invalid_request',
    ],
    ['by both, and the secret of the header is wrong', {}, basic(app.id, 'x'), 400, 'invalid_request'],
    [
      'by both, and the secret of the form is empty',
      { client_secret: '' },
      basic(app.id, secret),
      400,
      'invalid_request',
    ],
    ['by a header and an assertion', { ...inHeader, ...assertion }, basic(app.id, secret), 400, 'invalid_request'],
    ['by the form and an assertion', assertion, undefined, 400, 'invalid_client'],
    [
      'as two apps',
      { client_id: 'app_AAAAAAAAAAAAAAAAAAAAAA', client_secret: null },
      basic(app.id, secret),
      400,
      'invalid_request',
    ],
    ['by a token', inHeader, `Bearer ${secret}`, 401, 'invalid_client'],
    ['by a header of another scheme beside a good form', {}, `Bearer ${secret}`, 401, 'invalid_client'],
    [
      'by a header without a colon beside a good form',
      {},
      `Basic ${Buffer.from(app.id).toString('base64')}`,
      401,
      'invalid_client',
    ],
    ['by a header with half an escape', inHeader, basic(app.id, `${secret}%4`), 401, 'invalid_client'],
    ['by nothing', inHeader, undefined, 400, 'invalid_client'],
    ['by its id alone', { client_secret: null }, undefined, 400, 'invalid_client'],
    ['by an empty secret', { client_secret: '' }, undefined, 400, 'invalid_client'],
    ['by an empty secret in a header', inHeader, basic(app.id, ''), 401, 'invalid_client'],
  ];
  for (const [name, form, header, status, error] of bad) {
    const one = await code();
    const answer = await token({ ...forCode(one), ...form }, header);
    refused(t, answer, status, error, name);
    t.equal('www-authenticate' in answer.headers, status === 401, name);
    t.equal((await token(forCode(one))).status, 200, `${name}: the code is not used up`);
  }
});

void t.test('a public app has PKCE and no secret', async (t) => {
  const { token, code, allowed, app } = await open({ kind: 'public' });
  t.equal(app.clientSecret, null);
  const { body } = await token(forCode(await code()));
  t.strictSame(await allowed(body['access_token']), ['emails:read', 'emails:send']);
  t.equal((await token({ grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) })).status, 200);
  refused(
    t,
    await token({ ...forCode(await code()), client_secret: 'guess' }),
    400,
    'invalid_client',
    'whoever has a secret is another',
  );
  t.equal((await token({ grant_type: 'client_credentials' })).body['access_token'], undefined);
});

void t.test('an app acts for its own team by its secret alone', async (t) => {
  const { token, allowed } = await open();
  const { status, body } = await token({ grant_type: 'client_credentials', scope: 'emails:send' });
  t.equal(status, 200);
  t.notOk('refresh_token' in body);
  t.strictSame(await allowed(body['access_token']), ['emails:send']);
  refused(t, await token({ grant_type: 'client_credentials', scope: 'webhooks:write' }), 400, 'invalid_scope');
  refused(t, await token({ grant_type: 'password', username: 'a', password: 'b' }), 400, 'unauthorized_client');
  refused(t, await token({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer' }), 400, 'unsupported_grant_type');
});

void t.test('of one person 50 access tokens and 10 refresh tokens are good, the newest', async (t) => {
  const { token, code, allowed } = await open();
  const grants = [];
  for (let index = 0; index < 12; index += 1) grants.push((await token(forCode(await code()))).body);
  refused(
    t,
    await token({ grant_type: 'refresh_token', refresh_token: String(grants[1]!['refresh_token']) }),
    400,
    'invalid_grant',
  );
  t.equal(
    (await token({ grant_type: 'refresh_token', refresh_token: String(grants[2]!['refresh_token']) })).status,
    200,
  );
  t.ok(await allowed(grants[0]!['access_token']), 'access tokens are counted apart');
  const own = [];
  for (let index = 0; index < 51; index += 1)
    own.push((await token({ grant_type: 'client_credentials' })).body['access_token']);
  await refusedWith(t, allowed(own[0]), 'INVALID_TOKEN');
  t.ok(await allowed(own[1]));
});

void t.test('an app of a deleted team acts for nobody in any team, until the team is restored', async (t) => {
  const { token, allowed, oauth, app, world } = await open();
  await addMember(world.deps, OTHER_TEAM, userId, 'member');
  const known = assertDefined(await oauth.openOAuthApp(app.id), 'app');
  const consent = { app: known, scopes: ['emails:read'] as const, redirectUri, challenge };
  const code = () => oauth.giveConsent({ ...person, teamId: OTHER_TEAM }, consent);
  const [{ body }, unused] = [await token(forCode(await code())), await code()];
  t.strictSame(await allowed(body['access_token']), ['emails:read']);
  const decided = async (event: TeamEvent): Promise<void> => {
    const stream = teamStream(TEAM);
    const cause = { teamId: TEAM, actor: 'cli', correlationId: 'test', causationId: 'test', at: event.data.at };
    await world.deps.eventLog.append(stream, (await world.deps.team(stream)).version, [event], cause);
  };
  const at = '2030-01-01T12:00:00.000Z';
  await decided({ type: 'TeamDeleted', data: { at } });
  await refusedWith(t, allowed(body['access_token']), 'INVALID_TOKEN');
  const refresh = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
  for (const form of [refresh, forCode(unused), { grant_type: 'client_credentials' }])
    refused(t, await token(form), 400, 'invalid_client');
  t.equal(await oauth.openOAuthApp(app.id), undefined, 'nobody is asked to let it in');
  await decided({ type: 'TeamRestored', data: { at } });
  t.strictSame(await allowed(body['access_token']), ['emails:read']);
  t.equal((await token(refresh)).status, 200);
});

// Tokens of apps where several processes serve, each of which remembers grants for a moment.

/**
 * A process that is told of nothing that others append, and takes what it remembers for fresh: the moment in which news
 * are under way.
 */
const untold = async (world: World, signal: AbortSignal) => {
  const store = {
    ...world.store,
    subscribeAll: async function* () {
      await new Promise((resolve) => void signal.addEventListener('abort', resolve, { once: true }));
      yield* [] as never[];
    },
  };
  const deps = makeCommandNeeds({ ...world.elsewhere(), store, servesAlone: async () => true });
  void deps.followStates(signal);
  await new Promise(setImmediate);
  return deps;
};

void t.test('what one process gives is good in the others at once, and is given up there', async (t) => {
  const world = await openWorld();
  await addMember(world.deps, TEAM, userId, 'member');
  const made = await world.commands.createOAuthApp(caller, {
    name: 'Shop',
    kind: 'public',
    redirectUris: [redirectUri],
    scopes: ['emails:read'],
  });
  const ended = new AbortController();
  t.teardown(() => ended.abort());
  const there = await untold(world, ended.signal);
  const [here, other] = [openOAuth(world.deps), openOAuth(there)];
  const app = assertDefined(await here.openOAuthApp(made.id), 'app');
  const ask = async (oauth: typeof here, form: Readonly<Record<string, string>>) => {
    const asked = { requestId: 'r', form: { client_id: made.id, ...form }, authorization: undefined };
    const { status, body } = await exchange({ oauth }, asked);
    return { status, access: String(body['access_token']), refresh: String(body['refresh_token']) };
  };
  const refreshed = (oauth: typeof here, token: string) =>
    ask(oauth, { grant_type: 'refresh_token', refresh_token: token });
  const allowed = async (deps: typeof there, token: string) => (await authenticateApp(deps, token, needed)).permissions;

  const code = await here.giveConsent(person, { app, scopes: ['emails:read'], redirectUri, challenge });
  const first = await ask(here, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
  t.strictSame(await allowed(there, first.access), ['emails:read']);
  const second = await refreshed(here, first.refresh);
  t.strictSame(await allowed(there, second.access), ['emails:read'], 'an access token that was given a moment ago');
  const third = await refreshed(here, second.refresh);
  const fourth = await refreshed(other, third.refresh);
  t.equal(fourth.status, 200, 'a refresh token that was given a moment ago');
  const fifth = await refreshed(here, fourth.refresh);
  await other.revokeToken(app, fifth.access, { requestId: 'r' });
  await refusedWith(t, allowed(world.deps, fifth.access), 'INVALID_TOKEN');
  const sixth = await refreshed(here, fifth.refresh);
  await other.revokeToken(app, sixth.refresh, { requestId: 'r' });
  await refusedWith(t, allowed(world.deps, sixth.access), 'INVALID_TOKEN');
  t.equal((await refreshed(here, sixth.refresh)).status, 400, 'the grant has ended');
  t.equal((await refreshed(other, first.refresh)).status, 400);
});
