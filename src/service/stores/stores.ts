/**
 * Opens each store, and the leases, bus and limiter by which processes share their work, by the scheme of its URL, and
 * says where each is. The driver of a server is loaded only if a URL names one.
 */
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteEventStore } from '../../adapters/event-store/sqlite.js';
import { openDirectoryFiles, openFilesNote, openDisk } from '../../adapters/files/directory.js';
import { openNotedKeys } from '../../adapters/keys/key-table.js';
import { loadMasterKey } from '../../adapters/keys/key-files.js';
import { openSqliteKeys } from '../../adapters/keys/sqlite.js';
import { openSqliteRequestLog } from '../../adapters/request-log/sqlite.js';
import { openSqliteReadModels } from '../../adapters/read-models/sqlite.js';
import { isDamage, wordsOfDamage, openLogNote, damageOf } from '../../adapters/sqlite/database.js';
import { StoreFault } from '../../commands/ops/stores.js';
import type { Config } from '../settings/config.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { Files } from '../../domain/ports/files.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { NotedFiles, NotedKeys, NotedStore, NotedStores } from '../../domain/ports/log-note.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import { isLocal, pathOf, settingOf, type Urls, placeOf } from '../settings/urls.js';
import { openMemoryBus } from '../../adapters/bus/memory.js';
import { openSqliteLeases } from '../../adapters/lease/sqlite.js';
import { openMemoryLimiter } from '../../adapters/limiter/memory.js';
import { openDirectoryProcesses, openMongoProcesses } from '../../adapters/processes/processes.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Bus } from '../../domain/ports/bus.js';
import type { Ids } from '../../domain/ports/ids.js';
import type { Leases } from '../../domain/ports/lease.js';
import type { Limiter } from '../../domain/ports/limiter.js';
import type { Processes } from '../../domain/ports/processes.js';
import type { RequestLog } from '../../domain/ports/request-log.js';
import { removeSqliteReadModels, sqliteReadModelFiles } from '../../adapters/read-models/catalog.js';
import type { Disk } from '../../domain/ports/disk.js';
import { makeDirectory } from '../../shared/files.js';

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

type StoreDeps = Readonly<{ clock: Clock; logger: Logger }>;

type SharedDeps = Readonly<{ clock: Clock; ids: Ids; limits: Limits; logger: Logger }>;

/** `mode`: whether the counters are shared at this moment; absent if they never are. */
export type OpenLimiter = Limiter & Readonly<{ mode?: () => 'shared' | 'per-process' }>;

type StoreName = 'log' | 'keys' | 'readModels' | 'files';

type DatabaseFile = Readonly<{
  file: string;
  store: 'log' | 'keys' | 'readModels' | 'catalog' | 'leases' | 'requestLog' | 'mailbox';
}>;

const LOG_HELP = 'it holds every email, template and API key; restore its newest backup (sealpost restore)';
const KEYS_HELP = 'it holds the keys of all that is sealed; restore its newest backup (sealpost restore)';

const DAMAGED_ROW = 'a row of keys was changed or exchanged; its keys are taken for missing';

/**
 * Opens all stores, and creates those that are missing. `inspects`: files of read models are left as they are until
 * read models are used. Rejects if a store cannot be opened.
 */
export const openStores = async (
  config: Config,
  deps: StoreDeps,
  { inspects = false }: Readonly<{ inspects?: boolean }> = {},
): Promise<Stores> => {
  if (Object.values(localStores(config)).includes(true)) makeDirectory(config.dataDir);
  const closing: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closeOne of closing.splice(0).reverse()) await closeOne();
  };
  const kept = <Part extends Readonly<{ close: () => Promise<void> }>>(part: Part): Part => {
    closing.push(part.close);
    return part;
  };
  try {
    const log = kept(await openLog(config, deps));
    const { keys, noted: notedKeys } = await openKeys(config, deps, log);
    kept(keys);
    kept(notedKeys);
    const { readModels, noted: notedReadModels } = await openReadModels(config, deps, inspects);
    kept(readModels);
    kept(notedReadModels);
    const files = kept(await openFiles(config, deps));
    kept(files.noted);
    const noted = { keys: notedKeys, files: files.noted, readModels: notedReadModels };
    return { store: log, keys, readModels, files: files.files, noted, logPlace: placesOf(config).log, close };
  } catch (fault) {
    await close();
    throw fault;
  }
};

