/**
 * The limiter on a real Redis server against the contract of every limiter, and what it does while the server is away.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { systemClock } from '../../../src/adapters/clock/system.js';
import { openRedisLimiter } from '../../../src/adapters/limiter/redis.js';
import { limiterSuite } from '../../contracts/limiter-suite.js';
import { fakeClock } from '../../support/fake-clock.js';
import { keptLog } from '../../support/kept-log.js';
import { ownRedisServer, redisServer } from '../../support/servers.js';
import { eventually } from '../../support/wait.js';

const clock = systemClock();

const minute = (bucket: string, limit: number) => ({ bucket, limit, windowMs: 60_000 });

/** The server's time goes on by itself; what lies under the prefix is moved so that it seems to be later. */
const letPass = async (url: string, prefix: string, ms: number): Promise<void> => {
  const redis = new Redis(url);
  for (const key of await redis.keys(`{${prefix}}:*`)) {
    if ((await redis.type(key)) === 'zset') {
      for (const member of await redis.zrange(key, '0', '-1')) await redis.zincrby(key, String(-ms), member);
    }
    const left = await redis.pttl(key);
    if (left > 0) await redis.pexpire(key, String(Math.max(0, left - ms)));
  }
  await redis.quit();
};

void t.test('the contract', async (t) => {
  const server = await redisServer(t);
  if (server === undefined) return;
  const { url, place } = server;
  // The clock of the process stands still but for what the test lets pass; deadlines of answers go by that of the
  // machine.
  const moved = fakeClock();
  const now = { ...clock, now: moved.now };
  let opened = 0;
  let prefix = '';
  limiterSuite(t as Test, {
    open: () => {
      opened += 1;
      prefix = `${place}-${opened}`;
      return openRedisLimiter({ url: `${url}?prefix=${prefix}`, clock: now, logger: keptLog().logger });
    },
    now: moved.now,
    pass: async (ms) => {
      await moved.advance(ms);
      await letPass(url, prefix, ms);
    },
    slackMs: 5_000,
  });
});

void t.test('two limiters admit exactly the limit of 200 hits at once, in every window or in none', async (t) => {
  const server = await redisServer(t);
  if (server === undefined) return;
  const open = () => openRedisLimiter({ url: `${server.url}?prefix=${server.place}`, clock, logger: keptLog().logger });
  const limiters = [await open(), await open()];
  t.teardown(() => Promise.all(limiters.map((limiter) => limiter.close())));
  const windows = [minute('all', 150), minute('own', 90)];
  const answers = await Promise.all(Array.from({ length: 200 }, (_, at) => limiters[at % 2]!.hit(windows)));
  t.equal(answers.filter(({ admitted }) => admitted).length, 90);
  t.match(
    await limiters[0]!.hit([minute('all', 150)]),
    { admitted: true, remaining: 59 },
    'the refused hits were counted nowhere',
  );
  const slots = await Promise.all(
    Array.from({ length: 200 }, (_, at) => limiters[at % 2]!.acquire('slots', 30, 60_000)),
  );
  t.equal(slots.filter((slot) => slot !== undefined).length, 30);
});

void t.test('a server that has forgotten the scripts is told them again', async (t) => {
  const server = await redisServer(t);
  if (server === undefined) return;
  const limiter = await openRedisLimiter({
    url: `${server.url}?prefix=${server.place}`,
    clock,
    logger: keptLog().logger,
  });
  t.teardown(() => limiter.close());
  await limiter.hit([minute('k', 3)]);
  const redis = new Redis(server.url);
  await redis.script('FLUSH');
  await redis.quit();
  t.match(await limiter.hit([minute('k', 3)]), { admitted: true, remaining: 1 });
  t.equal(limiter.mode(), 'shared');
});

