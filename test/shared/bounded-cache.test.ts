/** The bounds of a cache, in entries and in size. */
import t from 'tap';
import { boundedCache } from '../../src/shared/cache.js';

await t.test('the entry that was not used for longest goes first', async (t) => {
  const cache = boundedCache<string, number>({ entriesMax: 2 });
  cache.set('a', 1);
  cache.set('b', 2);
  t.equal(cache.get('a'), 1);
  cache.set('c', 3);
  t.same([cache.get('a'), cache.get('b'), cache.get('c')], [1, undefined, 3]);
  t.equal(cache.entries(), 2);
  cache.delete('a');
  t.equal(cache.get('a'), undefined);
  cache.clear();
  t.equal(cache.entries(), 0);
});

await t.test('all values together stay within the size, and one that alone is larger is not kept', async (t) => {
  const cache = boundedCache<string, string>({
    entriesMax: 10,
    size: { max: 10, of: (text, key) => text.length + key.length },
  });
  cache.set('a', '1234');
  cache.set('b', '1234');
  t.equal(cache.entries(), 2);
  cache.set('c', '1');
  t.equal(cache.get('a'), undefined);
  cache.set('d', 'longer than ten');
  t.same([cache.get('b'), cache.get('c'), cache.get('d')], ['1234', '1', undefined]);
});

await t.test('a value is made once for its key', async (t) => {
  const cache = boundedCache<object, object>({ entriesMax: 10 });
  const key = {};
  let made = 0;
  const make = () => ({ made: (made += 1) });
  t.equal(cache.getOrMake(key, make), cache.getOrMake(key, make));
  t.equal(made, 1);
});
