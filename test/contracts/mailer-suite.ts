/** The contract of every mailer; the other side is a scripted SMTP server. */
import type { Test } from 'tap';
import type { DeliveryOutcome, Mailer, OutgoingMessage } from '../../src/domain/ports/mailer.js';
import { sendBy } from '../support/mailers.js';
import {
  at,
  close,
  hang,
  late,
  openSmtpScript,
  reply,
  replyThenClose,
  reset,
  usualExtensions,
  type SmtpScript,
  type SmtpScriptOptions,
  type SmtpScriptServer,
} from '../support/smtp-script.js';

export type MailerHarness = Readonly<{
  /** A mailer to that server; `silenceMs` is how long the server may say nothing. */
  open: (options: Readonly<{ url: string; connectionsMax: number; silenceMs: number }>) => Mailer;
}>;

const body = 'Hello,\r\n.\r\n..two dots\r\n.one dot\r\nend\r\n';

export const message = (to: readonly string[], id = '1'): OutgoingMessage => ({
  envelope: { from: 'bounce@example.com', to },
  messageId: `${id}@example.com`,
  raw: Buffer.from(`Message-ID: <${id}@example.com>\r\nFrom: a@example.com\r\nSubject: x\r\n\r\n${body}`),
});

/** A signal that does not abort; each call has its own, as in the service. */
const never = (): AbortSignal => new AbortController().signal;

