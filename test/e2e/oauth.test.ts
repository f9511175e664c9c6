/** An app on a whole service: from its registration over the page of consent to its first call, and to its end. */
import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import type { LightMyRequestResponse } from 'fastify';
import type { CreatedOAuthApp } from '../../src/api/apps.js';
import type { SignedIn } from '../../src/api/people.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { codeAt, PASSWORD } from '../support/people.js';

t.setTimeout(900_000);

const NOBODY = { authorization: '' };
const redirectUri = 'https://shop.example.com/callback?x=1';
const verifier = 'dBjftJeZ4CVP-mBqPk3k1b2c3d4e5f6g7h8i9j0kLmN';
const ada = { email: 'ada@example.com', password: PASSWORD };

type Form = Readonly<Record<string, string>>;

type Setting = Readonly<{
  app: TestApp;
  ofAda: Readonly<{ authorization: string }>;
  client: CreatedOAuthApp;
  params: Form;
  get: (params: Form) => Promise<LightMyRequestResponse>;
  /** From a network of its own, because attempts to sign in are counted by network. */
  post: (path: string, form: Form, more?: Form) => Promise<LightMyRequestResponse>;
}>;

const open = async (t: Test): Promise<Setting> => {
  const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t) });
  t.teardown(app.stop);
  await app.call('POST', '/api/auth/register', { ...ada, name: 'Ada <b>Example</b>' }, NOBODY);
  const { accessToken } = (await app.call<SignedIn>('POST', '/api/auth/login', ada, NOBODY)).body;
  await app.whenCaughtUp();
  const ofAda = { authorization: `Bearer ${accessToken}` };
  const request = { name: 'Shop <i>', redirectUris: [redirectUri], scopes: ['emails:read', 'profile:read'] };
  const client = (await app.call<CreatedOAuthApp>('POST', '/api/oauth-apps', request, ofAda)).body;
  const params = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    state: 'a "state"',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  let networks = 0;
  return {
    app,
    ofAda,
    client,
    params,
    get: (query) => app.server.inject({ url: `/oauth/authorize?${new URLSearchParams(query).toString()}` }),
    post: (url, form, more = {}) => {
      const [remoteAddress, payload] = [`198.51.100.${(networks += 1)}`, new URLSearchParams(form).toString()];
      return app.server.inject({ method: 'POST', url, remoteAddress, headers: { ...headers, ...more }, payload });
    },
  };
};

const field = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';

