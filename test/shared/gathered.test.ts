/** Calls that share the next run of a work: how many runs there are, and whom a failure reaches. */
import t from 'tap';
import { gathered } from '../../src/shared/concurrency.js';

void t.test('calls of one turn share a run, and those that come while it is under way share the next', async (t) => {
  const runs: { items: string[]; end: () => void }[] = [];
  const call = gathered<string, number>(
    (items) => new Promise((resolve) => void runs.push({ items: [...items], end: () => resolve(runs.length) })),
  );
  const first = [call(['a']), call(['b', 'a'])];
  await Promise.resolve();
  await Promise.resolve();
  t.same(
    runs.map(({ items }) => items),
    [['a', 'b']],
  );
  const later = [call(['c']), call(['d'])];
  runs[0]!.end();
  t.same(await Promise.all(first), [1, 1]);
  await Promise.resolve();
  t.same(runs[1]?.items, ['c', 'd']);
  runs[1]!.end();
  t.same(await Promise.all(later), [2, 2]);
});

void t.test('a failure reaches those who shared the run, and the next run begins', async (t) => {
  let runs = 0;
  const call = gathered<string, number>(async () => {
    runs += 1;
    if (runs === 1) throw new Error('away');
    return runs;
  });
  const [one, two] = [call(['a']), call(['b'])];
  await t.rejects(one, { message: 'away' });
  await t.rejects(two, { message: 'away' });
  t.equal(await call(['a']), 2);
});
