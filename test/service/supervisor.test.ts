/** Workers are started again after a fault with growing pauses, and stopped by name within a deadline. */
import t from 'tap';
import type { Logger } from '../../src/domain/ports/logger.js';
import type { Worker } from '../../src/domain/ports/worker.js';
import { makeSupervisor } from '../../src/service/workers.js';
import { fakeClock } from '../support/fake-clock.js';
import { eventually } from '../support/wait.js';

const quiet = (errors: string[] = []): Logger => {
  const logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (_fields, message) => void errors.push(message),
    child: () => logger,
  };
  return logger;
};

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );

const steady = (name: string, ended: string[] = []): Worker => ({
  name,
  run: async (signal) => {
    await untilAborted(signal);
    ended.push(name);
  },
});

const never = new AbortController().signal;

await t.test('a worker that fails is started again, each time after a longer pause', async (t) => {
  const clock = fakeClock();
  const errors: string[] = [];
  const startedAt: number[] = [];
  const supervisor = makeSupervisor({ clock, logger: quiet(errors) });
  supervisor.start([
    {
      name: 'shaky',
      run: async () => {
        startedAt.push(clock.now());
        throw Object.assign(new Error('secret words'), { code: 'SQLITE_FULL' });
      },
    },
  ]);
  for (let restarts = 1; restarts <= 9; restarts += 1) {
    await clock.whenWaiting(1);
    t.match(supervisor.health(), [
      { name: 'shaky', state: 'restarting', restarts: restarts - 1, lastFault: 'SQLITE_FULL' },
    ]);
    while (startedAt.length <= restarts) await clock.advance(50);
  }
  const pauses = startedAt.slice(1).map((at, index) => at - startedAt[index]!);
  t.same(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  t.ok(errors.every((message) => !message.includes('secret')));
  await supervisor.stop(undefined, never);
  t.match(supervisor.health(), [{ state: 'stopped' }]);
});

await t.test('a worker that ran for long starts again with the first pause', async (t) => {
  const clock = fakeClock();
  let starts = 0;
  let fail: (fault: Error) => void = () => undefined;
  const supervisor = makeSupervisor({ clock, logger: quiet() });
  supervisor.start([
    {
      name: 'long',
      run: () => {
        starts += 1;
        return new Promise<void>((_, reject) => (fail = reject));
      },
    },
  ]);
  await eventually('it runs', () => starts === 1);
  await clock.advance(60_001);
  fail(new Error('fault'));
  await clock.whenWaiting(1);
  await clock.advance(249);
  t.equal(starts, 1);
  await clock.advance(1);
  await eventually('it runs again', () => starts === 2);
  t.match(supervisor.health(), [{ state: 'running', restarts: 1, lastFault: 'Error' }]);
});

await t.test('a worker that ends by itself is started again', async (t) => {
  const clock = fakeClock();
  let starts = 0;
  const supervisor = makeSupervisor({ clock, logger: quiet() });
  supervisor.start([{ name: 'short', run: async () => void (starts += 1) }]);
  await clock.whenWaiting(1);
  await clock.advance(500);
  await eventually('it runs again', () => starts === 2);
  t.match(supervisor.health(), [{ restarts: 1, lastFault: null }]);
  await supervisor.stop(undefined, never);
});

await t.test('one that fails leaves the others alone', async (t) => {
  const clock = fakeClock();
  const supervisor = makeSupervisor({ clock, logger: quiet() });
  supervisor.start([steady('a'), { name: 'b', run: async () => Promise.reject(new Error('fault')) }, steady('c')]);
  await clock.whenWaiting(1);
  t.match(supervisor.health(), [
    { name: 'a', state: 'running' },
    { name: 'b', state: 'restarting' },
    { name: 'c', state: 'running' },
  ]);
  await supervisor.stop(undefined, never);
});

await t.test('stop by name, then the rest; a pause between starts is cut short', async (t) => {
  const clock = fakeClock();
  const ended: string[] = [];
  const supervisor = makeSupervisor({ clock, logger: quiet() });
  supervisor.start([
    steady('first', ended),
    steady('second', ended),
    { name: 'shaky', run: async () => Promise.reject(new Error('fault')) },
  ]);
  await clock.whenWaiting(1);
  await supervisor.stop(['second'], never);
  t.same(ended, ['second']);
  t.match(supervisor.health(), [{ name: 'first', state: 'running' }, { name: 'second', state: 'stopped' }, {}]);
  await supervisor.stop(undefined, never);
  t.same(ended, ['second', 'first']);
  t.equal(clock.waiting(), 0);
});

await t.test('a worker that does not end keeps the stop no longer than its deadline', async (t) => {
  const supervisor = makeSupervisor({ clock: fakeClock(), logger: quiet() });
  let runs = false;
  supervisor.start([{ name: 'deaf', run: () => new Promise<void>(() => (runs = true)) }, steady('good')]);
  await eventually('it runs', () => runs);
  const deadline = new AbortController();
  const stopped = supervisor.stop(undefined, deadline.signal);
  await eventually('the good one has stopped', () => supervisor.health()[1]?.state === 'stopped');
  t.equal(supervisor.health()[0]?.state, 'running');
  deadline.abort();
  await stopped;
  await supervisor.stop(['deaf'], AbortSignal.abort());
  t.pass('a deadline that is over waits for nobody');
});

await t.test('a fault while stopping is no restart', async (t) => {
  const errors: string[] = [];
  let starts = 0;
  const supervisor = makeSupervisor({ clock: fakeClock(), logger: quiet(errors) });
  supervisor.start([
    {
      name: 'sore',
      run: async (signal) => {
        starts += 1;
        await untilAborted(signal);
        throw new Error('aborted');
      },
    },
  ]);
  await eventually('it runs', () => starts === 1);
  await supervisor.stop(undefined, never);
  t.equal(starts, 1);
  t.same(errors, []);
});