void t.test('a person signs in, reads what is asked, and lets the app in', async (t) => {
  const { app, ofAda, client, params, get, post } = await open(t);
  const signIn = await get(params);
  t.equal(signIn.statusCode, 200);
  t.match(signIn.body, /<strong>Shop &lt;i&gt;<\/strong> asks for access/);
  t.match(signIn.headers, {
    'content-security-policy': /default-src 'none'.*form-action 'self'; frame-ancestors 'none'/,
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  });
  t.notOk(signIn.headers['set-cookie'], 'no cookie by which another page could decide');
  const consent = await post('/oauth/authorize', { ...params, ...ada });
  t.equal(consent.statusCode, 200);
  for (const text of [
    /Allow Shop &lt;i&gt; to act for you\?/,
    /Ada &lt;b&gt;Example&lt;\/b&gt;, ada@example\.com/,
    /read the log of mails/,
    /First team/,
    /shop\.example\.com/,
  ]) {
    t.match(consent.body, text);
  }
  t.match(consent.headers['content-security-policy'], /form-action 'self' https:\/\/shop\.example\.com;/);
  const decision = { ...params, access_token: field(consent.body, 'access_token'), team: field(consent.body, 'team') };
  const allowed = await post('/oauth/authorize', { ...decision, decision: 'allow' });
  t.equal(allowed.statusCode, 303);
  const back = new URL(String(allowed.headers.location));
  t.equal(`${back.origin}${back.pathname}`, 'https://shop.example.com/callback');
  t.strictSame([back.searchParams.get('x'), back.searchParams.get('state')], ['1', 'a "state"']);
  const metadata = (
    await app.call<{ issuer: string }>('GET', '/.well-known/oauth-authorization-server', undefined, NOBODY)
  ).body;
  t.equal(back.searchParams.get('iss'), metadata.issuer);
  t.match(
    await post('/oauth/authorize', { ...decision, decision: 'allow' }),
    { statusCode: 401 },
    'the sign-in is over with the decision',
  );

  const secret = { client_id: client.id, client_secret: String(client.clientSecret) };
  const code = String(back.searchParams.get('code'));
  const tokens = await post('/oauth/token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...secret,
  });
  t.match(tokens.json(), { token_type: 'Bearer', scope: 'emails:read profile:read' });
  const { access_token: accessToken } = tokens.json<{ access_token: string }>();
  const ofApp = { authorization: `Bearer ${accessToken}` };
  t.equal((await app.call('GET', '/api/emails', undefined, ofApp)).status, 200);
  t.match(await app.call('GET', '/api/users/me', undefined, ofApp), {
    status: 200,
    body: { email: 'ada@example.com' },
  });
  t.match(await app.call('POST', '/api/emails/send', {}, ofApp), { status: 403, body: { code: 'FORBIDDEN' } });
  t.match(await app.call('PATCH', '/api/users/me', { name: 'Eve' }, ofApp), {
    status: 403,
    body: { code: 'FORBIDDEN' },
  });
  const inspected = await post('/oauth/introspect', { token: accessToken, ...secret });
  t.match(inspected.json(), {
    active: true,
    client_id: client.id,
    scope: 'emails:read profile:read',
    sub: /^[0-9a-f-]{36}$/,
  });

  await app.whenCaughtUp();
  const grants = await app.call<{ data: { id: string }[] }>('GET', '/api/users/me/grants', undefined, ofAda);
  t.match(grants.body.data, [{ appName: 'Shop <i>', scopes: ['emails:read', 'profile:read'] }]);
  const [{ id } = { id: '' }] = grants.body.data;
  t.match(await app.call('DELETE', `/api/users/me/grants/${id}`), { status: 403 }, 'a key is nobody');
  t.match(await app.call('DELETE', `/api/users/me/grants/${id}`, undefined, ofAda), {
    status: 200,
    body: { deleted: true },
  });
  t.match(await app.call('GET', '/api/emails', undefined, ofApp), { status: 401, body: { code: 'INVALID_TOKEN' } });
  t.match((await post('/oauth/introspect', { token: accessToken, ...secret })).json(), { active: false });
  t.match(await app.call('DELETE', `/api/users/me/grants/${id}`, undefined, ofAda), {
    status: 404,
    body: { code: 'OAUTH_GRANT_NOT_FOUND' },
  });
});

