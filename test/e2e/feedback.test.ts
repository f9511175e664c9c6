/**
 * Bounces and complaints of mails that have left: the return path goes out, the report comes back, and the email says
 * so.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { openLogger } from '../../src/adapters/logger/pino.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { deliveryReport } from '../support/reports.js';
import { eventually } from '../support/wait.js';
import { at, openSmtpScript, reply, usualExtensions, type SmtpScriptServer } from '../support/smtp-script.js';

t.setTimeout(900_000);

const DOMAIN = 'bounces.example.com';
const ADA = 'ada@example.com';

type Setup = Readonly<{ app: TestApp; sink: SmtpScriptServer }>;

const setUp = async (
  t: Test,
  settings = { SEALPOST_RETURN_PATH_DOMAIN: DOMAIN },
  extensions = [...usualExtensions, 'DSN'],
): Promise<Setup> => {
  const sink = await openSmtpScript({ extensions });
  t.teardown(() => sink.close());
  const app = await startTestApp({
    isFounded: true,
    dataDir: temporaryDirectory(t),
    settings: { SEALPOST_SMTP_URL: `${sink.url}?tls=off`, ...settings },
  });
  t.teardown(() => app.stop());
  return { app, sink };
};

const lines = (...text: readonly string[]): string => text.join('\r\n');

const dsn = (
  to: string,
  action: string,
  status: string,
  diagnostic: string,
  recipients: readonly string[] = [ADA],
): string => deliveryReport(to, { action, status, diagnostic, recipients });

const arf = (sender: string, to: string): string =>
  lines(
    'From: fbl@isp.example.net',
    'To: abuse@example.com',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'This is an email abuse report.',
    '--b',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: abuse',
    'User-Agent: ExampleFBL/1.0',
    'Version: 1',
    `Original-Mail-From: <${sender}>`,
    `Original-Rcpt-To: <${to}>`,
    '--b',
    'Content-Type: message/rfc822',
    '',
    'From: shop@example.com',
    `To: ${to}`,
    'Subject: Order',
    '',
    'Hello',
    '--b--',
    '',
  );

const post = (app: TestApp, report: string, query = '') =>
  app.call('POST', `/api/v1/feedback${query}`, report, { 'content-type': 'message/rfc822' });

const whenSuppressed = (app: TestApp, email: string, reason: string, emailId: string) =>
  eventually(`${email} is suppressed: ${reason}`, async () => {
    const { body } = await app.call('GET', `/api/suppressions/check?email=${encodeURIComponent(email)}`);
    const found = body['suppression'] as { reason: string; emailId: string } | null;
    return found?.reason === reason && found.emailId === emailId;
  });

const sentMail = async ({ app, sink }: Setup, more: Readonly<Record<string, unknown>> = {}) => {
  const count = sink.received.length;
  const { id } = await app.send(more);
  await app.whenStatus(id, 'sent');
  return { id, sender: sink.received[count]!.envelope.from };
};

await t.test(
  'without a return path domain the sender of the mail is its envelope sender, and reports are not taken',
  async (t) => {
    const sink = await openSmtpScript({ extensions: [...usualExtensions, 'DSN'] });
    t.teardown(() => sink.close());
    const app = await startTestApp({
      isFounded: true,
      dataDir: temporaryDirectory(t),
      settings: { SEALPOST_SMTP_URL: `${sink.url}?tls=off` },
    });
    t.teardown(() => app.stop());
    const { id } = await app.send();
    const { from } = await app.whenStatus(id, 'sent');
    t.equal(sink.received[0]!.envelope.from, from!.email);
    t.notMatch(sink.commands.join('\n'), /NOTIFY|ENVID/);
    t.match(await post(app, 'To: x\r\n\r\n'), { status: 400, body: { code: 'FEEDBACK_NOT_SET_UP' } });
  },
);

await t.test('a bounce that comes later: the email says why, once, and lists and figures follow', async (t) => {
  const setup = await setUp(t);
  const { app, sink } = setup;
  const { id, sender } = await sentMail(setup);
  t.match(sender, /^bounce\+[a-z2-7]{52}@bounces\.example\.com$/);
  t.match(sink.commands.join('\n'), new RegExp(`MAIL FROM:<[^>]+>.* RET=HDRS ENVID=${id}`));
  t.match(sink.commands.join('\n'), /RCPT TO:<ada@example.com> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;ada@example\.com/);
  const report = dsn(sender, 'failed', '5.1.1', '550 5.1.1 <ada@example.com> user unknown');
  for (const forged of [
    report.replace('bounce+', 'bounce+a'),
    report.replace(/bounce\+../, 'bounce+aa'),
    report.replace(DOMAIN, 'example.com'),
  ])
    t.match(await post(app, forged), { status: 400, body: { code: 'FEEDBACK_NOT_OURS' } });
  t.equal((await app.email(id)).status, 'sent');
  t.match(await post(app, dsn(sender, 'delayed', '4.4.1', 'connection timed out')), {
    body: { outcome: 'unchanged', status: 'sent' },
  });
  t.match(await post(app, report), {
    status: 200,
    body: {
      emailId: id,
      kind: 'delivery-status',
      outcome: 'recorded',
      status: 'bounced',
      recipients: [{ action: 'failed', bounceType: 'hard', bounceSubType: 'no-such-mailbox' }],
    },
  });
  t.match(await post(app, report), { body: { outcome: 'unchanged', status: 'bounced' } });
  t.match(await app.email(id), {
    status: 'bounced',
    failedRecipients: 1,
    recipients: [{ status: 'bounced', bounceType: 'hard', enhancedCode: '5.1.1' }],
  });
  await whenSuppressed(app, ADA, 'hard-bounce', id);
  await app.whenCaughtUp();
  t.match((await app.call('GET', '/api/emails?status=bounced')).body, { data: [{ id }] });
  t.match((await app.call('GET', '/api/emails?recipientStatus=bounced')).body, { data: [{ id }] });
  t.match((await app.call('GET', '/api/analytics/overview')).body, {
    totals: { sent: 1, bounced: 1 },
    rates: { bounced: 100, sent: 100 },
  });
});

const PIPE = fileURLToPath(new URL('../../../deploy/feedback-pipe.sh', import.meta.url));

/** Runs the program for Postfix. Out: its exit code. */
const piped = (url: string, key: string, report: string, recipient: string): Promise<number | null> =>
  new Promise((resolve, reject) => {
    const file = join(mkdtempSync(join(tmpdir(), 'feedback-')), 'key');
    writeFileSync(file, key);
    const env = { PATH: process.env['PATH'], SEALPOST_URL: url, SEALPOST_FEEDBACK_KEY: file };
    const child = spawn('sh', [PIPE, recipient], { env, stdio: ['pipe', 'ignore', 'ignore'] });
    child.on('error', reject).on('close', resolve);
    child.stdin.on('error', () => {}).end(report);
  });

