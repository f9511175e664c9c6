/** The SMTP servers of submission: what is bounded, what a reply says, what becomes of a message that breaks off. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import t, { type Test } from 'tap';
import {
  openSubmission,
  type SubmissionBounds,
  type SubmissionOptions,
} from '../../../src/adapters/submission/smtp-submission.js';
import { systemClock } from '../../../src/adapters/clock/system.js';
import { memoryLog } from '../../support/memory-ports.js';
import { openRawSmtp, type RawSmtp } from '../../support/raw-smtp.js';
import { eventually } from '../../support/wait.js';

const folder = new URL('../../../../test/support/tls/', import.meta.url);
const tls = {
  cert: readFileSync(new URL('valid.pem', folder), 'utf8'),
  key: readFileSync(new URL('key.pem', folder), 'utf8'),
};

const usual: SubmissionBounds = {
  connectionsMax: 10,
  connectionsPerMinute: 100,
  commandsPerMinute: 1_000,
  messagesPerMinute: Infinity,
  allConnectionsMax: 10,
  sizeBytesMax: 1_000_000,
  recipientsMax: 2,
  memoryBytesMax: 10_000_000,
  silenceMs: 60_000,
  messageMs: 60_000,
  sessionMs: 60_000,
  closeMs: 100,
};

type User = Readonly<{ share: string }>;
type Given = Parameters<SubmissionOptions<User>['submit']>[1];

const open = async (t: Test, bounds: Partial<SubmissionBounds> = {}, more: Partial<SubmissionOptions<User>> = {}) => {
  const taken: Given[] = [];
  const logger = memoryLog();
  const servers = await openSubmission<User>({
    host: '127.0.0.1',
    ports: [
      { port: 0, isTls: false },
      { port: 0, isTls: true },
    ],
    name: 'mail.test',
    tls,
    bounds: { ...usual, ...bounds },
    clock: systemClock(),
    logger,
    logIn: async (password) => ({ share: password }),
    begin: async () => undefined,
    submit: async (_user, mail) => {
      taken.push(mail);
      return { code: 250, status: '2.0.0', text: `Ok: queued as ${taken.length}` };
    },
    ...more,
  });
  t.teardown(() => servers.close());
  return { servers, taken, logger, port: servers.ports[0]!, tlsPort: servers.ports[1]! };
};

const loggedIn = async (port: number, who = 'one'): Promise<RawSmtp> => {
  const client = await openRawSmtp(port);
  await client.reply();
  await client.ask('EHLO client.test');
  await client.ask(`AUTH PLAIN ${Buffer.from(`\0x\0${who}`).toString('base64')}`);
  return client;
};

const begin = async (client: RawSmtp): Promise<string> => {
  await client.ask('MAIL FROM:<a@example.com>');
  await client.ask('RCPT TO:<b@example.com>');
  return client.ask('DATA');
};

void t.test('a message comes as it was sent, without the dots that were doubled', async (t) => {
  const { port, taken } = await open(t);
  const client = await loggedIn(port);
  t.match(await begin(client), /^354/);
  t.equal(await client.ask('..a\r\n..\r\nb\r\n.'), '250 2.0.0 Ok: queued as 1');
  t.match(taken, [{ sender: 'a@example.com', to: ['b@example.com'], how: 'ESMTPA' }]);
  t.equal(taken[0]!.raw.toString(), '.a\r\n.\r\nb\r\n');
  await client.ask('MAIL FROM:<>');
  await client.ask('RCPT TO:<b@bücher.example>');
  await client.ask('RCPT TO:<c@example.com>');
  t.match(await client.ask('RCPT TO:<d@example.com>'), /^452 4\.5\.3 /, 'one recipient too many');
  t.match(await client.ask('DATA'), /^354/);
  t.match(await client.ask('x\r\n.'), /^250/);
  t.equal(taken[1]!.sender, undefined, 'the null sender');
  t.same(taken[1]!.to, ['b@xn--bcher-kva.example', 'c@example.com']);
  client.end();
});

void t.test('parameters of DSN are neither offered nor refused, and change nothing', async (t) => {
  const { port, taken } = await open(t);
  const client = await loggedIn(port);
  t.notMatch(await client.ask('EHLO client.test'), /DSN/);
  t.match(await client.ask('MAIL FROM:<> RET=NONE ENVID=a+2Bb'), /^250/);
  t.match(await client.ask('RCPT TO:<b@example.com> NOTIFY=NEVER,FAILURE ORCPT=x'), /^250/);
  await client.ask('DATA');
  t.match(await client.ask('x\r\n.'), /^250/);
  t.same(
    taken.map(({ sender, to, raw }) => [sender, to, raw.toString()]),
    [[undefined, ['b@example.com'], 'x\r\n']],
  );
  client.end();
});

void t.test('a refusal has one line of ASCII with its own status, and the connection goes on', async (t) => {
  const reply = { code: 550, status: '5.7.1', text: `nö\r\n250 2.0.0 forged ${'x'.repeat(1_000)}` };
  const { port } = await open(t, {}, { submit: async () => reply });
  const client = await loggedIn(port);
  await begin(client);
  const said = await client.ask('x\r\n.');
  t.match(said, /^550 5\.7\.1 n\?\?\?250 2\.0\.0 forged x+$/);
  t.ok(said.length <= 512);
  t.match(await client.ask('NOOP'), /^250/);
  client.end();
});

void t.test('a fault of ours is a reply to come again, and is logged without the words of the client', async (t) => {
  const fails = async (): Promise<never> => {
    throw new Error('secret of a client');
  };
  const { port, logger } = await open(t, {}, { submit: fails });
  const client = await loggedIn(port);
  await begin(client);
  t.match(await client.ask('x\r\n.'), /^451 4\.3\.0 not now/);
  t.match(logger.lines, [{ level: 'error' }]);
  client.end();
});

void t.test('memory of messages that arrive is shared, and given back', async (t) => {
  const { port } = await open(t, { memoryBytesMax: 1_000_000 });
  const [first, second, other] = [await loggedIn(port), await loggedIn(port), await loggedIn(port, 'other')];
  const large = 'x'.repeat(70).concat('\r\n').repeat(4_000);
  await begin(first);
  first.write(large);
  await begin(second);
  t.match(await second.ask(`${large}.`), /^452 4\.3\.1 too many messages arrive at once/, 'the same team');
  await begin(other);
  t.match(await other.ask(`${large}.`), /^250/, 'another team');
  t.match(await first.ask('.'), /^250/);
  await begin(second);
  t.match(await second.ask(`${large}.`), /^250/, 'again');
  for (const client of [first, second, other]) client.end();
});

void t.test('time and connections are bounded; a message that was begun is answered first', async (t) => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const submit = async () => {
    await released;
    return { code: 250, status: '2.0.0', text: 'taken' };
  };
  const { port } = await open(t, { sessionMs: 1_000, connectionsMax: 2 }, { submit });
  const [idle, sending] = [await loggedIn(port), await loggedIn(port)];
  const third = await openRawSmtp(port);
  t.match(await third.reply(), /^421 4\.7\.0 too many connections from your network/);
  await begin(sending);
  const answer = sending.ask('x\r\n.');
  t.match(await idle.reply(), /^421 4\.7\.0 the session takes too long/);
  await idle.whenClosed;
  release();
  t.match(await answer, /^250 /);
  t.match(await sending.reply(), /^421 /);
});

void t.test('a message that takes too long, or breaks off, is not taken', async (t) => {
  const { port, taken } = await open(t, { messageMs: 500 });
  const slow = await loggedIn(port);
  await begin(slow);
  slow.write('x\r\n');
  t.match(await slow.reply(), /^421 4\.7\.0 the message takes too long/);
  const broken = await loggedIn(port);
  await begin(broken);
  broken.write('x\r\n');
  broken.end();
  await broken.whenClosed;
  t.same(taken, []);
});

void t.test('a team has half of the connections, and a flood of commands ends', async (t) => {
  const { port } = await open(t, { allConnectionsMax: 4, commandsPerMinute: 60 });
  const clients = [await loggedIn(port), await loggedIn(port)];
  const third = await openRawSmtp(port);
  await third.reply();
  await third.ask('EHLO client.test');
  const login = (who: string) => third.ask(`AUTH PLAIN ${Buffer.from(`\0x\0${who}`).toString('base64')}`);
  t.match(await login('one'), /^421 4\.7\.0 your team has too many connections open/);
  clients[0]!.write('NOOP\r\n'.repeat(100));
  await clients[0]!.whenClosed;
  clients[1]!.end();
});

void t.test('sockets that never agree on TLS count against their network', async (t) => {
  const { tlsPort } = await open(t, { connectionsMax: 2 });
  const sockets = [0, 1].map(() => connect({ port: tlsPort, host: '127.0.0.1' }).on('error', () => undefined));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const third = connect({ port: tlsPort, host: '127.0.0.1' }).on('error', () => undefined);
  await once(third, 'close');
  sockets[0]!.destroy();
  const hasRoom = (): Promise<boolean> =>
    new Promise((resolve) => {
      const next = connectTls({ port: tlsPort, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(true);
        next.destroy();
      });
      next.on('error', () => undefined).on('close', () => resolve(false));
    });
  await eventually('there is room again', hasRoom);
  sockets[1]!.destroy();
});
