/** Opens the stores that the settings name, and says where they are. One that is damaged ends this with a sentence that says which, and what helps. */
import { existsSync } from 'node:fs';
import { openDisk } from '../../adapters/files/disk.js';
import { removeSqliteReadModels, sqliteReadModelFiles } from '../../adapters/read-models/remove.js';
import { damageOf } from '../../adapters/sqlite/integrity.js';
import type { Config } from '../settings/config.js';
import type { Disk } from '../../domain/ports/disk.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { Files } from '../../domain/ports/files.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { NotedStores } from '../../domain/ports/log-note.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import { makeDirectory } from '../../shared/files.js';
import { openFiles, openKeys, openLog, openReadModels, type StoreDeps } from './store-parts.js';
import { isLocal, placeOf } from '../settings/urls.js';

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

export type StoreName = 'log' | 'keys' | 'readModels' | 'files';

/** Where each store is: its file or directory, or its server without credentials. */
export const placesOf = ({ urls }: Pick<Config, 'urls'>): Readonly<Record<StoreName, string>> => ({
  log: placeOf(urls.eventStore),
  keys: placeOf(urls.keys),
  readModels: placeOf(urls.readModels),
  files: placeOf(urls.files),
});

/** Which of them are files or directories of this machine. */
export const localStores = ({ urls }: Pick<Config, 'urls'>): Readonly<Record<StoreName, boolean>> => ({
  log: isLocal(urls.eventStore),
  keys: isLocal(urls.keys),
  readModels: isLocal(urls.readModels),
  files: isLocal(urls.files),
});

/** Makes what is not there yet. `rewrapsKeys`: keys of an older form get the newest. Rejects where a store cannot be opened. */
export const openStores = async (config: Config, deps: StoreDeps, rewrapsKeys = false): Promise<Stores> => {
  makeDirectory(config.dataDir);
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
    const { keys, noted: notedKeys } = await openKeys(config, deps, { log, rewraps: rewrapsKeys });
    kept(keys);
    kept(notedKeys);
    const { readModels, noted: notedReadModels } = await openReadModels(config, deps);
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

export type DatabaseFile = Readonly<{ file: string; store: 'log' | 'keys' | 'readModels' }>;

/** The database files that are there, those of the log and the keys first. */
export const databaseFiles = (config: Config): readonly DatabaseFile[] => {
  const { log, keys, readModels } = placesOf(config);
  const local = localStores(config);
  const all: readonly DatabaseFile[] = [
    { file: log, store: 'log' },
    { file: keys, store: 'keys' },
    ...(local.readModels ? sqliteReadModelFiles({ file: readModels }) : []).map((file) => ({ file, store: 'readModels' as const })),
  ];
  return all.filter(({ file, store }) => local[store] && existsSync(file));
};

/** What is wrong with a database file, undefined where it is whole. */
export const damageOfFile = ({ file }: DatabaseFile): string | undefined => damageOf({ file });

/** Deletes the files of read models; the next start makes them anew from the log. No process may have them open. Those on a server are replaced by a rebuild. */
export const removeReadModels = (config: Config): void => {
  if (isLocal(config.urls.readModels)) removeSqliteReadModels({ file: placesOf(config).readModels });
};
