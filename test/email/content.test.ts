/** The mail of an email, read again: what it shows, that opening it records nothing, and when it is gone. */
import t, { type Test } from 'tap';
import type { SentContent } from '../../src/api/email-content.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { makeCommands } from '../../src/commands/index.js';
import { firstTeam, systemCaller } from '../../src/commands/core/caller.js';
import { advanceUntil, startTestApp, type Answer, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { said } from '../support/email-facts.js';
import { fakeClock, startOfToday, type FakeClock } from '../support/fake-clock.js';
import { mailerBy } from '../support/mailers.js';

type World = TestApp &
  Readonly<{
    clock: FakeClock;
    /** Sends a mail and waits until it left. Out: its id, and the bytes that each recipient got. */
    sent: (body: object) => Promise<Readonly<{ id: string; raws: ReadonlyMap<string, string> }>>;
    /** Hands a message over as a program does by SMTP, and waits until it left. */
    handedOver: (text: string, to: readonly string[]) => ReturnType<World['sent']>;
    /** Resolves when the data of that address are erased. The call waits on the clock of the test. */
    erase: (email: string) => Promise<void>;
    read: (id: string, what: string) => Promise<Answer<SentContent>>;
  }>;

const TODAY = startOfToday();

const open = async (t: Test): Promise<World> => {
  const raws = new Map<string, string>();
  const mailer = mailerBy(async ({ envelope, raw }) => {
    for (const to of envelope.to) raws.set(to, raw.toString('latin1'));
    return { host: 'test', durationMs: 0, recipients: envelope.to.map(() => said('accepted')) };
  });
  const clock = fakeClock(TODAY);
  const app = await startTestApp({
    ...{ dataDir: temporaryDirectory(t), isFounded: true, clock, mailer },
    settings: { SEALPOST_PUBLIC_URL: 'https://mail.example.com' },
  });
  t.teardown(() => app.stop());
  return {
    ...app,
    clock,
    sent: async (body) => {
      raws.clear();
      const answer = await app.call<{ id: string }>('POST', '/api/emails/send', body);
      if (answer.status !== 201) throw new Error(answer.text);
      await app.whenStatus(answer.body.id, 'sent');
      return { id: answer.body.id, raws: new Map(raws) };
    },
    handedOver: async (text, to) => {
      raws.clear();
      const caller = systemCaller((await firstTeam(app.engine))!, 'test', 'test');
      const raw = Buffer.from(text.replaceAll('\n', '\r\n'));
      const { body } = await makeCommands(app.engine).submitEmail(
        caller,
        { sender: 'shop@example.com', to, raw, by: 'mail.example.com', with: 'ESMTPSA' },
        async () => ({ bytes: 0, position: 0 }),
      );
      await app.whenStatus(body.id, 'sent');
      return { id: body.id, raws: new Map(raws) };
    },
    erase: async (email) => {
      let isAnswered = false;
      const asked = app.call('POST', '/api/privacy/erase', { email });
      const answered = (): void => void (isAnswered = true);
      asked.then(answered, answered);
      await advanceUntil(clock, 50, 'the erasure is answered', () => isAnswered);
      const { status, text, body } = await asked;
      if (status >= 300 || body['status'] !== 'completed') throw new Error(text);
    },
    read: (id, what) => app.call('GET', `/api/emails/${id}/${what}`),
  };
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

void t.test('the source is the mail that left, byte for byte, and the content says what it shows', async (t) => {
  const app = await open(t);
  const { id, raws } = await app.sent({
    content: {
      subject: 'Größe {{size}}',
      html: '<p>Hello {{name}}</p><img src="cid:logo">',
      text: 'Hello {{name}}',
    },
    to: [{ email: 'ada@x.example', name: 'Ada' }],
    cc: [{ email: 'ben@x.example' }],
    bcc: [{ email: 'cem@x.example' }],
    replyTo: 'answers@x.example',
    headers: { 'X-Order': '4711' },
    variables: { name: 'Ann & Co', size: 'M' },
    attachments: [
      { filename: 'logo.png', contentType: 'image/png', contentId: 'logo', content: PIXEL },
      { filename: 'Zahlen "ü".csv', contentType: 'text/csv; charset=utf-8', content: base64('a;b') },
    ],
  });
  const source = await app.read(id, 'source');
  t.equal(source.status, 200);
  t.equal(source.text, raws.get('ada@x.example'));
  t.equal(source.headers['content-type'], 'message/rfc822');
  t.equal(source.headers['content-disposition'], `attachment; filename="${id}.eml"`);
  t.equal(source.headers['x-content-type-options'], 'nosniff');
  const { body } = await app.read(id, 'content');
  t.match(body, {
    id,
    recipient: null,
    to: [{ email: 'ada@x.example', name: 'Ada' }],
    cc: [{ email: 'ben@x.example' }],
    replyTo: [{ email: 'answers@x.example' }],
    subject: 'Größe M',
    html: '<p>Hello Ann &amp; Co</p><img src="cid:logo">',
    text: 'Hello Ann & Co',
    attachments: [
      { index: 0, filename: 'logo.png', contentId: 'logo', sizeBytes: Buffer.from(PIXEL, 'base64').length },
      { index: 1, filename: 'Zahlen ü.csv', contentId: null, sizeBytes: 3 },
    ],
    sizes: { html: 45, text: 14 },
  });
  t.notMatch(source.text, 'cem@x.example', 'blind copies stand nowhere in it');
  const head = source.text.slice(0, source.text.indexOf('\r\nMIME-Version')).replaceAll(/\r\n(?=[ \t])/g, '');
  t.strictSame(
    body.headers.slice(0, -1).map(({ name, value }) => `${name}: ${value}`),
    head.split('\r\n'),
  );
});

void t.test('attachments come as they were sent, under names and types that do nothing', async (t) => {
  const app = await open(t);
  const { id } = await app.sent({
    content: { subject: 'S', html: '<p>x</p>' },
    to: [{ email: 'ada@x.example' }],
    attachments: [
      {
        filename: 'ü "quoted"; x.html',
        contentType: 'text/html; charset=utf-8',
        content: base64('<script>1</script>'),
      },
    ],
  });
  const file = await app.read(id, 'attachments/0');
  t.equal(file.status, 200);
  t.equal(file.text, '<script>1</script>');
  t.equal(file.headers['content-type'], 'text/html; charset=utf-8');
  t.match(file.headers['content-disposition'], /^attachment; filename\*=UTF-8''/);
  t.match(file.headers['content-security-policy'], 'sandbox');
  t.equal(file.headers['x-content-type-options'], 'nosniff');
  for (const index of ['1', '-1', '99999', 'x', '0x0'])
    t.match(await app.read(id, `attachments/${index}`), { status: 404, body: { code: 'NOT_FOUND' } }, index);
});

void t.test('pictures that the mail draws can be read, and template mails too', async (t) => {
  const app = await open(t);
  const made = await app.call('POST', '/api/templates', {
    ...{
      slug: 'entrance',
      name: 'Entrance',
      subject: 'Ticket',
      publish: true,
      variables: [{ name: 'code', type: 'string' }],
    },
    schema: {
      sections: [{ id: 'm', type: 'main', components: [{ id: 'qr', type: 'qr-code', props: { value: '{{code}}' } }] }],
    },
  });
  t.equal(made.status, 201, made.text);
  const { id, raws } = await app.sent({
    templateId: 'entrance',
    to: [{ email: 'ada@x.example' }],
    variables: { code: 'A-1' },
  });
  t.equal((await app.read(id, 'source')).text, raws.get('ada@x.example'));
  const { body } = await app.read(id, 'content');
  t.match(body.attachments, [{ index: 0, filename: /^qr-code\./, contentId: /./ }]);
  t.match(body.html, `cid:${body.attachments[0]!.contentId}`);
  const picture = await app.read(id, 'attachments/0');
  t.equal(picture.headers['content-type'], body.attachments[0]!.contentType);
});

void t.test('a tracked mail is shown as its author wrote it, and each copy has its own link', async (t) => {
  const app = await open(t);
  const html = '<p><a href="https://shop.example/1">1</a> <a href="{{__UNSUBSCRIBE_URL__}}">Stop</a></p>';
  const { id, raws } = await app.sent({
    content: { subject: 'S', html, unsubscribeList: 'news' },
    to: [{ email: 'ada@x.example' }, { email: 'ben@x.example' }],
    tracking: { opens: true, clicks: true },
  });
  t.match(raws.get('ben@x.example'), '/t/c/', 'what left was tracked');
  const copies = [await app.read(id, 'content'), await app.read(id, 'content?recipient=1')].map(({ body }) => body);
  t.strictSame(
    copies.map(({ recipient }) => recipient),
    [0, 1],
  );
  for (const [place, address] of ['ada@x.example', 'ben@x.example'].entries()) {
    const { html: shown, headers } = copies[place]!;
    const url = /<(https:[^>]*)>/.exec(headers.find(({ name }) => name === 'List-Unsubscribe')!.value)![1]!;
    t.equal(shown, html.replace('{{__UNSUBSCRIBE_URL__}}', url));
    t.match(raws.get(address), url, 'the link that the recipient got');
    const source = await app.read(id, `source?recipient=${place}`);
    t.match(source.text, 'https://shop.example/1');
    t.notMatch(source.text, '/t/');
  }
  t.match(await app.read(id, 'content?recipient=2'), { status: 400, body: { code: 'VALIDATION_ERROR' } });
  t.match(await app.read(id, 'content?recipient=-1'), { status: 400 });
});

void t.test('what is scheduled is shown for its time', async (t) => {
  const app = await open(t);
  const at = new Date(TODAY + 4 * DAY_MS);
  const { body } = await app.call<{ id: string; messageId: string }>('POST', '/api/emails/send', {
    content: { subject: 'Later', html: '<p>x</p>' },
    to: [{ email: 'ada@x.example' }],
    scheduledAt: at.toISOString(),
  });
  const source = await app.read(body.id, 'source');
  t.match(source.text, `Date: ${at.toUTCString().replace('GMT', '+0000')}`);
  t.ok(source.text.includes(`Message-ID: ${body.messageId}`));
});

void t.test('what is deleted is not found; what is archived, or whose documents are over, is gone', async (t) => {
  const app = await open(t);
  const mail = { content: { subject: 'S', html: '<p>x</p>' }, to: [{ email: 'ada@x.example' }] };
  const deleted = await app.sent(mail);
  await app.call('DELETE', `/api/emails/${deleted.id}`);
  for (const what of ['content', 'source', 'attachments/0'])
    t.match(await app.read(deleted.id, what), { status: 404, body: { code: 'EMAIL_NOT_FOUND' } }, what);
  const archived = await app.sent({
    ...mail,
    attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: base64('a') }],
  });
  await app.whenCaughtUp();
  await app.clock.advance(30 * DAY_MS - 60_000);
  await app.whenCaughtUp();
  await advanceUntil(app.clock, 1_000, 'it is archived', async () => (await app.email(archived.id)).archived);
  for (const what of ['content', 'source', 'attachments/0'])
    t.match(await app.read(archived.id, what), { status: 410, body: { code: 'CONTENT_GONE' } }, what);
});

