/** Opens the clock that a running service goes by, and what tells whether the machine's may be believed. */
import { join } from 'node:path';
import { continuedClock } from '../../adapters/clock/continued.js';
import { openClockRecord } from '../../adapters/clock/record-files.js';
import { systemClock } from '../../adapters/clock/system.js';
import { openClockTrust, type ClockTrust } from './clock.js';
import type { Config } from '../settings/config.js';
import type { ClockRecord } from '../../domain/ports/clock-record.js';
import type { Clock, ContinuedClock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Engine } from '../engine.js';

/** In: the machine's clock, where it is not the system's. */
export const openClock = (machine: Clock = systemClock()): ContinuedClock => continuedClock(machine);

const recordOf = (dataDir: string): ClockRecord => openClockRecord(join(dataDir, 'clock.json'));

/** To be called before a first start writes anything. */
export const openTrust = async (config: Config, { eventLog, logger }: Engine, clock: ContinuedClock): Promise<ClockTrust> =>
  openClockTrust({
    clock,
    logger,
    record: recordOf(config.dataDir),
    isKept: config.roles.includes('process'),
    isNew: (await eventLog.head()) === 0,
  });

/** Tells the service that runs or starts next that the time of day is right; `id` differs from all before. Out: that time. */
export const confirmTimeOfDay = ({ dataDir }: Pick<Config, 'dataDir'>, id: string): string => {
  recordOf(dataDir).confirm(id);
  return isoTime(systemClock().now());
};
