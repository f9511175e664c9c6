/**
 * Several relays: failover under a relay that dies in each state of the dialogue, without a mail that comes twice;
 * breakers, the days of a ramp-up over a restart, and rates.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { relayStream } from '../../src/domain/core/ids.js';
import { startTestApp, storedEvents, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import {
  at,
  close,
  hang,
  openSmtpScript,
  refusedPort,
  reply,
  replyThenClose,
  reset,
  type SmtpScript,
  type SmtpScriptOptions,
  type SmtpScriptServer,
} from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

type Relay = Readonly<Record<string, unknown>>;

type SetUp = Readonly<{
  /** In the order of the file. */
  relays: readonly Relay[];
  rules?: readonly unknown[];
  clock?: FakeClock;
  retryDelays?: string;
  dataDir?: string;
}>;

const setUp = async (t: Test, { relays, rules, clock, retryDelays = '1,1', dataDir }: SetUp): Promise<TestApp> => {
  const directory = dataDir ?? temporaryDirectory(t);
  const file = join(temporaryDirectory(t), 'relays.json');
  writeFileSync(file, JSON.stringify({ relays, ...(rules === undefined ? {} : { rules }) }));
  const app = await startTestApp({
    dataDir: directory,
    isFounded: true,
    ...(clock === undefined ? {} : { clock }),
    settings: {
      SEALPOST_RELAYS: file,
      SEALPOST_RETRY_DELAYS: retryDelays,
      SEALPOST_ACCOUNT_SENDER: 'accounts@service.test',
      SEALPOST_PUBLIC_URL: 'https://mail.service.test',
    },
  });
  t.teardown(() => app.stop());
  return app;
};

const sinkOf = async (t: Test, script?: SmtpScript, more: SmtpScriptOptions = {}): Promise<SmtpScriptServer> => {
  const sink = await openSmtpScript({ ...more, ...(script === undefined ? {} : { script }) });
  t.teardown(() => sink.close());
  return sink;
};

const relay = (name: string, { port }: Pick<SmtpScriptServer, 'port'>, more: Relay = {}): Relay => ({
  name,
  url: `smtp://127.0.0.1:${port}?tls=off`,
  ...more,
});

/** An email from a sender of a domain of its own. */
const send = (app: TestApp, more: Readonly<Record<string, unknown>> = {}) =>
  app.send({ from: { email: 'hello@service.test' }, ...more });

const beforeContent: readonly (readonly [string, SmtpScript, string])[] = [
  ['the greeting is 421', at('connect', replyThenClose('421 4.3.2 busy')), 'service-closing'],
  ['the greeting is 554', at('connect', reply('554 5.7.1 go away')), 'session-refused'],
  ['it closes instead of greeting', at('connect', close), 'connection-lost'],
  ['it resets instead of greeting', at('connect', reset), 'connection-lost'],
  ['it never greets', at('connect', hang), 'timeout'],
  ['it closes at EHLO', at('ehlo', close), 'connection-lost'],
  ['it resets at MAIL', at('mail', reset), 'connection-lost'],
  ['it closes at MAIL', at('mail', close), 'connection-lost'],
  ['it is silent at MAIL', at('mail', hang), 'timeout'],
  ['421 at MAIL', at('mail', replyThenClose('421 4.3.2 shutting down')), 'service-closing'],
  ['452 at MAIL', at('mail', reply('452 4.3.1 no space')), ''],
  ['no reply at MAIL', at('mail', reply('what?')), 'protocol-error'],
  ['it resets at RCPT', at('rcpt', reset), 'connection-lost'],
  ['it is silent at RCPT', at('rcpt', hang), 'timeout'],
  ['421 at RCPT', at('rcpt', replyThenClose('421 4.3.2 shutting down')), 'service-closing'],
  ['it resets at DATA', at('data', reset), 'connection-lost'],
  ['it closes at DATA', at('data', close), 'connection-lost'],
  ['it is silent at DATA', at('data', hang), 'timeout'],
  ['451 at DATA', at('data', reply('451 4.3.0 no')), ''],
  ['250 at DATA', at('data', reply('250 what')), ''],
];

