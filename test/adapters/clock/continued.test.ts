/** A clock that goes on as before where somebody sets the time of day, and follows where the machine only slept. */
import t from 'tap';
import { continuedClock } from '../../../src/adapters/clock/system.js';

const START_MS = Date.parse('2026-01-01T00:00:00.000Z');
const HOUR_MS = 3_600_000;

/** A machine whose three counts of time are moved apart. */
const machine = () => {
  const at = { now: START_MS, monotonic: 7_000, uptime: 9_000 };
  const clock = { now: () => at.now, monotonic: () => at.monotonic, uptime: () => at.uptime, sleep: async () => {} };
  return {
    clock: continuedClock(clock),
    runs: (ms: number): void => {
      at.now += ms;
      at.monotonic += ms;
      at.uptime += ms;
    },
    sleeps: (ms: number): void => {
      at.now += ms;
      at.uptime += ms;
    },
    isSet: (ms: number): void => {
      at.now += ms;
    },
  };
};

void t.test('set forward or back, it goes on, until it is told to believe the machine', async (t) => {
  for (const byMs of [30 * 24 * HOUR_MS, HOUR_MS, 11_000, -11_000, -HOUR_MS]) {
    const { clock, runs, isSet } = machine();
    runs(5_000);
    isSet(byMs);
    t.equal(clock.now(), START_MS + 5_000, 'at once');
    runs(90_000);
    t.equal(clock.now(), START_MS + 95_000);
    t.equal(clock.leapMs(), byMs);
    t.equal(clock.leaps(), 1);
    t.equal(clock.machineNow(), START_MS + 95_000 + byMs);
    clock.believe();
    t.equal(clock.now(), START_MS + 95_000 + byMs);
    t.equal(clock.leapMs(), 0);
    t.equal(clock.leaps(), 1);
  }
});

void t.test('set twice, both count; set and set right again, nothing is left', async (t) => {
  const { clock, runs, isSet } = machine();
  isSet(HOUR_MS);
  t.equal(clock.now(), START_MS);
  runs(1_000);
  isSet(-HOUR_MS);
  t.equal(clock.now(), START_MS + 1_000);
  t.equal(clock.leapMs(), 0);
  t.equal(clock.leaps(), 2);
});

void t.test('the corrections that every machine makes are followed, however many', async (t) => {
  const { clock, runs, isSet } = machine();
  for (let minute = 0; minute < 100; minute += 1) {
    runs(61_000);
    isSet(500);
    clock.now();
  }
  t.equal(clock.now(), START_MS + 100 * 61_500);
  t.equal(clock.leaps(), 0);
});

void t.test('a machine that slept has not been set', async (t) => {
  const { clock, runs, sleeps } = machine();
  runs(1_000);
  sleeps(8 * HOUR_MS);
  t.equal(clock.now(), START_MS + 1_000 + 8 * HOUR_MS);
  t.equal(clock.leaps(), 0);
});
