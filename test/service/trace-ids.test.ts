/** Ids of traces and spans: the same id gives the same, whatever it looks like. */
import { hash } from 'node:crypto';
import t from 'tap';
import { systemIds } from '../../src/adapters/ids/system.js';
import { requestIds } from '../../src/http/server/hooks.js';
import { idsOfTraceparent, partIdOf, spanIdOf, traceIdOf } from '../../src/service/observe/traces.js';

const DIGITS = '0af7651916cd43dd8448eb211c80319c';

await t.test('an id of 16 bytes is the id of the trace, and its end the id of the span', async (t) => {
  for (const id of [DIGITS, '0af76519-16cd-43dd-8448-eb211c80319c', '0AF76519-16CD-43DD-8448-EB211C80319C']) {
    t.equal(traceIdOf(id), DIGITS);
    t.equal(spanIdOf(id), DIGITS.slice(16));
  }
});

await t.test('any other id is hashed; what would be zero, which no id may be, too', async (t) => {
  for (const id of [
    'order-4711',
    DIGITS.toUpperCase(),
    '0'.repeat(32),
    '00000000-0000-0000-0000-000000000000',
    `${DIGITS}0`,
  ]) {
    t.equal(traceIdOf(id), hash('sha256', id).slice(0, 32), id);
    t.match(spanIdOf(id), /^[0-9a-f]{16}$/);
  }
  t.not(spanIdOf(`${'1'.repeat(16)}${'0'.repeat(16)}`), '0'.repeat(16));
});

await t.test('parts of a span have ids of their own, apart from those of events', async (t) => {
  const ids = new Set([0, 1, 2, 99].map((n) => partIdOf('8448eb211c80319c', n)));
  t.equal(ids.size, 4);
  for (const id of ids) t.match(id, /^0[0-9a-f]{3}eb211c80319c$/);
});

await t.test('a traceparent is read, and what is none is not', async (t) => {
  t.same(idsOfTraceparent(`00-${DIGITS}-00f067aa0ba902b7-01`), { traceId: DIGITS, spanId: '00f067aa0ba902b7' });
  t.same(idsOfTraceparent(`cc-${DIGITS}-00f067aa0ba902b7-01-more`)?.traceId, DIGITS, 'of a later version');
  for (const header of [
    undefined,
    '',
    'x',
    [`00-${DIGITS}-00f067aa0ba902b7-01`],
    `ff-${DIGITS}-00f067aa0ba902b7-01`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${DIGITS}-${'0'.repeat(16)}-01`,
    `00-${DIGITS.toUpperCase()}-00f067aa0ba902b7-01`,
  ])
    t.equal(idsOfTraceparent(header), undefined);
});

await t.test('fresh request ids are such ids, and none comes twice', async (t) => {
  const idOf = requestIds(systemIds(), 128);
  const ids = new Set(Array.from({ length: 100_000 }, () => idOf(undefined)));
  t.equal(ids.size, 100_000);
  t.ok([...ids].every((id) => traceIdOf(id) === id));
  t.equal(idOf('order-4711'), 'order-4711', 'an own one is taken');
  t.match(idOf('order 4711'), /^[0-9a-f]{32}$/, 'an unfit one is not');
});
