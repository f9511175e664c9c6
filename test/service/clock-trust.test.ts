/** Removal by age waits after a leap of the clock, and after a time for which the service cannot account. */
import t, { type Test } from 'tap';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { continuedClock, openClockRecord } from '../../src/adapters/clock/system.js';
import { openClockTrust, type ClockTrust } from '../../src/service/ops/clock.js';
import type { ContinuedClock } from '../../src/domain/ports/clock.js';
import { DAY_MS, latestNow, outwardNow } from '../../src/domain/core/time.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { memoryLog } from '../support/memory-ports.js';

const START_MS = Date.parse('2026-01-01T00:00:00.000Z');
const MINUTE_MS = 60_000;

type Run = Readonly<{
  machine: FakeClock;
  clock: ContinuedClock;
  trust: ClockTrust;
  warnings: () => number;
  stop: () => Promise<void>;
}>;

/** One run of the program on a machine; the next goes on with the files that it left. */
const open = async (t: Test, file: string, machine: FakeClock, isNew = false): Promise<Run> => {
  const clock = continuedClock(machine);
  const logger = memoryLog();
  const trust = openClockTrust({ clock, logger, record: openClockRecord(file), isKept: true, isNew });
  const end = new AbortController();
  const running = trust.worker.run(end.signal);
  const stop = async (): Promise<void> => {
    end.abort();
    await running;
  };
  t.teardown(stop);
  await machine.whenWaiting(1);
  return { machine, clock, trust, stop, warnings: () => logger.lines.filter(({ level }) => level === 'warn').length };
};

const fileOf = (t: Test): string => join(temporaryDirectory(t), 'clock.json');

void t.test('a new instance destroys at once what is due, and goes on doing so after a restart', async (t) => {
  const file = fileOf(t);
  const machine = fakeClock(START_MS);
  const first = await open(t, file, machine, true);
  t.ok(first.trust.mayDestroy());
  t.equal(first.trust.awayMs, undefined);
  await machine.advance(MINUTE_MS);
  await first.stop();
  await machine.advance(7 * DAY_MS);
  const second = await open(t, file, machine);
  t.ok(second.trust.mayDestroy(), 'the machine ran on and has counted the week itself');
  t.equal(second.trust.awayMs, 7 * DAY_MS);
  t.equal(first.warnings() + second.warnings(), 0);
});

void t.test('after a leap nothing is destroyed for 24 hours; then the clock is believed', async (t) => {
  for (const byMs of [40 * DAY_MS, -3_600_000]) {
    const { machine, clock, trust, warnings } = await open(t, fileOf(t), fakeClock(START_MS), true);
    machine.shift(byMs);
    t.notOk(trust.mayDestroy(), 'before anybody has looked after the clock');
    t.equal(clock.now(), START_MS);
    await machine.advance(DAY_MS - MINUTE_MS);
    t.notOk(trust.mayDestroy());
    t.equal(warnings(), 1);
    t.equal(clock.now(), START_MS + DAY_MS - MINUTE_MS);
    await machine.advance(2 * MINUTE_MS);
    t.ok(trust.mayDestroy());
    t.equal(clock.now(), START_MS + DAY_MS + MINUTE_MS + byMs);
    t.equal(trust.leapMs(), 0);
  }
});

void t.test('a second leap begins the 24 hours anew', async (t) => {
  const { machine, trust } = await open(t, fileOf(t), fakeClock(START_MS), true);
  for (const byMs of [DAY_MS, -DAY_MS]) {
    machine.shift(byMs);
    await machine.advance(10_000);
    await machine.advance(DAY_MS - MINUTE_MS);
  }
  t.notOk(trust.mayDestroy());
  await machine.advance(2 * MINUTE_MS);
  t.ok(trust.mayDestroy());
});

void t.test('an operator confirms the clock, and the running service sees it', async (t) => {
  const file = fileOf(t);
  const { machine, clock, trust } = await open(t, file, fakeClock(START_MS), true);
  machine.shift(DAY_MS);
  await machine.advance(MINUTE_MS);
  t.notOk(trust.mayDestroy());
  openClockRecord(file).confirm('one');
  await machine.advance(10_000);
  t.ok(trust.mayDestroy());
  t.equal(clock.now(), START_MS + DAY_MS + MINUTE_MS + 10_000);
  machine.shift(DAY_MS);
  await machine.advance(MINUTE_MS);
  t.notOk(trust.mayDestroy(), 'a later leap needs a confirmation of its own');
});