void t.test('an erased recipient has no copy any more; the others keep theirs', async (t) => {
  const app = await open(t);
  const { id } = await app.sent({
    content: { subject: 'S', html: '<p>x</p>', unsubscribeList: 'news' },
    to: [{ email: 'ada@x.example' }, { email: 'ben@x.example' }],
  });
  await app.erase('ada@x.example');
  t.match(await app.read(id, 'content?recipient=0'), { status: 410, body: { code: 'CONTENT_GONE' } });
  const { body } = await app.read(id, 'content');
  t.equal(body.recipient, 1);
  t.strictSame(body.to, [{ email: 'ben@x.example' }]);
});

const HANDED_OVER = `From: Shop <shop@example.com>
To: Ada <ada@x.example>, Ben <ben@x.example>
Subject: =?utf-8?Q?Gr=C3=B6=C3=9Fe?=
Bcc: cem@x.example
X-Sealpost-Tags: order
X-Order: 4711
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=m

--m
Content-Type: multipart/alternative; boundary=a

--a
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: base64

${base64('Größe M')}
--a
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

<p>Gr=F6=DFe <a href=3D"https://shop.example/1">M</a></p><img src=3D"cid:logo">
--a--
--m
Content-Type: image/png; name=logo.png
Content-Disposition: inline; filename=logo.png
Content-ID: <logo>
Content-Transfer-Encoding: base64

${PIXEL}
--m
Content-Type: text/csv
Content-Disposition: attachment; filename*=utf-8''Zahlen%20%C3%BC.csv

a;b
--m--
`;
const BOTH = ['ada@x.example', 'ben@x.example'];

