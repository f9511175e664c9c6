/**
 * Delivery: attempt recorded, mail sent, outcome recorded, work acknowledged; and what happens where any of it goes
 * wrong.
 */
import t, { type Test } from 'tap';
import { openMemoryBus } from '../../src/adapters/bus/memory.js';
import { openMemoryLimiter } from '../../src/adapters/limiter/memory.js';
import { openSmtpMailer } from '../../src/adapters/mail/smtp.js';
import { openRenderer } from '../../src/adapters/render/email/renderer.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { handle } from '../../src/commands/core/handle.js';
import type { SendEmailRequest } from '../../src/api/email.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import { openEventLog } from '../../src/event-log/event-log.js';
import type { Mailer } from '../../src/domain/ports/mailer.js';
import { DELIVER_EMAIL } from '../../src/processors/email/delivery.js';
import { LEASE_TTL_MS, workerLease } from '../../src/processors/core/lease.js';
import { EventUnreadable, StoreAway } from '../../src/domain/core/errors.js';
import { emailStream, type EmailId } from '../../src/domain/core/ids.js';
import { at, HOST, said, T0 } from '../support/email-facts.js';
import { caller, schemaSaying, welcome } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';
import { mailerBy } from '../support/mailers.js';
import { answers, deliverEmailWorker, openProcessorWorld, relayAndTimers, until } from '../support/processor-world.js';
import { onDistantPorts } from '../support/ports-of-tests.js';
import { at as atStep, held, openSmtpScript } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

type ProcessorWorld = Awaited<ReturnType<typeof openProcessorWorld>>;

const depthZero = (world: ProcessorWorld) =>
  until(async () => (await world.bus.depth(DELIVER_EMAIL)) === 0, 'all work is acknowledged');

void t.test('a mail is recorded, sent as it was accepted, recorded and acknowledged', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send({
    from: { email: 'shop@example.com', name: 'Shop' },
    to: [{ email: 'ann@example.org', name: 'Ann' }],
    cc: [{ email: 'cyd@example.org' }],
    bcc: [{ email: 'bob@example.org' }],
    subject: 'For {{name}}',
    headers: { 'X-Order': '17' },
    priority: 'high',
    replyTo: 'help@example.com',
    attachments: [
      { filename: 'a.txt', content: Buffer.from('attached').toString('base64'), contentType: 'text/plain' },
    ],
  });
  world.mailer.next.push((message) => {
    const types = world.store.events.filter(({ stream }) => stream === emailStream(id)).map(({ type }) => type);
    t.same(types, ['EmailQueued.v1', 'DeliveryAttempted.v1'], 'the attempt stands in the log before the dialogue');
    return answers('accepted')(message);
  });
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await world.reaches(id, 'sent');
  await depthZero(world);

  const [message, ...more] = world.mailer.sent;
  t.same(more, []);
  t.same(message!.envelope, {
    from: 'shop@example.com',
    to: ['ann@example.org', 'cyd@example.org', 'bob@example.org'],
  });
  t.equal(message!.messageId, `<${id}@example.com>`);
  const raw = message!.raw.toString();
  for (const line of [
    /^From: Shop <shop@example\.com>\r$/m,
    /^To: Ann <ann@example\.org>\r$/m,
    /^Cc: cyd@example\.org\r$/m,
    /^Subject: For Ann\r$/m,
    /^Reply-To: help@example\.com\r$/m,
    /^X-Order: 17\r$/m,
    /^Date: Tue, 01 Jan 2030 12:00:00 \+0000\r$/m,
    new RegExp(`^Message-ID: <${id}@example\\.com>\\r$`, 'm'),
    /a\.txt/,
  ])
    t.match(raw, line);
  t.notOk(raw.includes('bob@example.org'), 'a blind copy is blind');
  t.match(await world.commands.getEmail(caller, id), {
    status: 'sent',
    attempts: [{ attempt: 1, host: HOST, durationMs: 120, outcome: 'sent' }],
  });

  const recorded = await world.deps.eventLog.load(emailStream(id));
  t.match(
    recorded.map(({ metadata }) => metadata),
    [
      { actor: 'apiKey:key_1', correlationId: 'request-1' },
      {
        actor: 'processor:deliver-email',
        teamId: caller.teamId,
        correlationId: 'request-1',
        causationId: recorded[0]!.metadata.eventId,
        occurredAt: T0,
      },
      { actor: 'processor:deliver-email', teamId: caller.teamId, correlationId: 'request-1' },
    ],
  );
  const lines = JSON.stringify(world.logger.lines);
  for (const personal of ['ann@', 'For Ann', 'Shop'])
    t.notOk(lines.includes(personal), `the log carries no ${personal}`);
  t.match(
    world.logger.lines.filter(({ message: what }) => what === 'delivery attempt'),
    [{ level: 'info', fields: { attempt: 1, recipients: 3, accepted: 3 } }],
  );
});

void t.test(
  'a file of the call that the template shows travels beside the HTML, another is an ordinary attachment',
  async (t) => {
    const world = await openProcessorWorld(t);
    const template = await world.commands.createTemplate(caller, {
      slug: 'ticket',
      name: 'Ticket',
      subject: 'Ticket',
      schema: {
        sections: [
          {
            id: 'm',
            type: 'main',
            components: [{ id: 'h', type: 'html-fragment', content: '<p><img src="cid:logo" alt="code"></p>' }],
          },
        ],
      },
      publish: true,
    });
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const logo = { filename: 'logo.png', contentType: 'image/png', contentId: 'logo', content: png };
    const terms = {
      filename: 'terms.pdf',
      contentType: 'application/pdf',
      contentId: 'terms',
      content: 'JVBERi0xLjQ=',
    };
    const refused = await refusedWith(
      t,
      world.send({ templateId: template.id, attachments: [terms] }),
      'VALIDATION_ERROR',
    );
    t.same(refused.details.errors, [
      { field: 'attachments', message: 'hold no file with the contentId "logo", which the mail shows as cid:logo' },
    ]);
    const id = await world.send({ templateId: template.id, attachments: [logo, terms] });
    world.run(deliverEmailWorker(world.processing));
    await world.publish(id);
    await world.reaches(id, 'sent');
    const raw = world.mailer.sent[0]!.raw.toString();
    t.match(raw, '<img src="cid:logo" alt="code" width="1" height="1"');
    t.match(raw, /multipart\/related[^]*Content-Disposition: inline; filename="logo\.png"\r\nContent-ID: <logo>/);
    t.match(raw, 'Content-Disposition: attachment; filename="terms.pdf"\r\n\r\n');
  },
);

