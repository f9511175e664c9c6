/** A rebuild of one projection in MongoDB: collections of a new generation beside the live ones, put in their place in one step. */
import { setInterval } from 'node:timers';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import { CheckpointMoved, type Checkpoint, type ProjectionStore, type Rebuild } from '../../domain/ports/read-models.js';
import type { Db } from '../mongodb/client.js';
import { checkpointBeside, movedFrom, type Catalog, type Projection } from './mongodb-catalog.js';
import { createGeneration, dropGenerations, openGeneration, type Generation } from './mongodb-generation.js';

export type RebuildOptions = Readonly<{
  db: Db;
  catalog: Catalog;
  name: string;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
  /** Told once, when it is committed or discarded. */
  ended: () => void;
}>;

/** A process that rebuilds says so again and again; where it is silent for so long, another may begin. */
const keptMs = 120_000;
const keptEveryMs = 30_000;

/** Rejects with RangeError where there is no such projection, with Error where a rebuild of it is under way. */
export const startRebuild = async (options: RebuildOptions): Promise<Rebuild> => {
  const { db, catalog, name } = options;
  const before = await catalog.projection(name);
  if (before === undefined) throw new RangeError(`there is no projection ${name}`);
  const number = await catalog.nextGeneration(name);
  const specs = await catalog.specsOf(before.version);
  const lock = await takeLock(options, before, number);
  try {
    // Of one that was broken off.
    await dropGenerations(db, name, (other) => other === before.rebuild?.generation);
    await createGeneration(db, { projection: name, number, specs });
  } catch (error) {
    await lock.release();
    throw error;
  }
  const generation = openGeneration(db, { projection: name, number, specs, isAlone: true });
  const store = storeOf(options, generation, lock);
  const liveGeneration = async (): Promise<Generation> => {
    const now = await catalog.projection(name);
    if (now === undefined) throw new RangeError(`there is no projection ${name}`);
    return openGeneration(db, { projection: name, number: now.live, specs: await catalog.specsOf(now.version) });
  };

  return {
    store,
    scan: async function* (collection, side) {
      yield* (side === 'live' ? await liveGeneration() : generation).scan(collection);
    },
    lookupFaults: async function* () {
      yield* (await liveGeneration()).lookupFaults();
    },
    commit: async () => {
      const isPut = await catalog.commitRebuild(name, before.version, await store.checkpoint());
      await lock.release();
      if (!isPut) {
        await dropGenerations(db, name, (other) => other === number);
        throw new CheckpointMoved(`the projection ${name} is on another version than its rebuild, or another rebuild has begun`);
      }
      // It is in place; what cannot be dropped now goes with the next start.
      await dropGenerations(db, name, (other) => other < number).catch((error: unknown) => {
        options.logger.warn(
          { projection: name, err: error instanceof Error ? error : undefined },
          'replaced read models are not dropped yet',
        );
      });
    },
    discard: async () => {
      if (lock.isReleased()) return;
      await lock.release();
      await dropGenerations(db, name, (other) => other === number);
    },
  };
};

/** Says again and again that this process rebuilds, until it is released. */
type Lock = Readonly<{ until: () => number; isReleased: () => boolean; release: () => Promise<void> }>;

const takeLock = async ({ catalog, name, clock, ended }: RebuildOptions, before: Projection, number: number): Promise<Lock> => {
  const until = (): number => clock.now() + keptMs;
  if (!(await catalog.beginRebuild(before, { generation: number, position: 0, until: until() }, clock.now())))
    throw new Error(
      `a rebuild of the projection ${name} is under way; where its process has ended, another can begin ${keptMs / 60_000} minutes later`,
    );
  const keeping = setInterval(() => void catalog.keepRebuild(name, number, until()).catch(() => {}), keptEveryMs).unref();
  let isReleased = false;
  return {
    until,
    isReleased: () => isReleased,
    release: async () => {
      isReleased = true;
      clearInterval(keeping);
      ended();
      await catalog.endRebuild(name, number);
    },
  };
};

const storeOf = ({ catalog, name, clock }: RebuildOptions, generation: Generation, lock: Lock): ProjectionStore => {
  let checkpoint: Checkpoint = { position: 0, generation: generation.number };
  return {
    checkpoint: async () => checkpoint,
    getMany: generation.getMany,
    write: async (writes, from, to) => {
      const now = await catalog.projection(name);
      const current = checkpointBeside(now, from);
      if (current?.generation !== from.generation || current.position !== from.position) throw movedFrom(now, from);
      await generation.prepare(writes, clock.now())();
      await catalog.moveRebuild(name, from, to, lock.until());
      checkpoint = { position: to, generation: generation.number };
    },
  };
};
