/**
 * Counters on a Redis server, shared by every process. While it does not answer, each process counts in memory with the
 * same limits.
 */
import type { Redis, RedisOptions } from 'ioredis';
import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../domain/ports/clock.js';
import type { Admission, Window, Limiter, Slot } from '../../domain/ports/limiter.js';
import type { Logger } from '../../domain/ports/logger.js';
import { openMemoryLimiter } from './memory.js';

type RedisLimiterOptions = Readonly<{
  /** The value of SEALPOST_LIMITER_URL. */
  url: string;
  clock: Clock;
  logger: Logger;
}>;

/** How the limiter counts at this moment; shown by health and metrics. */
type LimiterMode = 'shared' | 'per-process';

/** The parsed URL of a Redis server. */
type RedisAddress = Readonly<{
  options: Omit<RedisOptions, 'replyMapping'>;
  /** The first part of every key: several services may share a server. */
  prefix: string;
  /** Without credentials, as messages may show it. */
  shown: string;
}>;

/** `refusal`: the server's answer if it refused the credentials or the database of the URL. */
type Client = Readonly<{ redis: Redis; refusal: () => Error | undefined; lastFault: () => Error | undefined }>;

type Presence = Readonly<{
  /** The counters of this process, while the shared ones are away. */
  local: () => Limiter | undefined;
  /** Counts per process from now on, until the server answers again. */
  leave: (fault: unknown) => Limiter;
  /** Leaves after a fault of the server, and throws a fault of the program on. */
  instead: (fault: unknown) => Limiter;
}>;

type PresenceDeps = Readonly<{
  redis: Redis;
  scripts: Scripts;
  clock: Clock;
  logger: Logger;
  within: Within;
  closed: AbortSignal;
}>;

/**
 * The decisions of the limiter, each one script, so that it is atomic for all processes. They use the server's time.
 */
type Scripts = Readonly<{
  hit: (windows: readonly Window[], nowMs: () => number) => Promise<Admission>;
  acquire: (bucket: string, slot: string, limit: number, ttlMs: number) => Promise<boolean>;
  release: (bucket: string, slot: string) => Promise<unknown>;
  /** Resolves if the server takes writes. */
  probe: () => Promise<unknown>;
}>;

/** The commands that `defineCommand` adds: EVALSHA, and EVAL if the server does not know the script. */
type Commands = Readonly<{
  sealpostHit: (
    keys: number,
    ...keysAndArguments: readonly (string | number)[]
  ) => Promise<[full: number, count: number, leftMs: number]>;
  sealpostAcquire: (...keyAndArguments: readonly (string | number)[]) => Promise<number>;
}>;

/** Settles as the promise does, or rejects with TooLate. */
type Within = <Value>(answer: Promise<Value>) => Promise<Value>;

/**
 * A decision waits so long for the server. After the first that waited in vain the next ones do not wait until it
 * answers again.
 */
const ANSWER_WITHIN_MS = 250;
const FIRST_ANSWER_WITHIN_MS = 5_000;
const PROBE_EVERY_MS = 250;
/** After so many probes without an answer the client reconnects. */
const PROBES_MAX = 8;
const RECONNECT_EVERY_MS = 250;

const LOOK_EVERY_MS = 50;

const PROBE_MS = 1_000;

const schemes = ['redis:', 'rediss:'];
const parameters = ['ca', 'prefix'];
const portDefault = 6_379;

/**
 * Resolves even if the server does not answer. Rejects if it refuses the URL's credentials or database; the message
 * names the setting.
 */
