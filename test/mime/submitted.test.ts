/** Messages that programs hand over: what is read of them, what is refused, what leaves as it came. */
import PostalMime from 'postal-mime';
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { decodedWords, partsOf, readableOf, withTexts } from '../../src/domain/mime/read.js';
import { filledHead, readSubmitted } from '../../src/domain/mime/submitted.js';

const crlf = (text: string): Buffer => Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1');
const read = (text: string | Buffer, to: readonly string[] = ['ann@x.example']) =>
  readSubmitted(typeof text === 'string' ? crlf(text) : text, to, { limits: defaultLimits });
const faultOf = (text: string | Buffer): string => {
  try {
    read(text);
    return 'taken';
  } catch (fault) {
    if (fault instanceof DomainError) return fault.message;
    throw fault;
  }
};
const FROM = 'From: Shop <shop@example.com>\n';
const simple = (fields: string, body = 'Hello\n'): string => `${FROM}${fields}\n${body}`;

void t.test('fields for the service and hidden recipients are taken out, every other byte stays', async (t) => {
  const message = read(
    `Received: from a by b; Sat, 1 Jan 2030 00:00:00 +0000\n${FROM}to:  "Ann, the \\"A\\"" <ann@x.example> ,\n Bob <bob@x.example>\nBCC: dan@x.example,\n eve@x.example\nX-Sealpost-Tags: order, vip\nx-sealpost-tags: late\nX-Sealpost-Metadata: {"fault": {"a":\n  [1]}}\nX-Sealpost-Track: opens, clicks\nX-Odd:folded\n\tvalue  \nSubject: =?utf-8?q?Sch=C3=B6ne_?=\n =?utf-8?b?R3LDvMOfZQ==?=\nMessage-ID: <1@shop>\n\nbody\n`,
    ['eve@x.example', 'ANN@x.example', 'bob@x.example'],
  );
  t.strictSame(message.instructions, {
    tags: ['order', 'vip', 'late'],
    metadata: { fault: { a: [1] } },
    tracking: { opens: true, clicks: true },
  });
  t.equal(message.subject, 'Schöne Grüße');
  t.equal(message.messageId, '<1@shop>');
  t.strictSame(
    message.recipients.map(({ email, name, role }) => [email, name, role]),
    [
      ['ANN@x.example', 'Ann, the "A"', 'to'],
      ['bob@x.example', 'Bob', 'to'],
      ['eve@x.example', undefined, 'bcc'],
    ],
  );
  const all = message.recipients.map(({ written }) => written);
  t.equal(
    filledHead(message.head, all),
    `Received: from a by b; Sat, 1 Jan 2030 00:00:00 +0000\n${FROM}to:  "Ann, the \\"A\\"" <ann@x.example> ,\n Bob <bob@x.example>\nX-Odd:folded\n\tvalue  \nSubject: =?utf-8?q?Sch=C3=B6ne_?=\n =?utf-8?b?R3LDvMOfZQ==?=\nMessage-ID: <1@shop>\n`.replaceAll(
      '\n',
      '\r\n',
    ),
  );
  t.notMatch(message.head, /ann@|bob@/i, 'no address of a recipient is among what all share');
  const without = filledHead(message.head, [undefined, all[1], all[2]]);
  t.match(without, /\r\nto: Bob <bob@x\.example>\r\n/);
  t.notMatch(filledHead(message.head, [undefined, undefined, all[2]]), /^to:/im, 'a field that named nobody else');
});

void t.test('an address in a comment or in quotes is not the one of the field', async (t) => {
  for (const from of ['eve@x.example (<a@example.com>)', '"<a@example.com>" <eve@x.example> (<a@example.com>)'])
    t.equal(read(`From: ${from}\n\nx`).from.email, 'eve@x.example', from);
});

void t.test('a recipient whom To and Cc name twice is one, and others of the fields stay in them', async (t) => {
  const message = read(
    `${FROM}To: team: ann@x.example, Zoe <zoe@x.example>;\nCc: (hi) Ann@X.example, <bob@x.example>\n\nx\n`,
    ['ann@x.example', 'bob@x.example', 'Ann@x.example'],
  );
  t.strictSame(
    message.recipients.map(({ email, role, written }) => [email, role, written]),
    [
      ['Ann@x.example', 'to', ['ann@x.example', '(hi) Ann@X.example']],
      ['bob@x.example', 'cc', ['<bob@x.example>']],
    ],
  );
  t.match(message.head, /To: team: \0\d\0, Zoe <zoe@x\.example>;\r\n/);
});

