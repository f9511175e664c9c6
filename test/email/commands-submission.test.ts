/** A message that came by SMTP, as a command: what is stored, what a repeated one is, what is refused. */
import t from 'tap';
import { emailStream, assertDefined, parseEmailId, parseSenderDomainId } from '../../src/domain/core/ids.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { eraseRecipientsOf, eraseStream } from '../../src/commands/core/erase.js';
import type { Submission } from '../../src/commands/email/submission.js';
import type { Caller } from '../../src/commands/core/caller.js';
import { loadAttachments } from '../../src/commands/documents/attachments.js';
import { refusedWith } from '../support/given.js';
import { caller, openWorld, stranger, withTemplate, type World } from '../support/command-world.js';

const TEXT = `From: Shop <shop@example.com>
To: Ann <ann@x.example>
Subject: Your order
Message-ID: <1@shop.example.com>

Hello Ann
`;

const submission = (text = TEXT, more: Partial<Submission> = {}): Submission => ({
  sender: 'shop@example.com',
  to: ['ann@x.example'],
  raw: Buffer.from(text.replaceAll('\n', '\r\n')),
  by: 'mail.example.com',
  with: 'ESMTPSA',
  ...more,
});

/** Another team proves that a domain is its own. */
const verified = async (world: World, domain: string): Promise<void> => {
  const added = await world.commands.addDomain(stranger, { domain });
  for (const { name, value } of added.records) world.dns.set(name, { kind: 'found', texts: [value] });
  await world.commands.verifyDomain(stranger, assertDefined(parseSenderDomainId(added.id), 'domain id'));
};

const submit = async (world: World, given = submission(), as: Caller = caller) => {
  const { body, replayed } = await world.commands.submitEmail(as, given, async () => ({ bytes: 0, position: 0 }));
  const stream = emailStream(assertDefined(parseEmailId(body.id), 'email id'));
  const [event] = await world.events(stream);
  if (event?.type !== 'EmailQueued' && event?.type !== 'EmailScheduled') throw new Error('no email');
  return { body, replayed, stream, event, sealed: event.sealed! };
};

void t.test('the message is stored sealed, with its source, and none of its words in the open', async (t) => {
  const world = await openWorld();
  const { body, event, sealed } = await submit(world);
  t.match(event.data, {
    messageId: `<${body.id}@example.com>`,
    templateId: 'smtp',
    templateName: 'smtp',
    templateVersion: null,
    roles: ['to'],
    attachmentCount: 0,
  });
  t.notMatch(JSON.stringify(event.data), /Ann|order|1@shop|ann@/);
  t.equal(body.messageId, '<1@shop.example.com>');
  t.match(sealed, {
    from: { email: 'shop@example.com', name: 'Shop' },
    recipients: [{ email: 'ann@x.example', name: 'Ann', written: ['Ann <ann@x.example>'] }],
    subject: 'Your order',
    message: { body: 'Hello Ann\r\n', messageId: '<1@shop.example.com>' },
  });
  t.match(
    sealed.message!.head,
    new RegExp(
      String.raw`^Received: by mail\.example\.com with ESMTPSA\r\n id ${body.id}; [^\r]+ \+0000\r\nFrom: Shop <shop@example\.com>\r\nTo: \x00` +
        String.raw`0\x00\r\nSubject: Your order\r\nMessage-ID: <1@shop\.example\.com>\r\nDate: .* \+0000\r\n$`,
    ),
  );
  t.match(await world.commands.getEmail(caller, assertDefined(parseEmailId(body.id), 'id')), {
    messageId: '<1@shop.example.com>',
    templateId: 'smtp',
    subject: 'Your order',
  });
});

