/** Mailboxes, and the file with their token. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { systemIds } from '../../../src/adapters/ids/system.js';
import { openSmtpMailer } from '../../../src/adapters/mail/smtp.js';
import { openMailbox, type MailboxOptions, openMessageTable } from '../../../src/adapters/mailbox/mailbox.js';
import { openDatabase } from '../../../src/adapters/sqlite/database.js';
import type { Logger } from '../../../src/domain/ports/logger.js';
import { openMailboxToken } from '../../../src/service/mailbox.js';
import { mailboxSuite } from '../../contracts/mailbox-suite.js';
import { temporaryDirectory } from '../../support/data-directory.js';
import { fakeClock } from '../../support/fake-clock.js';
import { sendBy } from '../../support/mailers.js';
import { seededRandom } from '../../support/random.js';

// The built-in mailbox against the contract of every mailbox, and what is its own: SMTP, files, privacy.

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

const opened = async (t: Test, options: Partial<MailboxOptions> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'mailbox-'));
  const clock = fakeClock();
  const open = () =>
    openMailbox({
      file: join(folder, 'mailbox.db'),
      clock,
      ids: systemIds(),
      messagesMax: 10,
      logger: silent,
      ...options,
    });
  const box = await open();
  const mailer = openSmtpMailer({ url: box.smtpUrl, final: true, connectionsMax: 8, logger: silent });
  let closed = false;
  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    await mailer.close();
    await box.close();
  };
  t.teardown(async () => {
    await close();
    rmSync(folder, { recursive: true });
  });
  const send = (envelope: Readonly<{ from: string; to: readonly string[] }>, raw: Buffer) =>
    sendBy(mailer, { envelope, messageId: 'x', raw }, { signal: new AbortController().signal });
  return {
    ...box,
    clock,
    folder,
    open,
    close,
    send,
    deliver: async (envelope: Readonly<{ from: string; to: readonly string[] }>, raw: Buffer): Promise<void> => {
      const { recipients } = await send(envelope, raw);
      if (recipients.some((one) => one.result !== 'accepted')) throw new Error(recipients[0]?.text);
    },
    /** True where some file of the mailbox holds that text. */
    onDisk: (text: string): boolean =>
      readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(text)),
  };
};

mailboxSuite(t, {
  open: async (t, options) => {
    const { mailbox, deliver, clock } = await opened(t, options);
    return { mailbox, deliver, now: clock.now, pass: clock.advance };
  },
});

const anna = { from: 'bounce@example.com', to: ['anna@example.org'] };
const holding = (text: string, sizeBytes = 0): Buffer =>
  Buffer.from(`Subject: ${text}\r\n\r\n${text} ${'x'.repeat(sizeBytes)} ${text}\r\n`);

void t.test('what was accepted is there after a restart, in order', async (t) => {
  const { deliver, close, open } = await opened(t);
  await deliver(anna, holding('first'));
  await deliver(anna, holding('second'));
  await close();
  const again = await open();
  t.same(
    (await again.mailbox.list({ page: 1, limit: 10 })).entries.map((entry) => entry.subject),
    ['second', 'first'],
  );
  await again.close();
});

void t.test('what was deleted is in no file any more', async (t) => {
  const { deliver, mailbox, onDisk, clock } = await opened(t, { messagesMax: 3 });
  for (const sizeBytes of [10, 20_000]) {
    await deliver(anna, holding('SECRET-CLEARED', sizeBytes));
    t.ok(onDisk('SECRET-CLEARED'), 'the test sees what is there');
    await mailbox.clear();
    t.notOk(onDisk('SECRET-CLEARED'));
    t.notOk(onDisk('anna@example.org'));

    await deliver(anna, holding('SECRET-OLD', sizeBytes));
    await clock.advance(1);
    await mailbox.forgetBefore(new Date(clock.now()).toISOString());
    t.notOk(onDisk('SECRET-OLD'));

    await deliver(anna, holding('SECRET-TRIMMED', sizeBytes));
    for (let count = 0; count < 3; count += 1) await deliver(anna, holding('kept', sizeBytes));
    const untilMs = performance.now() + 10_000;
    while (onDisk('SECRET-TRIMMED') && performance.now() < untilMs)
      await new Promise((resolve) => setTimeout(resolve, 20));
    t.notOk(onDisk('SECRET-TRIMMED'), 'pushed out by newer ones');
    t.equal((await mailbox.list({ page: 1, limit: 10 })).total, 3);
  }
});

