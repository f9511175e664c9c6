/**
 * Distant read models in memory. A write is a row of separate messages: it may end after any of them, others may write
 * in between, and one that was sent long ago may arrive. Each put and remove is conditional at the server, and nothing
 * else protects a document.
 */
import {
  CheckpointMoved,
  type Checkpoint,
  type CollectionSpec,
  type CollectionWrites,
  type Document,
  type ProjectionStore,
  type ReadModels,
  type Inspection,
  type Rebuild,
} from '../../../src/domain/ports/read-models.js';
import { ask, type Network } from './network.js';
import { checkDeclared, matching, pageOf } from './read-model-query.js';

/** `document`: undefined where it was removed; then the position stays, so that nothing older comes back. */
type Kept = Readonly<{ text: string; document: Document | undefined; position: number }>;
type Generation = {
  readonly number: number;
  readonly version: string;
  readonly collections: Map<string, Map<string, Kept>>;
  position: number;
  passedOver?: number;
};
type Projected = {
  specs: readonly CollectionSpec[];
  live: Generation;
  rebuilt: Generation | undefined;
  generations: number;
};

type Step = Readonly<{ collection: string; id: string; document: Document | undefined; position: number }>;

/** `isConditional`: false plants the fault that an older write overwrites a later one. */
export type ReadModelServer = Readonly<{ projections: Map<string, Projected>; isConditional: boolean }>;
export const readModelServer = ({ isConditional = true } = {}): ReadModelServer => ({
  projections: new Map(),
  isConditional,
});

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;
const versionOf = (specs: readonly CollectionSpec[]): string =>
  specs.map(({ name, version }) => `${name}:${version}`).join();

const generationOf = (specs: readonly CollectionSpec[], number: number): Generation => ({
  number,
  version: versionOf(specs),
  collections: new Map(specs.map(({ name }) => [name, new Map()])),
  position: 0,
});

const checkSpecs = (server: ReadModelServer, projection: string, specs: readonly CollectionSpec[]): void => {
  for (const name of [
    projection,
    ...specs.flatMap(({ name, fields, search }) => [name, ...fields, ...(search === undefined ? [] : [search.field])]),
  ]) {
    if (!NAME.test(name)) throw new RangeError(`"${name}" is no name for a projection, a collection or a field`);
  }
  for (const { name, fields, indexes, search } of specs) {
    if (search !== undefined && !fields.includes(search.within))
      throw new RangeError(`${name} searches within ${search.within}`);
    for (const field of indexes.flat())
      if (field !== 'seq' && !fields.includes(field)) throw new RangeError(`${name} has an index on ${field}`);
    for (const [other, known] of server.projections) {
      if (other !== projection && known.specs.some((spec) => spec.name === name))
        throw new RangeError(`${name} belongs to ${other}`);
    }
  }
};

const openProjection = (server: ReadModelServer, name: string, specs: readonly CollectionSpec[]): Projected => {
  checkSpecs(server, name, specs);
  const known = server.projections.get(name);
  if (known === undefined) {
    const projected: Projected = { specs, live: generationOf(specs, 1), rebuilt: undefined, generations: 1 };
    server.projections.set(name, projected);
    return projected;
  }
  if (known.live.version !== versionOf(specs)) {
    known.specs = specs;
    known.live = generationOf(specs, (known.generations += 1));
  }
  return known;
};

const checkStep = (specs: readonly CollectionSpec[], { collection, document }: Step): void => {
  const spec = specs.find(({ name }) => name === collection);
  if (spec === undefined) throw new RangeError(`${collection} is no collection of this projection`);
  if (document === undefined) return;
  for (const field of spec.fields) {
    const value = document[field];
    if (value !== undefined && value !== null && typeof value !== 'string' && typeof value !== 'number')
      throw new TypeError(`${field} of ${document.id} is neither a string nor a number`);
  }
  const text = spec.search === undefined ? undefined : document[spec.search.field];
  if (text !== undefined && (typeof text !== 'string' || text.includes('\u0001')))
    throw new TypeError(`the searched text of ${document.id} is no string`);
  const terms = spec.search?.terms === undefined ? undefined : document[spec.search.terms];
  if (terms === undefined) return;
  const isList =
    Array.isArray(terms) &&
    terms.length > 0 &&
    terms.every((term) => typeof term === 'string' && !term.includes('\u0001'));
  if (!isList || text === undefined) throw new TypeError(`the terms of ${document.id} are no terms`);
};

