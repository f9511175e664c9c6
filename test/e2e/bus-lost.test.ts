/**
 * A service whose bus is NATS and whose limiter is Redis, while both lose what they keep: every email that was accepted
 * is delivered.
 */
import t from 'tap';
import { sendBody } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { runCommand, startServer } from '../support/server-process.js';
import { ownNatsServer, ownRedisServer } from '../support/servers.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

void t.test('the directory of JetStream is wiped under load, and Redis killed', async (t) => {
  const [nats, redis] = [await ownNatsServer(t), await ownRedisServer(t)];
  if (nats === undefined || redis === undefined) return;
  const settings = {
    SEALPOST_DATA_DIR: temporaryDirectory(t),
    SEALPOST_LOG_LEVEL: 'error',
    SEALPOST_BUS_URL: nats.url,
    SEALPOST_LIMITER_URL: redis.url,
  };
  const server = startServer(settings);
  t.teardown(() => server.end('SIGTERM'));
  const base = await server.listening;
  const made = await runCommand(['key', 'create', '--json', '--name', 'fast', '--rate-limit', '1000000'], settings);
  const { key } = JSON.parse(made.stdout) as { key: string };
  const call = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const response = await fetch(base + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const ids: string[] = [];
  const send = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) ids.push(String((await call('POST', '/api/emails/send', sendBody()))['id']));
  };
  await send(10);
  await Promise.all([send(40), nats.wipe()]);
  await redis.kill();
  await send(20);
  await redis.restart();
  await send(10);
  t.equal(ids.length, 80);
  for (const id of ids) {
    await eventually(
      'it is delivered',
      async () => (await call('GET', `/api/emails/${id}`))['status'] === 'delivered',
      60_000,
    );
  }
});
