/**
 * Projections kept up with the log: they follow it, tell how far they are, and go on when a rebuild is put in their
 * place.
 */
import t from 'tap';
import type { DomainEvent } from '../../src/domain/events.js';
import type { ProjectionStore } from '../../src/domain/ports/read-models.js';
import { EMAILS } from '../../src/projections/email/emails.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { rebuildProjection } from '../../src/projections/core/rebuild.js';
import { BATCH_SIZE, makeRunner, type Runner } from '../../src/projections/core/runner.js';
import { attempted, queued, queuedFor, PERIODS, T0 } from '../support/email-facts.js';
import { documentsOf, openDocuments, openLogOfTest } from '../support/projected.js';

const projection = emailsProjection(PERIODS);
const never = new AbortController().signal;
const streamOf = (index: number): string => `email-0198f000-0000-7000-8000-${String(index).padStart(12, '0')}`;

const running = async (t: Parameters<typeof openDocuments>[0]) => {
  const readModels = openDocuments(t);
  const world = openLogOfTest();
  const store = await readModels.projection(projection.name, projection.collections);
  const elapsed = { ms: 0, pauses: 0 };
  const pause = async (): Promise<void> => void (elapsed.pauses += 1);
  const start = (over: ProjectionStore = store) => {
    const stop = new AbortController();
    const clock = { monotonic: () => elapsed.ms };
    const runner = makeRunner(projection, {
      eventLog: world.eventLog,
      makeAnew: async () => {},
      store: over,
      clock,
      pause,
    });
    const done = runner.worker.run(stop.signal);
    return {
      runner,
      done,
      stop: async () => {
        stop.abort();
        await done;
      },
    };
  };
  /** Positions are as the store gives them: nobody counts them. */
  const head = world.eventLog.head;
  return { readModels, world, store, start, elapsed, head };
};

void t.test('it follows the log, and says when it has what it was asked for', async (t) => {
  const { readModels, world, start, head } = await running(t);
  await world.append(streamOf(1), [queued]);
  const { runner, stop } = start();
  await runner.caughtUp(await head(), never);
  t.equal(runner.position(), await head());
  await world.append(streamOf(2), [queuedFor('to')]);
  await world.append(streamOf(1), [attempted(1, T0)]);
  const last = await head();
  await runner.caughtUp(last, never);
  t.equal(await readModels.count(EMAILS, { where: { status: { eq: 'processing' } } }, 10), 1);
  await world.append('ledger', [{ type: 'LedgerSealed', data: { at: T0, position: 3, count: 3, root: 'x' } }]);
  await runner.caughtUp(await head(), never);
  t.ok(runner.position() >= last, 'what is not its own concern is no reason to wait, and is passed over');
  await stop();
});

void t.test('who waits longer than the signal is let go', async (t) => {
  const { world, start, store } = await running(t);
  await world.append(streamOf(1), [queued]);
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const { runner, stop } = start({ ...store, write: () => held });
  const patience = new AbortController();
  const waiting = runner.caughtUp(1, patience.signal);
  setImmediate(() => patience.abort());
  await waiting;
  t.equal(runner.position(), 0);
  goOn();
  await stop();
});

void t.test('started again it goes on from its checkpoint', async (t) => {
  const { readModels, world, start, head } = await running(t);
  await world.append(streamOf(1), [queued]);
  const before = start();
  await before.runner.caughtUp(await head(), never);
  await before.stop();
  await world.append(streamOf(1), [attempted(1, T0)]);
  const after = start();
  await after.runner.caughtUp(await head(), never);
  await after.stop();
  t.match((await documentsOf(readModels, projection))[EMAILS], [{ status: 'processing', position: await head() }]);
});

void t.test('a rebuild that is put in its place while it runs does not disturb it', async (t) => {
  const { readModels, world, start, head } = await running(t);
  for (let index = 0; index < 20; index += 1) await world.append(streamOf(index), [queued]);
  const { runner, stop } = start();
  await runner.caughtUp(await head(), never);
  await rebuildProjection(projection, { eventLog: world.eventLog, readModels });
  for (let index = 0; index < 20; index += 1) await world.append(streamOf(index), [attempted(1, T0)]);
  await runner.caughtUp(await head(), never);
  await stop();
  const found = (await documentsOf(readModels, projection))[EMAILS]!;
  t.equal(found.length, 20);
  t.ok(found.every(({ status }) => status === 'processing'));
});

void t.test('two that project side by side make the same documents as one', async (t) => {
  const { readModels, world, start, head } = await running(t);
  const [a, b] = [start(), start()];
  for (let index = 0; index < 30; index += 1) {
    await world.append(streamOf(index), [queued]);
    await world.append(streamOf(index), [attempted(1, T0)]);
  }
  await Promise.all([a.runner.caughtUp(await head(), never), b.runner.caughtUp(await head(), never)]);
  await a.stop();
  await b.stop();
  const found = (await documentsOf(readModels, projection))[EMAILS]!;
  t.equal(found.length, 30);
  t.ok(found.every(({ status }) => status === 'processing'));
});

void t.test('a fault of the store ends the run, for the supervisor to see, and nothing is half written', async (t) => {
  const { readModels, world, store, start, head } = await running(t);
  await world.append(streamOf(1), [queued]);
  const { done } = start({ ...store, write: () => Promise.reject(new Error('disk full')) });
  await t.rejects(done, { message: 'disk full' });
  t.same((await documentsOf(readModels, projection))[EMAILS], []);
  const again = start();
  await again.runner.caughtUp(await head(), never);
  await again.stop();
  t.equal((await documentsOf(readModels, projection))[EMAILS]!.length, 1);
});

void t.test('a full batch is followed by the next without a pause', async (t) => {
  const { world, start, elapsed, head } = await running(t);
  const count = 4 * BATCH_SIZE;
  await world.append(streamOf(1), [queued, ...Array.from({ length: count - 1 }, (_, n) => attempted(n + 1, T0))]);
  const { runner, stop } = start();
  const last = await head();
  while (runner.position() < last) await new Promise(setImmediate);
  t.equal(elapsed.pauses, 0);
  await world.append(streamOf(2), [queuedFor('to')]);
  while (elapsed.pauses === 0) await new Promise(setImmediate);
  t.equal(runner.position(), await head());
  await stop();
});

void t.test(
  'the checkpoint moves over events that do not concern the projection, and a start does not read them again',
  async (t) => {
    const { world, store, start, elapsed, head } = await running(t);
    const seal = (position: number): DomainEvent => ({
      type: 'LedgerSealed',
      data: { at: T0, position, count: 1, root: 'x' },
    });
    const reached = async (runner: Runner, position: number): Promise<void> => {
      while (runner.position() < position) await new Promise(setImmediate);
    };
    const first = start();
    await world.append(streamOf(1), [queued]);
    const written = await head();
    await reached(first.runner, written);
    await world.append('ledger', [seal(1)]);
    await reached(first.runner, await head());
    t.equal((await store.checkpoint()).position, written, 'at most every five seconds');
    elapsed.ms += 5_000;
    await world.append('ledger', [seal(2)]);
    await reached(first.runner, await head());
    t.equal((await store.checkpoint()).position, await head());
    await world.append('ledger', [seal(3)]);
    await reached(first.runner, await head());
    await first.stop();
    t.equal((await store.checkpoint()).position, await head(), 'and when it stops');
  },
);
