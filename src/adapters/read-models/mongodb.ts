/**
 * Read models in MongoDB: the collections of each generation of a projection, and a catalog that says which generation
 * is live. It uses no transaction, change stream or collation, so that every server of MongoDB's protocol will do.
 */
import { createHash } from 'node:crypto';
import { setInterval } from 'node:timers';
import {
  CheckpointMoved,
  type Checkpoint,
  type CollectionSpec,
  type Counted,
  type Document,
  type ProjectionStore,
  type Inspection,
  type Rebuild,
  type ReadModels,
} from '../../domain/ports/read-models.js';
import { isDuplicateKey, type Collection, type Db, tellingAway, type Mongo } from '../mongodb/client.js';
import { gathered } from '../../shared/concurrency.js';
import { openGeneration, type Generation, createGeneration, dropGenerations } from './mongodb-generation.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Finder } from './mongodb-finder.js';
import { checkNames } from './names.js';

type MongoReadModelsOptions = Readonly<{
  /** Is closed with the read models. */
  mongo: Mongo;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
}>;

/** `until`: the time after which the process that rebuilds counts as gone. */
type RebuildUnderWay = Readonly<{ generation: number; position: number; until: number }>;

/** `version` names the specs of the live collections. */
type Projection = Readonly<{
  name: string;
  version: string;
  live: number;
  position: number;
  passedOver?: number;
  rebuild?: RebuildUnderWay;
}>;

/**
 * The projections in MongoDB. One small document for each has its live generation and checkpoint, so that a checkpoint,
 * the switch to another generation and the begin of a rebuild are one conditional change each.
 */
export type Catalog = Readonly<{
  projection: (name: string) => Promise<Projection | undefined>;
  /** The projections of these names, by one call of the server. */
  projections: (names: readonly string[]) => Promise<ReadonlyMap<string, Projection>>;
  projectionOf: (collection: string) => Promise<Projection | undefined>;
  specsOf: (version: string) => Promise<readonly CollectionSpec[]>;
  /** Throws RangeError where a collection of these specs belongs to another projection. Out: the version. */
  declare: (name: string, specs: readonly CollectionSpec[]) => Promise<string>;
  /** A number that no other generation of the projection has. */
  nextGeneration: (name: string) => Promise<number>;
  /** False where the projection is no longer as it was `before`. */
  setLive: (
    name: string,
    before: Projection | undefined,
    next: Readonly<{ version: string; generation: number; collections: readonly string[] }>,
  ) => Promise<boolean>;
  /** Throws CheckpointMoved where the live checkpoint, or that of the rebuild, is not `from`. */
  moveLive: (name: string, from: Checkpoint, to: number) => Promise<void>;
  moveRebuild: (name: string, from: Checkpoint, to: number, until: number) => Promise<void>;
  /** False where another rebuild is under way, or the version has changed. */
  beginRebuild: (projection: Projection, rebuild: RebuildUnderWay, now: number) => Promise<boolean>;
  keepRebuild: (name: string, generation: number, until: number) => Promise<void>;
  /**
   * Puts the rebuild in the place of what is live; false where it is no longer under way or the version has changed.
   */
  commitRebuild: (name: string, version: string, rebuild: Checkpoint) => Promise<boolean>;
  endRebuild: (name: string, generation: number) => Promise<void>;
}>;

type Entry = {
  _id: string;
  /** How many generations there were. */
  taken: number;
  version?: string;
  live?: number;
  position?: number;
  passedOver?: number | null;
  collections?: readonly string[];
  rebuild?: RebuildUnderWay;
};

type Version = { _id: string; specs: string };
type Matched = Readonly<{ matchedCount: number }>;

type Steps = Pick<
  Catalog,
  'moveLive' | 'moveRebuild' | 'beginRebuild' | 'keepRebuild' | 'commitRebuild' | 'endRebuild'
>;

/**
 * Reads of the live generation. Its number is known from the last read, and asked for again beside each read. If
 * another generation has replaced it meanwhile, the read is repeated.
 */