export const openRedisLimiter = async ({
  url,
  clock,
  logger,
}: RedisLimiterOptions): Promise<Limiter & Readonly<{ mode: () => LimiterMode }>> => {
  const address = readRedisUrl(url);
  const { redis, refusal, lastFault } = await clientOf(address);
  const closing = new AbortController();
  const within = openDeadline(clock, ANSWER_WITHIN_MS, closing.signal);
  const scripts = openScripts(redis, address.prefix);
  const presence = openPresence({ redis, scripts, clock, logger, within, closed: closing.signal });
  try {
    await openDeadline(clock, FIRST_ANSWER_WITHIN_MS, closing.signal)(redis.connect().then(scripts.probe));
  } catch (fault) {
    if (refusal() === undefined) presence.leave(lastFault() ?? fault);
  }
  const why = refusal();
  if (why !== undefined) {
    closing.abort();
    redis.disconnect();
    throw new Error(
      `SEALPOST_LIMITER_URL=${address.shown}: the Redis server refuses it (${why.message}). Correct the setting.`,
      {
        cause: why,
      },
    );
  }
  const run = randomUUID();
  let slots = 0;
  return {
    mode: () => (presence.local() === undefined ? 'shared' : 'per-process'),
    hit: (windows) => {
      const local = presence.local();
      return local === undefined
        ? within(scripts.hit(windows, clock.now)).catch((fault) => presence.instead(fault).hit(windows))
        : local.hit(windows);
    },
    acquire: (bucket, limit, ttlMs) => {
      const local = presence.local();
      if (local !== undefined) return local.acquire(bucket, limit, ttlMs);
      slots += 1;
      const slot = `${run}:${slots}`;
      return within(scripts.acquire(bucket, slot, limit, ttlMs)).then(
        (isTaken) => (isTaken ? slotOf(scripts, bucket, slot) : undefined),
        (fault) => presence.instead(fault).acquire(bucket, limit, ttlMs),
      );
    },
    close: async () => {
      closing.abort();
      redis.disconnect();
      await presence.local()?.close();
    },
  };
};

/** If a release is lost, the slot ends by its time. */
const slotOf = (scripts: Scripts, bucket: string, slot: string): Slot => ({
  release: () => void scripts.release(bucket, slot).catch(() => {}),
});