/** Only of relays that are silent: on a busy machine another may need longer to answer. */
const quick = { connectSeconds: 1, silenceSeconds: 1 };

await t.test(
  'a relay that fails before the content is followed by the next at once, and the mail comes once',
  async (t) => {
    for (const [what, script, rule] of beforeContent) {
      const [first, second] = [await sinkOf(t, script), await sinkOf(t)];
      const app = await setUp(t, {
        relays: [relay('first', first, rule === 'timeout' ? quick : {}), relay('second', second)],
        retryDelays: '3600',
      });
      const { id } = await send(app);
      const record = await app.whenStatus(id, 'sent');
      t.equal(second.accepted().length, 1, `${what}: the second relay has it`);
      t.equal(first.received.length, 0, `${what}: the first relay has none of it`);
      const last = record.attempts.at(-1);
      t.match(last, { relay: 'second', outcome: 'sent' }, what);
      const events = (
        await app.call<{ data: { kind: string; details: object }[] }>('GET', `/api/emails/${id}/timeline`)
      ).body.data;
      const deferred = events.filter(({ kind }) => kind === 'EmailDeferred');
      if (record.attempts.length === 2) {
        t.match(record.attempts[0], { relay: 'first', outcome: 'deferred' }, what);
        t.match(
          deferred.map(({ details }) => details),
          [{ relay: 'first', failedOver: true }],
          what,
        );
      } else {
        const [attempted] = (await storedEvents(app.engine)).filter(({ type }) => type === 'DeliveryAttempted.v1');
        const { passedRelays } = JSON.parse(attempted!.data.toString()) as { passedRelays: object[] };
        t.match(passedRelays, [{ relay: 'first', rule }], what);
      }
      await app.stop();
    }
  },
);

await t.test('connection refused, no TLS and a wrong password are passed over without an attempt', async (t) => {
  const [plain, strict, second] = [
    await sinkOf(t),
    await sinkOf(t, undefined, { user: { name: 'shop', password: 'right' } }),
    await sinkOf(t),
  ];
  const secretFile = join(temporaryDirectory(t), 'password');
  writeFileSync(secretFile, 'wrong-password\n');
  const app = await setUp(t, {
    relays: [
      { name: 'refused', url: `smtp://127.0.0.1:${await refusedPort()}?tls=off` },
      { name: 'no-tls', url: `smtp://127.0.0.1:${plain.port}?tls=required` },
      { ...relay('no-login', strict), user: 'shop', password: { file: secretFile } },
      relay('second', second),
    ],
  });
  const { id } = await send(app);
  const record = await app.whenStatus(id, 'sent');
  t.match(record.attempts, [{ attempt: 1, relay: 'second', outcome: 'sent' }]);
  t.equal(record.attempts.length, 1);
  const timeline = await app.call<{ data: object[] }>('GET', `/api/emails/${id}/timeline`);
  t.match(
    timeline.body.data.find((entry) => (entry as { kind: string }).kind === 'DeliveryAttempted'),
    {
      details: {
        relay: 'second',
        passedRelays: 'refused (connection-refused), no-tls (tls-failed), no-login (authentication-failed)',
      },
    },
  );
  const [attempted] = (await storedEvents(app.engine)).filter(({ type }) => type === 'DeliveryAttempted.v1');
  t.match(JSON.parse(attempted!.data.toString()), {
    relay: 'second',
    passedRelays: [
      { relay: 'refused', rule: 'connection-refused' },
      { relay: 'no-tls', rule: 'tls-failed' },
      { relay: 'no-login', rule: 'authentication-failed' },
    ],
  });
  t.equal(plain.received.length + strict.received.length, 0);
  t.match(await app.call('GET', '/health/ready'), {
    status: 200,
    body: {
      status: 'degraded',
      relays: [
        { name: 'refused', breaker: /open/ },
        { name: 'no-tls', breaker: /open/ },
        { name: 'no-login', breaker: /open/ },
        { name: 'second', breaker: 'closed' },
      ],
    },
  });
});

