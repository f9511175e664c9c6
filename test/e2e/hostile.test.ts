/**
 * Requests made to harm, over a real connection: each gets a 4xx of the contract with a code, and nothing at all is
 * written.
 */
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { sendBody, startTestApp, storedEvents } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { openSmtpScript } from '../support/smtp-script.js';
import { filesIn } from '../support/files.js';

t.setTimeout(900_000);

const sink = await openSmtpScript();
const dataDir = temporaryDirectory(t);
const app = await startTestApp({ isFounded: true, dataDir, settings: { SEALPOST_SMTP_URL: `${sink.url}?tls=off` } });
t.teardown(async () => {
  await app.stop();
  await sink.close();
});
const base = new URL(await app.server.listen({ port: 0, host: '127.0.0.1' }));

type Got = Readonly<{ status: number; code: unknown; text: string }>;

/** A request as Node sends it: no check of ours or of fetch stands before the server. */
const post = (path: string, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Promise<Got> =>
  new Promise((resolve, reject) => {
    const request = httpRequest(
      new URL(path, base),
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${app.key}`,
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => void chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, code: (JSON.parse(text) as { code?: unknown }).code, text });
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });

const send = (more: Readonly<Record<string, unknown>>): Promise<Got> =>
  post('/api/emails/send', JSON.stringify(sendBody(more)));
const people = (count: number) => Array.from({ length: count }, (_, index) => ({ email: `to${index}@example.com` }));

// The first use of a key and the making of what is made once are written before, so that any further event is the
// request's.
await app.whenStatus((await app.send()).id, 'sent');
await app.whenCaughtUp();
/** The audit log counts calls that read, at the end of each minute. */
const eventsBesideAudit = async () =>
  (await storedEvents(app.engine)).filter(({ stream }) => !/^audit(?:Origins)?-/.test(stream));
const before = await eventsBesideAudit();
const filesBefore = filesIn(dataDir, 'files');

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const members = (count: number): string =>
  `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}`;
const raw = (variables: string): string =>
  `{"templateId":"sign-in-code","to":[{"email":"ada@example.com"}],"variables":${variables}}`;

type Case = readonly [name: string, ask: () => Promise<Got>, code: string];

const shapes: readonly Case[] = [
  ['an empty body', () => post('/api/emails/send', ''), 'VALIDATION_ERROR'],
  ['not JSON', () => post('/api/emails/send', '{"templateId":'), 'MALFORMED_JSON'],
  ['JSON with something after it', () => post('/api/emails/send', `${raw('{"code":"1"}')} x`), 'MALFORMED_JSON'],
  ['NaN', () => post('/api/emails/send', raw('{"code":NaN}')), 'MALFORMED_JSON'],
  [
    'bytes that are not UTF-8',
    () => post('/api/emails/send', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
    'MALFORMED_JSON',
  ],
  ['a byte order mark', () => post('/api/emails/send', `\ufeff${raw('{"code":"1"}')}`), 'MALFORMED_JSON'],
  ['an array', () => post('/api/emails/send', '[]'), 'VALIDATION_ERROR'],
  ['null', () => post('/api/emails/send', 'null'), 'VALIDATION_ERROR'],
  [
    'another content type',
    () => post('/api/emails/send', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }),
    'UNSUPPORTED_CONTENT_TYPE',
  ],
  [
    'a compressed body',
    () => post('/api/emails/send', raw('{"code":"1"}'), { 'content-encoding': 'gzip' }),
    'UNSUPPORTED_CONTENT_TYPE',
  ],
  [
    'wrong types everywhere',
    () => send({ to: 'ada@example.com', variables: [], tags: 'x', priority: 3 }),
    'VALIDATION_ERROR',
  ],
  ['a number where a text must be is not turned into one', () => send({ templateId: 7 }), 'VALIDATION_ERROR'],
  ['unknown fields', () => send({ colour: 'red' }), 'VALIDATION_ERROR'],
  [
    'an unknown field of a recipient',
    () => send({ to: [{ email: 'ada@example.com', phone: '1' }] }),
    'VALIDATION_ERROR',
  ],
  ['no recipient', () => send({ to: [] }), 'VALIDATION_ERROR'],
  ['51 recipients', () => send({ to: people(51) }), 'VALIDATION_ERROR'],
  [
    '51 recipients over to, cc and bcc',
    () => send({ to: people(17), cc: people(17), bcc: people(17) }),
    'VALIDATION_ERROR',
  ],
  [
    'a body over 10 MB',
    () => post('/api/emails/send', raw(`{"code":"${'x'.repeat(10 * 1024 * 1024)}"}`)),
    'BODY_TOO_LARGE',
  ],
  ['600,000 keys', () => post('/api/emails/send', raw(members(600_000))), 'JSON_TOO_COMPLEX'],
  ['400,000 keys', () => post('/api/emails/send', raw(members(400_000))), 'JSON_TOO_COMPLEX'],
  ['600,000 elements', () => post('/api/emails/send', raw(`{"code":[${'0,'.repeat(600_000)}0]}`)), 'JSON_TOO_COMPLEX'],
  ['depth 10,000', () => post('/api/emails/send', raw(`{"code":${nested(10_000)}}`)), 'JSON_TOO_COMPLEX'],
  [
    'depth 10,000, never closed',
    () => post('/api/emails/send', raw(`{"code":${'['.repeat(10_000)}`)),
    'JSON_TOO_COMPLEX',
  ],
  [
    '__proto__ in variables',
    () => post('/api/emails/send', raw('{"code":"1","__proto__":{"admin":true}}')),
    'VALIDATION_ERROR',
  ],
  [
    '__proto__ written with an escape',
    () => post('/api/emails/send', raw('{"code":"1","\\u005f_proto__":{"admin":true}}')),
    'VALIDATION_ERROR',
  ],
  [
    'constructor.prototype in variables',
    () => post('/api/emails/send', raw('{"code":"1","constructor":{"prototype":{"admin":true}}}')),
    'VALIDATION_ERROR',
  ],
  [
    '__proto__ at the top',
    () =>
      post(
        '/api/emails/send',
        raw('{"code":"1"}').replace('{"templateId"', '{"__proto__":{"templateId":"x"},"templateId"'),
      ),
    'VALIDATION_ERROR',
  ],
  ['a lone surrogate in a variable', () => post('/api/emails/send', raw('{"code":"\\ud800"}')), 'VALIDATION_ERROR'],
  [
    'a lone surrogate in a name',
    () =>
      post('/api/emails/send', raw('{"code":"1"}').replace('"ada@example.com"', '"ada@example.com","name":"\\udc00"')),
    'VALIDATION_ERROR',
  ],
  ['a missing required variable', () => send({ variables: {} }), 'VALIDATION_ERROR'],
  ['a variable of the wrong type', () => send({ variables: { code: { not: 'a text' } } }), 'VALIDATION_ERROR'],
  ['an unknown template', () => send({ templateId: 'no-such-template' }), 'ERR_TMPL_002'],
  ['a path for a template', () => send({ templateId: '../../etc/passwd' }), 'ERR_TMPL_002'],
  ['a schedule in the past', () => send({ scheduledAt: '2001-01-01T00:00:00Z' }), 'VALIDATION_ERROR'],
  ['a schedule that is no time', () => send({ scheduledAt: 'tomorrow' }), 'VALIDATION_ERROR'],
  ['51 tags', () => send({ tags: Array.from({ length: 51 }, (_, index) => `t${index}`) }), 'VALIDATION_ERROR'],
  ['a tag with a space', () => send({ tags: ['a b'] }), 'VALIDATION_ERROR'],
  ['metadata over 64 KB', () => send({ metadata: { x: 'y'.repeat(65 * 1024) } }), 'VALIDATION_ERROR'],
  ['a subject with a line break', () => send({ subject: 'Hi\r\nBcc: eve@example.com' }), 'VALIDATION_ERROR'],
  ['a subject of 999 characters', () => send({ subject: 'x'.repeat(999) }), 'VALIDATION_ERROR'],
  [
    'a name with a line break',
    () => send({ to: [{ email: 'ada@example.com', name: 'Ada\nBcc: eve@example.com' }] }),
    'VALIDATION_ERROR',
  ],
  [
    'eleven attachments',
    () =>
      send({
        attachments: Array.from({ length: 11 }, () => ({ filename: 'a', content: 'YQ==', contentType: 'text/plain' })),
      }),
    'VALIDATION_ERROR',
  ],
  [
    'an attachment that is not base64',
    () => send({ attachments: [{ filename: 'a', content: '@@@@', contentType: 'text/plain' }] }),
    'VALIDATION_ERROR',
  ],
  [
    'an attachment type with a line break',
    () => send({ attachments: [{ filename: 'a', content: 'YQ==', contentType: 'text/plain\r\nX: y' }] }),
    'VALIDATION_ERROR',
  ],
];

const badHeaders: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['CRLF in a value', { 'X-Good': 'a\r\nBcc: eve@example.com' }],
  ['LF in a value', { 'X-Good': 'a\nb' }],
  ['NUL in a value', { 'X-Good': 'a\0b' }],
  ['CRLF in a name', { 'X-Bad\r\nBcc': 'eve@example.com' }],
  ['a colon in a name', { 'X-Bad:': 'x' }],
  ['a space in a name', { 'X Bad': 'x' }],
  ['an empty name', { '': 'x' }],
  ['Bcc', { bcc: 'eve@example.com' }],
  ['From', { From: 'eve@example.com' }],
  ['Content-Type', { 'content-type': 'text/html' }],
  ['MIME-Version', { 'MIME-Version': '2.0' }],
  ['Message-ID', { 'message-id': '<x@y>' }],
  ['Received', { Received: 'from x' }],
  ['DKIM-Signature', { 'DKIM-Signature': 'v=1' }],
  ['a value of 999 characters', { 'X-Good': 'x'.repeat(999) }],
  ['one name twice in different case', { 'X-Good': '1', 'x-good': '2' }],
];

const badAddresses: readonly string[] = [
  '',
  ' ',
  'ada',
  '@example.com',
  'ada@',
  'ada@@example.com',
  'ada@example',
  'ada@.example.com',
  'ada@example..com',
  'ada@-example.com',
  '.ada@example.com',
  'ada.@example.com',
  'a..da@example.com',
  'ada lovelace@example.com',
  'ada@exam ple.com',
  'Ada <ada@example.com>',
  '<ada@example.com>',
  'ada@example.com,eve@example.com',
  'ada@example.com;eve@example.com',
  'ada@example.com\r\nRCPT TO:<eve@example.com>',
  'ada@example.com\n',
  'ada\0@example.com',
  'ada@[127.0.0.1]',
  'ada@127.0.0.1',
  `${'a'.repeat(65)}@example.com`,
  `ada@${'a'.repeat(64)}.com`,
  `ada@${'a.'.repeat(130)}com`,
  'ada(comment)@example.com',
  '"ada@example.com',
  '"a<b>"@example.com',
  'ädä@example.com',
  'ada@exa_mple.com',
  'ada@example.com>',
  'ada@xn--.example',
];

const check = async (t: Test, [name, ask, code]: Case): Promise<void> => {
  const got = await ask();
  t.ok([400, 401, 403, 404, 429].includes(got.status), `${name}: ${got.status} ${String(got.code)}`);
  t.equal(got.code, code, name);
};

await t.test('bodies of the wrong shape', async (t) => {
  for (const one of shapes) await check(t, one);
});

await t.test('header fields that would break a message', async (t) => {
  for (const [name, headers] of badHeaders) await check(t, [name, () => send({ headers }), 'VALIDATION_ERROR']);
});

await t.test('what is no address, in every place for one', async (t) => {
  for (const email of badAddresses) {
    for (const place of ['to', 'cc', 'bcc']) {
      const got = await send({ [place]: [{ email }] });
      t.equal(got.status, 400, `${place}: ${JSON.stringify(email)}`);
      t.match(String(got.code), email === '' ? /^(VALIDATION_ERROR|ERR_EMAIL_001)$/ : 'ERR_EMAIL_001');
    }
    t.equal((await send({ from: { email } })).status, 400, `from: ${JSON.stringify(email)}`);
    t.equal((await send({ replyTo: email })).status, 400, `replyTo: ${JSON.stringify(email)}`);
  }
});

await t.test('names of nothing', async (t) => {
  for (const [method, path] of [
    ['POST', '/api/emails/x/retry'],
    ['DELETE', '/api/emails/%2e%2e'],
    ['GET', '/api/emails/__proto__'],
    ['DELETE', '/api/templates/constructor'],
  ] as const) {
    t.equal((await app.call(method, path)).status, 404, `${method} ${path}`);
  }
});

await t.test('bytes that are no HTTP', async (t) => {
  const answerTo = (bytes: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(base.port), base.hostname, () => socket.write(bytes));
      let text = '';
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk;
        socket.end();
      });
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
  t.match(await answerTo('HELLO\r\n\r\n'), /^HTTP\/1\.1 400 /);
  t.match(await answerTo(`GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: a\r\n\r\n`), /^HTTP\/1\.1 400 /);
  t.match(
    await answerTo(
      'POST /api/emails/send HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ),
    /^HTTP\/1\.1 400 /,
  );
});

await t.test('after all of these', async (t) => {
  t.same(await eventsBesideAudit(), before, 'not one event was written');
  t.same(filesIn(dataDir, 'files'), filesBefore, 'no file');
  t.equal(sink.accepted().length, 1, 'no mail left');
  t.notOk('admin' in {}, 'nothing reached the prototype of all objects');
});

await t.test('what is odd but right is taken', async (t) => {
  const odd = await app.send({
    to: [
      ...people(47),
      { email: 'ada+tag@EXAMPLE.com' },
      { email: "o'hara!#$%&*+-/=?^_`{|}~@example.com" },
      { email: 'ada@bücher.example' },
    ],
    variables: { code: '😀 <b>&"\'</b> \u2028 \u202e', firstName: '{{code}}', __company: 1 },
    headers: { 'X-Order': 'a: b; c=d', 'X-Unicode': 'Grüße' },
    metadata: { constructorName: 'x', nested: { deep: [1, null, true] } },
  });
  const record = await app.whenStatus(odd.id, 'sent');
  t.equal(record.recipientCount, 50);
  const mail = sink.accepted().at(-1)!;
  t.equal(mail.envelope.to.length, 50);
  t.ok(mail.envelope.to.includes('ada@xn--bcher-kva.example'));
  const html = mail.raw.subarray(mail.raw.indexOf('Content-Type: text/html')).toString();
  t.match(html, /&lt;b&gt;/, 'what is a value is shown');
  t.notMatch(html, /<b>&/, 'and is never markup');
  const headers = mail.raw.toString('latin1').slice(0, mail.raw.indexOf('\r\n\r\n'));
  t.match(headers, /^X-Order: a: b; c=d\r?$/m);
  t.notMatch(headers, /[\x80-\xff]/, 'headers are ASCII');
});
