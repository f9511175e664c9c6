/** Faults of the other side of SMTP, and the state of the email after each; the clock is the test's. */
import t, { type Test } from 'tap';
import { openSmtpMailer } from '../../src/adapters/mail/smtp.js';
import { openLogger } from '../../src/adapters/logger/pino.js';
import { advanceUntil, startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { eventually } from '../support/wait.js';
import {
  at,
  close,
  hang,
  openSmtpScript,
  refusedPort,
  reply,
  reset,
  type SmtpScript,
  type SmtpScriptServer,
} from '../support/smtp-script.js';

const FIRST_DELAY_MS = 10_000;
const SECOND_DELAY_MS = 30_000;
const RETRY_DELAYS = '10,30';
/** How far the clock goes between two looks: not so far that a deadline of minutes is jumped over. */
const STEP_MS = 5_000;

/** Longer than all attempts take. */
const AWAY_MS = 11 * 60_000;

t.setTimeout(900_000);

type Setup = Readonly<{ app: TestApp; clock: FakeClock; sink: SmtpScriptServer }>;

const setUp = async (t: Test, script?: SmtpScript): Promise<Setup> => {
  const sink = await openSmtpScript(script === undefined ? {} : { script });
  t.teardown(() => sink.close());
  const clock = fakeClock();
  const app = await startTestApp({
    dataDir: temporaryDirectory(t),
    isFounded: true,
    clock,
    settings: { SEALPOST_SMTP_URL: `${sink.url}?tls=off`, SEALPOST_RETRY_DELAYS: RETRY_DELAYS },
  });
  t.teardown(() => app.stop());
  return { app, clock, sink };
};

const attempted = (app: TestApp, id: string, attempts: number) =>
  app
    .email(id)
    .then((record) => record.attempts.filter(({ endedAt }) => endedAt !== null).length === attempts && record);

await t.test('accepted: one attempt, sent, the mail arrives under its Message-ID', async (t) => {
  const { app, sink } = await setUp(t);
  const { id, messageId } = await app.send();
  const record = await app.whenStatus(id, 'sent');
  t.equal(record.attempts.length, 1);
  t.same(
    record.recipients.map(({ status, replyCode }) => ({ status, replyCode })),
    [{ status: 'sent', replyCode: 250 }],
  );
  t.same(
    sink.accepted().map((mail) => `<${mail.messageId}>`),
    [messageId],
  );
  t.same(sink.accepted()[0]?.envelope, { from: 'hello@service.test', to: ['ada@example.com'] });
});

await t.test('the relay is the final host: delivered', async (t) => {
  const sink = await openSmtpScript();
  t.teardown(() => sink.close());
  const app = await startTestApp({
    dataDir: temporaryDirectory(t),
    isFounded: true,
    settings: { SEALPOST_SMTP_URL: `${sink.url}?tls=off`, SEALPOST_SMTP_FINAL: 'true' },
  });
  t.teardown(() => app.stop());
  const record = await app.whenStatus((await app.send()).id, 'delivered');
  t.not(record.deliveredAt, null);
});

await t.test('451: queued again, not before its time, then sent with the same bytes', async (t) => {
  const { app, clock, sink } = await setUp(t, at('message', reply('451 4.3.2 try later'), 1));
  const { id } = await app.send();
  await advanceUntil(clock, 0, 'the first attempt has ended', async () => (await attempted(app, id, 1)) !== false);
  const deferred = await app.email(id);
  t.equal(deferred.status, 'queued');
  t.match(deferred.attempts[0], { outcome: 'deferred', replyCode: 451, reply: /try later/ });
  t.equal(Date.parse(deferred.nextAttemptAt ?? ''), clock.now() + FIRST_DELAY_MS);

  await app.whenCaughtUp();
  await clock.advance(FIRST_DELAY_MS - 1);
  await app.whenCaughtUp();
  t.equal(sink.received.length, 1, 'nothing is tried before its time');
  const sent = await app.whenStatus(id, 'sent', 500);
  t.equal(sent.attempts.length, 2);
  t.equal(sent.nextAttemptAt, null);
  t.equal(sink.received.length, 2);
  t.ok(sink.received[0]!.raw.equals(sink.received[1]!.raw), 'both attempts had the same bytes');
});

await t.test('closing after DATA before the reply: tried again', async (t) => {
  const { app, sink } = await setUp(t, at('message', close, 1));
  const record = await app.whenStatus((await app.send()).id, 'sent', STEP_MS);
  t.match(record.attempts[0], { outcome: 'deferred', replyCode: null });
  t.equal(record.recipients[0]!.rule, 'accepted');
  t.equal(sink.received.length, 2);
  t.equal(sink.received[0]!.messageId, sink.received[1]!.messageId);
});

await t.test('a reset connection at every step is a deferral', async (t) => {
  for (const step of ['connect', 'mail', 'rcpt', 'data', 'message'] as const) {
    let faults = 0;
    const { app } = await setUp(t, (moment) => (moment.step === step && (faults += 1) <= 2 ? reset : undefined));
    const record = await app.whenStatus((await app.send()).id, 'sent', STEP_MS);
    t.ok(record.attempts.length <= 3, `${step}: ${record.attempts.length} attempts`);
    t.ok(faults >= 2, `${step}: it was reset`);
  }
});

await t.test('550 user unknown: bounced at once, and not retryable', async (t) => {
  const { app, sink } = await setUp(t, at('rcpt', reply('550 5.1.1 user unknown')));
  const { id } = await app.send();
  const record = await app.whenStatus(id, 'bounced');
  t.equal(record.attempts.length, 1);
  t.match(record.recipients[0], { status: 'bounced', replyCode: 550, enhancedCode: '5.1.1', rule: 'mailbox-unknown' });
  t.match(await app.call('POST', `/api/emails/${id}/retry`), { status: 400, body: { code: 'EMAIL_NOT_RETRYABLE' } });
  t.equal(sink.received.length, 0);
});

await t.test('554 by policy: failed at once; a retry queues it again', async (t) => {
  const { app, sink } = await setUp(t, at('message', reply('554 5.7.1 policy says no'), 1));
  const { id, messageId } = await app.send();
  const failed = await app.whenStatus(id, 'failed');
  t.match(failed, { failureReason: 'blocked', retryCount: 0 });
  const retried = await app.call('POST', `/api/emails/${id}/retry`);
  t.match(retried, { status: 200, body: { id, status: 'queued', retryCount: 1 } });
  const sent = await app.whenStatus(id, 'sent');
  t.match(sent, { retryCount: 1, messageId, failureReason: null });
  t.equal(sink.received.length, 2);
});

await t.test('some recipients refused: each has its state, and only those who wait are tried again', async (t) => {
  const script: SmtpScript = ({ step, address, message }) => {
    if (step !== 'rcpt') return undefined;
    if (address === 'gone@example.com') return reply('550 5.1.1 no such user');
    return address === 'full@example.com' && message === 1 ? reply('452 4.2.2 mailbox full') : undefined;
  };
  const { app, sink } = await setUp(t, script);
  const { id } = await app.send({
    to: [{ email: 'ada@example.com' }],
    cc: [{ email: 'gone@example.com' }],
    bcc: [{ email: 'full@example.com' }],
  });
  const record = await app.whenStatus(id, 'sent', STEP_MS);
  t.same(
    record.recipients.map(({ email, status }) => [email, status]),
    [
      ['ada@example.com', 'sent'],
      ['gone@example.com', 'bounced'],
      ['full@example.com', 'sent'],
    ],
  );
  t.same(
    sink.accepted().map(({ envelope }) => envelope.to),
    [['ada@example.com'], ['full@example.com']],
  );
});

await t.test(
  'one of two has it: record and list say that the other has not, and a retry sends to that one alone',
  async (t) => {
    let refusals = 0;
    const { app, sink } = await setUp(t, ({ step, address }) =>
      step === 'rcpt' && address === 'bo@example.com' && (refusals += 1) === 1
        ? reply('554 5.7.1 policy says no')
        : undefined,
    );
    const { id } = await app.send({ to: [{ email: 'ada@example.com' }, { email: 'bo@example.com' }] });
    t.equal((await app.whenStatus(id, 'sent', STEP_MS)).failedRecipients, 1);
    await app.whenCaughtUp();
    t.match(await app.call('GET', '/api/emails'), { body: { data: [{ id, status: 'sent', failedRecipients: 1 }] } });
    t.match(await app.call('POST', `/api/emails/${id}/retry`), { status: 200, body: { retryCount: 1 } });
    t.equal((await app.whenStatus(id, 'sent', STEP_MS)).failedRecipients, 0);
    t.same(
      sink.accepted().map(({ envelope }) => envelope.to),
      [['ada@example.com'], ['bo@example.com']],
    );
  },
);

await t.test('all recipients refused for good: one for the mailbox, one for us, is failed', async (t) => {
  const { app } = await setUp(t, ({ step, address }) =>
    step !== 'rcpt'
      ? undefined
      : reply(address === 'gone@example.com' ? '550 5.1.1 no such user' : '554 5.7.1 relaying denied'),
  );
  const record = await app.whenStatus(
    (await app.send({ to: [{ email: 'gone@example.com' }, { email: 'ada@example.com' }] })).id,
    'failed',
  );
  t.same(
    record.recipients.map(({ status }) => status),
    ['bounced', 'failed'],
  );
});

await t.test('attempts spent: failed; the retry endpoint starts anew', async (t) => {
  const { app, clock, sink } = await setUp(t, at('mail', reply('421 4.3.2 closing')));
  const { id } = await app.send();
  const startedMs = clock.now();
  const failed = await app.whenStatus(id, 'failed', STEP_MS);
  t.match(failed, { failureReason: 'attempts-spent' });
  t.equal(failed.attempts.length, 3, 'the first attempt and one for each pause');
  t.ok(clock.now() - startedMs >= FIRST_DELAY_MS + SECOND_DELAY_MS);
  sink.setScript(() => undefined);
  t.equal((await app.call('POST', `/api/emails/${id}/retry`)).status, 200);
  t.equal((await app.whenStatus(id, 'sent', STEP_MS)).attempts.length, 4);
});

await t.test(
  'the host is down: the mail is held and spends no attempt, however often the host is asked, and health tells',
  async (t) => {
    const clock = fakeClock();
    const port = await refusedPort();
    const app = await startTestApp({
      dataDir: temporaryDirectory(t),
      isFounded: true,
      clock,
      settings: { SEALPOST_SMTP_URL: `smtp://127.0.0.1:${port}?tls=off`, SEALPOST_RETRY_DELAYS: RETRY_DELAYS },
    });
    t.teardown(() => app.stop());
    const { id } = await app.send();
    await eventually(
      'the mail says why it waits',
      async () => (await app.email(id)).recipients[0]!.rule === 'connection-refused',
    );
    for (let passedMs = 0; passedMs < AWAY_MS; passedMs += STEP_MS) await clock.advance(STEP_MS);
    const record = await app.email(id);
    t.equal(record.status, 'queued');
    t.same(record.attempts, []);
    t.equal(record.recipients[0]!.rule, 'connection-refused');
    const health = () => app.call('GET', '/health/ready');
    t.match(await health(), { status: 200, body: { status: 'degraded', reasons: [{ code: 'RELAY_AWAY' }] } });
    const relay = await openSmtpScript({ port });
    t.teardown(() => relay.close());
    await app.whenStatus(id, 'sent', STEP_MS);
    await advanceUntil(clock, STEP_MS, 'the relay is no reason any more', async () => {
      const { body } = await health();
      return (body as { status: string }).status === 'ready';
    });
  },
);

await t.test('a host that hangs is given up by the mailer after its silence', async (t) => {
  const sink = await openSmtpScript({ script: at('message', hang) });
  t.teardown(() => sink.close());
  const mailer = openSmtpMailer({
    url: `${sink.url}?tls=off`,
    final: false,
    connectionsMax: 2,
    timeouts: { silenceMs: 100 },
    logger: openLogger({ level: 'silent' }),
  });
  const clock = fakeClock();
  const app = await startTestApp({
    dataDir: temporaryDirectory(t),
    isFounded: true,
    clock,
    mailer,
    settings: { SEALPOST_SMTP_URL: sink.url, SEALPOST_RETRY_DELAYS: RETRY_DELAYS },
  });
  t.teardown(() => app.stop());
  const { id } = await app.send();
  await advanceUntil(clock, 0, 'the first attempt has ended', async () => (await attempted(app, id, 1)) !== false);
  const record = await app.email(id);
  t.match(record, { status: 'queued', attempts: [{ outcome: 'deferred', replyCode: null }] });
});

await t.test('a host that hangs is given up when the deadline of a delivery is over', async (t) => {
  const { app, sink } = await setUp(t, at('rcpt', hang, 1));
  const { id } = await app.send();
  await app.whenStatus(id, 'processing');
  t.match(await app.call('DELETE', `/api/emails/${id}`), { status: 400, body: { code: 'EMAIL_IN_PROGRESS' } });
  const sent = await app.whenStatus(id, 'sent', 60_000);
  t.match(sent.attempts[0], { outcome: 'deferred' });
  t.equal(sink.accepted().length, 1);
});

await t.test('scheduled: not before its time', async (t) => {
  const { app, clock, sink } = await setUp(t);
  const scheduledAt = new Date(clock.now() + 3_600_000).toISOString();
  const { id, status } = await app.send({ scheduledAt, priority: 'high' });
  t.equal(status, 'scheduled');
  await app.whenCaughtUp();
  await clock.advance(3_600_000 - 1);
  await app.whenCaughtUp();
  t.equal((await app.email(id)).status, 'scheduled');
  t.equal(sink.received.length, 0);
  const sent = await app.whenStatus(id, 'sent', 500);
  t.equal(sent.scheduledAt, scheduledAt);
  t.ok(Date.parse(sent.queuedAt ?? '') >= Date.parse(scheduledAt));
  t.match(sink.accepted()[0]!.raw.toString(), /^X-Priority: 1/m, 'it kept its priority');
});

await t.test('a scheduled email that is deleted never leaves', async (t) => {
  const { app, clock, sink } = await setUp(t);
  const { id } = await app.send({ scheduledAt: new Date(clock.now() + 60_000).toISOString() });
  t.equal((await app.call('DELETE', `/api/emails/${id}`)).status, 200);
  const later = await app.send();
  await clock.advance(120_000);
  await app.whenStatus(later.id, 'sent', 500);
  t.equal(sink.received.length, 1);
  t.match(await app.call('GET', `/api/emails/${id}`), { status: 404, body: { code: 'EMAIL_NOT_FOUND' } });
});