void t.test('while the server is killed the limiter counts per process, says so once, and goes back', async (t) => {
  const server = await ownRedisServer(t);
  if (server === undefined) return;
  const { logger, lines } = keptLog();
  const limiter = await openRedisLimiter({ url: server.url, clock, logger });
  t.teardown(() => limiter.close());
  t.match(await limiter.hit([minute('k', 2)]), { admitted: true, remaining: 1 });
  const lent = await limiter.acquire('s', 1, 60_000);
  t.equal(limiter.mode(), 'shared');
  await server.kill();
  const answers = await Promise.all(Array.from({ length: 20 }, async () => limiter.hit([minute('k', 2)])));
  t.equal(answers.filter(({ admitted }) => admitted).length, 2, 'the same limit');
  t.equal(limiter.mode(), 'per-process');
  const own = await limiter.acquire('s', 1, 60_000);
  t.ok(own);
  t.equal(await limiter.acquire('s', 1, 60_000), undefined);
  own?.release();
  lent?.release();
  t.equal(lines.length, 1);
  await server.restart();
  await eventually('the server counts again', () => limiter.mode() === 'shared');
  t.match(await limiter.hit([minute('k', 2)]), { admitted: true, remaining: 0 }, 'what the server had counted');
  t.equal(lines.length, 2);
});

void t.test('a frozen server holds no call up, and counts again when it goes on', async (t) => {
  const server = await ownRedisServer(t);
  if (server === undefined) return;
  const limiter = await openRedisLimiter({ url: server.url, clock, logger: keptLog().logger });
  t.teardown(() => limiter.close());
  server.freeze();
  t.match(await limiter.hit([minute('k', 5)]), { admitted: true, remaining: 4 });
  t.equal(limiter.mode(), 'per-process');
  t.match(
    await Promise.race([limiter.hit([minute('k', 5)]), nextTurn()]),
    { admitted: true },
    'the next one does not wait',
  );
  server.resume();
  await eventually('the server counts again', () => limiter.mode() === 'shared');
});

void t.test(
  'a server that is not there at the start is waited for by nobody; one that refuses the credentials is named',
  async (t) => {
    const server = await ownRedisServer(t);
    if (server === undefined) return;
    const withPassword = server.url.replace('redis://', 'redis://nobody:secret@');
    await t.rejects(
      openRedisLimiter({ url: withPassword, clock, logger: keptLog().logger }),
      /^SEALPOST_LIMITER_URL=redis:\/\/…@.*WRONGPASS/,
    );
    await t.rejects(
      openRedisLimiter({ url: `${server.url}/99`, clock, logger: keptLog().logger }),
      /SEALPOST_LIMITER_URL=.*DB index/,
    );
    await server.kill();
    const { logger, lines } = keptLog();
    const limiter = await openRedisLimiter({ url: server.url, clock, logger });
    t.teardown(() => limiter.close());
    t.equal(limiter.mode(), 'per-process');
    t.match(await limiter.hit([minute('k', 5)]), { admitted: true, remaining: 4 });
    t.equal(lines.length, 1);
  },
);

void t.test('a hit without a window is a fault of the program', async (t) => {
  const server = await redisServer(t);
  if (server === undefined) return;
  const limiter = await openRedisLimiter({
    url: `${server.url}?prefix=${server.place}`,
    clock,
    logger: keptLog().logger,
  });
  t.teardown(() => limiter.close());
  await t.rejects(async () => limiter.hit([]), RangeError);
  t.equal(limiter.mode(), 'shared');
});

void t.test('a URL that says something else is refused without its password', async (t) => {
  const open = (url: string) => openRedisLimiter({ url, clock, logger: keptLog().logger });
  for (const [url, why] of [
    ['http://u:secret@localhost', /SEALPOST_LIMITER_URL=http:\/\/…@localhost has no scheme of Redis/],
    ['redis://u:secret@localhost/x', /names a database that is no number/],
    ['redis://u:secret@localhost?family=6', /has a parameter family/],
  ] as const) {
    await t.rejects(open(url), why);
    await open(url).catch((fault: Error) => t.notMatch(fault.message, /secret/));
  }
});
