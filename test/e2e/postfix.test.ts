/** Mails that a Postfix of the distribution relayed, read by parsers of other people: they say what the call said. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import t, { type Test } from 'tap';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { signatureFault } from '../support/dkim.js';
import { foreignReaders, type ReadMail } from '../support/foreign-readers.js';
import { png } from '../support/pictures.js';
import { openPostfix, postfixMissing } from '../support/postfix.js';
import { openSmtpInbox, type SmtpInbox } from '../support/smtp-inbox.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

const missing = postfixMissing();
const readers = foreignReaders.flatMap(({ name, isHere, read }) =>
  isHere && read !== undefined ? [{ name, read }] : [],
);
const notHere = foreignReaders.flatMap(({ name, isHere, read }) => (isHere || read === undefined ? [] : [name]));
if (missing !== undefined) t.comment(`not relayed by Postfix: ${missing}`);
if (notHere.length > 0) t.comment(`not read, for they are not here: ${notHere.join(', ')}`);

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const crlf = (...lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\r\n`).join(''));

const longLine = `Long ${'word '.repeat(400)}end`;
const longWord = 'x'.repeat(3_000);
const contents = {
  'From here on it is yours.': 'a line that begins as one of an mbox',
  '.a dot before it': 'a line that a relay must not take for the end',
  [longLine]: 'a line of 2,000 characters',
  [longWord]: 'a word of 3,000 characters',
};

const template = {
  slug: 'relayed',
  name: 'Relayed',
  subject: '{{subject}}',
  variables: [{ name: 'subject', type: 'string' }],
  publish: true,
  schema: {
    sections: [
      {
        id: 'main',
        type: 'main',
        components: [
          { id: 'code', type: 'html-fragment', content: '<p>Ihr Code: <img src="cid:logo" alt="Code"></p>' },
          ...Object.keys(contents).map((text, at) => ({
            id: `line-${at}`,
            type: 'rich-text',
            content: `<p>${text}</p>`,
          })),
        ],
      },
    ],
  },
};

const subjects = [
  'Ihr Ticket für Æthelstan — 東京 🎫 und alles, was Sie für den Abend im Großen Haus noch wissen müssen, auf einen Blick',
  'Plain =?utf-8?Q?looks_encoded?=',
  `Word ${'y'.repeat(200)}`,
];

const calendar = crlf(
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'METHOD:REQUEST',
  'BEGIN:VEVENT',
  'SUMMARY:Größe',
  'END:VEVENT',
  'END:VCALENDAR',
);
const innerMail = crlf(
  'From: a@example.com',
  'Subject: Inner',
  'MIME-Version: 1.0',
  'Content-Type: text/plain',
  '',
  'From me.',
  '.',
);

type File = Readonly<{ filename: string; contentType: string; bytes: Buffer; contentId?: string }>;

const files: readonly File[] = [
  { filename: 'logo.png', contentType: 'image/png', bytes: png, contentId: 'logo' },
  {
    filename: 'Prüfbericht Q1; neu (1).pdf',
    contentType: 'application/pdf',
    bytes: Buffer.from('%PDF-1.4 \r\n.\r\nFrom x\n\0\r'),
  },
  {
    filename: '請求書2026年11月分・株式会社サンプル商事御中・最終版.pdf',
    contentType: 'application/pdf',
    bytes: Buffer.from('%PDF-1.4'),
  },
  {
    filename: `Statement ${'of an account '.repeat(6)}.pdf`,
    contentType: 'application/pdf',
    bytes: Buffer.from('\n'),
    contentId: 'unnamed',
  },
  {
    filename: "50% of it's (all).txt",
    contentType: 'text/plain; charset=iso-8859-1',
    bytes: Buffer.from('Gr\xf6\xdfe\rCR\nLF\r\n', 'latin1'),
  },
  {
    filename: 'notes.bin',
    contentType: 'Application/X-Notes; version="1.0; beta"',
    bytes: Buffer.from('a\r\n'.repeat(400)),
  },
];

const json = ({ bytes, ...file }: File) => ({ ...file, content: bytes.toString('base64') });

const references = Array.from({ length: 60 }, (_, at) => `<${at}.${'r'.repeat(30)}@threads.example.com>`);

/** `invitation`: an attachment that brings the calendar. */
const call = (subject: string, invitation: object) => ({
  templateId: 'relayed',
  from: { email: 'shop@example.com', name: 'Müller & Söhne, GmbH' },
  replyTo: [{ email: 'help@example.com', name: 'Hilfe, jederzeit' }, { email: 'desk@example.com' }],
  to: [{ email: 'ada@bücher.example', name: 'Ada "the first" Lovelace' }, { email: 'same@example.net' }],
  cc: [{ email: 'same@example.net', name: '東京 太郎' }],
  variables: { subject },
  headers: { References: references.join(' '), 'List-Id': 'Café News <news.example.com>' },
  attachments: [
    ...files.map(json),
    invitation,
    json({ filename: 'inner.eml', contentType: 'message/rfc822', bytes: innerMail }),
  ],
});

