/** Read models in SQLite: a catalog file, and beside it a file for the live generation of each projection. */
import { Worker } from 'node:worker_threads';
import { setImmediate as turn } from 'node:timers/promises';
import { isDamage, isSqliteError, copyDatabase, holdLock, tellingRefusals, wordsOfDamage } from '../sqlite/database.js';
import {
  type Catalog,
  type Projection,
  isDamagedAtOpening,
  moveAside,
  type OnDamaged,
  openCatalog,
  readCatalog,
} from './catalog.js';
import {
  createGeneration,
  openGeneration,
  type Generation,
  assertUnmoved,
  packedWrites,
  type GenerationFile,
  generationFaults,
} from './generation.js';
import {
  type Checkpoint,
  type Document,
  type ProjectionStore,
  CheckpointMoved,
  type Inspection,
  type LookupFault,
  ReadModelDamaged,
  type Rebuild,
  type CollectionSpec,
  type ReadModels,
} from '../../domain/ports/read-models.js';
import type { Answer, Request } from './rebuild-writer-thread.js';
import { checkNames } from './names.js';

type SqliteReadModelsOptions = Readonly<{
  /** The catalog's file, made if there is none. The other files are beside it and begin with its name. */
  file: string;
  /** Called if erased data could not be cut out of a write-ahead log yet. */
  onFault?: (fault: Error) => void;
  onDamaged?: OnDamaged;
  /**
   * True: the catalog is opened, made and mended only when read models are used, not when they are inspected. Default:
   * at once.
   */
  opensWhenUsed?: boolean;
}>;

type Use = <Result>(projection: Projection, work: (generation: Generation) => Result) => Result;

/** The open files of the live generations. */
type LiveGenerations = Readonly<{
  /**
   * Does the work on the live generation of the projection as the catalog now has it, whichever process has put it
   * there. If its file is damaged, `onDamage` is called first.
   */
  use: Use;
  /** Closes the file, until it is used again. */
  release: (name: string) => void;
  close: () => void;
}>;

/**
 * Writes a new generation in a thread of its own, so that its pages and indexes are written while the next events are
 * read and folded.
 */
type RebuildWriter = Readonly<{
  number: number;
  /**
   * `write` resolves when the thread has taken the writes, at most `writesAheadMax` ahead of the file. A fault of
   * theirs rejects the next call.
   */
  store: ProjectionStore;
  pageById: (collection: string, afterId: string, limit: number) => Promise<readonly Document[]>;
  /** Resolves when all of it survives a power loss, and the file is closed. */
  finish: () => Promise<void>;
  /** Resolves when the file is closed, whatever became of it. */
  close: () => Promise<void>;
}>;

type Waiting = Readonly<{ resolve: (found: readonly Document[]) => void; reject: (fault: Error) => void }>;

/** One rebuild of a projection: a new generation beside the live one, which replaces it or is deleted. */
type RebuildOptions = Readonly<{
  catalog: Catalog;
  live: LiveGenerations;
  name: string;
  /** Called once when it is over. */ ended: () => void;
}>;

type LiveGenerationsOptions = Readonly<{
  catalog: Pick<Catalog, 'projection' | 'fileOf'>;
  onFault: (fault: Error) => void;
  /**
   * Called with the projection whose live generation is damaged, when its file is closed. The work is done again if it
   * returns.
   */
  onDamage: (damaged: Projection, fault: Error) => void;
}>;

type InspectionOptions = Readonly<{
  file: string;
  onFault: (fault: Error) => void;
  name: string;
  specs: readonly CollectionSpec[];
}>;

/** A generation can be replaced between the look into the catalog and the opening of its file. */
const openAttemptsMax = 5;

/** The ids of a collection are known up to this number. Beyond it every id is asked for. */
const knownIdsMax = 20_000;

/** Writes that the thread has not done yet: bounds the documents that are held for it. */
const writesAheadMax = 3;

const scanPageSize = 500;

