/**
 * The least that any program must do to post webhooks: sign a body that is ready, and post it with undici, at the pace
 * that each endpoint may be posted to.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { WebhookSample } from '../support/webhooks.js';

const [url = '', file = '', endpoints = '', perSecond = ''] = process.argv.slice(2);
const samples = JSON.parse(readFileSync(file, 'utf8')) as readonly WebhookSample[];
const AT_ONCE = 8;
const dispatcher = new Agent({ connections: Number(endpoints) * AT_ONCE, pipelining: 1 });

/** Keys are made once for each secret: an HMAC with a text makes its key anew. */
const keys = new Map<string, Readonly<{ contract: KeyObject; standard: KeyObject }>>();
for (const { secret } of samples)
  keys.set(secret, {
    contract: createSecretKey(Buffer.from(secret)),
    standard: createSecretKey(Buffer.from(secret.slice('whsec_'.length), 'base64')),
  });

const post = async ({ id, previousId, kind, body, secret }: WebhookSample): Promise<void> => {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const key = keys.get(secret)!;
  const contract = createHmac('sha256', key.contract).update(`${timestamp}.${body}`).digest('hex');
  const standard = createHmac('sha256', key.standard).update(`${id}.${timestamp}.${body}`).digest('base64');
  const answer = await request(url, {
    dispatcher,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'limit',
      'x-service-signature': `v1=${contract}`,
      'x-service-timestamp': timestamp,
      'x-service-event-id': id,
      'x-service-event-type': kind,
      'x-service-previous-event-id': previousId,
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${standard}`,
    },
    body,
  });
  if (answer.statusCode !== 200) throw new Error(`a post was answered ${answer.statusCode}`);
  await answer.body.dump();
};

// Each line that comes says how many to post.
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const count = Number(line);
  let begun = 0;
  const everyMs = (AT_ONCE * 1_000) / Number(perSecond);
  const sendTo = async (_endpoint: unknown, index: number): Promise<void> => {
    for (let atMs = performance.now() + (everyMs * index) / Number(endpoints); begun < count; atMs += everyMs) {
      await wait(Math.max(0, atMs - performance.now()));
      const some = Array.from({ length: Math.min(AT_ONCE, count - begun) }, () => begun++);
      await Promise.all(some.map((at) => post(samples[at % samples.length]!)));
    }
  };
  await Promise.all(Array.from({ length: Number(endpoints) }, sendTo));
  console.log(`posted ${count}`);
}