export const mailerSuite = (t: Test, harness: MailerHarness): void => {
  type Opened = Readonly<{
    mailer: Mailer;
    server: SmtpScriptServer;
    send: (to?: readonly string[], signal?: AbortSignal) => Promise<DeliveryOutcome>;
  }>;
  const opened = async (
    t: Test,
    script?: SmtpScript,
    options: SmtpScriptOptions & { silenceMs?: number; connectionsMax?: number } = {},
  ): Promise<Opened> => {
    const server = await openSmtpScript({ ...options, ...(script === undefined ? {} : { script }) });
    const mailer = harness.open({
      url: server.url,
      connectionsMax: options.connectionsMax ?? 2,
      silenceMs: options.silenceMs ?? 5_000,
    });
    t.teardown(async () => {
      await server.close();
      await mailer.close();
    });
    return {
      mailer,
      server,
      send: (to = ['anna@example.org'], signal = never()) => sendBy(mailer, message(to), { signal }),
    };
  };
  const summary = (outcome: DeliveryOutcome) =>
    outcome.recipients.map(({ result, replyCode, enhancedCode, rule }) => [result, replyCode, enhancedCode, rule]);

  void t.test('an accepted message arrives byte for byte, with its envelope', async (t) => {
    const { mailer, server, send } = await opened(t);
    const outcome = await send(['anna@example.org', 'bo@example.org']);
    t.same(
      outcome.recipients,
      [0, 1].map(() => ({
        result: 'accepted',
        replyCode: 250,
        enhancedCode: '2.0.0',
        rule: 'accepted',
        text: '250 2.0.0 queued',
      })),
    );
    t.equal(outcome.host, mailer.host);
    t.ok(Number.isInteger(outcome.durationMs) && outcome.durationMs >= 0);
    t.equal(server.received.length, 1);
    t.same(server.received[0]!.envelope, { from: 'bounce@example.com', to: ['anna@example.org', 'bo@example.org'] });
    t.equal(server.received[0]!.raw.toString(), message([]).raw.toString());
    t.equal(server.received[0]!.messageId, '1@example.com');
  });

  void t.test('the empty sender of a bounce', async (t) => {
    const { mailer, server } = await opened(t);
    await sendBy(
      mailer,
      { ...message(['anna@example.org']), envelope: { from: '', to: ['anna@example.org'] } },
      { signal: never() },
    );
    t.equal(server.received[0]?.envelope.from, '');
  });

  void t.test('one connection serves many messages; no more connections than allowed', async (t) => {
    const { server, send } = await opened(t, undefined, { connectionsMax: 2 });
    for (let count = 0; count < 5; count += 1) await send();
    t.equal(server.connections(), 1);
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => send()));
    t.ok(outcomes.every((one) => one.recipients[0]?.result === 'accepted'));
    t.equal(server.connections(), 2);
    t.equal(server.accepted().length, 45);
  });

  void t.test('a server without extensions', async (t) => {
    const { server, send } = await opened(
      t,
      (moment) => (moment.step === 'ehlo' ? reply('502 5.5.1 EHLO is too new') : undefined),
      {
        extensions: [],
      },
    );
    t.same(
      summary(await send(['a@b.cd', 'e@f.gh'])).map((one) => one[0]),
      ['accepted', 'accepted'],
    );
    t.ok(server.commands.some((line) => line.includes('HELO')));
  });

  for (const extensions of [usualExtensions, []]) {
    const how = extensions.length > 0 ? 'pipelined' : 'one command at a time';

    void t.test(`recipients are judged one by one, in envelope order (${how})`, async (t) => {
      const { server, send } = await opened(
        t,
        (moment) => {
          if (moment.address === 'gone@example.org') return reply('550 5.1.1 no such user');
          if (moment.address === 'busy@example.org') return reply('450 4.2.1 try later');
          return undefined;
        },
        { extensions, connectionsMax: 1 },
      );
      t.same(summary(await send(['gone@example.org', 'anna@example.org', 'busy@example.org'])), [
        ['bounced', 550, '5.1.1', 'mailbox-unknown'],
        ['accepted', 250, '2.0.0', 'accepted'],
        ['deferred', 450, '4.2.1', 'try-later'],
      ]);
      t.same(server.received[0]!.envelope.to, ['anna@example.org']);
      t.same(
        summary(await send(['busy@example.org', 'gone@example.org'])),
        [
          ['deferred', 450, '4.2.1', 'try-later'],
          ['bounced', 550, '5.1.1', 'mailbox-unknown'],
        ],
        'all refused: still each by its own reply',
      );
      t.equal((await send()).recipients[0]?.result, 'accepted', 'and the session goes on');
      t.equal(server.connections(), 1);
    });

    void t.test(`a message refused after its data keeps the verdicts of RCPT (${how})`, async (t) => {
      const { send } = await opened(
        t,
        (moment) => {
          if (moment.address === 'gone@example.org') return reply('550 5.1.1 no such user');
          return moment.step === 'message' ? reply('451 4.3.0 disk trouble') : undefined;
        },
        { extensions },
      );
      t.same(summary(await send(['anna@example.org', 'gone@example.org'])), [
        ['deferred', 451, '4.3.0', 'try-later'],
        ['bounced', 550, '5.1.1', 'mailbox-unknown'],
      ]);
    });

    for (const [step, text, expected] of [
      ['mail', '451 4.3.0 later', ['deferred', 451, '4.3.0', 'try-later']],
      ['mail', '550 5.1.8 who are you', ['blocked', 550, '5.1.8', 'sender-refused']],
      ['rcpt', '452 4.2.2 full', ['deferred', 452, '4.2.2', 'mailbox-full']],
      ['rcpt', '552 full', ['bounced', 552, null, 'mailbox-full']],
      ['rcpt', '550 nobody here', ['bounced', 550, null, 'recipient-refused']],
      ['rcpt', '554 5.7.1 relay access denied', ['blocked', 554, '5.7.1', 'relay-denied']],
      ['data', '451 4.3.0 later', ['deferred', 451, '4.3.0', 'try-later']],
      ['data', '554 5.3.0 no', ['refused', 554, '5.3.0', 'system-refused']],
      ['message', '450 4.7.1 greylisted', ['deferred', 450, '4.7.1', 'greylisted']],
      ['message', '550 5.7.1 looks like spam', ['blocked', 550, '5.7.1', 'spam-suspected']],
      ['message', '552 5.3.4 too big', ['refused', 552, '5.3.4', 'message-too-large']],
      ['message', '550 5.1.1 user unknown', ['bounced', 550, '5.1.1', 'mailbox-unknown']],
    ] as const) {
      void t.test(`${text} at ${step} (${how})`, async (t) => {
        const { server, send } = await opened(t, at(step, reply(text), 1), { extensions, connectionsMax: 1 });
        const outcome = await send();
        t.same(summary(outcome), [expected]);
        t.equal(outcome.recipients[0]?.text, text);
        t.same(
          summary(await send()).map((one) => one[0]),
          ['accepted'],
          'the next message goes through',
        );
        t.equal(server.accepted().length, 1);
        t.equal(server.connections(), 1, 'on the same connection');
      });
    }
  }

  for (const step of ['mail', 'rcpt', 'data', 'message'] as const) {
    void t.test(`421 at ${step}, then the server closes`, async (t) => {
      const { server, send } = await opened(t, at(step, replyThenClose('421 4.3.2 shutting down'), 1));
      t.same(summary(await send()), [['deferred', 421, '4.3.2', 'service-closing']]);
      t.same(
        summary(await send()).map((one) => one[0]),
        ['accepted'],
      );
      t.equal(server.received.filter((one) => one.accepted).length, 1);
    });

    void t.test(`what is no reply at ${step} is a protocol error, and ends the session`, async (t) => {
      for (const text of ['what?', '99', '552a too large', ...(step === 'message' ? ['2', '2500 queued'] : [])]) {
        const { server, send } = await opened(t, at(step, reply(text), 1), { extensions: [], connectionsMax: 1 });
        const outcome = await send();
        t.match(outcome.recipients, [{ result: 'deferred', rule: 'protocol-error', enhancedCode: null }], text);
        t.match(await send(), { recipients: [{ result: 'accepted' }] });
        t.equal(server.connections(), 2, text);
      }
    });

    void t.test(`the connection breaks at ${step}`, async (t) => {
      const rule = step === 'message' ? 'no-reply-after-data' : 'connection-lost';
      for (const action of [close, reset]) {
        const { server, send } = await opened(t, at(step, action, 1));
        t.same(summary(await send()), [['deferred', null, null, rule]]);
        t.equal(server.connections(), 1, 'it is not tried again behind the back of the caller');
        t.same(
          summary(await send()).map((one) => one[0]),
          ['accepted'],
        );
      }
    });

    void t.test(`silence at ${step} ends at the timeout`, async (t) => {
      const { server, send } = await opened(t, at(step, hang, 1), { silenceMs: 150 });
      t.same(summary(await send()), [['deferred', null, null, step === 'message' ? 'no-reply-after-data' : 'timeout']]);
      t.equal(server.connections(), 1);
      t.same(
        summary(await send()).map((one) => one[0]),
        ['accepted'],
      );
    });

    void t.test(`the signal ends a dialogue at ${step}`, async (t) => {
      const { server, send } = await opened(t, at(step, hang, 1));
      const aborting = new AbortController();
      const outcome = send(['a@b.cd', 'e@f.gh'], aborting.signal);
      const verb = { mail: 'MAIL', rcpt: 'RCPT', data: 'DATA', message: 'DATA' }[step];
      while (!server.commands.some((line) => line.includes(verb)))
        await new Promise((resolve) => setImmediate(resolve));
      aborting.abort();
      t.same(summary(await outcome), [
        ['deferred', null, null, 'aborted'],
        ['deferred', null, null, 'aborted'],
      ]);
      t.same(
        summary(await send()).map((one) => one[0]),
        ['accepted'],
      );
    });
  }

  void t.test('a signal that was aborted before, and one that aborts while waiting for a connection', async (t) => {
    const { server, send } = await opened(t, at('message', hang, 1), { connectionsMax: 1 });
    t.same(summary(await send(['a@b.cd'], AbortSignal.abort())), [['deferred', null, null, 'given-up']]);
    t.equal(server.connections(), 0);
    const first = new AbortController();
    const holding = send(['a@b.cd'], first.signal);
    const second = new AbortController();
    const waiting = send(['a@b.cd'], second.signal);
    while (!server.commands.some((line) => line.endsWith('DATA')))
      await new Promise((resolve) => setImmediate(resolve));
    second.abort();
    t.same(summary(await waiting), [['deferred', null, null, 'given-up']]);
    first.abort();
    t.same(summary(await holding), [['deferred', null, null, 'aborted']]);
  });

  const gate = () => {
    let resolve = (): void => {};
    return { promise: new Promise<void>((open) => (resolve = open)), resolve: () => resolve() };
  };
  /**
   * A use of a connection that sends, and ends, when the test says so; `called`: whether it has the connection, and the
   * outcome.
   */
  const inSteps = (mailer: Mailer, name: string) => {
    const begin = gate();
    const end = gate();
    const called = { begin: 0, end: 0 };
    const done = mailer.lend({ priority: 'normal', signal: never() }, async (send) => {
      called.begin += 1;
      await begin.promise;
      const outcome = await send(message([`${name}@example.org`], name), never());
      called.end += 1;
      t.equal(outcome.recipients.length, 1, 'one recipient, one outcome');
      await end.promise;
    });
    return { begin, end, called, done };
  };
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const when = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  };

  void t.test(
    'a message begins when a connection is ready, and only as many begin as there are connections',
    async (t) => {
      const { mailer, server } = await opened(t, undefined, { connectionsMax: 2 });
      const all = ['a', 'b', 'c', 'd', 'e'].map((name) => inSteps(mailer, name));
      const begun = () => all.filter(({ called }) => called.begin > 0).length;
      await when(() => begun() === 2);
      await turns();
      t.equal(begun(), 2);
      t.notOk(
        server.commands.some((line) => line.includes('MAIL')),
        'nothing of a message is said before it has begun',
      );
      for (const { begin, end } of all) {
        begin.resolve();
        end.resolve();
      }
      t.same(
        (await Promise.all(all.map(({ done }) => done))).map(({ kind }) => kind),
        all.map(() => 'used'),
      );
      t.ok(all.every(({ called }) => called.begin === 1 && called.end === 1));
      t.equal(server.accepted().length, 5);
    },
  );

  void t.test('on a connection no dialogue begins before the end of the one before is recorded', async (t) => {
    for (const last of ['accepted', 'closed'] as const) {
      const script: SmtpScript = (moment) =>
        last === 'closed' && moment.step === 'message' ? replyThenClose('250 2.0.0 queued, bye') : undefined;
      const { mailer, server } = await opened(t, script, { connectionsMax: 1 });
      const [first, second] = [inSteps(mailer, 'first'), inSteps(mailer, 'second')];
      first.begin.resolve();
      second.begin.resolve();
      second.end.resolve();
      await when(() => first.called.end === 1);
      await turns();
      t.equal(server.received.length, 1, last);
      first.end.resolve();
      await Promise.all([first.done, second.done]);
      t.equal(server.accepted().length, 2);
    }
  });

  void t.test(
    'a message that is not wanted any more, and one whose beginning fails, leave the connection to others',
    async (t) => {
      const { mailer, server, send } = await opened(t, undefined, { connectionsMax: 1 });
      const wanted = { priority: 'normal', signal: never() } as const;
      t.same(await mailer.lend(wanted, async () => 'not wanted'), { kind: 'used', result: 'not wanted' });
      await t.rejects(
        mailer.lend(wanted, () => Promise.reject(new Error('the disk is full'))),
        /the disk is full/,
      );
      t.match(await send(), { recipients: [{ result: 'accepted' }] });
      t.equal(server.connections(), 1);
      t.equal(server.commands.filter((line) => line.includes('MAIL')).length, 1);
    },
  );

  void t.test('a connection is lent for one message', async (t) => {
    const { mailer, server, send } = await opened(t, undefined, { connectionsMax: 1 });
    const twice = mailer.lend({ priority: 'normal', signal: never() }, async (sendIt) => {
      await sendIt(message(['a@b.cd'], 'first'), never());
      return sendIt(message(['a@b.cd'], 'second'), never());
    });
    await t.rejects(twice, /one message/);
    t.match(await send(), { recipients: [{ result: 'accepted' }] }, 'and serves the next');
    t.equal(server.accepted().length, 2);
    t.equal(server.connections(), 1);
  });

  void t.test('where no session can be opened nothing begins', async (t) => {
    const { mailer } = await opened(t, at('connect', replyThenClose('421 4.3.2 busy')));
    const lent = await mailer.lend({ priority: 'high', signal: never() }, async () => void t.fail('nothing may begin'));
    t.match(lent, { kind: 'host-away', fault: { result: 'deferred', replyCode: 421, rule: 'service-closing' } });
  });

  void t.test('greetings: refused, closing, late, never', async (t) => {
    const cases: readonly (readonly [SmtpScript, readonly unknown[]])[] = [
      [at('connect', reply('554 5.7.1 go away')), ['deferred', 554, '5.7.1', 'session-refused']],
      [at('connect', replyThenClose('421 4.3.2 busy')), ['deferred', 421, '4.3.2', 'service-closing']],
      [at('connect', close), ['deferred', null, null, 'connection-lost']],
      [at('connect', reset), ['deferred', null, null, 'connection-lost']],
      [at('connect', late(60)), ['accepted', 250, '2.0.0', 'accepted']],
      [at('connect', hang), ['deferred', null, null, 'timeout']],
      [at('ehlo', replyThenClose('421 4.3.2 busy')), ['deferred', 421, '4.3.2', 'service-closing']],
    ];
    for (const [script, expected] of cases) {
      const { send } = await opened(t, script, { silenceMs: 400 });
      t.same(summary(await send()), [expected]);
    }
  });

  void t.test('the server closes an idle connection: the next message goes out on a new one', async (t) => {
    const { server, send } = await opened(t, (moment) =>
      moment.step === 'message' ? replyThenClose('250 2.0.0 queued, bye') : undefined,
    );
    for (let count = 1; count <= 3; count += 1) {
      t.same(
        summary(await send()).map((one) => one[0]),
        ['accepted'],
      );
      t.equal(server.accepted().length, count);
    }
  });

  void t.test('a used connection that turns out to be closed costs no attempt', async (t) => {
    for (const action of [reset, close, replyThenClose('421 4.4.2 idle for too long')]) {
      const { server, send } = await opened(t, at('mail', action, 2));
      await send();
      t.same(
        summary(await send()).map((one) => one[0]),
        ['accepted'],
      );
      t.equal(server.accepted().length, 2);
      t.equal(server.connections(), 2);
    }
  });

  void t.test('a message larger than the server announces is refused without being sent', async (t) => {
    const { server, send } = await opened(t, undefined, { extensions: ['PIPELINING', 'SIZE 20'] });
    t.same(summary(await send()), [['refused', null, null, 'message-too-large']]);
    t.equal(server.received.length, 0);
  });

  void t.test('close lets a dialogue under way end, answers who waits, and takes no more', async (t) => {
    const { mailer, server, send } = await opened(t, at('message', late(80)), { connectionsMax: 1 });
    const running = send();
    while (!server.commands.some((line) => line.endsWith('DATA')))
      await new Promise((resolve) => setImmediate(resolve));
    const waiting = send();
    const closing = mailer.close();
    t.same(summary(await waiting), [['deferred', null, null, 'given-up']]);
    t.same(
      summary(await running).map((one) => one[0]),
      ['accepted'],
    );
    await closing;
    t.same(summary(await send()), [['deferred', null, null, 'given-up']]);
    await mailer.close();
    t.ok(server.commands.some((line) => line.endsWith('QUIT')));
  });
};
