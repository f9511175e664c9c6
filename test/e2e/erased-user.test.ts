/** A person who goes: nothing personal of them is left in any file, what they made goes on, and the log is whole. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { addMember, codeAt, PASSWORD, signedIn, type Person } from '../support/people.js';
import { runCommand } from '../support/server-process.js';
import type { CreatedApiKey } from '../../src/api/keys.js';
import type { SignedIn } from '../../src/api/people.js';

t.setTimeout(900_000);

const email = 'gone.again@private.example';
const name = 'Gone Again';
const agent = 'Agent of the gone';
const traces = [email, 'gone.again', name, agent, '203.0.113.77'];

const settingsOf = (dataDir: string) => ({ SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'silent' });
const bearer = ({ accessToken }: Pick<SignedIn, 'accessToken'>) => ({ authorization: `Bearer ${accessToken}` });

type Setting = Readonly<{ dataDir: string; app: TestApp; gone: Person; owner: Person; key: CreatedApiKey }>;

const open = async (t: Test): Promise<Setting> => {
  const dataDir = temporaryDirectory(t);
  const app = await startTestApp({ dataDir, settings: { SEALPOST_TRUST_PROXY: 'true' } });
  t.teardown(app.stop);
  const teamId = (await firstTeam(app.engine))!;
  const gone = await signedIn(app.engine, { email, name, teamId });
  const owner = await signedIn(app.engine, { email: 'owner@example.com', name: 'Owner' });
  await app.call(
    'POST',
    '/api/auth/login',
    { email, password: PASSWORD },
    {
      authorization: '',
      'user-agent': agent,
      'x-forwarded-for': '203.0.113.77',
    },
  );
  await app.whenCaughtUp();
  const { body: key } = await app.call<CreatedApiKey>(
    'POST',
    '/api/api-keys',
    { name: 'Of the gone', permissions: ['emails:read'] },
    bearer(gone),
  );
  return { dataDir, app, gone, owner, key };
};

const filesIn = (directory: string): readonly string[] =>
  readdirSync(directory).flatMap((entry) => {
    const path = join(directory, entry);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });

/** Texts that stand in clear in a file, with the file. */
const found = (dataDir: string): readonly string[] =>
  filesIn(dataDir).flatMap((file) => {
    const bytes = readFileSync(file);
    return traces.filter((text) => bytes.includes(text)).map((text) => `${file}: ${text}`);
  });

const wholeLog = async (t: Test, dataDir: string): Promise<void> => {
  t.strictSame(found(dataDir), []);
  t.match(await runCommand(['verify'], settingsOf(dataDir)), { code: 0 });
  t.match(await runCommand(['doctor'], settingsOf(dataDir)), { stdout: /every key is there/ });
  t.match(await runCommand(['rebuild'], settingsOf(dataDir)), { code: 0 });
  const replayed = await runCommand(['replay', '--all', '--json'], settingsOf(dataDir));
  t.equal(replayed.code, 0);
  for (const text of traces) t.notOk(replayed.stdout.includes(text), `${text} in a replay`);
  t.match(replayed.stdout, /"type":"UserErased"/);
};

