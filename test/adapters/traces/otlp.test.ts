/** Sending spans: what comes at the collector, and that one that is away, hangs or refuses costs no more than spans. */
import t, { type Test } from 'tap';
import { openOtlp, type OtlpOptions } from '../../../src/adapters/traces/otlp.js';
import type { FinishedSpan, Tracer } from '../../../src/domain/ports/tracer.js';
import { keptLog } from '../../support/kept-log.js';
import { openCollector, type Collector } from '../../support/otlp-collector.js';
import { eventually } from '../../support/wait.js';

t.setTimeout(900_000);

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

type World = Readonly<{ collector: Collector; tracer: Tracer; lines: readonly string[]; dropped: () => number }>;

const openWorld = async (t: Test, more: Partial<OtlpOptions> = {}): Promise<World> => {
  const collector = await openCollector();
  const { logger, lines } = keptLog();
  let lost = 0;
  const tracer = openOtlp({
    url: `${collector.url}/v1/traces`,
    headers: {},
    resource: { 'service.name': 'test' },
    ratio: 1,
    version: '1.0.0',
    logger,
    dropped: (spans) => (lost += spans),
    ...more,
  });
  t.teardown(async () => {
    await collector.close();
    await tracer.close();
  });
  return { collector, tracer, lines, dropped: () => lost };
};

const span = (more: Partial<FinishedSpan> = {}): FinishedSpan => ({
  traceId: TRACE_ID,
  spanId: '00f067aa0ba902b7',
  name: 'deliver',
  kind: 'client',
  startMs: 1_790_000_000_999.75,
  endMs: 1_790_000_001_000.25,
  attributes: { text: 'a', number: 451, fraction: 0.5, flag: true },
  ...more,
});

const recordMany = ({ tracer }: World, count: number): void => {
  for (let index = 0; index < count; index += 1) tracer.record(span());
};

await t.test('A span comes with its ids, times, attributes and link; what waits is sent at the end', async (t) => {
  const { collector, tracer } = await openWorld(t);
  tracer.record(
    span({ parent: '1111111111111111', link: { traceId: '2'.repeat(32), spanId: '3'.repeat(16) }, isError: true }),
  );
  await tracer.close();
  t.same(collector.spans, [
    {
      traceId: TRACE_ID,
      spanId: '00f067aa0ba902b7',
      parent: '1111111111111111',
      name: 'deliver',
      kind: 3,
      startMs: 1_790_000_000_999.75,
      endMs: 1_790_000_001_000.25,
      attributes: { text: 'a', number: 451, fraction: 0.5, flag: true },
      links: [{ traceId: '2'.repeat(32), spanId: '3'.repeat(16) }],
      isError: true,
      resource: { 'service.name': 'test' },
    },
  ]);
});

await t.test('Whether a trace is wanted is told by its id alone', async (t) => {
  const [none, half] = [await openWorld(t, { ratio: 0 }), await openWorld(t, { ratio: 0.5 })];
  t.equal(none.tracer.samples(TRACE_ID), false);
  const ids = Array.from(
    { length: 1_000 },
    (_, n) => `${TRACE_ID.slice(8)}${(Math.imul(n, 0x9e37_79b1) >>> 0).toString(16).padStart(8, '0')}`,
  );
  const wanted = ids.filter(half.tracer.samples);
  t.ok(wanted.length > 400 && wanted.length < 600, String(wanted.length));
  t.same(ids.filter(half.tracer.samples), wanted);
});

await t.test(
  'Of what a collector refuses there is one line and a count; a line too when it takes spans again',
  async (t) => {
    const world = await openWorld(t);
    world.collector.behave(400);
    recordMany(world, 1_024);
    await eventually('both batches were refused', () => world.dropped() === 1_024);
    t.match(world.lines, [/spans cannot be sent to the collector/]);
    t.equal(world.lines.length, 1);
    world.collector.behave('takes');
    recordMany(world, 512);
    await eventually('they came', () => world.collector.spans.length === 512 && world.lines.length === 2);
    t.match(world.lines[1], /spans can be sent to the collector again/);
    t.equal(world.dropped(), 1_024);
  },
);

await t.test(
  'While a collector hangs a bounded number waits, the rest is dropped and counted, and the end is bounded too',
  async (t) => {
    const world = await openWorld(t);
    world.collector.behave('hangs');
    recordMany(world, 20_000);
    // A batch of 512 is under way, and 8,192 wait.
    t.equal(world.dropped(), 20_000 - 512 - 8_192);
    await world.tracer.close();
    recordMany(world, 1);
    t.equal(world.dropped(), 20_000 - 512 - 8_192 + 1, 'nothing is taken after the end');
  },
);
