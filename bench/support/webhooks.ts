/** An endpoint that counts what it is posted, and subscriptions of a service under measurement. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { CreatedApiKey } from '../../src/api/keys.js';
import type { CreatedWebhook } from '../../src/api/webhooks.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { Service } from './service.js';

/** A webhook as it came: what a limit signs and posts. */
export type WebhookSample = Readonly<{ id: string; previousId: string; kind: string; body: string; secret: string }>;

type Arrived = Omit<WebhookSample, 'secret'> & Readonly<{ path: string; signed: string; signature: string }>;

export type CountingEndpoint = Readonly<{
  url: string;
  posts: () => number;
  /** The newest ones. */
  newest: () => readonly Arrived[];
  /** Resolves when that many posts have come; rejects where more came, or fewer within the deadline. */
  got: (posts: number) => Promise<void>;
  close: () => void;
}>;

const PATH = '/api/v1/webhook-subscriptions';
const DEADLINE_MS = 120_000;
const KEPT = 64;

export const startEndpoint = async (): Promise<CountingEndpoint> => {
  let posts = 0;
  const newest: Arrived[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const of = (name: string): string => String(request.headers[name] ?? '');
      const body = Buffer.concat(chunks).toString();
      newest[posts % KEPT] = {
        ...{
          path: request.url ?? '',
          body,
          id: of('webhook-id'),
          previousId: of('x-service-previous-event-id'),
          kind: of('x-service-event-type'),
        },
        ...{ signed: `${of('x-service-timestamp')}.${body}`, signature: of('x-service-signature') },
      };
      posts += 1;
      response.writeHead(200, { 'content-length': 0 }).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts: () => posts,
    newest: () => newest,
    got: async (expected) => {
      for (let waitedMs = 0; posts < expected; waitedMs += 10) {
        if (waitedMs > DEADLINE_MS) throw new Error(`${posts} webhooks came, ${expected} were expected`);
        await wait(10);
      }
      if (posts > expected) throw new Error(`${posts} webhooks came, only ${expected} were expected`);
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

export type Subscriptions = Readonly<{
  /** Each is posted to under a path of its own: `/0`, `/1`, … */
  make: (url: string, count: number) => Promise<readonly CreatedWebhook[]>;
  /** Enables or disables webhooks. A disabled webhook gets no events and, unlike a deleted one, leaves no record. */
  enable: (made: readonly CreatedWebhook[], enabled: boolean) => Promise<void>;
}>;

/** With a key that no rate limit holds up. */
export const openSubscriptions = async ({ port, firstKey }: Service): Promise<Subscriptions> => {
  const call = async <Answer>(key: string, method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as Answer;
  };
  const asked = { name: 'webhooks', permissions: ['webhooks:manage'], rateLimit: defaultLimits.apiKeyRateLimitMax };
  const { key } = await call<CreatedApiKey>(firstKey, 'POST', '/api/api-keys', asked);
  return {
    make: async (url, count) => {
      const made: CreatedWebhook[] = [];
      for (let at = 0; at < count; at += 1)
        made.push(await call<CreatedWebhook>(key, 'POST', PATH, { url: `${url}/${at}`, events: ['email.sent'] }));
      return made;
    },
    enable: async (made, enabled) => {
      for (const { id } of made) await call(key, 'PATCH', `${PATH}/${id}`, { enabled });
    },
  };
};

/** Throws where a signature is not that of its subscription. Out: what came, with the secrets that signed it. */
export const samplesOf = (endpoint: CountingEndpoint, made: readonly CreatedWebhook[]): readonly WebhookSample[] =>
  endpoint.newest().map(({ path, signed, signature, ...sample }) => {
    const secret = made[Number(path.slice(1))]?.secret ?? '';
    if (signature !== `v1=${createHmac('sha256', secret).update(signed).digest('hex')}`)
      throw new Error(`a wrong signature came to ${path}`);
    return { ...sample, secret };
  });
