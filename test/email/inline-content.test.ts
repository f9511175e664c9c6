/** Mails whose content comes with the call: what leaves, what the log shows, what is refused. */
import PostalMime from 'postal-mime';
import t, { type Test } from 'tap';
import type { EmailRecord } from '../../src/api/email.js';
import type { DryRunResponse } from '../../src/api/bulk.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { openBudget } from '../../src/domain/rendering/budget.js';
import { fillHtml } from '../../src/domain/rendering/fill/compile.js';
import { startTestApp, type Answer, type TestApp } from '../support/app.js';
import { fakeClock, startOfToday } from '../support/fake-clock.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { mailerBy } from '../support/mailers.js';
import { said } from '../support/email-facts.js';
import { eventually } from '../support/wait.js';

type Listed = Readonly<{ data: readonly EmailRecord[]; meta: Readonly<{ total: number }> }>;
type World = TestApp & Readonly<{ raws: Map<string, Buffer>; leaves: (to: string) => Promise<Mail> }>;
type Mail = Readonly<{
  subject?: string;
  html: string;
  text: string;
  raw: string;
  headers: ReadonlyMap<string, string>;
}>;

const TODAY = startOfToday();
const inDays = (days: number): string => new Date(TODAY + days * DAY_MS).toISOString();

const open = async (t: Test): Promise<World> => {
  const raws = new Map<string, Buffer>();
  const mailer = mailerBy(async ({ envelope, raw }) => {
    for (const to of envelope.to) raws.set(to, raw);
    return { host: 'test', durationMs: 0, recipients: envelope.to.map(() => said('accepted')) };
  });
  const app = await startTestApp({
    dataDir: temporaryDirectory(t),
    isFounded: true,
    clock: fakeClock(TODAY),
    mailer,
    settings: { SEALPOST_PUBLIC_URL: 'https://mail.example.com' },
  });
  t.teardown(() => app.stop());
  const leaves = (to: string): Promise<Mail> =>
    eventually(`a mail to ${to}`, async () => {
      const raw = raws.get(to);
      if (raw === undefined) throw new Error('none yet');
      const { subject, html = '', text = '', headers } = await PostalMime.parse(raw);
      const named = new Map(headers.map(({ key, value }) => [key, value]));
      return { ...(subject !== undefined && { subject }), html, text, raw: raw.toString(), headers: named };
    });
  return { ...app, raws, leaves };
};

const HTML = `<!doctype html>\n<html><head><title>Hi {{name}}</title><style>p { color: #111 }</style></head>
<body><!--[if mso]><a href='https://shop.example/{{order.id}}'><![endif]-->
<p onclick="x()">Dear {{name}}, see <A HREF = 'https://shop.example/o?id={{order.id}}&amp;x=1'>your order</A>.</p></body></html>`;

const content = { subject: 'Your order {{order.id}}', html: HTML };
const to = (email: string) => [{ email }];
const faultsOf = ({ body }: Answer): readonly Readonly<{ field: string; message: string }>[] =>
  body['errors'] as readonly Readonly<{ field: string; message: string }>[];