const openLog = async ({ urls }: Config, { clock, logger }: StoreDeps): Promise<EventStore> => {
  const url = urls.eventStore;
  if (isLocal(url)) return openSound(pathOf(url), LOG_HELP, () => openSqliteEventStore({ file: pathOf(url) }));
  const { openEventStoreDb } = await import('../../adapters/event-store/eventstoredb.js');
  return openEventStoreDb({ url, clock, logger });
};

/** Beside a log that has events no master key is made. */
const openKeys = async (
  config: Config,
  { logger }: StoreDeps,
  log: EventStore,
): Promise<Readonly<{ keys: Keys; noted: NotedKeys }>> => {
  const { urls } = config;
  const file = pathOf(urls.keys);
  // A new master key beside keys that another has wrapped, or beside a log, would only hide that the right one is
  // missing.
  const mayCreate = isLocal(urls.keys) && !existsSync(file) && (await log.head()) === 0;
  const masterKey = loadMasterKey({ value: config.masterKey, file: config.masterKeyFile, mayCreate });
  if (!isLocal(urls.keys)) {
    const { openMongoKeys } = await import('../../adapters/keys/mongodb.js');
    const { openMongoNotedKeys } = await import('../../adapters/keys/mongodb.js');
    const server = serverOf(urls, 'keys', logger);
    const onFault = (row: number): void => logger.error({ row }, DAMAGED_ROW);
    return { keys: await openMongoKeys({ ...server, masterKey, onFault }), noted: await openMongoNotedKeys(server) };
  }
  const onFault = (row: number): void => logger.error({ file, row }, DAMAGED_ROW);
  const keys = openSound(file, KEYS_HELP, () => openSqliteKeys({ file, masterKey, onFault }));
  return { keys, noted: openNotedKeys({ file }) };
};

const openReadModels = async (
  { urls }: Config,
  { clock, logger }: StoreDeps,
  opensWhenUsed: boolean,
): Promise<Readonly<{ readModels: ReadModels; noted: NotedStore }>> => {
  if (!isLocal(urls.readModels)) {
    const { openMongo } = await import('../../adapters/mongodb/client.js');
    const { mongoLogNote } = await import('../../adapters/mongodb/client.js');
    const { openMongoReadModels } = await import('../../adapters/read-models/mongodb.js');
    const server = serverOf(urls, 'readModels', logger);
    const [mongo, ofNote] = [await openMongo(server), await openMongo(server)];
    return {
      readModels: openMongoReadModels({ mongo, clock, logger }),
      noted: mongoLogNote(ofNote, 'readModels.state'),
    };
  }
  const file = pathOf(urls.readModels);
  const readModels = openSqliteReadModels({
    file,
    opensWhenUsed,
    onFault: (err) =>
      logger.error({ err }, 'the write-ahead log of a read model still holds what was erased, and could not be cut'),
    onDamaged: (damaged, movedTo) =>
      logger.error(
        { file: damaged, movedTo },
        'a read model is damaged: it was moved aside, and is made anew from the log',
      ),
  });
  return { readModels, noted: opensWhenUsed ? placeOnly(file) : openLogNote({ file }) };
};

/** The note of a file that may be damaged or missing, and that is left as it is: there is none. */
const placeOnly = (place: string): NotedStore => ({
  place,
  note: async () => undefined,
  setNote: async () => {
    throw new Error(`${place} is inspected, and no note is written into it`);
  },
  close: async () => {},
});

const openFiles = async (
  { urls }: Config,
  { logger }: StoreDeps,
): Promise<Readonly<{ files: Files; noted: NotedFiles; close: () => Promise<void> }>> => {
  if (!isLocal(urls.files)) {
    const { openMongoFiles, openMongoFilesNote } = await import('../../adapters/files/gridfs.js');
    const server = serverOf(urls, 'files', logger);
    const files = await openMongoFiles(server);
    return { files, noted: await openMongoFilesNote(server), close: files.close };
  }
  const directory = pathOf(urls.files);
  return { files: openDirectoryFiles({ directory }), noted: openFilesNote({ directory }), close: async () => {} };
};

/** The options of the driver of a server. */
const serverOf = (
  urls: Urls,
  part: keyof Urls,
  logger: Logger,
): Readonly<{ url: string; setting: string; logger: Logger }> => ({
  url: urls[part],
  setting: settingOf(part),
  logger,
});