export const openSqliteReadModels = (options: SqliteReadModelsOptions): ReadModels => {
  const { file, onFault = () => {}, onDamaged = () => {}, opensWhenUsed = false } = options;
  const rebuilds = new Set<Rebuild>();
  const inspections = new Set<Inspection>();
  let opened: Readonly<{ catalog: Catalog; live: LiveGenerations }> | undefined;
  const open = (): NonNullable<typeof opened> => {
    if (opened !== undefined) return opened;
    const catalog = openCatalog(file, onDamaged);
    return (opened = {
      catalog,
      live: openLiveGenerations({ catalog, onFault, onDamage: renewing(catalog, onDamaged) }),
    });
  };
  if (!opensWhenUsed) open();

  const onCollection = <Result>(collection: string, work: (generation: Generation) => Result): Result => {
    const { catalog, live } = open();
    const projection = catalog.projectionOf(collection);
    if (projection === undefined) throw new Error(`there is no collection ${collection}`);
    return live.use(projection, work);
  };

  return tellingRefusals<ReadModels>('read models', {
    projection: async (name, specs) => {
      checkNames(name, specs);
      const { catalog, live } = open();
      const { generation } = catalog.ensure(name, specs, (generationFile) => {
        // Left by a crash in the middle of this very step, or by a catalog that is gone.
        const isFirst = catalog.projection(name) === undefined;
        catalog.deleteGenerations(name, (number) => isFirst || catalog.fileOf(name, number) === generationFile);
        createGeneration(generationFile, specs);
      });
      catalog.deleteGenerations(name, (number) => number < generation);
      forgetInspection(catalog, name);
      return storeOf(catalog, live, name, specs);
    },
    get: async (collection, id) => onCollection(collection, (generation) => generation.collection(collection).get(id)),
    find: async (collection, query) =>
      onCollection(collection, (generation) => generation.finder(collection).find(query)),
    count: async (collection, query, max) =>
      onCollection(collection, (generation) => generation.finder(collection).count(query, max)),
    findCounted: async (collection, query, max) =>
      onCollection(collection, (generation) => generation.finder(collection).findCounted(query, max)),
    rebuild: async (name) => {
      const rebuild = startRebuild({ ...open(), name, ended: () => void rebuilds.delete(rebuild) });
      rebuilds.add(rebuild);
      return rebuild;
    },
    inspect: async (name, specs) => {
      const inspection = startInspection({ file, onFault, name, specs });
      if (inspection === undefined) return undefined;
      inspections.add(inspection);
      const close = (): Promise<void> => (inspections.delete(inspection) ? inspection.close() : Promise.resolve());
      return { ...inspection, close };
    },
    close: async () => {
      for (const rebuild of [...rebuilds]) await rebuild.discard();
      for (const inspection of [...inspections]) await inspection.close();
      opened?.live.close();
      opened?.catalog.close();
    },
  });
};

/** Deletes the files of an inspection whose process was killed: they may hold values that have been erased since. */
const forgetInspection = (catalog: Catalog, name: string): void => {
  const lock = holdLock({ file: catalog.rebuildLockOf(name) });
  if (lock === undefined) return;
  catalog.deleteInspection(name);
  lock.release();
};

/** Moves the damaged file aside and puts an empty generation in its place, which the projection fills from the log. */
const renewing =
  (catalog: Catalog, onDamaged: OnDamaged): LiveGenerationsOptions['onDamage'] =>
  ({ name, generation, specs }) => {
    if (!catalog.renew(name, generation, (file) => createGeneration(file, specs))) return;
    const file = catalog.fileOf(name, generation);
    onDamaged(file, moveAside(file));
  };

/**
 * The store that follows the live generation. A write at the very moment of its replacement is lost with it: the next
 * write is refused, and the writer goes on from the new checkpoint.
 */
const storeOf = (
  catalog: Catalog,
  live: LiveGenerations,
  name: string,
  specs: readonly CollectionSpec[],
): ProjectionStore => {
  const specsText = JSON.stringify(specs);
  let checked: Projection | undefined;
  const use = <Result>(work: (generation: Generation) => Result): Result => {
    const projection = catalog.projection(name);
    if (projection === undefined || projection !== checked) {
      if (projection === undefined || JSON.stringify(projection.specs) !== specsText)
        throw new Error(`another process has put the projection ${name} on another version`);
      checked = projection;
    }
    return live.use(projection, work);
  };
  return {
    checkpoint: async () => use((generation) => generation.checkpoint()),
    getMany: async (collection, ids) => use((generation) => generation.getMany(collection, ids)),
    write: async (writes, from, to) => use((generation) => generation.write(writes, from, to)),
  };
};

const openLiveGenerations = ({ catalog, onFault, onDamage }: LiveGenerationsOptions): LiveGenerations => {
  const open = new Map<string, Generation>();

  const release = (name: string): void => {
    open.get(name)?.close();
    open.delete(name);
  };

  const damaged = (projection: Projection, fault: unknown): void => {
    release(projection.name);
    onDamage(projection, fault as Error);
  };

  const listed = (name: string): Projection => {
    const projection = catalog.projection(name);
    if (projection === undefined) throw new Error(`there is no projection ${name}`);
    return projection;
  };

  const current = (first: Projection): Generation => {
    const { name } = first;
    for (let [attempt, projection] = [1, first]; ; attempt += 1, projection = listed(name)) {
      const known = open.get(name);
      if (known?.number === projection.generation) return known;
      known?.close();
      open.delete(name);
      try {
        const generation = openGeneration(place(catalog, projection), onFault);
        open.set(name, generation);
        return generation;
      } catch (error) {
        if (attempt === openAttemptsMax) throw error;
        if (isDamagedAtOpening(error, catalog.fileOf(name, projection.generation))) damaged(projection, error);
        else if (!isSqliteError(error, 'SQLITE_CANTOPEN')) throw error;
      }
    }
  };

  return {
    use: (projection, work) => {
      try {
        return work(current(projection));
      } catch (error) {
        if (!isDamage(error)) throw error;
        damaged(projection, error);
        return work(current(listed(projection.name)));
      }
    },
    release,
    close: () => {
      for (const generation of open.values()) generation.close();
      open.clear();
    },
  };
};

