/** People manage their account on a whole service: second factor, password, sessions. Failed attempts are paused. */
import t, { type Test } from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined, parseSessionId, sessionStream } from '../../src/domain/core/ids.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { advanceUntil, startTestApp, type Answer, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock } from '../support/fake-clock.js';
import { codeAt, PASSWORD, signedIn, type Person } from '../support/people.js';
import type { SignedIn } from '../../src/api/people.js';

t.setTimeout(900_000);

const open = async (t: Test): Promise<TestApp> => {
  const app = await startTestApp({ dataDir: temporaryDirectory(t), settings: { SEALPOST_TRUST_PROXY: 'true' } });
  t.teardown(app.stop);
  return app;
};

const bearer = ({ accessToken }: Pick<SignedIn, 'accessToken'>) => ({ authorization: `Bearer ${accessToken}` });

/** Calls, each from a network of its own where none is given. */
const callsOf = ({ call }: TestApp) => {
  let networks = 0;
  return <Body = Readonly<Record<string, unknown>>>(
    method: 'GET' | 'POST' | 'DELETE' | 'PATCH',
    path: string,
    {
      body,
      as,
      from = `198.51.100.${(networks += 1)}`,
    }: Readonly<{ body?: unknown; as?: Pick<SignedIn, 'accessToken'>; from?: string }>,
  ): Promise<Answer<Body>> =>
    call<Body>(method, path, body, {
      'x-forwarded-for': from,
      ...(as === undefined ? { authorization: '' } : bearer(as)),
    });
};

void t.test('a team that asks for a second factor, from the setting to the first call', async (t) => {
  const app = await open(t);
  const call = callsOf(app);
  const teamId = (await firstTeam(app.engine))!;
  const ada = await signedIn(app.engine, { teamId });
  await app.whenCaughtUp();
  t.equal((await call('PATCH', `/api/teams/${teamId}`, { body: { requiresSecondFactor: true }, as: ada })).status, 200);
  t.match(await call('GET', '/api/emails', { as: ada }), { status: 403, body: { code: 'SECOND_FACTOR_REQUIRED' } });
  t.match(await call('GET', '/api/users/me', { as: ada }), { status: 200, body: { secondFactor: false } });
  t.equal((await call('GET', '/api/teams', { as: ada })).status, 200);
  const prepared = await call<{ secret: string }>('POST', '/api/auth/totp/prepare', {
    body: { password: PASSWORD },
    as: ada,
  });
  t.equal(prepared.status, 200);
  const code = codeAt(prepared.body.secret, Date.now());
  const confirmed = await call<{ recoveryCodes: string[] }>('POST', '/api/auth/totp/confirm', {
    body: { code },
    as: ada,
  });
  t.equal(confirmed.status, 200);
  t.equal((await call('GET', '/api/emails', { as: ada })).status, 200);
  t.equal((await call('GET', '/api/emails', { as: ada })).headers['cache-control'], 'no-store');
  const credentials = { email: 'ada@example.com', password: PASSWORD };
  t.match(await call('POST', '/api/auth/login', { body: credentials }), {
    status: 401,
    body: { code: 'CODE_REQUIRED' },
  });
  const [first, second, third] = confirmed.body.recoveryCodes;
  const again = await call<SignedIn>('POST', '/api/auth/login', { body: { ...credentials, code: first } });
  t.match(again, { status: 200, body: { user: { secondFactor: true } } });
  t.equal((await call('GET', '/api/emails', { as: again.body })).status, 200);
  t.equal(
    (await call('POST', '/api/auth/totp/recovery-codes', { body: { password: PASSWORD, code: second }, as: ada }))
      .status,
    200,
  );
  t.match(await call('POST', '/api/auth/totp/remove', { body: { password: PASSWORD, code: third }, as: ada }), {
    status: 401,
    body: { code: 'INVALID_CODE' },
  });
});

