/** The decisions of the limiter, each one script, so that it is one step for all processes; the time is that of the server. */
import type { Redis } from 'ioredis';
import type { Admission, Window } from '../../domain/ports/limiter.js';

/**
 * KEYS: the counter of each window, which ends with its window. ARGV: limit and length of each.
 * Out: how long the windows that are full last on, or 0; the count of the first window; how long that lasts on, or -1 where it has not begun.
 */
const HIT = `
local full = 0
for i, key in ipairs(KEYS) do
  local limit = tonumber(ARGV[2 * i - 1])
  if tonumber(redis.call('GET', key) or '0') >= limit then
    local left = redis.call('PTTL', key)
    if left < 0 then left = tonumber(ARGV[2 * i]) end
    full = math.max(full, left, 1)
  end
end
local first
for i, key in ipairs(KEYS) do
  if full == 0 then
    local count = redis.call('INCR', key)
    if count == 1 then redis.call('PEXPIRE', key, ARGV[2 * i]) end
    if i == 1 then first = count end
  elseif i == 1 then
    first = tonumber(redis.call('GET', key) or '0')
  end
end
return { full, first, redis.call('PTTL', KEYS[1]) }`;

/** KEYS: the slots of a bucket that are taken, by the moment at which each is free. ARGV: limit, length, name of the new slot. Out: 1 where it was taken. */
const ACQUIRE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[3])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1`;

export type Scripts = Readonly<{
  hit: (windows: readonly Window[], nowMs: () => number) => Promise<Admission>;
  acquire: (bucket: string, slot: string, limit: number, ttlMs: number) => Promise<boolean>;
  release: (bucket: string, slot: string) => Promise<unknown>;
  /** Resolves where the server takes writes. */
  probe: () => Promise<unknown>;
}>;

/** What `defineCommand` adds: EVALSHA, and EVAL where the server does not know the script. */
type Commands = Readonly<{
  sealpostHit: (keys: number, ...keysAndArguments: readonly (string | number)[]) => Promise<[full: number, count: number, leftMs: number]>;
  sealpostAcquire: (...keyAndArguments: readonly (string | number)[]) => Promise<number>;
}>;

const PROBE_MS = 1_000;

export const openScripts = (redis: Redis, prefix: string): Scripts => {
  redis.defineCommand('sealpostHit', { lua: HIT });
  redis.defineCommand('sealpostAcquire', { lua: ACQUIRE, numberOfKeys: 1 });
  const commands = redis as unknown as Commands;
  // The braces keep all keys in one slot of a Redis cluster, for one script may look at several.
  const root = `{${prefix}}`;
  const slots = (bucket: string): string => `${root}:s:${bucket}`;
  return {
    hit: async (windows, nowMs) => {
      const first = windows[0];
      if (first === undefined) throw new RangeError('a hit needs at least one window');
      const keys = windows.map(({ bucket, windowMs }) => `${root}:w:${windowMs}:${bucket}`);
      const numbers = windows.flatMap(({ limit, windowMs }) => [limit, windowMs]);
      const [fullMs, count, leftMs] = await commands.sealpostHit(keys.length, ...keys, ...numbers);
      return {
        admitted: fullMs === 0,
        limit: first.limit,
        remaining: Math.max(0, first.limit - count),
        resetAtMs: Math.round(nowMs() + (leftMs < 0 ? first.windowMs : leftMs)),
        retryAfterS: fullMs === 0 ? 0 : Math.max(1, Math.ceil(fullMs / 1_000)),
      };
    },
    acquire: async (bucket, slot, limit, ttlMs) => (await commands.sealpostAcquire(slots(bucket), limit, ttlMs, slot)) === 1,
    release: (bucket, slot) => redis.zrem(slots(bucket), slot),
    probe: () => redis.set(`${root}:probe`, '1', 'PX', PROBE_MS),
  };
};
