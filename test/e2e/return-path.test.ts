/**
 * Reports that come to the return path by SMTP, on each engine: one process serves and listens, another delivers, a
 * third keeps the read models.
 */
import t, { type Test } from 'tap';
import type { EventStore } from '../../src/domain/ports/event-store.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { engineNames, openEngineOfTest, type EngineName } from '../support/engines.js';
import { memoryLog, type MemoryLog } from '../support/memory-ports.js';
import { openRawSmtp } from '../support/raw-smtp.js';
import { deliveryReport } from '../support/reports.js';
import { held, type SmtpAction } from '../support/smtp-moments.js';
import { openSmtpScript, type SmtpScriptServer } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

const DOMAIN = 'bounces.example.com';
const ADA = 'ada@example.com';

type World = Readonly<{
  http: TestApp;
  sink: SmtpScriptServer;
  logger: MemoryLog;
  /** Whether the store of the process that listens refuses to append. */
  store: { isAway: boolean };
  /** The answers of the relay to messages. */
  relay: { answers: () => SmtpAction | undefined };
}>;

const goingAway =
  (state: { isAway: boolean }) =>
  (store: EventStore): EventStore => ({
    ...store,
    append: async (stream, expectedRevision, events) => {
      if (state.isAway && events.some(({ type }) => type.startsWith('EmailBounceReported')))
        throw new Error('the store is away');
      return store.append(stream, expectedRevision, events);
    },
  });

/** Undefined where a server is missing. */
const openWorld = async (t: Test, name: EngineName): Promise<World | undefined> => {
  const engine = await openEngineOfTest(t, name);
  if (engine === undefined) return undefined;
  const [logger, store] = [memoryLog(), { isAway: false }];
  const relay: World['relay'] = { answers: () => undefined };
  const sink = await openSmtpScript({ script: ({ step }) => (step === 'message' ? relay.answers() : undefined) });
  t.teardown(() => sink.close());
  const start = async (role: string): Promise<TestApp> => {
    const { SEALPOST_DATA_DIR: dataDir = '', ...settings } = {
      ...engine.ofProcess(),
      SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
      SEALPOST_RETURN_PATH_DOMAIN: DOMAIN,
      SEALPOST_INBOUND_SMTP_PORT: '0',
      SEALPOST_ROLES: role,
    } as Readonly<Record<string, string>>;
    const app = await startTestApp({
      isFounded: name === 'embedded',
      dataDir,
      settings,
      ...(role === 'http' ? { logger, wrapStore: goingAway(store) } : {}),
    });
    t.teardown(() => app.stop());
    return app;
  };
  const http = await start('http');
  for (const role of ['process', 'project'])
    t.equal((await start(role)).inboundSmtpPort, undefined, `${role} does not listen`);
  return { http, sink, logger, store, relay };
};

/** Gives the report as a host does. Out: the reply to the recipient where that was refused, else to the message. */
const give = async ({ http }: World, to: string, report: string): Promise<string> => {
  const client = await openRawSmtp(http.inboundSmtpPort!);
  try {
    await client.reply();
    await client.ask('EHLO mx.example.net');
    await client.ask('MAIL FROM:<>');
    const reply = await client.ask(`RCPT TO:<${to}>`);
    if (!reply.startsWith('250')) return reply;
    await client.ask('DATA');
    return await client.ask(`${report}\r\n.`);
  } finally {
    client.end();
  }
};

const bounceOf = (sender: string): string =>
  deliveryReport(sender, {
    action: 'failed',
    status: '5.1.1',
    diagnostic: '550 5.1.1 <ada@example.com> user unknown',
    recipients: [ADA],
  });

const gate = (): readonly [Promise<void>, () => void] => {
  let release = (): void => undefined;
  return [new Promise<void>((resolve) => (release = resolve)), () => release()];
};

for (const name of engineNames)
  await t.test(name, async (t) => {
    const world = await openWorld(t, name);
    if (world === undefined) return t.comment('a server is missing');
    const { http, sink, store } = world;
    const { id } = await http.send();
    await http.whenStatus(id, 'sent');
    const sender = sink.received[0]!.envelope.from;
    const report = bounceOf(sender);

    t.match(await give(world, sender.replace('bounce+', 'bounce+a'), report), /^550/);
    t.match(await give(world, sender.replace(/bounce\+.../, 'bounce+aaa'), report), /^550/);
    t.match(await give(world, ADA, report), /^550/);
    t.equal((await http.email(id)).status, 'sent');

    store.isAway = true;
    t.match(await give(world, sender, report), /^451/, 'it cannot be recorded now');
    store.isAway = false;
    t.equal((await http.email(id)).status, 'sent');
    t.match(await give(world, sender.toUpperCase(), report), /^250/);
    t.match(
      await http.email(id),
      { status: 'bounced', recipients: [{ bounceType: 'hard', bounceSubType: 'no-such-mailbox' }] },
      'at once',
    );
    t.match(await give(world, sender, report), /^250/, 'told twice');
    await eventually('the address is suppressed', async () => {
      const { body } = await http.call('GET', `/api/suppressions/check?email=${ADA}`);
      return body['suppressed'] === true;
    });

    await t.test('a report that is faster than the end of the dialogue is to come again', async (t) => {
      const [wait, release] = gate();
      world.relay.answers = () => held(wait);
      const early = await http.send({ to: [{ email: 'kim@example.net' }] });
      const token = await eventually(
        'the relay has the sender',
        () =>
          /FROM:<(bounce\+[^>]+)>/.exec(
            sink.commands.filter((line) => / MAIL /.test(line) && !line.includes(sender)).at(-1) ?? '',
          )?.[1],
      );
      await http.whenStatus(early.id, 'processing');
      t.match(await give(world, token, bounceOf(token).replaceAll(ADA, 'kim@example.net')), /^451/);
      release();
      await http.whenStatus(early.id, 'sent');
      t.match(await give(world, token, bounceOf(token).replaceAll(ADA, 'kim@example.net')), /^250/);
      t.equal((await http.email(early.id)).status, 'bounced');
    });

    const told = world.logger.lines
      .map((line) => JSON.stringify([line, String(line.fields['error'] ?? '')]))
      .join('\n');
    t.match(told, /a report came by the return path/);
    t.notMatch(told, /bounce\+|ada@|kim@|user unknown/i, 'no line tells an address or what the report says');
  });