await t.test('a relay that got content and did not answer keeps the mail, also while it is away', async (t) => {
  for (const [what, action] of [
    ['close', close],
    ['reset', reset],
    ['silence', hang],
    ['no reply', reply('2')],
  ] as const) {
    const [first, second] = [await sinkOf(t, at('message', action, 1)), await sinkOf(t)];
    const app = await setUp(t, {
      // It answers the second attempt.
      relays: [relay('first', first, what === 'silence' ? { silenceSeconds: 5 } : {}), relay('second', second)],
    });
    const { id } = await send(app);
    const record = await app.whenStatus(id, 'sent');
    t.match(
      record.attempts.map(({ relay: name, outcome }) => [name, outcome]),
      [
        ['first', 'deferred'],
        ['first', 'sent'],
      ],
      what,
    );
    t.equal(second.connections() === 0 || second.received.length === 0, true, `${what}: the other has none of it`);
    await app.stop();
  }
  const [first, second] = [await sinkOf(t, at('message', close)), await sinkOf(t)];
  const app = await setUp(t, { relays: [relay('first', first), relay('second', second)] });
  const { id } = await send(app);
  await eventually('the first attempt has ended', async () => {
    const { attempts } = await app.email(id);
    if (attempts[0]?.outcome !== 'deferred') throw new Error(`not yet: ${JSON.stringify(attempts)}`);
    return true;
  });
  const { port } = first;
  await first.close();
  await eventually('it waits for that relay', async () => {
    const { rule } = (await app.email(id)).recipients[0]!;
    if (rule !== 'connection-refused' && rule !== 'relay-away') throw new Error(`not yet: ${rule}`);
    return true;
  });
  const other = await send(app);
  await app.whenStatus(other.id, 'sent');
  t.equal(second.accepted().length, 1, 'other mail goes by the second relay');
  const again = await sinkOf(t, undefined, { port });
  t.match((await app.whenStatus(id, 'sent')).attempts.at(-1), { relay: 'first' });
  t.equal(again.accepted().length, 1);
  t.equal(second.accepted().length, 1);
});

await t.test('answers about a recipient or the content are not taken to another relay', async (t) => {
  for (const [step, text, status] of [
    ['rcpt', '550 5.1.1 no such user', 'bounced'],
    ['rcpt', '554 5.7.1 relaying denied', 'failed'],
    ['mail', '550 5.7.1 sender refused', 'failed'],
    ['message', '554 5.7.1 spam', 'failed'],
  ] as const) {
    const [first, second] = [await sinkOf(t, at(step, reply(text))), await sinkOf(t)];
    const app = await setUp(t, { relays: [relay('first', first), relay('second', second)] });
    const record = await app.whenStatus((await send(app)).id, status);
    t.match(record.attempts, [{ relay: 'first' }], text);
    t.equal(record.attempts.length, 1, text);
    t.equal(second.received.length, 0, text);
    await app.stop();
  }
  for (const step of ['rcpt', 'message'] as const) {
    const [first, second] = [await sinkOf(t, at(step, reply('451 4.3.0 later'), 1)), await sinkOf(t)];
    const app = await setUp(t, { relays: [relay('first', first), relay('second', second)] });
    const record = await app.whenStatus((await send(app)).id, 'sent');
    t.match(record.attempts, [
      { relay: 'first', outcome: 'deferred' },
      { relay: 'first', outcome: 'sent' },
    ]);
    t.equal(second.received.length, 0);
    await app.stop();
  }
});

