/** Sign-in by a real OpenID provider (oidc-provider, as a program), walked through as a browser does, with cookies. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { causeOf, systemCaller } from '../../src/commands/core/caller.js';
import { eraseUser } from '../../src/commands/people/erasure.js';
import { assertDefined, NO_TEAM, parseUserId } from '../../src/domain/core/ids.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { mailsIn } from '../support/account-world.js';
import { freePort } from '../support/free-port.js';
import { eventually } from '../support/wait.js';
import { codeAt, PASSWORD } from '../support/people.js';

const PUBLIC_URL = 'http://127.0.0.1:0';
const program = fileURLToPath(new URL('../../../test/support/sign-in-provider.mjs', import.meta.url));

type Account = Readonly<{ email?: string; email_verified?: boolean; name?: string }>;
type Jar = Map<string, string>;
type Page = Readonly<{ status: number; location: string; text: string }>;

const accounts: Readonly<Record<string, Account>> = {
  ada: { email: 'Ada@example.com', email_verified: true, name: 'Ada' },
  bea: { email: 'bea@example.com', email_verified: true, name: 'Bea' },
  cy: { email: 'cy@example.com', email_verified: false, name: 'Cy' },
  dan: { email: 'dan@example.org', email_verified: true, name: 'Dan' },
  eve: { name: 'Eve' },
  fay: { email: 'fay@example.com', email_verified: true, name: '<b>\u0000' },
  gil: { email: 'gil@example.com', email_verified: true, name: 'Gil' },
};

const keep = (jar: Jar, given: readonly string[]): void => {
  for (const cookie of given) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
    if (value === '' || /max-age=0/i.test(cookie)) jar.delete(name);
    else jar.set(name, value);
  }
};

const cookiesOf = (jar: Jar): string => [...jar].map(([name, value]) => `${name}=${value}`).join('; ');

const openProvider = async (t: Test, id: string, claimsInIdToken: boolean) => {
  const port = await freePort();
  const client = {
    client_id: 'sealpost',
    client_secret: 'a secret of the test',
    redirect_uris: [`${PUBLIC_URL}/api/auth/oidc/${id}/callback`],
  };
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, PROVIDER: JSON.stringify({ port, clients: [client], accounts, claimsInIdToken }) },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill();
    await ended;
  };
  t.teardown(stop);
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (text: Buffer) => text.includes('listening') && resolve());
    child.on('exit', () => reject(new Error('the provider ended')));
  });
  const issuer = `http://127.0.0.1:${port}`;
  return {
    stop,
    settings: {
      id,
      label: `Provider ${id}`,
      issuer,
      clientId: 'sealpost',
      clientSecret: client.client_secret,
      internal: true,
    },
  };
};

/** Signs in at the provider. Out: the address to which it sends the browser back. */
const atProvider = async (url: string, login: string): Promise<URL> => {
  const jar: Jar = new Map();
  let next = url;
  let form: string | undefined;
  for (let steps = 0; steps < 10; steps += 1) {
    const response = await fetch(next, {
      redirect: 'manual',
      headers: {
        cookie: cookiesOf(jar),
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form === undefined ? {} : { method: 'POST', body: form }),
    });
    keep(jar, response.headers.getSetCookie());
    const location = response.headers.get('location');
    if (location === null) {
      const action = /action="([^"]+)"/.exec(await response.text())?.[1];
      if (action === undefined) throw new Error(`${response.status} of ${next}`);
      next = new URL(action, next).href;
      form = new URLSearchParams({ prompt: 'login', login, password: 'any' }).toString();
    } else {
      const to = new URL(location, next);
      if (to.origin === PUBLIC_URL) return to;
      next = to.href;
      form = undefined;
    }
  }
  throw new Error('the provider asks for ever');
};

