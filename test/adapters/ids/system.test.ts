/** Ids: version 7, rising, never twice. */
import t from 'tap';
import { systemIds } from '../../../src/adapters/ids/system.js';

void t.test('uuids are version 7, rise and do not repeat', async (t) => {
  const ids = systemIds();
  const made = Array.from({ length: 20_000 }, () => ids.uuid());
  t.ok(made.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)));
  t.equal(new Set(made).size, made.length);
  t.same(made, [...made].sort(), 'in order, within a millisecond too');
});

void t.test('a uuid begins with the moment at which it was made and ends with random bytes', async (t) => {
  const ids = systemIds();
  const fromMs = Date.now();
  const made = Array.from({ length: 4_000 }, () => ids.uuid());
  const toMs = Date.now();
  const moments = made.map((id) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
  t.ok(
    moments.every((ms) => ms >= fromMs && ms <= toMs),
    'in milliseconds',
  );
  t.equal(new Set(made.map((id) => id.slice(-10))).size, made.length, 'of 40 bits at least');
  for (let digit = 26; digit < 36; digit += 1)
    t.equal(new Set(made.map((id) => id[digit])).size, 16, `every digit stands at ${digit}`);
});

void t.test('bytes are as many as asked for and differ', async (t) => {
  const ids = systemIds();
  t.equal(ids.bytes(32).length, 32);
  t.notSame(ids.bytes(32), ids.bytes(32));
});