void t.test('a person erases themselves', async (t) => {
  const { dataDir, app, gone, owner, key } = await open(t);
  const teamId = (await firstTeam(app.engine))!;
  const erase = (body: object) => app.call('DELETE', '/api/users/me', body, bearer(gone));
  t.match(await erase({ password: PASSWORD }), {
    status: 400,
    body: { code: 'LAST_OWNER', message: new RegExp(teamId), relatedInfo: { teams: teamId } },
  });
  t.equal((await app.call('GET', '/api/users/me', undefined, bearer(gone))).status, 200, 'nothing has happened');
  await addMember(app.engine, teamId, owner.userId, 'owner');
  t.match(await erase({ password: 'a wrong one for sure' }), { status: 401, body: { code: 'INVALID_CREDENTIALS' } });
  const replayed = await runCommand(['replay', '--all', '--json'], settingsOf(dataDir));
  for (const text of traces) t.ok(replayed.stdout.includes(text), `${text} is there to be destroyed`);
  t.equal((await erase({ password: PASSWORD })).status, 200);

  t.match(await app.call('GET', '/api/users/me', undefined, bearer(gone)), {
    status: 401,
    body: { code: 'SESSION_ENDED' },
  });
  t.match(await app.call('POST', '/api/auth/login', { email, password: PASSWORD }, { authorization: '' }), {
    status: 401,
    body: { code: 'INVALID_CREDENTIALS' },
  });
  t.match(await app.call('POST', '/api/auth/refresh', { refreshToken: gone.refreshToken }, { authorization: '' }), {
    status: 401,
  });
  t.equal(
    (await app.call('GET', '/api/emails', undefined, { authorization: `Bearer ${key.key}` })).status,
    200,
    'their key goes on',
  );
  await app.whenCaughtUp();
  t.match(await app.call('GET', `/api/api-keys/${key.id}`), { body: { createdBy: `user:${gone.userId}` } });
  t.match(await app.call('GET', `/api/users/${gone.userId}`, undefined, bearer(owner)), {
    status: 404,
    body: { code: 'USER_NOT_FOUND' },
  });
  const members = await app.call<{ data: { userId: string }[] }>(
    'GET',
    `/api/teams/${teamId}/members`,
    undefined,
    bearer(owner),
  );
  t.strictSame(
    members.body.data.map(({ userId }) => userId),
    [owner.userId],
  );
  const next = await signedIn(app.engine, { email: 'gone.again@private.example', name: 'Somebody' });
  t.not(next.userId, gone.userId, 'the address is free');
  await app.call(
    'DELETE',
    '/api/users/me',
    { password: PASSWORD },
    { ...bearer(next), 'x-forwarded-for': '192.0.2.200' },
  );
  await app.stop();
  await wholeLog(t, dataDir);
});

void t.test('a second factor is asked for before', async (t) => {
  const { app, owner } = await open(t);
  const from = (n: number) => ({ ...bearer(owner), 'x-forwarded-for': `192.0.2.${n}` });
  const prepared = await app.call<{ secret: string }>(
    'POST',
    '/api/auth/totp/prepare',
    { password: PASSWORD },
    from(1),
  );
  const code = codeAt(prepared.body.secret, Date.now());
  const confirmed = await app.call<{ recoveryCodes: string[] }>('POST', '/api/auth/totp/confirm', { code }, from(2));
  const erase = (body: object, n: number) => app.call('DELETE', '/api/users/me', body, from(n));
  t.match(await erase({ password: PASSWORD }, 3), { status: 401, body: { code: 'CODE_REQUIRED' } });
  t.match(await erase({ password: PASSWORD, code }, 4), { status: 401, body: { code: 'INVALID_CODE' } });
  t.equal((await erase({ password: PASSWORD, code: confirmed.body.recoveryCodes[0] }, 5)).status, 200);
});

void t.test('the operator erases a person, beside the running service and once more after it', async (t) => {
  const { dataDir, app, gone, owner } = await open(t);
  const refused = await runCommand(['user', 'erase', email], settingsOf(dataDir));
  t.match(refused, { code: 1, stderr: /only one of: .*First team/ });
  await addMember(app.engine, (await firstTeam(app.engine))!, owner.userId, 'owner');
  t.match(await runCommand(['user', 'erase', 'nobody@example.com'], settingsOf(dataDir)), {
    code: 1,
    stderr: /neither the address nor the id/,
  });
  t.match(await runCommand(['user', 'erase', email.toUpperCase()], settingsOf(dataDir)), {
    code: 0,
    stdout: new RegExp(gone.userId),
  });
  const ended = await app.call('GET', '/api/users/me', undefined, bearer(gone));
  t.match(ended, { status: 401, body: { code: 'SESSION_ENDED' } });
  await app.stop();
  t.match(await runCommand(['user', 'erase', gone.userId], settingsOf(dataDir)), { code: 0 }, 'safe to repeat');
  t.match(await runCommand(['user', 'erase', email], settingsOf(dataDir)), { code: 1 }, 'the address is nobody’s');
  await wholeLog(t, dataDir);
});
