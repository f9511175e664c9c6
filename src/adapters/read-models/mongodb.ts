/**
 * Read models in MongoDB: the collections of each generation of a projection, and a catalog that says which generation is live. Nothing
 * here needs a transaction, a change stream or a collation, so that every server of MongoDB's protocol will do.
 */
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { CollectionSpec, ProjectionStore, ReadModels, Rebuild } from '../../domain/ports/read-models.js';
import { tellingAway, type Mongo } from '../mongodb/client.js';
import { movedFrom, openCatalog, type Catalog, type Projection } from './mongodb-catalog.js';
import type { Finder } from './mongodb-finder.js';
import { createGeneration, dropGenerations } from './mongodb-generation.js';
import { openLive, type Live } from './mongodb-live.js';
import { startRebuild } from './mongodb-rebuild.js';
import { checkNames } from './names.js';

export type MongoReadModelsOptions = Readonly<{
  /** Is closed with the read models. */
  mongo: Mongo;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
}>;

export const openMongoReadModels = ({ mongo, clock, logger }: MongoReadModelsOptions): ReadModels => {
  const { db } = mongo;
  const catalog = openCatalog(db);
  const live = openLive(db, catalog);
  const rebuilds = new Set<Rebuild>();
  const tidied = new Set<string>();

  /** What no longer is live, and what a crash has left, goes once for each process. */
  const tidy = async ({ name, live: number, rebuild }: Projection): Promise<void> => {
    if (tidied.has(`${name}.${number}`)) return;
    tidied.add(`${name}.${number}`);
    await dropGenerations(db, name, (older) => older < number && older !== rebuild?.generation);
  };

  const onCollection = <Result>(name: string, isNothing: (result: Result) => boolean, work: (finder: Finder) => Promise<Result>) =>
    live.read(name, isNothing, (generation) => work(generation.finder(name)));

  return tellingAway<ReadModels>(mongo, 'read models', {
    projection: async (name, specs) => {
      checkNames(name, specs);
      const version = await catalog.declare(name, specs);
      await tidy(await ensure({ db, catalog, name, version, specs }));
      return storeOf({ catalog, live, name, version, specs, clock });
    },
    get: (collection, id) =>
      onCollection(
        collection,
        (found) => found === undefined,
        (finder) => finder.get(id),
      ),
    find: (collection, query) =>
      onCollection(
        collection,
        (found) => found.length === 0,
        (finder) => finder.find(query),
      ),
    count: (collection, query, max) =>
      onCollection(
        collection,
        (count) => count === 0,
        (finder) => finder.count(query, max),
      ),
    findCounted: (collection, query, max) =>
      onCollection(
        collection,
        ({ documents }) => documents.length === 0,
        (finder) => finder.findCounted(query, max),
      ),
    rebuild: async (name) => {
      const rebuild = await startRebuild({ db, catalog, name, clock, logger, ended: () => void rebuilds.delete(rebuild) });
      rebuilds.add(rebuild);
      return rebuild;
    },
    close: async () => {
      for (const rebuild of [...rebuilds]) await rebuild.discard();
      await mongo.close();
    },
  });
};

type Declared = Readonly<{ catalog: Catalog; name: string; version: string; specs: readonly CollectionSpec[] }>;

/** Out: the projection, with live collections of that version. */
const ensure = async ({ db, catalog, name, version, specs }: Declared & Pick<Mongo, 'db'>): Promise<Projection> => {
  for (;;) {
    const before = await catalog.projection(name);
    if (before?.version === version) return before;
    const generation = await catalog.nextGeneration(name);
    await createGeneration(db, { projection: name, number: generation, specs });
    const collections = specs.map((spec) => spec.name);
    // Of several processes that start at once one is the first; what the others have made goes again.
    if (!(await catalog.setLive(name, before, { version, generation, collections })))
      await dropGenerations(db, name, (number) => number === generation);
  }
};

type StoreOptions = Declared & Readonly<{ live: Live; clock: Pick<Clock, 'now'> }>;

/** The store that follows the live generation. */
const storeOf = ({ catalog, live, name, version, specs, clock }: StoreOptions): ProjectionStore => {
  const current = async (): Promise<Projection> => {
    const projection = await catalog.projection(name);
    if (projection?.version !== version) throw new Error(`another process has put the projection ${name} on another version`);
    return projection;
  };
  return {
    checkpoint: async () => {
      const now = await current();
      // Others may have written since this process has.
      live.generation(now, specs).forget();
      return { position: now.position, generation: now.live };
    },
    // A document that is not found because its generation has just been dropped is of no harm: what is folded without it is refused.
    getMany: (collection, ids) =>
      live.read(
        collection,
        () => false,
        (generation) => generation.getMany(collection, ids),
      ),
    write: async (writes, from, to) => {
      const now = await current();
      if (now.live !== from.generation || now.position !== from.position) throw movedFrom(now, from);
      await live.generation(now, specs).prepare(writes, clock.now())();
      await catalog.moveLive(name, from, to);
    },
  };
};
