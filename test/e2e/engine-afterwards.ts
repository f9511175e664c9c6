/** Events of a mail after it has left, through processes that share their stores: opens, clicks and webhooks. */
import type { Test } from 'tap';
import type { EmailRecord } from '../../src/api/email.js';
import type { CreatedWebhook, WebhookEvents } from '../../src/api/webhooks.js';
import type { TestApp } from '../support/app.js';
import type { ServerProcess } from '../support/server-process.js';
import type { SmtpScriptServer } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';
import { openReceiver, type Received } from '../support/webhook-receiver.js';

const WITHIN_MS = 400_000;
const SUBSCRIPTIONS = '/api/v1/webhook-subscriptions';
const PERSON =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36';

/** Settings of the processes beside their stores. The test asks the process that serves for the links. */
export const afterwards = { SEALPOST_PUBLIC_URL: 'http://127.0.0.1:9', SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1' };

type Link = Readonly<{ pixel: string; link: string }>;

/** The HTML is quoted-printable. */
const linksOf = (raw: Buffer): Link => {
  const plain = raw.toString().replaceAll('=\r\n', '');
  return { pixel: /\/t\/o\/[\w-]+/.exec(plain)![0], link: /\/t\/c\/[\w-]+/.exec(plain)![0] };
};

/**
 * Each recipient's mail has links of its own, and what a reader does is recorded by one process and shown by all, in
 * the record and the figures. `later`: a process whose clock is so far ahead that its readers are not taken for
 * machines, which come at once.
 */
export const hearsOfReaders = async (t: Test, sink: SmtpScriptServer, http: TestApp, later: TestApp): Promise<void> => {
  const template = {
    sections: [{ id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: LINKED }] }],
  };
  const made = await http.call('POST', '/api/templates', {
    slug: 'linked',
    name: 'Linked',
    subject: 'Order',
    schema: template,
    publish: true,
  });
  t.equal(made.status, 201, made.text);
  const to = [{ email: 'ada@readers.example' }, { email: 'ben@readers.example' }];
  const { id } = await http.send({
    templateId: 'linked',
    to,
    variables: {},
    tags: ['read'],
    tracking: { opens: true, clicks: true },
  });
  await http.whenStatus(id, 'sent');
  const mails = sink
    .accepted()
    .filter(({ envelope }) => envelope.to.some((address) => address.endsWith('@readers.example')));
  t.equal(mails.length, 2, 'one copy each');
  const second = linksOf(mails.find(({ envelope }) => envelope.to.includes(to[1]!.email))!.raw);
  const read = (url: string) => later.server.inject({ url, headers: { 'user-agent': PERSON } });
  t.equal((await read(second.pixel)).statusCode, 200);
  const led = await read(second.link);
  t.match(led, { statusCode: 302, headers: { location: 'https://shop.example/orders/7' } });
  const record = await eventually(
    'both are in the record',
    async () => {
      const { body } = await http.call<EmailRecord>('GET', `/api/emails/${id}`);
      return body.tracking.events.length === 2 ? body : undefined;
    },
    WITHIN_MS,
  );
  for (const event of record.tracking.events) t.match(event, { recipient: 1, times: 1, machine: false });
  t.same(record.tracking.events.map(({ type }) => type).toSorted(), ['clicked', 'opened']);
  await eventually(
    'both are in the figures',
    async () => {
      const { body } = await http.call<{ totals: Record<string, number> }>('GET', '/api/analytics/overview?tag=read');
      return body.totals['opened'] === 1 && body.totals['clicked'] === 1;
    },
    WITHIN_MS,
  );
};

const LINKED = '<p><a href="https://shop.example/orders/7">order</a></p>';

const idOf = ({ headers }: Received): string => String(headers['x-service-event-id']);

/**
 * Several processes post, and one of them dies in the midst of it (`spawn` starts it; undefined: the engine has one
 * that delivers). Each event comes, doubles are the same to the byte, and the chain has no gap.
 */
export const tellsOfAll = async (t: Test, http: TestApp, spawn: (() => ServerProcess) | undefined): Promise<void> => {
  const receiver = await openReceiver();
  t.teardown(() => receiver.close());
  const events = ['email.queued', 'email.sent'];
  const subscribed = await Promise.all(
    Array.from({ length: 4 }, (_, n) =>
      http.call<CreatedWebhook>('POST', SUBSCRIPTIONS, { url: `${receiver.url}/${n}`, events }),
    ),
  );
  for (const { status, text } of subscribed) t.equal(status, 201, text);
  const killed = spawn?.();
  await killed?.printed(/sealpost is running/);
  const sent = await Promise.all(Array.from({ length: 20 }, () => http.send()));
  await eventually('some are posted', () => receiver.received().length >= 40, WITHIN_MS);
  await killed?.end('SIGKILL');
  const more = await Promise.all(Array.from({ length: 20 }, () => http.send()));
  const expected = events.length * (sent.length + more.length);
  for (const [n, { body: webhook }] of subscribed.entries()) {
    const arrived = () => receiver.received().filter(({ path }) => path === `/${n}`);
    await eventually('all are posted', () => new Set(arrived().map(idOf)).size === expected, WITHIN_MS);
    const bodies = new Map<string, string>();
    for (const one of arrived())
      t.equal(bodies.get(idOf(one)) ?? one.body, bodies.set(idOf(one), one.body).get(idOf(one)));
    const { body: told } = await http.call<WebhookEvents>('GET', `${SUBSCRIPTIONS}/${webhook.id}/events?limit=100`);
    t.equal(told.events.length, expected);
    t.same(
      told.events.map(({ previousId }) => previousId),
      [null, ...told.events.slice(0, -1).map(({ id }) => id)],
      'no gap',
    );
    t.ok(
      told.events.every(({ id, body }) => bodies.get(id) === body),
      'byte for byte',
    );
    t.equal((await http.call('DELETE', `${SUBSCRIPTIONS}/${webhook.id}`)).status < 300, true);
  }
};
