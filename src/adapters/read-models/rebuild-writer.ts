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

/** Writes that the thread has not done yet: bounds the documents that are held for it. */
const writesAheadMax = 3;

type Waiting = Readonly<{ resolve: (found: readonly Document[]) => void; reject: (fault: Error) => void }>;

export const startRebuildWriter = (generation: GenerationFile): RebuildWriter => {
  const { number, specs } = generation;
  const worker = new Worker(new URL('./rebuild-writer-thread.js', import.meta.url), { workerData: generation });
  /** Requests are answered in their order. */
  const waiting: Waiting[] = [];
  const ahead: Promise<unknown>[] = [];
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
      getMany: async (collection, ids) =>
        new Map((await ask({ kind: 'getMany', collection, ids })).map((document) => [document.id, document])),
      write: async (writes, from, position) => {
        if (fault !== undefined) throw fault;
        assertUnmoved(checkpoint, from);
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
