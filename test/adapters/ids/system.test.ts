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

void t.test('bytes are as many as asked for and differ', async (t) => {
  const ids = systemIds();
  t.equal(ids.bytes(32).length, 32);
  t.notSame(ids.bytes(32), ids.bytes(32));
});