void t.test('whoever has a session tries no more passwords and codes than whoever has not', async (t) => {
  const app = await open(t);
  const call = callsOf(app);
  const ada = await signedIn(app.engine);
  const wrong = 'a wrong one for sure';
  const attempts: readonly (readonly ['POST' | 'DELETE', string, unknown])[] = [
    ['POST', '/api/auth/totp/prepare', { password: wrong }],
    ['POST', '/api/auth/totp/confirm', { code: '000000' }],
    ['POST', '/api/auth/password/change', { currentPassword: wrong, newPassword: 'two herons on a roof' }],
    ['POST', '/api/auth/totp/remove', { password: wrong, code: '000000' }],
    ['POST', '/api/auth/totp/recovery-codes', { password: wrong, code: '000000' }],
    ['DELETE', '/api/users/me', { password: wrong }],
  ];
  for (const [at, [method, path, body]] of attempts.entries()) {
    const answer = await call(method, path, { body, as: ada, from: '192.0.2.1' });
    t.equal(answer.status, at < 5 ? (path.endsWith('confirm') ? 400 : 401) : 429, path);
  }
  t.match(
    await call('POST', '/api/auth/login', {
      body: { email: 'ada@example.com', password: PASSWORD },
      from: '192.0.2.1',
    }),
    {
      status: 429,
      body: { code: 'LOGIN_PAUSED' },
    },
  );
  for (const [method, path, body] of attempts)
    t.match(
      await call(method, path, { body, as: ada, from: '192.0.2.1' }),
      { status: 429, body: { code: 'LOGIN_PAUSED' } },
      path,
    );
});

void t.test('sessions are listed and ended', async (t) => {
  const app = await open(t);
  const call = callsOf(app);
  const ada = await signedIn(app.engine);
  const credentials = { email: 'ada@example.com', password: PASSWORD };
  const others: SignedIn[] = [];
  for (let n = 0; n < 3; n += 1)
    others.push((await call<SignedIn>('POST', '/api/auth/login', { body: credentials })).body);
  await app.whenCaughtUp();
  type Listed = { data: Person[]; meta: { total: number; nextCursor: string | null } };
  const listed = await call<Listed>('GET', '/api/users/me/sessions?limit=3', { as: ada });
  t.match(listed.body, { data: [{ id: others[2]!.sessionId, ipAddress: '198.51.100.3' }, {}, {}], meta: { total: 4 } });
  const rest = await call('GET', `/api/users/me/sessions?limit=3&cursor=${listed.body.meta.nextCursor!}`, { as: ada });
  t.match(rest.body, { data: [{ id: ada.sessionId, current: true }] });
  t.match(await call('GET', '/api/users/me/sessions', {}), { status: 401 });
  t.match(await app.call('GET', '/api/users/me/sessions'), { status: 403 }, 'a key is nobody');
  const gone = others[0]!;
  t.match(await call('DELETE', `/api/users/me/sessions/${gone.sessionId}`, { as: ada }), {
    status: 200,
    body: { deleted: true },
  });
  t.match(await call('GET', '/api/users/me', { as: gone }), { status: 401, body: { code: 'SESSION_ENDED' } });
  t.match(await call('DELETE', '/api/users/me/sessions/ses_x', { as: ada }), {
    status: 404,
    body: { code: 'SESSION_NOT_FOUND' },
  });
  t.equal((await call('DELETE', '/api/users/me/sessions', { as: ada })).status, 200);
  for (const other of others) t.equal((await call('GET', '/api/users/me', { as: other })).status, 401);
  t.equal((await call('GET', '/api/users/me', { as: ada })).status, 200);
  await app.whenCaughtUp();
  t.match((await call<Listed>('GET', '/api/users/me/sessions', { as: ada })).body, {
    data: [{ current: true }],
    meta: { total: 1 },
  });
  const newPassword = 'two herons on a roof';
  const body = { currentPassword: PASSWORD, newPassword };
  t.equal((await call('POST', '/api/auth/password/change', { body, as: ada })).status, 200);
  t.equal((await call('POST', '/api/auth/login', { body: { ...credentials, password: newPassword } })).status, 200);
});

void t.test('a session that nobody refreshes ends by itself, and with it from where it was used', async (t) => {
  const clock = fakeClock();
  const app = await startTestApp({ dataDir: temporaryDirectory(t), clock });
  t.teardown(app.stop);
  const ada = await signedIn(app.engine);
  const stream = sessionStream(assertDefined(parseSessionId(ada.sessionId), 'session id'));
  await clock.advance(29 * DAY_MS);
  t.equal((await app.engine.eventLog.load(stream)).length, 1);
  await clock.advance(DAY_MS);
  const ended = async () => (await app.engine.eventLog.load(stream)).length === 2;
  await advanceUntil(clock, 30_000, 'the session is ended', ended);
  await advanceUntil(
    clock,
    1_000,
    'its key is destroyed',
    async () => (await app.engine.eventLog.existingKey(stream)) === undefined,
  );
  const again = await signedIn(app.engine, { email: 'bea@example.com' });
  await app.whenCaughtUp();
  t.match((await app.call('GET', '/api/users/me/sessions', undefined, bearer(again))).body, {
    data: [{ current: true }],
  });
});