void t.test('text outside ASCII in fields is encoded, since few hosts take it as it is', async (t) => {
  const text = Buffer.from(
    'From: Müller <m@example.com>\r\nTo: "Jürgen, B." <ann@x.example>\r\nSubject: Grüße 🎉\r\nX-Note: ü\r\n\r\nx\r\n',
  );
  const { head, from, subject, recipients } = read(text);
  t.match(head, /^[\x00-\x7f]*$/);
  t.equal(from.name, 'Müller');
  t.equal(subject, 'Grüße 🎉');
  t.equal(recipients[0]?.name, 'Jürgen, B.');
  const mail = await PostalMime.parse(
    `${filledHead(
      head,
      recipients.map(({ written }) => written),
    )}\r\nx`,
  );
  t.match(mail, {
    subject: 'Grüße 🎉',
    from: { name: 'Müller' },
    to: [{ name: 'Jürgen, B.', address: 'ann@x.example' }],
  });
  t.match(faultOf(Buffer.from(`From: a@example.com\r\nSubject: \xff\r\n\r\nx`, 'latin1')), /holds bytes outside ASCII/);
});

void t.test('what may not travel is refused, with what would be right', async (t) => {
  for (const [name, text, says] of [
    [
      'a bare LF',
      Buffer.from('From: a@example.com\r\n\r\nx\n.\r\nMAIL FROM:<b@example.com>\r\n'),
      /ends line 3 with a bare LF/,
    ],
    ['a bare CR', Buffer.from('From: a@example.com\r\n\r\nx\r.\r\n'), /holds a bare CR/],
    ['CR CR LF', Buffer.from('From: a@example.com\r\r\n\r\nx\r\n'), /holds a bare CR/],
    ['NUL', simple('X: a\0b\n'), /NUL byte/],
    ['a long line of the body', simple('', `${'x'.repeat(999)}\n`), /999 octets in line 3; at most 998/],
    ['a long line without an end', simple('', 'x'.repeat(999)), /999 octets in line 3/],
    ['10,000 fields', simple('X-A: b\n'.repeat(10_000)), /has 10001 fields; at most 500/],
    ['a large header section', simple(`X-A: ${'b'.repeat(900)}\n`.repeat(200)), /has \d+ bytes; at most 131072/],
    ['a line that is no field', `From a@x.example\n${FROM}\nx`, /a line that is no field, in place 1/],
    ['nothing', '', /From names nobody/],
    ['no From', 'Subject: x\n\nx', /From names nobody; name one/],
    ['two mailboxes in From', `From: a@example.com, b@example.com\n\nx`, /names 2 mailboxes; name one/],
    ['two addresses in From', 'From: <eve@other.example> <a@example.com>\n\nx', /From can be read in several ways/],
    ['an address behind From', 'From: <a@example.com> eve@other.example\n\nx', /From can be read in several ways/],
    ['a quote in From that stays open', 'From: eve@other.example "<a@example.com>\n\nx', /in several ways/],
    ['a group in From', 'From: eve@other.example: a@example.com;\n\nx', /From can be read in several ways/],
    ['two mailboxes in Sender', simple('Sender: a@example.com, eve@other.example\n'), /Sender names 2 mailboxes/],
    ['no address in Sender', simple('Sender: eve @other.example\n'), /Sender is not a valid email address/],
    ['two From', simple('from: other@example.com\n'), /The field from stands 2 times/],
    ['two subjects', simple('Subject: a\nSubject : b\n'), /The field subject stands 2 times/],
    ['a circle', simple('Received: x\n'.repeat(101)), /sent in a circle/],
    ['an instruction to the relay', simple('X-SMTPAPI: {}\n'), /instruction to a relay \(SendGrid\)/],
    [
      'an unknown field for the service',
      simple('X-Sealpost-Temlate: a\n'),
      /X-Sealpost-Temlate is unknown; did you mean X-Sealpost-template/,
    ],
    ['JSON that is none', simple('X-Sealpost-Metadata: [1]\n'), /must be a JSON object/],
    ['deep JSON', simple(`X-Sealpost-Metadata: ${'[\n '.repeat(5_000)}\n`), /nests deeper than 64/],
    ['variables for no template', simple('X-Sealpost-Variables: {}\n'), /stands without X-Sealpost-Template/],
    ['bad tags', simple('X-Sealpost-Tags: a b\n'), /must hold tags of letters/],
    ['bad tracking', simple('X-Sealpost-Track: yes\n'), /must be `opens`/],
    ['two templates', simple('X-Sealpost-Template: a\nX-Sealpost-Template: b\n'), /stands 2 times/],
    ['a long Message-ID', simple(`Message-ID: <${'a\n '.repeat(600)}>\n`), /at most 998 are allowed/],
    ['a bad list', simple('X-Sealpost-Unsubscribe-List: A b\n'), /must be the name of a list/],
  ] as const)
    t.match(faultOf(text), says, name);
});

