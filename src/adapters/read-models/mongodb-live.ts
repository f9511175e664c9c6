/**
 * Reads of the live generation. Which one that is, is known from the last read, and asked for again beside each: where another has been put
 * in its place meanwhile, the read is made again.
 */
import type { CollectionSpec } from '../../domain/ports/read-models.js';
import { gathered } from '../../shared/concurrency.js';
import type { Db } from '../mongodb/client.js';
import type { Catalog, Projection } from './mongodb-catalog.js';
import { openGeneration, type Generation } from './mongodb-generation.js';

export type Live = Readonly<{
  /** `isNothing` is true of what a generation answers that has been dropped. Rejects with Error where there is no such collection. */
  read: <Result>(
    collection: string,
    isNothing: (result: Result) => boolean,
    work: (generation: Generation) => Promise<Result>,
  ) => Promise<Result>;
  generation: (projection: Projection, specs: readonly CollectionSpec[]) => Generation;
}>;

export const openLive = (db: Db, catalog: Catalog): Live => {
  /** By collection. */
  const known = new Map<string, Readonly<{ projection: Projection; generation: Generation }>>();
  const generations = new Map<string, Generation>();
  /** Collections in which the last read found nothing: the catalog is then asked once, after the read, and not also beside it. */
  const empty = new Set<string>();

  /** Reads that are made at once share one look at the catalog, which begins after each of them has begun. */
  const looked = gathered(
    async (names: ReadonlySet<string>) =>
      new Map(await Promise.all([...names].map(async (name) => [name, await catalog.projection(name)] as const))),
  );
  const projectionNow = async (name: string): Promise<Projection | undefined> => (await looked([name])).get(name);

  const generationOf = ({ name, live }: Projection, specs: readonly CollectionSpec[]): Generation => {
    const found = generations.get(name);
    if (found?.number === live) return found;
    const generation = openGeneration(db, { projection: name, number: live, specs });
    generations.set(name, generation);
    return generation;
  };

  const learn = async (collection: string, projection: Projection | undefined) => {
    const owner = projection ?? (await catalog.projectionOf(collection));
    const specs = owner === undefined ? [] : await catalog.specsOf(owner.version);
    if (owner === undefined || !specs.some(({ name }) => name === collection)) {
      known.delete(collection);
      throw new Error(`there is no collection ${collection}`);
    }
    const found = { projection: owner, generation: generationOf(owner, specs) };
    known.set(collection, found);
    return found;
  };

  return {
    generation: generationOf,
    read: async (collection, isNothing, work) => {
      let found = known.get(collection) ?? (await learn(collection, undefined));
      for (;;) {
        const { projection, generation } = found;
        const reading = work(generation);
        const isAfter = empty.has(collection);
        const look = (): Promise<Projection | undefined> => projectionNow(projection.name);
        const [outcome, looking] = await Promise.allSettled([reading, isAfter ? reading.then(look, look) : look()]);
        if (looking.status === 'rejected') throw looking.reason;
        let now = looking.value;
        const isAnswer = outcome.status === 'fulfilled' && !isNothing(outcome.value);
        if (isAnswer) empty.delete(collection);
        else empty.add(collection);
        // Of a generation that was dropped after the catalog was read nothing is found, or the read is broken off.
        if (!isAfter && !isAnswer && now?.live === projection.live) now = await look();
        if (now?.live === projection.live) {
          if (outcome.status === 'rejected') throw outcome.reason;
          return outcome.value;
        }
        found = await learn(collection, now);
      }
    },
  };
};