/** Opens a SQLite store. Throws StoreFault, with what helps, if the file is damaged. */
const openSound = <Store>(file: string, help: string, open: () => Store): Store => {
  try {
    return open();
  } catch (fault) {
    if (!isDamage(fault)) throw fault;
    throw new StoreFault({
      code: 'STORE_DAMAGED',
      message: `${file} is damaged (${wordsOfDamage(fault as Error)}): ${help}`,
    });
  }
};

export const openLeases = async (
  { urls }: Pick<Config, 'urls'>,
  { clock, ids, logger }: Pick<SharedDeps, 'clock' | 'ids' | 'logger'>,
): Promise<Leases> => {
  const url = urls.leases;
  if (isLocal(url)) return openSqliteLeases({ file: pathOf(url), clock, freshName: ids.uuid });
  const { openMongoLeases } = await import('../../adapters/lease/mongodb.js');
  return openMongoLeases({ url, setting: settingOf('leases'), logger, clock, freshName: ids.uuid });
};

/** The processes of this instance tell of themselves beside the leases. */
export const openProcesses = async (
  { urls, dataDir }: Pick<Config, 'urls' | 'dataDir'>,
  { clock, logger }: Pick<SharedDeps, 'clock' | 'logger'>,
): Promise<Processes> => {
  const url = urls.leases;
  if (isLocal(url)) return openDirectoryProcesses({ directory: join(dataDir, 'processes'), clock });
  return openMongoProcesses({ url, setting: settingOf('leases'), logger });
};

const requestLogFile = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'request-log.db');

/** The log of calls lies beside the leases, so that all processes share it. Nothing else depends on a damaged file. */
export const openRequestLog = async (
  config: Pick<Config, 'urls' | 'dataDir' | 'limits'>,
  { logger }: Pick<SharedDeps, 'logger'>,
): Promise<RequestLog> => {
  const { requestLogCallsMax: callsMax, requestLogDays: days } = config.limits;
  const url = config.urls.leases;
  if (!isLocal(url)) {
    const { openMongoRequestLog } = await import('../../adapters/request-log/mongodb.js');
    return openMongoRequestLog({ url, setting: settingOf('leases'), logger }, { callsMax, days });
  }
  const file = requestLogFile(config);
  try {
    return openSqliteRequestLog({ file, callsMax });
  } catch (fault) {
    if (!isDamage(fault)) throw fault;
    logger.warn({ err: fault as Error }, 'the log of calls is damaged, and begins anew');
    for (const one of [file, `${file}-wal`, `${file}-shm`]) rmSync(one, { force: true });
    return openSqliteRequestLog({ file, callsMax });
  }
};

/**
 * The leases of the projections, if they differ from the shared ones: read models in files of this machine are kept by
 * a process of this machine, while processes elsewhere keep their own.
 */
export const openProjectionLeases = async (
  config: Config,
  parts: Pick<SharedDeps, 'clock' | 'ids'>,
): Promise<Leases | undefined> =>
  isLocal(config.urls.readModels) && !isLocal(config.urls.leases)
    ? openSqliteLeases({ file: join(config.dataDir, 'leases.db'), clock: parts.clock, freshName: parts.ids.uuid })
    : undefined;

/** Only a process that delivers takes part in a shared bus. */
export const openBus = async (
  { urls, roles }: Config,
  { clock, limits, logger }: Omit<SharedDeps, 'ids'>,
): Promise<Bus> => {
  const pointersMax = limits.busPointersMax;
  if (isLocal(urls.bus) || !roles.includes('process')) return openMemoryBus({ clock, pointersMax, logger });
  const { openNatsBus } = await import('../../adapters/bus/nats.js');
  // On NATS a team waits behind the pointers of others, so these are fewer: the rest waits in turns in the read models.
  return openNatsBus({ url: urls.bus, clock, pointersMax: Math.ceil(pointersMax / 4), logger });
};

/** Only a process that serves requests counts them. */
export const openLimiter = async (
  { urls, roles }: Config,
  { clock, logger }: Pick<SharedDeps, 'clock' | 'logger'>,
): Promise<OpenLimiter> => {
  if (isLocal(urls.limiter) || !roles.includes('http')) {
    const { hit, acquire, close } = openMemoryLimiter({ clock });
    return { hit, acquire, close };
  }
  const { openRedisLimiter } = await import('../../adapters/limiter/redis.js');
  return openRedisLimiter({ url: urls.limiter, clock, logger });
};

