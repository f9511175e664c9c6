/** The in-process limiter against the contract of every limiter, and the bound of its memory. */
import t from 'tap';
import { openMemoryLimiter } from '../../../src/adapters/limiter/memory.js';
import { limiterSuite } from '../../contracts/limiter-suite.js';
import { fakeClock } from '../../support/fake-clock.js';

const clock = fakeClock();
limiterSuite(t, { open: async () => openMemoryLimiter({ clock }), now: clock.now, pass: clock.advance });

void t.test('windows that are over are swept while others are hit', async (t) => {
  const clock = fakeClock();
  const limiter = openMemoryLimiter({ clock });
  for (let at = 0; at < 1_000; at += 1) await limiter.hit([{ bucket: `old-${at}`, limit: 1, windowMs: 1_000 }]);
  t.equal(limiter.buckets(), 1_000);
  await clock.advance(1_000);
  for (let at = 0; at < 400; at += 1) await limiter.hit([{ bucket: `new-${at}`, limit: 1, windowMs: 1_000 }]);
  t.equal(limiter.buckets(), 400);
});

void t.test('a flood of names is bounded', async (t) => {
  const limiter = openMemoryLimiter({ clock: fakeClock(), bucketsMax: 100 });
  for (let at = 0; at < 1_000; at += 1) await limiter.hit([{ bucket: `k-${at}`, limit: 1, windowMs: 60_000 }]);
  t.equal(limiter.buckets(), 100);
  t.equal(
    (await limiter.hit([{ bucket: 'k-999', limit: 1, windowMs: 60_000 }])).admitted,
    false,
    'the newest are remembered',
  );
});

void t.test('a clock that is set back or forward makes no window longer or shorter', async (t) => {
  for (const byMs of [-3_600_000, 3_600_000]) {
    const clock = fakeClock();
    const limiter = openMemoryLimiter({ clock });
    const window = { bucket: 'k', limit: 1, windowMs: 60_000 };
    await limiter.hit([window]);
    clock.shift(byMs);
    t.match(await limiter.hit([window]), { admitted: false, resetAtMs: clock.now() + 60_000, retryAfterS: 60 });
    await clock.advance(60_000);
    t.match(await limiter.hit([window]), { admitted: true, resetAtMs: clock.now() + 60_000 });
  }
});

void t.test('slots that nobody released are forgotten when their time is over', async (t) => {
  const clock = fakeClock();
  const limiter = openMemoryLimiter({ clock });
  for (let at = 0; at < 100; at += 1) await limiter.acquire(`old-${at}`, 1, 1_000);
  t.equal(limiter.buckets(), 100);
  await clock.advance(1_000);
  for (let at = 0; at < 30; at += 1) (await limiter.acquire(`new-${at}`, 1, 1_000))?.release();
  t.equal(limiter.buckets(), 0);
});

void t.test('a hit without a window is a fault of the program', async (t) => {
  await t.rejects(async () => openMemoryLimiter({ clock }).hit([]), RangeError);
});