/** `depth` multiparts, each within the one before. */
const nested = (depth: number): string => {
  let out = 'Content-Type: text/plain\n\nin the middle\n';
  for (let at = 0; at < depth; at += 1)
    out = `Content-Type: multipart/mixed; boundary=b${at}\n\n--b${at}\n${out}\n--b${at}--\n`;
  return FROM + out;
};

void t.test('parts within parts, many parts and many lines like boundaries are bounded', async (t) => {
  t.equal(faultOf(nested(20)), 'taken');
  t.match(faultOf(nested(21)), /parts within parts, more than 20 deep/);
  const many = (count: number, line: string): string =>
    simple('Content-Type: multipart/mixed; boundary=x\n', `--x\n${line.repeat(count)}--x--\n`);
  t.match(faultOf(many(1_001, '\na\n--x\n')), /more than 1000 parts/);
  t.match(faultOf(many(50_001, '--xy\n')), /too many lines that begin like a boundary/);
  for (const text of [
    many(49_000, `--x${'y'.repeat(500)}\n`),
    simple(`Content-Type: text/plain; ${'a="\\'.repeat(180)}\n`),
    simple(`To: ${'(<"\n '.repeat(20_000)}\n`),
    simple(`Subject: ${'=?a?b?'.repeat(100)}\n`),
  ])
    t.equal(faultOf(text), 'taken');
});

void t.test('many parts without a boundary or an empty line cost no search of all that is behind them', async (t) => {
  for (const part of ['--x\nContent-Type: multipart/mixed; boundary=absent\n\nhi\n', '--x\nA: b\n']) {
    const raw = crlf(
      simple('Content-Type: multipart/mixed; boundary=x\n', `${part.repeat(990)}--x\n${'A: b\n'.repeat(100_000)}`),
    );
    const { indexOf } = Buffer.prototype;
    let octets = 0;
    const spy = t.capture(
      Buffer.prototype,
      'indexOf',
      function (this: Buffer, text: string, from: number, encoding: BufferEncoding) {
        const at = indexOf.call(this, text, from, encoding);
        octets += (at < 0 ? this.length : at) - from;
        return at;
      },
    );
    t.equal(partsOf(raw).parts.length, 991);
    spy.restore();
    t.ok(octets < 5 * raw.length, `${octets} octets are searched in ${raw.length}`);
  }
});

void t.test('a text behind a head that is not read whole stays', async (t) => {
  const raw = crlf(
    simple(
      'Content-Type: multipart/mixed; boundary=x\n',
      `--x\nContent-Type: text/html\n${'A: b\n'.repeat(20_000)}\n<p>\n--x\nContent-Type: text/html\n--x--\n`,
    ),
  );
  t.equal(
    withTexts(raw, () => 'changed'),
    raw,
  );
});

void t.test('files have the size of their content', async (t) => {
  const file = (encoding: string, body: string): string =>
    `--x\nContent-Type: application/a; name=f\nContent-ID: <id-1>\nContent-Transfer-Encoding: ${encoding}\n\n${body}\n`;
  const raw = crlf(
    simple(
      'Content-Type: multipart/mixed; boundary=x\n',
      `${file('base64', '')}${file('base64', '\nYWJj\n')}${file('base64', `${'YWJj'.repeat(19)}\nYQ==`)}${file('quoted-printable', '=e4=C4 = \na=3')}--x--\n`,
    ),
  );
  const { files } = readableOf(raw);
  t.same(
    files.map(({ sizeBytes }) => sizeBytes),
    [0, 3, 58, 6],
  );
  t.same(
    files.map(({ bytes }) => bytes().length),
    [0, 3, 58, 6],
  );
  t.equal(files[3]?.bytes().toString('latin1'), '\xe4\xc4 a=3', 'a space before a soft line break is content');
  t.equal(files[3]?.contentId, 'id-1');
  t.same(
    read(raw).files.map(({ sizeBytes }) => sizeBytes),
    [0, 3, 58, 6],
  );
});

