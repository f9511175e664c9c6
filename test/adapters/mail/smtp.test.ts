/** The SMTP client, and its bytes on the wire. */
import t from 'tap';
import { wirePieces } from '../../../src/adapters/mail/smtp-content.js';
import { openSmtpMailer, type SmtpMailerOptions } from '../../../src/adapters/mail/smtp.js';
import type { Logger } from '../../../src/domain/ports/logger.js';
import { mailerSuite, message } from '../../contracts/mailer-suite.js';
import { sendBy } from '../../support/mailers.js';
import { seededRandom } from '../../support/random.js';
import {
  at,
  hang,
  held,
  openSmtpScript,
  refusedPort,
  reply,
  type SmtpScriptOptions,
} from '../../support/smtp-script.js';

// The SMTP mailer against the contract of every mailer, and what is its own: URL, TLS, login, DKIM.

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};
const never = (): AbortSignal => new AbortController().signal;

mailerSuite(t, {
  open: ({ url, connectionsMax, silenceMs }) =>
    openSmtpMailer({ url, connectionsMax, final: false, timeouts: { setupMs: silenceMs, silenceMs }, logger: silent }),
});

const sendOnce = async (options: Partial<SmtpMailerOptions> & { url: string }) => {
  const mailer = openSmtpMailer({ final: false, connectionsMax: 1, logger: silent, ...options });
  const outcome = await sendBy(mailer, message(['anna@example.org']), { signal: never() });
  await mailer.close();
  return outcome.recipients[0]!;
};

void t.test('a host that refuses, that does not exist, that does not answer', async (t) => {
  t.match(await sendOnce({ url: `smtp://127.0.0.1:${await refusedPort()}` }), {
    result: 'deferred',
    rule: 'connection-refused',
    replyCode: null,
  });
  t.match(await sendOnce({ url: 'smtp://no-such-host.invalid:2525', timeouts: { setupMs: 3_000 } }), {
    result: 'deferred',
    rule: /^(host-not-found|timeout)$/,
  });
});

void t.test(
  'a host that takes no session is told from one that refuses a message, and a probe from either',
  async (t) => {
    const run = async (url: string) => {
      const mailer = openSmtpMailer({ url, final: false, connectionsMax: 1, logger: silent });
      const { hostAway } = await sendBy(mailer, message(['anna@example.org']), { signal: never() });
      const answer = await mailer.probe({ signal: never() });
      await mailer.close();
      return { hostAway, answer };
    };
    t.same(await run(`smtp://127.0.0.1:${await refusedPort()}`), { hostAway: true, answer: false });
    for (const [step, expected] of [
      ['connect', { hostAway: true, answer: false }],
      ['mail', { hostAway: undefined, answer: true }],
    ] as const) {
      const script = await openSmtpScript({ script: at(step, reply('421 4.3.2 closing')) });
      t.same(await run(`${script.url}?tls=off`), expected, step);
      await script.close();
    }
  },
);

void t.test(
  'TLS: required, opportunistic, off, from the first byte, and certificates that cannot be trusted',
  async (t) => {
    const run = async (server: SmtpScriptOptions, parameters: string) => {
      const script = await openSmtpScript(server);
      const outcome = await sendOnce({ url: `${script.url}?${parameters}`, timeouts: { setupMs: 2_000 } });
      const commands = script.commands.join('\n');
      await script.close();
      return { result: outcome.result, rule: outcome.rule, startTls: commands.includes('STARTTLS') };
    };
    const accepted = { result: 'accepted', rule: 'accepted' };
    t.same(await run({ certificate: 'valid' }, 'tls=required&verify=off'), { ...accepted, startTls: true });
    t.same(await run({ certificate: 'valid' }, 'verify=off'), { ...accepted, startTls: true });
    t.same(await run({ certificate: 'valid' }, 'tls=off'), { ...accepted, startTls: false });
    t.same(await run({ certificate: 'valid', secure: true }, 'verify=off'), { ...accepted, startTls: false });
    t.same(
      await run({ certificate: 'valid' }, ''),
      { result: 'deferred', rule: 'tls-failed', startTls: true },
      'self-signed',
    );
    t.same(await run({ certificate: 'expired' }, 'tls=required'), {
      result: 'deferred',
      rule: 'tls-failed',
      startTls: true,
    });
    t.same(await run({ certificate: 'expired', secure: true }, ''), {
      result: 'deferred',
      rule: 'tls-failed',
      startTls: false,
    });
    t.match(
      await run({}, 'tls=required'),
      { result: 'deferred', rule: /tls-failed|session-refused/, startTls: true },
      'the server has none',
    );
    t.same(
      await run({ certificate: 'valid', script: at('starttls', reply('454 4.7.0 not now')) }, ''),
      { result: 'deferred', rule: 'tls-failed', startTls: true },
      'what is offered and refused is no reason to go on in clear',
    );
  },
);

