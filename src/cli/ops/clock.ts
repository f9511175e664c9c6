/** `sealpost clock confirm`: tells the running service, or the next start, that the time of day of this machine is right. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readConfig } from '../../service/settings/config.js';
import { confirmTimeOfDay } from '../../service/ops/clock.js';
import { print } from '../core/output.js';

export const confirmClock = (): void => {
  const config = readConfig();
  if (!existsSync(config.dataDir))
    throw new Error(`there is no data directory ${config.dataDir}; set SEALPOST_DATA_DIR to that of the service`);
  print(`${confirmTimeOfDay(config, randomUUID())} is confirmed as the time of day; a running service goes by it within some seconds.`);
};