const open = async (t: Test, more: Readonly<Record<string, string>> = {}) => {
  const acme = await openProvider(t, 'acme', false);
  const other = await openProvider(t, 'other', true);
  const providers = [
    { ...acme.settings, domains: ['example.com'], authoritative: true },
    { ...other.settings, domains: '*' },
  ];
  const app = await startTestApp({
    dataDir: t.testdir(),
    settings: { SEALPOST_SIGN_IN_PROVIDERS: JSON.stringify(providers), SEALPOST_REGISTRATION: 'open', ...more },
  });
  t.teardown(() => app.stop());
  // The first user owns the first team, and signs in by a password.
  await app.call('POST', '/api/auth/register', { email: 'owner@example.net', password: PASSWORD, name: 'Owner' });
  let pages = 0;
  const page = async (jar: Jar, path: string, form?: Readonly<Record<string, string>>): Promise<Page> => {
    const answer = await app.server.inject({
      method: form === undefined ? 'GET' : 'POST',
      url: path,
      // Attempts with a password are counted by address, too.
      remoteAddress: `192.0.2.${(pages += 1)}`,
      headers: {
        cookie: cookiesOf(jar),
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form === undefined ? {} : { payload: new URLSearchParams(form).toString() }),
    });
    keep(jar, [answer.headers['set-cookie'] ?? []].flat());
    return { status: answer.statusCode, location: String(answer.headers.location ?? ''), text: answer.body };
  };
  /** Begins at a provider. Out: the address there. */
  const start = async (jar: Jar, id = 'acme', query = ''): Promise<string> => {
    const begun = await page(jar, `/api/auth/oidc/${id}/start${query}`);
    if (begun.status !== 302) throw new Error(`${begun.status} ${begun.text}`);
    return begun.location;
  };
  const back = (jar: Jar, url: URL): Promise<Page> => page(jar, `${url.pathname}${url.search}`);
  const signIn = async (jar: Jar, login: string, id = 'acme', query = ''): Promise<Page> =>
    back(jar, await atProvider(await start(jar, id, query), login));
  const me = async (jar: Jar) =>
    (await app.server.inject({ url: '/api/users/me', headers: { cookie: cookiesOf(jar) } })).json<{
      id: string;
      email: string;
      name: string;
      emailVerified: boolean;
    }>();
  return { app, acme, other, page, start, back, signIn, me };
};

const isSignedIn = (jar: Jar): boolean => jar.has('sealpost_access_0');

const refusedWith = (t: Test, jar: Jar, { status, text }: Page, expected: number, words: RegExp): void => {
  t.equal(status, expected);
  t.match(text, words);
  t.notOk(isSignedIn(jar), 'nobody is signed in');
};

const asPerson = async (app: TestApp, email: string) => {
  const { body } = await app.call<{ accessToken: string }>('POST', '/api/auth/login', { email, password: PASSWORD });
  return { authorization: `Bearer ${body.accessToken}` };
};

