/** Moments as text: kept by the second, and the same as if each was written anew. */
import t from 'tap';
import fc from 'fast-check';
import { isoMoment } from '../../src/commands/core/memo.js';
import { isoTime } from '../../src/domain/core/time.js';

const LAST_MS = 8.64e15;

void t.test('every moment is written as a date writes it, whichever was asked for before', async () => {
  // Some share a place among the seconds that are kept.
  const near = fc.nat(200_000).map((ms) => 1_790_000_000_000 + ms);
  fc.assert(
    fc.property(
      fc.array(fc.oneof(near, fc.integer({ min: -LAST_MS, max: LAST_MS }), fc.double({ min: -1e13, max: 1e13, noNaN: true }))),
      (moments) => moments.every((ms) => isoMoment(ms) === isoTime(ms)),
    ),
    { examples: [[[0, -1, -1_000, -1.5, 1.5, 999, 1_000, 64_000, LAST_MS, -LAST_MS]]] },
  );
});

void t.test('what is no moment is refused', async (t) => {
  for (const none of [Number.NaN, Number.POSITIVE_INFINITY, LAST_MS + 1_000]) t.throws(() => isoMoment(none), RangeError);
});
