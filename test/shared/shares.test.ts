/** Turns by shares. */
import t from 'tap';
import { openShares } from '../../src/shared/concurrency.js';

void t.test('while all wait each is given its share, evenly spread; one that does not wait is owed nothing', (t) => {
  const shares = openShares(['high', 'normal', 'low'], { high: 8, normal: 3, low: 1 });
  const taken = Array.from({ length: 24 }, () => shares.next(() => true));
  for (const [name, count] of [
    ['high', 16],
    ['normal', 6],
    ['low', 2],
  ] as const)
    t.equal(taken.filter((one) => one === name).length, count);
  t.equal(taken[0], 'high');
  t.same(
    Array.from({ length: 5 }, () => shares.next((name) => name === 'low')),
    ['low', 'low', 'low', 'low', 'low'],
  );
  t.equal(
    shares.next(() => true),
    'high',
    'what was not waiting is not owed the past',
  );
  t.equal(
    shares.next(() => false),
    undefined,
  );
  t.end();
});
