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

/** A document as it was read or written, or as the event at `position` has changed it; undefined: removed. */
type Known = {
  readonly id: string;
  document: Document | undefined;
  position: number;
  /** The step that changed it last read it, so the next one is likely to read it too. */
  isReadAgain: boolean;
  isChanged: boolean;
};
/** One collection in memory. `changed`: what is not written yet, in the order of the first changes. */
type CollectionState = Readonly<{ name: string; known: Map<string, Known>; changed: Known[] }>;

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
    collections.map(({ name }): [string, CollectionState] => [name, { name, known: new Map(), changed: [] }]),
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
        const known = own.known.get(id);
        if (hasFolded(known, recorded.position)) continue;
        for (const step of handle(recorded, known?.document)) apply(all.get(step.collection)!, step, recorded.position);
      }
    },
    changed: () => main.changed.length,
    write: async (from, to) => {
      await store.write([...all.values()].flatMap(writesOf), from, to);
      for (const state of all.values()) keepWritten(state);
      return { ...from, position: to };
    },
  };
};

const hasFolded = (known: Known | undefined, position: number): boolean =>
  known !== undefined && known.position >= position;

const apply = ({ known: all, changed }: CollectionState, step: Step, position: number): void => {
  const { id } = step;
  const before = all.get(id);
  if (hasFolded(before, position)) return;
  const isReadAgain = 'next' in step;
  const document = isReadAgain ? step.next(before?.document) : step.document;
  if (document !== undefined) (document as { position: number }).position = position;
  const known = before ?? { id, document, position, isReadAgain, isChanged: false };
  if (before === undefined) all.set(id, known);
  if (!known.isChanged) changed.push(known);
  known.document = document;
  known.position = position;
  known.isReadAgain = isReadAgain;
  known.isChanged = true;
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
    read.some((place) => (place.main.known.get(place.id)?.position ?? (beginning.has(place) ? 0 : Infinity)) >= from)
  ) {
    for (const { known } of all.values())
      for (const { id, isChanged } of known.values()) if (!isChanged) known.delete(id);
    await readMains(store, going);
  }
  const others = new Map<string, Set<string>>();
  for (const [at, recorded] of events.entries()) {
    const { main, id: own } = places[at]!;
    for (const { collection, id } of related(recorded, main.known.get(own)?.document, begun.get(recorded.stream))) {
      if (all.get(collection)!.known.has(id)) continue;
      const wanted = others.get(collection);
      if (wanted === undefined) others.set(collection, new Set([id]));
      else wanted.add(id);
    }
  }
  for (const [collection, wanted] of others) await readInto(store, all.get(collection)!, wanted);
};

/** In: the main documents of streams that may have one. Out: those that were not in memory. */
const readMains = async (store: ProjectionStore, places: readonly Place[]): Promise<readonly Place[]> => {
  const missing = places.filter(({ main, id }) => !main.known.has(id));
  for (const main of new Set(missing.map((place) => place.main)))
    await readInto(store, main, new Set(missing.filter((place) => place.main === main).map(({ id }) => id)));
  return missing;
};

const readInto = async (
  store: ProjectionStore,
  { name, known }: CollectionState,
  ids: ReadonlySet<string>,
): Promise<void> => {
  for (const [id, document] of await store.getMany(name, [...ids]))
    known.set(id, { id, document, position: document.position, isReadAgain: true, isChanged: false });
};

const writesOf = ({ name: collection, changed }: CollectionState): readonly CollectionWrites[] => {
  if (changed.length === 0) return [];
  const put: Document[] = [];
  const remove: { id: string; position: number }[] = [];
  for (const { id, document, position } of changed) {
    if (document === undefined) remove.push({ id, position });
    else put.push(document);
  }
  return [{ collection, put, remove }];
};

const keepWritten = ({ known, changed }: CollectionState): void => {
  for (const one of changed.splice(0)) {
    one.isChanged = false;
    // The newest stand last.
    known.delete(one.id);
    if (one.document !== undefined && one.isReadAgain) known.set(one.id, one);
  }
  for (const id of known.keys()) {
    if (known.size <= CACHED_DOCUMENTS_MAX) break;
    known.delete(id);
  }
};