const clientOf = async ({ options }: RedisAddress): Promise<Client> => {
  const driver = await import('ioredis');
  const redis = new driver.Redis({
    ...options,
    lazyConnect: true,
    connectionName: 'sealpost',
    connectTimeout: FIRST_ANSWER_WITHIN_MS,
    retryStrategy: () => RECONNECT_EVERY_MS,
    // An unanswered decision is made in this process, so the driver must neither queue nor resend it.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  });
  let refusal: Error | undefined;
  let lastFault: Error | undefined;
  redis.on('error', (fault: Error) => {
    lastFault = fault;
    if (/^(WRONGPASS|NOAUTH|NOPERM|ERR (invalid password|DB index|AUTH))/.test(fault.message)) refusal ??= fault;
  });
  return { redis, refusal: () => refusal, lastFault: () => lastFault };
};

const openPresence = ({ redis, scripts, clock, logger, within, closed }: PresenceDeps): Presence => {
  let local: Limiter | undefined;

  const returned = async (): Promise<void> => {
    let failed = 0;
    for (;;) {
      await clock.sleep(PROBE_EVERY_MS, closed);
      if (closed.aborted) return;
      try {
        await within(scripts.probe());
        break;
      } catch {
        failed += 1;
      }
      if (failed % PROBES_MAX === 0 && redis.status === 'ready') redis.disconnect(true);
    }
    local = undefined;
    logger.info({}, 'the limiter counts for all processes again');
  };
  const leave = (fault: unknown): Limiter => {
    if (local !== undefined) return local;
    local = openMemoryLimiter({ clock });
    if (!closed.aborted)
      logger.warn(
        { reason: fault instanceof Error ? fault.message : '' },
        'the Redis server of the limiter is away: this process counts by itself, with the same limits',
      );
    void returned();
    return local;
  };
  return {
    local: () => local,
    leave,
    instead: (fault) => {
      if (fault instanceof RangeError) throw fault;
      return leave(fault);
    },
  };
};

/** The answer did not come in time. */
class TooLate extends Error {
  constructor() {
    super('the server did not answer in time');
  }
}

/**
 * One deadline for all answers of the server. Answers that have arrived are read before the last look: a blocked event
 * loop does not make a server late.
 */
const openDeadline = (clock: Clock, withinMs: number, signal: AbortSignal): Within => {
  const waiting = new Set<Readonly<{ dueMs: number; reject: (fault: Error) => void }>>();
  let looking = false;

  const look = async (): Promise<void> => {
    looking = true;
    while (waiting.size > 0 && !signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, signal);
      const atMs = clock.monotonic();
      await new Promise((resolve) => setImmediate(resolve));
      for (const one of waiting) {
        if (one.dueMs > atMs) break;
        waiting.delete(one);
        one.reject(new TooLate());
      }
    }
    looking = false;
  };
  return (answer) =>
    new Promise((resolve, reject) => {
      const one = { dueMs: clock.monotonic() + withinMs, reject };
      waiting.add(one);
      answer.then(
        (value) => {
          waiting.delete(one);
          resolve(value);
        },
        (fault: unknown) => {
          waiting.delete(one);
          reject(fault instanceof Error ? fault : new Error('not an Error'));
        },
      );
      if (!looking) void look();
    });
};

/**
 * KEYS: the counter of each window, which ends with its window. ARGV: limit and length of each. Out: how long the full
 * windows still last, or 0; the count of the first window; how long that still lasts, or -1 if it has not begun.
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

/**
 * KEYS: the taken slots of a bucket, by the moment at which each is free. ARGV: limit, length, name of the new slot.
 * Out: 1 if it was taken.
 */
const ACQUIRE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[3])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1`;

const openScripts = (redis: Redis, prefix: string): Scripts => {
  redis.defineCommand('sealpostHit', { lua: HIT });
  redis.defineCommand('sealpostAcquire', { lua: ACQUIRE, numberOfKeys: 1 });
  const commands = redis as unknown as Commands;
  // The braces keep all keys in one slot of a Redis cluster, because one script may look at several.
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
    acquire: async (bucket, slot, limit, ttlMs) =>
      (await commands.sealpostAcquire(slots(bucket), limit, ttlMs, slot)) === 1,
    release: (bucket, slot) => redis.zrem(slots(bucket), slot),
    probe: () => redis.set(`${root}:probe`, '1', 'PX', PROBE_MS),
  };
};

/**
 * redis://user:password@host:6379/0?prefix=sealpost, rediss://… over TLS, there with ?ca=FILE of the authority that
 * signed its certificate. Throws if the URL says something else; the message shows no credentials.
 */
const readRedisUrl = (url: string): RedisAddress => {
  const shown = url.replace(/\/\/.*@/, '//…@');
  const refuse = (why: string): never => {
    throw new Error(`SEALPOST_LIMITER_URL=${shown} ${why}`);
  };
  if (!URL.canParse(url)) refuse('is not of the form redis://user:password@host:6379/0.');
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(url);
  if (!schemes.includes(protocol)) refuse(`has no scheme of Redis; it takes ${schemes.join(' and ')}.`);
  if (hostname === '') refuse('names no host.');
  for (const name of searchParams.keys()) {
    if (!parameters.includes(name)) refuse(`has a parameter ${name}, which is none of ${parameters.join(', ')}.`);
  }
  const db = pathname === '' || pathname === '/' ? 0 : Number(pathname.slice(1));
  if (!Number.isInteger(db) || db < 0) refuse('names a database that is no number.');
  const ca = searchParams.get('ca');
  return {
    options: {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? portDefault : Number(port),
      db,
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' ? { tls: ca === null ? {} : { ca: readFileSync(ca) } } : {}),
    },
    prefix: searchParams.get('prefix') ?? 'sealpost',
    shown,
  };
};