void t.test('answers go to mailboxes with names, or to several', async (t) => {
  const world = await openProcessorWorld(t);
  const sent = async (replyTo: NonNullable<SendEmailRequest['replyTo']>) => {
    const id = await world.send({ replyTo });
    await world.publish(id);
    await world.reaches(id, 'sent');
    const [, field] = /^Reply-To: (.*(?:\r\n .*)*)\r\n/m.exec(world.mailer.sent.at(-1)!.raw.toString()) ?? [];
    return { field, record: (await world.commands.getEmail(caller, id)).replyTo };
  };
  world.run(deliverEmailWorker(world.processing));
  t.same(await sent({ email: 'Help@EXAMPLE.com', name: 'Müller, Help' }), {
    field: '=?utf-8?Q?M=C3=BCller=2C_Help?= <Help@example.com>',
    record: [{ email: 'Help@example.com', name: 'Müller, Help' }],
  });
  t.same(await sent({ email: 'help@example.com' }), { field: 'help@example.com', record: 'help@example.com' });
  t.same(await sent(['help@example.com', { email: 'desk@example.com', name: 'Desk' }]), {
    field: 'help@example.com, Desk <desk@example.com>',
    record: [{ email: 'help@example.com' }, { email: 'desk@example.com', name: 'Desk' }],
  });
});

void t.test(
  'an address that several fields name gets one copy, and the fields stay as the call has them',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send({
      to: [{ email: 'ann@example.org', name: 'Ann' }, { email: 'bob@bücher.example' }, { email: 'ANN@example.org' }],
      cc: [{ email: 'cyd@example.org' }, { email: 'ann@example.org', name: 'Ann again' }, { email: 'Dan@example.org' }],
      bcc: [{ email: 'dan@example.org' }, { email: 'eve@example.org' }, { email: 'bob@xn--bcher-kva.example' }],
    });
    world.run(deliverEmailWorker(world.processing));
    await world.publish(id);
    await world.reaches(id, 'sent');

    const [message, ...more] = world.mailer.sent;
    t.same(more, []);
    t.same(message!.envelope.to, [
      'ann@example.org',
      'bob@xn--bcher-kva.example',
      'cyd@example.org',
      'Dan@example.org',
      'eve@example.org',
    ]);
    const raw = message!.raw.toString();
    t.match(raw, 'To: Ann <ann@example.org>, bob@xn--bcher-kva.example, ANN@example.org\r\n');
    t.match(raw, 'Cc: cyd@example.org, Ann again <ann@example.org>, Dan@example.org\r\n');
    const record = await world.commands.getEmail(caller, id);
    t.equal(record.recipientCount, 5);
    t.same(
      record.recipients.map(({ email, role, status }) => [email, role, status]),
      [
        ['ann@example.org', 'to', 'sent'],
        ['bob@xn--bcher-kva.example', 'to', 'sent'],
        ['cyd@example.org', 'cc', 'sent'],
        ['Dan@example.org', 'cc', 'sent'],
        ['eve@example.org', 'bcc', 'sent'],
      ],
    );
    t.same(record.metadata.recipients, {
      to: [
        { email: 'ann@example.org', name: 'Ann' },
        { email: 'bob@xn--bcher-kva.example' },
        { email: 'ANN@example.org' },
      ],
      cc: [{ email: 'cyd@example.org' }, { email: 'ann@example.org', name: 'Ann again' }, { email: 'Dan@example.org' }],
      bcc: [{ email: 'dan@example.org' }, { email: 'eve@example.org' }, { email: 'bob@xn--bcher-kva.example' }],
    });
  },
);

/** A mailer that has a connection when the test says so. */
const withConnections = async (t: Test) => {
  const world = await openProcessorWorld(t);
  const waiting: (() => void)[] = [];
  const mailer: Mailer = {
    ...world.mailer,
    lend: async (wanted, use) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        wanted.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      return world.mailer.lend(wanted, use);
    },
  };
  return { world, waiting, worker: deliverEmailWorker({ ...world.processing, mailer }) };
};

void t.test('an attempt is recorded when its connection is there, and not before', async (t) => {
  const { world, waiting, worker } = await withConnections(t);
  const ids = [await world.send(), await world.send(), await world.send()];
  const attempts = async () =>
    (await Promise.all(ids.map((id) => world.events(emailStream(id))))).map(
      (events) => events.filter(({ type }) => type === 'DeliveryAttempted').length,
    );
  const { stop } = world.run(worker);
  // One after the other, for a bus need not keep their order.
  for (const [index, id] of ids.entries()) {
    await world.publish(id);
    await until(() => waiting.length === index + 1, 'it waits for a connection');
  }
  t.same(await attempts(), [0, 0, 0]);
  for (let passedMs = 0; passedMs <= world.deps.limits.deliveryDeadlineMs; passedMs += 5_000)
    await world.clock.advance(5_000);
  waiting[0]!();
  await world.reaches(ids[0]!, 'sent');
  t.match(
    await world.commands.getEmail(caller, ids[0]!),
    { attempts: [{ outcome: 'sent' }] },
    'the time of the attempt begins with it',
  );
  await world.commands.deleteEmail(caller, ids[1]!);
  waiting[1]!();
  await until(async () => (await world.bus.depth(DELIVER_EMAIL)) === 1, 'what was deleted meanwhile is dropped');
  await stop();
  t.same(await attempts(), [1, 0, 0], 'what waits at a stop has spent no attempt');
  t.equal(world.mailer.sent.length, 1);
});

