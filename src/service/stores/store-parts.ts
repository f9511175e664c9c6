/** Opens each store by the scheme of its URL. The driver of a server is loaded only where a URL names one. */
import { existsSync } from 'node:fs';
import { openSqliteEventStore } from '../../adapters/event-store/sqlite.js';
import { openDirectoryFiles } from '../../adapters/files/directory.js';
import { openFilesNote } from '../../adapters/files/log-note.js';
import { openNotedKeys } from '../../adapters/keys/destroyed.js';
import { loadMasterKey } from '../../adapters/keys/key-files.js';
import { openSqliteKeys } from '../../adapters/keys/sqlite.js';
import { openSqliteReadModels } from '../../adapters/read-models/sqlite.js';
import { isSqliteError } from '../../adapters/sqlite/database.js';
import { openLogNote } from '../../adapters/sqlite/log-note.js';
import { StoreFault } from '../../commands/ops/stores.js';
import type { Config } from '../settings/config.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { Files } from '../../domain/ports/files.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { NotedFiles, NotedKeys, NotedStore } from '../../domain/ports/log-note.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import { isLocal, pathOf, settingOf, type Urls } from '../settings/urls.js';

export type StoreDeps = Readonly<{ clock: Clock; logger: Logger }>;

/** What the driver of a server is told of the part that it opens. */
const serverOf = (urls: Urls, part: keyof Urls, logger: Logger): Readonly<{ url: string; setting: string; logger: Logger }> => ({
  url: urls[part],
  setting: settingOf(part),
  logger,
});

export const openLog = async ({ urls }: Config, { clock, logger }: StoreDeps): Promise<EventStore> => {
  const url = urls.eventStore;
  if (isLocal(url)) return sound(pathOf(url), LOG_HELP, () => openSqliteEventStore({ file: pathOf(url) }));
  const { openEventStoreDb } = await import('../../adapters/event-store/eventstoredb.js');
  return openEventStoreDb({ url, clock, logger });
};

/** In: the log too, for beside one no master key is made. `rewraps`: keys of an older form get the newest. */
export const openKeys = async (
  config: Config,
  { logger }: StoreDeps,
  { log, rewraps }: Readonly<{ log: EventStore; rewraps: boolean }>,
): Promise<Readonly<{ keys: Keys; noted: NotedKeys }>> => {
  const { urls } = config;
  const file = pathOf(urls.keys);
  // A new master key beside keys that another has wrapped, or beside a log, would only hide that the right one is missing.
  const mayCreate = isLocal(urls.keys) && !existsSync(file) && (await log.head()) === 0;
  const masterKey = loadMasterKey({ value: config.masterKey, file: config.masterKeyFile, mayCreate });
  if (!isLocal(urls.keys)) {
    const { openMongoKeys } = await import('../../adapters/keys/mongodb.js');
    const { openMongoNotedKeys } = await import('../../adapters/keys/mongodb-destroyed.js');
    const server = serverOf(urls, 'keys', logger);
    const onFault = (row: number): void => logger.error({ row }, DAMAGED_ROW);
    return { keys: await openMongoKeys({ ...server, masterKey, onFault }), noted: await openMongoNotedKeys(server) };
  }
  const onFault = (row: number): void => logger.error({ file, row }, DAMAGED_ROW);
  const keys = sound(file, KEYS_HELP, () => openSqliteKeys({ file, masterKey, writeLevel: config.writeEvents, rewraps, onFault }));
  return { keys, noted: openNotedKeys({ file }) };
};

const DAMAGED_ROW = 'a row of keys was changed or exchanged; its keys are taken for missing';

export const openReadModels = async (
  { urls }: Config,
  { clock, logger }: StoreDeps,
): Promise<Readonly<{ readModels: ReadModels; noted: NotedStore }>> => {
  if (!isLocal(urls.readModels)) {
    const { openMongo } = await import('../../adapters/mongodb/client.js');
    const { mongoLogNote } = await import('../../adapters/mongodb/log-note.js');
    const { openMongoReadModels } = await import('../../adapters/read-models/mongodb.js');
    const server = serverOf(urls, 'readModels', logger);
    const [mongo, ofNote] = [await openMongo(server), await openMongo(server)];
    return { readModels: openMongoReadModels({ mongo, clock, logger }), noted: mongoLogNote(ofNote, 'readModels.state') };
  }
  const file = pathOf(urls.readModels);
  const readModels = openSqliteReadModels({
    file,
    onFault: (err) => logger.error({ err }, 'the write-ahead log of a read model still holds what was erased, and could not be cut'),
    onDamaged: (damaged, movedTo) =>
      logger.error({ file: damaged, movedTo }, 'a read model is damaged: it was moved aside, and is made anew from the log'),
  });
  return { readModels, noted: openLogNote({ file }) };
};

export const openFiles = async (
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
