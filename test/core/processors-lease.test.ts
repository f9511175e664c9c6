/** Work under a lease: one process at a time, renewed while it lasts, ended when nobody can be sure any more. */
import t from 'tap';
import type { Leases } from '../../src/domain/ports/lease.js';
import { LEASE_TTL_MS, underLease, type Held, type LeaseDeps } from '../../src/processors/core/lease.js';
import { fakeClock } from '../support/fake-clock.js';
import { leaseKeeper } from '../support/memory-leases.js';
import { memoryLog } from '../support/memory-ports.js';
import { until } from '../support/processor-world.js';

const world = () => {
  const clock = fakeClock();
  const keeper = leaseKeeper(clock);
  const logger = memoryLog();
  const deps = (worker: string, leases: Leases = keeper.open()): LeaseDeps => ({ leases, clock, logger, worker });
  return { clock, keeper, logger, deps };
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );

/** Runs under the lease of that name until it is stopped; `runs` are the times it was begun. */
const started = (deps: LeaseDeps, work: (held: Held) => Promise<void> = ({ signal }) => aborted(signal)) => {
  const stopping = new AbortController();
  const runs: Held[] = [];
  const done = underLease(deps, 'relay', stopping.signal, async (held) => {
    runs.push(held);
    await work(held);
  });
  return { runs, done, stop: () => (stopping.abort(), done) };
};

void t.test('one of two works, for as long as it likes; the other when it stops', async (t) => {
  const { clock, deps } = world();
  const first = started(deps('a'));
  await until(() => first.runs.length === 1, 'the first works');
  const second = started(deps('b'));
  await clock.advance(10 * LEASE_TTL_MS);
  t.same([first.runs.length, second.runs.length], [1, 0]);
  t.notOk(first.runs[0]!.signal.aborted);
  await first.stop();
  await clock.advance(2_000);
  await until(() => second.runs.length === 1, 'the second works');
  t.ok(second.runs[0]!.fence > first.runs[0]!.fence);
  await second.stop();
  t.equal(clock.waiting(), 0, 'nothing is left behind');
});

void t.test('another asks at the moment at which a lease ends that nobody renews', async (t) => {
  const { clock, keeper, deps } = world();
  const leases = keeper.open();
  const first = started(deps('a', { ...leases, renew: () => new Promise<never>(() => {}) }));
  await until(() => first.runs.length === 1, 'the first works');
  await clock.advance(1_234);
  const second = started(deps('b'));
  await clock.advance(LEASE_TTL_MS - 1_234 - 1);
  t.equal(second.runs.length, 0);
  await clock.advance(1);
  await until(() => second.runs.length === 1, 'the second works');
  await Promise.all([first.stop(), second.stop()]);
});

void t.test(
  'a process that was frozen is told that its lease is lost, and works again when it holds it again',
  async (t) => {
    const { clock, keeper, deps, logger } = world();
    const work = started(deps('a'));
    await until(() => work.runs.length === 1, 'it works');
    keeper.kill('a');
    const other = keeper.open();
    const lease = (await other.acquire('relay', 'b', 60_000))!;
    await clock.advance(LEASE_TTL_MS / 3);
    await until(() => work.runs[0]!.lost.aborted, 'it is told');
    t.match(logger.lines, [{ level: 'warn', fields: { lease: 'relay', fence: work.runs[0]!.fence } }]);
    await clock.advance(30_000);
    t.equal(work.runs.length, 1);
    await other.release(lease);
    await clock.advance(2_000);
    await until(() => work.runs.length === 2, 'it works again');
    await work.stop();
  },
);

void t.test('where the keeper does not answer, the work ends before another can have the lease', async (t) => {
  for (const renew of [() => Promise.reject(new Error('away')), () => new Promise<never>(() => {})]) {
    const { clock, keeper, deps } = world();
    const work = started(deps('a', { ...keeper.open(), renew }));
    await until(() => work.runs.length === 1, 'it works');
    await clock.advance(LEASE_TTL_MS - 1);
    t.notOk(work.runs[0]!.signal.aborted, 'it may still be sure');
    t.equal(await keeper.open().acquire('relay', 'b', 1_000), undefined);
    await clock.advance(1);
    await until(() => work.runs[0]!.lost.aborted, 'it cannot be sure any more');
    await work.stop();
  }
});

void t.test('a renewal that fails now and then harms nothing', async (t) => {
  const { clock, keeper, deps } = world();
  const leases = keeper.open();
  let calls = 0;
  const flaky: Leases = {
    ...leases,
    renew: (...call) => ((calls += 1) % 2 === 1 ? Promise.reject(new Error('away')) : leases.renew(...call)),
  };
  const work = started(deps('a', flaky));
  await until(() => work.runs.length === 1, 'it works');
  await clock.advance(20 * LEASE_TTL_MS);
  t.ok(calls > 20);
  t.notOk(work.runs[0]!.signal.aborted);
  await work.stop();
});

void t.test('a fault of the work is reported, and the lease is free for the next', async (t) => {
  const { keeper, deps } = world();
  const work = started(deps('a'), () => Promise.reject(new Error('broken')));
  await t.rejects(work.done, { message: 'broken' });
  t.equal(await keeper.open().read('relay'), undefined);
});

void t.test('work that ends by itself is not begun again at once, and the lease is free for the next', async (t) => {
  const { keeper, deps } = world();
  const work = started(deps('a'), async () => {});
  await work.done;
  t.equal(work.runs.length, 1, 'whoever started it decides about the pause');
  t.equal(await keeper.open().read('relay'), undefined);
});
