/** The system's clock: sleeps end at their time, at the signal, and do not heed the time of day. */
import t from 'tap';
import { execFileSync } from 'node:child_process';
import { mock } from 'node:test';
import { systemClock } from '../../../src/adapters/clock/system.js';

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
