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
/**
 * One collection in memory. `changed`: what is not written yet, in the order of the first changes. `isWhole`: all
 * documents of the collection are in memory, so none need be read.
 */
type CollectionState = {
  readonly name: string;
  readonly known: Map<string, Known>;
  readonly changed: Known[];
  isWhole: boolean;
};

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

/** `isEmpty`: the collections are empty, and nobody else writes. */
type UnitOfWorkOptions = Readonly<{ isEmpty?: boolean }>;

export const openUnitOfWork = (
  projection: Projection,
  store: ProjectionStore,
  { isEmpty = false }: UnitOfWorkOptions = {},
): UnitOfWork => {
  const { collections, on } = projection;
  const all = new Map(
    collections.map(({ name }): [string, CollectionState] => [
      name,
      { name, known: new Map(), changed: [], isWhole: isEmpty },
    ]),
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
      const isFresh = isEmpty || folded >= FOLDED_BEFORE_MAX;
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
  { related, relatedCollections }: Projection,
  stock: Stock,
  events: readonly Recorded[],
  places: readonly Place[],
): Promise<void> => {
  const { all, store, isFresh } = stock;
  const isRelatedWhole = related === undefined || relatedCollections?.every((name) => all.get(name)!.isWhole) === true;
  if (isRelatedWhole && places.every(({ main }) => main.isWhole)) return;
  const begun = new Map<string, Recorded>();
  for (const recorded of events) if (recorded.revision === 0) begun.set(recorded.stream, recorded);
  const isBeginning = (at: number): boolean => begun.has(events[at]!.stream);
  const missing = places.flatMap((place, at) => (isMissing(place) && !(isFresh && isBeginning(at)) ? [at] : []));
  await readMains(store, places, missing);
  // If all related documents are in memory, no other process has written.
  if (related === undefined || isRelatedWhole) return;
  const from = events[0]?.position ?? 0;
  const isAhead = (at: number): boolean => {
    const { main, id } = places[at]!;
    return (main.known.get(id)?.position ?? (isBeginning(at) ? 0 : Infinity)) >= from;
  };
  if (missing.some(isAhead)) {
    for (const state of all.values()) {
      state.isWhole = false;
      for (const { id, isChanged } of state.known.values()) if (!isChanged) state.known.delete(id);
    }
    await readMains(
      store,
      places,
      places.flatMap((place, at) => (isMissing(place) && !(isFresh && isBeginning(at)) ? [at] : [])),
    );
  }
  const others = new Map<string, Set<string>>();
  for (const [at, recorded] of events.entries()) {
    const { main, id: own } = places[at]!;
    for (const { collection, id } of related(recorded, main.known.get(own)?.document, begun.get(recorded.stream))) {
      if (all.get(collection)!.known.has(id)) continue;
      if (relatedCollections?.includes(collection) === false)
        throw new Error(`${collection} is not among the related collections of its projection`);
      const wanted = others.get(collection);
      if (wanted === undefined) others.set(collection, new Set([id]));
      else wanted.add(id);
    }
  }
  for (const [collection, wanted] of others) await readInto(store, all.get(collection)!, wanted);
};

const isMissing = ({ main, id }: Place): boolean => !main.isWhole && !main.known.has(id);

/** Reads the main documents at those indexes of `places`. */
const readMains = async (
  store: ProjectionStore,
  places: readonly Place[],
  missing: readonly number[],
): Promise<void> => {
  const wanted = new Map<CollectionState, Set<string>>();
  for (const at of missing) {
    const { main, id } = places[at]!;
    const ids = wanted.get(main);
    if (ids === undefined) wanted.set(main, new Set([id]));
    else ids.add(id);
  }
  for (const [main, ids] of wanted) await readInto(store, main, ids);
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

const keepWritten = (state: CollectionState): void => {
  const { known, changed } = state;
  for (const one of changed.splice(0)) {
    one.isChanged = false;
    // The newest stand last.
    known.delete(one.id);
    if (one.document === undefined) continue;
    if (one.isReadAgain) known.set(one.id, one);
    else state.isWhole = false;
  }
  for (const id of known.keys()) {
    if (known.size <= CACHED_DOCUMENTS_MAX) break;
    known.delete(id);
    state.isWhole = false;
  }
};
