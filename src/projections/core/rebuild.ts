/** Rebuilds the documents of a projection from the log beside the live ones, and compares the two. */
import { isDeepStrictEqual } from 'node:util';
import type { Unreadable } from '../../event-log/decoding.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { Document, LookupFault, ProjectionStore, ReadModels, Rebuild } from '../../domain/ports/read-models.js';
import type { Projection } from './projection.js';
import { openUnitOfWork } from './unit-of-work.js';

const BATCH_SIZE = 1_000;
/** Changed documents are written together at this number: most events of an email follow each other closely, and its document is written once. */
const CHANGED_DOCUMENTS_MAX = 4_096;

type ProjectOptions = Readonly<{
  upTo?: number;
  batchSize?: number;
  onProgress?: (position: number) => void;
  /** Called with each damaged event, which is skipped. */
  onUnreadable?: (event: Unreadable) => void;
}>;

/** Folds every event up to `upTo` (default: the head of now) into the collections of a rebuild. Out: the number of events. */
export const projectInto = async (
  projection: Projection,
  eventLog: Pick<EventLog, 'readAll'>,
  { store }: Pick<Rebuild, 'store'>,
  { upTo = Number.MAX_SAFE_INTEGER, batchSize = BATCH_SIZE, onProgress, onUnreadable }: ProjectOptions = {},
): Promise<number> => {
  const { kinds, decrypts: decrypt } = projection;
  const work = openUnitOfWork(projection, store);
  let checkpoint = await store.checkpoint();
  let seen = checkpoint.position;
  let count = 0;
  for await (const { events, unreadable, position } of eventLog.readAll(seen, { kinds, decrypt, batchSize })) {
    for (const event of unreadable) if (event.position <= upTo) onUnreadable?.(event);
    const wanted = position <= upTo ? events : events.filter((recorded) => recorded.position <= upTo);
    await work.fold(wanted);
    count += wanted.length;
    seen = Math.min(position, upTo);
    if (work.changed() >= CHANGED_DOCUMENTS_MAX) checkpoint = await work.write(checkpoint, seen);
    onProgress?.(seen);
    if (position >= upTo) break;
  }
  if (seen > checkpoint.position) await work.write(checkpoint, seen);
  return count;
};

export type RebuildOutcome = Readonly<{ events: number; durationMs: number }>;

/** Rebuilds one projection and replaces the live documents. A running server continues from the new documents. Out: the number of events. */
export const rebuildProjection = async (
  projection: Projection,
  { eventLog, readModels }: Readonly<{ eventLog: Pick<EventLog, 'readAll'>; readModels: ReadModels }>,
  { onProgress, onUnreadable }: Pick<ProjectOptions, 'onProgress' | 'onUnreadable'> = {},
): Promise<number> => {
  await readModels.projection(projection.name, projection.collections);
  const rebuild = await readModels.rebuild(projection.name);
  try {
    const events = await projectInto(projection, eventLog, rebuild, {
      ...(onProgress === undefined ? {} : { onProgress }),
      ...(onUnreadable === undefined ? {} : { onUnreadable }),
    });
    await rebuild.commit();
    return events;
  } catch (fault) {
    await rebuild.discard();
    throw fault;
  }
};

/** The checkpoint of each projection. */
export const checkpointsOf = (
  projections: readonly Projection[],
  readModels: ReadModels,
): Promise<readonly Readonly<{ name: string; position: number }>[]> =>
  Promise.all(
    projections.map(async ({ name, collections }) => {
      const store = await readModels.projection(name, collections);
      return { name, position: (await store.checkpoint()).position };
    }),
  );

export type Difference = Readonly<{ collection: string; id: string; live: Document | undefined; rebuilt: Document | undefined }>;

export type Compared = Readonly<{
  checkpoint: number;
  /** The end of the log after the checkpoint was read: a sound checkpoint is not behind it. */
  head: number;
  documents: number;
  difference: Difference | undefined;
  /** A document whose indexed value differs from its field. */
  lookupFault: LookupFault | undefined;
}>;

/**
 * Rebuilds beside the live documents up to their checkpoint and compares both sides; then compares the indexes of the live side with its
 * documents. Out: the first difference of each kind.
 */
export const compareWithRebuild = async (
  projection: Projection,
  { eventLog, readModels }: Readonly<{ eventLog: Pick<EventLog, 'readAll' | 'head'>; readModels: ReadModels }>,
  onProgress?: (position: number) => void,
): Promise<Compared> => {
  const live = await readModels.projection(projection.name, projection.collections);
  const { position } = await live.checkpoint();
  const head = await eventLog.head();
  const rebuild = await readModels.rebuild(projection.name);
  try {
    await projectInto(projection, eventLog, rebuild, { upTo: position, ...(onProgress === undefined ? {} : { onProgress }) });
    const sides: Sides = { projection, eventLog, live, rebuild };
    let suspects: Suspect[] = [];
    let compared = 0;
    let difference: Difference | undefined;
    for (const { name } of projection.collections) {
      for await (const [liveDocument, rebuilt] of merged(rebuild.scan(name, 'live'), rebuild.scan(name, 'rebuilt'))) {
        compared += 1;
        if (isSame(liveDocument, rebuilt, isShared(projection, name))) continue;
        suspects.push({ collection: name, id: (liveDocument ?? rebuilt)!.id });
        if (suspects.length < SUSPECTS_MAX) continue;
        difference ??= await firstDifference(suspects, sides);
        suspects = [];
      }
    }
    difference ??= await firstDifference(suspects, sides);
    return { checkpoint: position, head, documents: compared, difference, lookupFault: await firstOf(rebuild.lookupFaults()) };
  } finally {
    await rebuild.discard();
  }
};

