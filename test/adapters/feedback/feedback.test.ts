/** Reports about mails: reading them, the SMTP listener, its limits by network. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { openReportReader } from '../../../src/adapters/feedback/read-report.js';
import {
  openSmtpListener,
  type SmtpListenerOptions,
  type Taken,
} from '../../../src/adapters/feedback/smtp-listener.js';
import { assertDefined, parseEmailId, type EmailId } from '../../../src/domain/core/ids.js';
import type { LogFields, Logger } from '../../../src/domain/ports/logger.js';
import { REPORT_BYTES_READ_MAX } from '../../../src/domain/ports/report-reader.js';
import { openNetworkLimits, type SmtpServerBounds } from '../../../src/shared/network-limits.js';
import { fakeClock } from '../../support/fake-clock.js';
import { openRawSmtp, type RawSmtp } from '../../support/raw-smtp.js';
import { eventually } from '../../support/wait.js';

// The corpus of real reports against what was expected of each before the rules were written.

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

// The SMTP server of the return path, by clients that follow the protocol and by others that do not.

t.setTimeout(900_000);

const ID = assertDefined(parseEmailId('018c0000-0000-7000-8000-000000000001'), 'id');
const OURS = 'bounce+token@bounces.example.com';
const generous: SmtpServerBounds = {
  connectionsMax: 10,
  connectionsPerMinute: 10_000,
  commandsPerMinute: 10_000,
  messagesPerMinute: 10_000,
  allConnectionsMax: 20,
  sizeBytesMax: 1024 * 1024,
  silenceMs: 60_000,
  sessionMs: 60_000,
  closeMs: 50,
};

type Setup = Readonly<{
  connect: (from?: string) => Promise<RawSmtp>;
  received: Readonly<{ id: EmailId; raw: string; bytes: number }>[];
  logged: string[];
  clock: ReturnType<typeof fakeClock>;
  next: (Taken | Error)[];
  close: () => Promise<void>;
}>;

const setUp = async (
  t: Test,
  bounds: Partial<SmtpServerBounds> = {},
  more: Partial<SmtpListenerOptions> = {},
): Promise<Setup> => {
  const received: { id: EmailId; raw: string; bytes: number }[] = [];
  const logged: string[] = [];
  const next: (Taken | Error)[] = [];
  const clock = fakeClock();
  const note = (fields: LogFields, message: string) =>
    void logged.push(`${message} ${JSON.stringify(fields)} ${String(fields['error'] ?? '')}`);
  const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  const listener = await openSmtpListener({
    host: '127.0.0.1',
    port: 0,
    name: 'mx.example.com',
    bounds: { ...generous, ...bounds },
    clock,
    logger,
    emailOf: (address) => (address === OURS ? ID : undefined),
    receive: async (id, raw) => {
      const answer = next.shift() ?? 'taken';
      if (answer instanceof Error) throw answer;
      received.push({ id, raw: raw.toString('latin1'), bytes: raw.length });
      return answer;
    },
    ...more,
  });
  t.teardown(() => listener.close());
  const open: RawSmtp[] = [];
  t.teardown(() => open.forEach((client) => client.end()));
  const connect = async (from?: string): Promise<RawSmtp> => {
    const client = await openRawSmtp(listener.port, from);
    open.push(client);
    return client;
  };
  return { connect, received, logged, clock, next, close: listener.close };
};

/** A client that was greeted. */
const greeted = async ({ connect }: Setup, from?: string): Promise<RawSmtp> => {
  const client = await connect(from);
  await client.reply();
  await client.ask('EHLO mx.example.net');
  return client;
};

const give = async (client: RawSmtp, message: string, to = OURS): Promise<string> => {
  for (const command of ['MAIL FROM:<>', `RCPT TO:<${to}>`, 'DATA']) {
    const reply = await client.ask(command);
    if (!/^[23]/.test(reply)) return reply;
  }
  return client.ask(`${message}\r\n.`);
};

