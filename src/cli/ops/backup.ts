/**
 * `sealpost backup`: copies the log with its files, or the keys, while the service runs. `sealpost restore`: puts such
 * copies in their place while it is stopped.
 */
import {
  assertOnThisMachine,
  assertRestorable,
  forgetReplaced,
  isExpired,
  openReplaced,
  placeBackup,
  readBackup,
  storesThere,
  type Backup,
  backUpKeys,
  backUpLog,
} from '../../service/ops/backup.js';
import { noteBackup } from '../../service/ops/done.js';
import { checkStores } from '../../commands/ops/stores.js';
import { acceptLogAsItIs, noteIn, destroyAsDeletedIn, destroyAsIn, endOfReplaced } from '../../commands/ops/repair.js';
import { readConfig, type Config } from '../../service/settings/config.js';
import type { Engine } from '../../service/engine.js';
import { checkable } from '../../service/startup.js';
import { forgetPlace } from '../../service/stores/instances.js';
import { isFounded, removeReadModels, localStores, placesOf } from '../../service/stores/stores.js';
import { counted } from '../../shared/text.js';
import { print } from '../core/output.js';
import { assertFounded, assertMayFound, withEngine, withStopped } from '../core/engine.js';

export type BackupOptions = Readonly<{ keys?: boolean; days?: string }>;

export type RestoreOptions = Readonly<{ keys?: string; acceptLoss?: boolean; expired?: boolean }>;

type GivenBackup = Readonly<{ kind: Backup['kind']; directory: string; backup: Backup }>;

const DAYS_DEFAULT = '7';
const DAYS_MAX = 365;

export const backup = async (directory: string, { keys, days }: BackupOptions): Promise<void> => {
  const config = readConfig();
  assertFounded(config);
  if (keys !== true) {
    if (days !== undefined) throw new Error('--days goes with --keys; a backup of the log does not expire');
    const { files, ...made } = await backUpLog(config, directory);
    noteBackup(config, made);
    const { note } = made;
    const ofFiles = localStores(config).files
      ? `and ${counted(files, 'file')}`
      : `without the files, which are at ${placesOf(config).files}`;
    print(
      `${directory}: the log up to position ${note?.position ?? 0}, ${ofFiles}. Keep the keys apart: sealpost backup --keys DIRECTORY`,
    );
    return;
  }
  const kept = Number(days ?? DAYS_DEFAULT);
  if (!Number.isInteger(kept) || kept < 1 || kept > DAYS_MAX)
    throw new Error(`--days ${days} is not a whole number from 1 to ${DAYS_MAX}`);
  const made = await backUpKeys(config, directory, kept);
  noteBackup(config, made);
  print(
    `${directory}: the keys. Destroy this copy by ${made.expiresAt}: it opens what is deleted or archived from now on.`,
  );
};

export const restore = async (directory: string | undefined, options: RestoreOptions): Promise<void> => {
  const settings = readConfig();
  // Check the backup before anything is created: it may be none, or not restorable here.
  if (!isFounded(settings)) assertRestorable(settings, backupsHere(settings, directory, options.keys));
  assertMayFound(settings);
  return withStopped(async () => {
    const config = readConfig();
    const given = backupsHere(config, directory, options.keys);
    assertUsable(config, given, options);
    assertRestorable(config, given);
    for (const { kind, directory } of given) await placeBackup(config, kind, directory);
    removeReadModels(config);
    await withEngine((engine) => reconcile(config, engine, given));
    // The engine has opened them anew and empty. The next start makes them whole; until then nothing is there that
    // verify would miss documents in.
    removeReadModels(config);
    forgetReplaced(config);
    forgetPlace(config);
  });
};

/** Throws where a store that is to be restored is on a server. */
const backupsHere = (config: Config, log: string | undefined, keys: string | undefined): readonly GivenBackup[] => {
  const given = backupsGiven(log, keys);
  for (const { kind } of given) assertOnThisMachine(config, kind);
  return given;
};

const backupsGiven = (log: string | undefined, keys: string | undefined): readonly GivenBackup[] => {
  const given: GivenBackup[] = [];
  if (log !== undefined) given.push({ kind: 'log', directory: log, backup: readBackup(log, 'log') });
  if (keys !== undefined) given.push({ kind: 'keys', directory: keys, backup: readBackup(keys, 'keys') });
  if (given.length === 0) throw new Error('name the backup of the log, or that of the keys with --keys, or both');
  return given;
};

const assertUsable = (config: Config, given: readonly GivenBackup[], { acceptLoss, expired }: RestoreOptions): void => {
  const instances = new Set(given.flatMap(({ backup }) => backup.note?.instance ?? []));
  if (instances.size > 1)
    throw new Error('these backups are of two instances: the keys of one open nothing in the log of the other');
  for (const { directory, backup } of given) {
    if (!isExpired(backup) || expired === true) continue;
    throw new Error(
      `the backup of the keys in ${directory} expired at ${backup.expiresAt}: it opens what was deleted since, and should be destroyed. ` +
        'Take a newer one; where there is none: --expired',
    );
  }
  const there = storesThere(
    config,
    given.map(({ kind }) => kind),
  );
  if (there.length > 0 && acceptLoss !== true) {
    throw new Error(
      `${there.join(' and ')} would be replaced, and what is in there alone would be lost. Move the data directory away; or, where you do not need it: --accept-loss`,
    );
  }
};

/**
 * Destroys again what was destroyed or deleted since the backups, records in the log what is given up, and notes that
 * the stores belong together.
 */
const reconcile = async (config: Config, engine: Engine, given: readonly GivenBackup[]): Promise<void> => {
  const replaced = openReplaced(config);
  let knownUpTo = 0;
  try {
    if (replaced.keys !== undefined) await destroyAsIn(engine, replaced.keys);
    if (replaced.log !== undefined) {
      await destroyAsDeletedIn(engine, replaced.log).catch(() =>
        print('The log that was replaced cannot be read to its end: what it says of deletions may be missing.'),
      );
      knownUpTo = await endOfReplaced(engine.store, replaced.log).catch(() => 0);
    }
  } finally {
    await replaced.close();
  }
  if (given.some(({ kind }) => kind === 'log')) {
    const { after, lost } = await acceptLogAsItIs({ ...checkable(engine), ...engine }, knownUpTo);
    await noteIn(engine, engine.noted.files);
    print(
      `The log ends at position ${after}. What was accepted after the backup is not in it${lost > 0 ? `: ${counted(lost, 'event is', 'events are')} known to be lost` : ''}.`,
    );
  }
  for (const { kind, backup } of given) print(`Restored: ${kind} of ${backup.at}.`);
  for (const { message, isTold } of await checkStores(checkable(engine)))
    print(isTold === true ? `The start will say: ${message}` : `The start will be refused: ${message}`);
};
