/** The contract of every mailbox. Messages come in over SMTP. */
import type { Test } from 'tap';
import type { Mailbox } from '../../src/domain/ports/mailbox.js';

export type MailboxHarness = Readonly<{
  open: (
    t: Test,
    options: Readonly<{ messagesMax: number }>,
  ) => Promise<
    Readonly<{
      mailbox: Mailbox;
      /** Delivers over SMTP; resolves when the server has accepted. */
      deliver: (envelope: Readonly<{ from: string; to: readonly string[] }>, raw: Buffer) => Promise<void>;
      now: () => number;
      pass: (ms: number) => Promise<void>;
    }>
  >;
}>;

const envelope = { from: 'bounce@example.com', to: ['anna@example.org', 'hidden@example.org'] };
const plain = (subject: string): Buffer =>
  Buffer.from(
    `From: Shop <shop@example.com>\r\nTo: Anna <anna@example.org>, bo@example.org\r\nCc: cc@example.org\r\nSubject: ${subject}\r\nX-Note: a\r\nX-Note: b\r\n\r\nHello ${subject}\r\n.\r\n..\r\nend\r\n`,
  );

export const mailboxSuite = (t: Test, harness: MailboxHarness): void => {
  void t.test('an empty mailbox', async (t) => {
    const { mailbox } = await harness.open(t, { messagesMax: 10 });
    t.same(await mailbox.list({ page: 1, limit: 20 }), { entries: [], total: 0 });
    t.equal(await mailbox.get('nothing'), undefined);
    t.equal(await mailbox.raw('nothing'), undefined);
    t.equal(await mailbox.attachment('nothing', 0), undefined);
    t.equal(await mailbox.clear(), 0);
  });

  void t.test('a message is listed, read, and kept byte for byte', async (t) => {
    const { mailbox, deliver, now } = await harness.open(t, { messagesMax: 10 });
    await deliver(envelope, plain('one'));
    const { entries, total } = await mailbox.list({ page: 1, limit: 20 });
    t.equal(total, 1);
    const [entry] = entries;
    t.same(entry, {
      id: entry!.id,
      from: { address: 'shop@example.com', name: 'Shop' },
      to: [
        { address: 'anna@example.org', name: 'Anna' },
        { address: 'bo@example.org', name: '' },
      ],
      subject: 'one',
      receivedAt: new Date(now()).toISOString(),
      sizeBytes: plain('one').length,
    });
    t.ok((await mailbox.raw(entry!.id))?.equals(plain('one')));
    const message = await mailbox.get(entry!.id);
    t.match(message, { ...entry, cc: [{ address: 'cc@example.org' }], envelope, html: null, attachments: [] });
    t.match(message?.text, /^Hello one\r?\n\.\r?\n\.\.\r?\nend/);
    t.same(
      message?.headers.map((header) => header.name),
      ['From', 'To', 'Cc', 'Subject', 'X-Note', 'X-Note'],
    );
    t.same(message?.headers.at(-1), { name: 'X-Note', value: 'b' });
  });

  void t.test('HTML, text, attachments and encoded headers', async (t) => {
    const { mailbox, deliver } = await harness.open(t, { messagesMax: 10 });
    await deliver(
      envelope,
      Buffer.from(
        [
          'From: =?utf-8?Q?M=C3=BCller?= <shop@example.com>',
          'To: anna@example.org',
          'Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=',
          'MIME-Version: 1.0',
          'Content-Type: multipart/mixed; boundary=m',
          '',
          '--m',
          'Content-Type: multipart/alternative; boundary=a',
          '',
          '--a',
          'Content-Type: text/plain; charset=utf-8',
          '',
          'plain',
          '--a',
          'Content-Type: text/html; charset=utf-8',
          '',
          '<b>html</b><img src="cid:logo">',
          '--a--',
          '--m',
          'Content-Type: image/png',
          'Content-ID: <logo>',
          'Content-Disposition: inline; filename=logo.png',
          'Content-Transfer-Encoding: base64',
          '',
          'AAECAw==',
          '--m',
          'Content-Type: message/rfc822',
          '',
          'Subject: inner',
          '',
          'inner',
          '--m--',
          '',
        ].join('\r\n'),
      ),
    );
    const [entry] = (await mailbox.list({ page: 1, limit: 1 })).entries;
    t.match(entry, { subject: 'Grüße', from: { name: 'Müller' } });
    const message = await mailbox.get(entry!.id);
    t.match(message, { text: /^plain/, html: /<b>html<\/b>/ });
    t.match(message?.attachments, [
      { filename: 'logo.png', contentType: 'image/png', contentId: 'logo', sizeBytes: 4 },
      { contentType: 'message/rfc822', contentId: null },
    ]);
    const picture = await mailbox.attachment(entry!.id, 0);
    t.same([...(picture?.content ?? [])], [0, 1, 2, 3]);
    t.same(picture?.attachment, message?.attachments[0]);
    t.equal(await mailbox.attachment(entry!.id, 2), undefined);
    t.equal(await mailbox.attachment(entry!.id, -1), undefined);
  });

  void t.test('messages that are hardly messages are taken too', async (t) => {
    const { mailbox, deliver } = await harness.open(t, { messagesMax: 10 });
    const odd = [
      'x\r\n',
      'no header at all\r\nsecond line\r\n',
      '\r\n\r\n',
      `Subject: ${'long '.repeat(2_000)}\r\n\r\n`,
      'From: \r\nTo: ,,;\r\n\r\n',
      '\u00e4\u00f6\u0000\r\n',
    ];
    for (const raw of odd) await deliver({ from: '', to: ['anna@example.org'] }, Buffer.from(raw));
    const { entries, total } = await mailbox.list({ page: 1, limit: 20 });
    t.equal(total, odd.length);
    for (const [index, entry] of entries.entries()) {
      t.equal((await mailbox.raw(entry.id))?.toString(), odd[odd.length - 1 - index]);
      t.ok(await mailbox.get(entry.id));
    }
    t.match(entries.at(-1), {
      from: { address: '', name: '' },
      to: [{ address: 'anna@example.org', name: '' }],
      subject: '',
    });
  });

  void t.test('newest first, in pages, stable; the oldest go when there are too many', async (t) => {
    const { mailbox, deliver } = await harness.open(t, { messagesMax: 5 });
    for (let count = 1; count <= 8; count += 1) await deliver(envelope, plain(String(count)));
    const subjects = async (page: number): Promise<readonly string[]> =>
      (await mailbox.list({ page, limit: 2 })).entries.map((entry) => entry.subject);
    t.same(
      [await subjects(1), await subjects(2), await subjects(3), await subjects(4)],
      [['8', '7'], ['6', '5'], ['4'], []],
    );
    t.equal((await mailbox.list({ page: 1, limit: 2 })).total, 5);
    const ids = (await mailbox.list({ page: 1, limit: 5 })).entries.map((entry) => entry.id);
    t.equal(new Set(ids).size, 5);
  });

  void t.test('messages that arrive together are all kept', async (t) => {
    const { mailbox, deliver } = await harness.open(t, { messagesMax: 100 });
    await Promise.all(Array.from({ length: 60 }, (_, at) => deliver(envelope, plain(String(at)))));
    const { entries, total } = await mailbox.list({ page: 1, limit: 100 });
    t.equal(total, 60);
    t.equal(new Set(entries.map((entry) => entry.subject)).size, 60);
  });

  void t.test('clear and forgetBefore', async (t) => {
    const { mailbox, deliver, now, pass } = await harness.open(t, { messagesMax: 10 });
    await deliver(envelope, plain('old'));
    await pass(60_000);
    const border = new Date(now()).toISOString();
    await deliver(envelope, plain('new'));
    t.equal(await mailbox.forgetBefore(border), 1);
    t.same(
      (await mailbox.list({ page: 1, limit: 10 })).entries.map((entry) => entry.subject),
      ['new'],
    );
    t.equal(await mailbox.forgetBefore(border), 0);
    t.equal(await mailbox.clear(), 1);
    t.equal((await mailbox.list({ page: 1, limit: 10 })).total, 0);
    await deliver(envelope, plain('again'));
    t.equal((await mailbox.list({ page: 1, limit: 10 })).total, 1);
  });

  void t.test('the copies of one Message-ID are forgotten, however it is written, and no other', async (t) => {
    const { mailbox, deliver } = await harness.open(t, { messagesMax: 10 });
    const headers = [
      'Message-ID: <one@example.com>',
      'message-id:<one@example.com>',
      'Message-ID:\r\n <one@example.com>',
      'Message-ID: <two@example.com>',
      'X: y',
    ];
    for (const header of headers)
      await deliver(envelope, Buffer.concat([Buffer.from(`${header}\r\n`), plain(header.slice(-18))]));
    await mailbox.forgetCopies('<one@example.com>');
    await mailbox.forgetCopies('<never@example.com>');
    t.same(
      (await mailbox.list({ page: 1, limit: 10 })).entries.map(({ subject }) => subject),
      ['X: y', '<two@example.com>'],
    );
  });
};
