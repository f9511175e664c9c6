/** A distant limiter in memory: while it is away each process counts by itself, and says so. */
import { openMemoryLimiter } from '../../../src/adapters/limiter/memory.js';
import type { Clock } from '../../../src/domain/ports/clock.js';
import type { Limiter, Slot } from '../../../src/domain/ports/limiter.js';
import type { Logger } from '../../../src/domain/ports/logger.js';
import { ask, ConnectionLost, type Network } from './network.js';

/** In: the counters that are shared. */
export const openDistantLimiter = (
  server: Limiter,
  network: Network,
  { clock, logger }: Readonly<{ clock: Clock; logger?: Pick<Logger, 'warn'> }>,
): Limiter => {
  const own = openMemoryLimiter({ clock });
  let isAway = false;

  const shared = async <Answer>(
    operation: string,
    there: () => Promise<Answer>,
    here: () => Promise<Answer>,
  ): Promise<Answer> => {
    try {
      const answer = await ask(network, operation, there);
      isAway = false;
      return answer;
    } catch (fault) {
      if (!(fault instanceof ConnectionLost)) throw fault;
      if (!isAway) logger?.warn({}, 'the shared limiter is away, this process counts by itself');
      isAway = true;
      return here();
    }
  };

  /** Messages of one process arrive in their order: a slot is free before the same process asks for another. */
  let releases: Promise<unknown> = Promise.resolve();
  const released = (slot: Slot | undefined): Slot | undefined =>
    slot && {
      release: () => {
        releases = Promise.all([releases, ask(network, 'limiter.release', slot.release).catch(() => {})]);
      },
    };

  return {
    hit: (windows) =>
      shared(
        'limiter.hit',
        () => server.hit(windows),
        () => own.hit(windows),
      ),
    acquire: async (bucket, limit, ttlMs) => {
      await releases;
      const slot = await shared(
        'limiter.acquire',
        () => server.acquire(bucket, limit, ttlMs),
        () => own.acquire(bucket, limit, ttlMs),
      );
      return released(slot);
    },
    close: () => own.close(),
  };
};
