/**
 * An older and a newer program on one store: the older passes over what it cannot read, and the newer goes on where the
 * older stops.
 */
import t from 'tap';
import { current, makeCodec, type Codec, type EventVersions } from '../../src/event-log/codec.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { makeProjections } from '../../src/projections/index.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { advanceUntil, startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock } from '../support/fake-clock.js';
import { memoryLog } from '../support/memory-ports.js';

t.setTimeout(900_000);

const SECOND_MS = 1_000;

/** A program that has one more version of an event: its payload stands in a field of its own. */
const newerVersions: EventVersions = {
  current: { ...current, EmailDelivered: 'EmailDelivered.v2' },
  earlier: {
    'EmailDelivered.v1': { type: 'EmailDelivered', upcast: (payload) => payload },
  },
};
const newerCodec: Codec = makeCodec(newerVersions);

type Health = Readonly<{
  status: string;
  log: Readonly<{ unknownEvent: Readonly<{ position: number; type: string }> | null }>;
}>;
const emails = makeProjections(defaultLimits).find(({ name }) => name === 'emails')!;
const healthOf = async (app: TestApp): Promise<Health> => (await app.call<Health>('GET', '/health/ready')).body;
const listed = async (app: TestApp): Promise<number> =>
  (await app.call<{ meta: { total: number } }>('GET', '/api/emails?status=delivered')).body.meta.total;

await t.test(
  'at what it does not know the older stops, says so, and leaves the read models to the newer',
  async (t) => {
    const [dataDir, clock] = [temporaryDirectory(t), fakeClock()];
    const logger = memoryLog();
    const older = await startTestApp({ dataDir, clock, logger, settings: { SEALPOST_ROLES: 'http,project' } });
    t.teardown(older.stop);
    const newer = await startTestApp({ dataDir, clock, codec: newerCodec });
    t.teardown(newer.stop);
    const first = await newer.send();
    await newer.whenStatus(first.id, 'delivered', SECOND_MS);
    await advanceUntil(clock, SECOND_MS, 'the newer keeps the lists', async () => (await listed(newer)) === 1);
    const stored = await newer.engine.store.readStream(`email-${first.id}`);
    const { position } = stored.find(({ type }) => type === 'EmailDelivered.v2')!;
    t.match(await healthOf(older), {
      status: 'degraded',
      log: { unknownEvent: { position, type: 'EmailDelivered.v2' } },
    });
    t.match(
      logger.lines.find(({ message }) => message.includes('newer version')),
      { fields: { position, storedType: 'EmailDelivered.v2', stream: `email-${first.id}` } },
    );
    t.match(await older.call('GET', `/api/emails/${first.id}`), {
      status: 500,
      body: { code: 'EVENT_UNKNOWN', message: /newer version/ },
    });
    const second = await older.send();
    await newer.whenStatus(second.id, 'delivered', SECOND_MS);
    await advanceUntil(
      clock,
      SECOND_MS,
      'what the older accepts is delivered and listed',
      async () => (await listed(older)) === 2,
    );
  },
);

await t.test('a start after a newer program says which event it cannot read, and serves the rest', async (t) => {
  const [dataDir, clock] = [temporaryDirectory(t), fakeClock()];
  const newer = await startTestApp({ dataDir, clock, codec: newerCodec });
  t.teardown(newer.stop);
  const { id } = await newer.send();
  await newer.whenStatus(id, 'delivered', SECOND_MS);
  await newer.whenCaughtUp();
  await newer.stop();
  const logger = memoryLog();
  const older = await startTestApp({ dataDir, clock, logger });
  t.teardown(older.stop);
  const line = logger.lines.find(
    ({ level, fields }) => level === 'error' && fields['storedType'] === 'EmailDelivered.v2',
  );
  t.match(
    line?.message,
    new RegExp(
      `^the event at position \\d+ of the log \\(email-${id}, revision \\d, EmailDelivered\\.v2\\) was written by a newer version`,
    ),
  );
  t.match(await healthOf(older), { status: 'degraded', log: { unknownEvent: { type: 'EmailDelivered.v2' } } });
  const next = await older.send();
  await older.whenStatus(next.id, 'delivered', SECOND_MS);
});

await t.test(
  'without the newer program one email waits, and lists, scheduled mails and the backlog of all others go on',
  async (t) => {
    const [dataDir, clock] = [temporaryDirectory(t), fakeClock()];
    const hour = (): string => new Date(clock.now() + 3_600_000).toISOString();
    const before = await startTestApp({ dataDir, clock });
    t.teardown(before.stop);
    const scheduled = await before.send({ scheduledAt: hour() });
    await before.whenCaughtUp();
    await before.stop();
    // Its read models are those of the older program: nobody has folded what only the newer knows.
    const between = await startTestApp({
      dataDir,
      clock,
      codec: newerCodec,
      settings: { SEALPOST_ROLES: 'http,process' },
    });
    t.teardown(between.stop);
    const theirs = await between.send();
    await between.whenStatus(theirs.id, 'delivered', SECOND_MS);
    await between.stop();

    const older = await startTestApp({ dataDir, clock });
    t.teardown(older.stop);
    const later = await older.send({ scheduledAt: hour() });
    const all = await older.call<{ data: readonly { id: string }[] }>('GET', '/api/emails?limit=50');
    t.equal(all.status, 200, 'while it gives way, lists are answered');
    await advanceUntil(
      clock,
      60 * SECOND_MS,
      'what is scheduled goes out and is listed',
      async () => (await listed(older)) === 2,
    );
    for (const { id } of [scheduled, later]) await older.whenStatus(id, 'delivered', SECOND_MS);
    t.match(await older.call('GET', `/api/emails/${theirs.id}`), { status: 500, body: { code: 'EVENT_UNKNOWN' } });
    t.match(await healthOf(older), { status: 'degraded', log: { unknownEvent: { type: 'EmailDelivered.v2' } } });
    const { data } = (await older.call<{ data: readonly { id: string }[] }>('GET', '/api/emails?limit=50')).body;
    t.same(new Set(data.map(({ id }) => id)), new Set([scheduled.id, theirs.id, later.id]));
    await older.whenCaughtUp();
    t.equal((await compareWithRebuild(emails, older.engine)).difference, undefined, 'a rebuild passes over the same');
    await older.stop();

    const newer = await startTestApp({ dataDir, clock, codec: newerCodec });
    t.teardown(newer.stop);
    await advanceUntil(
      clock,
      SECOND_MS,
      'the newer makes the read model anew',
      async () => (await listed(newer)) === 3,
    );
    await newer.whenCaughtUp();
    t.match(await compareWithRebuild(emails, newer.engine), { difference: undefined, foldedByNewer: undefined });
    const seen = (await newer.engine.readModels.inspect(emails.name, emails.collections))!;
    t.equal((await seen.live.checkpoint()).passedOver, undefined);
    await seen.close();
  },
);