void t.test(
  'what is cancelled while its pointer is on the bus, or while it waits for a connection, is not sent; in its dialogue it is not cancelled',
  async (t) => {
    const { world, waiting, worker } = await withConnections(t);
    const [onTheBus, waits, inDialogue] = [await world.send(), await world.send(), await world.send()];
    await world.publish(onTheBus);
    await world.commands.cancelEmail(caller, onTheBus);
    const { stop } = world.run(worker);
    await depthZero(world);
    await world.publish(waits);
    await until(() => waiting.length === 1, 'it waits for a connection');
    await world.commands.cancelEmail(caller, waits);
    waiting[0]!();
    await depthZero(world);
    t.equal(world.mailer.sent.length, 0);
    world.mailer.next.push(async (message) => {
      await refusedWith(t, world.commands.cancelEmail(caller, inDialogue), 'EMAIL_NOT_CANCELLABLE');
      return answers('deferred')(message);
    });
    await world.publish(inDialogue);
    await until(() => waiting.length === 2, 'it waits for a connection');
    waiting[1]!();
    await until(
      async () => (await world.commands.getEmail(caller, inDialogue)).attempts[0]?.outcome === 'deferred',
      'it is deferred',
    );
    await world.commands.cancelEmail(caller, inDialogue);
    t.match(await world.commands.getEmail(caller, inDialogue), {
      status: 'cancelled',
      attempts: [{ outcome: 'deferred' }],
    });
    await stop();
    for (const id of [onTheBus, waits])
      t.same(
        (await world.events(emailStream(id))).map(({ type }) => type),
        ['EmailQueued', 'EmailCancelled'],
      );
  },
);

void t.test('a mail is dated by the time of the machine while the service goes by a clock of its own', async (t) => {
  const world = await openProcessorWorld(t);
  const { clock } = world.processing;
  const twoYearsMs = 731 * 86_400_000;
  world.run(
    deliverEmailWorker({ ...world.processing, clock: { ...clock, machineNow: () => clock.now() + twoYearsMs } }),
  );
  const id = await world.send();
  const at = Date.parse((await world.commands.getEmail(caller, id)).createdAt);
  await world.publish(id);
  await world.reaches(id, 'sent');
  const date = /^Date: (.*)\r$/m.exec(world.mailer.sent[0]!.raw.toString())?.[1];
  t.equal(Date.parse(date ?? ''), Math.floor(at / 1_000) * 1_000 + twoYearsMs);
});

void t.test('dates in a mail are those of the time that it was given last', async (t) => {
  const world = await openProcessorWorld(t);
  const templateId = (
    await world.commands.createTemplate(caller, {
      ...welcome,
      slug: 'dated',
      subject: 'Of {{__CURRENT_DATE__}}',
      schema: schemaSaying('Today is {{__CURRENT_DATE__}}.'),
    })
  ).id;
  await world.commands.publishTemplate(caller, templateId);
  const id = await world.send({ templateId, scheduledAt: at(86_400) });
  await world.commands.rescheduleEmail(caller, id, { scheduledAt: at(40 * 86_400) });
  world.run(deliverEmailWorker(world.processing));
  await handle(
    world.deps.eventLog,
    emailStream(id),
    emailDecider,
    { type: 'ReleaseEmail', at: at(40 * 86_400) },
    causeOf(world.deps, caller),
  );
  await world.publish(id);
  await world.reaches(id, 'sent');
  const raw = world.mailer.sent[0]!.raw.toString();
  t.match(raw, /^Subject: Of February 10, 2030\r$/m);
  t.match(raw, /Today is February 10, 2030\./);
  t.match(raw, /^Date: Sun, 10 Feb 2030 12:00:00 \+0000\r$/m);
});

void t.test(
  'a host that refuses one more session costs no attempt, and is asked again after growing pauses',
  async (t) => {
    const world = await openProcessorWorld(t);
    const asked: number[] = [];
    const mailer: Mailer = {
      ...world.mailer,
      lend: async (wanted, use) => {
        asked.push(world.clock.monotonic());
        // Another mail has a session meanwhile.
        await world.clock.advance(1);
        await other();
        if (asked.length > 4) return world.mailer.lend(wanted, use);
        return { kind: 'host-away', fault: { ...said('deferred'), rule: 'service-closing' } };
      },
    };
    const both: Mailer = {
      ...mailer,
      lend: (wanted, use) => (wanted.priority === 'high' ? world.mailer.lend(wanted, use) : mailer.lend(wanted, use)),
    };
    const other = async (): Promise<void> => {
      const high = await world.send({ priority: 'high' });
      await world.publish(high);
      await world.reaches(high, 'sent');
    };
    world.run(deliverEmailWorker({ ...world.processing, mailer: both }));
    const id = await world.send();
    await world.publish(id);
    await until(async () => {
      await world.clock.advance(100);
      return (await world.commands.getEmail(caller, id)).status === 'sent';
    }, 'it is sent');
    t.equal((await world.events(emailStream(id))).length, 3, 'accepted, attempted, sent');
    t.ok(asked.every((atMs, index) => index === 0 || atMs - asked[index - 1]! >= 1_000 * 2 ** (index - 1)));
  },
);