type Live = Readonly<{
  /**
   * `isNothing` is true of what a generation answers that has been dropped. Rejects with Error where there is no such
   * collection.
   */
  read: <Result>(
    collection: string,
    isNothing: (result: Result) => boolean,
    work: (generation: Generation) => Promise<Result>,
  ) => Promise<Result>;
  generation: (projection: Projection, specs: readonly CollectionSpec[]) => Generation;
}>;

/**
 * A rebuild of one projection: collections of a new generation beside the live ones, which they replace in one step.
 */
type RebuildOptions = Readonly<{
  db: Db;
  catalog: Catalog;
  name: string;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
  /** Called once, when the rebuild is committed or discarded. */
  ended: () => void;
}>;

/** Renews the lock of a rebuild until it is released. */
type Lock = Readonly<{ until: () => number; isReleased: () => boolean; release: () => Promise<void> }>;

type Declared = Readonly<{ catalog: Catalog; name: string; version: string; specs: readonly CollectionSpec[] }>;

type StoreOptions = Declared & Readonly<{ live: Live; clock: Pick<Clock, 'now'> }>;

/** How documents and their rows stand in the collections: another number makes them anew. */
const layout = 1;

/** A process that rebuilds renews its lock. After so long without a renewal another may begin. */
const keptMs = 120_000;
const keptEveryMs = 30_000;

export const openMongoReadModels = ({ mongo, clock, logger }: MongoReadModelsOptions): ReadModels => {
  const { db } = mongo;
  const catalog = openCatalog(db);
  const live = openLive(db, catalog);
  const rebuilds = new Set<Rebuild>();
  const inspections = new Set<Inspection['close']>();
  const tidied = new Set<string>();

  /** Generations that are no longer live, or were left by a crash, are dropped once for each process. */
  const tidy = async ({ name, live: number, rebuild }: Projection): Promise<void> => {
    if (tidied.has(`${name}.${number}`)) return;
    tidied.add(`${name}.${number}`);
    await dropGenerations(db, name, (older) => older < number && older !== rebuild?.generation);
  };

  const onCollection = <Result extends Answer>(name: string, work: (finder: Finder) => Promise<Result>) =>
    live.read(name, isNothing, (generation) => work(generation.finder(name)));

  return tellingAway<ReadModels>(mongo, 'read models', {
    projection: async (name, specs) => {
      checkNames(name, specs);
      const version = await catalog.declare(name, specs);
      await tidy(await ensure({ db, catalog, name, version, specs }));
      return storeOf({ catalog, live, name, version, specs, clock });
    },
    get: (collection, id) => onCollection(collection, (finder) => finder.get(id)),
    find: (collection, query) => onCollection(collection, (finder) => finder.find(query)),
    count: (collection, query, max) => onCollection(collection, (finder) => finder.count(query, max)),
    findCounted: (collection, query, max) => onCollection(collection, (finder) => finder.findCounted(query, max)),
    rebuild: async (name) => {
      const rebuild = await startRebuild({
        db,
        catalog,
        name,
        clock,
        logger,
        ended: () => void rebuilds.delete(rebuild),
      });
      rebuilds.add(rebuild);
      return rebuild;
    },
    inspect: async (name, specs) => {
      const inspection = await startInspection({ db, catalog, name, clock, logger, ended: () => {} }, versionOf(specs));
      if (inspection === undefined) return undefined;
      const close = async (): Promise<void> => {
        inspections.delete(close);
        await inspection.close();
      };
      inspections.add(close);
      return { ...inspection, close };
    },
    close: async () => {
      for (const rebuild of [...rebuilds]) await rebuild.discard();
      for (const closeOne of [...inspections]) await closeOne();
      await mongo.close();
    },
  });
};

type Answer = Document | undefined | readonly Document[] | number | Counted;