/** The condition of the port: what has folded a later or the same position stays as it is. */
const carryOut = (generation: Generation, steps: readonly Step[], isConditional: boolean): void => {
  for (const { collection, id, document, position } of steps) {
    const kept = generation.collections.get(collection)!;
    if (isConditional && (kept.get(id)?.position ?? -1) >= position) continue;
    kept.set(id, { text: document === undefined ? '' : JSON.stringify(document), document, position });
  }
};

const moveCheckpoint = (projected: Projected, from: Checkpoint, to: number): void => {
  const generation = generationNumbered(projected, from.generation);
  if (generation.position !== from.position) throw new CheckpointMoved('the checkpoint is elsewhere');
  generation.position = to;
  if (from.passedOver !== undefined) generation.passedOver = from.passedOver;
};

const generationNumbered = ({ live, rebuilt }: Projected, number: number): Generation => {
  const found = [live, rebuilt].find((generation) => generation?.number === number);
  if (found === undefined) throw new CheckpointMoved('other collections stand in the place of these');
  return found;
};

const stepsOf = (writes: readonly CollectionWrites[]): readonly Step[] =>
  writes.flatMap(({ collection, put, remove }) => [
    ...put.map((document) => ({ collection, id: document.id, document, position: document.position })),
    ...remove.map(({ id, position }) => ({ collection, id, document: undefined, position })),
  ]);

const copyOf = ({ text }: Kept): Document => JSON.parse(text) as Document;

type Opened = Readonly<{ projected: Projected; isConditional: boolean }>;

const storeOf = (network: Network, { projected, isConditional }: Opened, side: () => Generation): ProjectionStore => ({
  checkpoint: () =>
    ask(network, 'read-models.read', () => {
      const { position, number: generation, passedOver } = side();
      return { position, generation, ...(passedOver === undefined ? {} : { passedOver }) };
    }),
  getMany: (collection, ids) =>
    ask(network, 'read-models.read', () => {
      const kept = side().collections.get(collection);
      if (kept === undefined) throw new RangeError(`${collection} is no collection of this projection`);
      const found = new Map<string, Document>();
      for (const id of ids) {
        const one = kept.get(id);
        if (one?.document !== undefined) found.set(id, copyOf(one));
      }
      return found;
    }),
  write: async (writes, from, to) => {
    const steps = stepsOf(writes);
    for (const step of steps) checkStep(projected.specs, step);
    for (let at = 0; at < steps.length;) {
      const length = network.faults.strikes('read-models.torn')
        ? network.scheduler.random.between(1, steps.length - at)
        : steps.length - at;
      const part = steps.slice(at, at + length);
      await ask(network, 'read-models.write', () =>
        carryOut(generationNumbered(projected, from.generation), part, isConditional),
      );
      at += length;
    }
    await ask(network, 'read-models.checkpoint', () => moveCheckpoint(projected, from, to));
  },
});

const rebuildOf = (network: Network, opened: Opened): Rebuild => {
  const { projected } = opened;
  if (projected.rebuilt !== undefined) throw new Error('a rebuild is under way');
  const { specs, live: begunBeside } = projected;
  const rebuilt = generationOf(specs, (projected.generations += 1));
  projected.rebuilt = rebuilt;
  const end = (): void => {
    if (projected.rebuilt === rebuilt) projected.rebuilt = undefined;
  };
  return {
    store: storeOf(network, opened, () => rebuilt),
    commit: () =>
      ask(network, 'read-models.commit', () => {
        if (projected.rebuilt !== rebuilt || projected.live.version !== begunBeside.version) {
          end();
          throw new CheckpointMoved('the live collections are of another version');
        }
        projected.live = rebuilt;
        end();
      }),
    discard: async () => end(),
  };
};

