/**
 * The documents of a projection while events are folded into them: those that were read or written lately, and the changes that are not
 * written yet. Here alone stands the guard: nothing is folded into a document that has folded the same position or a later one.
 */
import type { Recorded } from '../domain/events.js';
import { splitStream } from '../domain/ids.js';
import type { Checkpoint, CollectionWrites, Document, ProjectionStore } from '../domain/ports/read-models.js';
import type { Projection, Step } from './projection.js';

export type UnitOfWork = Readonly<{
  /** Folds events, in order, into the documents. */
  fold: (events: readonly Recorded[]) => Promise<void>;
  /** How many documents are changed and not written. */
  changed: () => number;
  /** Writes what is changed and moves the checkpoint. Out: the checkpoint after. */
  write: (from: Checkpoint, to: number) => Promise<Checkpoint>;
}>;

/** A document that is to be put, or removed where undefined, by the event at that position. */
type Change = Readonly<{ document: Document | undefined; position: number }>;
type ByCollection<Entry> = ReadonlyMap<string, Map<string, Entry>>;

/** Documents of one collection that are kept after they were written; valid as long as nobody else moves the checkpoint. */
const CACHED_DOCUMENTS_MAX = 8_192;

export const openUnitOfWork = (projection: Projection, store: ProjectionStore): UnitOfWork => {
  const { collections, main, on } = projection;
  const perCollection = <Entry>(): ByCollection<Entry> => new Map(collections.map(({ name }) => [name, new Map<string, Entry>()]));
  const cache = perCollection<Document>();
  const changes = perCollection<Change>();

  const lookUp = (collection: string, id: string): Document | undefined => {
    const change = changes.get(collection)!.get(id);
    return change === undefined ? cache.get(collection)!.get(id) : change.document;
  };

  const hasFolded = (collection: string, id: string, position: number): boolean => {
    const known = changes.get(collection)!.get(id) ?? cache.get(collection)!.get(id);
    return known !== undefined && known.position >= position;
  };

  const apply = ({ collection, id, next }: Step, position: number): void => {
    if (hasFolded(collection, id, position)) return;
    const document = next(lookUp(collection, id));
    if (document !== undefined) (document as { position: number }).position = position;
    changes.get(collection)!.set(id, { document, position });
  };

  return {
    fold: async (events) => {
      await readMissing(projection, { store, cache, changes }, events);
      for (const recorded of events) {
        const handle = on[recorded.event.type];
        if (handle === undefined || handle === 'ignored') continue;
        const { id } = splitStream(recorded.stream);
        if (hasFolded(main, id, recorded.position)) continue;
        for (const step of handle(recorded, lookUp(main, id))) apply(step, recorded.position);
      }
    },
    changed: () => [...changes.values()].reduce((sum, { size }) => sum + size, 0),
    write: async (from, to) => {
      await store.write(
        collections.flatMap(({ name }) => writesOf(name, changes.get(name)!)),
        from,
        to,
      );
      for (const [name, changed] of changes) keepWritten(cache.get(name)!, changed);
      return { position: to, generation: from.generation };
    },
  };
};

type Stock = Readonly<{ store: ProjectionStore; cache: ByCollection<Document>; changes: ByCollection<Change> }>;

/**
 * Reads what the events may touch and nobody has at hand: the main document of each stream that did not begin with these events, and
 * what the projection names beside it. A document that is not read is taken for absent, and the store's own condition protects it.
 * What another writer has sent may have arrived: a main document that lies ahead, or is gone, belongs to documents beside it that lie ahead
 * too, and not to those that were read before. So all are read again, the main ones first, for they are written last.
 */
const readMissing = async ({ main, related }: Projection, stock: Stock, events: readonly Recorded[]): Promise<void> => {
  const mains = await readMains(main, stock, events);
  if (related === undefined) return;
  const { cache, changes } = stock;
  const from = events[0]?.position ?? 0;
  const isAhead = (id: string): boolean => (cache.get(main)!.get(id)?.position ?? Infinity) >= from;
  if ([...mains].some(isAhead)) {
    for (const documents of cache.values()) documents.clear();
    await readMains(main, stock, events);
  }
  const others = new Map<string, Set<string>>();
  for (const recorded of events) {
    const { id: mainId } = splitStream(recorded.stream);
    const change = changes.get(main)!.get(mainId);
    for (const { collection, id } of related(recorded, change === undefined ? cache.get(main)!.get(mainId) : change.document)) {
      if (!isMissing(stock, collection, id)) continue;
      const ids = others.get(collection);
      if (ids === undefined) others.set(collection, new Set([id]));
      else ids.add(id);
    }
  }
  for (const [collection, ids] of others) await read(stock, collection, ids);
};

/** Out: the ids that were not at hand. */
const readMains = async (main: string, stock: Stock, events: readonly Recorded[]): Promise<ReadonlySet<string>> => {
  const missing = new Set<string>();
  for (const { stream, revision } of events) {
    if (revision === 0) continue;
    const { id } = splitStream(stream);
    if (isMissing(stock, main, id)) missing.add(id);
  }
  if (missing.size > 0) await read(stock, main, missing);
  return missing;
};

const isMissing = ({ cache, changes }: Stock, collection: string, id: string): boolean =>
  !changes.get(collection)!.has(id) && !cache.get(collection)!.has(id);

const read = async ({ store, cache }: Stock, collection: string, ids: ReadonlySet<string>): Promise<void> => {
  for (const [id, document] of await store.getMany(collection, [...ids])) cache.get(collection)!.set(id, document);
};

const writesOf = (collection: string, changed: ReadonlyMap<string, Change>): readonly CollectionWrites[] => {
  if (changed.size === 0) return [];
  const put: Document[] = [];
  const remove: { id: string; position: number }[] = [];
  for (const [id, { document, position }] of changed) {
    if (document === undefined) remove.push({ id, position });
    else put.push(document);
  }
  return [{ collection, put, remove }];
};

const keepWritten = (cache: Map<string, Document>, changed: Map<string, Change>): void => {
  for (const [id, { document }] of changed) {
    cache.delete(id);
    if (document !== undefined) cache.set(id, document);
  }
  changed.clear();
  for (const id of cache.keys()) {
    if (cache.size <= CACHED_DOCUMENTS_MAX) break;
    cache.delete(id);
  }
};