void t.test('what is deleted of many messages is nowhere in the file, whatever is written beside it', async (t) => {
  const file = join(temporaryDirectory(t), 'mailbox.db');
  const database = openDatabase({ file, synchronous: 'normal', secureDelete: true });
  t.teardown(() => void database.close());
  const table = openMessageTable(database);
  const random = seededRandom(5);
  const count = 1_500;
  const marks = (): ReadonlySet<number> => {
    database.pragma('wal_checkpoint(TRUNCATE)');
    return new Set(
      [
        ...readFileSync(file)
          .toString('latin1')
          .matchAll(/Mark(\d+)End/g),
      ].map(([, mark]) => Number(mark)),
    );
  };
  const insert = (mark: number): void => {
    const word = `Mark${mark}End`;
    const raw = `Message-ID: <${mark}@example.com>\r\n\r\n${word} ${'x'.repeat(random.between(0, 6_000))}`;
    const person = { address: `${word}@example.com`, name: word };
    table.insert({
      id: `id-${mark}`,
      receivedAt: '2026-01-01T00:00:00.000Z',
      summary: { from: person, to: [person], subject: `${word} ${'y'.repeat(random.between(0, 300))}` },
      envelope: { from: person.address, to: [person.address] },
      raw: Buffer.from(raw),
    });
  };
  for (let mark = 1; mark <= count; mark += 1) insert(mark);
  t.equal(marks().size, count);
  const personalInLeaves = database
    .prepare("SELECT count(*) FROM dbstat WHERE name = 'mail' AND pagetype = 'leaf' AND payload > 8 * 489")
    .pluck()
    .get();
  t.equal(personalInLeaves, 0, 'a leaf page holds eight rows at most, of each the first bytes alone');
  const doomed = Array.from({ length: count }, (_, index) => index + 1).filter((mark) => mark % 3 !== 0);
  for (const mark of doomed.sort(() => random.next() - 0.5)) {
    t.equal(table.deleteCopies(`<${mark}@example.com>`), 1);
    if (mark % 10 === 0) insert(count + mark);
  }
  t.same(
    [...marks()].filter((mark) => mark <= count && mark % 3 !== 0),
    [],
  );
  t.equal(table.page(1, 0)[0]!.size_bytes, table.raw(table.page(1, 0)[0]!.id)!.length);
});

void t.test('messages of the table of before are taken over', async (t) => {
  const file = join(temporaryDirectory(t), 'mailbox.db');
  const before = openDatabase({ file, synchronous: 'full', secureDelete: true });
  before.exec(`CREATE TABLE message (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, received_at TEXT NOT NULL,
    summary TEXT NOT NULL, envelope TEXT NOT NULL, size_bytes INTEGER NOT NULL, raw BLOB NOT NULL) STRICT`);
  const person = { address: 'anna@example.org', name: 'Anna' };
  before
    .prepare('INSERT INTO message (id, received_at, summary, envelope, size_bytes, raw) VALUES (?, ?, ?, ?, ?, ?)')
    .run(
      'old-1',
      '2026-01-01T00:00:00.000Z',
      JSON.stringify({ from: person, to: [person], subject: 'kept' }),
      JSON.stringify({ from: 'a@example.org', to: ['anna@example.org'] }),
      30,
      Buffer.from('Message-ID: <old@example.com>\r\n\r\nhello'),
    );
  before.close();
  const { mailbox, close } = await openMailbox({
    file,
    clock: fakeClock(),
    ids: systemIds(),
    messagesMax: 10,
    logger: silent,
  });
  t.teardown(close);
  t.match(await mailbox.list({ page: 1, limit: 10 }), {
    total: 1,
    entries: [{ id: 'old-1', subject: 'kept', from: person }],
  });
  await mailbox.forgetCopies('old@example.com');
  t.equal((await mailbox.list({ page: 1, limit: 10 })).total, 0);
});

