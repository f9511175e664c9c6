/**
 * The erasure of an address in a process that is killed again and again: what was found is destroyed, nothing is
 * destroyed that was not recorded.
 */
import t from 'tap';
import type { ErasureReceipt } from '../../src/api/privacy.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { runCommand, startServer, type ServerProcess } from '../support/server-process.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

const EMAILS = 260;
const email = 'often.killed@private.example';
const other = 'goes.on@private.example';

type Serving = Readonly<{
  server: ServerProcess;
  call: <Body>(method: string, path: string, body?: unknown) => Promise<Body>;
}>;

await t.test('an erasure goes on after each kill, to its end', async (t) => {
  const dataDir = temporaryDirectory(t);
  const settings = { SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'silent' };
  const app = await startTestApp({ dataDir });
  const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
  for (let sent = 0; sent < EMAILS; sent += 20)
    await Promise.all(
      // Every second goes to another, too, and is to go on to them.
      Array.from({ length: 20 }, (_, index) =>
        app.send({ to: index % 2 === 0 ? [{ email }] : [{ email: other }, { email }], scheduledAt }),
      ),
    );
  await app.stop();
  const headers = { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' };
  const serve = async (): Promise<Serving> => {
    const server = startServer(settings);
    t.teardown(() => server.end('SIGKILL'));
    const base = await server.listening;
    return {
      server,
      call: async <Body>(method: string, path: string, body?: unknown) => {
        const answer = await fetch(base + path, {
          method,
          headers,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        if (answer.status >= 400) throw new Error(`${method} ${path} answered ${answer.status} ${await answer.text()}`);
        return (await answer.json()) as Body;
      },
    };
  };
  let { server, call } = await serve();
  const found = async (recipient = email) =>
    (await call<{ meta: { total: number } }>('GET', `/api/emails?recipient=${recipient}&status=scheduled`)).meta.total;
  await eventually('all are found', async () => (await found()) === EMAILS, 60_000);

  const answer = call<ErasureReceipt>('POST', '/api/privacy/erase', { email }).catch(() => undefined);
  const replayed = () => runCommand(['replay', '--all', '--json'], settings);
  let kills = 0;
  for (const archived of [1, 150]) {
    await eventually(`${archived} are erased`, async () => (await found()) <= EMAILS - archived, 60_000);
    await server.end('SIGKILL');
    kills += 1;
    ({ server, call } = await serve());
  }
  await answer;
  t.equal(kills, 2);
  await eventually('none is found any more', async () => (await found()) === 0, 90_000);
  const [, id] = /"stream":"erasure-([0-9a-f-]{36})"/.exec((await replayed()).stdout) ?? [];
  const receipt = () => call<ErasureReceipt>('GET', `/api/privacy/erasures/${id}`);
  await eventually('it is completed', async () => (await receipt()).status === 'completed', 60_000);
  const { emails, emailIds } = await receipt();
  t.equal(new Set(emailIds).size, EMAILS);
  t.equal(emails, EMAILS, 'each was recorded once');
  t.equal(await found(other), EMAILS / 2, 'those to others still wait');
  t.match(await server.end('SIGTERM'), { code: 0 });
  const { stdout, code } = await replayed();
  t.equal(code, 0);
  t.notMatch(stdout, 'often.killed');
  t.equal(stdout.split(`"email":"${other}"`).length - 1, EMAILS / 2);
  t.equal(stdout.split('"type":"RecipientsErased"').length - 1, EMAILS / 2, 'each is erased once');
  t.match(await runCommand(['verify'], settings), { code: 0 });
});
