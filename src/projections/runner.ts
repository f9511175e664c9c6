/** Keeps the documents of a projection up with the log: follows it from the checkpoint and writes batch by batch. */
import type { EventLog } from '../event-log/event-log.js';
import type { Recorded } from '../domain/events.js';
import {
  CheckpointMoved,
  type Checkpoint,
  type CollectionWrites,
  type Document,
  type ProjectionStore,
} from '../domain/ports/read-models.js';
import type { Worker } from '../domain/ports/worker.js';
import { keyOf, type Change, type Projection, type Reference } from './projection.js';

export type RunnerDeps = Readonly<{
  eventLog: Pick<EventLog, 'readAll' | 'subscribeAll'>;
  store: ProjectionStore;
  /** Awaited between batches, so that under load many events share one write, and those of one email one document. Ends early at the signal. */
  pause: (signal: AbortSignal) => Promise<void>;
  /** Runs the worker's work while this process is the one that projects; default: at once. */
  lead?: (signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>) => Promise<void>;
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
  const { kinds } = projection;
  const waiting = new Set<() => void>();
  const { lead = (signal, work) => work(signal) } = deps;
  let reached = 0;
  /** Where another process projects, how far it is stands in the checkpoint alone. */
  let leading = false;
  /** Ends the pause under way: somebody waits for what comes after it. */
  let hurry = (): void => {};

  const pause = async (signal: AbortSignal): Promise<void> => {
    if (waiting.size > 0) return;
    const over = new AbortController();
    hurry = () => over.abort(HURRIED);
    await deps.pause(AbortSignal.any([signal, over.signal]));
  };

  const wakeAll = (): void => {
    for (const wake of [...waiting]) wake();
  };

  const follow = async (signal: AbortSignal): Promise<void> => {
    const desk = emptyDesk();
    let checkpoint = await deps.store.checkpoint();
    const advance = (position: number): void => {
      reached = position;
      wakeAll();
    };
    advance(checkpoint.position);
    for await (const { events, position } of deps.eventLog.subscribeAll(checkpoint.position, { kinds, signal })) {
      if (events.length === 0) {
        advance(position);
        continue;
      }
      checkpoint = await project(projection, deps.store, desk, events, checkpoint);
      advance(checkpoint.position);
      await pause(signal);
    }
  };

  const followOn = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        await follow(signal);
      } catch (fault) {
        // Another process projects too, or a rebuild was switched in: go on from where the documents are now.
        if (!(fault instanceof CheckpointMoved)) throw fault;
      }
    }
  };

  return {
    worker: {
      name: `project-${projection.name}`,
      run: (stop) =>
        lead(stop, async (signal) => {
          leading = true;
          try {
            await followOn(signal);
          } finally {
            leading = false;
            wakeAll();
          }
        }),
    },
    kinds,
    position: () => reached,
    caughtUp: async (position, signal) => {
      while (reached < position && !signal.aborted) {
        if (!leading) reached = (await deps.store.checkpoint()).position;
        const next = await firstAfter(deps.eventLog, reached, kinds);
        if (next === undefined || next > position) return;
        if (reached < next) await (leading ? progressed(waiting, hurry, signal) : deps.pause(signal));
      }
    },
  };
};

const firstAfter = async (eventLog: Pick<EventLog, 'readAll'>, after: number, kinds: readonly string[]): Promise<number | undefined> => {
  for await (const { events } of eventLog.readAll(after, { kinds, batchSize: 1 })) if (events.length > 0) return events[0]!.position;
  return undefined;
};

/** With a reason of its own: without one, a DOMException with a stack is made each time. */
const HURRIED = 'hurried';

const progressed = (waiting: Set<() => void>, hurry: () => void, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      waiting.delete(done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    waiting.add(done);
    hurry();
    signal.addEventListener('abort', done, { once: true });
  });