const MULTIPART = `${FROM}Subject: x
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="a b"

preamble
--a b
Content-Type: multipart/alternative; boundary=alt

--alt
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Gr\xc3\xbc\xc3\x9fe
--alt
Content-Type: text/html; charset="UTF-8"
Content-Transfer-Encoding: quoted-printable

<p>Gr=C3=BC=C3=9Fe <a href=3D"https://x.ex=
ample/">x</a></p>
--alt--
--a b
Content-Type: text/html; name="page.html"
Content-Disposition: attachment; filename*=utf-8''s%C3%A9ite.html
Content-Transfer-Encoding: base64

PHA+aGk8L3A+
--a b
Content-Type: text/html
content-transfer-encoding: 7bit
X-Kept: yes

<p>plain</p>
--a b--
epilogue
`;

void t.test('only texts are changed, each in its encoding; attachments and every other byte stay', async (t) => {
  const raw = crlf(MULTIPART);
  const seen: string[] = [];
  const changed = withTexts(raw, (text, type) => {
    seen.push(`${type} ${text.trim()}`);
    return type === 'text/html' ? text.replace('<p>', `<p title="${'ü'.repeat(500)}">`) : undefined;
  });
  t.strictSame(seen, [
    'text/plain Grüße',
    'text/html <p>Grüße <a href="https://x.example/">x</a></p>',
    'text/html <p>plain</p>',
  ]);
  const text = changed.toString('latin1');
  t.notMatch(text, /[^\r\n]{999}/);
  t.match(text, /Gr\xc3\xbc\xc3\x9fe\r\n--alt\r\n/);
  t.match(text, /PHA\+aGk8L3A\+\r\n--a b\r\n/);
  t.match(text, /Content-Type: text\/html\r\nX-Kept: yes\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n/);
  t.match(text, /^[\s\S]*epilogue\r\n$/);
  const mail = await PostalMime.parse(changed);
  t.match(mail.html, /<p title="ü{500}">Grüße <a href="https:\/\/x\.example\/">/);
  t.equal(mail.attachments[0]?.filename, 'séite.html');
  t.strictSame(read(raw).files, [{ filename: 'séite.html', contentType: 'text/html', sizeBytes: 9 }]);
  t.equal(
    withTexts(raw, () => undefined),
    raw,
  );
});

void t.test('signed parts, and texts whose characters are not known, stay as they are', async (t) => {
  const signed = crlf(
    simple('Content-Type: multipart/signed; boundary=s\n', '--s\nContent-Type: text/html\n\n<p>\n--s--\n'),
  );
  t.equal(
    withTexts(signed, () => 'changed'),
    signed,
  );
  const odd = crlf(simple('Content-Type: text/html; charset=iso-2022-jp\n', '<p>\x1b$B\n'));
  t.equal(
    withTexts(odd, () => 'changed'),
    odd,
  );
  const latin = crlf(simple('Content-Type: text/html; charset=iso-8859-1\n', '<p>\xe9</p>\n'));
  t.match(withTexts(latin, (text) => text.replace('<p>', '<p class="é">')).toString(), /<p class=3D"=E9">=E9<\/p>/);
});

void t.test('encoded words share characters only with words of their own character set', async (t) => {
  t.equal(decodedWords('=?utf-8?B?w7w=?= =?UTF-8?Q?=C3?=\r\n =?utf-8?q?=BC_x?= y'), 'üü x y');
  t.equal(decodedWords('=?iso-8859-1?Q?=E9?= =?koi8-r?B?0A==?='), 'éп');
  t.equal(decodedWords('=?no-such?Q?a?= =?broken'), 'a =?broken');
  t.equal(partsOf(crlf('\nbody')).bodyStart, 2);
});
