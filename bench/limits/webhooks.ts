/** The least that any program must do to post webhooks: sign a body that is ready, and post it with undici. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import type { WebhookSample } from '../support/webhooks.js';

const [url = '', file = '', connections = ''] = process.argv.slice(2);
const samples = JSON.parse(readFileSync(file, 'utf8')) as readonly WebhookSample[];
const dispatcher = new Agent({ connections: Number(connections), pipelining: 1 });

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
  const sender = async (): Promise<void> => {
    for (let at = begun++; at < count; at = begun++) await post(samples[at % samples.length]!);
  };
  await Promise.all(Array.from({ length: Number(connections) }, sender));
  console.log(`posted ${count}`);
}