void t.test('a mail handed over by SMTP is read as it left, without Bcc and the fields for the service', async (t) => {
  const app = await open(t);
  const { id, raws } = await app.handedOver(HANDED_OVER, [...BOTH, 'cem@x.example']);
  const source = await app.read(id, 'source');
  t.equal(source.status, 200, source.text);
  t.equal(Buffer.from(source.text).toString('latin1'), raws.get('ada@x.example'));
  t.equal(source.headers['content-type'], 'message/rfc822');
  t.notMatch(source.text, /^(?:Bcc|X-Sealpost-[\w-]+):|cem@x\.example/im);
  const { body } = await app.read(id, 'content');
  t.match(body, {
    id,
    recipient: null,
    from: { email: 'shop@example.com', name: 'Shop' },
    to: [
      { email: 'ada@x.example', name: 'Ada' },
      { email: 'ben@x.example', name: 'Ben' },
    ],
    cc: [],
    subject: 'Größe',
    html: '<p>Größe <a href="https://shop.example/1">M</a></p><img src="cid:logo">',
    text: 'Größe M',
    attachments: [
      { index: 0, filename: 'logo.png', contentType: 'image/png', contentId: 'logo' },
      { index: 1, filename: 'Zahlen ü.csv', contentType: 'text/csv', contentId: null, sizeBytes: 3 },
    ],
  });
  t.equal(body.attachments[0]!.sizeBytes, Buffer.from(PIXEL, 'base64').length);
  const names = body.headers.map(({ name }) => name);
  t.strictSame(names.slice(0, 4), ['Received', 'From', 'To', 'Subject']);
  t.strictSame(
    names.filter((name) => /^bcc$|^x-/i.test(name)),
    ['X-Order'],
  );
});

