/** The session of a browser on a whole service: cookies, what a page has to show, and what other pages cannot do. */
import t, { type Test } from 'tap';
import type { LightMyRequestResponse } from 'fastify';
import { firstTeam } from '../../src/commands/core/caller.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { PASSWORD, signedIn } from '../support/people.js';

t.setTimeout(900_000);

const HOST = 'mail.example.com';
const ORIGIN = `https://${HOST}`;

/** Keeps cookies as a browser does, and sends them with each call. */
type Browser = Readonly<{
  cookies: Map<string, string>;
  /** As the server set them, with their attributes. */
  seen: string[];
  call: (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, more?: More) => Promise<LightMyRequestResponse>;
}>;
type More = Readonly<{ body?: unknown; headers?: Readonly<Record<string, string>>; csrf?: boolean }>;

let addresses = 0;

const openBrowser = (app: TestApp): Browser => {
  const cookies = new Map<string, string>();
  const seen: string[] = [];
  // Each from a network of its own: attempts are counted by it.
  const remoteAddress = `198.51.100.${(addresses += 1)}`;
  return {
    cookies,
    seen,
    call: async (method, url, { body, headers = {}, csrf = true } = {}) => {
      const token = cookies.get('__Host-sealpost_csrf_443');
      const response = await app.server.inject({
        method,
        url,
        remoteAddress,
        headers: {
          host: HOST,
          ...(cookies.size === 0 ? {} : { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') }),
          ...(csrf && token !== undefined ? { 'x-csrf-token': token } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      });
      for (const line of [response.headers['set-cookie'] ?? []].flat()) {
        seen.push(line);
        const [name = '', value = ''] = line.split(';')[0]!.split('=');
        if (/Max-Age=0;/.test(line)) cookies.delete(name);
        else cookies.set(name, value);
      }
      return response;
    },
  };
};

const open = async (t: Test): Promise<TestApp> => {
  const settings = { SEALPOST_PUBLIC_URL: ORIGIN, SEALPOST_SMTP_URL: 'mailbox:' };
  const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t), settings });
  t.teardown(app.stop);
  return app;
};

const signInAs = async (browser: Browser, email: string): Promise<LightMyRequestResponse> =>
  browser.call('POST', '/api/auth/login', { body: { email, password: PASSWORD, session: 'cookie' } });

const rejected = { statusCode: 403, body: /"CSRF_REJECTED"/ };

void t.test('a page signs in, reads, changes, refreshes and signs out', async (t) => {
  const app = await open(t);
  await signedIn(app.engine, { email: 'ada@example.com', teamId: (await firstTeam(app.engine))! });
  await app.whenCaughtUp();
  const ada = openBrowser(app);
  const signIn = await signInAs(ada, 'ada@example.com');
  t.equal(signIn.statusCode, 200);
  const body = signIn.json<Record<string, unknown>>();
  t.strictSame(
    Object.keys(body).sort(),
    ['csrfToken', 'expiresIn', 'sessionId', 'user'],
    'no token that a script could read',
  );
  const [access, refresh, csrf] = ada.seen;
  for (const line of ada.seen) {
    t.match(line, /^__Host-sealpost_\w+=[^;]+; Path=\/; Max-Age=\d+; Secure; SameSite=Lax/);
    t.notMatch(line, /Domain/i);
  }
  t.match(
    [access, refresh],
    [
      /^__Host-sealpost_access_443=eyJ.*; HttpOnly$/,
      /^__Host-sealpost_refresh_443=sealpost_rt_.*Max-Age=2592000.*; HttpOnly$/,
    ],
  );
  t.match(csrf, new RegExp(`^__Host-sealpost_csrf_443=${String(body['csrfToken'])};`));
  t.notMatch(csrf, /HttpOnly/);

  t.equal((await ada.call('GET', '/api/users/me')).statusCode, 200);
  t.equal((await ada.call('GET', '/api/templates', { csrf: false })).statusCode, 200, 'reading');
  t.match(await ada.call('PATCH', '/api/users/me', { body: { name: 'Ada E.' }, csrf: false }), rejected);
  t.match(await ada.call('PATCH', '/api/users/me', { body: { name: 'Ada E.' } }), { statusCode: 200, body: /Ada E\./ });
  for (const headers of [
    { origin: ORIGIN },
    { origin: ORIGIN, 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
  ])
    t.equal((await ada.call('PATCH', '/api/users/me', { body: { name: 'Ada' }, headers })).statusCode, 200);

  const before = new Map(ada.cookies);
  t.match(await ada.call('POST', '/api/auth/refresh', { csrf: false }), rejected);
  const refreshed = await ada.call('POST', '/api/auth/refresh');
  t.equal(refreshed.statusCode, 200);
  t.strictSame(Object.keys(refreshed.json<object>()).sort(), ['csrfToken', 'expiresIn', 'sessionId']);
  t.not(ada.cookies.get('__Host-sealpost_refresh_443'), before.get('__Host-sealpost_refresh_443'));
  t.equal(
    ada.cookies.get('__Host-sealpost_csrf_443'),
    before.get('__Host-sealpost_csrf_443'),
    'of the session, which goes on',
  );

  t.match(await ada.call('POST', '/api/auth/logout', { csrf: false }), rejected);
  t.equal((await ada.call('POST', '/api/auth/logout')).statusCode, 200);
  t.equal(ada.cookies.size, 0, 'cleared');
  for (const [name, value] of before) ada.cookies.set(name, value);
  t.match(
    await ada.call('GET', '/api/users/me'),
    { statusCode: 401, body: /SESSION_ENDED/ },
    'the cookie of an ended session',
  );
  t.match(await ada.call('PATCH', '/api/users/me', { body: { name: 'Eve' } }), {
    statusCode: 401,
    body: /SESSION_ENDED/,
  });
  t.match(await ada.call('POST', '/api/auth/refresh'), { statusCode: 401, body: /SESSION_ENDED/ });
  t.equal(ada.cookies.size, 0, 'a refresh that is refused for good clears them too');
  t.match(await ada.call('POST', '/api/auth/refresh'), { statusCode: 401, body: /UNAUTHORIZED/ });
});

void t.test('other pages act in nobody’s session', async (t) => {
  const app = await open(t);
  for (const email of ['ada@example.com', 'eve@example.com']) await signedIn(app.engine, { email });
  const [ada, eve] = [openBrowser(app), openBrowser(app)];
  await signInAs(ada, 'ada@example.com');
  await signInAs(eve, 'eve@example.com');
  const change = (headers: Readonly<Record<string, string>>, csrf = true) =>
    ada.call('PATCH', '/api/users/me', { body: { name: 'Changed' }, headers, csrf });
  const strangers = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `https://sub.${HOST}` },
    { 'sec-fetch-site': 'cross-site' },
    { origin: ORIGIN, 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of strangers)
    t.match(await change(headers), rejected, `${JSON.stringify(headers)} with the token itself`);
  t.match(
    await change({ 'x-csrf-token': eve.cookies.get('__Host-sealpost_csrf_443')! }),
    rejected,
    'the token of another session',
  );
  t.match(await change({ 'x-csrf-token': '' }), rejected);
  t.match(await change({ 'x-csrf-token': `${ada.cookies.get('__Host-sealpost_csrf_443')!}0` }), rejected);
  const own = ada.cookies.get('__Host-sealpost_csrf_443')!;
  ada.cookies.set('__Host-sealpost_csrf_443', eve.cookies.get('__Host-sealpost_csrf_443')!);
  t.match(await change({}), rejected, 'both set to what somebody else has: the cookie is compared with nothing');
  ada.cookies.set('__Host-sealpost_csrf_443', own);
  const form = await app.server.inject({
    method: 'POST',
    url: '/api/auth/logout',
    headers: {
      host: HOST,
      cookie: [...ada.cookies].map((pair) => pair.join('=')).join('; '),
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'https://evil.example',
      'sec-fetch-site': 'cross-site',
    },
    payload: 'a=b',
  });
  t.match(form, rejected, 'a form of another site');
  t.match(
    await ada.call('POST', '/api/auth/login', {
      body: { email: 'eve@example.com', password: PASSWORD, session: 'cookie' },
      headers: { origin: 'https://evil.example' },
    }),
    rejected,
    'no page signs a browser in as somebody else',
  );
  t.match((await ada.call('GET', '/api/users/me')).json(), { email: 'ada@example.com', name: 'Ada' });
});

void t.test('a sign-in adopts no session that was there before', async (t) => {
  const app = await open(t);
  for (const email of ['ada@example.com', 'eve@example.com']) await signedIn(app.engine, { email });
  const eve = openBrowser(app);
  const ofEve = (await signInAs(eve, 'eve@example.com')).json<{ sessionId: string }>();
  // Eve has put the cookies of her session into Ada's browser.
  const ada = openBrowser(app);
  for (const [name, value] of eve.cookies) ada.cookies.set(name, value);
  const ofAda = (await signInAs(ada, 'ada@example.com')).json<{ sessionId: string }>();
  t.not(ofAda.sessionId, ofEve.sessionId);
  for (const name of eve.cookies.keys()) t.not(ada.cookies.get(name), eve.cookies.get(name), name);
  t.match((await eve.call('GET', '/api/users/me')).json(), { email: 'eve@example.com' }, 'hers stays her own');
  t.match((await ada.call('GET', '/api/users/me')).json(), { email: 'ada@example.com' });
});

void t.test('a header goes before cookies, and only access tokens serve as one', async (t) => {
  const app = await open(t);
  const ada = openBrowser(app);
  const { accessToken } = await signedIn(app.engine, { email: 'eve@example.com' });
  await signedIn(app.engine, { email: 'ada@example.com' });
  await signInAs(ada, 'ada@example.com');
  const headers = { authorization: `Bearer ${accessToken}` };
  t.match((await ada.call('GET', '/api/users/me', { headers })).json(), { email: 'eve@example.com' });
  t.match(
    (await ada.call('PATCH', '/api/users/me', { body: { name: 'Eve' }, headers, csrf: false })).json(),
    { email: 'eve@example.com', name: 'Eve' },
    'what no browser sends by itself needs no token',
  );
  t.match(
    await ada.call('GET', '/api/users/me', { headers: { authorization: 'Bearer x' } }),
    { statusCode: 401 },
    'nor goes it on to the cookie',
  );
  t.equal((await ada.call('POST', '/api/auth/logout', { headers })).statusCode, 200);
  t.equal(ada.cookies.size, 3, 'the session of the browser is another');
  ada.cookies.set('__Host-sealpost_access_443', app.key);
  t.match(await ada.call('GET', '/api/emails'), { statusCode: 401, body: /UNAUTHORIZED/ }, 'an API key is no cookie');
  ada.cookies.delete('__Host-sealpost_access_443');
  ada.cookies.set('sealpost_access_443', accessToken);
  t.match(
    await ada.call('GET', '/api/users/me'),
    { statusCode: 401, body: /UNAUTHORIZED/ },
    'a name that a sub-domain can set',
  );
});

/** The cookies that a sign-in sets, or the code that it is refused with. */
const signInAt = async (
  app: TestApp,
  headers: Readonly<Record<string, string>>,
): Promise<readonly string[] | string> => {
  const answer = await app.server.inject({
    method: 'POST',
    url: '/api/auth/login',
    remoteAddress: `198.51.100.${(addresses += 1)}`,
    headers,
    payload: { email: 'ada@example.com', password: PASSWORD, session: 'cookie' },
  });
  return answer.statusCode === 200 ? [answer.headers['set-cookie'] ?? []].flat() : answer.json<{ code: string }>().code;
};

void t.test('over plain HTTP a browser signs in on loopback alone, by cookies that Safari keeps', async (t) => {
  const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t) });
  t.teardown(app.stop);
  await signedIn(app.engine, { email: 'ada@example.com', teamId: (await firstTeam(app.engine))! });
  await app.whenCaughtUp();
  for (const host of ['127.0.0.1:3000', 'localhost:3000', '[::1]:3000', 'mail.localhost:3000', 'LOCALHOST']) {
    const set = await signInAt(app, { host, origin: `http://${host}` });
    t.type(set, Array, `${host}: ${String(set)}`);
    for (const line of set)
      t.match(line, /^sealpost_(?:access|refresh|csrf)_0=[^;]+; Path=\/; Max-Age=\d+; SameSite=Lax/);
    for (const line of set) t.notMatch(line, /Secure|Domain/, host);
    const cookie = [...set].map((line) => line.split(';')[0]).join('; ');
    const read = (headers: Readonly<Record<string, string>>) =>
      app.server.inject({ url: '/api/users/me', remoteAddress: '198.51.100.250', headers });
    t.equal((await read({ host, cookie })).statusCode, 200, host);
    t.equal((await read({ host: 'nas:3000', cookie })).statusCode, 401, 'a name that only leads to loopback');
  }
  for (const host of ['nas:3000', '192.168.1.7:3000', 'localhost.example.com', '127.0.0.1.example.com', 'xlocalhost'])
    for (const headers of [{ host }, { host, origin: `http://${host}` }])
      t.equal(await signInAt(app, headers), 'HTTPS_REQUIRED', JSON.stringify(headers));
  t.match(
    await signInAt(app, { host: 'nas:3000', origin: 'https://nas:3000' }),
    [/^__Host-sealpost_access_0=.*; Path=\/; Max-Age=900; Secure/],
    'a proxy serves HTTPS, and nobody told the service',
  );
});

void t.test('instances on one host keep sessions of their own', async (t) => {
  const names: string[] = [];
  for (const url of [
    'https://example.com',
    'https://example.com:8443',
    'https://example.com/mail',
    'https://example.com/a.b/',
  ]) {
    const app = await startTestApp({
      isFounded: true,
      dataDir: temporaryDirectory(t),
      settings: { SEALPOST_PUBLIC_URL: url, SEALPOST_SMTP_URL: 'mailbox:' },
    });
    t.teardown(app.stop);
    await signedIn(app.engine, { email: 'ada@example.com' });
    const { host, origin } = new URL(url);
    const set = await signInAt(app, { host, origin });
    names.push(...[...set].map((line) => line.split('=')[0]!));
    t.equal(await signInAt(app, { host: 'nas:3000', origin: 'http://nas:3000' }), 'HTTPS_REQUIRED');
  }
  t.strictSame(
    names.filter((name) => name.includes('access')),
    ['443', '8443', '443_mail', '443_a.2eb'].map((suffix) => `__Host-sealpost_access_${suffix}`),
  );
  t.equal(new Set(names).size, names.length);
});
