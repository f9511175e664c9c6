/** Keeps the documents of a projection up with the log: follows it from the checkpoint and writes batch by batch. */
import type { EventLog } from '../domain/event-log.js';
import type { Recorded } from '../domain/events.js';
import {
  CheckpointMoved, type Checkpoint, type CollectionWrites, type Document, type ProjectionStore,
} from '../domain/ports/documents.js';
import type { Worker } from '../domain/ports/worker.js';
import type { Change, Projection, Reference } from './projection.js';

export type RunnerDeps = Readonly<{
  log: Pick<EventLog, 'readAll' | 'subscribeAll'>;
  store: ProjectionStore;
  /** Awaited between batches, so that under load many events share one write. */
  pause: (signal: AbortSignal) => Promise<void>;
  /** True where the worker runs in another process: how far it is then stands in the checkpoint alone. */
  elsewhere?: boolean;
}>;

export type Runner = Readonly<{
  worker: Worker;
  /** The kinds of stream it reads. */
  kinds: readonly string[];
  /** The position of the last event folded in. */
  position: () => number;
  /** Resolves when every event up to that position that concerns the projection is folded in, or the signal aborts. */
  caughtUp: (position: number, signal: AbortSignal) => Promise<void>;
}>;

/** Documents that were touched lately; valid as long as nobody else moves the checkpoint. */
const CACHED_DOCUMENTS_MAX = 8_192;

export const makeRunner = (projection: Projection, deps: RunnerDeps): Runner => {
  const filter = { kinds: projection.kinds };
  const waiting = new Set<() => void>();
  let reached = 0;

  const follow = async (signal: AbortSignal): Promise<void> => {
    const cache = new Map<string, Document>();
    let checkpoint = await deps.store.checkpoint();
    const advance = (position: number): void => {
      reached = position;
      for (const wake of [...waiting]) wake();
    };
    advance(checkpoint.position);
    for await (const batch of deps.log.subscribeAll(checkpoint.position, { filter, signal })) {
      checkpoint = await project(projection, deps.store, cache, batch, checkpoint);
      advance(checkpoint.position);
      await deps.pause(signal);
    }
  };

  return {
    worker: {
      name: `project-${projection.name}`,
      run: async (signal) => {
        while (!signal.aborted) {
          try {
            await follow(signal);
          } catch (fault) {
            // Another process projects too, or a rebuild was switched in: go on from where the documents are now.
            if (!(fault instanceof CheckpointMoved)) throw fault;
          }
        }
      },
    },
    kinds: projection.kinds,
    position: () => reached,
    caughtUp: async (position, signal) => {
      while (reached < position && !signal.aborted) {
        if (deps.elsewhere === true) reached = (await deps.store.checkpoint()).position;
        const next = await firstAfter(deps.log, reached, filter);
        if (next === undefined || next > position) return;
        if (reached < next) await (deps.elsewhere === true ? deps.pause(signal) : progressed(waiting, signal));
      }
    },
  };
};

const firstAfter = async (
  log: Pick<EventLog, 'readAll'>,
  after: number,
  filter: Readonly<{ kinds: readonly string[] }>,
): Promise<number | undefined> => {
  for await (const batch of log.readAll(after, { filter, batchSize: 1 })) return batch[0]?.position;
  return undefined;
};

const progressed = (waiting: Set<() => void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      waiting.delete(done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    waiting.add(done);
    signal.addEventListener('abort', done, { once: true });
  });

const keyOf = (collection: string, id: string): string => `${collection}\n${id}`;

/** Folds a batch into the documents and writes them with the checkpoint. Out: the checkpoint after. */
export const project = async (
  projection: Projection,
  store: ProjectionStore,
  cache: Map<string, Document>,
  batch: readonly Recorded[],
  from: Checkpoint,
): Promise<Checkpoint> => {
  await fetchMissing(projection, store, cache, batch);
  const changed = new Map<string, Change>();
  const find = (collection: string, id: string): Document | undefined => {
    const key = keyOf(collection, id);
    return changed.has(key) ? changed.get(key)!.document : cache.get(key);
  };
  for (const recorded of batch) {
    for (const change of projection.apply(recorded, find)) changed.set(keyOf(change.collection, change.id), change);
  }
  const to = batch.at(-1)!.position;
  await store.write(writesOf(projection, [...changed.values()]), from, to);
  for (const [key, { document }] of changed) {
    cache.delete(key);
    if (document !== undefined) cache.set(key, document);
  }
  while (cache.size > CACHED_DOCUMENTS_MAX) cache.delete(cache.keys().next().value!);
  return { position: to, generation: from.generation };
};

const fetchMissing = async (
  projection: Projection,
  store: ProjectionStore,
  cache: Map<string, Document>,
  batch: readonly Recorded[],
): Promise<void> => {
  const named = batch.flatMap((recorded) => projection.reads(recorded));
  await fetchAll(store, cache, named);
  if (projection.related === undefined) return;
  const related: Reference[] = [];
  for (const { collection, id } of named) {
    const document = cache.get(keyOf(collection, id));
    if (document !== undefined) related.push(...projection.related(document));
  }
  await fetchAll(store, cache, related);
};

const fetchAll = async (store: ProjectionStore, cache: Map<string, Document>, references: readonly Reference[]): Promise<void> => {
  const missing = new Map<string, Set<string>>();
  for (const { collection, id } of references) {
    if (cache.has(keyOf(collection, id))) continue;
    const ids = missing.get(collection);
    if (ids === undefined) missing.set(collection, new Set([id]));
    else ids.add(id);
  }
  for (const [collection, ids] of missing) {
    for (const [id, document] of await store.getMany(collection, [...ids])) cache.set(keyOf(collection, id), document);
  }
};

const writesOf = (
  projection: Projection,
  changes: readonly Change[],
): readonly CollectionWrites[] =>
  projection.collections.flatMap(({ name }) => {
    const own = changes.filter(({ collection }) => collection === name);
    if (own.length === 0) return [];
    return [
      {
        collection: name,
        put: own.flatMap(({ document }) => (document === undefined ? [] : [document])),
        remove: own.flatMap(({ id, document }) => (document === undefined ? [id] : [])),
      },
    ];
  });