void t.test('a Message-ID of the last day with equal recipients is the same mail; others are others', async (t) => {
  const world = await openWorld();
  const first = await submit(world);
  const other = (more: Partial<Submission>, as?: Caller, text?: string) => submit(world, submission(text, more), as);
  const again = await other({}, undefined, TEXT.replace('Hello', 'X-Mailer: 2\n\nHello'));
  t.equal(again.body.id, first.body.id);
  t.equal(again.replayed, true);
  t.equal((await world.events(first.stream)).length, 1);
  const joined = await Promise.all([1, 2, 3].map(() => other({ to: ['cyd@x.example'] })));
  t.equal(new Set(joined.map(({ body }) => body.id)).size, 1);
  const ids = [
    first,
    joined[0]!,
    await other({ to: ['bob@x.example'] }),
    await other({}, stranger),
    await other({}, { ...caller, actor: 'apiKey:key_2' }),
  ];
  t.equal(new Set(ids.map(({ body }) => body.id)).size, ids.length, 'other recipients, teams, keys');
  t.equal((await other({ to: ['BOB@x.example'] })).body.id, ids[2]!.body.id);
  await refusedWith(t, submit(world, submission(TEXT.replace('Your order', 'Another'))), 'IDEMPOTENCY_KEY_REUSED');
  await world.clock.advance(DAY_MS - 1_000);
  t.equal((await other({})).body.id, first.body.id, 'on the next day of the calendar, too');
  await world.clock.advance(2_000);
  t.not((await other({})).body.id, first.body.id, 'a day later');
  const without = TEXT.replace(/Message-ID.*\n/, '');
  const [one, two] = [await submit(world, submission(without)), await submit(world, submission(without))];
  t.not(one.body.id, two.body.id, 'without a Message-ID each is another');
  t.equal(one.body.messageId, `<${one.body.id}@example.com>`);
  t.match(one.sealed.message!.head, `Message-ID: <${one.body.id}@example.com>\r\n`);
});

void t.test('an append whose answer is lost is found again by the Message-ID', async (t) => {
  const world = await openWorld();
  world.store.loseAnswers(['written']);
  const { stream } = await submit(world);
  t.equal((await submit(world)).replayed, true);
  t.equal((await world.events(stream)).length, 1);
});

void t.test('a large body is a sealed file that goes with the email, and counts as storage', async (t) => {
  const world = await openWorld({ teamAttachmentBytesMax: 200_000 });
  const text = `${TEXT}${`${'x'.repeat(998)}\n`.repeat(100)}`;
  const { stream, event, sealed } = await submit(world, submission(text));
  t.equal(sealed.message!.body, undefined);
  t.match(sealed.attachments, [{ ofMessage: true }]);
  t.equal(event.data.attachmentBytes?.lasting, sealed.attachments[0]!.sizeBytes);
  const key = assertDefined(await world.deps.eventLog.existingKey(stream), 'key');
  const loaded = await loadAttachments(world.files, key, sealed.attachments);
  t.equal(loaded?.[0]?.bytes.toString(), `Hello Ann\r\n${`${'x'.repeat(998)}\r\n`.repeat(100)}`);
  await refusedWith(t, submit(world, submission(text.replace('1@shop', '2@shop'))), 'ATTACHMENT_STORAGE_EXCEEDED');
  await eraseStream({ ...world.deps }, stream);
  t.equal(await world.files.get(sealed.attachments[0]!.file), undefined);
  t.strictSame(world.copiesForgotten, ['<1@shop.example.com>']);
});