void t.test('login: right, wrong, not offered', async (t) => {
  const user = { name: 'us@er', password: 'p:ä%ß' };
  const server = await openSmtpScript({ user });
  const other = await openSmtpScript();
  t.teardown(() => Promise.all([server.close(), other.close()]));
  const url = (port: number, password: string): string =>
    `smtp://${encodeURIComponent(user.name)}:${encodeURIComponent(password)}@127.0.0.1:${port}`;
  t.match(await sendOnce({ url: url(server.port, user.password) }), { result: 'accepted' });
  t.match(await sendOnce({ url: url(server.port, 'wrong') }), {
    result: 'deferred',
    rule: 'authentication-failed',
    replyCode: 535,
    enhancedCode: '5.7.8',
  });
  t.match(await sendOnce({ url: `smtp://127.0.0.1:${server.port}` }), {
    result: 'blocked',
    rule: 'authentication-required',
    replyCode: 530,
  });
  t.match(await sendOnce({ url: url(other.port, user.password) }), {
    result: 'deferred',
    rule: 'authentication-failed',
    text: /the relay offers no login by plain, login, cram-md5, so none was tried; it offers none/,
  });
  t.notOk(
    other.commands.some((line) => /AUTH/.test(line)),
    'no password is sent to a server that offers no login',
  );
});

void t.test('login by the methods that a server offers, one after the other, and by a token', async (t) => {
  const user = { name: 'anna', password: 'secret' };
  const refusing = await openSmtpScript({
    user,
    script: ({ step, argument }) =>
      step === 'auth' && argument.startsWith('PLAIN ') ? reply('504 5.5.4 not here') : undefined,
  });
  const offered: string[] = [];
  const taking = await openSmtpScript({
    user,
    login: 'XOAUTH2 PLAIN',
    script: ({ step, argument }) => {
      if (step !== 'auth') return undefined;
      offered.push(argument);
      return offered.length === 1 ? reply('235 2.7.0 welcome') : reply('535 5.7.8 expired');
    },
  });
  t.teardown(() => Promise.all([refusing.close(), taking.close()]));
  const at = (port: number, query: string, password = ':secret') => `smtp://anna${password}@127.0.0.1:${port}?${query}`;
  t.match(await sendOnce({ url: at(refusing.port, '') }), { result: 'accepted' });
  t.match(await sendOnce({ url: at(refusing.port, 'auth=plain') }), {
    result: 'deferred',
    rule: 'session-refused',
    replyCode: 504,
  });
  let token = 0;
  const session = { token: () => Promise.resolve(`token-${(token += 1)}`) };
  t.match(await sendOnce({ url: at(taking.port, 'auth=xoauth2', ''), session }), { result: 'accepted' });
  t.match(await sendOnce({ url: at(taking.port, 'auth=xoauth2', ''), session }), {
    result: 'deferred',
    rule: 'authentication-failed',
  });
  t.same(
    offered.map((line) => Buffer.from(line.split(' ')[1]!, 'base64').toString()),
    ['user=anna\x01auth=Bearer token-1\x01\x01', 'user=anna\x01auth=Bearer token-2\x01\x01'],
    'a token for each connection',
  );
  const challenging = await openSmtpScript({
    user,
    login: 'XOAUTH2',
    script: ({ step }) => (step === 'auth' ? reply('334 eyJzdGF0dXMiOiI0MDEifQ==') : undefined),
  });
  t.match(
    await sendOnce({ url: at(challenging.port, 'auth=xoauth2', ''), session }),
    { rule: 'authentication-failed', replyCode: 535, text: /the token is refused/ },
    'a challenge that refuses a token is answered',
  );
  await challenging.close();
  t.match(await sendOnce({ url: at(taking.port, 'auth=xoauth2', '') }), {
    result: 'deferred',
    text: /needs SEALPOST_SMTP_TOKEN_FILE/,
  });
});

void t.test('a STARTTLS that is refused is as good as a certificate that cannot be trusted', async (t) => {
  const server = await openSmtpScript({
    certificate: 'valid',
    script: at('starttls', reply('454 4.7.0 TLS not available')),
  });
  t.teardown(() => server.close());
  for (const tls of ['required', 'opportunistic'])
    t.match(
      await sendOnce({ url: `${server.url}?tls=${tls}&verify=off` }),
      { result: 'deferred', rule: 'tls-failed', text: /454/ },
      tls,
    );
  t.match(await sendOnce({ url: `${server.url}?tls=off` }), { result: 'accepted' });
});

