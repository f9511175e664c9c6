/** Operators of the instance, and their view of it, on each engine: who is one, who is refused, what it shows. */
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { System } from '../../src/api/core/system.js';
import type { SignedIn } from '../../src/api/people.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { engineNames, openEngineOfTest } from '../support/engines.js';
import { PASSWORD, signedIn } from '../support/people.js';
import { runCommand } from '../support/server-process.js';
import { eventually } from '../support/wait.js';

t.setTimeout(600_000);

const bearer = ({ accessToken }: Pick<SignedIn, 'accessToken'>) => ({ authorization: `Bearer ${accessToken}` });
const first = { email: 'first@example.com', password: PASSWORD, name: 'First' };
const nobody = { authorization: '' };

/** The first user of the instance, signed in. */
const firstUser = async ({ call }: TestApp): Promise<SignedIn> => {
  await call('POST', '/api/auth/register', first, nobody);
  return (await call<SignedIn>('POST', '/api/auth/login', { email: first.email, password: PASSWORD }, nobody)).body;
};

for (const name of engineNames)
  await t.test(`${name}: the first user is an operator, and sees how the instance is doing`, async (t) => {
    const engine = await openEngineOfTest(t, name);
    if (engine === undefined) return t.comment('a server is missing');
    const { SEALPOST_DATA_DIR: dataDir = '', ...settings } = engine.ofProcess() as Readonly<Record<string, string>>;
    const app = await startTestApp({ isFounded: name === 'embedded', dataDir, settings });
    t.teardown(app.stop);
    const operator = await firstUser(app);
    await app.send();
    await app.send({ scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
    const seen = await eventually('the ledger is sealed, and the mail has left', async () => {
      const { status, body } = await app.call<System>('GET', '/api/system', undefined, bearer(operator));
      t.equal(status, 200);
      return body.log.lastSeal !== null && body.queue.normal.queued + body.queue.high.queued === 0 ? body : undefined;
    });
    const kinds = name === 'embedded' ? ['sqlite', 'sqlite', 'memory', 'memory'] : ['esdb', 'mongodb', 'nats', 'redis'];
    const { eventStore, readModels, bus, limiter } = seen.engine;
    t.same([eventStore, readModels, bus, limiter], kinds);
    t.ok(seen.log.head >= seen.log.lastSeal!.position && seen.diskFreeBytes > 0);
    const [own, ...others] = seen.processes;
    t.same(others, []);
    t.match(own, {
      answering: true,
      roles: ['http', 'process', 'project'],
      node: process.versions.node,
      relays: [{ name: 'default', breaker: 'closed', ratePerSecond: null, leftToday: null }],
    });
    for (const worker of ['tell-processes', 'seal-ledger', 'relay'])
      t.match(
        own!.workers.find((one) => one.name === worker),
        { state: 'running', restarts: 0, stuckWork: 0 },
        worker,
      );
    t.ok(own!.processors.some((one) => one.name === 'deliver-email' && one.open));
    t.ok(own!.readModels.some((one) => one.name === 'emails' && one.position > 0));
    t.notMatch(JSON.stringify(seen), /example\.com|@|password|ep_/, 'nothing personal and no secret');
  });

await t.test(
  'operators alone see it; the command line grants and takes the role, and the audit log says so',
  async (t) => {
    const dataDir = temporaryDirectory(t);
    const app = await startTestApp({ dataDir });
    t.teardown(app.stop);
    const settings = { SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'silent' };
    const see = async (headers: Readonly<Record<string, string>>) =>
      (await app.call<{ code?: string }>('GET', '/api/system', undefined, headers)).status;
    const operator = await firstUser(app);
    const { teamId } = (
      await app.call<{ data: { id: string }[] }>('GET', '/api/teams', undefined, bearer(operator))
    ).body.data.map(({ id }) => ({ teamId: id }))[0]!;
    const other = await signedIn(app.engine, { email: 'other@example.com', name: 'Other' });
    t.equal(await see(bearer(operator)), 200);
    t.equal(await see({ ...bearer(operator), 'x-team-id': randomUUID() }), 200, 'whatever team the call names');
    t.equal(await see(bearer(other)), 403);
    t.equal(await see({}), 403, 'a key with every permission of keys');
    t.equal(await see(nobody), 401);
    t.match((await app.call('GET', '/api/users/me', undefined, bearer(operator))).body, { operator: true });
    t.match((await app.call('GET', '/api/users/me', undefined, bearer(other))).body, { operator: false });

    t.match(await runCommand(['user', 'operator', 'other@example.com'], settings), {
      code: 0,
      stdout: / is an operator /,
    });
    t.match(await runCommand(['user', 'operator', 'other@example.com'], settings), { code: 0 }, 'safe to repeat');
    t.match(await runCommand(['user', 'operator', 'nobody@example.com'], settings), { code: 1 });
    await eventually('the service knows', async () => (await see(bearer(other))) === 200);
    t.match(await runCommand(['user', 'operator', first.email, '--revoke'], settings), {
      code: 0,
      stdout: / is no operator /,
    });
    await eventually('the service knows', async () => (await see(bearer(operator))) === 403);
    t.equal(await see(bearer(other)), 200);

    t.match(await runCommand(['user', 'operator', first.email], settings), { code: 0 });
    await app.whenCaughtUp();
    const { body } = await app.call<{ data: { action: string; actor: { type: string } }[] }>(
      'GET',
      '/api/audit-logs?category=authentication&limit=100',
      undefined,
      { ...bearer(operator), 'x-team-id': teamId },
    );
    const told = body.data.filter(({ action }) => action.startsWith('operator.'));
    t.same(
      told.map(({ action, actor }) => [action, actor.type]),
      [
        ['operator.granted', 'operator'],
        ['operator.revoked', 'operator'],
      ],
    );
  },
);

await t.test('every process of the instance is shown, with what was verified and backed up', async (t) => {
  const dataDir = temporaryDirectory(t);
  const settings = { SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'silent' };
  const app = await startTestApp({ dataDir, settings: { SEALPOST_ROLES: 'http,project' } });
  t.teardown(app.stop);
  const operator = await firstUser(app);
  const see = async () => (await app.call<System>('GET', '/api/system', undefined, bearer(operator))).body;
  t.match(await see(), { log: { lastVerify: null }, backups: { log: null, keys: null } });

  const worker = await startTestApp({ dataDir, settings: { SEALPOST_ROLES: 'process' } });
  const both = await eventually('the other process has told', async () => {
    const seen = await see();
    return seen.processes.length === 2 ? seen : undefined;
  });
  t.match(both.processes, [
    { answering: true, roles: ['http', 'project'], relays: [], processors: [] },
    { answering: false, roles: ['process'], relays: [{ name: 'default' }] },
  ]);
  t.not(both.processes[0]!.id, both.processes[1]!.id);
  await worker.stop();
  await eventually('a process that has ended is not shown', async () => (await see()).processes.length === 1);

  const copies = temporaryDirectory(t);
  t.match(await runCommand(['verify'], settings), { code: 0 });
  t.match(await runCommand(['backup', join(copies, 'log')], settings), { code: 0 });
  t.match(await runCommand(['backup', join(copies, 'keys'), '--keys', '--days', '3'], settings), { code: 0 });
  const { log, backups } = await see();
  t.match(log.lastVerify, { result: 'sound', at: String });
  t.ok(backups.log!.position > 0 && backups.keys!.expiresAt > backups.keys!.at);
  writeFileSync(join(dataDir, 'done.json'), `${readFileSync(join(dataDir, 'done.json'), 'utf8').slice(0, -9)}`);
  t.match(await see(), { log: { lastVerify: null }, backups: { log: null } }, 'a torn note is none');
});