void t.test('a mail that finds the host away says why, and has spent no attempt', async (t) => {
  const world = await openProcessorWorld(t);
  const fault = {
    ...said('deferred'),
    replyCode: 535,
    enhancedCode: '5.7.8',
    rule: 'authentication-failed',
    text: '535 5.7.8 who?',
  };
  const mailer: Mailer = { ...world.mailer, lend: async () => ({ kind: 'host-away', fault }) };
  world.run(deliverEmailWorker({ ...world.processing, mailer }));
  const id = await world.send();
  await world.publish(id);
  await until(async () => (await world.events(emailStream(id))).length === 2, 'it is held');
  t.match(await world.commands.getEmail(caller, id), {
    status: 'queued',
    attempts: [],
    recipients: [{ replyCode: 535, rule: 'authentication-failed', reply: '535 5.7.8 who?' }],
  });
});

void t.test('what was accepted is what leaves, whatever became of its template since', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send({ subject: 'Mine {{name}}', scheduledAt: at(3_600) });
  await world.commands.updateTemplate(caller, 'welcome', { subject: 'Changed', schema: schemaSaying('changed') });
  await world.commands.publishTemplate(caller, 'welcome');
  await world.commands.deleteTemplate(caller, 'welcome');
  await world.clock.advance(3_600_000);
  await handle(
    world.deps.eventLog,
    emailStream(id),
    emailDecider,
    { type: 'ReleaseEmail', at: at(3_600) },
    causeOf(world.deps, caller),
  );
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await world.reaches(id, 'sent');
  const raw = world.mailer.sent[0]!.raw.toString();
  t.match(raw, /^Subject: Mine Ann\r$/m);
  t.match(raw, /^Date: Tue, 01 Jan 2030 13:00:00 \+0000\r$/m, 'the moment of release');
  t.match(raw, /Dear Ann, from Example Ltd/);
});

void t.test('a subject of the call stands for that of the template at delivery too, which need not fit', async (t) => {
  const world = await openProcessorWorld(t);
  await world.commands.createTemplate(caller, { ...welcome, slug: 'plain', schema: schemaSaying('short') });
  const id = await world.send({ templateId: 'plain', subject: 'Short', variables: { name: 'x'.repeat(2_000) } });
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await world.reaches(id, 'sent');
  t.match(world.mailer.sent[0]!.raw.toString(), /<title>Short<\/title>/);
});

void t.test('each outcome of the mailer becomes the state of the table', async (t) => {
  const world = await openProcessorWorld(t);
  world.run(deliverEmailWorker(world.processing));
  for (const [result, status] of [
    ['bounced', 'bounced'],
    ['refused', 'failed'],
    ['deferred', 'queued'],
  ] as const) {
    const id = await world.send();
    world.mailer.next.push(answers(result));
    await world.publish(id);
    await until(async () => (await world.events(emailStream(id))).length === 3, result);
    const record = await world.commands.getEmail(caller, id);
    t.equal(record.status, status);
    t.equal(record.nextAttemptAt, result === 'deferred' ? at(60) : null);
  }
  await depthZero(world);
});

void t.test('at a final host accepted is delivered', async (t) => {
  const world = await openProcessorWorld(t, { final: true });
  const id = await world.send();
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await world.reaches(id, 'delivered');
});

void t.test('only who still waits is attempted again', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send({
    to: [{ email: 'a@example.org' }, { email: 'b@example.org' }, { email: 'c@example.org' }],
  });
  world.run(deliverEmailWorker(world.processing));
  world.mailer.next.push(answers('accepted', 'deferred', 'bounced'));
  await world.publish(id);
  await until(
    async () =>
      (await world.commands.getEmail(caller, id)).attempts.length === 1 &&
      world.mailer.sent.length === 1 &&
      (await world.events(emailStream(id))).length === 3,
    'the first attempt has ended',
  );
  await depthZero(world);
  await world.publish(id);
  await depthZero(world);
  t.equal(world.mailer.sent.length, 1, 'not before its time');
  await world.clock.advance(60_000);
  await world.publish(id);
  await world.reaches(id, 'sent');
  t.same(world.mailer.sent[1]!.envelope.to, ['b@example.org']);
  t.ok(world.mailer.sent[1]!.raw.equals(world.mailer.sent[0]!.raw), 'the same bytes');
});

