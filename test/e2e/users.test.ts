/** People on a whole service: the first user, signing in, the team of a call, attempts and registration. */
import t, { type Test } from 'tap';
import { firstUserToken } from '../../src/commands/people/registration.js';
import { firstTeam } from '../../src/commands/core/caller.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { PASSWORD, signedIn } from '../support/people.js';
import type { SignedIn } from '../../src/api/people.js';

const ada = { email: 'ada@example.com', password: PASSWORD, name: 'Ada Example' };
const NOBODY = { authorization: '' };

const open = async (t: Test, settings: Readonly<Record<string, string>> = {}): Promise<TestApp> => {
  const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t), settings });
  t.teardown(app.stop);
  return app;
};

const bearer = ({ accessToken }: Pick<SignedIn, 'accessToken'>) => ({ authorization: `Bearer ${accessToken}` });

void t.test('the first user on loopback owns the first team, and works in it', async (t) => {
  const app = await open(t);
  for (const host of ['evil.example:3000', '127.0.0.1.evil.example'])
    t.match(
      await app.call('POST', '/api/auth/register', ada, { ...NOBODY, host }),
      { status: 403, body: { code: 'REGISTRATION_CLOSED' } },
      'a page of another site, whose name the DNS leads to loopback',
    );
  const registered = await app.call('POST', '/api/auth/register', ada, NOBODY);
  t.match(registered, { status: 201, body: { email: 'ada@example.com', emailVerified: true } });
  const login = await app.call<SignedIn>('POST', '/api/auth/login', ada, NOBODY);
  t.equal(login.status, 400, 'login takes no name');
  const { status, body } = await app.call<SignedIn>(
    'POST',
    '/api/auth/login',
    { email: ada.email, password: PASSWORD },
    NOBODY,
  );
  t.equal(status, 200);
  t.match((await app.call('GET', '/api/users/me', undefined, bearer(body))).body, {
    email: 'ada@example.com',
    name: 'Ada Example',
  });
  t.match(await app.call('PATCH', '/api/users/me', { name: 'Ada E.' }, bearer(body)), {
    status: 200,
    body: { name: 'Ada E.' },
  });
  await app.whenCaughtUp();
  t.equal(
    (await app.call('GET', '/api/templates', undefined, bearer(body))).status,
    200,
    'the only team needs no name',
  );
  const teamId = (await firstTeam(app.engine))!;
  t.equal((await app.call('GET', '/api/emails', undefined, { ...bearer(body), 'x-team-id': teamId })).status, 200);
  const strange = { ...bearer(body), 'x-team-id': '99999999-9999-4999-8999-999999999999' };
  t.match(await app.call('GET', '/api/emails', undefined, strange), { status: 404, body: { code: 'TEAM_NOT_FOUND' } });
  t.match(await app.call('POST', '/api/credits', { credits: 1 }, bearer(body)), {
    status: 403,
    body: { code: 'FORBIDDEN' },
  });
  t.match(await app.call('POST', '/api/auth/logout', undefined, bearer(body)), { status: 200 });
  t.match(await app.call('GET', '/api/users/me', undefined, bearer(body)), {
    status: 401,
    body: { code: 'SESSION_ENDED' },
  });
  const { keys } = (await app.call<{ keys: unknown[] }>('GET', '/.well-known/jwks.json', undefined, NOBODY)).body;
  t.equal(keys.length, 1);
  t.match(await app.call('POST', '/api/auth/register', { ...ada, email: 'eve@example.com' }, NOBODY), {
    status: 403,
    body: { code: 'REGISTRATION_CLOSED' },
  });
  t.match(await app.call('GET', '/api/users/me'), { status: 403, body: { code: 'FORBIDDEN' } }, 'a key is nobody');
});

