/** Opens what processes share their work by: leases, bus and limiter, each by the scheme of its URL. */
import { join } from 'node:path';
import { openMemoryBus } from '../../adapters/bus/memory.js';
import { openSqliteLeases } from '../../adapters/lease/sqlite.js';
import { openMemoryLimiter } from '../../adapters/limiter/memory.js';
import type { Config } from '../settings/config.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Bus } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Ids } from '../../domain/ports/ids.js';
import type { Leases } from '../../domain/ports/lease.js';
import type { Limiter } from '../../domain/ports/limiter.js';
import type { Logger } from '../../domain/ports/logger.js';
import { isLocal, pathOf, settingOf } from '../settings/urls.js';

type Given = Pick<Config, 'urls'>;
type Parts = Readonly<{ clock: Clock; ids: Ids; limits: Limits; logger: Logger }>;

export const openLeases = async ({ urls }: Given, { clock, ids, logger }: Pick<Parts, 'clock' | 'ids' | 'logger'>): Promise<Leases> => {
  const url = urls.leases;
  if (isLocal(url)) return openSqliteLeases({ file: pathOf(url), clock, freshName: ids.uuid });
  const { openMongoLeases } = await import('../../adapters/lease/mongodb.js');
  return openMongoLeases({ url, setting: settingOf('leases'), logger, clock, freshName: ids.uuid });
};

/**
 * Those under which the read models are kept, where they are not the leases of all: read models in files of this machine are kept by a
 * process of this machine, while one elsewhere keeps others.
 */
export const openProjectionLeases = async (config: Config, parts: Pick<Parts, 'clock' | 'ids'>): Promise<Leases | undefined> =>
  isLocal(config.urls.readModels) && !isLocal(config.urls.leases)
    ? openSqliteLeases({ file: join(config.dataDir, 'leases.db'), clock: parts.clock, freshName: parts.ids.uuid })
    : undefined;

/** Only who delivers takes part in a bus that several share. */
export const openBus = async ({ urls, roles }: Config, { clock, limits, logger }: Omit<Parts, 'ids'>): Promise<Bus> => {
  const pointersMax = limits.busPointersMax;
  if (isLocal(urls.bus) || !roles.includes('process')) return openMemoryBus({ clock, pointersMax, logger });
  const { openNatsBus } = await import('../../adapters/bus/nats.js');
  return openNatsBus({ url: urls.bus, clock, pointersMax, logger });
};

/** `mode`: whether its counters are shared at this moment; absent where they never are. */
export type OpenLimiter = Limiter & Readonly<{ mode?: () => 'shared' | 'per-process' }>;

/** Only who serves requests counts them. */
export const openLimiter = async ({ urls, roles }: Config, { clock, logger }: Pick<Parts, 'clock' | 'logger'>): Promise<OpenLimiter> => {
  if (isLocal(urls.limiter) || !roles.includes('http')) {
    const { hit, acquire, close } = openMemoryLimiter({ clock });
    return { hit, acquire, close };
  }
  const { openRedisLimiter } = await import('../../adapters/limiter/redis.js');
  return openRedisLimiter({ url: urls.limiter, clock, logger });
};