void t.test('without variables the HTML leaves as it came, with braces and all', async (t) => {
  const app = await open(t);
  const { status, body } = await app.call<{ id: string }>('POST', '/api/emails/send', {
    content,
    to: to('a@x.example'),
  });
  t.equal(status, 201);
  const mail = await app.leaves('a@x.example');
  t.equal(mail.subject, 'Your order {{order.id}}');
  t.equal(mail.html.replaceAll('\r\n', '\n').trimEnd(), HTML);
  t.match(mail.text, /^Dear \{\{name\}\}, see your order \(https:\/\/shop\.example\/o\?id=/m);
  const record = await app.whenStatus(body.id, 'sent');
  t.match(record, { templateId: 'inline', emailTemplateName: 'inline', templateVersion: null });
  t.strictSame(record.subject, 'Your order {{order.id}}');
});

void t.test('with variables the placeholders are filled, each value escaped for its place', async (t) => {
  const app = await open(t);
  const variables = { name: 'Ann <b>& Co</b>', order: { id: 'A/7 "x"' } };
  const sent = await app.call('POST', '/api/emails/send', {
    content: { ...content, text: 'Dear {{name}}' },
    to: to('a@x.example'),
    variables,
  });
  t.equal(sent.status, 201, sent.text);
  const mail = await app.leaves('a@x.example');
  t.equal(mail.subject, 'Your order A/7 "x"');
  t.equal(mail.text.trimEnd(), 'Dear Ann <b>& Co</b>');
  t.match(mail.html, 'Dear Ann &lt;b&gt;&amp; Co&lt;/b&gt;, see');
  t.match(mail.html, "HREF = 'https://shop.example/o?id=A%2F7%20%22x%22&amp;x=1'");
  t.notMatch(mail.html, '{{', 'also in the comment that Outlook reads');
  t.notMatch(mail.html, '"x"');
});

void t.test('a placeholder without a value is empty, and the answer warns of it', async (t) => {
  const app = await open(t);
  const sent = await app.call('POST', '/api/emails/send', {
    content,
    to: to('a@x.example'),
    variables: { name: 'Ann' },
  });
  t.equal(sent.status, 201);
  t.match(sent.body['warnings'], [
    { kind: 'missing', path: 'order.id', field: 'content.subject' },
    { kind: 'missing', path: 'order.id', field: 'content.html' },
  ]);
});

void t.test('links are tracked however they are written, the pixel stands at the end, marked links stay', async (t) => {
  const app = await open(t);
  const html = `<BODY><a href=https://a.example/1>1</a><A HREF='https://a.example/2'>2</A>
<a data-sealpost-track="off" href="https://a.example/3">3</a><a href="https://a.example/5" Data-Sealpost-Track = 'off'>5</a><a data-sealpost-track=off href="https://a.example/6">6</a><a href="mailto:x@a.example">4</a></BODY >`;
  await app.call('POST', '/api/emails/send', {
    content: { subject: 'S', html },
    to: to('a@x.example'),
    tracking: { opens: true, clicks: true },
  });
  const mail = await app.leaves('a@x.example');
  t.equal(mail.html.match(/href="https:\/\/mail\.example\.com\/t\/c\//g)?.length, 2);
  t.match(
    mail.html,
    /<a href="https:\/\/a\.example\/3">3<\/a><a href="https:\/\/a\.example\/5">5<\/a><a href="https:\/\/a\.example\/6">6<\/a><a href="mailto:x@a\.example">4/,
  );
  t.match(mail.html, /<img src="https:\/\/mail\.example\.com\/t\/o\/[^>]*><\/BODY >/);
});

void t.test('a list gives each recipient a link of their own, with and without variables', async (t) => {
  const app = await open(t);
  const html = '<p>News</p><a href="{{__UNSUBSCRIBE_URL__}}">Stop</a>';
  for (const variables of [undefined, {}]) {
    const address = variables === undefined ? 'a@x.example' : 'b@x.example';
    await app.call('POST', '/api/emails/send', {
      content: { subject: 'News', html, unsubscribeList: 'news' },
      to: to(address),
      ...(variables && { variables }),
    });
    const mail = await app.leaves(address);
    const url = /<(https:\/\/mail\.example\.com\/u\/[\w-]+)>/.exec(mail.headers.get('list-unsubscribe') ?? '')?.[1];
    t.type(url, 'string');
    t.match(mail.html, `<a href="${url}">Stop</a>`);
    t.match(mail.text, url);
    const page = await app.call('GET', new URL(url!).pathname);
    t.equal(page.status, 200);
  }
});

void t.test('what is wrong is refused by name, and nothing is stored', async (t) => {
  const app = await open(t);
  const refused = async (body: Readonly<Record<string, unknown>>) => {
    const answer = await app.call('POST', '/api/emails/send', { to: to('a@x.example'), ...body });
    t.equal(answer.status, 400, answer.text);
    return answer;
  };
  t.match(faultsOf(await refused({ variables: {} })), [
    { field: 'templateId', message: /is required, unless `content`/ },
  ]);
  t.match(faultsOf(await refused({ templateId: 'sign-in-code', content, variables: {} })), [
    { field: 'content', message: /stands beside `templateId`/ },
  ]);
  t.match(faultsOf(await refused({ templateId: 'sign-in-code' })), [{ field: 'variables', message: 'is required' }]);
  t.match(faultsOf(await refused({ content, subject: 'x', version: 2 })), [{ field: 'version' }, { field: 'subject' }]);
  t.match(faultsOf(await refused({ content: { subject: 'a\nb', html: 'x' } })), [{ field: 'content.subject' }]);
  t.match(faultsOf(await refused({ content: { subject: 'a', html: 'x', amp: 'y' } })), [{ field: 'content.amp' }]);
  t.match(faultsOf(await refused({ content: { subject: 'a', html: '{{#if a}}' }, variables: {} })), [
    { field: 'content.html', message: /block/ },
  ]);
  t.match(faultsOf(await refused({ content: { subject: '{{a}}', html: 'x' }, variables: {} })), [{ field: 'subject' }]);
  t.equal((await refused({ content: { subject: 'a', html: '<p>&nbsp;</p>' } })).body['code'], 'BODY_EMPTY');
  t.match((await refused({ content: { subject: 'a', html: '<img src="cid:logo">' } })).text, 'cid:logo');
  const large = await refused({ content: { subject: 'a', html: 'x'.repeat(1024 * 1024 + 1) } });
  t.equal(large.body['code'], 'RENDERED_BODY_TOO_LARGE');
  t.equal((await app.call<Listed>('GET', '/api/emails')).body.meta.total, 0);
});

void t.test('a picture that the call attaches is shown', async (t) => {
  const app = await open(t);
  const sent = await app.call('POST', '/api/emails/send', {
    content: { subject: 'a', html: '<img alt="Logo" src="cid:logo">' },
    to: to('a@x.example'),
    attachments: [{ filename: 'l.png', contentType: 'image/png', contentId: 'logo', content: PNG }],
  });
  t.equal(sent.status, 201, sent.text);
  t.match((await app.leaves('a@x.example')).raw, /Content-ID: <logo>/i);
});

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

void t.test('an Idempotency-Key, a schedule and a new time hold as for a template', async (t) => {
  const app = await open(t);
  const body = { content, to: to('a@x.example'), variables: { order: { id: 7 } }, scheduledAt: inDays(1) };
  const keyed = { 'idempotency-key': 'k1' };
  const first = await app.call<{ id: string }>('POST', '/api/emails/send', body, keyed);
  const again = await app.call<{ id: string }>('POST', '/api/emails/send', body, keyed);
  t.equal(first.text, again.text);
  const other = { ...body, content: { ...content, html: `${HTML} ` } };
  t.equal((await app.call('POST', '/api/emails/send', other, keyed)).body['code'], 'IDEMPOTENCY_KEY_REUSED');
  const moved = await app.call('PATCH', `/api/emails/${first.body.id}`, { scheduledAt: inDays(2) });
  t.equal(moved.status, 200, moved.text);
  t.equal((await app.email(first.body.id)).subject, 'Your order 7');
});

void t.test('the list and the figures have them under `inline`', async (t) => {
  const app = await open(t);
  const { body } = await app.call<{ id: string }>('POST', '/api/emails/send', { content, to: to('a@x.example') });
  await app.send();
  await app.whenStatus(body.id, 'sent');
  const listed = await eventually('the list has it', async () => {
    const { body: found } = await app.call<Listed>('GET', '/api/emails?templateId=inline');
    if (found.meta.total !== 1) throw new Error(`${found.meta.total}`);
    return found;
  });
  t.match(listed.data, [{ id: body.id, templateId: 'inline', emailTemplateName: 'inline' }]);
  // A name that no template has, and one that none can have.
  t.match((await app.call('GET', '/api/emails?templateId=nonsense')).body, { data: [] });
  t.equal((await app.call('GET', '/api/emails?templateId=no%20slug')).status, 400);
});

void t.test('a bulk send fills it for each recipient, and its dry run says what lacks', async (t) => {
  const app = await open(t);
  const recipients = [
    { email: 'a@x.example', variables: { name: 'Ann', order: { id: 1 } } },
    { email: 'b@x.example', variables: { name: 'Bob' } },
  ];
  const dry = await app.call<DryRunResponse>('POST', '/api/emails/send/bulk', { content, recipients, dryRun: true });
  t.equal(dry.status, 200, dry.text);
  t.match(dry.body, {
    valid: true,
    totalEmails: 2,
    templateValidation: { templateFound: false, templateType: 'inline', emptyPaths: ['order.id'] },
  });
  const sent = await app.call<{ batchId: string }>('POST', '/api/emails/send/bulk', { content, recipients });
  t.equal(sent.status, 201, sent.text);
  t.match((await app.leaves('a@x.example')).subject, 'Your order 1');
  t.match((await app.leaves('b@x.example')).html, 'Dear Bob');
  const status = await app.call('GET', `/api/emails/batch/${sent.body.batchId}/status`);
  t.match(status.body, { templateId: 'inline', emailTemplateName: 'inline' }, status.text);
});

void t.test('a bulk send without variables leaves braces alone', async (t) => {
  const app = await open(t);
  const sent = await app.call('POST', '/api/emails/send/bulk', { content, recipients: to('a@x.example') });
  t.equal(sent.status, 201, sent.text);
  t.equal((await app.leaves('a@x.example')).subject, 'Your order {{order.id}}');
});

void t.test('once it is deleted nothing of the content is left', async (t) => {
  const app = await open(t);
  const { body } = await app.call<{ id: string }>('POST', '/api/emails/send', {
    content: { subject: 'Top secret', html: '<p>Top secret</p>' },
    to: to('a@x.example'),
  });
  await app.whenStatus(body.id, 'sent');
  t.equal((await app.call('DELETE', `/api/emails/${body.id}`)).status, 200);
  t.equal((await app.call('GET', `/api/emails/${body.id}`)).status, 404);
});

void t.test('a value gives no address a scheme that runs code', async (t) => {
  const app = await open(t);
  const html = `<a href="{{u}}">1</a><a href='{{a}}{{b}}'>2</a><a href="{{a}}:{{b}}">3</a><a href={{u}}>4</a>
<img src="{{u}}"><form action="{{u}}">5</form><a href="{{ok}}">6</a><img src="{{cid}}">`;
  const variables = {
    u: 'java\tscript:x()',
    a: 'javascript',
    b: ':x()',
    ok: 'https://a.example/?b=1',
    cid: 'CID:logo',
  };
  await app.call('POST', '/api/emails/send', {
    content: { subject: 'S', html },
    to: to('a@x.example'),
    variables,
    attachments: [{ filename: 'l.png', contentId: 'logo', contentType: 'image/png', content: PNG }],
  });
  const mail = await app.leaves('a@x.example');
  t.match(mail.html, '<a href="">1</a><a href=\'javascript\'>2</a><a href="javascript:">3</a><a href=>4</a>');
  t.match(mail.html, '<form action="">5</form><a href="https://a.example/?b&#61;1">6</a>');
});

const filledWith = (html: string, values: Readonly<Record<string, string>>): string =>
  fillHtml(
    html,
    'content.html',
    { definitions: [], language: { locale: 'en' } as never, limits: defaultLimits, budget: openBudget(defaultLimits) },
    { values, constants: {} as never },
  );

void t.test('the values of an address without quotes are judged together', (t) => {
  const values = { a: 'javascript', b: 'alert(1)', c: 'script:alert(1)', d: 'https', e: '//a.example/x' };
  for (const [html, filled] of [
    ['<a href={{a}}:{{b}}>1</a>', '<a href=&#106;avascript:>1</a>'],
    ['<a href=java{{c}}>1</a>', '<a href=java>1</a>'],
    ['<a HREF = java{{c}} title={{b}}>1</a>', '<a HREF = java title=&#97;lert(1)>1</a>'],
    ['<a href={{d}}:{{e}}>1</a>', '<a href=&#104;ttps:&#47;/a.example/x>1</a>'],
    ['<a href={{d}}://{{b}} href2={{c}}>1</a>', '<a href=&#104;ttps://&#97;lert(1) href2=&#115;cript:alert(1)>1</a>'],
    [
      '<p class={{a}}>{{b}}</p><a href="{{a}}:{{b}}">2</a>',
      '<p class=&#106;avascript>alert(1)</p><a href="javascript:">2</a>',
    ],
  ] as const)
    t.equal(filledWith(html, values), filled);
  t.end();
});

void t.test('a megabyte with thousands of values in one address needs little memory', (t) => {
  const html = `<a href="https://a.example/${'{{a}}'.padEnd(400, 'x').repeat(2_400)}">1</a>`;
  const before = process.memoryUsage.rss();
  const filled = fillHtml(
    html,
    'content.html',
    { definitions: [], language: { locale: 'en' } as never, limits: defaultLimits, budget: openBudget(defaultLimits) },
    { values: { a: 'x' }, constants: {} as never },
  );
  t.equal(filled.length, html.length - 2_400 * 4);
  t.ok(process.memoryUsage.rss() - before < 300_000_000);
  t.end();
});

void t.test('links are tracked as browsers read them, and other attributes stay', async (t) => {
  const app = await open(t);
  const html = `<a href="https://a.example/?a=1&b=2">1</a><a title=' href="https://b.example/"' href="https://a.example/3">2</a>`;
  await app.call('POST', '/api/emails/send', {
    content: { subject: 'S', html },
    to: to('a@x.example'),
    tracking: { opens: false, clicks: true },
  });
  const mail = await app.leaves('a@x.example');
  t.match(
    mail.html,
    /^<a href="https:\/\/mail\.example\.com\/t\/c\/[^"]*">1<\/a><a title=' href="https:\/\/b\.example\/"' href="https:\/\/mail\.[^"]*">2/,
  );
});

void t.test('a subject of blanks alone is empty', async (t) => {
  const app = await open(t);
  const { status, body } = await app.call('POST', '/api/emails/send', {
    content: { subject: '  ', html: '<p>x</p>' },
    to: to('a@x.example'),
  });
  t.equal(status, 400);
  t.equal(body['code'], 'SUBJECT_EMPTY');
});
