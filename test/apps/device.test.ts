/** The device grant (RFC 8628), apps that register themselves (RFC 7591), and the command line as an app. */
import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import type { CreatedOAuthApp } from '../../src/api/apps.js';
import type { SignedIn } from '../../src/api/people.js';
import { readUserCode, userCodeOf } from '../../src/domain/apps/device.js';
import { formatSelfClientId, readRegistration, readSelfClientId } from '../../src/domain/apps/registration.js';
import { commandLineApp, isRedirectUriOf } from '../../src/domain/apps/app.js';
import type { TeamId } from '../../src/domain/core/ids.js';
import { startTestApp, storedEvents, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { makeCommandNeeds } from '../../src/service/engine.js';
import { PASSWORD, signedIn } from '../support/people.js';

t.setTimeout(900_000);

const NOBODY = { authorization: '' };
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const ada = { email: 'ada@example.com', password: PASSWORD };

type Form = Readonly<Record<string, string>>;
type Begun = Readonly<{ device_code: string; user_code: string; verification_uri: string; expires_in: number }>;
type Tokens = Readonly<{ access_token: string; refresh_token: string; scope: string; error?: string }>;
type Answered<Body> = Readonly<{
  status: number;
  body: Body;
  html: string;
  headers: Readonly<Record<string, unknown>>;
}>;

type Setting = Readonly<{
  app: TestApp;
  clock: FakeClock;
  ofAda: Readonly<{ authorization: string }>;
  /** By default from a network of its own, because requests and sign-ins are counted by network. */
  post: <Body>(path: string, form: Form, from?: string) => Promise<Answered<Body>>;
  begin: (form?: Form) => Promise<Begun>;
  poll: (deviceCode: string, form?: Form) => Promise<Answered<Tokens>>;
  /** As `poll`, after the interval. */
  later: (deviceCode: string) => Promise<Answered<Tokens>>;
  decide: (userCode: string, decision: 'allow' | 'deny') => Promise<Answered<unknown>>;
}>;

const field = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';

const needsOf = ({ engine }: TestApp) => makeCommandNeeds({ ...engine, servesAlone: async () => true });

const open = async (t: Test, settings: Form = {}): Promise<Setting> => {
  const clock = fakeClock(Date.parse('2030-01-01T12:00:00.000Z'));
  const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t), clock, settings });
  t.teardown(app.stop);
  await app.call('POST', '/api/auth/register', { ...ada, name: 'Ada Example' }, NOBODY);
  const { accessToken } = (await app.call<SignedIn>('POST', '/api/auth/login', ada, NOBODY)).body;
  await app.whenCaughtUp();
  let networks = 0;
  const post: Setting['post'] = async <Body>(url: string, form: Form, from?: string) => {
    const answer = await app.server.inject({
      method: 'POST',
      url,
      remoteAddress: from ?? `198.51.${Math.floor((networks += 1) / 250)}.${networks % 250}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(form).toString(),
    });
    const isJson = String(answer.headers['content-type']).includes('json');
    const body = (isJson ? answer.json() : {}) as Body;
    return { status: answer.statusCode, body, html: answer.body, headers: answer.headers };
  };
  const poll: Setting['poll'] = (deviceCode, form = {}) =>
    post('/oauth/token', { grant_type: DEVICE_GRANT, client_id: 'sealpost-cli', device_code: deviceCode, ...form });
  return {
    app,
    clock,
    ofAda: { authorization: `Bearer ${accessToken}` },
    post,
    begin: async (form = {}) => {
      const begun = await post<Begun>('/oauth/device_authorization', {
        client_id: 'sealpost-cli',
        scope: 'emails:read templates:write',
        ...form,
      });
      if (begun.status !== 200) throw new Error(begun.html);
      return begun.body;
    },
    poll,
    later: async (deviceCode) => {
      await clock.advance(5_000);
      return poll(deviceCode);
    },
    decide: async (userCode, decision) => {
      const page = await post('/oauth/device', { ...ada, user_code: userCode });
      const hidden = ['access_token', 'user_code', 'team'].map((name) => [name, field(page.html, name)]);
      return post('/oauth/device', { ...Object.fromEntries(hidden), decision });
    },
  };
};

void t.test('a person lets a device in by the code that it shows', async (t) => {
  const { app, ofAda, begin, poll, later, post, decide } = await open(t);
  const begun = await begin();
  t.match(begun, {
    device_code: /^sealpost_dc_[A-Za-z0-9_-]{65}$/,
    user_code: /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/,
    verification_uri: /\/oauth\/device$/,
    verification_uri_complete: /\/oauth\/device\?user_code=/,
    expires_in: 600,
    interval: 5,
  });
  t.match(await poll(begun.device_code), { status: 400, body: { error: 'authorization_pending' } });
  t.match(await poll(begun.device_code), { status: 400, body: { error: 'slow_down' } });
  t.match(await later(begun.device_code), { status: 400, body: { error: 'authorization_pending' } });

  const link = await app.server.inject({ url: `/oauth/device?user_code=${begun.user_code}` });
  t.match(link.headers, {
    'content-security-policy': /default-src 'none'.*form-action 'self'; frame-ancestors 'none'/,
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  });
  t.notOk(link.headers['set-cookie']);
  t.equal(field(link.body, 'user_code'), begun.user_code);
  t.notMatch(link.body, 'sealpost command line', 'a code alone tells nothing of its request');
  const typed = begun.user_code.toLowerCase().replace('-', ' ');
  const page = await post('/oauth/device', { ...ada, user_code: typed });
  t.equal(page.status, 200);
  for (const text of [
    'Allow sealpost command line to act for you?',
    `<strong>${begun.user_code}</strong>`,
    'The request comes from another network than yours.',
    'create, change and delete templates',
    'Ada Example, ada@example.com',
    'If somebody sent you this page or the code, close the page',
  ])
    t.match(page.html, text);
  t.match(await decide(begun.user_code, 'allow'), { status: 200, html: /The device is connected/ });

  const tokens = await later(begun.device_code);
  t.match(tokens, {
    status: 200,
    body: { token_type: 'Bearer', expires_in: 3_600, scope: 'emails:read templates:write' },
    headers: { 'cache-control': 'no-store' },
  });
  const ofDevice = { authorization: `Bearer ${tokens.body.access_token}` };
  t.equal((await app.call('GET', '/api/emails', undefined, ofDevice)).status, 200);
  t.match(await app.call('GET', '/api/suppressions', undefined, ofDevice), { status: 403 });
  await app.whenCaughtUp();
  const grants = await app.call<{ data: { id: string }[] }>('GET', '/api/users/me/grants', undefined, ofAda);
  t.match(grants.body.data, [{ appId: 'sealpost-cli', appName: 'sealpost command line' }]);
  const refreshed = await post<Tokens>('/oauth/token', {
    grant_type: 'refresh_token',
    client_id: 'sealpost-cli',
    refresh_token: tokens.body.refresh_token,
  });
  t.equal(refreshed.status, 200);
  const [{ id } = { id: '' }] = grants.body.data;
  t.equal((await app.call('DELETE', `/api/users/me/grants/${id}`, undefined, ofAda)).status, 200);
  t.equal(
    (await app.call('GET', '/api/emails', undefined, { authorization: `Bearer ${refreshed.body.access_token}` }))
      .status,
    401,
  );
});

void t.test('a code of a device is good for one answer: a second use ends the grant', async (t) => {
  const { app, begin, poll, later, decide } = await open(t);
  const begun = await begin();
  await decide(begun.user_code, 'allow');
  const both = await Promise.all([poll(begun.device_code), poll(begun.device_code)]);
  const statuses = both.map(({ status }) => status).sort();
  t.strictSame(statuses, [200, 400]);
  const { access_token: accessToken } = both.find(({ status }) => status === 200)!.body;
  const call = () => app.call('GET', '/api/emails', undefined, { authorization: `Bearer ${accessToken}` });
  t.equal((await call()).status, 200);
  t.match(await later(begun.device_code), { status: 400, body: { error: 'invalid_grant' } });
  t.equal((await call()).status, 401, 'somebody else has the code');
});

void t.test('a person who denies is believed, once, and whoever decides first decides', async (t) => {
  const { begin, later, decide, post } = await open(t);
  const denied = await begin();
  t.match(await decide(denied.user_code, 'deny'), { status: 200, html: /Nothing was allowed/ });
  t.match(await later(denied.device_code), { status: 400, body: { error: 'access_denied' } });
  t.match(await post('/oauth/device', { ...ada, user_code: denied.user_code }), {
    status: 400,
    html: /No device waits with this code/,
  });
  const raced = await begin();
  const pages = await Promise.all([1, 2].map(() => post('/oauth/device', { ...ada, user_code: raced.user_code })));
  const decisions = await Promise.all(
    pages.map(({ html }, index) =>
      post('/oauth/device', {
        user_code: raced.user_code,
        access_token: field(html, 'access_token'),
        team: field(html, 'team'),
        decision: index === 0 ? 'allow' : 'deny',
      }),
    ),
  );
  t.strictSame(decisions.map(({ status }) => status).sort(), [200, 409]);
  const isAllowed = decisions[0]!.status === 200;
  t.match(await later(raced.device_code), isAllowed ? { status: 200 } : { body: { error: 'access_denied' } });
});

void t.test('a request ends after ten minutes by the clock of the service', async (t) => {
  const { clock, begin, poll, decide, post } = await open(t);
  const [waiting, allowed] = [await begin(), await begin()];
  await decide(allowed.user_code, 'allow');
  await clock.advance(600_000);
  t.match(await poll(waiting.device_code), { status: 400, body: { error: 'expired_token' } });
  t.match(await poll(allowed.device_code), { status: 400, body: { error: 'expired_token' } }, 'it came too late');
  t.match(await post('/oauth/device', { ...ada, user_code: waiting.user_code }), {
    status: 400,
    html: /No device waits with this code/,
  });
});

void t.test('a code of a device is of its app, and no other kind of code', async (t) => {
  const { app, ofAda, begin, poll, post, decide } = await open(t);
  const register = async (more: object) =>
    (
      await app.call<CreatedOAuthApp>(
        'POST',
        '/api/oauth-apps',
        { name: 'TV', kind: 'public', redirectUris: [], scopes: ['emails:read'], ...more },
        ofAda,
      )
    ).body;
  const [tv, web] = [await register({ deviceFlow: true }), await register({})];
  t.match([tv.deviceFlow, web.deviceFlow], [true, false]);
  t.match(await post('/oauth/device_authorization', { client_id: web.id }), {
    status: 400,
    body: { error: 'unauthorized_client' },
  });
  t.match(await post('/oauth/device_authorization', { client_id: 'app_AAAAAAAAAAAAAAAAAAAAAA' }), {
    status: 401,
    body: { error: 'invalid_client' },
  });
  t.match(await post('/oauth/device_authorization', { client_id: tv.id, scope: 'emails:send' }), {
    status: 400,
    body: { error: 'invalid_scope' },
  });
  const begun = await begin();
  await decide(begun.user_code, 'allow');
  t.match(await poll(begun.device_code, { client_id: tv.id }), { status: 400, body: { error: 'invalid_grant' } });
  t.match(await poll(begun.device_code, { client_id: web.id }), { body: { error: /slow_down|unauthorized_client/ } });
  const asCode = { grant_type: 'authorization_code', code: begun.device_code, code_verifier: 'x'.repeat(43) };
  t.match(
    await post('/oauth/token', { ...asCode, client_id: 'sealpost-cli', redirect_uri: 'http://127.0.0.1/callback' }),
    {
      status: 400,
      body: { error: 'invalid_grant' },
    },
  );
  for (const wrong of [
    '',
    'x',
    begun.user_code,
    `${begun.device_code.slice(0, -1)}~`,
    begun.device_code.replace(/.$/, 'A'),
  ])
    t.match(await poll(wrong), { status: 400 }, wrong);
  await app.call('PATCH', `/api/oauth-apps/${tv.id}`, { deviceFlow: false }, ofAda);
  t.match(await post('/oauth/device_authorization', { client_id: tv.id }), { body: { error: 'unauthorized_client' } });
});

void t.test('an app of a team of strangers is shown as theirs, whatever name they gave it', async (t) => {
  const { app, ofAda, begin, post } = await open(t, { SEALPOST_REGISTRATION: 'open' });
  const mallory = await signedIn(needsOf(app), { email: 'mallory@example.com', name: 'Mallory' });
  const team = (
    await app.call<{ id: string }>(
      'POST',
      '/api/teams',
      { name: 'Trap', defaultFrom: { email: 'trap@example.com' } },
      mallory.headers,
    )
  ).body;
  const named = { kind: 'public', redirectUris: ['https://evil.example/'], scopes: ['emails:read'], deviceFlow: true };
  const register = async (headers: Form, name = commandLineApp.name) =>
    (await app.call<CreatedOAuthApp>('POST', '/api/oauth-apps', { ...named, name }, headers)).body;
  const bad = await register({ ...mallory.headers, 'x-team-id': team.id });
  const own = await register(ofAda, 'TV');
  const device = async (client_id: string) =>
    (await post('/oauth/device', { ...ada, user_code: (await begin({ client_id, scope: 'emails:read' })).user_code }))
      .html;
  const consent = async (client_id: string) =>
    (
      await post('/oauth/authorize', {
        ...ada,
        client_id,
        response_type: 'code',
        redirect_uri: 'https://evil.example/',
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
      })
    ).html;
  const warning = /Members of the team <strong>Trap<\/strong> registered this app\. You are not in that team/;
  for (const page of [await device(bad.id), await consent(bad.id)]) t.match(page, warning);
  for (const page of [await device('sealpost-cli'), await device(own.id), await consent(own.id)]) {
    t.match(page, /value="allow"/);
    t.notMatch(page, /registered this app/);
  }
});

void t.test('an app learns by introspection what its token may do now', async (t) => {
  const { app, clock, ofAda, begin, post } = await open(t);
  const tv = (
    await app.call<CreatedOAuthApp>(
      'POST',
      '/api/oauth-apps',
      { name: 'TV', redirectUris: [], scopes: ['emails:read', 'emails:send'], deviceFlow: true },
      ofAda,
    )
  ).body;
  const [first] = (await app.call<{ data: readonly [{ id: TeamId }] }>('GET', '/api/teams', undefined, ofAda)).body
    .data;
  const person = { email: 'bob@example.com', password: PASSWORD };
  const bob = await signedIn(needsOf(app), { ...person, teamId: first.id, role: 'member' });
  await app.whenCaughtUp();
  const secret = { client_id: tv.id, client_secret: tv.clientSecret ?? '' };
  const begun = await begin({ ...secret, scope: 'emails:read emails:send' });
  const page = await post('/oauth/device', { ...person, user_code: begun.user_code });
  const hidden = ['access_token', 'user_code', 'team'].map((name) => [name, field(page.html, name)]);
  await post('/oauth/device', { ...Object.fromEntries(hidden), decision: 'allow' });
  const { body } = await post<Tokens>('/oauth/token', {
    ...secret,
    grant_type: DEVICE_GRANT,
    device_code: begun.device_code,
  });
  const introspect = async () =>
    (await post<object>('/oauth/introspect', { ...secret, token: body.access_token })).body;
  t.match(await introspect(), { active: true, scope: 'emails:read emails:send', sub: bob.userId });
  const member = `/api/teams/${first.id}/members/${bob.userId}`;
  await app.call('PATCH', member, { role: 'viewer' }, ofAda);
  await clock.advance(2_000);
  t.match(await introspect(), { active: true, scope: 'emails:read' });
  await app.call('DELETE', member, undefined, ofAda);
  await clock.advance(2_000);
  t.strictSame(await introspect(), { active: false });
});

void t.test('codes are not guessed: the attempts of a person are counted', async (t) => {
  const { begin, post } = await open(t);
  const { user_code: userCode } = await begin();
  const page = await post('/oauth/device', { ...ada, user_code: userCode });
  const token = field(page.html, 'access_token');
  const team = field(page.html, 'team');
  let refused = 0;
  for (let tries = 0; tries < 14; tries += 1) {
    const guess = `BBBB-${userCodeOf(Buffer.alloc(8, tries)).slice(5)}`;
    if ((await post('/oauth/device', { access_token: token, user_code: guess })).status === 429) refused += 1;
  }
  t.equal(refused, 3, 'the first attempt was that of the sign-in');
  const decision = { access_token: token, team, user_code: userCode, decision: 'allow' };
  t.equal((await post('/oauth/device', decision)).status, 429, 'a decision is an attempt, too');
});

void t.test('strangers make few requests of devices, and shut out nobody by making more', async (t) => {
  const { post } = await open(t);
  const ask = (from: string) => post<Begun>('/oauth/device_authorization', { client_id: 'sealpost-cli' }, from);
  const statusesOf = async (from: string): Promise<readonly number[]> => {
    const statuses: number[] = [];
    while (statuses.at(-1) !== 429) statuses.push((await ask(from)).status);
    return statuses;
  };
  t.equal((await statusesOf('203.0.113.9')).length, 11, 'ten, and one that is refused');
  t.match(await ask('203.0.113.9'), { status: 429, headers: { 'retry-after': /\d/ } });
  let [networks, requests] = [1, 10];
  for (let isFull = false; !isFull; networks += 1) {
    const { length } = await statusesOf(`203.0.113.${9 + networks}`);
    requests += length - 1;
    isFull = length < 11;
  }
  t.equal(requests, 300 + 60, 'later ones of all networks, and the first ones of a prefix');
  t.equal((await ask('203.0.1.1')).status, 429, 'another network of the prefix');
  for (const from of ['198.51.100.1', '2001:db8::1'])
    t.equal((await statusesOf(from)).length, 3, 'two of a network that did not ask before');
});

void t.test('nothing of a code is stored', async (t) => {
  const { app, begin } = await open(t);
  const { device_code: deviceCode, user_code: userCode } = await begin();
  const events = await storedEvents(app.engine);
  const stored = events
    .map(({ stream, data, metadata }) => [stream, String(data), String(metadata)].join(' '))
    .join('\n');
  t.match(stored, 'oauthDevice-');
  for (const secret of [deviceCode, deviceCode.slice(-43), userCode, userCode.replace('-', '')])
    t.notOk(stored.includes(secret));
});

void t.test('codes that people type', async (t) => {
  t.equal(
    userCodeOf(Buffer.from([0, 1, 2, 3, 255, 4, 5, 6, 7])),
    'BCDF-GHJK',
    'a byte that would favour a letter is left out',
  );
  t.throws(() => userCodeOf(Buffer.alloc(7)));
  for (const typed of ['BCDF-GHJK', 'bcdf ghjk', 'bcdfghjk', ' B C D F – G H J K ', 'BCDF_GHJK'])
    t.equal(readUserCode(typed), 'BCDF-GHJK', typed);
  for (const wrong of ['', 'BCDF-GHJ', 'BCDF-GHJKL', 'ACDF-GHJK', 'BCDF-GHJ0', 'B'.repeat(1_000)])
    t.equal(readUserCode(wrong), undefined, wrong);
});

void t.test('a public app may come back to any port of its loopback address, and nowhere else', async (t) => {
  const of = (kind: 'public' | 'confidential', redirectUris: string[]) => (text: string) =>
    isRedirectUriOf({ kind, redirectUris }, text);
  const cli = (text: string) => isRedirectUriOf(commandLineApp, text);
  for (const good of ['http://127.0.0.1:49152/callback', 'http://[::1]:1/callback', 'http://127.0.0.1/callback'])
    t.ok(cli(good), good);
  for (const bad of [
    'http://127.0.0.1:49152/',
    'http://127.0.0.1:49152/callback/',
    'http://127.0.0.1:49152/callback?x=1',
    'http://127.0.0.1:49152/callback#x',
    'http://127.0.0.1:49152/x/../callback',
    'http://user@127.0.0.1:49152/callback',
    'http://127.0.0.1@evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://127.0.0.2:49152/callback',
    'http://127.1:49152/callback',
    'http://0x7f.0.0.1/callback',
    'http://localhost:49152/callback',
    'http://[::ffff:127.0.0.1]:1/callback',
    'http://0.0.0.0:1/callback',
    'https://127.0.0.1:49152/callback',
    'http://127.0.0.1:65536/callback',
    'http://127.0.0.1:80/callback',
    'HTTP://127.0.0.1:49152/callback',
    ' http://127.0.0.1:49152/callback',
    'javascript:alert(1)',
  ])
    t.notOk(cli(bad), bad);
  t.notOk(of('confidential', ['http://127.0.0.1:8976/callback'])('http://127.0.0.1:8977/callback'));
  t.ok(of('public', ['http://localhost:8976/a?b=1'])('http://localhost:8977/a?b=1'));
  t.notOk(of('public', ['https://app.example.com/'])('https://app.example.com:8443/'));
});

const mac = (text: string): string => createHash('sha256').update(`key ${text}`).digest('hex');

void t.test('an app that registers itself says little, and its client_id carries all of it', async (t) => {
  const good = {
    redirect_uris: [
      'http://localhost:33418/',
      'https://vscode.dev/redirect',
      'cursor://anysphere.cursor-mcp/oauth/callback',
    ],
    client_name: 'Editor',
    token_endpoint_auth_method: 'client_secret_basic',
    scope: 'emails:read openid templates:read',
    logo_uri: 'https://evil.example/logo.png',
  };
  const registration = readRegistration(good, 1_000_000);
  if ('error' in registration) throw new Error(registration.description);
  t.strictSame(registration, {
    at: 1_000,
    name: 'Editor',
    redirectUris: good.redirect_uris,
    scopes: ['emails:read', 'templates:read'],
  });
  const clientId = formatSelfClientId(registration, mac);
  t.match(clientId, /^[A-Za-z0-9_.-]+$/, 'no character that a form encodes');
  const read = readSelfClientId(clientId, mac);
  t.match(read, {
    id: /^self_[A-Za-z0-9_-]{22}$/,
    app: { kind: 'public', name: 'Editor', deviceFlow: false, secret: null },
  });
  t.strictSame(read?.app.usualScopes, ['emails:read', 'templates:read']);
  const [body = '', tag = ''] = clientId.slice('sealpost_client_'.length).split('.');
  const forged = Buffer.from(body, 'base64url').toString('utf8').replace('Editor', 'Admin!');
  for (const wrong of [
    `sealpost_client_${Buffer.from(forged).toString('base64url')}.${tag}`,
    `sealpost_client_${body}.${'A'.repeat(43)}`,
    `sealpost_client_${body}`,
    clientId.slice(0, -1),
    `${clientId}x`,
    'self_AAAAAAAAAAAAAAAAAAAAAA',
  ])
    t.equal(readSelfClientId(wrong, mac), undefined);
  t.equal(
    readSelfClientId(clientId, (text) => mac(`other ${text}`)),
    undefined,
    'the client_id of another instance',
  );
  for (const uri of [
    'http://app.example.com/callback',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'ms-msdt:/id',
    'com.example.app:/callback',
    'cursor:callback',
    'cursor://a/b#c',
    'cursor://a/b"onload=',
    'cursor://user@a/b',
    'vscode://a b/',
    'https://app.example.com/*',
    'https://user:pass@app.example.com/',
    'https://app.example.com/#x',
    'x'.repeat(501),
    7,
  ])
    t.match(
      readRegistration({ ...good, redirect_uris: [uri] }, 0),
      { error: 'invalid_redirect_uri' },
      String(uri).slice(0, 40),
    );
  for (const more of [
    { redirect_uris: [] },
    { redirect_uris: 'https://app.example.com/' },
    { redirect_uris: Array.from({ length: 13 }, (_, index) => `https://app.example.com/${index}`) },
  ])
    t.match(readRegistration({ ...good, ...more }, 0), { error: 'invalid_redirect_uri' });
  for (const more of [
    { client_name: 'x'.repeat(101) },
    { client_name: 'a\u202eb' },
    { client_name: 'a\nb' },
    { client_name: 7 },
    { grant_types: ['client_credentials'] },
    { response_types: ['token'] },
    { scope: 'openid' },
    { scope: 7 },
    { redirect_uris: Array.from({ length: 12 }, (_, index) => `https://app.example.com/${index}${'x'.repeat(300)}`) },
  ])
    t.match(
      readRegistration({ ...good, ...more }, 0),
      { error: 'invalid_client_metadata' },
      JSON.stringify(more).slice(0, 60),
    );
  for (const body of [undefined, null, [], 'x', 7])
    t.match(readRegistration(body, 0), { error: 'invalid_client_metadata' });
});
