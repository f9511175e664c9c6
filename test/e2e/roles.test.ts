/**
 * One program split into several processes on one data directory: each does its part, and together they lose nothing.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startApp } from '../../src/service/app.js';
import { readConfig } from '../../src/service/settings/config.js';
import { OWN_WRITES_WAIT_MS } from '../../src/http/server/context.js';
import { holdStopped } from '../../src/service/stores/instances.js';
import { sendBody, startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { runCommand } from '../support/server-process.js';
import { at, openSmtpScript, reply } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

type Split = Readonly<{ start: (roles: string) => Promise<TestApp>; delivered: () => readonly string[] }>;

/** `isFirstStart`: the first start is a matter of the test. */
const split = async (t: Test, { refuseFirst = false, isFirstStart = false } = {}): Promise<Split> => {
  const sink = await openSmtpScript(refuseFirst ? { script: at('message', reply('451 4.3.0 later'), 1) } : {});
  t.teardown(() => sink.close());
  const dataDir = temporaryDirectory(t);
  return {
    start: async (roles) => {
      const app = await startTestApp({
        isFounded: !isFirstStart,
        dataDir,
        settings: { SEALPOST_ROLES: roles, SEALPOST_SMTP_URL: `${sink.url}?tls=off`, SEALPOST_RETRY_DELAYS: '1' },
      });
      t.teardown(() => app.stop());
      return app;
    },
    delivered: () =>
      sink
        .accepted()
        .map(({ messageId }) => `<${messageId}>`)
        .sort(),
  };
};

const sendSome = async (app: TestApp, count: number): Promise<readonly string[]> => {
  const sent: string[] = [];
  for (let index = 0; index < count; index += 1) sent.push((await app.send()).messageId);
  return sent.sort();
};

const total = async (app: TestApp, status: string): Promise<number> =>
  (await app.call<{ meta: { total: number } }>('GET', `/api/emails?status=${status}`)).body.meta.total;

await t.test('http, process and project apart: what comes in goes out and is listed', async (t) => {
  const { start, delivered } = await split(t);
  const http = await start('http');
  await start('project');
  await start('process');
  const sent = await sendSome(http, 10);
  await eventually('all are delivered', () => delivered().length === sent.length);
  t.same(delivered(), sent);
  await eventually('the list says so', async () => (await total(http, 'sent')) === sent.length);
});

await t.test('a list waits for what the same process wrote, though another keeps the read models', async (t) => {
  const { start } = await split(t);
  const http = await start('http');
  const waits = async (): Promise<boolean> => {
    const begunMs = performance.now();
    await total(http, 'queued');
    return performance.now() - begunMs >= OWN_WRITES_WAIT_MS - 1;
  };
  await sendSome(http, 1);
  t.ok(await waits(), 'as long as it may: nobody projects');
  await start('project');
  await eventually('it is listed', async () => (await total(http, 'queued')) === 1);
});

await t.test('what was accepted while nobody delivered is found by a process that does nothing else', async (t) => {
  const { start, delivered } = await split(t);
  const http = await start('http,project');
  const sent = await sendSome(http, 10);
  await http.whenCaughtUp();
  await start('process');
  await eventually('all are delivered', () => delivered().length === sent.length);
  t.same(delivered(), sent);
});

await t.test('a second attempt is made at its time though another process keeps the read models', async (t) => {
  const { start, delivered } = await split(t, { refuseFirst: true });
  const http = await start('http,project');
  await start('process');
  const sent = await sendSome(http, 1);
  await eventually('it is delivered', () => delivered().length === 1);
  t.same(delivered(), sent);
});

await t.test(
  'processes that start at once on an empty directory make the first team and its templates once',
  async (t) => {
    const { start } = await split(t, { isFirstStart: true });
    const apps = await Promise.all(['http', 'process', 'project', 'http'].map(start));
    const types: string[] = [];
    for await (const { events } of apps[0]!.engine.store.readAll(0)) types.push(...events.map(({ type }) => type));
    for (const once of ['TeamCreated.v1', 'InstanceInitialised.v1'])
      t.equal(types.filter((type) => type === once).length, 1, once);
  },
);