const place = (catalog: Pick<Catalog, 'fileOf'>, { name, generation, specs }: Projection) => ({
  file: catalog.fileOf(name, generation),
  number: generation,
  specs,
});

const startRebuildWriter = (generation: GenerationFile): RebuildWriter => {
  const { number, specs } = generation;
  const worker = new Worker(new URL('./rebuild-writer-thread.js', import.meta.url), { workerData: generation });
  /** Requests are answered in their order. */
  const waiting: Waiting[] = [];
  const ahead: Promise<unknown>[] = [];
  const ids = openKnownIds(specs.map(({ name }) => name));
  let fault: Error | undefined;
  let checkpoint: Checkpoint = { position: 0, generation: number };

  const fail = (error: Error): void => {
    fault ??= error;
    for (const { reject } of waiting.splice(0)) reject(fault);
  };
  worker.on('message', (answer: Answer) => {
    if (answer instanceof Error) return fail(answer);
    waiting.shift()?.resolve(answer);
  });
  worker.on('error', fail);
  worker.on('messageerror', fail);
  worker.on('exit', () => fail(new Error('the thread that writes the new generation has ended')));

  const ask = (request: Request): Promise<readonly Document[]> =>
    new Promise((resolve, reject) => {
      if (fault !== undefined) return reject(fault);
      waiting.push({ resolve, reject });
      worker.postMessage(request);
    });

  return {
    number,
    store: {
      checkpoint: async () => checkpoint,
      getMany: async (collection, wanted) => {
        const possible = ids.possible(collection, wanted);
        if (possible.length === 0 && fault === undefined) return new Map();
        return new Map(
          (await ask({ kind: 'getMany', collection, ids: possible })).map((document) => [document.id, document]),
        );
      },
      write: async (writes, from, position) => {
        if (fault !== undefined) throw fault;
        assertUnmoved(checkpoint, from);
        for (const { collection, put } of writes) ids.add(collection, put);
        const done = ask({ kind: 'write', writes: packedWrites(writes, specs), to: { ...from, position } });
        // Its fault is kept for the next call.
        done.catch(() => {});
        checkpoint = { ...from, position };
        ahead.push(done);
        if (ahead.length > writesAheadMax) await ahead.shift();
      },
    },
    pageById: (collection, afterId, limit) => ask({ kind: 'page', collection, afterId, limit }),
    finish: async () => void (await ask({ kind: 'finish' })),
    close: async () => {
      await ask({ kind: 'close' }).catch(() => {});
      await worker.terminate();
    },
  };
};

/** The ids ever put into collections that have few. The collections began empty, so no other id need be asked for. */
const openKnownIds = (collections: readonly string[]) => {
  const known = new Map(collections.map((name) => [name, new Set<string>()]));
  return {
    possible: (collection: string, wanted: readonly string[]): readonly string[] => {
      const ids = known.get(collection);
      return ids === undefined ? wanted : wanted.filter((id) => ids.has(id));
    },
    add: (collection: string, put: readonly Document[]): void => {
      const ids = known.get(collection);
      for (const { id } of put) ids?.add(id);
      if (ids !== undefined && ids.size > knownIdsMax) known.delete(collection);
    },
  };
};