void t.test('a server that answers DATA with 250 gets no message', async (t) => {
  const server = await openSmtpScript({ script: at('data', reply('250 2.0.0 ok')) });
  t.teardown(() => server.close());
  t.match(await sendOnce({ url: server.url }), { result: 'deferred', rule: 'protocol-error', replyCode: 250 });
  t.equal(server.received.length, 0);
  t.same(
    server.commands.map((line) => line.split(' ')[1]).filter((verb) => !/^(EHLO|MAIL|RCPT|DATA|QUIT)/.test(verb ?? '')),
    [],
    'no line of the message is read as a command',
  );
});

void t.test('a session that takes no further message is left for another, within the same attempt', async (t) => {
  for (const [step, text] of [
    ['mail', '451 4.7.0 Too many messages in this session'],
    ['mail', '550 5.7.0 too many mails per connection'],
    ['rcpt', '452 4.5.3 too many messages'],
    ['message', '452 4.3.0 maximum number of messages reached'],
    ['rcpt', '550 maximum allowed number of messages in a single session exceeded'],
    ['mail', '550 5.7.1 messages/connection exceeded'],
    ['rcpt', '421 4.4.5 Too many MAIL commands'],
    ['mail', '503 5.5.1 Too many mail commands in this session'],
    ['mail', '450 4.4.2 Message count limit reached'],
    ['data', '451 4.3.2 Please reconnect'],
    ['rcpt', '550 Too many transactions in this session'],
  ] as const) {
    const server = await openSmtpScript({
      script: (moment) => (moment.step === step && moment.message === 2 ? reply(text) : undefined),
    });
    const mailer = openSmtpMailer({ url: server.url, final: false, connectionsMax: 1, logger: silent });
    for (const name of ['anna', 'bert'])
      t.match(
        (await sendBy(mailer, message([`${name}@example.org`]), { signal: never() })).recipients,
        [{ result: 'accepted' }],
        `${text} ${name}`,
      );
    t.equal(server.connections(), 2, text);
    await mailer.close();
    await server.close();
  }
  const always = await openSmtpScript({ script: at('mail', reply('451 4.7.0 Too many messages')) });
  t.match(
    await sendOnce({ url: always.url }),
    { result: 'deferred', replyCode: 451 },
    'a new session that says so is an attempt',
  );
  t.equal(always.connections(), 1);
  await always.close();
});

void t.test('silence after the whole message says that the host may have it', async (t) => {
  const server = await openSmtpScript({ script: at('message', hang) });
  t.match(await sendOnce({ url: server.url, timeouts: { silenceMs: 300 } }), {
    rule: 'no-reply-after-data',
    text: /the whole message was sent, and no reply came; the host may have it/,
  });
  await server.close();
});

void t.test('our name in EHLO: of the URL, else of the settings', async (t) => {
  const server = await openSmtpScript();
  t.teardown(() => server.close());
  await sendOnce({
    url: `${server.url}?name=by.url.example&messages=1`,
    session: { clientName: 'by.setting.example' },
  });
  await sendOnce({ url: server.url, session: { clientName: 'by.setting.example' } });
  await sendOnce({ url: server.url });
  t.match(
    server.commands.filter((line) => line.includes('EHLO')),
    [/EHLO by\.url\.example$/, /EHLO by\.setting\.example$/, /EHLO (\[127\.0\.0\.1\]|\S+\.\S+)$/],
  );
});

void t.test('a connection is closed when it was idle, and after its messages', async (t) => {
  const server = await openSmtpScript();
  const mailer = openSmtpMailer({
    url: server.url,
    final: true,
    connectionsMax: 1,
    messagesPerConnectionMax: 2,
    timeouts: { idleMs: 30 },
    logger: silent,
  });
  t.teardown(() => Promise.all([mailer.close(), server.close()]));
  t.equal(mailer.final, true);
  t.equal(mailer.host, `127.0.0.1:${server.port}`);
  for (let count = 0; count < 5; count += 1) await sendBy(mailer, message(['a@b.cd']), { signal: never() });
  t.equal(server.connections(), 3, 'two messages each');
  while (server.openConnections() > 0) await new Promise((resolve) => setImmediate(resolve));
  t.equal(server.commands.filter((line) => line.endsWith('QUIT')).length, 3);
});

