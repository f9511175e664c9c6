/** Counters on a Redis server, shared by every process; while it does not answer, each process counts in memory with the same limits. */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Clock } from '../../domain/ports/clock.js';
import type { Limiter, Slot } from '../../domain/ports/limiter.js';
import type { Logger } from '../../domain/ports/logger.js';
import { openMemoryLimiter } from './memory.js';
import { openDeadline, type Within } from './redis-deadline.js';
import { openScripts, type Scripts } from './redis-scripts.js';
import { readRedisUrl, type RedisAddress } from './redis-url.js';

export type RedisLimiterOptions = Readonly<{
  /** The value of SEALPOST_LIMITER_URL. */
  url: string;
  clock: Clock;
  logger: Logger;
}>;

/** How it is counted at this moment, as health and metrics tell it. */
export type LimiterMode = 'shared' | 'per-process';

/** A decision waits so long for the server, once; the next ones do not wait at all until it answers again. */
const ANSWER_WITHIN_MS = 250;
const FIRST_ANSWER_WITHIN_MS = 5_000;
const PROBE_EVERY_MS = 250;
/** After so many probes without an answer the connection is made anew. */
const PROBES_MAX = 8;
const RECONNECT_EVERY_MS = 250;

/** Resolves where the server does not answer too. Rejects where it refuses the URL's credentials or database; the message names the setting. */
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
    throw new Error(`SEALPOST_LIMITER_URL=${address.shown}: the Redis server refuses it (${why.message}). Correct the setting.`, {
      cause: why,
    });
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

/** A release that is lost is made up for by the time of the slot. */
const slotOf = (scripts: Scripts, bucket: string, slot: string): Slot => ({
  release: () => void scripts.release(bucket, slot).catch(() => {}),
});

/** `refusal`: what the server answered to the credentials or the database of the URL, where it refused them. */
type Client = Readonly<{ redis: Redis; refusal: () => Error | undefined; lastFault: () => Error | undefined }>;

const clientOf = async ({ options }: RedisAddress): Promise<Client> => {
  const driver = await import('ioredis');
  const redis = new driver.Redis({
    ...options,
    lazyConnect: true,
    connectionName: 'sealpost',
    connectTimeout: FIRST_ANSWER_WITHIN_MS,
    retryStrategy: () => RECONNECT_EVERY_MS,
    // A decision that was not answered is made in this process: it is neither kept for later nor sent again.
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

type Presence = Readonly<{
  /** The counters of this process, while the shared ones are away. */
  local: () => Limiter | undefined;
  /** Counts per process from now on, until the server answers again. */
  leave: (fault: unknown) => Limiter;
  /** The same after a fault of the server; a fault of the program is thrown on. */
  instead: (fault: unknown) => Limiter;
}>;

type PresenceDeps = Readonly<{ redis: Redis; scripts: Scripts; clock: Clock; logger: Logger; within: Within; closed: AbortSignal }>;

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
