/**
 * Events of a mail provider over HTTP, to their end: the mail leaves with the header that the provider repeats, the event
 * comes, and status, suppression and webhook follow. Floods and forgeries leave the API its turn.
 */
import t, { type Test } from 'tap';
import type { FeedbackProvider, ProviderCall } from '../../src/domain/ports/provider-feedback.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { isoTime } from '../../src/domain/core/time.js';
import { nextTurn } from '../../src/shared/concurrency.js';
import { temporaryDirectory } from '../support/data-directory.js';
import {
  callOf,
  eventsOf,
  SECRET,
  sendgridCall,
  tokenCall,
  verificationKey,
  type Told,
} from '../support/provider-calls.js';
import { openSmtpScript, usualExtensions, type SmtpScriptServer } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';
import { openReceiver } from '../support/webhook-receiver.js';

t.setTimeout(900_000);

const ada = 'ada@example.com';

const settings = {
  SEALPOST_POSTMARK_TOKEN: SECRET,
  SEALPOST_SENDGRID_VERIFICATION_KEY: verificationKey,
  SEALPOST_MAILGUN_SIGNING_KEY: SECRET,
  SEALPOST_BREVO_TOKEN: SECRET,
  SEALPOST_MAILJET_TOKEN: SECRET,
};

const setUp = async (t: Test, more = {}): Promise<Readonly<{ app: TestApp; sink: SmtpScriptServer }>> => {
  const sink = await openSmtpScript({ extensions: [...usualExtensions] });
  t.teardown(() => sink.close());
  const app = await startTestApp({
    isFounded: true,
    dataDir: temporaryDirectory(t),
    settings: { SEALPOST_SMTP_URL: `${sink.url}?tls=off`, ...settings, ...more },
  });
  t.teardown(() => app.stop());
  return { app, sink };
};

const post = async (app: TestApp, provider: string, { headers, body }: ProviderCall, remoteAddress = '192.0.2.10') => {
  const answer = await app.server.inject({
    method: 'POST',
    url: `/api/feedback/${provider}`,
    headers: headers as Record<string, string>,
    payload: Buffer.from(body),
    remoteAddress,
  });
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
};

const nowOf = ({ engine }: TestApp): string => isoTime(engine.clock.now());

const tell = (app: TestApp, provider: FeedbackProvider, told: Told, id: string, event = '1') =>
  post(
    app,
    provider,
    callOf(
      provider,
      eventsOf[provider](told, { emailId: id, address: ada, at: nowOf(app), id: event }),
      app.engine.clock.now(),
    ),
  );

await t.test('the mail has the headers, and the events of each provider have their effects', async (t) => {
  const { app, sink } = await setUp(t, { SEALPOST_WEBHOOK_INSECURE_HOSTS: '127.0.0.1' });
  const receiver = await openReceiver();
  t.teardown(() => receiver.close());
  const events = ['email.delivered', 'email.bounced', 'email.complained', 'email.unsubscribed'];
  const subscription = { url: receiver.url, events };
  t.equal((await app.call('POST', '/api/v1/webhook-subscriptions', subscription)).status, 201);
  const { id } = await app.send();
  await app.whenStatus(id, 'sent');
  const head = sink.received[0]!.raw.toString('latin1').split('\r\n\r\n', 1)[0]!;
  for (const header of [
    `X-PM-Metadata-sealpost: ${id}`,
    `X-MJ-CustomID: ${id}`,
    'X-SMTPAPI: ',
    'X-Mailgun-Variables: ',
  ])
    t.ok(head.includes(header), header);
  t.notOk(head.includes('X-Sealpost-Id'), 'SES is not set up');

  t.match(await tell(app, 'postmark', 'delivered', id), { status: 200, body: { recorded: 1 } });
  t.match(await app.email(id), { status: 'delivered' });
  t.match(await tell(app, 'sendgrid', 'hard', id), { status: 200, body: { recorded: 1 } });
  t.match(await app.email(id), { status: 'bounced', recipients: [{ bounceType: 'hard', reply: /does not exist/ }] });
  await eventually('the address is suppressed', async () => {
    const { body } = await app.call('GET', `/api/suppressions/check?email=${ada}`);
    return (body['suppression'] as { reason: string } | null)?.reason === 'hard-bounce';
  });
  const kinds = () => receiver.received().map(({ body }) => (JSON.parse(body) as { event: string }).event);
  await eventually('both webhooks come', async () => kinds().length >= 2);
  t.same(kinds(), ['email.delivered', 'email.bounced']);

  t.match(await tell(app, 'mailjet', 'new', id, '9'), { status: 200, body: { kept: 1 } });
  const { body } = await app.call('GET', `/api/emails/${id}/timeline?limit=100`);
  const last = (body['data'] as readonly Record<string, unknown>[]).find(({ kind }) => kind === 'ProviderEventKept');
  t.match(last, { actor: 'provider:mailjet', details: { provider: 'mailjet', payload: /vanished/ } });
  t.notOk('toldBy' in (last!['details'] as object));
});