void t.test(
  'the pages speak the language of the reader, and lead to a page on which what was granted is ended',
  async (t) => {
    const { app, ofAda, client, params, post } = await open(t);
    const german = { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' };
    const read = (url: string, headers: Form = german) => app.server.inject({ url, headers });
    const said = (form: Form, url = '/account/apps') => post(url, form, german);
    const signIn = await read(`/oauth/authorize?${new URLSearchParams(params).toString()}`);
    t.match(signIn.body, '<html lang="de">');
    t.match(
      signIn.body,
      '<strong>Shop &lt;i&gt;</strong> bittet um Zugriff auf Ihr Konto. Sie entscheiden auf der nächsten Seite.',
    );
    t.match(
      (await said({ ...params, ...ada, password: 'wrong' }, '/oauth/authorize')).body,
      'Die Adresse oder das Passwort ist falsch.',
    );
    const consent = await said({ ...params, ...ada }, '/oauth/authorize');
    for (const text of [
      'Darf Shop &lt;i&gt; für Sie handeln?',
      'das Protokoll der E-Mails lesen',
      '<a href="/account/apps">Ihre Apps</a>',
    ])
      t.match(consent.body, text);
    t.notMatch(consent.body, /\/api\//, 'no path of the API is shown to a person');
    const decision = {
      ...params,
      access_token: field(consent.body, 'access_token'),
      team: field(consent.body, 'team'),
      decision: 'allow',
    };
    const code = String(
      new URL(String((await said(decision, '/oauth/authorize')).headers.location)).searchParams.get('code'),
    );
    const exchange = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    const tokens = await post('/oauth/token', {
      ...exchange,
      client_id: client.id,
      client_secret: String(client.clientSecret),
    });
    const ofApp = { authorization: `Bearer ${tokens.json<{ access_token: string }>().access_token}` };
    t.equal((await app.call('GET', '/api/emails', undefined, ofApp)).status, 200);
    await app.whenCaughtUp();

    t.match((await read('/account/apps')).body, 'welche Apps für Sie handeln');
    t.match((await read('/account/apps', { 'accept-language': 'ar' })).body, '<html lang="ar" dir="rtl">');
    t.match(await said({ ...ada, password: 'wrong' }), {
      statusCode: 401,
      body: 'Die Adresse oder das Passwort ist falsch.',
    });
    t.match(await said({ access_token: 'eyJhbGciOiJub25lIn0.e30.' }), {
      statusCode: 401,
      body: 'Ihre Anmeldung ist abgelaufen.',
    });
    const list = await said(ada);
    t.match(list.body, '<h2>Shop &lt;i&gt;</h2>');
    t.match(list.body, /Im Team <strong>First team<\/strong>, seit <strong>\d+\. \S+ \d{4}<\/strong>/);
    t.match(list.headers, { 'cache-control': 'no-store', 'x-frame-options': 'DENY' });
    t.notOk(list.headers['set-cookie']);
    const form = { access_token: field(list.body, 'access_token'), grant: field(list.body, 'grant') };
    t.match((await said(form)).body, 'Keine App handelt für Sie.');
    t.match((await said(form)).statusCode, 200, 'twice is as once');
    t.equal((await app.call('GET', '/api/emails', undefined, ofApp)).status, 401, 'the app is out');
    t.match((await said({ access_token: form.access_token, done: 'yes' })).body, 'Sie sind abgemeldet.');
    t.equal((await said({ access_token: form.access_token })).statusCode, 401, 'the sign-in is over');
    await app.whenCaughtUp();
    t.match(await app.call('GET', '/api/users/me/sessions', undefined, ofAda), { body: { meta: { total: 1 } } });
  },
);

void t.test('a person says no, or is not who they say they are', async (t) => {
  const { params, get, post, app, ofAda } = await open(t);
  const wrong = await post('/oauth/authorize', { ...params, ...ada, password: 'not the pelican' });
  t.equal(wrong.statusCode, 401);
  t.match(wrong.body, /role="alert"/);
  t.notMatch(wrong.body, /not the pelican/);
  const consent = await post('/oauth/authorize', { ...params, ...ada });
  const team = field(consent.body, 'team');
  const accessToken = field(consent.body, 'access_token');
  for (const forged of [
    '',
    'eyJhbGciOiJub25lIn0.e30.',
    String((await app.call('GET', '/api/api-keys', undefined, ofAda)).status),
  ]) {
    const { statusCode, headers } = await post('/oauth/authorize', {
      ...params,
      access_token: forged,
      team,
      decision: 'allow',
    });
    t.strictSame([statusCode, headers.location], [401, undefined], forged);
  }
  const elsewhere = '99999999-9999-4999-8999-999999999999';
  const stranger = await post('/oauth/authorize', {
    ...params,
    access_token: accessToken,
    team: elsewhere,
    decision: 'allow',
  });
  t.strictSame([stranger.statusCode, stranger.headers.location], [401, undefined], 'a team that is not theirs');
  const denied = await post('/oauth/authorize', { ...params, access_token: accessToken, team, decision: 'deny' });
  t.equal(denied.statusCode, 303);
  const back = new URL(String(denied.headers.location)).searchParams;
  t.strictSame([back.get('error'), back.get('state'), back.get('code')], ['access_denied', 'a "state"', null]);
  const { redirect_uri: _registered, ...others } = params;
  for (const redirect of [
    'https://evil.example/',
    'https://shop.example.com/callback',
    'https://shop.example.com@evil.example/',
  ]) {
    const { statusCode, headers, body } = await get({ ...others, redirect_uri: redirect });
    t.strictSame([statusCode, headers.location], [400, undefined], redirect);
    t.match(body, /You are sent nowhere/);
  }
  const faulty: readonly (readonly [Form, string])[] = [
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ scope: 'templates:write' }, 'invalid_scope'],
  ];
  for (const [more, error] of faulty) {
    const asked = { ...params, ...more };
    const page = await get(asked);
    t.strictSame(
      [page.statusCode, page.headers.location],
      [200, undefined],
      `${error}: nobody is sent anywhere without a sign-in`,
    );
    t.match(page.body, /Its request is wrong/);
    t.match(page.headers['content-security-policy'], /form-action 'self' https:\/\/shop\.example\.com;/);
    for (const form of [
      { ...ada, password: 'not the pelican' },
      { decision: 'deny' },
      { access_token: 'eyJ', decision: 'allow' },
    ]) {
      const { statusCode, headers } = await post('/oauth/authorize', { ...asked, ...form });
      t.strictSame([statusCode, headers.location], [401, undefined], error);
    }
    const told = await post('/oauth/authorize', { ...asked, ...ada });
    t.equal(told.statusCode, 303);
    const sent = new URL(String(told.headers.location)).searchParams;
    t.strictSame([sent.get('error'), sent.get('state'), sent.get('code')], [error, 'a "state"', null]);
  }
  await app.whenCaughtUp();
  t.match(
    await app.call('GET', '/api/users/me/sessions', undefined, ofAda),
    { body: { meta: { total: 1 } } },
    'these sign-ins are over',
  );
  const twice = await app.server.inject({
    url: `/oauth/authorize?${new URLSearchParams(params).toString()}&redirect_uri=https://evil.example/`,
  });
  t.strictSame([twice.statusCode, twice.headers.location], [400, undefined], 'a parameter given twice');
});

