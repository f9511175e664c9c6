/** The system's clock: waits end at their time, at the signal, and survive a clock that is set. */
import t from 'tap';
import { mock } from 'node:test';
import { systemClock } from '../../../src/adapters/clock/system.js';

const never = new AbortController().signal;

void t.test('a wait ends when its time has come', async (t) => {
  const clock = systemClock();
  const atMs = clock.now() + 20;
  await clock.until(atMs, never);
  t.ok(clock.now() >= atMs);
  await clock.until(clock.now() - 1, never);
});

void t.test('the signal ends a wait, before and while it lasts', async (t) => {
  const clock = systemClock();
  const aborting = new AbortController();
  const wait = clock.until(Number.POSITIVE_INFINITY, aborting.signal);
  await new Promise((resolve) => setImmediate(resolve));
  aborting.abort();
  await wait;
  await clock.until(clock.now() + 1_000_000_000_000, AbortSignal.abort());
  t.pass('both ended');
});

void t.test('a wait beyond what a timer holds, and a clock that is set, on a mocked timer', async (t) => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 });
  t.teardown(() => mock.timers.reset());
  const clock = systemClock();
  let ended = false;
  const waitMs = 2 ** 31 + 90_000;
  const wait = clock.until(waitMs, never).then(() => (ended = true));
  mock.timers.tick(60_000);
  await Promise.resolve();
  t.notOk(ended, 'not at once, as a timer beyond 2^31 ms would end');
  // The clock is set forward to the time waited for: seen at the next look, a minute later at most.
  mock.timers.setTime(waitMs);
  mock.timers.tick(60_000);
  await wait;
  t.ok(ended);
});