const inspectionOf = (network: Network, opened: Opened): Inspection => {
  const { projected } = opened;
  const { store, discard } = rebuildOf(network, opened);
  const rebuilt = projected.rebuilt!;
  return {
    live: storeOf(network, opened, () => projected.live),
    rebuilt: store,
    scan: async function* (collection, side) {
      const documents = await ask(network, 'read-models.read', () => {
        const { collections } = side === 'live' ? projected.live : rebuilt;
        return [...collections.get(collection)!.values()].filter(({ document }) => document !== undefined).map(copyOf);
      });
      yield* documents.sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    // A lookup reads the document itself, so it cannot differ.
    lookupFaults: async function* () {},
    close: discard,
  };
};

export const openDistantReadModels = (server: ReadModelServer, network: Network): ReadModels => {
  const found = (
    collection: string,
  ): Readonly<{ spec: CollectionSpec; documents: () => Document[]; kept: Map<string, Kept> }> => {
    for (const { specs, live } of server.projections.values()) {
      const spec = specs.find(({ name }) => name === collection);
      const kept = live.collections.get(collection);
      if (spec === undefined || kept === undefined) continue;
      const documents = (): Document[] => [...kept.values()].flatMap(({ document }) => document ?? []);
      return { spec, kept, documents };
    }
    throw new RangeError(`there is no collection ${collection}`);
  };
  const shown = ({ search }: CollectionSpec, document: Document): Document => {
    const copy = JSON.parse(JSON.stringify(document)) as Record<string, unknown>;
    if (search !== undefined) delete copy[search.field];
    if (search?.terms !== undefined) delete copy[search.terms];
    return copy as Document;
  };

  return {
    projection: async (name, specs) => {
      const projected = await ask(network, 'read-models.read', () => openProjection(server, name, specs));
      return storeOf(network, { projected, isConditional: server.isConditional }, () => projected.live);
    },
    get: (collection, id) =>
      ask(network, 'read-models.read', () => {
        const { spec, kept } = found(collection);
        const document = kept.get(id)?.document;
        return document && shown(spec, document);
      }),
    find: (collection, query) =>
      ask(network, 'read-models.read', () => {
        const { spec, documents } = found(collection);
        checkDeclared(spec, query);
        return pageOf(matching(spec, documents(), query), query).map((document) => shown(spec, document));
      }),
    count: (collection, query, max) =>
      ask(network, 'read-models.read', () => {
        const { spec, documents } = found(collection);
        checkDeclared(spec, query);
        return Math.min(max, matching(spec, documents(), query).length);
      }),
    findCounted: (collection, query, max) =>
      ask(network, 'read-models.read', () => {
        const { spec, documents } = found(collection);
        checkDeclared(spec, query);
        const all = matching(spec, documents(), query);
        const page = pageOf(all, query);
        const taken = page.length === 0 ? 0 : (query.skip ?? 0) + page.length;
        // A page that is not full is the last; without a cursor all before it were counted.
        const isLast = page.length < query.limit && query.after === undefined;
        const count = isLast ? all.length : Math.min(all.length, Math.max(max, taken));
        const isLowerBound = !isLast && (count < all.length || count >= max);
        return { documents: page.map((document) => shown(spec, document)), count, isLowerBound };
      }),
    rebuild: (name) =>
      ask(network, 'read-models.read', () => {
        const projected = server.projections.get(name);
        if (projected === undefined) throw new RangeError(`there is no projection ${name}`);
        return rebuildOf(network, { projected, isConditional: server.isConditional });
      }),
    inspect: (name, specs) =>
      ask(network, 'read-models.read', () => {
        const projected = server.projections.get(name);
        if (projected === undefined || JSON.stringify(projected.specs) !== JSON.stringify(specs)) return undefined;
        return inspectionOf(network, { projected, isConditional: server.isConditional });
      }),
    close: async () => {},
  };
};
