/** Opens what processes share their work by: leases, bus and limiter, each by the scheme of its URL. */
import { openMemoryBus } from './adapters/bus/memory.js';
import { openSqliteLeases } from './adapters/lease/sqlite.js';
import { openMemoryLimiter } from './adapters/limiter/memory.js';
import type { Config } from './config.js';
import type { Limits } from './domain/limits.js';
import type { Bus } from './domain/ports/bus.js';
import type { Clock } from './domain/ports/clock.js';
import type { Ids } from './domain/ports/ids.js';
import type { Leases } from './domain/ports/lease.js';
import type { Limiter } from './domain/ports/limiter.js';
import type { Logger } from './domain/ports/logger.js';
import { pathOf } from './urls.js';

type Given = Pick<Config, 'urls'>;
type Parts = Readonly<{ clock: Clock; ids: Ids; limits: Limits; logger: Logger }>;

export const openLeases = async ({ urls }: Given, { clock, ids }: Pick<Parts, 'clock' | 'ids'>): Promise<Leases> =>
  openSqliteLeases({ file: pathOf(urls.leases), clock, freshName: ids.uuid });

export const openBus = async (_config: Given, { clock, limits, logger }: Pick<Parts, 'clock' | 'limits' | 'logger'>): Promise<Bus> =>
  openMemoryBus({ clock, pointersMax: limits.busPointersMax, logger });

export const openLimiter = async (_config: Given, { clock }: Pick<Parts, 'clock'>): Promise<Limiter> => openMemoryLimiter({ clock });
