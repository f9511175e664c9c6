/** Events of a mail reach an endpoint, signed, in a chain without gaps; run on each engine. */
import { createHmac } from 'node:crypto';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import type { Test } from 'tap';
import type { CreatedWebhook, RotatedSecret, WebhookDelivery, WebhookEvents } from '../../src/api/webhooks.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { openEngineOfTest, type EngineName } from '../support/engines.js';
import { eventually } from '../support/wait.js';
import { openReceiver, type Received, type Receiver } from '../support/webhook-receiver.js';

const PATH = '/api/v1/webhook-subscriptions';
const INSECURE = { SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1' };

type World = Readonly<{
  app: TestApp;
  receiver: Receiver;
  subscribe: (events: readonly string[]) => Promise<CreatedWebhook>;
}>;

const openWorld = async (t: Test, settings: Readonly<Record<string, string>>): Promise<World> => {
  const { SEALPOST_DATA_DIR: dataDir = '', ...rest } = settings;
  const app = await startTestApp({ dataDir, settings: { ...rest, ...INSECURE } });
  t.teardown(() => app.stop());
  const receiver = await openReceiver();
  t.teardown(() => receiver.close());
  const subscribe: World['subscribe'] = async (events) => {
    const { status, body } = await app.call<CreatedWebhook>('POST', PATH, { url: `${receiver.url}/hooks`, events });
    t.equal(status, 201);
    return body;
  };
  return { app, receiver, subscribe };
};

const verify = (t: Test, { headers, body }: Received, secret: string): void => {
  const given = headers as Record<string, string>;
  t.same(new StandardWebhook(secret).verify(body, given), JSON.parse(body), 'standardwebhooks takes it');
  t.doesNotThrow(() => new SvixWebhook(secret).verify(body, given), 'svix takes it');
  const signed = `${given['x-service-timestamp']}.${body}`;
  t.equal(given['x-service-signature'], `v1=${createHmac('sha256', secret).update(signed).digest('hex')}`);
  t.equal(given['x-service-event-id'], given['webhook-id']);
  t.equal(given['x-service-event-type'], (JSON.parse(body) as { event: string }).event);
};

const idOf = ({ headers }: Received): unknown => headers['x-service-event-id'];

const received = (receiver: Receiver, count: number): Promise<readonly Received[]> =>
  eventually(
    'what was posted',
    async () => (receiver.received().length >= count ? receiver.received() : undefined),
    60_000,
  );

const deliveriesOf = async (app: TestApp, id: string): Promise<readonly WebhookDelivery[]> =>
  (await app.call<{ deliveries: WebhookDelivery[] }>('GET', `${PATH}/${id}/deliveries`)).body.deliveries;

const chain = async (t: Test, { app, receiver, subscribe }: World): Promise<void> => {
  const webhook = await subscribe(['email.queued', 'email.sent', 'email.delivered']);
  t.match(webhook, { id: /^wh_/, secret: /^whsec_[A-Za-z0-9+/]{43}=$/, enabled: true });
  const to = [{ email: 'ada@example.com' }, { email: 'ben@example.com' }];
  const sent = await app.send({ to, metadata: { order: 'NW-1' } });
  const all = await received(receiver, 5);
  for (const one of all) verify(t, one, webhook.secret);
  const byId = new Map(all.map((one) => [idOf(one), one]));
  t.equal(byId.size, 5, 'one queued, and for each recipient one sent and one delivered');
  const { body: listed } = await app.call<WebhookEvents>('GET', `${PATH}/${webhook.id}/events`);
  t.equal(listed.events.length, 5);
  t.same(
    listed.events.map(({ previousId }) => previousId),
    [null, ...listed.events.slice(0, -1).map(({ id }) => id)],
    'no gap',
  );
  for (const { id, body, previousId } of listed.events) {
    const got = byId.get(id)!;
    t.equal(got.body, body, 'byte for byte');
    t.equal(got.headers['x-service-previous-event-id'] ?? null, previousId);
  }
  t.match(JSON.parse(listed.events[1]!.body!), {
    event: 'email.sent',
    data: { emailLogId: sent.id, recipient: 'ada@example.com', status: 'sent', metadata: { order: 'NW-1' } },
  });
  const after = await app.call<WebhookEvents>(
    'GET',
    `${PATH}/${webhook.id}/events?after=${listed.events[2]!.id}&limit=1`,
  );
  t.same(after.body, { events: [listed.events[3]], hasMore: true });
  const deliveries = await eventually(
    'what came of it',
    async () => {
      const found = await deliveriesOf(app, webhook.id);
      return found.length >= 5 ? found : undefined;
    },
    30_000,
  );
  t.ok(
    deliveries.every(
      ({ status, statusCode, response }) => status === 'success' && statusCode === 200 && response === 'status 200',
    ),
  );

  await app.call('POST', `${PATH}/${webhook.id}/replay`, {
    since: listed.events[0]!.timestamp,
    events: ['email.delivered'],
  });
  const again = (await received(receiver, 7)).slice(5);
  t.equal(again.length, 2);
  for (const one of again) t.equal(one.body, byId.get(idOf(one))?.body, 'sent again with the same id and body');

  await app.call('DELETE', `/api/emails/${sent.id}`);
  const erased = await app.call<WebhookEvents>('GET', `${PATH}/${webhook.id}/events`);
  t.ok(
    erased.body.events.every(({ body }) => body === null),
    'what was destroyed is in no body',
  );
  await app.call('DELETE', `${PATH}/${webhook.id}`);
};

const failures = async (t: Test, { app, receiver, subscribe }: World): Promise<void> => {
  const before = receiver.received().length;
  receiver.answer(500);
  const webhook = await subscribe(['email.sent']);
  await app.send();
  const failed = await eventually('what came of it', async () => (await deliveriesOf(app, webhook.id))[0], 60_000);
  t.match(failed, { event: 'email.sent', status: 'failed', statusCode: 500, attempt: 1, response: 'status 500' });
  const waitMs = Date.parse(failed.nextRetryAt!) - Date.parse(failed.attemptedAt);
  t.ok(waitMs >= 60_000 && waitMs < 68_000, 'again in a minute');
  receiver.answer(200);
  const asked = await app.call('POST', `${PATH}/${webhook.id}/deliveries/${failed.id}/retry`);
  t.equal(asked.status, 200);
  const all = (await received(receiver, before + 2)).slice(before);
  t.same(new Set(all.map(idOf)).size, 1, 'the same id');
  t.same(new Set(all.map(({ body }) => body)).size, 1, 'the same body');
  const done = await eventually(
    'what came of it',
    async () => (await deliveriesOf(app, webhook.id)).find(({ attempt }) => attempt === 2),
    30_000,
  );
  t.match(done, { id: failed.id, status: 'success' });
  t.match(await app.call('POST', `${PATH}/${webhook.id}/deliveries/${failed.id}/retry`), {
    status: 400,
    body: { code: 'WEBHOOK_DELIVERY_NOT_FAILED' },
  });

  receiver.answer(410);
  await app.send();
  const gone = await eventually(
    'what came of it',
    async () => {
      const { body } = await app.call<{ enabled: boolean; disabledReason?: string }>('GET', `${PATH}/${webhook.id}`);
      return body.enabled ? undefined : body;
    },
    30_000,
  );
  t.equal(gone.disabledReason, 'gone');
  receiver.answer(200);
};

const secrets = async (t: Test, { app, receiver, subscribe }: World): Promise<void> => {
  const before = receiver.received().length;
  const webhook = await subscribe(['email.delivered']);
  const rotated = await app.call<RotatedSecret>('POST', `${PATH}/${webhook.id}/rotate-secret`, { overlapHours: 1 });
  t.equal(rotated.status, 200);
  const tested = await app.call('POST', `${PATH}/${webhook.id}/test`);
  t.match(tested, { status: 200, body: { event: 'email.delivered', status: 'success', statusCode: 200 } });
  const [test] = (await received(receiver, before + 1)).slice(before);
  const given = test!.headers as Record<string, string>;
  for (const secret of [webhook.secret, rotated.body.secret]) new StandardWebhook(secret).verify(test!.body, given);
  const signed = `${given['x-service-timestamp']}.${test!.body}`;
  t.equal(
    given['x-service-signature'],
    `v1=${createHmac('sha256', webhook.secret).update(signed).digest('hex')}`,
    'by the older',
  );
  // The answer of a rotation is lost and asked for again: with its key it is given again, without one every secret goes
  // on.
  const rotate = (overlapHours: number, key?: string) =>
    app.call<RotatedSecret>(
      'POST',
      `${PATH}/${webhook.id}/rotate-secret`,
      { overlapHours },
      key === undefined ? {} : { 'idempotency-key': key },
    );
  const [first, again] = [await rotate(24, 'k'), await rotate(24, 'k')];
  t.same(again.body, first.body);
  t.match(await rotate(23, 'k'), { status: 400, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
  const third = await rotate(24);
  await app.call('POST', `${PATH}/${webhook.id}/test`);
  const [, overlapping] = (await received(receiver, before + 2)).slice(before);
  const headers = overlapping!.headers as Record<string, string>;
  for (const secret of [webhook.secret, rotated.body.secret, first.body.secret, third.body.secret])
    new StandardWebhook(secret).verify(overlapping!.body, headers);
  const last = await rotate(0);
  await app.call('POST', `${PATH}/${webhook.id}/test`);
  const [, , alone] = (await received(receiver, before + 3)).slice(before);
  new StandardWebhook(last.body.secret).verify(alone!.body, alone!.headers as Record<string, string>);
  for (const secret of [webhook.secret, first.body.secret, third.body.secret])
    t.throws(
      () => new StandardWebhook(secret).verify(alone!.body, alone!.headers as Record<string, string>),
      'no overlap ends all others',
    );
};

const missed = async (t: Test, { app, receiver, subscribe }: World): Promise<void> => {
  const since = new Date().toISOString();
  const webhook = await subscribe(['email.queued']);
  await app.call('PATCH', `${PATH}/${webhook.id}`, { enabled: false });
  const { id } = await app.send();
  await app.call('PATCH', `${PATH}/${webhook.id}`, { enabled: true });
  // Others are told of it by other subscriptions.
  const told = (count: number): Promise<readonly Received[]> =>
    eventually(
      'what was posted',
      async () => {
        const found = receiver.received().filter(({ body }) => body.includes('email.queued') && body.includes(id));
        return found.length >= count ? found : undefined;
      },
      30_000,
    );
  t.equal((await app.call('POST', `${PATH}/${webhook.id}/replay`, { since })).status, 200);
  const [first] = await told(1);
  t.match(JSON.parse(first!.body), { event: 'email.queued', data: { emailLogId: id } });
  const again = await eventually(
    'the end of the replay',
    async () => ((await app.call('POST', `${PATH}/${webhook.id}/replay`, { since })).status === 200 ? true : undefined),
    30_000,
  );
  t.ok(again);
  const [, second] = await told(2);
  t.same([idOf(second!), second?.body], [idOf(first!), first?.body], 'the same id and body');
  await app.call('DELETE', `${PATH}/${webhook.id}`);
};

export const webhookSuite = async (t: Test, name: EngineName): Promise<void> => {
  const engine = await openEngineOfTest(t, name);
  if (engine === undefined) return;
  const world = await openWorld(t, engine.ofProcess() as Readonly<Record<string, string>>);
  await chain(t, world);
  await failures(t, world);
  await secrets(t, world);
  await missed(t, world);
};