void t.test('on loopback the first user comes by the link of the terminal, and has cookies and a team', async (t) => {
  const app = await open(t);
  const shown: string[] = [];
  await app.showFirstLink((token) => shown.push(token));
  const [token = ''] = shown;
  const asBrowser = async (method: 'GET' | 'POST', url: string, payload?: object, headers = {}) => {
    const answer = await app.server.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>(), cookies: answer.cookies };
  };
  const follow = (body: object, headers = {}) => asBrowser('POST', '/api/auth/link', body, headers);
  t.match(await follow({ token: `${token}0` }), { status: 400, body: { code: 'LINK_INVALID' } });
  t.match(await follow({ token }, { origin: 'https://evil.example' }), {
    status: 403,
    body: { code: 'CSRF_REJECTED' },
  });
  const { status, body, cookies } = await follow({ token });
  t.equal(status, 200);
  t.strictSame(Object.keys(body).sort(), ['csrfToken', 'expiresIn', 'sessionId', 'user'], 'no token for scripts');
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const own = { cookie, 'x-csrf-token': String(body['csrfToken']) };
  t.match(await asBrowser('GET', '/api/teams', undefined, own), { body: { data: [{ role: 'owner' }] } });
  t.equal((await asBrowser('GET', '/api/emails', undefined, own)).status, 200);
  const me = await asBrowser('GET', '/api/users/me', undefined, own);
  t.match(me.body, { name: 'Owner', mayChoosePassword: true });
  const change = (newPassword: string) => asBrowser('POST', '/api/auth/password/change', { newPassword }, own);
  t.match(await change('password2026'), { status: 400 });
  t.equal((await change(PASSWORD)).status, 200);
  t.match(await change('two herons on a roof'), { status: 400, body: { errors: [{ field: 'currentPassword' }] } });
  t.match(await follow({ token }), { status: 400, body: { code: 'LINK_INVALID' } }, 'it is good once');
  shown.length = 0;
  await app.showFirstLink((more) => shown.push(more));
  t.strictSame(shown, [], 'and no other is shown');
});

void t.test('beyond loopback the first user needs the token of the terminal', async (t) => {
  const app = await open(t, { SEALPOST_PUBLIC_URL: 'https://mail.example.com', SEALPOST_SMTP_URL: 'mailbox:' });
  const attempt = (token?: string) =>
    app.call('POST', '/api/auth/register', { ...ada, ...(token === undefined ? {} : { token }) }, NOBODY);
  t.match(await attempt(), { status: 403, body: { code: 'REGISTRATION_CLOSED' } });
  t.match(await attempt('sealpost_first_000000000000000000000000000000000000000000000000'), { status: 403 });
  const token = firstUserToken(app.engine.keys);
  const others = await Promise.all(
    ['bea@example.com', 'cy@example.com', 'ada@example.com'].map((email) =>
      app.call('POST', '/api/auth/register', { ...ada, email, token }, NOBODY),
    ),
  );
  t.strictSame(others.map(({ status }) => status).sort(), [201, 403, 403], 'of three who have it one is the first');
  t.match(await attempt(token), { status: 403 }, 'it is good once');
});

void t.test('where everybody may register, an address that is taken is answered as one that is not', async (t) => {
  const app = await open(t, { SEALPOST_REGISTRATION: 'open' });
  await app.call('POST', '/api/auth/register', ada, NOBODY);
  const bea = { ...ada, email: 'bea@example.com' };
  const first = await app.call('POST', '/api/auth/register', bea, NOBODY);
  const again = await app.call('POST', '/api/auth/register', bea, NOBODY);
  t.match(first, { status: 201, body: { emailVerified: false } });
  t.strictSame(again.body, first.body);
  t.match(await app.call('POST', '/api/auth/login', { email: bea.email, password: PASSWORD }, NOBODY), {
    status: 403,
    body: { code: 'ADDRESS_NOT_VERIFIED' },
  });
  t.match(
    await app.call('POST', '/api/auth/register', { ...ada, email: 'x@example.com', password: 'password2026' }, NOBODY),
    {
      status: 400,
      body: { code: 'VALIDATION_ERROR', errors: [{ field: 'password' }] },
    },
  );
});

void t.test('attempts are paused by address and network, and another network comes in', async (t) => {
  const app = await open(t, { SEALPOST_TRUST_PROXY: 'true' });
  await signedIn(app.engine, { email: ada.email });
  const attempt = (ip: string, password = PASSWORD) =>
    app.call('POST', '/api/auth/login', { email: ada.email, password }, { ...NOBODY, 'x-forwarded-for': ip });
  for (let at = 0; at < 5; at += 1) t.equal((await attempt('192.0.2.1', 'a wrong one for sure')).status, 401);
  const paused = await attempt('192.0.2.1');
  t.match(paused, { status: 429, body: { code: 'LOGIN_PAUSED' } });
  t.ok(Number(paused.headers['retry-after']) > 0);
  t.equal((await attempt('198.51.100.1')).status, 200, 'the owner');
});