void t.test('a person signs in by a provider', async (t) => {
  const { app, page, signIn, start, back, me, acme } = await open(t);
  t.same((await app.call('GET', '/api/auth/oidc')).body, {
    data: [
      { id: 'acme', label: 'Provider acme' },
      { id: 'other', label: 'Provider other' },
    ],
  });
  t.match((await page(new Map(), '/account')).text, /href="\/api\/auth\/oidc\/acme\/start">Sign in with Provider acme/);

  void t.test('the first time as a new user, then as the same one, whatever the address is then', async (t) => {
    const jar: Jar = new Map();
    const signedIn = await signIn(jar, 'ada', 'acme', '?returnTo=/docs%3Fa%3D1');
    t.match(signedIn, { status: 303, location: '/docs?a=1' });
    t.notOk(jar.has('sealpost_sign_in_0'), 'the attempt is over');
    const first = await me(jar);
    t.match(first, { email: 'ada@example.com', name: 'Ada', emailVerified: true });
    const again: Jar = new Map();
    await signIn(again, 'ada');
    t.same(await me(again), first);
    const listed = await app.server.inject({ url: '/api/users/me/identities', headers: { cookie: cookiesOf(again) } });
    const [identity] = listed.json<{ data: { id: string; provider: string }[] }>().data;
    t.match(identity, { provider: 'acme', label: 'Provider acme', email: 'ada@example.com' });
    const fay: Jar = new Map();
    await signIn(fay, 'fay');
    t.match(await me(fay), { name: 'fay' }, 'a name that cannot stand anywhere is replaced');
  });

  void t.test('a user with that verified address is linked by a provider that is authoritative only', async (t) => {
    const anonymous: Jar = new Map();
    const refused = await signIn(anonymous, 'dan', 'other');
    t.equal(refused.status, 303, 'nobody has the address yet');
    const bea = { email: 'bea@example.com', password: PASSWORD, name: 'Somebody' };
    await app.call('POST', '/api/auth/register', bea);
    const jar: Jar = new Map();
    t.equal((await signIn(jar, 'bea', 'other')).status, 303, 'whoever registered has not proved the address');
    t.match(await me(jar), { name: 'Bea' });
    const { name: _name, ...credentials } = bea;
    t.equal((await app.call('POST', '/api/auth/login', credentials)).status, 401, 'their password is good no more');
    const second: Jar = new Map();
    t.equal((await signIn(second, 'bea', 'acme')).status, 303, 'the authoritative one is linked too');
    t.same((await me(second)).email, 'bea@example.com');
    const third: Jar = new Map();
    refusedWith(t, third, await signIn(third, 'ada', 'other'), 403, /link Provider other/);
  });

  void t.test('hostile answers sign nobody in', async (t) => {
    const jar: Jar = new Map();
    const wrongState = await atProvider(await start(jar), 'ada');
    wrongState.searchParams.set('state', 'another');
    refusedWith(t, jar, await back(jar, wrongState), 400, /not one to this sign-in/);

    const noCookie = await atProvider(await start(new Map()), 'ada');
    refusedWith(t, jar, await back(new Map(), noCookie), 400, /has not begun this sign-in/);

    const good = await atProvider(await start(jar), 'ada');
    const kept = new Map(jar);
    t.equal((await back(jar, good)).status, 303);
    refusedWith(t, kept, await back(kept, good), 400, /not one to this sign-in/);

    const nonce: Jar = new Map();
    const changed = new URL(await start(nonce));
    changed.searchParams.set('nonce', 'another');
    refusedWith(t, nonce, await back(nonce, await atProvider(changed.href, 'ada')), 400, /not one to this sign-in/);

    const pkce: Jar = new Map();
    const challenge = new URL(await start(pkce));
    challenge.searchParams.set('code_challenge', 'a'.repeat(43));
    refusedWith(t, pkce, await back(pkce, await atProvider(challenge.href, 'ada')), 400, /not one to this sign-in/);

    const mixed: Jar = new Map();
    const answer = await atProvider(await start(mixed), 'ada');
    const before = new Map(mixed);
    const wrongIssuer = new URL(answer);
    wrongIssuer.searchParams.set('iss', 'http://127.0.0.1:1');
    refusedWith(t, mixed, await back(mixed, wrongIssuer), 400, /not one to this sign-in/);
    const toOther = new URL(answer.href.replace('/acme/', '/other/'));
    refusedWith(t, before, await back(before, toOther), 400, /has not begun this sign-in/);

    const cookie: Jar = new Map();
    const forged = await atProvider(await start(cookie), 'ada');
    const [payload, mark] = cookie.get('sealpost_sign_in_0')!.split('.') as [string, string];
    const read = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const other = Buffer.from(JSON.stringify({ ...read, linkTo: '018c0000-0000-7000-8000-000000000001' }));
    cookie.set('sealpost_sign_in_0', `${other.toString('base64url')}.${mark}`);
    refusedWith(t, cookie, await back(cookie, forged), 400, /has not begun this sign-in/);

    const denied: Jar = new Map();
    const state = new URL(await start(denied)).searchParams.get('state')!;
    const said = new URL(`${PUBLIC_URL}/api/auth/oidc/acme/callback?error=access_denied&state=${state}`);
    said.searchParams.set('iss', acme.settings.issuer);
    refusedWith(t, denied, await back(denied, said), 400, /Provider acme ended the sign-in/);
  });

  void t.test('who may not: no verified address, another domain, a link to elsewhere', async (t) => {
    const jar: Jar = new Map();
    refusedWith(t, jar, await signIn(jar, 'cy'), 403, /no address of yours that it has verified/);
    refusedWith(t, jar, await signIn(jar, 'cy', 'other'), 403, /no address of yours that it has verified/);
    refusedWith(t, jar, await signIn(jar, 'eve'), 403, /no address of yours that it has verified/);
    refusedWith(t, jar, await signIn(jar, 'dan'), 403, /Addresses of example\.org do not sign in/);
    for (const elsewhere of [
      '//evil.example',
      'https://evil.example',
      '/\\evil.example',
      '\\\\evil.example',
      '/%09/evil',
      'javascript:1',
      '/\t/evil.example',
      '/.//evil.example',
      '/%2e//evil.example',
      '/docs/..//evil.example',
    ])
      t.match(
        await page(jar, `/api/auth/oidc/acme/start?returnTo=${encodeURIComponent(elsewhere)}`),
        elsewhere === '/%09/evil' ? { status: 302 } : { status: 400, text: /a path of this service/ },
        elsewhere,
      );
    t.match(await page(jar, '/api/auth/oidc/nobody/start'), { status: 404 });
    t.match(await page(jar, '/api/auth/oidc/nobody/callback?code=1&state=2'), { status: 404 });
  });
});