void t.test('work on what is not there, not due or done is acknowledged without a deed', async (t) => {
  const world = await openProcessorWorld(t);
  const [deleted, later, done] = [await world.send(), await world.send({ scheduledAt: at(60) }), await world.send()];
  await world.commands.deleteEmail(caller, deleted);
  world.run(deliverEmailWorker(world.processing));
  await world.publish(done);
  await world.reaches(done, 'sent');
  await world.bus.publish(
    DELIVER_EMAIL,
    [deleted, later, done].map((id) => world.point(id, 9)),
  );
  await world.bus.publish(DELIVER_EMAIL, [
    { id: 'x', stream: 'email-99999999-9999-4999-8999-999999999999', priority: 'low' },
  ]);
  await depthZero(world);
  t.equal(world.mailer.sent.length, 1);
  t.same(
    world.logger.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

void t.test('a mail that cannot be made any more has failed, with the reason', async (t) => {
  const world = await openProcessorWorld(t);
  const lost = await world.send({ attachments: [{ filename: 'a.txt', content: 'AAAA', contentType: 'text/plain' }] });
  world.files.stored.clear();
  world.run(deliverEmailWorker(world.processing));
  await world.publish(lost);
  await world.reaches(lost, 'failed');
  t.equal((await world.commands.getEmail(caller, lost)).failureReason, 'content-lost');
  await depthZero(world);
  t.equal(world.mailer.sent.length, 0);
});

void t.test(
  'a damaged attachment is tried again as often as a refusal, then the mail has failed; put back in time, it leaves',
  async (t) => {
    const world = await openProcessorWorld(t, { delaysMs: [60_000, 300_000] });
    const attachments = [{ filename: 'a.txt', content: 'AAAA', contentType: 'text/plain' }];
    const damage = async (): Promise<Readonly<{ id: EmailId; mend: () => void }>> => {
      const known = new Set(world.files.stored.keys());
      const id = await world.send({ attachments });
      const [file, bytes] = [...world.files.stored].find(([hash]) => !known.has(hash))!;
      world.files.stored.set(file, Buffer.from(bytes.map((byte) => byte ^ 1)));
      return { id, mend: () => void world.files.stored.set(file, bytes) };
    };
    const [lost, mended] = [await damage(), await damage()];
    world.run(deliverEmailWorker(world.processing));
    world.run(relayAndTimers(world.processing));
    await world.publish(lost.id, mended.id);
    const attempts = async (id: EmailId) => (await world.commands.getEmail(caller, id)).attempts;
    const tried = (id: EmailId, times: number) =>
      until(
        async () => (await attempts(id)).filter(({ endedAt }) => endedAt !== null).length === times,
        `attempt ${times}`,
      );
    await tried(lost.id, 1);
    await tried(mended.id, 1);
    t.match(await world.commands.getEmail(caller, lost.id), {
      status: 'queued',
      recipients: [{ rule: 'attachment-damaged' }],
    });
    // A store that answers late moves the next attempt: time goes on until it has begun.
    const timePasses = async (id: EmailId, times: number): Promise<void> => {
      for (let step = 0; step < 60 && (await attempts(id)).length < times; step += 1) {
        await world.settled();
        await world.clock.advance(10_000);
      }
    };
    mended.mend();
    await timePasses(lost.id, 2);
    await timePasses(mended.id, 2);
    await tried(lost.id, 2);
    await world.reaches(mended.id, 'sent');
    await timePasses(lost.id, 3);
    await world.reaches(lost.id, 'failed');
    t.match(await world.commands.getEmail(caller, lost.id), {
      failureReason: 'attachment-damaged',
      recipients: [{ status: 'failed', rule: 'attachment-damaged' }],
    });
    t.equal((await attempts(lost.id)).length, 3);
    await depthZero(world);
    t.equal(world.mailer.sent.length, 1);
    lost.mend();
    await world.commands.retryEmail(caller, lost.id);
    await world.reaches(lost.id, 'sent');
  },
);

void t.test(
  'a key that is missing, though nothing says that it was destroyed, is waited for: no attempt begins, and health tells',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send();
    const stream = emailStream(id);
    let isThere = false;
    const keys = {
      ...world.keys,
      getMany: async (ids: readonly string[]) => (isThere ? world.keys.getMany(ids) : new Map()),
    };
    const eventLog = openEventLog({ ...world.deps, store: world.store, keys });
    world.run(deliverEmailWorker({ ...world.processing, eventLog }));
    await world.publish(id);
    await until(() => world.processing.stuckWork.of(DELIVER_EMAIL) !== undefined, 'it is stuck');
    const faults = () => world.logger.lines.filter(({ level }) => level === 'error').length;
    for (const [tries, pauseS] of [1, 2, 4, 8].entries()) {
      await until(() => faults() === tries + 1, 'it was tried');
      await world.clock.advance(pauseS * 1_000);
    }
    await until(() => faults() === 5, 'it is tried again');
    t.same(world.processing.stuckWork.of(DELIVER_EMAIL), { count: 1, fault: 'KEY_MISSING' });
    t.match(world.logger.lines.find(({ level }) => level === 'error')?.fields, {
      processor: DELIVER_EMAIL,
      stream,
      err: { code: 'KEY_MISSING' },
    });
    t.same(
      (await world.events(stream)).map(({ type }) => type),
      ['EmailQueued'],
    );
    isThere = true;
    await world.clock.advance(300_000);
    await world.reaches(id, 'sent');
    await depthZero(world);
    t.equal(world.processing.stuckWork.of(DELIVER_EMAIL), undefined);
    t.equal(world.mailer.sent.length, 1);
  },
);

void t.test('a mail that its renderer refuses by now has failed for rendering', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send({ variables: { name: 'x'.repeat(900) } });
  const renderer = openRenderer({ limits: { ...world.deps.limits, subjectCharsMax: 50 } });
  world.run(deliverEmailWorker({ ...world.processing, renderer }));
  await world.publish(id);
  await world.reaches(id, 'failed');
  t.match(await world.commands.getEmail(caller, id), {
    failureReason: 'rendering',
    recipients: [{ rule: 'rendering', reply: /^SUBJECT_TOO_LONG: / }],
  });
  t.equal(world.mailer.sent.length, 0);
});

void t.test('a dialogue that takes too long is cut off by its deadline', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send();
  world.mailer.next.push(
    (message, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(answers('deferred')(message)))),
  );
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await until(() => world.mailer.sent.length === 1, 'the dialogue has begun');
  await world.clock.advance(world.deps.limits.deliveryDeadlineMs - 1);
  t.equal((await world.commands.getEmail(caller, id)).status, 'processing');
  await world.clock.advance(1);
  await world.reaches(id, 'queued');
});

void t.test(
  'an outcome that cannot be written is written as soon as it can, and the mail is not sent twice',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send();
    world.mailer.next.push((message) => {
      world.store.beforeAppend(() => Promise.reject(new Error('disk full')));
      return answers('accepted')(message);
    });
    world.run(deliverEmailWorker(world.processing));
    await world.publish(id);
    await until(
      () => world.logger.lines.some(({ message }) => message.includes('could not be recorded')),
      'the fault is logged',
    );
    await world.clock.whenWaiting(1);
    await world.clock.advance(1_000);
    await until(
      () => world.logger.lines.filter(({ message }) => message.includes('could not be recorded')).length === 2,
      'it is tried again',
    );
    world.store.beforeAppend(undefined);
    await world.clock.advance(1_000);
    await world.reaches(id, 'sent');
    t.equal(world.mailer.sent.length, 1);
    await depthZero(world);
  },
);