void t.test(
  'while messages wait for a connection each priority is given its share of those that become free',
  async (t) => {
    const server = await openSmtpScript();
    const mailer = openSmtpMailer({ url: server.url, final: true, connectionsMax: 1, logger: silent });
    t.teardown(() => Promise.all([mailer.close(), server.close()]));
    const send = (name: string, priority: 'high' | 'normal' | 'low') =>
      sendBy(mailer, message([`${name}@b.cd`]), { signal: never(), priority });
    const sending = [
      ...Array.from({ length: 30 }, (_, at) => send(`low-${at}`, 'low')),
      ...Array.from({ length: 30 }, (_, at) => send(`normal-${at}`, 'normal')),
      send('high', 'high'),
    ];
    await Promise.all(sending);
    const order = server.accepted().map(({ envelope }) => envelope.to[0]!);
    t.ok(order.indexOf('high@b.cd') <= 2, `the high one was number ${order.indexOf('high@b.cd')}`);
    t.ok(order.indexOf('low-3@b.cd') < order.indexOf('normal-15@b.cd'), 'and the low ones are not left out');
  },
);

void t.test('a connection that hangs on QUIT is cut', async (t) => {
  const server = await openSmtpScript({ script: at('quit', hang) });
  const mailer = openSmtpMailer({ url: server.url, final: true, connectionsMax: 1, logger: silent });
  await sendBy(mailer, message(['a@b.cd']), { signal: never() });
  await mailer.close();
  await server.close();
  t.pass('close came to its end');
});

void t.test('URLs that cannot be used stop the start with a sentence, without the password', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /must look like/],
    ['http://x', /must look like/],
    ['smtp://', /must look like|no host/],
    ['smtp://h/path', /path/],
    ['smtp://h?tsl=off', /unknown parameter "tsl"/],
    ['smtp://h?tls=maybe', /one of required, opportunistic, off/],
    ['smtp://h?tls=off&tls=off', /one of/],
    ['smtps://h?tls=off', /although smtps/],
    ['smtp://user@h', /user and a password/],
    ['smtp://:secret@h', /user and a password/],
    ['smtp://u:secret%zz@h', /%25/],
    ['smtp://h?name=a%0d%0ab', /host name/],
    ['smtp://h?verify=no', /one of on, off/],
    ['smtp://u:secret@h?messages=0', /messages must be a number/],
    ['smtp://u:secret@h?auth=ntlm', /one of plain, login, cram-md5, xoauth2/],
    ['smtp://u:secret@h?auth=xoauth2', /needs a user, and no password/],
    ['smtp://h?auth=plain', /user and a password/],
  ];
  for (const [url, sentence] of cases) {
    try {
      openSmtpMailer({ url, final: false, connectionsMax: 1, logger: silent });
      t.fail(url);
    } catch (error) {
      t.match(error instanceof Error ? error.message : '', sentence, url);
      t.notMatch(error instanceof Error ? error.message : '', /secret/);
    }
  }
});

// The bytes on the wire after DATA: exactly those of a good message, and nothing in the middle that a server could take
// for the end.

const sent = (raw: string): string => Buffer.concat(wirePieces(Buffer.from(raw, 'latin1'))).toString('latin1');

void t.test('dots at the beginning of lines are doubled, the message is ended by a dot alone', (t) => {
  for (const [raw, wire] of [
    ['', '.\r\n'],
    ['a: b\r\n\r\nbody\r\n', 'a: b\r\n\r\nbody\r\n.\r\n'],
    ['no line end', 'no line end\r\n.\r\n'],
    ['.first\r\n.\r\n..two\r\nin . the .. middle.\r\n', '..first\r\n..\r\n...two\r\nin . the .. middle.\r\n.\r\n'],
    ['.', '..\r\n.\r\n'],
    ['a\r\n.', 'a\r\n..\r\n.\r\n'],
  ] as const)
    t.equal(sent(raw), wire, JSON.stringify(raw));
  t.end();
});

void t.test('a bare CR or LF cannot end the message', (t) => {
  for (const [raw, wire] of [
    ['a\n.\r\nb\r\n', 'a\r\n..\r\nb\r\n.\r\n'],
    ['a\r.\rb\r\n', 'a\r\n..\r\nb\r\n.\r\n'],
    ['a\n.\nb\r\n', 'a\r\n..\r\nb\r\n.\r\n'],
    ['a\r\r\n.\r\nb', 'a\r\n\r\n..\r\nb\r\n.\r\n'],
    ['a\r', 'a\r\n.\r\n'],
    ['\n', '\r\n.\r\n'],
  ] as const)
    t.equal(sent(raw), wire, JSON.stringify(raw));
  t.end();
});

