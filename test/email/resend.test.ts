/** Copies of emails, and tests of templates: what they carry, who gets them, and that neither takes a shortcut. */
import t, { type Test } from 'tap';
import type { SentContent } from '../../src/api/email-content.js';
import type { EmailRecord } from '../../src/api/email.js';
import { firstTeam, systemCaller } from '../../src/commands/core/caller.js';
import { makeCommands } from '../../src/commands/index.js';
import { emailStream, type EmailId } from '../../src/domain/core/ids.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { advanceUntil, startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { said } from '../support/email-facts.js';
import { fakeClock, startOfToday, type FakeClock } from '../support/fake-clock.js';
import { mailerBy } from '../support/mailers.js';
import { signedIn } from '../support/people.js';

type World = TestApp &
  Readonly<{
    clock: FakeClock;
    raws: ReadonlyMap<string, string>;
    made: (path: string, body: object, headers?: Record<string, string>) => Promise<string>;
  }>;

const open = async (t: Test): Promise<World> => {
  const raws = new Map<string, string>();
  const mailer = mailerBy(async ({ envelope, raw }) => {
    for (const to of envelope.to) raws.set(to, raw.toString('latin1'));
    return { host: 'test', durationMs: 0, recipients: envelope.to.map(() => said('accepted')) };
  });
  const clock = fakeClock(startOfToday());
  const app = await startTestApp({
    ...{ dataDir: temporaryDirectory(t), isFounded: true, clock, mailer },
    settings: { SEALPOST_PUBLIC_URL: 'https://mail.example.com' },
  });
  t.teardown(() => app.stop());
  return {
    ...app,
    clock,
    raws,
    made: async (path, body, headers = {}) => {
      const answer = await app.call<{ id: string }>('POST', path, body, headers);
      if (answer.status !== 201) throw new Error(answer.text);
      await app.whenStatus(answer.body.id, 'sent');
      return answer.body.id;
    },
  };
};

const record = async (app: World, id: string): Promise<EmailRecord> =>
  (await app.call<EmailRecord>('GET', `/api/emails/${id}`)).body;
const content = async (app: World, id: string): Promise<SentContent> =>
  (await app.call<SentContent>('GET', `/api/emails/${id}/content`)).body;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const template = {
  name: 'Order',
  slug: 'order',
  subject: 'Order {{number}}',
  publish: true,
  variables: [
    { name: 'number', type: 'string', defaultValue: 'A-1' },
    { name: 'sum', type: 'number', defaultValue: 7 },
  ],
  schema: {
    sections: [
      { id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: '<p>Sum {{sum}}</p>' }] },
    ],
  },
};

void t.test('a copy is a new email of the same version, with the variables and files of the old one', async (t) => {
  const app = await open(t);
  const saved = await app.call('POST', '/api/templates', template);
  t.equal(saved.status, 201);
  const id = await app.made('/api/emails/send', {
    templateId: 'order',
    to: [{ email: 'ann@example.org', name: 'Ann' }],
    cc: [{ email: 'bob@example.org' }],
    replyTo: 'desk@example.com',
    variables: { number: 'A-7', sum: 12 },
    headers: { 'X-Case': '17' },
    metadata: { case: 17 },
    tags: ['orders'],
    priority: 'high',
    locale: 'de-DE',
    attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: base64('file') }],
  });
  await app.call('PATCH', '/api/templates/order', { subject: 'New', schema: template.schema });
  await app.call('POST', '/api/templates/order/publish', {});
  await app.call('DELETE', '/api/templates/order');

  const copy = await app.made(`/api/emails/${id}/resend`, {});
  t.not(copy, id);
  const [old, made] = [await record(app, id), await record(app, copy)];
  t.equal(made.resentFrom, id);
  t.equal(old.resentFrom, undefined);
  const common = ({
    subject,
    templateId,
    templateVersion,
    tags,
    priority,
    locale,
    replyTo,
    metadata,
  }: EmailRecord) => ({
    ...{ subject, templateId, templateVersion, tags, priority, locale, replyTo },
    ...{ recipients: metadata.recipients, variables: metadata.variables, custom: metadata.custom },
  });
  t.strictSame(common(made), common(old));
  t.equal(made.subject, 'Order A-7');
  t.not(made.messageId, old.messageId);
  const [before, after] = [await content(app, id), await content(app, copy)];
  t.strictSame([after.html, after.text, after.to, after.cc], [before.html, before.text, before.to, before.cc]);
  t.match(after.attachments, [{ filename: 'a.txt', contentType: 'text/plain', sizeBytes: 4 }]);
  t.match(app.raws.get('ann@example.org'), /X-Case: 17/);

  const other = await app.made(`/api/emails/${id}/resend`, {
    to: [{ email: 'eve@example.org' }],
    variables: { sum: 99 },
  });
  t.match(await record(app, other), {
    resentFrom: id,
    recipientCount: 1,
    subject: 'Order A-7',
    metadata: { recipients: { to: [{ email: 'eve@example.org' }], cc: [] }, variables: { number: 'A-7', sum: 99 } },
  });
  t.match((await content(app, other)).text, 'Sum 99');
});

