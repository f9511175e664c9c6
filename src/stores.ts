/** Opens the stores that the settings name. One that is damaged ends this with a sentence that says which, and what helps. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteEventStore } from './adapters/event-store/sqlite.js';
import { openDisk } from './adapters/files/disk.js';
import { openDirectoryFiles } from './adapters/files/directory.js';
import { openFilesNote } from './adapters/files/log-note.js';
import { openNotedKeys } from './adapters/keys/destroyed.js';
import { loadMasterKey } from './adapters/keys/master-key-file.js';
import { openSqliteKeys } from './adapters/keys/sqlite.js';
import { openSqliteReadModels } from './adapters/read-models/sqlite.js';
import { removeSqliteReadModels, sqliteReadModelFiles } from './adapters/read-models/remove.js';
import { damageOf } from './adapters/sqlite/integrity.js';
import { holdLock, isLockHeld } from './adapters/sqlite/lock.js';
import { isSqliteError } from './adapters/sqlite/database.js';
import { openLogNote } from './adapters/sqlite/log-note.js';
import { StoreFault } from './commands/check-stores.js';
import { ConfigError, type Config } from './config.js';
import type { Disk } from './domain/ports/disk.js';
import type { EventStore } from './domain/ports/event-store.js';
import type { Files } from './domain/ports/files.js';
import type { Keys } from './domain/ports/keys.js';
import type { NotedStores } from './domain/ports/log-note.js';
import type { Logger } from './domain/ports/logger.js';
import type { ReadModels } from './domain/ports/read-models.js';
import { pathOf } from './urls.js';
import { makeDirectory } from './shared/directories.js';

export type Stores = Readonly<{
  store: EventStore;
  keys: Keys;
  readModels: ReadModels;
  files: Files;
  /** The notes that the stores keep of the log. */
  noted: NotedStores;
  /** The log, as messages name it. */
  logPlace: string;
  close: () => Promise<void>;
}>;

/** The disk that holds the data directory. */
export const diskOf = ({ dataDir }: Pick<Config, 'dataDir'>): Disk => openDisk(dataDir);

/** Where each store is. */
export const placesOf = ({ urls }: Pick<Config, 'urls'>): Readonly<Record<'log' | 'keys' | 'readModels' | 'files', string>> => ({
  log: pathOf(urls.eventStore),
  keys: pathOf(urls.keys),
  readModels: pathOf(urls.readModels),
  files: pathOf(urls.files),
});

/** Makes what is not there yet. `rewrapsKeys`: keys of an older form get the newest. Rejects where a store cannot be opened. */
export const openStores = async (config: Config, logger: Logger, rewrapsKeys = false): Promise<Stores> => {
  makeDirectory(config.dataDir);
  const places = placesOf(config);
  // A new master key beside keys that another has wrapped, or beside a log, would only hide that the right one is missing.
  const mayCreate = !existsSync(places.keys) && !existsSync(places.log);
  const masterKey = loadMasterKey({ value: config.masterKey, file: config.masterKeyFile, mayCreate });
  const store = sound(places.log, LOG_HELP, () => openSqliteEventStore({ file: places.log }));
  const keys = sound(places.keys, KEYS_HELP, () =>
    openSqliteKeys({
      file: places.keys,
      masterKey,
      writeLevel: config.writeEvents,
      rewraps: rewrapsKeys,
      onFault: (row) => logger.error({ file: places.keys, row }, 'a row of keys was changed or exchanged; its keys are taken for missing'),
    }),
  );
  const readModels = openSqliteReadModels({
    file: places.readModels,
    onFault: (err) => logger.error({ err }, 'the write-ahead log of a read model still holds what was erased, and could not be cut'),
    onDamaged: (file, movedTo) =>
      logger.error({ file, movedTo }, 'a read model is damaged: it was moved aside, and is made anew from the log'),
  });
  const noted = {
    keys: openNotedKeys({ file: places.keys }),
    files: openFilesNote({ directory: places.files }),
    readModels: openLogNote({ file: places.readModels }),
  };
  return {
    store,
    keys,
    readModels,
    files: openDirectoryFiles({ directory: places.files }),
    noted,
    logPlace: places.log,
    close: async () => {
      for (const { close } of Object.values(noted)) await close();
      await readModels.close();
      await store.close();
      await keys.close();
    },
  };
};

type Held = Readonly<{ release: () => void }>;

const lockFileOf = ({ dataDir }: Config): string => join(dataDir, 'process.lock');
const serviceLockOf = ({ dataDir }: Config): string => join(dataDir, 'service.lock');

/** What a service holds while it runs, whatever its roles. The bus is in this process, so only one may deliver from a data directory. */
export const holdRole = (config: Config): Held => {
  const service = holdLock({ file: serviceLockOf(config), shared: true });
  if (service === undefined) throw new ConfigError(`A sealpost repair or restore works on ${config.dataDir}; start when it is done.`);
  if (!config.roles.includes('process')) return service;
  const delivering = holdLock({ file: lockFileOf(config) });
  if (delivering !== undefined) return both(delivering, service);
  service.release();
  throw new ConfigError(`Another sealpost already delivers from ${config.dataDir}; stop it, or set SEALPOST_ROLES=http for this one.`);
};

/** For work that no service may run beside; one of an older version is known by its delivering alone. */
export const holdStopped = (config: Config): Held => {
  const service = holdLock({ file: serviceLockOf(config) });
  const delivering = service && holdLock({ file: lockFileOf(config) });
  if (service !== undefined && delivering !== undefined) return both(delivering, service);
  service?.release();
  throw new ConfigError(
    `A sealpost runs on ${config.dataDir} (of whatever role, or another repair or restore); stop it, then repeat this.`,
  );
};

const both = (one: Held, other: Held): Held => ({
  release: () => {
    one.release();
    other.release();
  },
});

/** Whether a service delivers from these data now. */
export const isRunning = (config: Config): boolean => isLockHeld({ file: lockFileOf(config) });

export type DatabaseFile = Readonly<{ file: string; store: 'log' | 'keys' | 'readModels' }>;

/** The database files that are there, those of the log and the keys first. */
export const databaseFiles = (config: Config): readonly DatabaseFile[] => {
  const { log, keys, readModels } = placesOf(config);
  const all: readonly DatabaseFile[] = [
    { file: log, store: 'log' },
    { file: keys, store: 'keys' },
    ...sqliteReadModelFiles({ file: readModels }).map((file) => ({ file, store: 'readModels' as const })),
  ];
  return all.filter(({ file }) => existsSync(file));
};

/** What is wrong with a database file, undefined where it is whole. */
export const damageOfFile = ({ file }: DatabaseFile): string | undefined => damageOf({ file });

/** Deletes the read models; the next start makes them anew from the log. No process may have them open. */
export const removeReadModels = (config: Config): void => removeSqliteReadModels({ file: placesOf(config).readModels });

const LOG_HELP = 'it holds every email, template and API key; restore its newest backup (sealpost restore)';
const KEYS_HELP = 'it holds the keys of all that is sealed; restore its newest backup (sealpost restore)';

const sound = <Store>(file: string, help: string, open: () => Store): Store => {
  try {
    return open();
  } catch (fault) {
    if (!isSqliteError(fault, 'SQLITE_NOTADB') && !isSqliteError(fault, 'SQLITE_CORRUPT')) throw fault;
    throw new StoreFault({ code: 'STORE_DAMAGED', message: `${file} is damaged (${(fault as Error).message}): ${help}` });
  }
};
