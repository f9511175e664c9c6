/** Turns of the event loop: heavy parts of many callers never share one. */
import t from 'tap';
import { nextTurn } from '../../src/shared/concurrency.js';

void t.test('of those that wait one goes on in each turn of the loop, in the order in which they came', async (t) => {
  const seen: string[] = [];
  const count = (): void => {
    seen.push('turn');
    if (seen.length < 12) setImmediate(count);
  };
  const part = async (name: string): Promise<void> => {
    await nextTurn();
    seen.push(name);
  };
  const parts = Promise.all(['a', 'b', 'c'].map(part)).then(() => part('d'));
  setImmediate(count);
  await parts;
  t.same(seen.filter((what, at) => what !== 'turn' || seen[at - 1] !== 'turn').slice(0, 7), [
    'a',
    'turn',
    'b',
    'turn',
    'c',
    'turn',
    'd',
  ]);
});

void t.test('what waits after nobody has waited for a while goes on as well', async () => {
  await nextTurn();
  await new Promise((resolve) => void setImmediate(resolve));
  await nextTurn();
});