/** True of the answer that a generation gives which has been dropped. */
const isNothing = (answer: Answer): boolean => {
  if (typeof answer !== 'object') return answer === undefined || answer === 0;
  const documents: unknown = 'documents' in answer && 'isLowerBound' in answer ? answer.documents : answer;
  return Array.isArray(documents) && documents.length === 0;
};

/** Out: the projection, with live collections of that version. */
const ensure = async ({ db, catalog, name, version, specs }: Declared & Pick<Mongo, 'db'>): Promise<Projection> => {
  for (;;) {
    const before = await catalog.projection(name);
    if (before?.version === version) return before;
    const generation = await catalog.nextGeneration(name);
    await createGeneration(db, { projection: name, number: generation, specs });
    const collections = specs.map((spec) => spec.name);
    // If several processes start at once, one is the first. The others drop the generation that they have made.
    if (!(await catalog.setLive(name, before, { version, generation, collections })))
      await dropGenerations(db, name, (number) => number === generation);
  }
};

/** The store that follows the live generation. */
const storeOf = ({ catalog, live, name, version, specs, clock }: StoreOptions): ProjectionStore => {
  const current = async (): Promise<Projection> => {
    const projection = await catalog.projection(name);
    if (projection?.version !== version)
      throw new Error(`another process has put the projection ${name} on another version`);
    return projection;
  };
  return {
    checkpoint: async () => {
      const now = await current();
      // Others may have written since this process has.
      live.generation(now, specs).forget();
      return checkpointOf(now);
    },
    // A document that is not found because its generation has just been dropped is of no harm: what is folded without
    // it is refused.
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

const versionOf = (specs: readonly CollectionSpec[]): string =>
  createHash('sha256')
    .update(`${layout}${JSON.stringify(specs)}`)
    .digest('base64url')
    .slice(0, 22);

const isChanged = ({ matchedCount }: Matched): boolean => matchedCount === 1;

const openCatalog = (db: Db): Catalog => {
  const entries = db.collection<Entry>('read_models');
  return { ...openEntries(entries), ...openDeclarations(entries, db.collection<Version>('read_model_versions')) };
};

/** Catalog entries: the specs of a version, the projection of a collection, and the generation that is live. */
const openDeclarations = (
  entries: Collection<Entry>,
  versions: Collection<Version>,
): Pick<
  Catalog,
  'projection' | 'projections' | 'projectionOf' | 'specsOf' | 'declare' | 'nextGeneration' | 'setLive'
> => {
  const known = new Map<string, readonly CollectionSpec[]>();
  return {
    projection: async (name) => projectionIn(await entries.findOne({ _id: name })),
    projections: async (names) => {
      const found = await entries.find({ _id: { $in: [...names] } }).toArray();
      return new Map(found.map(projectionIn).flatMap((one) => (one === undefined ? [] : [[one.name, one]])));
    },
    projectionOf: async (collection) => projectionIn(await entries.findOne({ collections: collection })),
    specsOf: async (version) => {
      const found = known.get(version) ?? specsIn(await versions.findOne({ _id: version }));
      known.set(version, found);
      return found;
    },
    declare: async (name, specs) => {
      const collections = specs.map((spec) => spec.name);
      const other = await entries.findOne({ _id: { $ne: name }, collections: { $in: collections } });
      if (other !== null)
        throw new RangeError(`a collection of the projection ${name} belongs to the projection ${other._id} already`);
      const text = JSON.stringify(specs);
      const version = versionOf(specs);
      if (!known.has(version))
        await once(() => versions.updateOne({ _id: version }, { $set: { specs: text } }, { upsert: true }));
      known.set(version, specs);
      return version;
    },
    nextGeneration: async (name) => {
      const counted = await once(() =>
        entries.findOneAndUpdate({ _id: name }, { $inc: { taken: 1 } }, { upsert: true, returnDocument: 'after' }),
      );
      if (counted === null) throw new Error(`the generations of the projection ${name} cannot be counted`);
      return counted.taken;
    },
    setLive: async (name, before, { version, generation, collections }) => {
      const asBefore =
        before === undefined ? { live: { $exists: false } } : { version: before.version, live: before.live };
      const next = { version, live: generation, position: 0, passedOver: null, collections };
      return isChanged(await entries.updateOne({ _id: name, ...asBefore }, { $set: next, $unset: { rebuild: '' } }));
    },
  };
};

const openEntries = (entries: Collection<Entry>): Steps => {
  const assertMoved = async (moved: Matched, name: string, from: Checkpoint): Promise<void> => {
    if (!isChanged(moved)) throw movedFrom(projectionIn(await entries.findOne({ _id: name })), from);
  };
  return {
    moveLive: async (name, from, to) =>
      assertMoved(
        await entries.updateOne(
          { _id: name, live: from.generation, position: from.position },
          { $set: { position: to, passedOver: from.passedOver ?? null } },
        ),
        name,
        from,
      ),
    moveRebuild: async (name, from, to, until) => {
      const { generation, position } = from;
      const asRead = { _id: name, 'rebuild.generation': generation, 'rebuild.position': position };
      await assertMoved(
        await entries.updateOne(asRead, { $set: { 'rebuild.position': to, 'rebuild.until': until } }),
        name,
        from,
      );
    },
    beginRebuild: async ({ name, version }, rebuild, now) => {
      const isFree = { $or: [{ rebuild: { $exists: false } }, { 'rebuild.until': { $lt: now } }] };
      return isChanged(await entries.updateOne({ _id: name, version, ...isFree }, { $set: { rebuild } }));
    },
    keepRebuild: async (name, generation, until) =>
      void (await entries.updateOne(
        { _id: name, 'rebuild.generation': generation },
        { $set: { 'rebuild.until': until } },
      )),
    commitRebuild: async (name, version, { generation, position, passedOver = null }) => {
      const asRead = { _id: name, version, 'rebuild.generation': generation, 'rebuild.position': position };
      return isChanged(
        await entries.updateOne(asRead, { $set: { live: generation, position, passedOver }, $unset: { rebuild: '' } }),
      );
    },
    endRebuild: async (name, generation) =>
      void (await entries.updateOne({ _id: name, 'rebuild.generation': generation }, { $unset: { rebuild: '' } })),
  };
};

const checkpointOf = ({ position, live: generation, passedOver }: Projection): Checkpoint => ({
  position,
  generation,
  ...(passedOver === undefined ? {} : { passedOver }),
});

/** The checkpoint of the rebuild if `from` is one of it, else that of the live generation. */
const checkpointBeside = (projection: Projection | undefined, from: Checkpoint): Checkpoint | undefined => {
  if (projection === undefined) return undefined;
  const { live, position, rebuild } = projection;
  return rebuild?.generation === from.generation ? rebuild : { generation: live, position };
};

const movedFrom = (projection: Projection | undefined, from: Checkpoint): CheckpointMoved => {
  const now = checkpointBeside(projection, from);
  const place = ({ position, generation }: Checkpoint): string => `${position} of generation ${generation}`;
  return new CheckpointMoved(
    `the checkpoint is ${now === undefined ? 'gone' : `at position ${place(now)}`}, not at ${place(from)}`,
  );
};

/** Undefined for one of which nothing is live yet. */
const projectionIn = (entry: Entry | null): Projection | undefined => {
  if (entry?.version === undefined || entry.live === undefined || entry.position === undefined) return undefined;
  const { _id: name, version, live, position, passedOver, rebuild } = entry;
  const passed = typeof passedOver === 'number' ? { passedOver } : {};
  return { name, version, live, position, ...passed, ...(rebuild === undefined ? {} : { rebuild }) };
};

const specsIn = (version: Version | null): readonly CollectionSpec[] => {
  if (version === null) throw new Error('a version of the read models is not there; another program has deleted it');
  return JSON.parse(version.specs) as readonly CollectionSpec[];
};

/** If several processes make a document at once, the server refuses all but one. The second attempt finds it. */
const once = async <Result>(upsert: () => Promise<Result>): Promise<Result> => {
  try {
    return await upsert();
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return upsert();
  }
};

export const openLive = (db: Db, catalog: Catalog): Live => {
  /** The live generation of each collection. */
  const known = new Map<string, Readonly<{ projection: Projection; generation: Generation }>>();
  const generations = new Map<string, Generation>();
  /**
   * Collections in which the last read found nothing: the catalog is then asked once, after the read, and not also
   * beside it.
   */
  const empty = new Set<string>();

  /** Reads that are made at once share one look at the catalog, which begins after each of them has begun. */
  const looked = gathered((names: ReadonlySet<string>) => catalog.projections([...names]));
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
        // If the generation was dropped after the catalog was read, the read finds nothing or is broken off.
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

/** Rejects with RangeError if there is no such projection, with Error if a rebuild of it is under way. */
const startRebuild = async (options: RebuildOptions): Promise<Rebuild & Pick<Generation, 'scan'>> => {
  const { db, catalog, name } = options;
  const before = await catalog.projection(name);
  if (before === undefined) throw new RangeError(`there is no projection ${name}`);
  const number = await catalog.nextGeneration(name);
  const specs = await catalog.specsOf(before.version);
  const lock = await takeLock(options, before, number);
  try {
    // Drops the generation of a rebuild that was broken off.
    await dropGenerations(db, name, (other) => other === before.rebuild?.generation);
    await createGeneration(db, { projection: name, number, specs });
  } catch (error) {
    await lock.release();
    throw error;
  }
  const generation = openGeneration(db, { projection: name, number, specs, isAlone: true });
  const store = storeOfRebuild(options, generation, lock);
  return {
    store,
    scan: generation.scan,
    commit: async () => {
      const isPut = await catalog.commitRebuild(name, before.version, await store.checkpoint());
      await lock.release();
      if (!isPut) {
        await dropGenerations(db, name, (other) => other === number);
        throw new CheckpointMoved(
          `the projection ${name} is on another version than its rebuild, or another rebuild has begun`,
        );
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

/**
 * The live collections as they are, and a rebuild beside them that is never committed. Out: undefined if none of this
 * version are live.
 */
const startInspection = async (options: RebuildOptions, version: string): Promise<Inspection | undefined> => {
  const { db, catalog, name } = options;
  if ((await catalog.projection(name))?.version !== version) return undefined;
  const { store, scan, discard } = await startRebuild(options);
  const live = async () => {
    const now = await catalog.projection(name);
    if (now?.version !== version) throw new Error(`another process has put the projection ${name} on another version`);
    const generation = openGeneration(db, {
      projection: name,
      number: now.live,
      specs: await catalog.specsOf(version),
    });
    return { generation, checkpoint: checkpointOf(now) };
  };
  return {
    live: {
      checkpoint: async () => (await live()).checkpoint,
      getMany: async (collection, ids) => (await live()).generation.getMany(collection, ids),
    },
    rebuilt: store,
    scan: async function* (collection, side) {
      yield* side === 'rebuilt' ? scan(collection) : (await live()).generation.scan(collection);
    },
    lookupFaults: async function* () {
      yield* (await live()).generation.lookupFaults();
    },
    close: discard,
  };
};

const takeLock = async (
  { catalog, name, clock, ended }: RebuildOptions,
  before: Projection,
  number: number,
): Promise<Lock> => {
  const until = (): number => clock.now() + keptMs;
  if (!(await catalog.beginRebuild(before, { generation: number, position: 0, until: until() }, clock.now())))
    throw new Error(
      `a rebuild of the projection ${name} is under way; where its process has ended, another can begin ${keptMs / 60_000} minutes later`,
    );
  const keeping = setInterval(
    () => void catalog.keepRebuild(name, number, until()).catch(() => {}),
    keptEveryMs,
  ).unref();
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

const storeOfRebuild = (
  { catalog, name, clock }: RebuildOptions,
  generation: Generation,
  lock: Lock,
): ProjectionStore => {
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
      checkpoint = { ...from, position: to };
    },
  };
};