void t.test('content that came with a call is copied, once for each Idempotency-Key', async (t) => {
  const app = await open(t);
  const id = await app.made('/api/emails/send', {
    content: { subject: 'Hi {{name}}', html: '<p>Dear {{name}}</p>' },
    to: [{ email: 'ann@example.org' }],
    variables: { name: 'Ann' },
  });
  const copy = await app.made(`/api/emails/${id}/resend`, {}, { 'idempotency-key': 'k' });
  t.equal(await app.made(`/api/emails/${id}/resend`, {}, { 'idempotency-key': 'k' }), copy);
  t.match(await content(app, copy), { subject: 'Hi Ann', html: /Dear Ann/ });
  t.match(
    await app.call('POST', `/api/emails/${id}/resend`, { variables: { name: 'Eve' } }, { 'idempotency-key': 'k' }),
    {
      status: 400,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    },
  );
  const again = await app.made(`/api/emails/${copy}/resend`, { variables: { name: 'Eve' } });
  t.match(await record(app, again), { resentFrom: copy, subject: 'Hi Eve' });
});

void t.test('a copy is refused where there is nothing to copy, and to callers who may not send or read', async (t) => {
  const app = await open(t);
  const inline = { content: { subject: 'Hi', html: '<p>Hi</p>' }, to: [{ email: 'ann@example.org' }] };
  const id = await app.made('/api/emails/send', inline);
  const resend = (of: string, body: object = {}, headers: Record<string, string> = {}) =>
    app.call('POST', `/api/emails/${of}/resend`, body, headers);
  t.match(await resend('11111111-1111-4111-8111-111111111111'), { status: 404, body: { code: 'EMAIL_NOT_FOUND' } });
  t.match(await resend(id, { to: [] }), { status: 400, body: { code: 'VALIDATION_ERROR' } });
  t.match(await resend(id, { to: [{ email: 'x' }] }), { status: 400, body: { code: 'ERR_EMAIL_001' } });
  t.match(await resend(id, { subject: 'x' }), { status: 400, body: { code: 'VALIDATION_ERROR' } });
  for (const permissions of [['emails:content'], ['emails:send']]) {
    const { body } = await app.call<{ key: string }>('POST', '/api/api-keys', { name: 'k', permissions });
    t.match(await resend(id, {}, { authorization: `Bearer ${body.key}` }), {
      status: 403,
      body: { code: 'FORBIDDEN' },
    });
  }
  const { body: tester } = await app.call<{ key: string }>('POST', '/api/api-keys', {
    ...{ name: 't', test: true, permissions: ['emails:content', 'emails:send'] },
  });
  t.match(await resend(id, {}, { authorization: `Bearer ${tester.key}` }), {
    ...{ status: 403, body: { code: 'TEST_KEY_NOT_ALLOWED' } },
  });

  const caller = systemCaller((await firstTeam(app.engine))!, 'test', 'test');
  const raw = Buffer.from('From: shop@example.com\r\nTo: ann@example.org\r\nSubject: x\r\n\r\nHi\r\n');
  const { body: submitted } = await makeCommands(app.engine).submitEmail(
    caller,
    { sender: 'shop@example.com', to: ['ann@example.org'], raw, by: 'mail.example.com', with: 'ESMTPSA' },
    async () => ({ bytes: 0, position: 0 }),
  );
  await app.whenStatus(submitted.id, 'sent');
  t.match(await resend(submitted.id), { status: 400, body: { code: 'EMAIL_NOT_RESENDABLE' } });

  await app.whenCaughtUp();
  await app.clock.advance(30 * DAY_MS - 60_000);
  await app.whenCaughtUp();
  await advanceUntil(app.clock, 1_000, 'it is archived', async () => (await app.email(id)).archived);
  t.match(await resend(id), { status: 410, body: { code: 'CONTENT_GONE' } });
});