void t.test('a restart believes the clock for sending, and goes on waiting to destroy', async (t) => {
  const file = fileOf(t);
  const machine = fakeClock(START_MS);
  const first = await open(t, file, machine, true);
  machine.shift(DAY_MS);
  await machine.advance(MINUTE_MS);
  await machine.advance(9 * MINUTE_MS);
  await first.stop();
  const second = await open(t, file, machine);
  t.equal(second.clock.now(), START_MS + DAY_MS + 10 * MINUTE_MS);
  t.notOk(second.trust.mayDestroy());
  await machine.advance(DAY_MS - 11 * MINUTE_MS);
  t.notOk(second.trust.mayDestroy());
  await machine.advance(2 * MINUTE_MS);
  t.ok(second.trust.mayDestroy());
});

void t.test(
  'a time away that the machine has not counted is waited for, unless it was short or is confirmed',
  async (t) => {
    const away = async (t: Test, ms: number, confirmation?: string): Promise<Run> => {
      const file = fileOf(t);
      const before = await open(t, file, fakeClock(START_MS), true);
      await before.machine.advance(30 * MINUTE_MS);
      await before.stop();
      if (confirmation !== undefined) openClockRecord(file).confirm(confirmation);
      const after = await open(t, file, fakeClock(START_MS + 30 * MINUTE_MS + ms));
      t.equal(after.trust.awayMs, ms);
      return after;
    };
    for (const ms of [7 * DAY_MS, -3_600_000]) {
      const week = await away(t, ms);
      t.notOk(week.trust.mayDestroy());
      t.equal(week.warnings(), 1);
      await week.machine.advance(DAY_MS + MINUTE_MS);
      t.ok(week.trust.mayDestroy());
    }
    t.ok((await away(t, 5 * MINUTE_MS)).trust.mayDestroy());
    t.ok((await away(t, 7 * DAY_MS, 'by hand')).trust.mayDestroy());
  },
);

void t.test('a log without a record of the time waits, too', async (t) => {
  const { trust } = await open(t, fileOf(t), fakeClock(START_MS));
  t.notOk(trust.mayDestroy());
});

void t.test('time in which the program did not run, or the machine slept, was watched by nobody', async (t) => {
  const file = fileOf(t);
  const machine = fakeClock(START_MS);
  const first = await open(t, file, machine, true);
  t.equal(first.trust.unwatchedMs(0), 0, 'a new instance');
  for (let minute = 0; minute < 30; minute += 1) await machine.advance(MINUTE_MS);
  await first.stop();
  await machine.advance(4 * DAY_MS);
  const second = await open(t, file, machine);
  t.equal(second.trust.unwatchedMs(START_MS), 4 * DAY_MS);
  t.equal(second.trust.unwatchedMs(START_MS + 30 * MINUTE_MS + DAY_MS), 3 * DAY_MS);
  t.equal(second.trust.unwatchedMs(START_MS + 5 * DAY_MS), 0);
  await machine.advance(MINUTE_MS);
  await second.stop();
  await machine.advance(MINUTE_MS);
  const third = await open(t, file, machine);
  t.equal(third.trust.unwatchedMs(START_MS), 4 * DAY_MS, 'a restart is too short to matter, and keeps what is known');
  await third.stop();
  rmSync(file);
  const fourth = await open(t, file, machine);
  t.ok(fourth.trust.unwatchedMs(START_MS) > 4 * DAY_MS, 'nobody knows');
});

void t.test('a start behind the newest event of the log is told, and destroys nothing', async (t) => {
  for (const [behindMs, isTold] of [
    [2 * 365 * DAY_MS, true],
    [MINUTE_MS / 2, false],
    [-DAY_MS, false],
  ] as const) {
    const logger = memoryLog();
    const machine = fakeClock(START_MS);
    const record = openClockRecord(fileOf(t));
    record.write({ nowMs: START_MS, uptimeMs: machine.uptime(), waitMs: 0, confirmation: '', away: [] });
    const newestEventMs = START_MS + behindMs;
    const trust = openClockTrust({
      clock: continuedClock(machine),
      logger,
      record,
      isKept: true,
      isNew: false,
      newestEventMs,
    });
    t.equal(trust.mayDestroy(), !isTold);
    t.equal(logger.lines.filter(({ fields }) => fields['code'] === 'CLOCK_BEHIND').length, isTold ? 1 : 0);
  }
});

void t.test(
  'what others compare with their clocks goes by the machine, and a scheduled time is ahead of both clocks',
  (t) => {
    const machine = fakeClock(START_MS);
    const clock = continuedClock(machine);
    for (const byMs of [2 * 365 * DAY_MS, -3 * 365 * DAY_MS]) {
      machine.shift(byMs);
      t.equal(outwardNow(clock), machine.now());
      t.equal(clock.now(), START_MS);
      t.equal(latestNow(clock), Math.max(START_MS, machine.now()));
    }
    t.equal(outwardNow(machine), machine.now(), 'a clock of one time');
    t.end();
  },
);