void t.test('the words about one recipient are destroyed with that recipient', async (t) => {
  const world = await openWorld();
  const text = TEXT.replace('To: Ann <ann@x.example>', 'To: Ann <ann@x.example>, Bob <bob@x.example>');
  const { stream } = await submit(world, submission(text, { to: ['ann@x.example', 'bob@x.example'] }));
  await eraseRecipientsOf(world.deps, stream, [0]);
  const [event] = await world.elsewhere().eventLog.load(stream);
  const said = JSON.stringify(event);
  t.match(said, 'bob@x.example');
  t.notMatch(said, /ann@x\.example|"Ann/);
});

void t.test('From, Sender and the sender of the envelope are held against the sender domains', async (t) => {
  const world = await openWorld();
  await verified(world, 'other.example');
  const from = (address: string) => TEXT.replace('shop@example.com>', `${address}>`);
  await refusedWith(t, submit(world, submission(from('x@other.example'))), 'SENDER_NOT_ALLOWED');
  await refusedWith(t, submit(world, submission(TEXT, { sender: 'x@other.example' })), 'SENDER_NOT_ALLOWED');
  await refusedWith(t, submit(world, submission(`Sender: x@other.example\n${TEXT}`)), 'SENDER_NOT_ALLOWED');
  t.equal(
    (await submit(world, submission(TEXT, { sender: 'bounces@example.com' }))).sealed.message!.sender,
    'bounces@example.com',
  );
  t.equal(
    (await submit(world, submission(TEXT.replace('1@shop', '2@shop'), { sender: undefined }))).sealed.message!.sender,
    undefined,
  );
});

void t.test('the fields for the service do as those of the call', async (t) => {
  const world = await openWorld();
  const fields = `X-Sealpost-Tags: order\nX-Sealpost-Metadata: {"customer": 4}\nX-Sealpost-Schedule: 2030-01-01T15:00:00+02:00\nX-Sealpost-Track: opens\nX-Sealpost-Unsubscribe-List: news\n`;
  const { event, sealed } = await submit(world, submission(fields + TEXT));
  t.match(event, {
    type: 'EmailScheduled',
    data: {
      scheduledAt: '2030-01-01T13:00:00.000Z',
      tags: ['order'],
      unsubscribeList: 'news',
      tracking: { opens: true, clicks: false },
    },
  });
  t.strictSame(sealed.metadata, { customer: 4 });
  t.notMatch(sealed.message!.head, /sealpost/i);
  const { id } = await world.commands.rescheduleEmail(
    caller,
    assertDefined(parseEmailId((await submit(world, submission(fields + TEXT))).body.id), 'id'),
    {
      scheduledAt: '2030-01-02T13:00:00Z',
    },
  );
  t.match(await world.commands.getEmail(caller, assertDefined(parseEmailId(id), 'id')), {
    subject: 'Your order',
    scheduledAt: '2030-01-02T13:00:00.000Z',
  });
  const wrong = (field: string) =>
    refusedWith(t, submit(world, submission(`${field}\n${TEXT.replace('1@', '3@')}`)), 'VALIDATION_ERROR');
  await wrong('X-Sealpost-Schedule: tomorrow');
  await wrong('X-Sealpost-Schedule: 2020-01-01T00:00:00Z');
  await wrong('List-Unsubscribe: <https://x.example>\nX-Sealpost-Unsubscribe-List: news');
});

void t.test('with a template its texts leave in place of those of the message, with its files', async (t) => {
  const world = await withTemplate();
  const fields = `X-Sealpost-Template: ${world.template.id}\nX-Sealpost-Variables: {"name":\n "Ann"}\n`;
  const text = `${fields}${TEXT.replace('\n\nHello', '\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nHello')}--b
Content-Type: text/plain; name=terms.txt
Content-Transfer-Encoding: base64

dGhlIHRlcm1z
--b--
`;
  const { event, sealed } = await submit(world, submission(text));
  t.match(event.data, { templateId: world.template.id, attachmentCount: 1 });
  t.match(sealed, {
    variables: { name: 'Ann' },
    subjectOverride: 'Your order',
    attachments: [{ filename: 'terms.txt', sizeBytes: 9 }],
  });
  t.equal(sealed.message, undefined);
  await refusedWith(
    t,
    submit(world, submission(`X-Sealpost-Template: none\n${TEXT}`, { to: ['b@x.example'] })),
    'ERR_TMPL_002',
  );
});

void t.test('suppressed recipients, too many of them and bad addresses are treated as in the call', async (t) => {
  const world = await openWorld();
  await world.commands.addSuppression(caller, { email: 'ann@x.example' });
  const { stream } = await submit(world, submission(TEXT, { to: ['ann@x.example', 'bob@x.example'] }));
  t.match(await world.events(stream), [
    { type: 'EmailQueued' },
    { type: 'RecipientsSuppressed', data: { recipients: [0] } },
  ]);
  const many = Array.from({ length: 51 }, (_, index) => `p${index}@x.example`);
  await refusedWith(t, submit(world, submission(TEXT, { to: many })), 'VALIDATION_ERROR');
  await refusedWith(t, submit(world, submission(TEXT, { to: ['jü@x.example'] })), 'ERR_EMAIL_001');
});
