/** The contract of every limiter, in process or shared. */
import type { Test } from 'tap';
import type { Admission, Limiter, Window } from '../../src/domain/ports/limiter.js';

export type LimiterHarness = Readonly<{
  open: () => Promise<Limiter>;
  now: () => number;
  pass: (ms: number) => Promise<void>;
  /** How much more of the limiter's time may pass than the test lets pass: a real server's goes on by itself. */
  slackMs?: number;
}>;

export const limiterSuite = (t: Test, harness: LimiterHarness): void => {
  const opened = async (t: Test): Promise<Limiter> => {
    const limiter = await harness.open();
    t.teardown(() => limiter.close());
    return limiter;
  };
  /** The times of an answer that may lie a little before those that are expected. */
  const slackMs = harness.slackMs ?? 0;
  const timely = (
    t: Test,
    { resetAtMs, ...answer }: Admission,
    { resetAtMs: expectedMs, ...expected }: Admission,
  ): void => {
    refusedFor(t, answer, expected);
    t.ok(
      resetAtMs <= expectedMs && resetAtMs >= expectedMs - slackMs,
      `the window ends at ${expectedMs}, by the answer at ${resetAtMs}`,
    );
  };
  /** The wait is what is expected, or less by what has passed meanwhile. */
  const refusedFor = (
    t: Test,
    { retryAfterS, ...answer }: Partial<Admission>,
    { retryAfterS: expectedS = 0, ...expected }: Partial<Admission>,
  ): void => {
    t.match(answer, expected);
    const waitS = retryAfterS ?? Number.NaN;
    t.ok(
      waitS <= expectedS && waitS >= Math.min(expectedS, Math.max(1, expectedS - slackMs / 1_000)),
      `${waitS} s of ${expectedS}`,
    );
  };
  const minute = (bucket: string, limit: number): Window => ({ bucket, limit, windowMs: 60_000 });
  const burst = (bucket: string, limit: number): Window => ({ bucket, limit, windowMs: 10_000 });

  void t.test(
    'a window admits its limit, then refuses until it is over, then starts anew with the next hit',
    async (t) => {
      const limiter = await opened(t);
      const startMs = harness.now();
      const first = { admitted: true, limit: 3, remaining: 2, resetAtMs: startMs + 60_000, retryAfterS: 0 };
      timely(t, await limiter.hit([minute('k', 3)]), first);
      await harness.pass(500);
      timely(t, await limiter.hit([minute('k', 3)]), { ...first, remaining: 1 });
      t.match(await limiter.hit([minute('k', 3)]), { admitted: true, remaining: 0 });
      timely(t, await limiter.hit([minute('k', 3)]), { ...first, admitted: false, remaining: 0, retryAfterS: 60 });
      await harness.pass(59_400 - slackMs);
      refusedFor(t, await limiter.hit([minute('k', 3)]), { admitted: false, retryAfterS: 1 + slackMs / 1_000 });
      await harness.pass(100 + slackMs);
      timely(t, await limiter.hit([minute('k', 3)]), { ...first, resetAtMs: startMs + 120_000 });
    },
  );

  void t.test('buckets do not touch each other', async (t) => {
    const limiter = await opened(t);
    t.equal((await limiter.hit([minute('a', 1)])).admitted, true);
    t.equal((await limiter.hit([minute('a', 1)])).admitted, false);
    t.equal((await limiter.hit([minute('b', 1)])).admitted, true);
  });

  void t.test(
    'several windows: counted in all or in none; the answer speaks of the first, the wait of the one that refused',
    async (t) => {
      const limiter = await opened(t);
      const windows = [minute('k:m', 10), burst('k:b', 2)];
      t.match(await limiter.hit(windows), { admitted: true, limit: 10, remaining: 9 });
      t.match(await limiter.hit(windows), { admitted: true, remaining: 8 });
      for (let at = 0; at < 3; at += 1)
        refusedFor(t, await limiter.hit(windows), { admitted: false, limit: 10, remaining: 8, retryAfterS: 10 });
      await harness.pass(10_000);
      t.match(await limiter.hit(windows), { admitted: true, remaining: 7 }, 'the refused hits were counted nowhere');
    },
  );

  void t.test('where two windows refuse, the wait is the longer one', async (t) => {
    const limiter = await opened(t);
    const windows = [burst('k:b', 1), minute('k:m', 1)];
    await limiter.hit(windows);
    refusedFor(t, await limiter.hit(windows), { admitted: false, retryAfterS: 60 });
  });

  void t.test('a limit of 0 admits nothing', async (t) => {
    const limiter = await opened(t);
    refusedFor(t, await limiter.hit([minute('k', 0)]), { admitted: false, limit: 0, remaining: 0, retryAfterS: 60 });
  });

  void t.test('hits at once are admitted exactly up to the limit', async (t) => {
    const limiter = await opened(t);
    const answers = await Promise.all(Array.from({ length: 100 }, () => limiter.hit([minute('k', 30)])));
    t.equal(answers.filter((one) => one.admitted).length, 30);
  });

  void t.test('concurrency slots: as many as the limit, released once', async (t) => {
    const limiter = await opened(t);
    const first = await limiter.acquire('k', 2, 60_000);
    const second = await limiter.acquire('k', 2, 60_000);
    t.ok(first !== undefined && second !== undefined);
    t.equal(await limiter.acquire('k', 2, 60_000), undefined);
    t.ok(await limiter.acquire('other', 2, 60_000));
    first?.release();
    first?.release();
    const third = await limiter.acquire('k', 2, 60_000);
    t.ok(third, 'one slot came back');
    t.equal(await limiter.acquire('k', 2, 60_000), undefined, 'and only one');
  });

  void t.test(
    'a slot that nobody releases is free when its time is over, and its late release frees no other',
    async (t) => {
      const limiter = await opened(t);
      const lost = await limiter.acquire('k', 1, 5_000);
      await harness.pass(4_000);
      t.equal(await limiter.acquire('k', 1, 5_000), undefined);
      await harness.pass(2_000);
      t.ok(await limiter.acquire('k', 1, 5_000));
      lost?.release();
      t.equal(await limiter.acquire('k', 1, 5_000), undefined);
    },
  );
};
