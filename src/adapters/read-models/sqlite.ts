/** Read models in SQLite: a catalog file, and beside it a file for the live generation of each projection. */
import type { CollectionSpec, ReadModels, ProjectionStore, Rebuild } from '../../domain/ports/read-models.js';
import { openCatalog, type Catalog, type Projection } from './catalog.js';
import { createGeneration, type Generation } from './generation.js';
import { openLiveGenerations, type LiveGenerations } from './live-generations.js';
import type { OnDamaged } from './damaged.js';
import { checkNames } from './names.js';
import { startRebuild } from './rebuild.js';

export type SqliteReadModelsOptions = Readonly<{
  /** The catalog's file, made where there is none; the other files stand beside it under its name. */
  file: string;
  /** Told where what was erased could not be cut out of a write-ahead log yet. */
  onFault?: (fault: Error) => void;
  onDamaged?: OnDamaged;
}>;

export const openSqliteReadModels = ({ file, onFault = () => {}, onDamaged = () => {} }: SqliteReadModelsOptions): ReadModels => {
  const catalog = openCatalog(file, onDamaged);
  const live = openLiveGenerations({ catalog, onFault, onDamaged });
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
        // Left by a crash in the middle of this very step, or by a catalog that is gone.
        const isFirst = catalog.projection(name) === undefined;
        catalog.deleteGenerations(name, (number) => isFirst || catalog.fileOf(name, number) === generationFile);
        createGeneration(generationFile, specs);
      });
      catalog.deleteGenerations(name, (number) => number < generation);
      return storeOf(catalog, live, name, specs);
    },
    get: async (collection, id) => onCollection(collection, (generation) => generation.collection(collection).get(id)),
    find: async (collection, query) => onCollection(collection, (generation) => generation.finder(collection).find(query)),
    count: async (collection, query, max) => onCollection(collection, (generation) => generation.finder(collection).count(query, max)),
    findCounted: async (collection, query, max) =>
      onCollection(collection, (generation) => generation.finder(collection).findCounted(query, max)),
    rebuild: async (name) => {
      const rebuild = startRebuild({ catalog, live, name, ended: () => void rebuilds.delete(rebuild) });
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
      if (JSON.stringify(projection?.specs) !== specsText)
        throw new Error(`another process has put the projection ${name} on another version`);
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