void t.test('a report to an authentic return path is taken, and answered when it is kept', async (t) => {
  const setup = await setUp(t);
  const client = await setup.connect();
  t.match(await client.reply(), /^220 mx\.example\.com ESMTP/);
  const hello = await client.ask('EHLO mx.example.net');
  t.match(hello, /SIZE 1048576/);
  t.match(hello, /SMTPUTF8/);
  t.match(hello, /8BITMIME/);
  t.notMatch(hello, /AUTH|STARTTLS/);
  t.equal(await give(client, 'Subject: a\r\n\r\n..dot\r\nend'), '250 2.6.0 taken');
  t.same(setup.received, [{ id: ID, raw: 'Subject: a\r\n\r\n.dot\r\nend\r\n', bytes: 25 }]);
  t.equal(await give(client, 'two'), '250 2.6.0 taken', 'and another over the same connection');
  t.match(await client.ask('QUIT'), /^221/);
  await client.whenClosed;
});

void t.test('no other mail is taken, and nothing is relayed', async (t) => {
  const setup = await setUp(t);
  const client = await greeted(setup);
  t.match(await client.ask('AUTH PLAIN AGEAYg=='), /^500/);
  t.match(await client.ask('STARTTLS'), /^500/);
  t.match(await client.ask('MAIL FROM:<postmaster@example.net>'), /^250/, 'complaints have a sender');
  for (const to of [
    'ann@example.org',
    'bounce+tokem@bounces.example.com',
    'postmaster@bounces.example.com',
    '@a,@b:c@d',
    `"${OURS}"@x.example`,
  ])
    t.match(await client.ask(`RCPT TO:<${to}>`), /^5\d\d/, to);
  t.match(await client.ask('DATA'), /^503/);
  t.match(await client.ask(`RCPT TO:<${OURS}>`), /^250/);
  t.match(await client.ask('RCPT TO:<other@bounces.example.com>'), /^452/, 'one by one');
  t.same(setup.received, []);
  t.notMatch(setup.logged.join('\n'), /@|bounce|example/);
});

void t.test('what cannot be kept now is to come again, and what is unknown is not', async (t) => {
  const setup = await setUp(t);
  const client = await greeted(setup);
  setup.next.push('later', new Error('disk away'), 'unknown');
  t.match(await give(client, 'one'), /^451 4\.3\.0/);
  t.match(await give(client, 'secret@example.org'), /^451 4\.3\.0/);
  t.match(await give(client, 'three'), /^550 5\.1\.1/);
  t.equal(await give(client, 'four'), '250 2.6.0 taken');
  t.match(setup.logged, [/a report could not be recorded.*disk away/]);
  t.notMatch(setup.logged.join('\n'), /secret|token/);
});

void t.test(
  'with a certificate the dialogue goes on over TLS, and what was sent in clear before is forgotten',
  async (t) => {
    const folder = new URL('../../../../test/support/tls/', import.meta.url);
    const pem = (name: string) => readFileSync(new URL(name, folder), 'utf8');
    const setup = await setUp(t, {}, { tls: { cert: pem('valid.pem'), key: pem('key.pem') } });
    const client = await setup.connect();
    await client.reply();
    t.match(await client.ask('EHLO a'), /STARTTLS/);
    await client.startTls();
    t.match(await client.ask('MAIL FROM:<>'), /^503/);
    t.notMatch(await client.ask('EHLO a'), /STARTTLS/);
    t.equal(await give(client, 'over TLS'), '250 2.6.0 taken');
    const injecting = await setup.connect();
    await injecting.reply();
    await injecting.ask('EHLO a');
    injecting.write('STARTTLS\r\nMAIL FROM:<>\r\n');
    t.match(await injecting.reply(), /^220/);
    injecting.end();
    t.equal(setup.received.length, 1);
  },
);

void t.test('only a dot between two ends of a line ends a message: nothing behind another is a command', async (t) => {
  const setup = await setUp(t);
  for (const end of ['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r', '\r\n.\r', '\r.\r\n', '\n\n.\r\n', '\0\n.\r\n']) {
    const client = await greeted(setup);
    const smuggled = `MAIL FROM:<>\r\nRCPT TO:<${OURS}>\r\nDATA\r\nsmuggled`;
    const reply = await give(client, `outer${end}${smuggled}`);
    t.equal(reply, '250 2.6.0 taken', JSON.stringify(end));
    t.match(await client.ask('NOOP'), /^250/, 'one reply to one message');
    const { raw } = setup.received.pop()!;
    t.ok(raw.startsWith('outer') && raw.endsWith('smuggled\r\n'), JSON.stringify(end));
    t.same(setup.received, []);
    client.end();
  }
});

