/**
 * Traces at a collector: one for each email, from the call to the last attempt, by the ids of its events; and no mail
 * lost to them.
 */
import t, { type Test } from 'tap';
import { spanIdOf, traceIdOf } from '../../src/service/observe/traces.js';
import { sendBody, startTestApp, storedEvents, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { openCollector, type Collector, type ReceivedSpan } from '../support/otlp-collector.js';
import { at, openSmtpScript, reply } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

const REQUEST_ID = '0af76519-16cd-43dd-8448-eb211c80319c';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

type World = Readonly<{
  collector: Collector;
  delivered: () => number;
  start: (more?: Readonly<Record<string, string>>) => Promise<TestApp>;
}>;

const openWorld = async (t: Test, refused = 0): Promise<World> => {
  const collector = await openCollector();
  t.teardown(() => collector.close());
  const sink = await openSmtpScript(
    refused > 0 ? { script: at('message', reply('451 4.3.0 ada@example.com comes later'), refused) } : {},
  );
  t.teardown(() => sink.close());
  const dataDir = temporaryDirectory(t);
  return {
    collector,
    delivered: () => sink.accepted().length,
    start: async (more = {}) => {
      const settings = {
        SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
        SEALPOST_RETRY_DELAYS: '1',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        ...more,
      };
      const app = await startTestApp({ isFounded: true, dataDir, settings });
      t.teardown(() => app.stop());
      return app;
    },
  };
};

/** Every span has a parent in its trace, but for one. */
const rootOf = (t: Test, spans: readonly ReceivedSpan[]): ReceivedSpan => {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  t.equal(ids.size, spans.length, 'each span has an id of its own');
  const roots = spans.filter(({ parent }) => !ids.has(parent));
  t.equal(roots.length, 1, `one root of ${spans.map(({ name }) => name).join(', ')}`);
  return roots[0]!;
};

const NAMES = [
  'POST /api/emails/send',
  'append DeliveryAttempted',
  'append DeliveryAttempted',
  'append EmailDeferred',
  'append EmailQueued',
  'append EmailSent',
  'compose',
  'compose',
  'deliver',
  'deliver',
  'render',
  'render',
  'render',
];

/** The trace of one email that was taken at the second attempt. */
const checkTrace = async (t: Test, { collector }: World, app: TestApp, emailId: string): Promise<void> => {
  const ofTrace = () => collector.spans.filter(({ traceId }) => traceId === TRACE_ID);
  await eventually('the trace is whole', () => ofTrace().length >= NAMES.length);
  const spans = ofTrace();
  t.same(spans.map(({ name }) => name).sort(), NAMES);
  t.equal(rootOf(t, spans).name, 'POST /api/emails/send');
  const named = (name: string) => spans.filter((span) => span.name === name).sort((a, b) => a.startMs - b.startMs);
  const [call] = named('POST /api/emails/send');
  t.match(call, {
    kind: 2,
    parent: '',
    isError: false,
    attributes: { 'http.route': '/api/emails/send', 'http.response.status_code': 201 },
  });

  const events = (await storedEvents(app.engine)).filter(({ stream }) => stream === `email-${emailId}`);
  const spanOfEvent = new Map(spans.map((span) => [span.spanId, span]));
  for (const { eventId, type, metadata } of events) {
    const { correlationId, causationId } = JSON.parse(metadata) as Readonly<{
      correlationId: string;
      causationId: string;
    }>;
    const span = spanOfEvent.get(spanIdOf(eventId));
    t.equal(
      span?.name,
      type.startsWith('DeliveryAttempted') ? 'deliver' : `append ${type.split('.')[0]}`,
      `the span of ${type}`,
    );
    t.equal(traceIdOf(correlationId), span?.traceId);
    t.equal(
      span?.parent,
      causationId === correlationId ? call?.spanId : spanIdOf(causationId),
      `the parent of ${type}`,
    );
  }
  const [first, second] = named('deliver');
  t.match(first, {
    kind: 3,
    isError: true,
    attributes: { 'server.address': '127.0.0.1', 'sealpost.attempt': 1, 'sealpost.outcome': 'deferred' },
  });
  t.match(first?.attributes, { 'sealpost.smtp.reply_code': 451, 'error.type': /^[a-z-]+$/ });
  t.match(second, {
    isError: false,
    attributes: { 'sealpost.attempt': 2, 'sealpost.outcome': 'accepted', 'sealpost.smtp.reply_code': 250 },
  });
  t.equal(second?.parent, named('append EmailDeferred')[0]?.spanId);
  for (const { startMs, endMs } of spans)
    t.ok(endMs >= startMs && Math.abs(Date.now() - startMs) < 120_000, 'times are those of the clock');
};

/** Asserts that spans contain no data of the person, the mail or the key. */
const checkPrivacy = (t: Test, { collector }: World, key: string): void => {
  // Ids are left out: their digits may happen to read as anything.
  const said = JSON.stringify(collector.spans).replace(/[0-9a-f-]{16,}/g, '');
  t.match(said, 'sealpost.stream');
  for (const secret of ['ada@', 'example.com', 'Ada Example', '482913', 'sign-in-code', 'comes later', key, 'Bearer'])
    t.notOk(said.includes(secret), secret);
};

await t.test('A send with two attempts is one trace, whose ids are those of its events', async (t) => {
  const world = await openWorld(t, 1);
  const app = await world.start({ OTEL_SERVICE_NAME: 'mail', OTEL_EXPORTER_OTLP_HEADERS: 'x-token=a%20b' });
  const { id } = await app.send({}, { 'x-request-id': REQUEST_ID });
  await checkTrace(t, world, app, id);
  checkPrivacy(t, world, app.key);
  t.equal(world.collector.spans[0]?.resource['service.name'], 'mail');
  t.equal(world.collector.headers()?.['x-token'], 'a b');
});

await t.test('The same where one process answers and another delivers, with nothing passed between them', async (t) => {
  const world = await openWorld(t, 1);
  const app = await world.start({ SEALPOST_ROLES: 'http' });
  await world.start({ SEALPOST_ROLES: 'project' });
  await world.start({ SEALPOST_ROLES: 'process' });
  const { id } = await app.send({}, { 'x-request-id': REQUEST_ID });
  await checkTrace(t, world, app, id);
  checkPrivacy(t, world, app.key);
});

await t.test('The trace of a caller is linked, or continued where the request id is that of the trace', async (t) => {
  const { collector, start } = await openWorld(t);
  const app = await start();
  const traceparent = `00-${TRACE_ID}-00f067aa0ba902b7-01`;
  const linked = await app.call('POST', '/api/emails/send', sendBody(), { traceparent });
  await app.send({}, { traceparent, 'x-request-id': TRACE_ID });
  await app.send({}, { traceparent, 'x-request-id': TRACE_ID });
  const requestId = String(linked.headers['x-request-id']);
  t.match(requestId, /^[0-9a-f]{32}$/, 'a fresh request id can be the id of a trace');
  const calls = () => collector.spans.filter(({ name }) => name === 'POST /api/emails/send');
  await eventually('all came', () => calls().length === 3);
  const [apart] = calls().filter(({ traceId }) => traceId === requestId);
  t.match(apart, { parent: '', links: [{ traceId: TRACE_ID, spanId: '00f067aa0ba902b7' }] });
  const continued = calls().filter(({ traceId }) => traceId === TRACE_ID);
  t.same(
    continued.map(({ parent, links }) => ({ parent, links })),
    [1, 2].map(() => ({ parent: '00f067aa0ba902b7', links: [] })),
  );
  t.not(continued[0]?.spanId, continued[1]?.spanId, 'a request id that comes again makes another span');
});

await t.test(
  'A retry by hand is in the trace of its own call and in that of the email, and its attempt follows from it',
  async (t) => {
    const { collector, start } = await openWorld(t, 1);
    const app = await start({ SEALPOST_RETRY_DELAYS: '86400' });
    const { id } = await app.send({}, { 'x-request-id': REQUEST_ID });
    const ofTrace = (name: string) => collector.spans.filter((span) => span.traceId === TRACE_ID && span.name === name);
    await eventually('the first attempt is deferred', () => ofTrace('append EmailDeferred').length === 1);
    const pushed = await app.call('POST', '/api/emails/retry', { status: 'queued' });
    t.equal(pushed.body['retried'], 1, pushed.text);
    await app.whenStatus(id, 'sent');
    await eventually('the second attempt came', () => ofTrace('deliver').length === 2);
    const [released] = ofTrace('append EmailReleased');
    t.match(released?.links, [
      { traceId: traceIdOf(String(pushed.headers['x-request-id'])), spanId: released?.spanId },
    ]);
    t.equal(ofTrace('deliver').find(({ parent }) => parent === released?.spanId)?.attributes['sealpost.attempt'], 2);
  },
);

await t.test('A refused call names its code, and what needs no key makes no span', async (t) => {
  const { collector, start } = await openWorld(t);
  const app = await start();
  await app.call('GET', '/health/ready');
  await app.call('POST', '/api/emails/send', sendBody({ templateId: 'no-such-template' }));
  await app.call('GET', '/api/emails', undefined, { authorization: 'Bearer wrong' });
  await eventually('both came', () => collector.spans.length >= 2);
  await app.stop();
  t.same(
    collector.spans.map(({ name, isError, attributes }) => [
      name,
      isError,
      attributes['http.response.status_code'],
      attributes['error.type'],
    ]),
    [
      ['POST /api/emails/send', false, 404, 'ERR_TMPL_002'],
      ['GET /api/emails', false, 401, 'INVALID_API_KEY'],
    ],
  );
});

await t.test('A share of the traces is sent whole, the others not at all', async (t) => {
  const world = await openWorld(t);
  const { collector, start } = world;
  const ratio = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
  const app = await start({ ...ratio, SEALPOST_ROLES: 'http,project' });
  const delivering = await start({ ...ratio, SEALPOST_ROLES: 'process' });
  for (let sent = 0; sent < 40; sent += 1) await app.send();
  await eventually('all are delivered', () => world.delivered() === 40);
  await delivering.stop();
  await app.stop();
  const namesOf = new Map<string, string[]>();
  for (const { traceId, name } of collector.spans) namesOf.set(traceId, [...(namesOf.get(traceId) ?? []), name]);
  t.ok(namesOf.size > 5 && namesOf.size < 35, `${namesOf.size} of 40 traces`);
  for (const names of namesOf.values())
    t.same([names.includes('POST /api/emails/send'), names.includes('append EmailSent')], [true, true]);
});

await t.test('A collector that hangs, refuses or is away loses no mail, and what it lost is counted', async (t) => {
  const world = await openWorld(t);
  const { collector, start, delivered } = world;
  const app = await start({ SEALPOST_METRICS_PORT: '0' });
  const dropped = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${app.metricsPort}/metrics`)).text();
    return Number(/^sealpost_spans_dropped_total (\d+)$/m.exec(text)?.[1]);
  };
  let sent = 0;
  const sendMany = async (): Promise<void> => {
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(Array.from({ length: 50 }, () => app.send()));
      sent += 50;
    }
    await eventually('all are delivered', () => delivered() === sent);
  };
  t.equal(await dropped(), 0);
  collector.behave(400);
  await sendMany();
  await eventually('what was refused is counted', async () => (await dropped()) > 0);
  collector.behave('hangs');
  await sendMany();
  await collector.close();
  await sendMany();
  await app.stop();
  t.equal(delivered(), 450);
});
