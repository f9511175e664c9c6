/** Read models in SQLite: a catalog file, and beside it a file for the live generation of each projection. */
import { setImmediate as turn } from 'node:timers/promises';
import { CheckpointMoved, type CollectionSpec, type Document, type Documents, type ProjectionStore, type Rebuild } from '../../domain/ports/documents.js';
import { isSqliteError } from '../sqlite/database.js';
import { holdLock } from '../sqlite/lock.js';
import { openCatalog, type Catalog, type Projection } from './catalog.js';
import { createGeneration, openGeneration, openNewGeneration, type Generation } from './generation.js';
import { checkNames } from './names.js';

/** In: the catalog's file, made where there is none; the other files stand beside it under its name. */
export const openSqliteDocuments = ({ file }: Readonly<{ file: string }>): Documents => {
  const catalog = openCatalog(file);
  const live = liveGenerations(catalog);
  const rebuilds = new Set<Rebuild>();

  const onCollection = <Result>(collection: string, work: (generation: Generation) => Result): Result => {
    const projection = catalog.projectionOf(collection);
    if (projection === undefined) throw new Error(`there is no collection ${collection}`);
    return live.use(projection.name, work);
  };

  return {
    projection: async (name, specs) => {
      checkNames(name, specs);
      const { generation } = catalog.ensure(name, specs, (generationFile) => {
        // Left by a crash in the middle of this very step.
        catalog.deleteGenerations(name, (number) => catalog.fileOf(name, number) === generationFile);
        createGeneration(generationFile, specs);
      });
      catalog.deleteGenerations(name, (number) => number < generation);
      return storeOf(catalog, live, name, specs);
    },
    get: async (collection, id) => onCollection(collection, (generation) => generation.collection(collection).get(id)),
    find: async (collection, query) => onCollection(collection, (generation) => generation.finder(collection).find(query)),
    count: async (collection, query, max) => onCollection(collection, (generation) => generation.finder(collection).count(query, max)),
    rebuild: async (name) => {
      const rebuild = startRebuild(catalog, live, name, () => rebuilds.delete(rebuild));
      rebuilds.add(rebuild);
      return rebuild;
    },
    close: async () => {
      for (const rebuild of [...rebuilds]) await rebuild.discard();
      live.close();
      catalog.close();
    },
  };
};

type Use = <Result>(name: string, work: (generation: Generation) => Result) => Result;
type LiveGenerations = Readonly<{ use: Use; /** Closes the file, until it is used again. */ release: (name: string) => void; close: () => void }>;

/** A generation can be replaced between the look into the catalog and the opening of its file. */
const openAttemptsMax = 5;

/** The open files; each use goes to the generation that is live now, whichever process has put it there. */
const liveGenerations = (catalog: Catalog): LiveGenerations => {
  const open = new Map<string, Generation>();

  const current = (name: string): Generation => {
    for (let attempt = 1; ; attempt += 1) {
      const projection = catalog.projection(name);
      if (projection === undefined) throw new Error(`there is no projection ${name}`);
      const known = open.get(name);
      if (known?.number === projection.generation) return known;
      known?.close();
      open.delete(name);
      try {
        const generation = openGeneration(place(catalog, projection));
        open.set(name, generation);
        return generation;
      } catch (error) {
        if (attempt === openAttemptsMax || !isSqliteError(error, 'SQLITE_CANTOPEN')) throw error;
      }
    }
  };

  return {
    use: (name, work) => work(current(name)),
    release: (name) => {
      open.get(name)?.close();
      open.delete(name);
    },
    close: () => {
      for (const generation of open.values()) generation.close();
      open.clear();
    },
  };
};

const place = (catalog: Catalog, { name, generation, specs }: Projection) => ({ file: catalog.fileOf(name, generation), number: generation, specs });

/**
 * The store that follows the live generation. What is written to a generation at the very moment of its replacement
 * goes with it: the next write is refused, and the writer goes on from the new checkpoint.
 */
const storeOf = (catalog: Catalog, live: LiveGenerations, name: string, specs: readonly CollectionSpec[]): ProjectionStore => {
  const specsText = JSON.stringify(specs);
  let checked: Projection | undefined;
  const use = <Result>(work: (generation: Generation) => Result): Result => {
    const projection = catalog.projection(name);
    if (projection !== checked) {
      if (JSON.stringify(projection?.specs) !== specsText) throw new Error(`another process has put the projection ${name} on another version`);
      checked = projection;
    }
    return live.use(name, work);
  };
  return {
    checkpoint: async () => use((generation) => generation.checkpoint()),
    getMany: async (collection, ids) => use((generation) => generation.getMany(collection, ids)),
    write: async (writes, from, to) => use((generation) => generation.write(writes, from, to)),
  };
};

const scanPageSize = 500;

const startRebuild = (catalog: Catalog, live: LiveGenerations, name: string, ended: () => void): Rebuild => {
  const lock = holdLock({ file: catalog.rebuildLockOf(name) });
  if (lock === undefined) throw new Error(`another rebuild of ${name} is under way`);
  let over = false;
  const end = (): void => {
    over = true;
    lock.release();
    ended();
  };

  try {
    const before = catalog.projection(name);
    const number = catalog.nextGeneration(name);
    if (before === undefined) throw new Error(`there is no projection ${name}`);
    // Left by rebuilds that crashed: we alone hold the lock.
    catalog.deleteGenerations(name, (generation) => generation !== before.generation);
    const fresh = openNewGeneration({ file: catalog.fileOf(name, number), number, specs: before.specs });

    return {
      store: {
        checkpoint: async () => fresh.checkpoint(),
        getMany: async (collection, ids) => fresh.getMany(collection, ids),
        write: async (writes, from, to) => fresh.write(writes, from, to),
      },
      scan: (collection, side) =>
        scanById((afterId) => {
          const page = (generation: Generation): Document[] => generation.collection(collection).pageById(afterId, scanPageSize);
          return side === 'rebuilt' ? page(fresh) : live.use(name, page);
        }),
      commit: async () => {
        const isInPlace = (): boolean => catalog.projection(name)?.generation === before.generation;
        let replaced = false;
        try {
          if (isInPlace()) {
            await fresh.finish(turn);
            replaced = catalog.replace(name, before.generation, number);
          }
        } catch (error) {
          // Whoever put the projection on another version has deleted our file.
          if (isInPlace()) throw error;
        } finally {
          fresh.close();
          live.release(name);
          catalog.deleteGenerations(name, (generation) => generation === (replaced ? before.generation : number));
          end();
        }
        if (!replaced) throw new CheckpointMoved(`the projection ${name} was put on another version while it was rebuilt`);
      },
      discard: async () => {
        if (over) return;
        fresh.close();
        catalog.deleteGenerations(name, (generation) => generation === number);
        end();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
};

const scanById = async function* (pageAfter: (id: string) => Document[]): AsyncGenerator<Document> {
  for (let afterId = ''; ; ) {
    const page = pageAfter(afterId);
    yield* page;
    if (page.length < scanPageSize) return;
    afterId = page.at(-1)!.id;
    await turn();
  }
};
