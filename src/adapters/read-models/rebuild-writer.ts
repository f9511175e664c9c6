/** Writes a new generation in a thread of its own, so that its pages and indexes are written while the next events are read and folded. */
import { Worker } from 'node:worker_threads';
import type { Checkpoint, Document, ProjectionStore } from '../../domain/ports/read-models.js';
import type { Answer, Request } from './rebuild-writer-thread.js';
import { assertUnmoved, rowWrites, type GenerationFile } from './generation.js';

export type RebuildWriter = Readonly<{
  number: number;
  /** `write` resolves when the thread has taken the writes, which are few ahead of the file; a fault of theirs rejects what is asked for next. */
  store: ProjectionStore;
  pageById: (collection: string, afterId: string, limit: number) => Promise<readonly Document[]>;
  /** Resolves when all of it survives a power loss, and the file is closed. */
  finish: () => Promise<void>;
  /** Resolves when the file is closed, whatever became of it. */
  close: () => Promise<void>;
}>;

/** So many ids are known of a collection at most; one with more is asked for all. */
const knownIdsMax = 20_000;

/** Writes that the thread has not done yet: bounds the documents that are held for it. */
const writesAheadMax = 3;

type Waiting = Readonly<{ resolve: (found: readonly Document[]) => void; reject: (fault: Error) => void }>;

export const startRebuildWriter = (generation: GenerationFile): RebuildWriter => {
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
        return new Map((await ask({ kind: 'getMany', collection, ids: possible })).map((document) => [document.id, document]));
      },
      write: async (writes, from, position) => {
        if (fault !== undefined) throw fault;
        assertUnmoved(checkpoint, from);
        for (const { collection, put } of writes) ids.add(collection, put);
        const done = ask({ kind: 'write', writes: rowWrites(writes, specs), position });
        // Its fault is kept for whoever asks next.
        done.catch(() => {});
        checkpoint = { position, generation: number };
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

/** The ids that were ever put, of collections that have few: nothing else need be asked for, for they were empty. */
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
