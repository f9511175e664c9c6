/** Open work: it survives a restart, leaves by priority, and all of it leaves even where the bus has no room. */
import t, { type Test } from 'tap';
import type { DeliveryOutcome, Mailer, OutgoingMessage } from '../../src/domain/ports/mailer.js';
import { makeCommands } from '../../src/commands/index.js';
import { firstTeam, systemCaller } from '../../src/commands/core/caller.js';
import { startTestApp, signInVariables, storedEvents, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { at, openSmtpScript, reply } from '../support/smtp-script.js';
import { fakeClock } from '../support/fake-clock.js';
import { mailerBy } from '../support/mailers.js';
import { eventually } from '../support/wait.js';

type GatedMailer = Mailer &
  Readonly<{
    /** Message-IDs in the order in which their dialogues began. */
    begun: readonly string[];
    /** Lets so many dialogues end. */
    release: (count: number) => void;
  }>;

/** A mailer whose dialogues end only when the test lets them. */
const gatedMailer = (): GatedMailer => {
  const begun: string[] = [];
  const waiting: (() => void)[] = [];
  let free = 0;
  const outcomeOf = ({ envelope }: OutgoingMessage): DeliveryOutcome => ({
    host: 'gate',
    durationMs: 0,
    recipients: envelope.to.map(() => ({
      result: 'accepted',
      replyCode: 250,
      enhancedCode: null,
      rule: 'accepted',
      text: '250 ok',
    })),
  });
  const send = async (message: OutgoingMessage): Promise<DeliveryOutcome> => {
    begun.push(message.messageId);
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
    return outcomeOf(message);
  };
  return {
    ...mailerBy(send, { final: true, host: 'gate' }),
    begun,
    release: (count) => {
      free += count;
      while (free > 0 && waiting.length > 0) {
        free -= 1;
        waiting.shift()!();
      }
    },
  };
};

const EVERYTHING = Number.MAX_SAFE_INTEGER;

t.setTimeout(900_000);

const start = async (
  t: Test,
  dataDir: string,
  mailer: Mailer,
  settings: Readonly<Record<string, string>> = {},
): Promise<TestApp> => {
  const app = await startTestApp({
    dataDir,
    mailer,
    settings: { SEALPOST_SMTP_URL: 'smtp://unused.example', ...settings },
  });
  t.teardown(() => app.stop());
  return app;
};

/**
 * Accepts many emails, some at a time so that they share commits; answers their Message-IDs in the order of acceptance.
 */
const sendMany = async (
  app: TestApp,
  count: number,
  priority: 'high' | 'normal' | 'low' = 'normal',
): Promise<readonly string[]> => {
  const commands = makeCommands(app.engine);
  const caller = systemCaller((await firstTeam(app.engine))!, 'test', 'test');
  const sent: string[] = [];
  for (let from = 0; from < count; from += 100) {
    const answers = await Promise.all(
      Array.from({ length: Math.min(100, count - from) }, (_, index) =>
        commands.sendEmail(caller, {
          templateId: 'sign-in-code',
          to: [{ email: `to${from + index}@example.com` }],
          variables: signInVariables,
          priority,
        }),
      ),
    );
    sent.push(...answers.map(({ body }) => body.messageId));
  }
  return sent;
};

/**
 * Waits until the events of now have come to every follower of the log in this process: the relay began to follow
 * before us.
 */
const whenFollowed = async (app: TestApp): Promise<void> => {
  const head = await app.engine.store.head();
  for await (const { position } of app.engine.store.subscribeAll(0, { signal: new AbortController().signal }))
    if (position >= head) break;
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
};

await t.test('5,000 emails with room for 4,096 pointers all leave, each once', async (t) => {
  const mailer = gatedMailer();
  const app = await start(t, temporaryDirectory(t), mailer);
  const sent = await sendMany(app, 5_000);
  await whenFollowed(app);
  t.ok(mailer.begun.length <= app.engine.limits.lanes, 'no more than the lanes are in flight');
  mailer.release(EVERYTHING);
  await eventually('all have begun', () => mailer.begun.length >= sent.length, 60_000);
  const totals = async (status: string) =>
    (await app.call<{ meta: { total: number } }>('GET', `/api/emails?status=${status}&limit=1`)).body.meta.total;
  await eventually('all are delivered', async () => (await totals('delivered')) === sent.length, 60_000);
  t.equal(mailer.begun.length, sent.length);
  t.same([...mailer.begun].sort(), [...sent].sort());
});

await t.test('what was accepted and not delivered before a stop is delivered by the next start', async (t) => {
  const dataDir = temporaryDirectory(t);
  const first = await start(t, dataDir, gatedMailer(), { SEALPOST_ROLES: 'http,project' });
  const sent = [...(await sendMany(first, 30, 'high')), ...(await sendMany(first, 30, 'low'))];
  await first.stop();
  const mailer = gatedMailer();
  mailer.release(EVERYTHING);
  const second = await start(t, dataDir, mailer);
  await eventually('all have left', () => mailer.begun.length >= sent.length);
  await second.stop();
  t.same([...mailer.begun].sort(), [...sent].sort());
});

await t.test('a retry that was waiting for its time before a restart is made after it', async (t) => {
  const dataDir = temporaryDirectory(t);
  const sink = await openSmtpScript({ script: at('message', reply('451 4.3.2 later'), 1) });
  t.teardown(() => sink.close());
  const settings = { SEALPOST_SMTP_URL: `${sink.url}?tls=off`, SEALPOST_RETRY_DELAYS: '60' };
  const clock = fakeClock();
  const first = await startTestApp({ dataDir, clock, settings });
  const { id } = await first.send();
  await sink.whenReceived(1);
  await eventually('the refusal is recorded', async () => (await first.email(id)).nextAttemptAt !== null);
  await first.stop();
  const second = await startTestApp({ dataDir, clock, settings });
  t.teardown(() => second.stop());
  t.equal((await second.whenStatus(id, 'sent', 1_000)).attempts.length, 2);
});

/** Emails that wait for a lane or are in one. */
const onTheBus = async ({ metricsPort }: TestApp): Promise<number> => {
  const figures = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return Number(/^sealpost_bus_depth\{processor="deliver-email"\} (\d+)$/m.exec(figures)?.[1]);
};

const emailsOf = (messageIds: readonly string[]): readonly string[] =>
  messageIds.map((messageId) => messageId.slice(1, messageId.indexOf('@'))).sort();

await t.test('higher priorities overtake, and lower ones are given their share', async (t) => {
  const mailer = gatedMailer();
  const app = await start(t, temporaryDirectory(t), mailer, { SEALPOST_LIMIT_LANES: '1', SEALPOST_METRICS_PORT: '0' });
  await sendMany(app, 1);
  await eventually('the one lane is taken', () => mailer.begun.length === 1);
  const waiting = {
    low: await sendMany(app, 5, 'low'),
    normal: await sendMany(app, 5, 'normal'),
    high: await sendMany(app, 15, 'high'),
  };
  await eventually('all wait on the bus', async () => (await onTheBus(app)) === 26);
  mailer.release(EVERYTHING);
  await eventually('all have left', () => mailer.begun.length === 26);
  const begun = mailer.begun.slice(1).flatMap((messageId) => emailsOf([messageId]));
  t.same(
    begun.toSorted(),
    Object.values(waiting)
      .flatMap((messageIds) => emailsOf(messageIds))
      .toSorted(),
  );
  // Requests that are under way together are accepted in any order; the log says in which.
  const accepted = (await storedEvents(app.engine))
    .filter(({ type }) => type.startsWith('EmailQueued'))
    .map(({ stream }) => stream.slice('email-'.length));
  for (const [priority, ofTwelve] of [
    ['high', 8],
    ['normal', 3],
    ['low', 1],
  ] as const) {
    const own = begun.filter((id) => emailsOf(waiting[priority]).includes(id));
    t.same(
      own,
      own.toSorted((a, b) => accepted.indexOf(a) - accepted.indexOf(b)),
      'within a priority in the order of acceptance',
    );
    t.equal(
      begun.slice(0, 12).filter((id) => own.includes(id)).length,
      ofTwelve,
      `${priority}: its share of the first twelve`,
    );
  }
});

/** The emails of which the log has such an event. */
const emailsWith = async (app: TestApp, type: string): Promise<readonly string[]> =>
  (await storedEvents(app.engine))
    .filter((event) => event.type.startsWith(type))
    .map(({ stream }) => stream.slice('email-'.length))
    .sort();

await t.test(
  'an attempt is recorded before its dialogue, and what is in a dialogue at a stop is recorded before the end',
  async (t) => {
    const dataDir = temporaryDirectory(t);
    const mailer = gatedMailer();
    const app = await start(t, dataDir, mailer);
    await sendMany(app, 40);
    await eventually('some have begun', () => mailer.begun.length >= 5);
    // Others begin while the log is read.
    const begun = emailsOf(mailer.begun);
    const recorded = await emailsWith(app, 'DeliveryAttempted');
    t.same(
      begun.filter((id) => !recorded.includes(id)),
      [],
      'no dialogue without a recorded attempt',
    );

    const stopped = app.stop();
    mailer.release(EVERYTHING);
    await stopped;
    const again = await start(t, dataDir, gatedMailer(), { SEALPOST_ROLES: 'http' });
    t.same(await emailsWith(again, 'EmailDelivered'), emailsOf(mailer.begun), 'each dialogue has its outcome');
    t.same(await emailsWith(again, 'DeliveryAttempted'), emailsOf(mailer.begun), 'and nothing else was begun');
  },
);
