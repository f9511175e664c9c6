/** `sealpost webhooks listen` beside a running server, as a newcomer starts both. */
import { spawn } from 'node:child_process';
import t from 'tap';
import type { WebhookRecord } from '../../src/api/webhooks.js';
import { sendBody } from '../support/app.js';
import { environmentOf, finished, mainFile } from '../support/server-process.js';
import { eventually } from '../support/wait.js';
import { openCliWorld } from './world.js';

t.setTimeout(900_000);

const { settings, run, call, createKey } = await openCliWorld(t);
const { key } = await createKey('--name', 'webhooks', '--rate-limit', '1000000');

const listening = (...args: readonly string[]) => {
  const child = spawn(process.execPath, [mainFile, 'webhooks', 'listen', ...args], {
    env: { ...environmentOf(settings), NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = finished(child, 120_000);
  return {
    output: () => output,
    end: (signal: NodeJS.Signals) => {
      child.kill(signal);
      return ended;
    },
  };
};

const subscriptions = async (): Promise<readonly WebhookRecord[]> => {
  const { body } = await call(key, 'GET', '/api/v1/webhook-subscriptions');
  return (body['data'] ?? body['subscriptions'] ?? []) as readonly WebhookRecord[];
};

await t.test('what becomes of a mail is printed, and what is not signed is refused', async (t) => {
  const listener = listening();
  const url = await eventually(
    'it listens',
    () => /arrive on (http:\/\/127\.0\.0\.1:\d+\/)/.exec(listener.output())?.[1],
  );
  await eventually('it has a subscription', async () => (await subscriptions()).length === 1);
  await call(key, 'POST', '/api/emails/send', sendBody());
  for (const kind of ['email.queued', 'email.sent', 'email.delivered']) {
    const line = new RegExp(`${kind.replace('.', '\\.')} .*ada@example\\.com  .*  evt_`);
    await eventually(`it is told of ${kind}`, () => line.test(listener.output()));
  }
  const headers = {
    'x-service-timestamp': String(Math.floor(Date.now() / 1_000)),
    'x-service-signature': `v1=${'0'.repeat(64)}`,
  };
  t.equal((await fetch(url, { method: 'POST', body: '{}', headers })).status, 401);
  t.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401);
  for (const reason of ['X-Service-Signature is wrong', 'X-Service-Timestamp is not of now'])
    await eventually(`it says ${reason}`, () => listener.output().includes(`A post was refused: its ${reason}.`));
  t.match(await listener.end('SIGINT'), { code: 0 });
  await eventually('its subscription went with it', async () => (await subscriptions()).length === 0);
});

await t.test('chosen kinds as JSON; a listener that was killed leaves nothing to the next', async (t) => {
  const first = listening('--events', 'email.sent', '--json');
  const [made] = await eventually('it has a subscription', async () => {
    const all = await subscriptions();
    return all.length === 1 && all;
  });
  t.same(made?.events, ['email.sent']);
  await call(key, 'POST', '/api/emails/send', sendBody());
  await eventually('it is told', () => first.output().includes('\n'));
  t.match(JSON.parse(first.output()), { event: 'email.sent', data: { recipient: 'ada@example.com' } });
  await first.end('SIGKILL');
  const second = listening('--events', 'email.bounced,email.failed');
  await eventually('there is its subscription alone', async () => {
    const all = (await subscriptions()).map(({ events }) => events.join());
    return all.length === 1 && all[0] === 'email.bounced,email.failed';
  });
  t.match(await second.end('SIGTERM'), { code: 0 });
});

await t.test('what is asked for wrongly is refused', async (t) => {
  t.match(await run('webhooks', 'listen', '--events', 'email.nothing'), { code: 1, stderr: /there are email\.sent, / });
  t.match(await run('webhooks', 'listen', '--port', '70000'), { code: 1, stderr: /from 1 to 65535/ });
});
