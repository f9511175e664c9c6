/** One rebuild of a projection: a new generation beside the live one, put in its place or thrown away. */
import { setImmediate as turn } from 'node:timers/promises';
import { CheckpointMoved, type Document, type LookupFault, type Rebuild } from '../../domain/ports/read-models.js';
import { copyDatabase } from '../sqlite/copy.js';
import { holdLock } from '../sqlite/lock.js';
import type { Catalog } from './catalog.js';
import { startRebuildWriter, type RebuildWriter } from './rebuild-writer.js';
import { generationFaults } from './generation.js';
import type { LiveGenerations } from './live-generations.js';

export type RebuildOptions = Readonly<{
  catalog: Catalog;
  live: LiveGenerations;
  name: string;
  /** Called once when it is over. */ ended: () => void;
}>;

const scanPageSize = 500;

/** Throws where another rebuild of the projection is under way, in any process. */
export const startRebuild = (options: RebuildOptions): Rebuild => {
  const { catalog, live, name } = options;
  const lock = holdLock({ file: catalog.rebuildLockOf(name) });
  if (lock === undefined) throw new Error(`another rebuild of ${name} is under way`);
  let over = false;

  try {
    const { replaced: liveNumber, fresh } = newGeneration(catalog, name);
    const isInPlace = (): boolean => catalog.projection(name)?.generation === liveNumber;

    const end = async (dead: number): Promise<void> => {
      over = true;
      await fresh.close();
      catalog.deleteGenerations(name, (generation) => generation === dead);
      lock.release();
      options.ended();
    };

    return {
      store: fresh.store,
      scan: (collection, side) =>
        scanById(async (afterId) =>
          side === 'rebuilt'
            ? fresh.pageById(collection, afterId, scanPageSize)
            : live.use(name, (generation) => generation.collection(collection).pageById(afterId, scanPageSize)),
        ),
      lookupFaults: () => lookupFaults(catalog, name, liveNumber),
      commit: async () => {
        if (over) throw new Error(`the rebuild of ${name} is over`);
        let done = false;
        try {
          if (isInPlace()) {
            await fresh.finish();
            done = catalog.replace(name, liveNumber, fresh.number);
          }
        } catch (error) {
          // Whoever put the projection on another version has deleted our file.
          if (isInPlace()) throw error;
        } finally {
          live.release(name);
          await end(done ? liveNumber : fresh.number);
        }
        if (!done) throw new CheckpointMoved(`the projection ${name} was put on another version while it was rebuilt`);
      },
      discard: async () => {
        if (!over) await end(fresh.number);
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
};

/** The new generation, and the number of the live one that it is to replace. We hold the lock: every other generation was left by a crash. */
const newGeneration = (catalog: Catalog, name: string): { replaced: number; fresh: RebuildWriter } => {
  const number = catalog.nextGeneration(name);
  const projection = catalog.projection(name);
  if (projection === undefined) throw new Error(`there is no projection ${name}`);
  catalog.deleteGenerations(name, (generation) => generation !== projection.generation);
  const fresh = startRebuildWriter({ file: catalog.fileOf(name, number), number, specs: projection.specs });
  return { replaced: projection.generation, fresh };
};

/**
 * Looks at a copy, for the file itself would keep what is erased meanwhile in its write-ahead log. The copy has the name of a generation:
 * what a crash leaves of it is deleted with those.
 */
const lookupFaults = async function* (catalog: Catalog, name: string, live: number): AsyncGenerator<LookupFault> {
  const number = catalog.nextGeneration(name);
  const file = catalog.fileOf(name, number);
  try {
    await copyDatabase({ from: catalog.fileOf(name, live), to: file });
    for (const fault of generationFaults(file, catalog.projection(name)?.specs ?? [])) {
      if (fault !== undefined) yield fault;
      await turn();
    }
  } finally {
    catalog.deleteGenerations(name, (generation) => generation === number);
  }
};

const scanById = async function* (pageAfter: (id: string) => Promise<readonly Document[]>): AsyncGenerator<Document> {
  for (let afterId = ''; ;) {
    const page = await pageAfter(afterId);
    yield* page;
    if (page.length < scanPageSize) return;
    afterId = page.at(-1)!.id;
    await turn();
  }
};