void t.test('second factor, link, unlink, erasure', async (t) => {
  const { app, page, signIn, me, back } = await open(t);
  const jar: Jar = new Map();
  const link = async (login: string, id: string, code = ''): Promise<Page> => {
    const begun = await page(jar, `/account/link/${id}`, { email: 'owner@example.net', password: PASSWORD, code });
    const url = /class="way" href="([^"]+)"/.exec(begun.text)?.[1]?.replaceAll('&amp;', '&');
    if (url === undefined) return begun;
    return back(jar, await atProvider(url, login));
  };
  t.match(await page(jar, '/account/link/other'), { status: 200, text: /Link Provider other to your account/ });
  t.match(await page(jar, '/account/link/other', { email: 'owner@example.net', password: 'wrong' }), {
    status: 401,
    text: /address or the password is wrong/,
  });
  const foreign = await app.server.inject({
    method: 'POST',
    url: '/account/link/other',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://evil.example' },
    payload: new URLSearchParams({ email: 'owner@example.net', password: PASSWORD }).toString(),
  });
  t.equal(foreign.statusCode, 403, 'a form of another site begins no link');
  t.notOk(foreign.headers['set-cookie']);
  t.match(await link('gil', 'other'), { status: 200, text: /Provider other is linked/ });
  t.notOk(isSignedIn(jar));
  t.equal((await signIn(jar, 'gil', 'other')).status, 303);
  t.match(await me(jar), { email: 'owner@example.net' }, 'another address at the provider signs in the linked user');

  const owner = await asPerson(app, 'owner@example.net');
  const prepared = await app.call<{ secret: string }>('POST', '/api/auth/totp/prepare', { password: PASSWORD }, owner);
  const code = codeAt(prepared.body.secret, Date.now());
  const confirmed = await app.call<{ recoveryCodes: string[] }>('POST', '/api/auth/totp/confirm', { code }, owner);
  const [recovery = '', next = ''] = confirmed.body.recoveryCodes;
  const second: Jar = new Map();
  const asks = await signIn(second, 'gil', 'other');
  t.match(asks, { status: 200, text: /second factor/ });
  t.notOk(isSignedIn(second));
  t.match(await page(second, '/account/sign-in/code', { code: '000000' }), { status: 401, text: /code is wrong/ });
  t.match(await page(second, '/account/sign-in/code', { code: recovery }), { status: 303, location: '/account' });
  t.ok(isSignedIn(second));
  t.match(await page(new Map(), '/account/sign-in/code', { code: next }), { status: 400 });

  const bea: Jar = new Map();
  t.equal((await signIn(bea, 'bea', 'other')).status, 303);
  t.match(await link('bea', 'other', next), { status: 400, text: /Another user signs in by this account/ });

  const mine = await app.call<{ data: { id: string }[] }>('GET', '/api/users/me/identities', undefined, owner);
  t.equal(mine.body.data.length, 1);
  const [{ id }] = mine.body.data as [{ id: string }];
  const beas = { cookie: cookiesOf(bea), 'x-csrf-token': bea.get('sealpost_csrf_0')! };
  const ofAnother = await app.server.inject({ method: 'DELETE', url: `/api/users/me/identities/${id}`, headers: beas });
  t.equal(ofAnother.statusCode, 404);
  t.equal((await app.call('DELETE', `/api/users/me/identities/${id}`, undefined, owner)).status, 200);
  const after: Jar = new Map();
  t.equal((await signIn(after, 'gil', 'other')).status, 303, 'the identity is free: a new user');
  t.match(await me(after), { email: 'gil@example.com' });

  const { id: beaId } = await me(bea);
  const nothing = { teams: [], sessions: [], grants: [], mails: [] };
  const cause = { ...causeOf(app.engine, systemCaller(NO_TEAM, 'test', 'test')) };
  await eraseUser(app.engine, assertDefined(parseUserId(beaId), 'user id'), async () => nothing, cause);
  const anew: Jar = new Map();
  t.equal((await signIn(anew, 'bea', 'other')).status, 303);
  t.not((await me(anew)).id, beaId, 'an erased user holds no identity');
});