void t.test('a test goes to people of the team alone, is delivered, and neither costs nor counts', async (t) => {
  const app = await open(t);
  await app.call('POST', '/api/templates', template);
  await app.call('PATCH', '/api/templates/order', {
    subject: 'Draft {{number}}',
    translations: { de: { 'Draft {{number}}': 'Entwurf {{number}}' } },
  });
  const teamId = (await firstTeam(app.engine))!;
  const tester = await signedIn(app.engine, { email: 'tess@example.org', name: 'Tess', role: 'member', teamId });
  const headers = { authorization: `Bearer ${tester.accessToken}` };
  const path = '/api/templates/order/test';

  const id = await app.made(path, {}, headers);
  const email = await record(app, id);
  t.match(email, {
    test: true,
    status: 'sent',
    subject: '[Test] Draft A-1',
    templateVersion: null,
    tracking: { opens: false, clicks: false },
  });
  t.match(app.raws.get('tess@example.org'), /^Subject: \[Test\] Draft A-1\r$/m, 'it left');
  t.match(app.raws.get('tess@example.org'), 'Sum 7');
  const version = await app.made(path, { version: 1, variables: { number: 'B' }, to: [{ email: 'TESS@example.org' }] });
  t.match(await record(app, version), { subject: '[Test] Order B', templateVersion: 1 });
  t.match(await record(app, await app.made(path, { locale: 'de-DE' }, headers)), { subject: '[Test] Entwurf A-1' });

  for (const [body, fault] of [
    [{}, { code: 'VALIDATION_ERROR', errors: [{ field: 'to' }] }],
    [
      { to: [{ email: 'tess@example.org' }, { email: 'eve@example.org' }] },
      { code: 'VALIDATION_ERROR', errors: [{ field: 'to[1].email' }] },
    ],
    [{ to: [{ email: 'x' }] }, { code: 'VALIDATION_ERROR', errors: [{ field: 'to[0].email' }] }],
    [{ to: Array.from({ length: 11 }, () => ({ email: 'tess@example.org' })) }, { code: 'VALIDATION_ERROR' }],
    [{ to: [{ email: 'tess@example.org' }], version: 9 }, { code: 'TEMPLATE_VERSION_NOT_FOUND' }],
  ] as const)
    t.match((await app.call('POST', path, body)).body, fault, JSON.stringify(body).slice(0, 60));
  t.match(await app.call('POST', '/api/templates/nothing/test', {}, headers), {
    status: 404,
    body: { code: 'TEMPLATE_NOT_FOUND' },
  });

  const today = new Date(app.clock.now()).toISOString().slice(0, 10);
  const overview = await app.call('GET', `/api/analytics/overview?startDate=${today}&endDate=${today}`);
  t.match(JSON.stringify(overview.body), /"sent":0/, 'no figure has them');
  const first = (await app.engine.eventLog.load(emailStream(id as EmailId)))[0]?.event;
  t.match(first?.data, { test: true, delivers: true, charged: undefined, domains: undefined });
});