void t.test(
  'an outcome is written although the lease was lost while servers were away, and the mail is not sent twice',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send();
    const keeper = world.keeper.open();
    let isAway = false;
    const leases = {
      ...keeper,
      renew: (...call: Parameters<typeof keeper.renew>) => (isAway ? away() : keeper.renew(...call)),
    };
    const away = () => Promise.reject(new StoreAway('away'));
    world.mailer.next.push((message) => {
      isAway = true;
      world.store.beforeAppend(away);
      return answers('accepted')(message);
    });
    const worker = world.run(deliverEmailWorker({ ...world.processing, leases }));
    await world.publish(id);
    await until(async () => {
      await world.clock.advance(1_000);
      return world.logger.lines.some(({ message }) => message === 'lease lost');
    }, 'the lease is lost');
    isAway = false;
    world.store.beforeAppend(undefined);
    await until(async () => {
      await world.clock.advance(1_000);
      return (await world.commands.getEmail(caller, id)).status === 'sent';
    }, 'the outcome is written');
    await world.clock.advance(60_000);
    t.equal(world.mailer.sent.length, 1);
    await worker.stop();
  },
);

void t.test('a fault before the attempt is recorded leads to another try after a pause', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send();
  world.store.beforeAppend(() => Promise.reject(new Error('disk full')));
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await until(() => world.logger.lines.some(({ level }) => level === 'error'), 'the fault is logged');
  world.store.beforeAppend(undefined);
  t.equal(world.mailer.sent.length, 0);
  await world.clock.advance(1_000);
  await world.reaches(id, 'sent');
  t.equal(world.mailer.sent.length, 1);
});

void t.test(
  'what cannot be worked on after its tries is parked where the bus keeps it; what may pass is tried on',
  async (t) => {
    const place = { stream: 'email-1', revision: 0, position: 1, storedType: 'EmailQueued.v1' };
    const cases = [
      { fault: new EventUnreadable(place, 'damaged'), isKept: true, parked: ['8 EVENT_UNREADABLE'] },
      { fault: new TypeError('what is personal'), isKept: true, parked: ['8 TypeError'] },
      { fault: new StoreAway('away'), isKept: true, parked: [] },
      { fault: new Error('disk full'), isKept: true, parked: [] },
      { fault: new EventUnreadable(place, 'damaged'), isKept: false, parked: [] },
    ];
    for (const { fault, isKept, parked: expected } of cases) {
      const world = await openProcessorWorld(t);
      const { bus, processing } = world;
      const parked: string[] = [];
      let deliveries = 0;
      const keeping = {
        ...bus,
        parked: isKept ? { list: async function* () {}, release: async () => false } : undefined,
        consume: async function* (...options: Parameters<typeof bus.consume>) {
          for await (const work of bus.consume(...options)) {
            deliveries = work.deliveries;
            yield {
              ...work,
              park: (reason: string) => (parked.push(`${work.deliveries} ${reason}`), work.park(reason)),
            };
          }
        },
      };
      const id = await world.send();
      const eventLog = { ...processing.eventLog, load: () => Promise.reject(fault) };
      const { stop } = world.run(deliverEmailWorker({ ...processing, bus: keeping, eventLog }));
      await world.publish(id);
      await until(async () => {
        await world.clock.advance(60_000);
        return expected.length > 0 ? parked.length > 0 : deliveries > 10;
      }, `${fault.name} is tried`);
      t.same(parked, expected, fault.name);
      await stop();
    }
  },
);

void t.test('of two processes one sends', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send();
  const other = await openProcessorWorld(t);
  world.run(deliverEmailWorker(world.processing));
  world.run(deliverEmailWorker({ ...world.processing, ...world.elsewhere(), bus: other.bus, worker: 'worker-2' }));
  await Promise.all([world.publish(id), other.bus.publish(DELIVER_EMAIL, [world.point(id)])]);
  await world.reaches(id, 'sent');
  for (const { bus } of [world, other]) {
    await until(async () => {
      await world.clock.advance(1_000);
      await other.clock.advance(1_000);
      return (await bus.depth(DELIVER_EMAIL)) === 0;
    }, 'both have acknowledged');
  }
  t.equal(world.mailer.sent.length, 1);
  t.equal((await world.events(emailStream(id))).length, 3);
});

void t.test(
  'a pointer to an attempt whose worker lives comes back when its lease would end; the mail is sent once',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send();
    let finish = (): void => {};
    world.mailer.next.push(
      (message) => new Promise((resolve) => (finish = () => resolve(answers('accepted')(message)))),
    );
    world.run(deliverEmailWorker(world.processing));
    await world.publish(id);
    await world.reaches(id, 'processing');
    const { bus } = await openProcessorWorld(t);
    const again: number[] = [];
    const watched = {
      ...bus,
      consume: async function* (...options: Parameters<typeof bus.consume>) {
        for await (const work of bus.consume(...options)) {
          yield { ...work, retryAt: (atMs: number) => (again.push(atMs - world.clock.now()), work.retryAt(atMs)) };
        }
      },
    };
    world.run(deliverEmailWorker({ ...world.processing, bus: watched, worker: 'worker-2' }));
    await bus.publish(DELIVER_EMAIL, [world.point(id)]);
    await until(() => again.length === 1, 'it comes back');
    t.ok(again[0]! > 0 && again[0]! <= 15_000, `after ${again[0]!} ms: seconds, not the ten minutes of a deadline`);
    finish();
    await world.reaches(id, 'sent');
    t.equal(world.mailer.sent.length, 1);
    t.equal((await world.commands.getEmail(caller, id)).attempts.length, 1);
  },
);