void t.test('a message in pieces of one byte is the same, also where its dots begin the pieces', async (t) => {
  const setup = await setUp(t);
  const client = await greeted(setup);
  await client.ask('MAIL FROM:<>');
  await client.ask(`RCPT TO:<${OURS}>`);
  await client.ask('DATA');
  for (const byte of '..\r\n..a\r\n\r\n..b\r\n.\r\n') {
    client.write(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.equal(await client.reply(), '250 2.6.0 taken');
  t.equal(setup.received[0]!.raw, '.\r\n.a\r\n\r\n.b\r\n');
});

void t.test('commands may be pipelined, and a line without an end is cut off', async (t) => {
  const setup = await setUp(t);
  const client = await greeted(setup);
  client.write(`MAIL FROM:<>\r\nRCPT TO:<${OURS}>\r\nRCPT TO:<x@example.org>\r\nDATA\r\nHello\r\n.\r\nQUIT\r\n`);
  const replies: string[] = [];
  for (let count = 0; count < 6; count += 1) replies.push((await client.reply()).slice(0, 3));
  t.same(replies, ['250', '250', '452', '354', '250', '221']);
  t.equal(setup.received.length, 1);
  const endless = await greeted(setup);
  endless.write('MAIL FROM:<'.padEnd(5_000, 'x'));
  t.match(await endless.reply(), /^421/);
  await endless.whenClosed;
  const long = await greeted(setup);
  t.match(await long.ask(`EHLO ${'x'.repeat(4_500)}`), /^421/);
  const early = await setup.connect();
  early.write('EHLO too-soon\r\n');
  t.match(await early.reply(), /^421/);
});

void t.test('a message beyond the size is refused, and of every message its beginning alone is kept', async (t) => {
  const setup = await setUp(t);
  const client = await greeted(setup);
  t.match(await client.ask('MAIL FROM:<> SIZE=1048577'), /^552/);
  const lines = `${'x'.repeat(998)}\r\n`;
  t.match(await give(client, lines.repeat(1_100)), /^552/);
  t.equal(await give(client, lines.repeat(900)), '250 2.6.0 taken');
  t.equal(setup.received[0]!.bytes, REPORT_BYTES_READ_MAX);
  t.equal(await give(client, 'x'.repeat(900_000)), '250 2.6.0 taken', 'in one line');
  t.equal(setup.received[1]!.bytes, REPORT_BYTES_READ_MAX);
});

void t.test('who is silent, or takes too long, is hung up on', async (t) => {
  const silent = await setUp(t, { silenceMs: 400 });
  const first = await greeted(silent);
  t.match(await first.reply(), /^421/);
  await first.whenClosed;
  const slow = await setUp(t, { sessionMs: 400 });
  const drip = await greeted(slow);
  await drip.ask('MAIL FROM:<>');
  await drip.ask(`RCPT TO:<${OURS}>`);
  await drip.ask('DATA');
  const timer = setInterval(() => drip.write('x'), 20);
  t.match(await drip.reply(), /^421/);
  clearInterval(timer);
  await drip.whenClosed;
  t.same(slow.received, []);
  t.equal(await give(await greeted(slow), 'next'), '250 2.6.0 taken');
});

void t.test('connections, commands and messages of one network are bounded, and of others are not', async (t) => {
  const setup = await setUp(t, { connectionsMax: 2, commandsPerMinute: 40, messagesPerMinute: 3 });
  const first = await greeted(setup);
  const second = await greeted(setup);
  const third = await setup.connect();
  t.match(await third.reply(), /^421 too many connections/);
  const other = await greeted(setup, '127.0.0.2');
  second.end();
  const again = await eventually('there is room again', async () => {
    const client = await setup.connect();
    if ((await client.reply()).startsWith('220')) return client;
    client.end();
    return undefined;
  });
  await again.ask('EHLO a');
  for (let count = 0; count < 3; count += 1) t.equal(await give(first, 'x'), '250 2.6.0 taken');
  t.match(await give(again, 'x'), /^451/);
  t.equal(await give(other, 'x'), '250 2.6.0 taken');
  await setup.clock.advance(60_000);
  t.equal(await give(again, 'x'), '250 2.6.0 taken', 'in the next minute');
  let reply = '';
  for (let count = 0; count < 50 && !reply.startsWith('421'); count += 1) reply = await first.ask('NOOP');
  t.match(reply, /^421 .*too many commands/);
  await first.whenClosed;
  t.match(await other.ask('NOOP'), /^250/);
});

void t.test(
  'a thousand connections: those beyond the bound are told to come again, and the next is served',
  async (t) => {
    const setup = await setUp(t, { connectionsMax: 2_000 });
    const clients = await Promise.all(Array.from({ length: 1_000 }, () => setup.connect()));
    const replies = await Promise.all(clients.map((client) => client.reply()));
    const served = replies.filter((reply) => reply.startsWith('220')).length;
    t.ok(served <= 20, `${served} were served`);
    t.ok(replies.every((reply) => reply === '' || /^(220|421)/.test(reply)));
    clients.forEach((client) => client.end());
    const reply = await eventually('another is served', async () => {
      const client = await setup.connect();
      const greeting = await client.reply();
      if (!greeting.startsWith('220')) return undefined;
      await client.ask('EHLO a');
      return give(client, 'after the flood');
    });
    t.equal(reply, '250 2.6.0 taken');
  },
);

void t.test(
  'a client that goes in the middle of its message has sent none, and closing waits for what is being kept',
  async (t) => {
    let begun = (): void => undefined;
    const whenBegun = new Promise<void>((resolve) => (begun = resolve));
    let keep = (_taken: Taken): void => undefined;
    const kept = new Promise<Taken>((resolve) => (keep = resolve));
    const setup = await setUp(
      t,
      {},
      {
        receive: () => {
          begun();
          return kept;
        },
      },
    );
    const gone = await greeted(setup);
    await gone.ask('MAIL FROM:<>');
    await gone.ask(`RCPT TO:<${OURS}>`);
    await gone.ask('DATA');
    gone.write('half of it');
    gone.end();
    const client = await greeted(setup);
    const answered = give(client, 'whole');
    await whenBegun;
    let isClosed = false;
    const closing = setup.close().then(() => void (isClosed = true));
    await client.whenClosed;
    t.notOk(isClosed, 'the record is under way');
    keep('taken');
    await closing;
    t.notMatch(await answered, /^250/, 'it was too late for an answer, so it comes again');
    t.notMatch(setup.logged.join('\n'), /could not be recorded/);
  },
);

// How much one network may take, and that networks of before are forgotten.

const bounds = { connectionsMax: 2, connectionsPerMinute: 4, commandsPerMinute: 3, messagesPerMinute: 1 };

void t.test('each network has its own minute, and the connections that are open count beyond it', async (t) => {
  const clock = fakeClock();
  const limits = openNetworkLimits(clock, bounds);
  t.ok(limits.open('192.0.2.1'));
  t.ok(limits.open('::ffff:192.0.2.1'), 'the same');
  t.notOk(limits.open('192.0.2.1'), 'two are open');
  t.ok(limits.open('192.0.2.2'));
  limits.close('192.0.2.1');
  t.ok(limits.open('192.0.2.1'));
  limits.close('192.0.2.1');
  t.notOk(limits.open('192.0.2.1'), 'the fifth of this minute');
  t.same(
    [1, 2, 3, 4].map(() => limits.mayCommand('2001:db8::1')),
    [true, true, true, false],
  );
  t.notOk(limits.mayCommand('2001:db8::2'), 'one /64');
  t.ok(limits.mayCommand('2001:db8:0:1::2'));
  t.ok(limits.mayMessage('192.0.2.1'));
  t.notOk(limits.mayMessage('192.0.2.1'));
  await clock.advance(60_000);
  t.ok(limits.mayMessage('192.0.2.1'));
  t.ok(limits.open('192.0.2.1'));
  t.notOk(limits.open('192.0.2.1'), 'one of before is open still');
});

void t.test('networks that are not connected are forgotten after their minute', async (t) => {
  const clock = fakeClock();
  const limits = openNetworkLimits(clock, bounds);
  t.ok(limits.open('192.0.2.1'));
  for (let index = 0; index < 5_000; index += 1) limits.mayMessage(`198.51.${index >> 8}.${index & 255}`);
  await clock.advance(60_000);
  limits.mayMessage('203.0.113.1');
  t.equal(limits.size(), 2, 'that one, and the one that is connected');
});