await t.test(
  'copies: those that the first relay took stay, the others go by the second, each comes once',
  async (t) => {
    const [first, second] = [
      await sinkOf(t, ({ step, message }) => (step === 'mail' && message >= 3 ? reset : undefined)),
      await sinkOf(t),
    ];
    const app = await setUp(t, { relays: [relay('first', first, { connections: 1 }), relay('second', second)] });
    const to = ['a', 'b', 'c', 'd'].map((name) => ({ email: `${name}@example.com` }));
    const { id } = await send(app, { to, tracking: { opens: true, clicks: false } });
    const record = await app.whenStatus(id, 'sent');
    const got = [...first.accepted(), ...second.accepted()].flatMap(({ envelope }) => envelope.to);
    t.same(
      got.sort(),
      to.map(({ email }) => email),
    );
    t.equal(first.accepted().length, 2);
    t.match(
      record.attempts.map(({ relay: name }) => name),
      ['first', 'second'],
    );
  },
);

await t.test('rules, return paths and signatures by relay', async (t) => {
  const [bulk, mine, rest] = [await sinkOf(t), await sinkOf(t), await sinkOf(t)];
  const app = await setUp(t, {
    relays: [
      relay('bulk', bulk, { returnPath: 'bounce@relay.test', dkim: 'relay' }),
      relay('mine', mine, { returnPath: 'sender' }),
      relay('rest', rest),
    ],
    rules: [
      { when: { tag: ['news', 'promo'] }, relays: ['bulk'] },
      { when: { senderDomain: '*.service.test', priority: 'high' }, relays: ['mine'] },
      { relays: ['rest'] },
    ],
  });
  const ids = [
    await send(app, { tags: ['news'] }),
    await send(app, { from: { email: 'a@sub.service.test' }, priority: 'high' }),
    await send(app, { from: { email: 'a@sub.service.test' } }),
    await send(app, { priority: 'high' }),
  ];
  const used: (string | undefined)[] = [];
  for (const { id } of ids) used.push((await app.whenStatus(id, 'sent')).attempts[0]!.relay);
  t.same(used, ['bulk', 'mine', 'rest', 'rest']);
  t.equal(bulk.accepted()[0]!.envelope.from, 'bounce@relay.test');
  t.equal(mine.accepted()[0]!.envelope.from, 'a@sub.service.test');
});

const byDays = { rampUp: [2, 4] };
const HOUR_MS = 3_600_000;

await t.test(
  'a ramp-up: the excess goes by the next relay, or waits for the next day, also over a restart',
  async (t) => {
    const [young, second] = [await sinkOf(t), await sinkOf(t)];
    const dataDir = temporaryDirectory(t);
    const clock = fakeClock();
    const settings = {
      relays: [relay('young', young, byDays), relay('second', second)],
      rules: [{ when: { tag: 'alone' }, relays: ['young'] }, { relays: ['young', 'second'] }],
      dataDir,
    };
    let app = await setUp(t, { ...settings, clock });
    const sendOne = async (more = {}): Promise<string> => (await send(app, more)).id;
    const relayOf = async (id: string): Promise<string | undefined> =>
      (await app.whenStatus(id, 'sent', 500)).attempts.at(-1)!.relay;
    t.equal(await relayOf(await sendOne()), 'young');
    await app.stop();
    app = await setUp(t, { ...settings, clock });
    t.equal(await relayOf(await sendOne()), 'young');
    t.equal(await relayOf(await sendOne()), 'second', 'the third of the first day');
    const waiting = await sendOne({ tags: ['alone'] });
    await eventually('it waits for the next day', async () => {
      await clock.advance(500);
      const { nextAttemptAt, status, recipients, attempts } = await app.email(waiting);
      if (recipients[0]!.rule !== 'relay-day-full') throw new Error('not yet');
      t.equal(status, 'queued');
      t.same(attempts, [], 'it costs no attempt');
      t.equal(nextAttemptAt, `${new Date(clock.now() + 24 * HOUR_MS).toISOString().slice(0, 10)}T00:00:00.000Z`);
      return true;
    });
    t.match(await app.call('GET', '/health/ready'), { body: { relays: [{ name: 'young', isDayFull: true }, {}] } });
    await app.stop();
    app = await setUp(t, { ...settings, clock });
    t.equal(await relayOf(await sendOne()), 'second', 'after a restart, too');
    const left =
      Date.parse(`${new Date(clock.now() + 24 * HOUR_MS).toISOString().slice(0, 10)}T00:00:00.000Z`) - clock.now();
    for (let passed = 0; passed <= left; passed += HOUR_MS) await clock.advance(HOUR_MS);
    t.equal(await relayOf(waiting), 'young', 'the mail that waited');
    const day: (string | undefined)[] = [];
    for (let count = 0; count < 5; count += 1) day.push(await relayOf(await sendOne()));
    t.same(day, ['young', 'young', 'young', 'second', 'second'], 'four on the second day');
    for (let passed = 0; passed <= 24 * HOUR_MS; passed += HOUR_MS) await clock.advance(HOUR_MS);
    for (let count = 0; count < 6; count += 1)
      t.equal(await relayOf(await sendOne()), 'young', 'then without a maximum');
    const taken = (await storedEvents(app.engine)).filter(({ stream }) => stream === relayStream('young'));
    t.equal(taken.length, 6, 'one event for each of the few mails of the two days');
  },
);