void t.test(
  'a redelivered pointer of a worker that died while another watched leads to the mail as soon as its lease is over',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send();
    world.mailer.next.push(() => new Promise(() => {}));
    const keeper = world.keeper.open();
    const frozen = { ...keeper, renew: () => new Promise<never>(() => {}) };
    void deliverEmailWorker({ ...world.processing, leases: frozen }).run(new AbortController().signal);
    await world.publish(id);
    await world.reaches(id, 'processing');
    t.ok(await keeper.read(workerLease(DELIVER_EMAIL, world.processing.worker)));
    const { bus } = await openProcessorWorld(t);
    const startedMs = world.clock.now();
    const second = openMemoryBus({ clock: world.clock, pointersMax: 10 });
    t.teardown(() => second.close());
    await bus.close();
    world.run(deliverEmailWorker({ ...world.processing, bus: second, worker: 'worker-2' }));
    await second.publish(DELIVER_EMAIL, [world.point(id)]);
    await until(async () => {
      await world.clock.advance(500);
      return world.mailer.sent.length === 2;
    }, 'it is sent by another');
    // While messages travel the clock of the test runs on.
    t.ok(
      world.clock.now() - startedMs <= (onDistantPorts() ? 20_000 : 16_000),
      `after ${world.clock.now() - startedMs} ms`,
    );
    await world.reaches(id, 'sent');
  },
);

for (const relayed of [false, true])
  void t.test(
    `a process that was frozen before the content sends nothing after another took over, ${relayed ? 'with relays' : 'with one relay'}`,
    async (t) => {
      const world = await openProcessorWorld(t);
      const { clock, mailer, processing } = world;
      const id = await world.send();
      const contents: string[] = [];
      const asked: boolean[] = [];
      let thaw = (): void => {};
      const thawed = new Promise<void>((resolve) => (thaw = resolve));
      const by = (relay: string): Mailer =>
        mailerBy(async (message, _signal, mayGoOn) => {
          asked.push(mayGoOn!());
          if (asked.length === 1) {
            await thawed;
            asked.push(mayGoOn!());
          }
          if (asked.at(-1) === false)
            return { ...answers('deferred')(message), ...(relayed && { content: 'none' as const }) };
          contents.push(relay);
          return answers('accepted')(message);
        });
      const list = [
        { name: 'first', mailer: by('first') },
        { name: 'second', mailer: by('second') },
      ];
      const limiter = openMemoryLimiter({ clock });
      const sending = relayed
        ? { relays: { list, rules: [{ relays: ['first', 'second'] }], limiter } }
        : { mailer: by('first') };
      // Time goes on, and no timer of a frozen process runs.
      const sleep: typeof clock.sleep = (_ms, signal) =>
        new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
      const frozen = { ...processing, ...sending, clock: { ...clock, sleep } };
      world.run(deliverEmailWorker(frozen));
      await world.publish(id);
      await until(() => asked.length === 1, 'the dialogue has begun');
      t.same(asked, [true], 'the lease surely holds');
      await clock.advance(LEASE_TTL_MS);
      const second = openMemoryBus({ clock, pointersMax: 10 });
      t.teardown(() => second.close());
      world.run(deliverEmailWorker({ ...processing, ...sending, bus: second, worker: 'worker-2' }));
      await second.publish(DELIVER_EMAIL, [world.point(id)]);
      await world.reaches(id, 'sent');
      thaw();
      await until(() => asked.length === 3, 'the frozen process goes on');
      await clock.advance(60_000);
      t.same(asked, [true, true, false]);
      t.same(contents, ['first'], 'the relay of the attempt that was cut off got it, once');
      t.equal(mailer.sent.length, 0);
      t.same(
        (await world.events(emailStream(id))).map(({ type }) => type),
        ['EmailQueued', 'DeliveryAttempted', 'DeliveryAttempted', 'EmailSent'],
      );
    },
  );

void t.test(
  'no content is sent in the last seconds of a lease that nothing renews, and the mail is tried again',
  async (t) => {
    const world = await openProcessorWorld(t);
    const { clock, processing } = world;
    const id = await world.send();
    let ask = (): void => {};
    const due = new Promise<void>((resolve) => (ask = resolve));
    const asked: (boolean | undefined)[] = [];
    const mailer = mailerBy(async (message, _signal, mayGoOn) => {
      asked.push(mayGoOn?.());
      if (asked.length > 1) return answers('accepted')(message);
      await due;
      await clock.advance(LEASE_TTL_MS - 3_001);
      asked.push(mayGoOn?.());
      await clock.advance(1);
      asked.push(mayGoOn?.());
      return { ...answers('deferred')(message), content: 'none' as const };
    });
    const leases = { ...processing.leases, renew: () => new Promise<never>(() => {}) };
    world.run(deliverEmailWorker({ ...processing, leases, mailer }));
    await world.publish(id);
    await until(() => asked.length === 1, 'the dialogue has begun');
    ask();
    await world.reaches(id, 'queued');
    t.same(asked, [true, true, false]);
    t.same(
      (await world.events(emailStream(id))).map(({ type }) => type),
      ['EmailQueued', 'DeliveryAttempted', 'EmailDeferred'],
      'while the lease still holds, the attempt ends in the log',
    );
  },
);