void t.test('first sign-ins at once make one user', async (t) => {
  const { start, back, me } = await open(t);
  for (const login of ['ada', 'gil', 'fay']) {
    const jars: readonly Jar[] = Array.from({ length: 6 }, () => new Map<string, string>());
    const answers: URL[] = [];
    for (const jar of jars) answers.push(await atProvider(await start(jar), login));
    const pages = await Promise.all(jars.map((jar, at) => back(jar, answers[at]!)));
    t.same(
      pages.map(({ status, text }) => (status === 303 ? 303 : text.slice(-1200))),
      jars.map(() => 303),
      login,
    );
    const ids = new Set<string>();
    for (const jar of jars) ids.add((await me(jar)).id);
    t.equal(ids.size, 1, 'all are signed in as the same user');
    const later: Jar = new Map();
    await back(later, await atProvider(await start(later), login));
    t.ok(ids.has((await me(later)).id), 'who can sign in again');
  }
});

void t.test('by invitation alone; a provider that is away', async (t) => {
  const { app, acme, page, signIn, me } = await open(t, { SEALPOST_REGISTRATION: 'invited' });
  const jar: Jar = new Map();
  refusedWith(t, jar, await signIn(jar, 'ada'), 403, /needs an invitation/);
  const owner = await asPerson(app, 'owner@example.net');
  const teams = await app.call<{ data: { id: string }[] }>('GET', '/api/teams', undefined, owner);
  const team = teams.body.data[0]!.id;
  const invited = await app.call(
    'POST',
    `/api/teams/${team}/invitations`,
    { email: 'ada@example.com', role: 'member' },
    owner,
  );
  t.equal(invited.status, 201);
  const { token = '' } = (await mailsIn(app.engine.eventLog)).find(({ page: one }) => one === 'invitation') ?? {};
  t.match(
    (await page(jar, `/account/invitation?token=${token}`)).text,
    /start\?invitation=sealpost_inv_[^"]+">Join with/,
  );
  refusedWith(t, jar, await signIn(jar, 'bea', 'acme', `?invitation=${token}`), 403, /to another address/);
  t.equal((await signIn(jar, 'ada', 'acme', `?invitation=${token}`)).status, 303);
  t.match(await me(jar), { email: 'ada@example.com' });
  const members = await app.call<{ data: { email: string; role: string }[] }>(
    'GET',
    `/api/teams/${team}/members`,
    undefined,
    owner,
  );
  t.match(
    members.body.data.find(({ email }) => email === 'ada@example.com'),
    { role: 'member' },
  );
  const seen = await eventually('the sign-in is in the audit log', async () => {
    const { body } = await app.call<{ data: { action: string; detail: string | null }[] }>(
      'GET',
      '/api/audit-logs?category=authentication',
      undefined,
      owner,
    );
    const actions = body.data.map(({ action, detail }) => `${action} ${detail ?? ''}`);
    return actions.includes('session.started by acme') || undefined;
  });
  t.ok(seen);

  await acme.stop();
  const away: Jar = new Map([...jar].filter(([name]) => name === 'none'));
  const begun = await page(away, '/api/auth/oidc/acme/start');
  const answered =
    begun.status === 302
      ? await page(
          away,
          `/api/auth/oidc/acme/callback?code=x&state=${new URL(begun.location).searchParams.get('state')}&iss=${encodeURIComponent(acme.settings.issuer)}`,
        )
      : begun;
  refusedWith(t, away, answered, 503, /does not answer as it should/);
});
