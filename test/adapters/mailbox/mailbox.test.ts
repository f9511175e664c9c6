/** The built-in mailbox against the contract of every mailbox, and what is its own: SMTP, files, privacy. */
import t, { type Test } from 'tap';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMailbox, type MailboxOptions } from '../../../src/adapters/mailbox/mailbox.js';
import { systemIds } from '../../../src/adapters/ids/system.js';
import { openSmtpMailer } from '../../../src/adapters/mail/smtp.js';
import type { Logger } from '../../../src/domain/ports/logger.js';
import { mailboxSuite } from '../../contracts/mailbox-suite.js';
import { fakeClock } from '../../support/fake-clock.js';

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
    openMailbox({ file: join(folder, 'mailbox.db'), clock, ids: systemIds(), messagesMax: 10, logger: silent, ...options });
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
    mailer.send({ envelope, messageId: 'x', raw }, { signal: new AbortController().signal });
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
    onDisk: (text: string): boolean => readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(text)),
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
    while (onDisk('SECRET-TRIMMED') && performance.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 20));
    t.notOk(onDisk('SECRET-TRIMMED'), 'pushed out by newer ones');
    t.equal((await mailbox.list({ page: 1, limit: 10 })).total, 3);
  }
});

void t.test('the envelope is what the client gave: A-labels, plus addresses, 50 recipients, a null sender', async (t) => {
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
});

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