void t.test(
  'in a team that asks for a second factor nobody lets an app in without one, and no app acts for who has none',
  async (t) => {
    const { app, ofAda, client, params, post } = await open(t);
    const signIn = (more: Form = {}) => post('/oauth/authorize', { ...params, ...ada, ...more });
    const consent = await signIn();
    const decision = { ...params, team: field(consent.body, 'team'), decision: 'allow' };
    const allow = (page: LightMyRequestResponse) =>
      post('/oauth/authorize', { ...decision, access_token: field(page.body, 'access_token') });
    const back = new URL(String((await allow(consent)).headers.location)).searchParams;
    const exchange = {
      grant_type: 'authorization_code',
      code: String(back.get('code')),
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    const tokens = await post('/oauth/token', {
      ...exchange,
      client_id: client.id,
      client_secret: String(client.clientSecret),
    });
    const ofApp = { authorization: `Bearer ${tokens.json<{ access_token: string }>().access_token}` };
    t.equal((await app.call('GET', '/api/emails', undefined, ofApp)).status, 200);
    await app.call('PATCH', `/api/teams/${decision.team}`, { requiresSecondFactor: true }, ofAda);
    const required = { status: 403, body: { code: 'SECOND_FACTOR_REQUIRED' } };
    t.match(await app.call('GET', '/api/emails', undefined, ofApp), required, 'what was granted before');
    const refused = await allow(await signIn());
    t.strictSame([refused.statusCode, refused.headers.location], [401, undefined]);
    t.match(refused.body, /second factor/);
    const { secret } = (
      await app.call<{ secret: string }>('POST', '/api/auth/totp/prepare', { password: PASSWORD }, ofAda)
    ).body;
    const code = codeAt(secret, Date.now());
    const { recoveryCodes } = (
      await app.call<{ recoveryCodes: string[] }>('POST', '/api/auth/totp/confirm', { code }, ofAda)
    ).body;
    t.equal((await app.call('GET', '/api/emails', undefined, ofApp)).status, 200, 'the person has one now');
    t.match((await signIn()).body, /Code of your second factor/);
    t.equal((await allow(await signIn({ code: recoveryCodes[0]! }))).statusCode, 303);
  },
);
