/** The whole service while somebody sets the clock: nothing early, nothing held up, nothing destroyed. */
import t, { type Test } from 'tap';
import { isoTime, DAY_MS } from '../../src/domain/core/time.js';
import { advanceUntil, startTestApp, storedEvents, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { at, openSmtpScript, reply } from '../support/smtp-script.js';

t.setTimeout(900_000);

const START_MS = Date.parse('2026-01-01T00:00:00.000Z');
const HOUR_MS = 3_600_000;
/** An email is put off until then. */
const LATER_MS = START_MS + HOUR_MS + 10 * 60_000;

const start = async (
  t: Test,
  dataDir: string,
  clock: FakeClock,
  settings: Readonly<Record<string, string>> = {},
): Promise<TestApp> => {
  const app = await startTestApp({ isFounded: true, dataDir, clock, settings });
  t.teardown(() => app.stop());
  return app;
};

const isArchived = async (app: TestApp, id: string): Promise<boolean> => (await app.email(id)).archived;

await t.test(
  'a clock that is set forward sends nothing early and archives nothing; what the caller deletes goes at once',
  async (t) => {
    const clock = fakeClock(START_MS);
    const app = await start(t, temporaryDirectory(t), clock);
    const [old, doomed] = [await app.send(), await app.send()];
    for (const { id } of [old, doomed]) await app.whenStatus(id, 'delivered');
    const later = await app.send({ scheduledAt: isoTime(START_MS + HOUR_MS) });
    await app.whenCaughtUp();
    clock.shift(40 * DAY_MS);
    for (let round = 0; round < 6; round += 1) await clock.advance(9 * 60_000);
    await app.whenCaughtUp();
    t.equal((await app.email(later.id)).status, 'scheduled');
    t.notOk(await isArchived(app, old.id));
    t.equal((await app.call('DELETE', `/api/emails/${doomed.id}`)).status, 200);
    t.equal((await app.call('GET', `/api/emails/${doomed.id}`)).status, 404);
    await clock.advance(7 * 60_000);
    const sent = await app.whenStatus(later.id, 'delivered', 1_000);
    t.ok(Date.parse(sent.sentAt!) < START_MS + 2 * HOUR_MS, 'at its own time');
  },
);

await t.test(
  'nothing leaves before its time, as it was given or as it was changed, after a restart too; what is cancelled stays',
  async (t) => {
    const dataDir = temporaryDirectory(t);
    const before = await start(t, dataDir, fakeClock(START_MS));
    const asGiven = await before.send({ scheduledAt: isoTime(START_MS + HOUR_MS) });
    const [sooner, later, cancelled] = [
      await before.send({ scheduledAt: isoTime(START_MS + 5 * HOUR_MS) }),
      await before.send({ scheduledAt: isoTime(START_MS + HOUR_MS / 2) }),
      await before.send({ scheduledAt: isoTime(START_MS + HOUR_MS) }),
    ];
    const move = (id: string, atMs: number) =>
      before.call('PATCH', `/api/emails/${id}`, { scheduledAt: isoTime(atMs) });
    t.match(await move(sooner.id, START_MS + HOUR_MS + 1_500), { status: 200, body: { status: 'scheduled' } });
    t.match(await move(later.id, LATER_MS), { status: 200 });
    const cancel = await before.call('POST', `/api/emails/${cancelled.id}/cancel`);
    t.match(cancel, { status: 200, body: { id: cancelled.id, status: 'cancelled' } });
    t.match(await before.call('GET', '/api/emails?status=cancelled'), {
      body: { data: [{ id: cancelled.id }], meta: { total: 1 } },
    });
    await before.stop();

    const clock = fakeClock(START_MS + HOUR_MS - 10_000);
    const app = await start(t, dataDir, clock);
    for (const [{ id }, dueMs] of [
      [asGiven, START_MS + HOUR_MS],
      [sooner, START_MS + HOUR_MS + 1_500],
      [later, LATER_MS],
    ] as const) {
      while (clock.now() < dueMs - 1) await clock.advance(Math.min(dueMs - 1 - clock.now(), 9 * 60_000));
      await app.whenCaughtUp();
      if (clock.now() < dueMs) t.equal((await app.email(id)).status, 'scheduled');
      const { sentAt } = await app.whenStatus(id, 'delivered', 100);
      t.ok(Date.parse(sentAt!) >= dueMs, `${sentAt}`);
    }
    t.match(await app.email(cancelled.id), { status: 'cancelled', sentAt: null });
    t.match(await app.call('PATCH', `/api/emails/${later.id}`, { scheduledAt: isoTime(START_MS + 9 * HOUR_MS) }), {
      status: 400,
      body: { code: 'EMAIL_NOT_SCHEDULED' },
    });
    t.match(await app.call('POST', `/api/emails/${later.id}/cancel`), {
      status: 400,
      body: { code: 'EMAIL_NOT_CANCELLABLE' },
    });
  },
);

await t.test('a clock that is set back an hour holds up no retry and no schedule', async (t) => {
  const sink = await openSmtpScript({ script: at('rcpt', reply('451 4.7.1 later'), 1) });
  t.teardown(() => sink.close());
  const clock = fakeClock(START_MS);
  const app = await start(t, temporaryDirectory(t), clock, {
    SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
    SEALPOST_RETRY_DELAYS: '120',
  });
  const deferred = await app.send();
  const scheduled = await app.send({ scheduledAt: isoTime(START_MS + 5 * 60_000) });
  await advanceUntil(clock, 500, 'it is deferred', async () => (await app.email(deferred.id)).attempts.length === 1);
  clock.shift(-HOUR_MS);
  await clock.advance(3 * 60_000);
  await app.whenStatus(deferred.id, 'sent', 500);
  await clock.advance(3 * 60_000);
  await app.whenStatus(scheduled.id, 'sent', 500);
});

await t.test('after a week away what was due leaves at once, and nothing is destroyed for a day', async (t) => {
  const dataDir = temporaryDirectory(t);
  const before = await start(t, dataDir, fakeClock(START_MS));
  const old = await before.send();
  await before.whenStatus(old.id, 'delivered');
  const due = await before.send({ scheduledAt: isoTime(START_MS + DAY_MS) });
  await before.stop();

  const clock = fakeClock(START_MS + 40 * DAY_MS);
  const after = await start(t, dataDir, clock);
  await after.whenStatus(due.id, 'delivered', 500);
  for (let round = 0; round < 5; round += 1) await clock.advance(9 * 60_000);
  t.notOk(await isArchived(after, old.id));
  await clock.advance(DAY_MS);
  await advanceUntil(clock, 1_000, 'it is archived', () => isArchived(after, old.id));
  const seen = (await storedEvents(after.engine))
    .filter(({ type }) => type === 'InstanceSeen.v1')
    .map(({ data }) => JSON.parse(data) as { awayMs: number | null });
  t.equal(seen[0]!.awayMs, 40 * DAY_MS, 'the ledger tells how long');
  t.ok(seen.length >= 2, 'and each hour that it is there');
});