void t.test('whatever the text, a server reads it back with CRLF line ends', (t) => {
  const { pick, between } = seededRandom(7);
  for (let round = 0; round < 2_000; round += 1) {
    const raw = Array.from({ length: between(0, 11) }, () => pick(['a', '.', '\r', '\n', '\r\n', 'é'])).join('');
    const wire = sent(raw);
    const clean = raw.replace(/\r\n|\r|\n/g, '\r\n');
    const ended = clean === '' || clean.endsWith('\r\n') ? clean : `${clean}\r\n`;
    if (
      !wire.endsWith('.\r\n') ||
      wire
        .slice(0, -3)
        .split('\r\n')
        .map((line) => line.replace(/^\./, ''))
        .join('\r\n') !== ended ||
      /(?:^|\r\n)\.\r\n./s.test(wire)
    ) {
      t.fail(JSON.stringify(raw));
    }
  }
  t.pass('2,000 texts');
  t.end();
});

void t.test('a good message is not copied', (t) => {
  const raw = Buffer.from('a: b\r\n\r\nbody\r\n');
  t.equal(wirePieces(raw)[0], raw);
  t.end();
});

void t.test(
  'a sender that may not go on when the host asks for the content: it gets none, and the next mail',
  async (t) => {
    const server = await openSmtpScript();
    t.teardown(() => server.close());
    const mailer = openSmtpMailer({ url: server.url, final: false, connectionsMax: 1, logger: silent });
    t.teardown(() => mailer.close());
    const send = async (mayGoOn: () => boolean) => {
      const signal = never();
      const lent = await mailer.lend({ priority: 'normal', signal }, (give) =>
        give(message(['anna@example.org']), signal, mayGoOn),
      );
      return lent.kind === 'used' ? lent.result : undefined;
    };
    t.match(await send(() => false), { content: 'none', recipients: [{ result: 'deferred', rule: 'aborted' }] });
    t.ok(
      server.commands.some((line) => line.endsWith(' DATA')),
      'it was asked after the reply to DATA',
    );
    t.equal(server.received.length, 0);
    t.match(await send(() => true), { recipients: [{ result: 'accepted' }] });
    t.equal(server.received.length, 1);
  },
);

void t.test('a signal that aborts when all content is sent: the reply is waited for, within bounds', async (t) => {
  const lastReply = async (
    end: (answer: () => void, cut: AbortController) => void,
    { lastReplyMs, isCut = false }: Readonly<{ lastReplyMs: number; isCut?: boolean }>,
  ) => {
    let [answer, arrive] = [(): void => {}, (): void => {}];
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const script = at('message', held(answered), 1);
    const server = await openSmtpScript({
      script: (moment) => {
        if (moment.step === 'message') arrive();
        return script(moment);
      },
    });
    const mailer = openSmtpMailer({
      url: server.url,
      final: false,
      connectionsMax: 1,
      timeouts: { lastReplyMs },
      logger: silent,
    });
    const [aborting, cut] = [new AbortController(), new AbortController()];
    if (isCut) cut.abort();
    const { signal } = aborting;
    const sent = mailer.lend({ priority: 'normal', signal: never() }, (send) =>
      send(message(['anna@example.org']), signal, () => true, cut.signal),
    );
    await arrived;
    aborting.abort();
    end(answer, cut);
    const lent = await sent;
    answer();
    const next = await sendBy(mailer, message(['anna@example.org']), { signal: never() });
    t.match(next.recipients, [{ result: 'accepted' }], 'the mailer sends the next message');
    await mailer.close();
    await server.close();
    return { outcome: lent.kind === 'used' ? lent.result : undefined, connections: server.connections() };
  };
  const aborted = { outcome: { content: 'some', recipients: [{ result: 'deferred', rule: 'aborted' }] } };
  const answered = await lastReply((answer) => answer(), { lastReplyMs: 60_000 });
  t.match(answered, { outcome: { recipients: [{ result: 'accepted' }] }, connections: 1 });
  t.match(await lastReply((_, cut) => cut.abort(), { lastReplyMs: 60_000 }), { ...aborted, connections: 2 });
  t.match(await lastReply(() => {}, { lastReplyMs: 60_000, isCut: true }), { ...aborted, connections: 2 });
  t.match(await lastReply(() => {}, { lastReplyMs: 20 }), { ...aborted, connections: 2 });
});