void t.test(
  'the envelope is what the client gave: A-labels, plus addresses, 50 recipients, a null sender',
  async (t) => {
    const { send, mailbox } = await opened(t);
    const to = [
      'a@xn--mnchen-3ya.de',
      "o'hara+tag@example.org",
      'a@localhost',
      ...Array.from({ length: 47 }, (_, at) => `r${at}@example.org`),
    ];
    const outcome = await send({ from: '', to }, holding('x'));
    t.same(
      outcome.recipients.filter((one) => one.result !== 'accepted'),
      [],
    );
    const [entry] = (await mailbox.list({ page: 1, limit: 1 })).entries;
    t.same((await mailbox.get(entry!.id))?.envelope, { from: '', to });
  },
);

void t.test('a message larger than the bound is refused, by SIZE and while it comes', async (t) => {
  const { send, mailbox, smtpUrl } = await opened(t, { messageSizeBytesMax: 50_000 });
  t.match((await send(anna, holding('big', 60_000))).recipients[0], { result: 'refused', rule: 'message-too-large' });
  const replies = await dialogue(smtpUrl, [
    'EHLO x',
    'MAIL FROM:<a@b.cd>',
    'RCPT TO:<e@f.gh>',
    'DATA',
    `${'x'.repeat(900)}\r\n`.repeat(100) + '.',
    'QUIT',
  ]);
  t.match(
    replies.find((line) => line.startsWith('552')),
    /5\.3\.4 the message is larger than 50000 bytes/,
  );
  t.equal((await mailbox.list({ page: 1, limit: 1 })).total, 0);
});

void t.test('the server announces SIZE and pipelining, neither login nor TLS', async (t) => {
  const { smtpUrl } = await opened(t);
  const replies = (await dialogue(smtpUrl, ['EHLO x', 'QUIT'])).join('\n');
  t.match(replies, /SIZE 67108864/);
  t.match(replies, /PIPELINING/);
  t.notMatch(replies, /AUTH|STARTTLS/);
});

void t.test('when the mailbox cannot keep a message it says 452, not 250', async (t) => {
  const faults: unknown[] = [];
  const logger: Logger = { ...silent, error: (fields) => void faults.push(fields) };
  let failing = true;
  const ids = {
    ...systemIds(),
    uuid: () => {
      if (failing) throw new Error('no ids today');
      return systemIds().uuid();
    },
  };
  const { send, mailbox } = await opened(t, { logger, ids });
  t.match((await send(anna, holding('x'))).recipients[0], { result: 'deferred', replyCode: 452 });
  t.equal(faults.length, 1);
  failing = false;
  t.match((await send(anna, holding('x'))).recipients[0], { result: 'accepted' });
  t.equal((await mailbox.list({ page: 1, limit: 1 })).total, 1);
});

void t.test('a port that is taken stops the start', async (t) => {
  const { smtpUrl, folder } = await opened(t);
  await t.rejects(
    openMailbox({
      file: join(folder, 'other.db'),
      clock: fakeClock(),
      ids: systemIds(),
      messagesMax: 1,
      logger: silent,
      port: Number(new URL(smtpUrl).port),
    }),
    { code: 'EADDRINUSE' },
  );
});

/** Sends the lines one after the other and gives all that the server said. */
const dialogue = (url: string, lines: readonly string[]): Promise<readonly string[]> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const left = [...lines];
    let said = '';
    socket.on('data', (chunk) => {
      said += chunk.toString();
      const next = /(^|\n)\d{3} [^\n]*\n$/.test(said) ? left.shift() : undefined;
      if (next !== undefined) socket.write(`${next}\r\n`);
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(said.split(/\r\n/)));
  });

// The token of the mailbox: made once, for its owner alone, whole under its name.

void t.test('it is made at first use and stays', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  const file = join(directory, 'mailbox-token');
  const token = openMailboxToken(file);
  t.match(token, /^[A-Za-z0-9_-]{32}$/);
  t.equal(openMailboxToken(file), token);
  t.equal(readFileSync(file, 'utf8'), `${token}\n`);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.same(readdirSync(directory), ['mailbox-token'], 'nothing is left beside it');
  t.not(openMailboxToken(join(directory, 'another')), token);
});

void t.test('a file that holds no token is refused with what helps', async (t) => {
  const file = join(temporaryDirectory(t), 'mailbox-token');
  for (const text of ['', 'short\n', `${'a'.repeat(32)} b`]) {
    writeFileSync(file, text);
    t.throws(() => openMailboxToken(file), {
      message: /mailbox-token does not hold the token of the mailbox; delete it/,
    });
  }
});
