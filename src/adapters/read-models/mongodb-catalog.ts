/**
 * Which projections there are in MongoDB: one small document for each says which generation is live and where its checkpoint is, so that
 * a checkpoint, the switch to another generation and the begin of a rebuild are each one conditional step.
 */
import { createHash } from 'node:crypto';
import { CheckpointMoved, type Checkpoint, type CollectionSpec } from '../../domain/ports/read-models.js';
import { isDuplicateKey, type Collection, type Db } from '../mongodb/client.js';

/** `until`: when others may take it that the process that rebuilds is gone. */
export type RebuildUnderWay = Readonly<{ generation: number; position: number; until: number }>;

/** `version` names the specs of the live collections. */
export type Projection = Readonly<{
  name: string;
  version: string;
  live: number;
  position: number;
  rebuild?: RebuildUnderWay;
}>;

export type Catalog = Readonly<{
  projection: (name: string) => Promise<Projection | undefined>;
  projectionOf: (collection: string) => Promise<Projection | undefined>;
  specsOf: (version: string) => Promise<readonly CollectionSpec[]>;
  /** Throws RangeError where a collection of these specs belongs to another projection. Out: the version. */
  declare: (name: string, specs: readonly CollectionSpec[]) => Promise<string>;
  /** A number that no other generation of the projection has. */
  nextGeneration: (name: string) => Promise<number>;
  /** False where the projection is no longer as it was `before`. */
  setLive: (
    name: string,
    before: Projection | undefined,
    next: Readonly<{ version: string; generation: number; collections: readonly string[] }>,
  ) => Promise<boolean>;
  /** Throws CheckpointMoved where the live checkpoint, or that of the rebuild, is not `from`. */
  moveLive: (name: string, from: Checkpoint, to: number) => Promise<void>;
  moveRebuild: (name: string, from: Checkpoint, to: number, until: number) => Promise<void>;
  /** False where another rebuild is under way, or the version has changed. */
  beginRebuild: (projection: Projection, rebuild: RebuildUnderWay, now: number) => Promise<boolean>;
  keepRebuild: (name: string, generation: number, until: number) => Promise<void>;
  /** Puts the rebuild in the place of what is live; false where it is no longer under way or the version has changed. */
  commitRebuild: (name: string, version: string, rebuild: Checkpoint) => Promise<boolean>;
  endRebuild: (name: string, generation: number) => Promise<void>;
}>;

type Entry = {
  _id: string;
  /** How many generations there were. */
  taken: number;
  version?: string;
  live?: number;
  position?: number;
  collections?: readonly string[];
  rebuild?: RebuildUnderWay;
};
/** How documents and their rows stand in the collections: another number makes them anew. */
const layout = 1;

type Version = { _id: string; specs: string };
type Matched = Readonly<{ matchedCount: number }>;

const isChanged = ({ matchedCount }: Matched): boolean => matchedCount === 1;

export const openCatalog = (db: Db): Catalog => {
  const entries = db.collection<Entry>('read_models');
  return { ...openEntries(entries), ...openDeclarations(entries, db.collection<Version>('read_model_versions')) };
};

/** Which specs a version stands for, which projection a collection belongs to, and what has been live. */
const openDeclarations = (
  entries: Collection<Entry>,
  versions: Collection<Version>,
): Pick<Catalog, 'projection' | 'projectionOf' | 'specsOf' | 'declare' | 'nextGeneration' | 'setLive'> => {
  const known = new Map<string, readonly CollectionSpec[]>();
  return {
    projection: async (name) => projectionIn(await entries.findOne({ _id: name })),
    projectionOf: async (collection) => projectionIn(await entries.findOne({ collections: collection })),
    specsOf: async (version) => {
      const found = known.get(version) ?? specsIn(await versions.findOne({ _id: version }));
      known.set(version, found);
      return found;
    },
    declare: async (name, specs) => {
      const collections = specs.map((spec) => spec.name);
      const other = await entries.findOne({ _id: { $ne: name }, collections: { $in: collections } });
      if (other !== null) throw new RangeError(`a collection of the projection ${name} belongs to the projection ${other._id} already`);
      const text = JSON.stringify(specs);
      const version = createHash('sha256').update(`${layout}${text}`).digest('base64url').slice(0, 22);
      if (!known.has(version)) await once(() => versions.updateOne({ _id: version }, { $set: { specs: text } }, { upsert: true }));
      known.set(version, specs);
      return version;
    },
    nextGeneration: async (name) => {
      const counted = await once(() =>
        entries.findOneAndUpdate({ _id: name }, { $inc: { taken: 1 } }, { upsert: true, returnDocument: 'after' }),
      );
      if (counted === null) throw new Error(`the generations of the projection ${name} cannot be counted`);
      return counted.taken;
    },
    setLive: async (name, before, { version, generation, collections }) => {
      const asBefore = before === undefined ? { live: { $exists: false } } : { version: before.version, live: before.live };
      const next = { version, live: generation, position: 0, collections };
      return isChanged(await entries.updateOne({ _id: name, ...asBefore }, { $set: next, $unset: { rebuild: '' } }));
    },
  };
};

