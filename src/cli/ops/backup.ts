/** `sealpost backup DIRECTORY`: a consistent copy of the log with its files, or of the keys, while the service runs. */
import { backUpKeys, backUpLog } from '../../service/ops/backup.js';
import { readConfig } from '../../service/settings/config.js';
import { localStores, placesOf } from '../../service/stores/stores.js';
import { print } from '../core/output.js';

export type BackupOptions = Readonly<{ keys?: boolean; days?: string }>;

const DAYS_DEFAULT = '7';
const DAYS_MAX = 365;

export const backup = async (directory: string, { keys, days }: BackupOptions): Promise<void> => {
  const config = readConfig();
  if (keys !== true) {
    if (days !== undefined) throw new Error('--days goes with --keys; a backup of the log does not expire');
    const { note, files } = await backUpLog(config, directory);
    const ofFiles = localStores(config).files ? `and ${files} files` : `without the files, which are at ${placesOf(config).files}`;
    print(`${directory}: the log up to position ${note?.position ?? 0}, ${ofFiles}. Keep the keys apart: sealpost backup --keys DIRECTORY`);
    return;
  }
  const kept = Number(days ?? DAYS_DEFAULT);
  if (!Number.isInteger(kept) || kept < 1 || kept > DAYS_MAX) throw new Error(`--days ${days} is not a whole number from 1 to ${DAYS_MAX}`);
  const { expiresAt } = await backUpKeys(config, directory, kept);
  print(`${directory}: the keys. Destroy this copy by ${expiresAt}: it opens what is deleted or archived from now on.`);
};