/** Documents at hand between batches: those written lately, and the changes that are not written yet. */
export type Desk = Readonly<{
  cache: Map<string, Document>;
  pending: Map<string, Change>;
  /** Of some collections that were empty: the ids of all that was put into them since. */
  made: Map<string, Set<string>>;
}>;

/** `few`: collections that are empty, and will have few documents. */
export const emptyDesk = (few: readonly string[] = []): Desk => ({
  cache: new Map(),
  pending: new Map(),
  made: new Map(few.map((name) => [name, new Set()])),
});

/** Beyond it they are not few. */
const MADE_MAX = 100_000;

/** Folds a batch into the documents and writes them with the checkpoint. Out: the checkpoint after. */
export const project = async (
  projection: Projection,
  store: ProjectionStore,
  desk: Desk,
  batch: readonly Recorded[],
  from: Checkpoint,
): Promise<Checkpoint> => {
  await foldBatch(projection, store, desk, batch);
  return writePending(projection, store, desk, from, batch.at(-1)!.position);
};

/** Folds a batch into the documents on the desk, without writing them. */
export const foldBatch = async (projection: Projection, store: ProjectionStore, desk: Desk, batch: readonly Recorded[]): Promise<void> => {
  await fetchMissing(projection, store, desk, batch);
  for (const change of projection.fold(batch, (collection, id) => lookUp(desk, keyOf(collection, id)))) {
    desk.pending.set(keyOf(change.collection, change.id), change);
  }
};

/** Writes what is pending and moves the checkpoint from `from` to `position`. Out: the checkpoint after. */
export const writePending = async (
  projection: Projection,
  store: ProjectionStore,
  { cache, pending, made }: Desk,
  from: Checkpoint,
  position: number,
): Promise<Checkpoint> => {
  await store.write(writesOf(projection, [...pending.values()]), from, position);
  for (const [key, { collection, id, document }] of pending) {
    cache.delete(key);
    if (document === undefined) continue;
    cache.set(key, document);
    if (made.get(collection)?.add(id).size === MADE_MAX) made.delete(collection);
  }
  pending.clear();
  for (const key of cache.keys()) {
    if (cache.size <= CACHED_DOCUMENTS_MAX) break;
    cache.delete(key);
  }
  return { position, generation: from.generation };
};

const lookUp = ({ cache, pending }: Desk, key: string): Document | undefined => {
  const change = pending.get(key);
  return change === undefined ? cache.get(key) : change.document;
};

const fetchMissing = async (projection: Projection, store: ProjectionStore, desk: Desk, batch: readonly Recorded[]): Promise<void> => {
  const named = projection.reads(batch);
  await fetchAll(store, desk, named);
  if (projection.related === undefined) return;
  const related: Reference[] = [];
  for (const { collection, id } of named) {
    const document = lookUp(desk, keyOf(collection, id));
    if (document !== undefined) related.push(...projection.related(document));
  }
  await fetchAll(store, desk, related);
};

const fetchAll = async (store: ProjectionStore, { cache, pending, made }: Desk, references: readonly Reference[]): Promise<void> => {
  const missing = new Map<string, Set<string>>();
  for (const { collection, id } of references) {
    const key = keyOf(collection, id);
    if (cache.has(key) || pending.has(key) || made.get(collection)?.has(id) === false) continue;
    const ids = missing.get(collection);
    if (ids === undefined) missing.set(collection, new Set([id]));
    else ids.add(id);
  }
  for (const [collection, ids] of missing) {
    for (const [id, document] of await store.getMany(collection, [...ids])) cache.set(keyOf(collection, id), document);
  }
};

const writesOf = (projection: Projection, changes: readonly Change[]): readonly CollectionWrites[] =>
  projection.collections.flatMap(({ name }) => {
    const own = changes.filter(({ collection }) => collection === name);
    if (own.length === 0) return [];
    return [
      {
        collection: name,
        put: own.flatMap(({ document }) => (document === undefined ? [] : [document])),
        remove: own.flatMap(({ id, position, document }) => (document === undefined ? [{ id, position }] : [])),
      },
    ];
  });
