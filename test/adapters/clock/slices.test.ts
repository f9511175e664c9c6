/** Slices of the event loop: work that is ready all at once does not hold up the rest, and none of it starves. */
import t from 'tap';
import { slicesOfLoop } from '../../../src/adapters/clock/system.js';
import type { Priority } from '../../../src/domain/ports/bus.js';
import { turnsBeside } from '../../support/loop-turns.js';

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