await t.test('without a provider mails have none of these headers, and every call is refused', async (t) => {
  const sink = await openSmtpScript({ extensions: [...usualExtensions] });
  t.teardown(() => sink.close());
  const app = await startTestApp({
    isFounded: true,
    dataDir: temporaryDirectory(t),
    settings: { SEALPOST_SMTP_URL: `${sink.url}?tls=off` },
  });
  t.teardown(() => app.stop());
  const { id } = await app.send();
  await app.whenStatus(id, 'sent');
  t.notMatch(sink.received[0]!.raw.toString('latin1'), /X-PM-|X-MJ-|X-SMTPAPI|X-Mailgun|X-Mailin|X-Sealpost/i);
  t.match(await tell(app, 'postmark', 'hard', id), { status: 404, body: { code: 'FEEDBACK_PROVIDER_NOT_SET_UP' } });
  t.match(await app.email(id), { status: 'sent' });
});

await t.test('forged, huge, deep and foreign calls: refused, and counted against their network', async (t) => {
  const { app } = await setUp(t);
  const { id } = await app.send();
  await app.whenStatus(id, 'sent');
  const forged = tokenCall(eventsOf.postmark('hard', { emailId: id, address: ada, at: '' }), 'another-secret-of-16');
  const huge = tokenCall({ RecordType: 'x'.repeat(1_100_000) });
  t.match(await post(app, 'postmark', huge), { status: 400, body: { code: 'BODY_TOO_LARGE' } });
  t.match(await post(app, 'postmark', tokenCall('['.repeat(500_000))), {
    status: 400,
    body: { code: 'MALFORMED_JSON' },
  });
  t.match(await post(app, 'postmark', { ...tokenCall({}), body: Buffer.alloc(0) }), { status: 400 });
  t.match(
    await post(app, 'postmark', {
      headers: { ...tokenCall({}).headers, 'content-type': 'image/png' },
      body: huge.body,
    }),
    {
      status: 400,
    },
  );
  for (const path of ['nobody', '..', '__proto__'])
    t.match(await post(app, encodeURIComponent(path), tokenCall({}), '192.0.2.44'), { status: 404 }, path);
  let refused = 0;
  for (let count = 0; count < 130; count += 1) {
    const { status, body } = await post(app, 'postmark', forged, '192.0.2.66');
    if (status === 401) refused += 1;
    else t.match([status, body['code']], [429, 'RATE_LIMIT_EXCEEDED']);
  }
  t.equal(refused, 120);
  t.match(await app.email(id), { status: 'sent' });
  t.match(await tell(app, 'postmark', 'delivered', id), { status: 200 }, 'the provider is not shut out');
  const { status } = await app.call('GET', '/api/feedback/postmark');
  t.equal(status, 404, 'there is nothing to read');
});

await t.test(
  '2,000 events in batches, and one a call: all are durable when answered, and the API goes on',
  async (t) => {
    const { app } = await setUp(t);
    const ids = await Promise.all(Array.from({ length: 40 }, async () => (await app.send()).id));
    for (const id of ids) await app.whenStatus(id, 'sent');
    const eventOf = (id: string, told: Told, event: string) =>
      eventsOf.sendgrid(told, { emailId: id, address: ada, at: nowOf(app), id: event });
    const batch = (round: number) =>
      ids.flatMap((id) =>
        Array.from({ length: 10 }, (_, index) =>
          eventOf(id, index === 9 ? 'delivered' : 'delayed', `${round} ${index}`),
        ),
      );
    const read = new Set<number>();
    let isOver = false;
    const reading = (async () => {
      while (!isOver) {
        read.add((await app.call('GET', `/api/emails/${ids[0]!}`)).status);
        await nextTurn();
      }
    })();
    const batches = await Promise.all(
      [1, 2, 3, 4].map((round) => post(app, 'sendgrid', sendgridCall(batch(round), app.engine.clock.now()))),
    );
    t.ok(batches.every(({ status }) => status === 200));
    const singles = await Promise.all(
      Array.from({ length: 400 }, (_, index) => tell(app, 'mailgun', 'delivered', ids[index % 40]!, `single ${index}`)),
    );
    const codes = new Set(singles.map(({ status }) => status));
    isOver = true;
    await reading;
    t.same([...read], [200], 'emails are read meanwhile');
    t.ok(
      [...codes].every((code) => code === 200 || code === 429),
      [...codes].join(),
    );
    const recorded = batches.reduce((sum, { body }) => sum + Number(body['recorded']), 0);
    t.equal(recorded, 40, 'each email is delivered once');
    for (const id of ids) t.equal((await app.email(id)).status, 'delivered');
  },
);