/** Location of each store: its file or directory, or its server without credentials. */
export const placesOf = ({ urls }: Pick<Config, 'urls'>): Readonly<Record<StoreName, string>> => ({
  log: placeOf(urls.eventStore),
  keys: placeOf(urls.keys),
  readModels: placeOf(urls.readModels),
  files: placeOf(urls.files),
});

/** Stores that are files or directories of this machine. */
export const localStores = ({ urls }: Pick<Config, 'urls'>): Readonly<Record<StoreName, boolean>> => ({
  log: isLocal(urls.eventStore),
  keys: isLocal(urls.keys),
  readModels: isLocal(urls.readModels),
  files: isLocal(urls.files),
});

/** The database files that exist, those of the log and the keys first. */
export const databaseFiles = (config: Config): readonly DatabaseFile[] => {
  const { log, keys, readModels } = placesOf(config);
  const local = localStores(config);
  const all: readonly DatabaseFile[] = [
    { file: log, store: 'log' },
    { file: keys, store: 'keys' },
    ...(local.readModels ? sqliteReadModelFiles({ file: readModels }) : []).map((file) => ({
      file,
      store: file === readModels ? ('catalog' as const) : ('readModels' as const),
    })),
    { file: placeOf(config.urls.leases), store: 'leases' },
    { file: requestLogFile(config), store: 'requestLog' },
    { file: join(config.dataDir, 'mailbox.db'), store: 'mailbox' },
  ];
  const isHere = { ...local, catalog: true, leases: isLocal(config.urls.leases), requestLog: true, mailbox: true };
  return all.filter(({ file, store }) => isHere[store] && existsSync(file));
};

/** Text that names the work that stops while a file of that store is damaged, and the repair. */
export const helpOfDamage = ({ file, store }: DatabaseFile): string => {
  switch (store) {
    case 'log':
      return LOG_HELP;
    case 'keys':
      return KEYS_HELP;
    case 'readModels':
      return 'lists wait, delivery goes on; sealpost repair read-models, on a stopped service';
    case 'catalog':
      return 'nothing is lost with it, but no service starts; sealpost repair read-models';
    case 'leases':
      return `nothing is lost with it, but no service starts; stop every sealpost on it, then delete ${file} with its -wal and -shm`;
    case 'requestLog':
      return 'it holds the log of calls, and no record of mails; all else goes on, and the next start replaces it';
    case 'mailbox':
      return `it holds the mails of the built-in mailbox, and no record of them; all else goes on; stop the service, then delete ${file} with its -wal and -shm`;
  }
};

/** The files of one read model, or the server that has it. */
export const placeOfReadModel = (place: string, name: string): string => {
  const files = existsSync(place)
    ? sqliteReadModelFiles({ file: place }).filter((file) => file.includes(`.${name}.`))
    : [];
  return files.length === 0 ? place : files.join(' and ');
};

/** Whether there is an instance: the log is on a server, or a store is on this machine. */
export const isFounded = (config: Config): boolean => {
  const local = localStores(config);
  return !local.log || databaseFiles(config).length > 0 || (local.files && existsSync(placesOf(config).files));
};

/**
 * In: the user of this process. Out: a sentence where that is root and the stores, or else the data directory, belong
 * to another user, whose service could not use what root makes there; undefined where all is well.
 */
export const rootBesideOwner = (config: Config, uid = process.geteuid?.()): string | undefined => {
  const place = [...databaseFiles(config).map(({ file }) => file), config.dataDir].find((path) => existsSync(path));
  const owner = place === undefined ? uid : statSync(place).uid;
  return uid !== 0 || owner === 0
    ? undefined
    : `${config.dataDir} belongs to uid ${owner}, whose service could not use what root makes there: run this as that user (sudo -u '#${owner}' …)`;
};

/** Damage of a database file; undefined if it is whole. Throws if the file cannot be used for another reason. */
export const damageOfFile = ({ file }: DatabaseFile): string | undefined => damageOf({ file });

/**
 * Deletes the files of read models; the next start makes them anew from the log. No process may have them open. Those
 * on a server are replaced by a rebuild.
 */
export const removeReadModels = (config: Config): void => {
  if (isLocal(config.urls.readModels)) removeSqliteReadModels({ file: placesOf(config).readModels });
};

/** The disk that holds the data directory. */
export const diskOf = ({ dataDir }: Pick<Config, 'dataDir'>): Disk => openDisk(dataDir);