await t.test('a breaker: other mails pass the relay over until it takes a session again', async (t) => {
  const clock = fakeClock();
  const [first, second] = [await sinkOf(t, at('connect', reset)), await sinkOf(t)];
  const app = await setUp(t, { relays: [relay('first', first), relay('second', second)], clock });
  const relayOf = async (): Promise<string | undefined> =>
    (await app.whenStatus((await send(app)).id, 'sent', 1)).attempts.at(-1)!.relay;
  t.equal(await relayOf(), 'second');
  const tried = first.connections();
  for (let count = 0; count < 5; count += 1) t.equal(await relayOf(), 'second');
  t.equal(first.connections(), tried, 'it is not asked by mails');
  const health = async () => (await app.call<{ relays: { breaker: string }[] }>('GET', '/health/ready')).body;
  t.match(await health(), { status: 'degraded', relays: [{ breaker: 'open' }, { breaker: 'closed' }] });
  first.setScript(() => undefined);
  await eventually('it is closed again', async () => {
    await clock.advance(1_000);
    if ((await health()).relays[0]!.breaker !== 'closed') throw new Error('not yet');
    return true;
  });
  t.equal(await relayOf(), 'first');
});

await t.test('dialogues that end before the content open the breaker, too', async (t) => {
  const [first, second] = [await sinkOf(t, at('mail', reset)), await sinkOf(t)];
  const clock = fakeClock();
  const app = await setUp(t, { relays: [relay('first', first), relay('second', second)], clock });
  for (let count = 0; count < 8; count += 1) {
    const { attempts } = await app.whenStatus((await send(app)).id, 'sent', 1);
    t.equal(attempts.length, count < 3 ? 2 : 1, `mail ${count + 1}`);
  }
  t.equal(second.accepted().length, 8);
});

await t.test('a rate: mails wait for their turn, all leave, and no second has more than the rate', async (t) => {
  const sink = await sinkOf(t);
  const [clock, times] = [fakeClock(), [] as number[]];
  sink.setScript(({ step }) => {
    if (step === 'message') times.push(clock.now());
    return undefined;
  });
  const app = await setUp(t, { relays: [relay('slow', sink, { ratePerSecond: 5 })], clock });
  const ids: string[] = [];
  for (let count = 0; count < 40; count += 1) ids.push((await send(app)).id);
  const sentMs = clock.now();
  await eventually('all have left', async () => {
    await clock.advance(50);
    if (sink.accepted().length < ids.length) throw new Error(`${sink.accepted().length} have left`);
    return true;
  });
  for (const from of times)
    t.ok(times.filter((atMs) => atMs >= from && atMs < from + 900).length <= 6, 'five a second, and one at an edge');
  t.ok(clock.now() - sentMs >= 7_000);
  t.ok(clock.now() - sentMs < 30_000, `it took ${clock.now() - sentMs} ms`);
});