await t.test('the first key is shown by the first process that serves requests, once', async (t) => {
  const shown: string[] = [];
  const show = (key: string): void => void shown.push(key);
  const dataDir = temporaryDirectory(t);
  const config = (roles: string) =>
    readConfig({ PORT: '0', SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'silent', SEALPOST_ROLES: roles });
  const delivering = await startApp(config('process,project'));
  t.teardown(() => delivering.stop());
  t.notOk(existsSync(join(dataDir, 'first-key')), 'a process that nobody talks to chooses none');
  for (let round = 0; round < 2; round += 1) {
    const http = await startApp(config('http'));
    await http.showFirstKey(show);
    await http.stop();
  }
  t.equal(shown.length, 1);
});

await t.test('what one process writes another shows to the reader who says its position', async (t) => {
  const { start } = await split(t);
  const [writing, reading] = [await start('http'), await start('http')];
  await start('project').then((app) => app.whenCaughtUp());
  const [sample] = (await writing.call<{ data: { id: string }[] }>('GET', '/api/templates?limit=1')).body.data;
  const { subject, schema } = (await writing.call('GET', `/api/templates/${sample?.id}`)).body;
  const body = { name: 'x', subject, schema, variables: [] };
  for (let round = 0; round < 20; round += 1) {
    const created = await writing.call<{ id: string }>('POST', '/api/templates', {
      ...body,
      slug: `seen-elsewhere-${round}`,
    });
    t.equal(created.status, 201, created.text);
    const position = String(created.headers['x-sealpost-position']);
    // The service waits for its lists at most OWN_WRITES_WAIT_MS, which a busy machine may exceed: then the reader asks
    // again.
    const isListed = async (): Promise<boolean> => {
      const list = await reading.call<{ data: { id: string }[] }>('GET', '/api/templates?limit=100', undefined, {
        'x-sealpost-position': position,
      });
      return list.body.data.some(({ id }) => id === created.body.id);
    };
    await eventually(`round ${round} at ${position}`, isListed);
    const renamed = await writing.call('PATCH', `/api/templates/${created.body.id}`, { name: `round ${round}` });
    const again = await reading.call('GET', `/api/templates/${created.body.id}`, undefined, {
      'x-sealpost-position': String(renamed.headers['x-sealpost-position']),
    });
    t.equal(again.body['name'], `round ${round}`);
  }
  const [sent, key] = [
    await writing.call('POST', '/api/emails/send', sendBody(), { 'idempotency-key': 'a' }),
    { 'idempotency-key': 'a' },
  ];
  const repeated = await reading.call('POST', '/api/emails/send', sendBody(), {
    ...key,
    authorization: `Bearer ${writing.key}`,
  });
  t.equal(repeated.headers['idempotency-replayed'], 'true');
  t.ok(
    Number(repeated.headers['x-sealpost-position']) >= Number(sent.headers['x-sealpost-position']),
    'a repeated answer stands no earlier',
  );
});

await t.test(
  'repair and restore stop before a service of any role, and no service starts while they run',
  async (t) => {
    for (const roles of ['http', 'project', 'http,project', 'process']) {
      const dataDir = temporaryDirectory(t);
      const settings = { SEALPOST_ROLES: roles, SEALPOST_SMTP_URL: 'mailbox:' };
      const app = await startTestApp({ isFounded: true, dataDir, settings });
      for (const args of [
        ['repair', 'log'],
        ['repair', 'read-models'],
        ['restore', join(dataDir, 'no-backup')],
      ])
        t.match(
          await runCommand(args, { SEALPOST_DATA_DIR: dataDir }),
          { code: 1, stderr: /A sealpost runs on .*; stop it/ },
          `${roles}: ${args[0]}`,
        );
      await app.stop();
      t.match(
        await runCommand(['repair', 'log'], { SEALPOST_DATA_DIR: dataDir }),
        { code: 0, stdout: /There is nothing to repair here/ },
        roles,
      );
      const stopped = await holdStopped(readConfig({ SEALPOST_DATA_DIR: dataDir }));
      await t.rejects(startTestApp({ dataDir, settings }), { message: /repair or restore/ }, roles);
      await stopped.release();
    }
  },
);