void t.test('files of a mail handed over by SMTP are read by their index', async (t) => {
  const app = await open(t);
  const { id } = await app.handedOver(HANDED_OVER, BOTH);
  const file = await app.read(id, 'attachments/1');
  t.match(file, { status: 200, text: 'a;b' });
  t.match(file.headers, { 'content-type': 'text/csv', 'content-disposition': /^attachment; filename\*=UTF-8''/ });
  const picture = await app.read(id, 'attachments/0');
  t.equal(picture.headers['content-type'], 'image/png');
  t.equal(picture.headers['content-length'], String(Buffer.from(PIXEL, 'base64').length));
  for (const index of ['2', '-1', 'x'])
    t.match(await app.read(id, `attachments/${index}`), { status: 404, body: { code: 'NOT_FOUND' } }, index);
});

void t.test('a large body handed over by SMTP is read whole, and is gone with its email', async (t) => {
  const app = await open(t);
  const lines = `${'x'.repeat(76)}\n`.repeat(3_000);
  const large = HANDED_OVER.replace('\na;b\n', `\na;b\n${lines}`);
  const { id, raws } = await app.handedOver(large, BOTH);
  t.ok(raws.get('ada@x.example')!.length > 200_000);
  t.equal((await app.read(id, 'source')).text, raws.get('ada@x.example'));
  t.equal((await app.read(id, 'content')).body.attachments[1]!.sizeBytes, 3 + 3_000 * 78);
  t.equal((await app.read(id, 'attachments/1')).text, `a;b\n${lines}`.replaceAll('\n', '\r\n').trimEnd());
  await app.whenCaughtUp();
  await app.clock.advance(30 * DAY_MS - 60_000);
  await app.whenCaughtUp();
  await advanceUntil(app.clock, 1_000, 'it is archived', async () => (await app.email(id)).archived);
  for (const what of ['content', 'source', 'attachments/1'])
    t.match(await app.read(id, what), { status: 410, body: { code: 'CONTENT_GONE' } }, what);
});

void t.test('a tracked mail handed over by SMTP is shown without tracking, each copy with its own link', async (t) => {
  const app = await open(t);
  const fields = 'X-Sealpost-Track: clicks\nX-Sealpost-Unsubscribe-List: news\n';
  const { id, raws } = await app.handedOver(fields + HANDED_OVER, BOTH);
  const copies = [await app.read(id, 'content'), await app.read(id, 'content?recipient=1')].map(({ body }) => body);
  for (const [place, address] of BOTH.entries()) {
    const { headers, html, recipient } = copies[place]!;
    t.equal(recipient, place);
    const url = /<(https:[^>]*)>/.exec(headers.find(({ name }) => name === 'List-Unsubscribe')!.value)![1]!;
    t.match(raws.get(address)!.replaceAll(/\r\n[ \t]/g, ' '), url, 'the link that the recipient got');
    t.match(html, 'href="https://shop.example/1"');
  }
  t.match(raws.get('ben@x.example'), '/t/c/', 'what left was tracked');
  t.notMatch((await app.read(id, 'source?recipient=1')).text, '/t/c/');
  await app.erase('ada@x.example');
  t.match(await app.read(id, 'content?recipient=0'), { status: 410, body: { code: 'CONTENT_GONE' } });
  t.match((await app.read(id, 'content')).body, { recipient: 1, to: [{ email: 'ben@x.example' }] });
});

void t.test('an erased recipient is in nothing that is read of a mail handed over by SMTP', async (t) => {
  const app = await open(t);
  const { id } = await app.handedOver(HANDED_OVER, BOTH);
  await app.erase('ada@x.example');
  const [source, content] = [await app.read(id, 'source'), await app.read(id, 'content')];
  t.match(source.text, /\r\nTo: Ben <ben@x\.example>\r\n/);
  t.strictSame(content.body.to, [{ email: 'ben@x.example', name: 'Ben' }]);
  for (const { status, text } of [source, content]) {
    t.equal(status, 200);
    t.notMatch(text, /ada/i);
  }
});