type Suspect = Readonly<{ collection: string; id: string }>;

/** Suspects are collected up to this number and then compared again. */
const SUSPECTS_MAX = 10_000;
/** A document that changes at each look belongs to a running service. After this many looks it is followed event by event. */
const LOOKS_MAX = 3;
const SUSPECTS_AT_ONCE = 500;

type Sides = Readonly<{
  projection: Projection;
  eventLog: Pick<EventLog, 'readAll' | 'head'>;
  live: ProjectionStore;
  rebuild: Pick<Rebuild, 'store'>;
}>;

/** Compares suspects again at the present checkpoint of the live side, because a running server may have changed them during the comparison. */
const firstDifference = async (suspects: readonly Suspect[], sides: Sides): Promise<Difference | undefined> => {
  const { projection, eventLog, live, rebuild } = sides;
  let left = suspects;
  for (let look = 1; left.length > 0; look += 1) {
    const { position } = await live.checkpoint();
    await projectInto(projection, eventLog, rebuild, { upTo: position });
    const differences = await differencesAmong(left, sides);
    if (differences.length === 0) return undefined;
    const hasMoved = (await live.checkpoint()).position !== position;
    if (!hasMoved || look === LOOKS_MAX) return firstNeverAlike(differences, sides);
    left = differences;
  }
  return undefined;
};

/**
 * Finds the first live document that never equals its rebuild. A document of a running service, or of a write that a crash cut, equals the
 * rebuild at some event after the checkpoint, so the rebuild continues event by event until each sound document was met.
 */
const firstNeverAlike = async (
  found: readonly Difference[],
  { projection, eventLog, live, rebuild }: Sides,
): Promise<Difference | undefined> => {
  const { position } = await live.checkpoint();
  await projectInto(projection, eventLog, rebuild, { upTo: position });
  let left: Difference[] = [];
  for (const { collection, id } of found)
    left.push({ collection, id, live: (await live.getMany(collection, [id])).get(id), rebuilt: undefined });
  const head = await eventLog.head();
  const { kinds, decrypts: decrypt } = projection;
  for await (const { position: next } of eventLog.readAll(position, { kinds, decrypt, batchSize: 1 })) {
    left = await stillUnlike(left, rebuild, projection);
    if (left.length === 0 || next > head) break;
    await projectInto(projection, eventLog, rebuild, { upTo: next, batchSize: 1 });
  }
  return (await stillUnlike(left, rebuild, projection))[0];
};

const stillUnlike = async (
  differences: readonly Difference[],
  { store }: Sides['rebuild'],
  projection: Projection,
): Promise<Difference[]> => {
  const unlike: Difference[] = [];
  for (const difference of differences) {
    const rebuilt = (await store.getMany(difference.collection, [difference.id])).get(difference.id);
    if (!isSame(difference.live, rebuilt, isShared(projection, difference.collection))) unlike.push({ ...difference, rebuilt });
  }
  return unlike;
};

const differencesAmong = async (suspects: readonly Suspect[], { projection, live, rebuild }: Sides): Promise<readonly Difference[]> => {
  const found: Difference[] = [];
  for (const collection of new Set(suspects.map((suspect) => suspect.collection))) {
    const ids = suspects.filter((suspect) => suspect.collection === collection).map(({ id }) => id);
    for (let at = 0; at < ids.length; at += SUSPECTS_AT_ONCE) {
      const some = ids.slice(at, at + SUSPECTS_AT_ONCE);
      const [lives, rebuilts] = [await live.getMany(collection, some), await rebuild.store.getMany(collection, some)];
      for (const id of some) {
        const [one, other] = [lives.get(id), rebuilts.get(id)];
        if (!isSame(one, other, isShared(projection, collection))) found.push({ collection, id, live: one, rebuilt: other });
      }
    }
  }
  return found;
};

/** Equal apart from the order of members, which differs if they come from events that have left the log. */
const isSame = (one: Document | undefined, other: Document | undefined, isShared: boolean): boolean =>
  JSON.stringify(one) === JSON.stringify(other) ||
  isDeepStrictEqual(one, isShared && one !== undefined && other !== undefined ? { ...other, seq: one.seq } : other);

const isShared = ({ shared = [] }: Projection, collection: string): boolean => shared.includes(collection);

const firstOf = async <Value>(values: AsyncIterable<Value>): Promise<Value | undefined> => {
  for await (const value of values) return value;
  return undefined;
};

/** Two scans in id order, side by side. */
async function* merged(
  live: AsyncIterable<Document>,
  rebuilt: AsyncIterable<Document>,
): AsyncIterable<readonly [Document | undefined, Document | undefined]> {
  const left = live[Symbol.asyncIterator]();
  const right = rebuilt[Symbol.asyncIterator]();
  let a = await left.next();
  let b = await right.next();
  while (a.done !== true || b.done !== true) {
    const idA = a.done === true ? undefined : a.value.id;
    const idB = b.done === true ? undefined : b.value.id;
    const takeA = idA !== undefined && (idB === undefined || idA <= idB);
    const takeB = idB !== undefined && (idA === undefined || idB <= idA);
    yield [takeA ? (a.value as Document) : undefined, takeB ? (b.value as Document) : undefined];
    if (takeA) a = await left.next();
    if (takeB) b = await right.next();
  }
}