await t.test('forty reports at once are all taken, by calls and by the program for Postfix', async (t) => {
  const setup = await setUp(t);
  const { app } = setup;
  const { id, sender } = await sentMail(setup);
  const report = dsn(sender, 'failed', '5.1.1', '550 5.1.1 <ada@example.com> user unknown');
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
  const answers = await Promise.all(Array.from({ length: 40 }, () => post(app, report)));
  t.same([...new Set(answers.map(({ status }) => status))], [200]);
  const codes = await Promise.all(Array.from({ length: 12 }, () => piped(url, app.key, report, sender)));
  t.same([...new Set(codes)], [0]);
  t.equal((await app.email(id)).status, 'bounced');
  t.equal(await piped(url, app.key, `${report}${'x'.repeat(20_000_000)}`, sender), 0, 'a report of any size');
  t.equal(
    await piped(url, app.key, report, `bounce+${'a'.repeat(52)}@${DOMAIN}`),
    0,
    'what is not ours is not bounced',
  );
  t.equal(await piped(url, 'sealpost_sk_wrong', report, sender), 75, 'a wrong key: the report stays in the queue');
  t.equal(await piped('http://127.0.0.1:9', app.key, report, sender), 75, 'the service is away');
});

await t.test(
  'what blocks the sender suppresses nobody, and is counted and logged by domain, in a dialogue and in a report',
  async (t) => {
    const logged: string[] = [];
    const sink = await openSmtpScript({ extensions: usualExtensions });
    t.teardown(() => sink.close());
    const settings = {
      SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
      SEALPOST_RETURN_PATH_DOMAIN: DOMAIN,
      SEALPOST_METRICS_PORT: '0',
    };
    const logger = openLogger({ level: 'warn', destination: { write: (text: string) => void logged.push(text) } });
    const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t), settings, logger });
    t.teardown(() => app.stop());
    const late = await sentMail({ app, sink });
    const diagnostic =
      '550-5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.';
    t.match(await post(app, dsn(late.sender, 'failed', '5.2.1', diagnostic)), {
      body: { status: 'bounced', recipients: [{ bounceType: 'blocked', bounceSubType: 'sending-limit' }] },
    });
    sink.setScript(at('rcpt', reply('550 5.1.1 <shop@example.com>: Sender address rejected: User unknown')));
    const { id } = await app.send();
    await app.whenStatus(id, 'failed');
    t.match(await app.email(id), {
      failureReason: 'blocked',
      recipients: [{ status: 'failed', rule: 'sender-refused' }],
    });
    await app.whenCaughtUp();
    t.match((await app.call('GET', `/api/suppressions/check?email=${ADA}`)).body, { suppressed: false });
    const figures = await (await fetch(`http://127.0.0.1:${app.metricsPort}/metrics`)).text();
    for (const reason of ['sending-limit', 'sender-refused'])
      t.match(figures, `sealpost_blocked_recipients_total{domain="example.com",reason="${reason}"} 1`);
    t.match(figures, /sealpost_smtp_recipients_total\{[^}]*outcome="blocked"[^}]*\} 1/);
    const lines = logged
      .join('')
      .split('\n')
      .filter((line) => line.includes('blocks our mail'));
    t.match(
      lines.map((line) => JSON.parse(line) as object),
      [
        { domain: 'example.com', reason: 'sending-limit' },
        { reason: 'sender-refused', recipients: 1 },
      ],
    );
    t.notMatch(lines.join(), /@/, 'no address');
  },
);

