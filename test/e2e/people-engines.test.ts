/** People manage their account through two processes that share the stores, on each engine. */
import t, { type Test } from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import type { SignedIn } from '../../src/api/people.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { engineNames, openEngineOfTest, type EngineName } from '../support/engines.js';
import { addMember, codeAt, PASSWORD, signedIn } from '../support/people.js';
import { runCommand } from '../support/server-process.js';

t.setTimeout(900_000);

const bearer = ({ accessToken }: Pick<SignedIn, 'accessToken'>) => ({ authorization: `Bearer ${accessToken}` });

const email = 'gone.here@private.example';

let networks = 0;
/** Each from a network of its own: attempts are counted by it. */
const login = (app: TestApp, code?: string) =>
  app.call<SignedIn>(
    'POST',
    '/api/auth/login',
    { email, password: PASSWORD, ...(code === undefined ? {} : { code }) },
    {
      authorization: '',
      'x-forwarded-for': `198.51.100.${(networks += 1)}`,
    },
  );

const suite = async (t: Test, name: EngineName): Promise<void> => {
  const engine = await openEngineOfTest(t, name);
  if (engine === undefined) return;
  const settings = (role: string) => ({
    ...engine.ofProcess(),
    SEALPOST_ROLES: role,
    SEALPOST_LOG_LEVEL: 'silent',
    SEALPOST_TRUST_PROXY: 'true',
  });
  const start = async (role: string): Promise<TestApp> => {
    const { SEALPOST_DATA_DIR: dataDir = '', ...rest } = settings(role) as Readonly<Record<string, string>>;
    const app = await startTestApp({ dataDir, settings: rest });
    t.teardown(app.stop);
    return app;
  };
  const [one, two] = [await start('http,process,project'), await start('http')];
  const teamId = (await firstTeam(one.engine))!;
  const ada = await signedIn(one.engine, { email, teamId });
  const asAda = { ...bearer(ada), 'x-team-id': teamId };
  const isLetIn = async (app: TestApp, session: SignedIn) =>
    (await app.call('GET', '/api/users/me', undefined, bearer(session))).status;

  const others = (await Promise.all([1, 2, 3].map(() => login(two)))).map(({ body }) => body);
  for (const other of others) t.equal(await isLetIn(two, other), 200);
  await one.whenCaughtUp();
  t.match((await two.call('GET', '/api/users/me/sessions', undefined, asAda)).body, { meta: { total: 4 } });
  await one.call('DELETE', `/api/users/me/sessions/${others[0]!.sessionId}`, undefined, asAda);
  t.equal(
    await isLetIn(two, others[0]!),
    401,
    'what one process has ended is refused by the other when it is answered',
  );
  await one.call('DELETE', '/api/users/me/sessions', undefined, asAda);
  for (const other of others) t.equal(await isLetIn(two, other), 401);
  t.equal(await isLetIn(two, ada), 200);
  await one.whenCaughtUp();
  t.match((await two.call('GET', '/api/users/me/sessions', undefined, asAda)).body, {
    data: [{ current: true }],
    meta: { total: 1 },
  });

  await one.call('PATCH', `/api/teams/${teamId}`, { requiresSecondFactor: true }, asAda);
  t.match(await two.call('GET', '/api/emails', undefined, asAda), {
    status: 403,
    body: { code: 'SECOND_FACTOR_REQUIRED' },
  });
  const from = (n: number) => ({ ...asAda, 'x-forwarded-for': `203.0.113.${n}` });
  const { body: prepared } = await one.call<{ secret: string }>(
    'POST',
    '/api/auth/totp/prepare',
    { password: PASSWORD },
    from(1),
  );
  const code = codeAt(prepared.secret, Date.now());
  const confirmed = await two.call<{ recoveryCodes: string[] }>('POST', '/api/auth/totp/confirm', { code }, from(2));
  for (const app of [one, two])
    t.equal((await app.call('GET', '/api/emails', undefined, asAda)).status, 200, 'confirmed for both');
  const raced = await Promise.all(
    Array.from({ length: 10 }, (_, at) => login([one, two][at % 2]!, confirmed.body.recoveryCodes[0])),
  );
  t.equal(raced.filter(({ status }) => status === 200).length, 1, 'a recovery code is good in one of them, once');

  const bea = await signedIn(two.engine, { email: 'bea@example.com' });
  await addMember(two.engine, teamId, bea.userId, 'owner');
  const erased = await two.call(
    'DELETE',
    '/api/users/me',
    { password: PASSWORD, code: confirmed.body.recoveryCodes[1] },
    from(3),
  );
  t.equal(erased.status, 200, erased.text);
  for (const session of [ada, raced.find(({ status }) => status === 200)!.body])
    for (const app of [one, two]) t.equal(await isLetIn(app, session), 401);
  t.equal((await login(one)).status, 401);
  await Promise.all([one.stop(), two.stop()]);
  const command = (...args: readonly string[]) => runCommand(args, settings('http,process,project'), 120_000);
  t.match(await command('verify'), { code: 0 });
  t.match(await command('rebuild'), { code: 0 });
  t.notOk((await command('replay', '--all', '--json')).stdout.includes(email));
};

for (const name of engineNames) await t.test(name, (t) => suite(t, name));
