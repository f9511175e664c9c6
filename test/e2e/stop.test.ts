/**
 * SIGTERM while mails are under way: what is in a dialogue is finished and recorded, the rest waits for the next start.
 */
import { connect } from 'node:net';
import t from 'tap';
import { sendBody, startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { runCommand, startServer } from '../support/server-process.js';
import { late, openSmtpScript } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';
import { readLog } from './kill-log.js';

t.setTimeout(900_000);

const EMAILS = 25;

type List = Readonly<{ data: readonly { id: string; status: string }[]; meta: { total: number } }>;

await t.test('SIGTERM drains, exits with 0, and the next start sends the rest, each once', async (t) => {
  const dataDir = temporaryDirectory(t);
  const sink = await openSmtpScript({ script: ({ step }) => (step === 'message' ? late(300) : undefined) });
  t.teardown(() => sink.close());
  const settings = {
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
    SEALPOST_SMTP_CONNECTIONS: '4',
    SEALPOST_LIMIT_LANES: '8',
    SEALPOST_LOG_LEVEL: 'silent',
  };
  const first = startServer(settings);
  t.teardown(() => first.end('SIGKILL'));
  const base = await first.listening;
  const headers = { authorization: `Bearer ${await first.firstKey()}`, 'content-type': 'application/json' };
  const answers = await Promise.all(
    Array.from({ length: EMAILS }, async (_, index) => {
      const response = await fetch(`${base}/api/emails/send`, {
        method: 'POST',
        headers,
        body: JSON.stringify(sendBody({ to: [{ email: `to${index}@example.com` }] })),
      });
      return { status: response.status, body: (await response.json()) as { messageId: string } };
    }),
  );
  t.same([...new Set(answers.map(({ status }) => status))], [201]);
  await sink.whenReceived(2);
  t.ok(sink.received.length < EMAILS, 'the stop comes in the middle');
  const ended = await first.end('SIGTERM');
  t.match(ended, { code: 0, signal: null });

  const log = await readLog(dataDir, undefined);
  t.equal(log.emails.size, EMAILS);
  t.ok(sink.accepted().length < EMAILS, 'what was not begun is left for the next start');
  t.same(
    [...log.emails.values()].filter(({ openAttempt }) => openAttempt !== undefined),
    [],
    'no attempt is without its outcome',
  );
  t.equal([...log.emails.values()].filter(({ finished }) => finished).length, sink.accepted().length);

  const second = startServer(settings);
  t.teardown(() => second.end('SIGKILL'));
  await second.listening;
  await sink.whenReceived(EMAILS);
  await eventually('every reply was given', () => sink.accepted().length === EMAILS);
  t.match(await second.end('SIGTERM'), { code: 0 });
  t.same(
    sink
      .accepted()
      .map(({ messageId }) => `<${messageId}>`)
      .sort(),
    answers.map(({ body }) => body.messageId).sort(),
  );
  t.match(await runCommand(['verify'], settings), { code: 0 });
});

await t.test('a stop is told by the health endpoint before the socket closes', async (t) => {
  const server = startServer({
    SEALPOST_DATA_DIR: temporaryDirectory(t),
    SEALPOST_LOG_LEVEL: 'silent',
    SEALPOST_LIMIT_STOP_NOTICE_MS: '1500',
  });
  t.teardown(() => server.end('SIGKILL'));
  const base = await server.listening;
  const ready = async (): Promise<readonly [number, string]> => {
    const response = await fetch(`${base}/health/ready`, { headers: { connection: 'close' } });
    return [response.status, ((await response.json()) as { status: string }).status];
  };
  await eventually('it is ready', async () => (await ready())[0] === 200);
  const ended = server.end('SIGTERM');
  await eventually('it says that it stops', async () => (await ready())[1] === 'stopping');
  t.same(await ready(), [503, 'stopping']);
  t.match(await ended, { code: 0 });
});

await t.test('what was written until a stop is in the read model when it ends', async (t) => {
  const dataDir = temporaryDirectory(t);
  for (let round = 0; round < 3; round += 1) {
    const app = await startTestApp({ dataDir });
    await Promise.all(Array.from({ length: EMAILS }, () => app.send()));
    await app.stop();
    // This process has no projector: its lists show what the stop has left.
    const after = await startTestApp({ dataDir, settings: { SEALPOST_ROLES: 'http' } });
    const { body } = await after.call<List>('GET', `/api/emails?limit=100`);
    t.equal(body.meta.total, EMAILS * (round + 1));
    for (const { id, status } of body.data) t.equal(status, (await after.email(id)).status);
    await after.stop();
  }
});

await t.test('a host that hangs does not keep the program from stopping beyond its deadline', async (t) => {
  const dataDir = temporaryDirectory(t);
  const sink = await openSmtpScript({ script: ({ step }) => (step === 'rcpt' ? { kind: 'hang' } : undefined) });
  t.teardown(() => sink.close());
  const settings = {
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
    SEALPOST_LOG_LEVEL: 'silent',
    SEALPOST_LIMIT_SHUTDOWN_DEADLINE_MS: '500',
  };
  const server = startServer(settings);
  t.teardown(() => server.end('SIGKILL'));
  const base = await server.listening;
  const headers = { authorization: `Bearer ${await server.firstKey()}`, 'content-type': 'application/json' };
  const sent = await fetch(`${base}/api/emails/send`, { method: 'POST', headers, body: JSON.stringify(sendBody()) });
  t.equal(sent.status, 201);
  await eventually('the dialogue hangs', () => sink.commands.some((line) => line.includes('RCPT')));
  t.match(await server.end('SIGTERM'), { code: 0, signal: null });
  const log = await readLog(dataDir, undefined);
  t.equal(log.emails.size, 1);

  sink.setScript(() => undefined);
  const next = startServer(settings);
  t.teardown(() => next.end('SIGKILL'));
  await next.listening;
  // A dialogue that was cut off in good order waits for its next attempt; one that was not is made again at once.
  const state = await eventually('the email waits or is sent', async () => {
    const response = await fetch(`${await next.listening}/api/emails`, { headers });
    const { data } = (await response.json()) as { data: { status: string }[] };
    return data[0]?.status === 'processing' ? undefined : data[0]?.status;
  });
  t.match(state, /^(queued|sent)$/);
  t.match(await next.end('SIGTERM'), { code: 0 });
});

await t.test('a client that never finishes its request does not keep the program from stopping either', async (t) => {
  const server = startServer({
    SEALPOST_DATA_DIR: temporaryDirectory(t),
    SEALPOST_LOG_LEVEL: 'silent',
    SEALPOST_LIMIT_SHUTDOWN_DEADLINE_MS: '500',
  });
  t.teardown(() => server.end('SIGKILL'));
  const { port, hostname } = new URL(await server.listening);
  const key = await server.firstKey();
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  let answered = '';
  socket.setEncoding('latin1').on('data', (text: string) => (answered += text));
  // The answer to the first request tells that the head of the second, which came with it, is read.
  socket.write(
    `GET /health/live HTTP/1.1\r\nHost: x\r\n\r\nPOST /api/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"half":`,
  );
  await eventually('the server reads from us', () => answered.includes('"live"'));
  t.match(await server.end('SIGTERM'), { code: 0, signal: null });
});