await t.test('delivered, then a complaint; the envelope recipient may be given by the host', async (t) => {
  const setup = await setUp(t);
  const { app } = setup;
  const { id, sender } = await sentMail(setup);
  const query = `?recipient=${encodeURIComponent(sender)}`;
  t.match(await post(app, dsn('x@example.org', 'delivered', '2.0.0', '250 ok'), query), {
    body: { outcome: 'recorded', status: 'delivered' },
  });
  t.match(await post(app, 'From: Ada <ada@example.com>\r\nSubject: Out of office\r\n\r\nI am away.\r\n', query), {
    body: { kind: 'other', outcome: 'unchanged' },
  });
  t.match(await post(app, arf(sender, ADA)), {
    body: { kind: 'complaint', outcome: 'recorded', status: 'complained' },
  });
  t.match(await post(app, arf(sender, ADA)), { body: { outcome: 'unchanged' } });
  t.match(await app.email(id), { status: 'complained', feedbackType: 'abuse', recipients: [{ status: 'complained' }] });
  await whenSuppressed(app, ADA, 'complaint', id);
  await app.whenCaughtUp();
  t.match((await app.call('GET', '/api/emails?recipientStatus=complained')).body, { data: [{ id }] });
  t.match((await app.call('GET', '/api/analytics/overview')).body, {
    totals: { complained: 1 },
    rates: { complained: 100 },
  });
  await app.call('DELETE', `/api/emails/${id}`);
  t.match(await post(app, arf(sender, ADA)), { status: 200, body: { outcome: 'gone' } });
});

await t.test(
  'a host without delivery reports is not asked for them, and hostile reports end at their bounds',
  async (t) => {
    const setup = await setUp(t, { SEALPOST_RETURN_PATH_DOMAIN: DOMAIN }, [...usualExtensions]);
    const { app, sink } = setup;
    const { id, sender } = await sentMail(setup);
    t.notMatch(sink.commands.join('\n'), /NOTIFY|ENVID/);
    const query = `?recipient=${encodeURIComponent(sender)}`;
    const nested = Array.from(
      { length: 5_000 },
      (_, depth) => `Content-Type: multipart/mixed; boundary="b${depth}"\r\n\r\n--b${depth}\r\n`,
    ).join('');
    for (const hostile of [
      '\0'.repeat(1_000),
      nested,
      `Subject: ${'x'.repeat(9 * 1024 * 1024)}\r\n\r\n`,
      'Content-Type: multipart/report; boundary=""\r\n\r\n----\r\n',
    ])
      t.match(await post(app, hostile, query), { status: 200, body: { outcome: 'unchanged' } }, hostile.slice(0, 30));
    t.match(await post(app, 'x'.repeat(10 * 1024 * 1024 + 1), query), {
      status: 400,
      body: { code: 'BODY_TOO_LARGE' },
    });
    t.match(await post(app, '', query), { status: 400, body: { code: 'UNSUPPORTED_CONTENT_TYPE' } });
    const many = Array.from({ length: 5_000 }, (_, index) => `user${index}@example.com`);
    const { body } = await post(app, dsn(sender, 'delayed', '4.4.1', 'later', many), query);
    t.ok((body['recipients'] as readonly unknown[]).length <= 1_000);
    t.equal((await app.email(id)).status, 'sent');
  },
);