/** Throws if another rebuild of the projection is under way, in any process. */
const startRebuild = (options: RebuildOptions): Rebuild => {
  const { catalog, live, name } = options;
  const lock = holdLock({ file: catalog.rebuildLockOf(name) });
  if (lock === undefined) throw new Error(`another rebuild of ${name} is under way`);
  let over = false;

  try {
    const { replaced: liveNumber, fresh } = newGeneration(catalog, name);
    catalog.deleteInspection(name);
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
      commit: async () => {
        if (over) throw new Error(`the rebuild of ${name} is over`);
        let done = false;
        try {
          if (isInPlace()) {
            await fresh.finish();
            done = catalog.replace(name, liveNumber, fresh.number);
          }
        } catch (error) {
          // The process that put the projection on another version has deleted our file.
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

/**
 * The new generation, and the number of the live one that it is to replace. The caller holds the lock, so every other
 * generation was left by a crash.
 */
const newGeneration = (catalog: Catalog, name: string): { replaced: number; fresh: RebuildWriter } => {
  const number = catalog.nextGeneration(name);
  const projection = catalog.projection(name);
  if (projection === undefined) throw new Error(`there is no projection ${name}`);
  catalog.deleteGenerations(name, (generation) => generation !== projection.generation);
  const fresh = startRebuildWriter({ file: catalog.fileOf(name, number), number, specs: projection.specs });
  return { replaced: projection.generation, fresh };
};

/** Out: undefined if nothing of these specs is live. Throws if a rebuild or another inspection is under way. */
const startInspection = ({ file, onFault, name, specs }: InspectionOptions): Inspection | undefined => {
  const catalog = inspectCatalog(file);
  const projection = catalog?.projection(name);
  if (catalog === undefined || projection === undefined || !hasSpecs(projection, specs)) {
    catalog?.close();
    return undefined;
  }
  const lock = holdLock({ file: catalog.rebuildLockOf(name) });
  if (lock === undefined) {
    catalog.close();
    throw new Error(`a rebuild of ${name} is under way, or it is verified by another process`);
  }
  catalog.deleteInspection(name);
  const onDamage = (damaged: Projection, fault: Error): void => {
    // Another process has put a new generation in the place of the file that could not be read.
    if (catalog.projection(name)?.generation === damaged.generation)
      throw damageIn(catalog.fileOf(name, damaged.generation), fault);
  };
  const live = openLiveGenerations({ catalog, onFault, onDamage });
  const fresh = startRebuildWriter({
    file: catalog.inspectionFileOf(name, 'rebuilt'),
    number: projection.generation,
    specs,
  });
  const use = <Result>(work: (generation: Generation) => Result): Result => {
    const now = catalog.projection(name);
    if (now === undefined || !hasSpecs(now, specs))
      throw new Error(`another process has put the projection ${name} on another version`);
    try {
      return live.use(now, work);
    } catch (error) {
      // A document that is no JSON.
      throw error instanceof SyntaxError ? damageIn(catalog.fileOf(name, now.generation), error) : error;
    }
  };
  const livePages = (collection: string) => async (afterId: string) =>
    use((generation) => generation.collection(collection).pageById(afterId, scanPageSize));
  return {
    live: {
      checkpoint: async () => use((generation) => generation.checkpoint()),
      getMany: async (collection, ids) => use((generation) => generation.getMany(collection, ids)),
    },
    rebuilt: fresh.store,
    scan: (collection, side) => {
      const pages =
        side === 'live'
          ? livePages(collection)
          : (afterId: string) => fresh.pageById(collection, afterId, scanPageSize);
      return scanById(pages, () =>
        damageIn(catalog.fileOf(name, projection.generation), new Error(`${collection}: ids out of order`)),
      );
    },
    lookupFaults: () => lookupFaults(catalog, name, specs),
    close: async () => {
      await fresh.close();
      live.close();
      catalog.deleteInspection(name);
      lock.release();
      catalog.close();
    },
  };
};

const hasSpecs = (projection: Projection, specs: readonly CollectionSpec[]): boolean =>
  JSON.stringify(projection.specs) === JSON.stringify(specs);

const damageIn = (file: string, fault: Error): ReadModelDamaged =>
  new ReadModelDamaged(file, wordsOfDamage(fault), { cause: fault });

/** The catalog as it is. Out: undefined if there is none. */
const inspectCatalog = (file: string): Catalog | undefined => {
  try {
    return readCatalog(file);
  } catch (error) {
    throw isDamagedAtOpening(error, file) ? damageIn(file, error as Error) : error;
  }
};

/** Checks a copy: a long read of the file itself would keep erased data in its write-ahead log. */
const lookupFaults = async function* (
  catalog: Catalog,
  name: string,
  specs: readonly CollectionSpec[],
): AsyncGenerator<LookupFault> {
  const from = catalog.fileOf(name, catalog.projection(name)!.generation);
  const file = catalog.inspectionFileOf(name, 'copy');
  try {
    await copyDatabase({ from, to: file });
    for (const fault of generationFaults(file, specs)) {
      if (fault !== undefined) yield fault;
      await turn();
    }
  } catch (error) {
    throw isDamage(error) || error instanceof SyntaxError ? damageIn(from, error as Error) : error;
  } finally {
    catalog.deleteInspection(name, 'copy');
  }
};

/** Ids rise from page to page, so reading ends; `outOfOrder` makes the fault where those of a damaged file do not. */
const scanById = async function* (
  pageAfter: (id: string) => Promise<readonly Document[]>,
  outOfOrder: () => Error,
): AsyncGenerator<Document> {
  for (let afterId = ''; ;) {
    const page = await pageAfter(afterId);
    for (const document of page) {
      if (document.id <= afterId) throw outOfOrder();
      afterId = document.id;
      yield document;
    }
    if (page.length < scanPageSize) return;
    await turn();
  }
};