for (const isTakenOver of [false, true])
  void t.test(
    `a process that loses its lease when all content is sent records the reply${isTakenOver ? ', but not if another has begun an attempt' : ''}`,
    async (t) => {
      const world = await openProcessorWorld(t);
      const { clock, logger, keeper, processing } = world;
      let answer = (): void => {};
      const script = atStep('message', held(new Promise<void>((resolve) => (answer = resolve))), 1);
      let contents = 0;
      const server = await openSmtpScript({
        script: (moment) => {
          if (moment.step === 'message') contents += 1;
          return script(moment);
        },
      });
      const whenContent = (count: number): Promise<void> =>
        eventually(`content ${count}`, () => contents >= count).then(() => {});
      const isSent = (): Promise<unknown> =>
        eventually('it is sent', async () => (await world.commands.getEmail(caller, id)).status === 'sent');
      const mailer = openSmtpMailer({ url: server.url, final: false, connectionsMax: 2, logger });
      t.teardown(() => Promise.all([mailer.close(), server.close()]));
      const id = await world.send();
      world.run(deliverEmailWorker({ ...processing, mailer }));
      await world.publish(id);
      await whenContent(1);
      keeper.kill(processing.worker);
      await clock.advance(LEASE_TTL_MS / 4);
      await until(() => logger.lines.some(({ message }) => message === 'lease lost'), 'it is told');
      if (isTakenOver) {
        const bus = openMemoryBus({ clock, pointersMax: 10 });
        t.teardown(() => bus.close());
        world.run(deliverEmailWorker({ ...processing, mailer, bus, worker: 'worker-2' }));
        await bus.publish(DELIVER_EMAIL, [world.point(id)]);
        await whenContent(2);
        await isSent();
      }
      answer();
      const attempts = isTakenOver ? 2 : 1;
      await eventually(
        'it goes on',
        () => logger.lines.filter(({ message }) => message === 'delivery attempt').length === attempts,
      );
      await isSent();
      t.equal(server.accepted().length, attempts);
      t.same(
        (await world.events(emailStream(id))).map(({ type }) => type),
        ['EmailQueued', 'DeliveryAttempted', ...(isTakenOver ? ['DeliveryAttempted'] : []), 'EmailSent'],
      );
    },
  );

void t.test(
  'an attempt of our own that met a fault goes on as it is: no attempt more is recorded, and the mail is never given up',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send();
    for (let fault = 0; fault < 20; fault += 1) world.mailer.next.push(() => Promise.reject(new Error('a bug')));
    world.run(deliverEmailWorker(world.processing));
    await world.publish(id);
    await until(async () => {
      await world.clock.advance(60_000);
      return world.mailer.sent.length === 21;
    }, 'it is tried again and again');
    await world.reaches(id, 'sent');
    t.same(
      (await world.events(emailStream(id))).map(({ type }) => type),
      ['EmailQueued', 'DeliveryAttempted', 'EmailSent'],
    );
  },
);

const appendedElsewhere = async (
  t: Test,
  positionOf: (world: ProcessorWorld, id: EmailId) => number,
): Promise<void> => {
  const world = await openProcessorWorld(t);
  // The cache keeps written events while somebody follows the log.
  world.run({
    name: 'reader',
    run: async (signal) => {
      for await (const { events } of world.deps.eventLog.subscribeAll(0, { signal })) t.ok(events);
    },
  });
  const [cancelled, tried] = [await world.send(), await world.send()];
  const elsewhere = world.elsewhere();
  await handle(
    elsewhere.eventLog,
    emailStream(cancelled),
    emailDecider,
    { type: 'DeleteEmail', at: T0 },
    causeOf(elsewhere, caller),
  );
  const attempt = {
    type: 'AttemptDelivery' as const,
    at: T0,
    host: HOST,
    worker: 'worker-2',
    deadlineAt: at(600),
    workerGone: false,
  };
  await handle(elsewhere.eventLog, emailStream(tried), emailDecider, attempt, causeOf(elsewhere, caller));
  world.run(deliverEmailWorker(world.processing));
  await world.bus.publish(
    DELIVER_EMAIL,
    [cancelled, tried].map((id) => world.point(id, positionOf(world, id))),
  );
  await world.reaches(tried, 'sent');
  await depthZero(world);
  t.equal(world.mailer.sent.length, 1);
  t.same(
    (await world.commands.getEmail(caller, tried)).attempts.map(({ outcome }) => outcome),
    ['interrupted', 'sent'],
  );
};

void t.test('what this process remembers of an email does not outweigh what another has appended', async (t) => {
  await appendedElsewhere(t, () => 0);
  let remembered = 0;
  await appendedElsewhere(t, (world, id) => {
    const { position } = world.store.events.find(({ stream }) => stream === emailStream(id))!;
    remembered += world.deps.eventLog.written(emailStream(id), position)?.length ?? 0;
    return position;
  });
  t.equal(remembered, 1, 'the email that is not deleted');
});

void t.test('a stop lets the dialogues under way end and begins no other', async (t) => {
  const world = await openProcessorWorld(t, { inFlightMax: 1 });
  const [first, second] = [await world.send(), await world.send()];
  let finish: (() => void) | undefined;
  world.mailer.next.push((message) => new Promise((resolve) => (finish = () => resolve(answers('accepted')(message)))));
  const { stop } = world.run(deliverEmailWorker(world.processing));
  await world.publish(first, second);
  await until(() => finish !== undefined, 'the first dialogue has begun');
  let stopped = false;
  const stopping = stop().then(() => (stopped = true));
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  t.equal(stopped, false);
  finish!();
  await stopping;
  t.equal((await world.commands.getEmail(caller, first)).status, 'sent');
  t.equal((await world.commands.getEmail(caller, second)).status, 'queued');
  t.equal(world.mailer.sent.length, 1);
});

void t.test(
  'after a crash in a dialogue the attempt is visible, and is made again by the next run with the same Message-ID',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send();
    world.mailer.next.push(() => new Promise(() => {}));
    void deliverEmailWorker(world.processing).run(new AbortController().signal);
    await world.publish(id);
    await until(() => world.mailer.sent.length === 1, 'the dialogue has begun');
    const { bus } = await openProcessorWorld(t);
    world.keeper.kill(world.processing.worker);
    world.run(deliverEmailWorker({ ...world.processing, ...world.elsewhere(), bus, worker: 'worker-2' }));
    await bus.publish(DELIVER_EMAIL, [world.point(id)]);
    await world.reaches(id, 'sent');
    const [one, two] = world.mailer.sent;
    t.equal(two!.messageId, one!.messageId);
    t.ok(two!.raw.equals(one!.raw));
    t.same(
      (await world.commands.getEmail(caller, id)).attempts.map(({ outcome }) => outcome),
      ['interrupted', 'sent'],
    );
  },
);