type Steps = Pick<Catalog, 'moveLive' | 'moveRebuild' | 'beginRebuild' | 'keepRebuild' | 'commitRebuild' | 'endRebuild'>;

const openEntries = (entries: Collection<Entry>): Steps => {
  const assertMoved = async (moved: Matched, name: string, from: Checkpoint): Promise<void> => {
    if (!isChanged(moved)) throw movedFrom(projectionIn(await entries.findOne({ _id: name })), from);
  };
  return {
    moveLive: async (name, from, to) =>
      assertMoved(
        await entries.updateOne({ _id: name, live: from.generation, position: from.position }, { $set: { position: to } }),
        name,
        from,
      ),
    moveRebuild: async (name, from, to, until) => {
      const { generation, position } = from;
      const asRead = { _id: name, 'rebuild.generation': generation, 'rebuild.position': position };
      await assertMoved(await entries.updateOne(asRead, { $set: { 'rebuild.position': to, 'rebuild.until': until } }), name, from);
    },
    beginRebuild: async ({ name, version }, rebuild, now) => {
      const isFree = { $or: [{ rebuild: { $exists: false } }, { 'rebuild.until': { $lt: now } }] };
      return isChanged(await entries.updateOne({ _id: name, version, ...isFree }, { $set: { rebuild } }));
    },
    keepRebuild: async (name, generation, until) =>
      void (await entries.updateOne({ _id: name, 'rebuild.generation': generation }, { $set: { 'rebuild.until': until } })),
    commitRebuild: async (name, version, { generation, position }) => {
      const asRead = { _id: name, version, 'rebuild.generation': generation, 'rebuild.position': position };
      return isChanged(await entries.updateOne(asRead, { $set: { live: generation, position }, $unset: { rebuild: '' } }));
    },
    endRebuild: async (name, generation) =>
      void (await entries.updateOne({ _id: name, 'rebuild.generation': generation }, { $unset: { rebuild: '' } })),
  };
};

/** That of a rebuild where `from` is one of it. */
export const checkpointBeside = (projection: Projection | undefined, from: Checkpoint): Checkpoint | undefined => {
  if (projection === undefined) return undefined;
  const { live, position, rebuild } = projection;
  return rebuild?.generation === from.generation ? rebuild : { generation: live, position };
};

export const movedFrom = (projection: Projection | undefined, from: Checkpoint): CheckpointMoved => {
  const now = checkpointBeside(projection, from);
  const place = ({ position, generation }: Checkpoint): string => `${position} of generation ${generation}`;
  return new CheckpointMoved(`the checkpoint is ${now === undefined ? 'gone' : `at position ${place(now)}`}, not at ${place(from)}`);
};

/** Undefined for one of which nothing is live yet. */
const projectionIn = (entry: Entry | null): Projection | undefined => {
  if (entry?.version === undefined || entry.live === undefined || entry.position === undefined) return undefined;
  const { _id: name, version, live, position, rebuild } = entry;
  return { name, version, live, position, ...(rebuild === undefined ? {} : { rebuild }) };
};

const specsIn = (version: Version | null): readonly CollectionSpec[] => {
  if (version === null) throw new Error('a version of the read models is not there; another program has deleted it');
  return JSON.parse(version.specs) as readonly CollectionSpec[];
};

/** Of those that make a document at the same moment all but one are refused; then it is there. */
const once = async <Result>(upsert: () => Promise<Result>): Promise<Result> => {
  try {
    return await upsert();
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return upsert();
  }
};
