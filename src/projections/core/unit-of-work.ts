/**
 * The documents of a projection while events are folded into them: documents that were read or written lately, and
 * unwritten changes. Only here stands the guard: nothing is folded into a document that has folded the same position or
 * a later one.
 */
import type { Recorded } from '../../domain/events.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Checkpoint, CollectionWrites, Document, ProjectionStore } from '../../domain/ports/read-models.js';
import type { Projection, Step } from './projection.js';

export type UnitOfWork = Readonly<{
  /** Folds events, in order, into the documents. */
  fold: (events: readonly Recorded[]) => Promise<void>;
  /** How many documents of the main collection are changed and not written. */
  changed: () => number;
  /** Writes the changes and moves the checkpoint. Out: the new checkpoint. */
  write: (from: Checkpoint, to: number) => Promise<Checkpoint>;
}>;

/** A document that the event at `position` puts, or removes if undefined. */
type Change = Readonly<{ document: Document | undefined; position: number; isReadAgain: boolean }>;
/** One collection in memory: documents as they were read or written, and changes since. */
type CollectionState = Readonly<{ name: string; cache: Map<string, Document>; changes: Map<string, Change> }>;

/**
 * The first events after the opening may already be folded by a write that was cut off. This many are checked: more
 * than one write of a runner has. For them the main documents of streams that begin with these events are read too,
 * because only a main document says that the others were written, or removed.
 */
const FOLDED_BEFORE_MAX = 1_000;

/**
 * Documents of one collection that are kept after a write. They are valid as long as nobody else moves the checkpoint.
 */
const CACHED_DOCUMENTS_MAX = 2_048;

export const openUnitOfWork = (projection: Projection, store: ProjectionStore): UnitOfWork => {
  const { collections, on } = projection;
  const all = new Map(
    collections.map(({ name }): [string, CollectionState] => [name, { name, cache: new Map(), changes: new Map() }]),
  );
  const main = all.get(projection.main)!;
  const mains = new Map(Object.entries(projection.mainOf ?? {}).map(([kind, name]) => [kind, all.get(name)!]));
  const placeOf = ({ stream }: Recorded): Place => {
    const { kind, id } = splitStream(stream);
    return { main: mains.get(kind) ?? main, id };
  };
  let folded = 0;
  return {
    fold: async (events) => {
      const places = events.map(placeOf);
      const isFresh = folded >= FOLDED_BEFORE_MAX;
      folded += events.length;
      await readMissing(projection, { store, all, isFresh }, events, places);
      for (const [at, recorded] of events.entries()) {
        const handle = on[recorded.event.type];
        if (handle === undefined) continue;
        const { main: own, id } = places[at]!;
        if (hasFolded(own, id, recorded.position)) continue;
        for (const step of handle(recorded, lookUp(own, id))) apply(all.get(step.collection)!, step, recorded.position);
      }
    },
    changed: () => main.changes.size,
    write: async (from, to) => {
      await store.write([...all.values()].flatMap(writesOf), from, to);
      for (const known of all.values()) keepWritten(known);
      return { ...from, position: to };
    },
  };
};

const lookUp = ({ cache, changes }: CollectionState, id: string): Document | undefined => {
  const change = changes.get(id);
  return change === undefined ? cache.get(id) : change.document;
};

const isMissing = ({ cache, changes }: CollectionState, id: string): boolean => !changes.has(id) && !cache.has(id);

const hasFolded = ({ cache, changes }: CollectionState, id: string, position: number): boolean => {
  const known = changes.get(id) ?? cache.get(id);
  return known !== undefined && known.position >= position;
};

const apply = (known: CollectionState, step: Step, position: number): void => {
  const { id } = step;
  if (hasFolded(known, id, position)) return;
  const isReadAgain = 'next' in step;
  const document = isReadAgain ? step.next(lookUp(known, id)) : step.document;
  if (document !== undefined) (document as { position: number }).position = position;
  known.changes.set(id, { document, position, isReadAgain });
};

/** `isFresh`: no document of a stream that begins with these events can be there. */
type Stock = Readonly<{ store: ProjectionStore; all: ReadonlyMap<string, CollectionState>; isFresh: boolean }>;

/** The place of the main document of a stream. */
type Place = Readonly<{ main: CollectionState; id: string }>;

/**
 * Reads the documents that the events (of streams with those `ids`) may touch and that are not in memory: the main
 * document of each stream that may have one, and the related documents that the projection names. A document that is
 * not read counts as absent; the condition of the store protects it. Writes of another process may have arrived
 * meanwhile: a main document that is ahead, or gone, belongs to related documents that are ahead too. Then all are read
 * again, main documents first, because they are written last.
 */
const readMissing = async (
  { related }: Projection,
  stock: Stock,
  events: readonly Recorded[],
  places: readonly Place[],
): Promise<void> => {
  const { all, store, isFresh } = stock;
  const begun = new Map<string, Recorded>();
  for (const recorded of events) if (recorded.revision === 0) begun.set(recorded.stream, recorded);
  const beginning = new Set(places.filter((_, at) => begun.has(events[at]!.stream)));
  const going = isFresh ? places.filter((place) => !beginning.has(place)) : places;
  const read = await readMains(store, going);
  if (related === undefined) return;
  const from = events[0]?.position ?? 0;
  if (
    read.some((place) => (place.main.cache.get(place.id)?.position ?? (beginning.has(place) ? 0 : Infinity)) >= from)
  ) {
    for (const { cache } of all.values()) cache.clear();
    await readMains(store, going);
  }
  const others = new Map<string, Set<string>>();
  for (const [at, recorded] of events.entries()) {
    const { main, id: own } = places[at]!;
    for (const { collection, id } of related(recorded, lookUp(main, own), begun.get(recorded.stream))) {
      if (!isMissing(all.get(collection)!, id)) continue;
      const wanted = others.get(collection);
      if (wanted === undefined) others.set(collection, new Set([id]));
      else wanted.add(id);
    }
  }
  for (const [collection, wanted] of others) await readInto(store, all.get(collection)!, wanted);
};

/** In: the main documents of streams that may have one. Out: those that were not in memory. */
const readMains = async (store: ProjectionStore, places: readonly Place[]): Promise<readonly Place[]> => {
  const missing = places.filter(({ main, id }) => isMissing(main, id));
  for (const main of new Set(missing.map((place) => place.main)))
    await readInto(store, main, new Set(missing.filter((place) => place.main === main).map(({ id }) => id)));
  return missing;
};

const readInto = async (
  store: ProjectionStore,
  { name, cache }: CollectionState,
  ids: ReadonlySet<string>,
): Promise<void> => {
  for (const [id, document] of await store.getMany(name, [...ids])) cache.set(id, document);
};

const writesOf = ({ name: collection, changes }: CollectionState): readonly CollectionWrites[] => {
  if (changes.size === 0) return [];
  const put: Document[] = [];
  const remove: { id: string; position: number }[] = [];
  for (const [id, { document, position }] of changes) {
    if (document === undefined) remove.push({ id, position });
    else put.push(document);
  }
  return [{ collection, put, remove }];
};

const keepWritten = ({ cache, changes }: CollectionState): void => {
  for (const [id, { document, isReadAgain }] of changes) {
    cache.delete(id);
    if (document !== undefined && isReadAgain) cache.set(id, document);
  }
  changes.clear();
  for (const id of cache.keys()) {
    if (cache.size <= CACHED_DOCUMENTS_MAX) break;
    cache.delete(id);
  }
};
