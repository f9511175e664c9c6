/** Clocks: that of the system, one that goes on, one in slices. */
import { execFileSync } from 'node:child_process';
import { mock } from 'node:test';
import t from 'tap';
import { systemClock, continuedClock, slicesOfLoop } from '../../../src/adapters/clock/system.js';
import type { Priority } from '../../../src/domain/ports/bus.js';
import { turnsBeside } from '../../support/loop-turns.js';

// A sleep of the system's clock ends at its time or at the signal, whatever the time of day is set to.

const never = new AbortController().signal;

void t.test('a sleep ends when its time is over', async (t) => {
  const clock = systemClock();
  const fromMs = clock.monotonic();
  await clock.sleep(20, never);
  t.ok(clock.monotonic() - fromMs >= 20);
  await clock.sleep(0, never);
  await clock.sleep(-1, never);
});

void t.test('the signal ends a sleep, before and while it lasts', async (t) => {
  const clock = systemClock();
  const aborting = new AbortController();
  const sleep = clock.sleep(Number.POSITIVE_INFINITY, aborting.signal);
  await new Promise((resolve) => setImmediate(resolve));
  aborting.abort();
  await sleep;
  await clock.sleep(1_000_000_000_000, AbortSignal.abort());
  t.pass('both ended');
});

void t.test('a sleep longer than a timer holds does not end at once', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const aborting = new AbortController();
  let ended = false;
  const sleep = systemClock()
    .sleep(2 ** 31 + 90_000, aborting.signal)
    .then(() => (ended = true));
  mock.timers.tick(60_000);
  await Promise.resolve();
  t.notOk(ended);
  aborting.abort();
  await sleep;
});

void t.test('setting the time of day neither ends a sleep nor makes it longer', async (t) => {
  const clock = systemClock();
  mock.timers.enable({ apis: ['Date'], now: 1_000_000_000_000 });
  t.teardown(() => mock.timers.reset());
  const fromMs = clock.monotonic();
  const sleep = clock.sleep(30, never);
  mock.timers.setTime(2_000_000_000_000);
  t.equal(clock.now(), 2_000_000_000_000);
  await sleep;
  t.ok(clock.monotonic() - fromMs >= 30, 'set forward');
  const second = clock.sleep(5, never);
  mock.timers.setTime(0);
  await second;
  t.equal(clock.now(), 0);
});

void t.test('two processes of a machine count from the same moment', async (t) => {
  const beforeMs = systemClock().monotonic();
  const url = new URL('../../../src/adapters/clock/system.js', import.meta.url).href;
  const other = Number(
    execFileSync(process.execPath, [
      '--input-type=module',
      '-e',
      `import { systemClock } from ${JSON.stringify(url)}; console.log(systemClock().monotonic());`,
    ]).toString(),
  );
  t.ok(other >= beforeMs && other <= systemClock().monotonic());
});

// A clock that goes on as before where somebody sets the time of day, and follows where the machine only slept.

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

// Slices of the event loop: work that is ready all at once does not hold up the rest, and none of it starves.

const SLICE_MS = 4;

/** Holds the loop for that long. */
const hold = (ms: number): void => {
  const fromMs = performance.now();
  while (performance.now() - fromMs < ms);
};

void t.test('others have their turns between the slices', async (t) => {
  const sliceFor = slicesOfLoop(SLICE_MS);
  const work = async (): Promise<void> => {
    await sliceFor('low');
    // Some waits that are over at once belong to the slice too.
    await Promise.resolve();
    await Promise.resolve();
    hold(SLICE_MS);
  };
  const turns = await turnsBeside(() => Promise.all(Array.from({ length: 10 }, work)));
  t.ok(turns >= 9, `${turns} turns beside 10 slices`);
});

void t.test('work that takes no time shares a slice', async (t) => {
  const sliceFor = slicesOfLoop(60_000);
  const turns = await turnsBeside(() => Promise.all(Array.from({ length: 100 }, () => sliceFor('low'))));
  t.ok(turns <= 2, `${turns} turns`);
});

/** In: what asks, in that order. Out: in which order it went on, with a slice of its own for each. */
const orderOf = async (asked: readonly Priority[]): Promise<readonly string[]> => {
  const sliceFor = slicesOfLoop(0);
  const order: string[] = [];
  await Promise.all(
    asked.map(async (priority, index) => {
      await sliceFor(priority);
      order.push(`${priority} ${index}`);
    }),
  );
  return order;
};

void t.test('each priority comes to the front in turn, and within one those that came first', async (t) => {
  const order = await orderOf(['low', 'low', 'low', 'normal', 'normal', 'normal', 'high', 'high', 'high']);
  for (const priority of ['high', 'normal', 'low']) {
    const own = order.filter((one) => one.startsWith(priority));
    t.same(own, own.toSorted(), `${priority} in the order of asking`);
  }
  t.same(new Set(order.slice(0, 3).map((one) => one.split(' ')[0])), new Set(['high', 'normal', 'low']));
});

void t.test('low work goes on though high work never ends', async (t) => {
  const sliceFor = slicesOfLoop(0);
  let over = false;
  const high = async (): Promise<void> => {
    while (!over) await sliceFor('high');
  };
  const highs = Array.from({ length: 5 }, high);
  await sliceFor('low');
  await sliceFor('normal');
  over = true;
  await Promise.all(highs);
  t.pass('both went on');
});

void t.test('in one slice the higher goes before the lower, after the first', async (t) => {
  const sliceFor = slicesOfLoop(60_000);
  const order: string[] = [];
  const asked: Priority[] = ['low', 'normal', 'low', 'high', 'high'];
  await Promise.all(
    asked.map(async (priority) => {
      await sliceFor(priority);
      order.push(priority);
    }),
  );
  t.same(
    order.slice(1),
    order.slice(1).toSorted((a, b) => rank(a) - rank(b)),
  );
});

const rank = (priority: string): number => ['high', 'normal', 'low'].indexOf(priority);
