/** The corpus of real reports against what was expected of each before the rules were written. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { openReportReader } from '../../../src/adapters/feedback/read-report.js';

const folder = fileURLToPath(new URL('../../../../test/adapters/feedback/', import.meta.url));
type Expected = Readonly<{
  action: string;
  bounceType?: string;
  bounceSubType?: string;
  addresses: readonly string[];
  heldBack?: true;
}>;
const expected = JSON.parse(readFileSync(`${folder}expected.json`, 'utf8')) as Readonly<Record<string, Expected>>;
const reader = openReportReader();

const read = async (name: string) => {
  const { content } = await reader.read(readFileSync(`${folder}reports/${name}.txt`));
  if (content.kind !== 'delivery-status')
    return { action: content.kind === 'other' ? 'none' : content.kind, classes: [], addresses: [] };
  const failed = content.recipients.filter(({ action }) => action === 'failed');
  const of = failed.length > 0 ? failed : content.recipients;
  const addresses = of.flatMap((one) => one.addresses.map((address) => address.toLowerCase()));
  return {
    action: of[0]?.action ?? 'none',
    classes: of.map(({ bounceType, bounceSubType }) => `${bounceType} ${bounceSubType}`),
    addresses,
  };
};

/** Reports that the rules do not recognize. The rules were written without those marked as held back. */
const missed: readonly string[] = [
  'aol_01 addresses (held back)',
  'bounce_03 addresses (held back)',
  'dsn_15 class (held back)',
  'dsn_15 addresses (held back)',
  'sina_01 action',
  'sina_01 class',
  'sina_01 addresses',
  'yahoo_10 class (held back)',
  'yale_01 addresses',
];

void t.test('each report is told from others and classified as was expected', async (t) => {
  const names = readdirSync(`${folder}reports`).flatMap((file) => (file.endsWith('.txt') ? [file.slice(0, -4)] : []));
  t.strictSame(names.sort(), Object.keys(expected).sort());
  const misses: string[] = [];
  for (const name of names) {
    const { action, bounceType, bounceSubType, addresses, heldBack } = expected[name]!;
    const got = await read(name);
    const holds = {
      action: got.action === action,
      class: bounceType === undefined || got.classes.includes(`${bounceType} ${bounceSubType}`),
      addresses: addresses.every((address) => got.addresses.includes(address.toLowerCase())),
    };
    for (const [what, is] of Object.entries(holds))
      if (!is) misses.push(`${name} ${what}${heldBack === true ? ' (held back)' : ''}`);
  }
  t.strictSame(misses, missed);
});

void t.test('a complaint tells its type, whom it is about and whose sender it names', async (t) => {
  const raw = [
    'To: abuse@example.com',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="b"',
    '',
    '--b',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: Abuse',
    'Original-Mail-From: <bounce+x@bounces.example.com>',
    'Original-Rcpt-To: <ada@example.com>',
    '--b',
    'Content-Type: text/rfc822-headers',
    '',
    'Return-Path: <bounce+y@bounces.example.com>',
    'To: Ben <ben@example.com>',
    '--b--',
    '',
  ].join('\r\n');
  const at = (text: string) => reader.read(Buffer.from(text));
  t.same(await at(raw), {
    content: { kind: 'complaint', feedbackType: 'abuse', addresses: ['ada@example.com'] },
    senders: ['abuse@example.com', 'bounce+x@bounces.example.com', 'bounce+y@bounces.example.com'],
  });
  t.match(await at(raw.replace(/Original-Rcpt.*\r\n/, '').replace('Abuse', 'something')), {
    content: { feedbackType: 'other', addresses: ['ben@example.com'] },
  });
  t.match(await at(raw.replace('Abuse', 'not-spam')), { content: { kind: 'other' } });
});

void t.test('a complaint of Outlook.com names its recipient in a field of its own, wherever it stands', async (t) => {
  const field = 'X-HmXmrOriginalRecipient: <ada@hotmail.example>';
  const original = [
    'Return-Path: <bounce+y@bounces.example.com>',
    'From: shop@example.com',
    'To: list@example.com',
    'Subject: Order',
  ];
  const report = (...lines: readonly string[]) => lines.join('\r\n');
  const head = [
    'From: staff@hotmail.com',
    'To: jmrp@example.com',
    'Subject: complaint about message from 192.0.2.1',
    'MIME-Version: 1.0',
  ];
  const attached = (...more: readonly string[]) => [
    ...head,
    'Content-Type: multipart/mixed; boundary="b"',
    '',
    '--b',
    ...more,
    'Content-Type: message/rfc822',
    '',
    field,
    ...original,
    '',
    'Hello',
    '--b--',
    '',
  ];
  const forms = {
    'the head of the report': report(field, ...original, '', 'Hello'),
    'the head of the returned mail': report(...attached()),
    'the text': report(...head, 'Content-Type: text/plain', '', field, ...original, '', 'Hello'),
    'an ARF report without a recipient': report(
      ...attached(
        'Content-Type: message/feedback-report',
        '',
        'Feedback-Type: abuse',
        'User-Agent: Hotmail FBL',
        'Version: 1',
        '',
        '--b',
      ),
    ),
  };
  for (const [where, raw] of Object.entries(forms)) {
    const { content, senders } = await reader.read(Buffer.from(raw));
    t.same(content, { kind: 'complaint', feedbackType: 'abuse', addresses: ['ada@hotmail.example'] }, where);
    t.ok(senders.includes('bounce+y@bounces.example.com'), `${where}: the sender`);
  }
  t.match(
    await reader.read(
      Buffer.from(report(...head, '', 'I saw X-HmXmrOriginalRecipient: <ada@hotmail.example> in a mail.')),
    ),
    {
      content: { kind: 'other' },
    },
  );
});

void t.test('hostile messages are looked at up to their bounds', async (t) => {
  const kindOf = async (text: string) => (await reader.read(Buffer.from(text))).content;
  const head = 'Content-Type: multipart/report; boundary="b"\r\n';
  const status = (recipients: number) =>
    `--b\r\nContent-Type: message/delivery-status\r\n\r\n${'Final-Recipient: rfc822; a@example.org\r\nAction: failed\r\n\r\n'.repeat(recipients)}--b--\r\n`;
  const dsn = `${head}\r\n${status(1)}`;
  t.match(await kindOf(dsn), { kind: 'delivery-status' });
  const many = await kindOf(`${head}\r\n${status(1_500)}`);
  t.equal(many.kind === 'delivery-status' && many.recipients.length, 100);
  const hidden = {
    parts: `${head}\r\n${'--b\r\n\r\n'.repeat(300)}${status(1)}`,
    lines: `${head}\r\n${'\r\n'.repeat(6_000)}${status(1)}`,
    bytes: `${head}\r\n${'x'.repeat(300_000)}\r\n${status(1)}`,
    header: `${'X-A: b\r\n'.repeat(4_000)}X-B: ${'c'.repeat(64 * 1024)}\r\n${dsn}`,
    depth: `${Array.from({ length: 40 }, (_, depth) => `Content-Type: multipart/mixed; boundary="d${depth}"\r\n\r\n--d${depth}\r\n`).join('')}${dsn}`,
  };
  for (const [name, text] of Object.entries(hidden)) t.match(await kindOf(text), { kind: 'other' }, name);
});