const open = async (t: Test): Promise<Readonly<{ app: TestApp; inbox: SmtpInbox; log: () => string }>> => {
  const inbox = await openSmtpInbox(t);
  const postfix = missing === undefined ? await openPostfix(t, inbox.port) : undefined;
  if (postfix !== undefined) t.comment(`relayed by Postfix ${postfix.version}`);
  const app = await startTestApp({
    dataDir: temporaryDirectory(t),
    settings: {
      SEALPOST_SMTP_URL: postfix?.url ?? inbox.url,
      SEALPOST_DKIM_DOMAIN: 'example.com',
      SEALPOST_DKIM_SELECTOR: 's1',
      SEALPOST_DKIM_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    },
  });
  t.teardown(() => app.stop());
  const created = await app.call('POST', '/api/templates', template);
  t.equal(created.status, 201, created.text.slice(0, 300));
  return { app, inbox, log: postfix?.log ?? (() => '') };
};

/** Every part is where readers look for it, and holds what the call gave. */
const checkMail = (t: Test, mail: ReadMail, subject: string): void => {
  t.same(mail.faults, [], 'nothing is wrong with it');
  t.equal(mail.subject, subject);
  t.same(mail.from, [['Müller & Söhne, GmbH', 'shop@example.com']]);
  t.same(mail.replyTo, [
    ['Hilfe, jederzeit', 'help@example.com'],
    ['', 'desk@example.com'],
  ]);
  t.same(mail.to, [
    ['Ada "the first" Lovelace', 'ada@xn--bcher-kva.example'],
    ['', 'same@example.net'],
  ]);
  t.same(mail.cc, [['東京 太郎', 'same@example.net']], 'headers stay as the call has them');
  t.equal(mail.listId, 'Café News <news.example.com>');
  t.equal(mail.references[0], references[0], 'the beginning of the thread');
  t.same(mail.references, [references[0], ...references.slice(1 - mail.references.length)], 'and its end');

  const shown = (path: string) => mail.parts.filter((part) => part.path === path);
  const alternative = 'multipart/mixed>multipart/alternative';
  const [plain] = shown(`${alternative}>text/plain`);
  for (const [text, what] of Object.entries(contents)) t.ok(plain?.text.replace(/\s+/g, ' ').includes(text), what);
  const [html] = shown(`${alternative}>multipart/related>text/html`);
  for (const [text, what] of Object.entries(contents)) t.ok(html?.text.includes(text), `${what}, in the HTML`);
  t.match(html?.text, /<img src="cid:logo"/);
  t.match(shown(`${alternative}>multipart/related>image/png`), [
    { contentId: '<logo>', sha256: sha256(png), filename: 'logo.png' },
  ]);
  t.match(
    shown(`${alternative}>text/calendar`),
    [{ method: 'REQUEST', charset: /^utf-8$/i, disposition: '', text: calendar.toString().replaceAll('\r', '') }],
    'the invitation stands beside text and HTML',
  );
  const attached = mail.parts
    .filter(({ disposition }) => disposition === 'attachment')
    .map(({ path, filename, sha256 }) => [path, filename, sha256]);
  const typeOf = ({ contentType }: File): string => contentType.split(';')[0]!.toLowerCase();
  t.same(attached, [
    ...files.slice(1).map((file) => [`multipart/mixed>${typeOf(file)}`, file.filename, sha256(file.bytes)]),
    ['multipart/mixed>application/ics', 'Einladung für Ada.ics', sha256(calendar)],
  ]);
  t.match(
    shown('multipart/mixed>message/rfc822>text/plain'),
    [{ text: 'From me.\n.\n' }],
    'an attached message is one',
  );
};

await t.test('what a relay hands on is what the call said', { timeout: 900_000 }, async (t) => {
  const { app, inbox, log } = await open(t);
  const asset = await app.call<{ id: string }>('POST', '/api/assets', {
    filename: 'invitation.ics',
    content: calendar.toString('base64'),
  });
  t.equal(asset.status, 201, asset.text);
  const filename = 'Einladung für Ada.ics';
  const invitations = [
    json({ filename, contentType: 'text/calendar', bytes: calendar }),
    { filename, assetId: asset.body.id },
  ];
  for (const [at, subject] of subjects.entries()) {
    const { id } = await app.send(call(subject, invitations[at % invitations.length]!));
    const record = await app.whenStatus(id, 'sent');
    t.equal(record.failedRecipients, 0, JSON.stringify(record.recipients));
    const signed = await eventually('the relay hands it on', () => inbox.messages[at]).catch((fault: unknown) => {
      throw new Error(log(), { cause: fault });
    });
    t.same(inbox.recipients[at]?.toSorted(), ['ada@bücher.example', 'same@example.net'], 'one copy for each address');
    t.equal(signatureFault(signed, publicKey), undefined, 'the signature is right behind the relay');
    t.notMatch(signed.slice(signed.indexOf('\r\n\r\n')), /^From /m);
    for (const { name, read } of readers)
      await t.test(name, async (t) => checkMail(t, read(Buffer.from(signed, 'latin1')), subject));
  }
});
