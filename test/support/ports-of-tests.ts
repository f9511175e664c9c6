/**
 * On which ports tests of commands, processors and projections run: those in memory and in SQLite, or distant servers.
 */
import { join } from 'node:path';
import type { Test } from 'tap';
import { openMemoryBus } from '../../src/adapters/bus/memory.js';
import { openSqliteReadModels } from '../../src/adapters/read-models/sqlite.js';
import type { Bus } from '../../src/domain/ports/bus.js';
import type { Clock } from '../../src/domain/ports/clock.js';
import type { Logger } from '../../src/domain/ports/logger.js';
import type { ReadModels } from '../../src/domain/ports/read-models.js';
import { temporaryDirectory } from './data-directory.js';
import {
  distantBus,
  distantEventStore,
  distantFiles,
  distantKeys,
  distantReadModels,
} from './distant/ports-of-tests.js';
import {
  memoryEventStore,
  memoryFiles,
  memoryKeys,
  type MemoryEventStore,
  type MemoryFiles,
  type MemoryKeys,
} from './memory-ports.js';

let isDistant = false;

/** From now on every world of this process stands on distant servers. */
export const useDistantPorts = (): void => {
  isDistant = true;
};

export const onDistantPorts = (): boolean => isDistant;

export const openStoresOfTest = (): Readonly<{ store: MemoryEventStore; keys: MemoryKeys; files: MemoryFiles }> =>
  isDistant
    ? { store: distantEventStore(), keys: distantKeys(), files: distantFiles() }
    : { store: memoryEventStore(), keys: memoryKeys(), files: memoryFiles() };

export const openBusOfTest = (options: Readonly<{ clock: Clock; pointersMax: number; logger: Logger }>): Bus =>
  isDistant ? distantBus(options) : openMemoryBus(options);

/** Opens the read models of each test instead of those above. */
let openOthers: ((t: Test) => Promise<ReadModels>) | undefined;

export const useReadModels = (open: (t: Test) => Promise<ReadModels>): void => {
  openOthers = open;
};

const always =
  <Value>(value: Promise<Value>) =>
  (): Promise<Value> =>
    value;

export const openReadModelsOfTest = (t: Test): ReadModels => {
  const models =
    openOthers !== undefined
      ? readingFrom(always(openOthers(t)))
      : isDistant
        ? distantReadModels()
        : openSqliteReadModels({ file: join(temporaryDirectory(t), 'documents.db') });
  t.teardown(() => models.close());
  return models;
};

/** Read models of which each use asks anew which they are, by the collection or the projection that it names. */
export const readingFrom = (opened: (name: string) => Promise<ReadModels>): ReadModels => ({
  projection: async (name, ...given) => (await opened(name)).projection(name, ...given),
  get: async (name, ...given) => (await opened(name)).get(name, ...given),
  find: async (name, ...given) => (await opened(name)).find(name, ...given),
  count: async (name, ...given) => (await opened(name)).count(name, ...given),
  findCounted: async (name, ...given) => (await opened(name)).findCounted(name, ...given),
  rebuild: async (name, ...given) => (await opened(name)).rebuild(name, ...given),
  inspect: async (name, ...given) => (await opened(name)).inspect(name, ...given),
  close: async () => (await opened('')).close(),
});
