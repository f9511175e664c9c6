/** Rebuilds the documents of a projection from the log beside the live ones, and compares the two. */
import { isDeepStrictEqual } from 'node:util';
import type { Unreadable } from '../../event-log/decode.js';
import type { EventLog } from '../../event-log/event-log.js';
import type {
  Document,
  Inspection,
  LookupFault,
  ProjectionStore,
  ReadModels,
  Rebuild,
} from '../../domain/ports/read-models.js';
import type { Projection } from './projection.js';
import { BATCH_SIZE as WRITTEN_TOGETHER, firstAfter, passingOver } from './runner.js';
import { openUnitOfWork } from './unit-of-work.js';

const BATCH_SIZE = 1_000;
/**
 * Changed documents are written together at this number: most events of an email follow each other closely, and its
 * document is written once.
 */
const CHANGED_DOCUMENTS_MAX = 4_096;

type ProjectOptions = Readonly<{
  upTo?: number;
  batchSize?: number;
  onProgress?: (position: number) => void;
  /** Called with each event that is skipped: it is damaged, or a newer program wrote it. */
  onUnreadable?: (event: Unreadable) => void;
  /** Each event is folded and written by itself. Default: many together. */
  writesEach?: boolean;
  /** Asked after each batch: true ends the reading. */
  isEnough?: () => boolean;
}>;

/**
 * Folds every event up to `upTo` (default: the head of now) into the collections of a rebuild. Passes over what is
 * damaged or was written by a newer program. Out: the number of events.
 */
export const projectInto = async (
  projection: Projection,
  eventLog: Pick<EventLog, 'readAll'>,
  { store }: Pick<Rebuild, 'store'>,
  options: ProjectOptions = {},
): Promise<number> => {
  const {
    upTo = Number.MAX_SAFE_INTEGER,
    batchSize = BATCH_SIZE,
    onProgress,
    onUnreadable,
    writesEach = false,
    isEnough,
  } = options;
  const { kinds, decrypts: decrypt } = projection;
  let checkpoint = await store.checkpoint();
  const work = openUnitOfWork(projection, store, { isEmpty: checkpoint.position === 0 });
  let seen = checkpoint.position;
  let count = 0;
  for await (const { events, unreadable, position } of eventLog.readAll(seen, {
    kinds,
    decrypt,
    batchSize,
    unknown: 'listed',
  })) {
    const passed = unreadable.filter((event) => event.position <= upTo);
    for (const event of passed) onUnreadable?.(event);
    checkpoint = passingOver(checkpoint, passed);
    const wanted = position <= upTo ? events : events.filter((recorded) => recorded.position <= upTo);
    for (const some of writesEach ? wanted.map((recorded) => [recorded]) : [wanted]) {
      await work.fold(some);
      if (writesEach) checkpoint = await work.write(checkpoint, some[0]!.position);
    }
    count += wanted.length;
    seen = Math.min(position, upTo);
    if (work.changed() >= CHANGED_DOCUMENTS_MAX) checkpoint = await work.write(checkpoint, seen);
    onProgress?.(seen);
    if (position >= upTo || isEnough?.() === true) break;
  }
  if (seen > checkpoint.position) await work.write(checkpoint, seen);
  return count;
};

export type RebuildOutcome = Readonly<{ events: number; durationMs: number }>;

/**
 * Rebuilds one projection and replaces the live documents. A running server continues from the new documents. Out: the
 * number of events.
 */
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

export type Difference = Readonly<{
  collection: string;
  id: string;
  live: Document | undefined;
  rebuilt: Document | undefined;
}>;

/** Streams of the log that a read model has no document of, and one of them. */
export type Missing = Readonly<{
  streams: number;
  id: string;
  /**
   * True if a service that was stopped may have left so few unfolded: the newest ones, no more than one of its writes.
   */
  isTail: boolean;
}>;

export type Compared = Readonly<{
  /** False if there are no collections of this version: the service makes them from the log at its start. */
  isThere: boolean;
  /**
   * The position of an event that only a newer program knows, and that it has folded into the live side: nothing more
   * was compared.
   */
  foldedByNewer: number | undefined;
  checkpoint: number;
  /** The end of the log after the checkpoint was read: a sound checkpoint is not behind it. */
  head: number;
  /** How many documents were compared, of each collection. */
  documents: readonly Readonly<{ collection: string; count: number }>[];
  difference: Difference | undefined;
  /** Documents that the log up to `head` gives and that a read model with an older checkpoint lacks. */
  missing: Missing | undefined;
  /** A document whose indexed value differs from its field. */
  lookupFault: LookupFault | undefined;
}>;

export type CompareOptions = Readonly<{
  onProgress?: (position: number) => void;
  /**
   * Awaited before a read model that is behind the log is judged, so that a running service catches up. Default: none
   * runs.
   */
  untilCaughtUp?: () => Promise<void>;
}>;

/**
 * Rebuilds beside the live documents up to their checkpoint and compares both sides, then compares the indexes of the
 * live side with its documents, and the number of documents with the streams of the whole log. Changes nothing of the
 * live side, and reads the log and each document a bounded number of times. Out: the first difference of each kind.
 * Rejects with ReadModelDamaged if the live side cannot be read.
 */
export const compareWithRebuild = async (
  projection: Projection,
  {
    eventLog,
    readModels,
  }: Readonly<{ eventLog: Pick<EventLog, 'readAll' | 'head'>; readModels: Pick<ReadModels, 'inspect'> }>,
  { onProgress, untilCaughtUp = async () => {} }: CompareOptions = {},
): Promise<Compared> => {
  const inspection = await readModels.inspect(projection.name, projection.collections);
  if (inspection === undefined) return { ...NOTHING_COMPARED, head: await eventLog.head() };
  try {
    const { position, passedOver } = await inspection.live.checkpoint();
    const head = await eventLog.head();
    const sides: Sides = { projection, eventLog, inspection };
    await advance(sides, position, onProgress);
    const { passedOver: unknown } = await inspection.rebuilt.checkpoint();
    if (unknown !== undefined && passedOver === undefined)
      return { ...NOTHING_COMPARED, isThere: true, foldedByNewer: unknown, checkpoint: position, head };
    const { documents, difference } = await compareDocuments(sides);
    const missing = position > head ? undefined : await missingUpTo(head, sides, untilCaughtUp);
    const lookupFault = await firstOf(inspection.lookupFaults());
    return {
      isThere: true,
      foldedByNewer: undefined,
      checkpoint: position,
      head,
      documents,
      difference,
      missing,
      lookupFault,
    };
  } finally {
    await inspection.close();
  }
};

const NOTHING_COMPARED = {
  isThere: false,
  foldedByNewer: undefined,
  checkpoint: 0,
  documents: [],
  difference: undefined,
  missing: undefined,
  lookupFault: undefined,
} as const;

type Suspect = Readonly<{ collection: string; id: string }>;

/** Suspects are collected up to this number and then compared again. */
const SUSPECTS_MAX = 10_000;
/**
 * A document that changes at each look belongs to a running service. After this many looks it is followed event by
 * event.
 */
const LOOKS_MAX = 3;
const SUSPECTS_AT_ONCE = 500;

type Sides = Readonly<{ projection: Projection; eventLog: Pick<EventLog, 'readAll' | 'head'>; inspection: Inspection }>;

/** Folds the events that the rebuilt side has not folded, up to `upTo`. */
const advance = async (
  { projection, eventLog, inspection }: Sides,
  upTo: number,
  onProgress?: (position: number) => void,
): Promise<void> => {
  const { rebuilt: store } = inspection;
  if ((await store.checkpoint()).position >= upTo) return;
  await projectInto(projection, eventLog, { store }, { upTo, ...(onProgress === undefined ? {} : { onProgress }) });
};

const compareDocuments = async (sides: Sides): Promise<Pick<Compared, 'documents' | 'difference'>> => {
  const { projection, inspection } = sides;
  let suspects: Suspect[] = [];
  let difference: Difference | undefined;
  const documents: { collection: string; count: number }[] = [];
  for (const { name: collection } of projection.collections) {
    let count = 0;
    for await (const [live, rebuilt] of merged(
      inspection.scan(collection, 'live'),
      inspection.scan(collection, 'rebuilt'),
    )) {
      count += 1;
      if (difference !== undefined || isSame(live, rebuilt)) continue;
      suspects.push({ collection, id: (live ?? rebuilt)!.id });
      if (suspects.length < SUSPECTS_MAX) continue;
      difference = await firstDifference(suspects, sides);
      suspects = [];
    }
    documents.push({ collection, count });
  }
  return { documents, difference: difference ?? (await firstDifference(suspects, sides)) };
};

/**
 * Counts the documents of the main collection that the log up to `head` gives and that the live side, behind it, does
 * not have.
 */
const missingUpTo = async (
  head: number,
  sides: Sides,
  untilCaughtUp: () => Promise<void>,
): Promise<Missing | undefined> => {
  const { projection, eventLog, inspection } = sides;
  const isBehind = async (): Promise<boolean> => {
    const { position } = await inspection.live.checkpoint();
    const next = position < head ? await firstAfter(eventLog, position, projection.kinds) : undefined;
    return next !== undefined && next <= head;
  };
  if (!(await isBehind())) return undefined;
  await untilCaughtUp();
  if (!(await isBehind())) return undefined;
  await advance(sides, head);
  let streams = 0;
  let id = '';
  for await (const [live, rebuilt] of merged(
    inspection.scan(projection.main, 'live'),
    inspection.scan(projection.main, 'rebuilt'),
  ))
    if (live === undefined) {
      if (streams === 0) id = rebuilt!.id;
      streams += 1;
    }
  const { position } = await inspection.live.checkpoint();
  return streams === 0 ? undefined : { streams, id, isTail: position > 0 && streams <= WRITTEN_TOGETHER };
};

/**
 * Compares suspects again at the present checkpoint of the live side, because a running server may have changed them
 * during the comparison.
 */
const firstDifference = async (suspects: readonly Suspect[], sides: Sides): Promise<Difference | undefined> => {
  const { live } = sides.inspection;
  let left = suspects;
  for (let look = 1; left.length > 0; look += 1) {
    const { position } = await live.checkpoint();
    await advance(sides, position);
    const differences = await differencesAmong(left, sides);
    if (differences.length === 0) return undefined;
    const hasMoved = (await live.checkpoint()).position !== position;
    if (!hasMoved || look === LOOKS_MAX) return firstNeverAlike(differences, sides);
    left = differences;
  }
  return undefined;
};

/**
 * Finds the first live document that never equals its rebuild. A document of a running service, or of a write that a
 * crash cut, equals the rebuild at some event after the checkpoint, so the rebuild continues event by event, and each
 * document that it writes is compared then.
 */
const firstNeverAlike = async (found: readonly Suspect[], sides: Sides): Promise<Difference | undefined> => {
  const { projection, eventLog, inspection } = sides;
  await advance(sides, (await inspection.live.checkpoint()).position);
  const left = new Map((await differencesAmong(found, sides)).map((difference) => [keyOf(difference), difference]));
  const compare = (collection: string, id: string, rebuilt: Document | undefined): void => {
    const difference = left.get(keyOf({ collection, id }));
    if (difference === undefined) return;
    if (isSame(difference.live, rebuilt)) left.delete(keyOf(difference));
    else left.set(keyOf(difference), { ...difference, rebuilt });
  };
  const compared: ProjectionStore = {
    ...inspection.rebuilt,
    write: async (writes, from, to) => {
      await inspection.rebuilt.write(writes, from, to);
      for (const { collection, put, remove } of writes) {
        for (const document of put) compare(collection, document.id, document);
        for (const { id } of remove) compare(collection, id, undefined);
      }
    },
  };
  const upTo = await eventLog.head();
  await projectInto(
    projection,
    eventLog,
    { store: compared },
    { upTo, writesEach: true, isEnough: () => left.size === 0 },
  );
  return [...left.values()][0];
};

const keyOf = ({ collection, id }: Suspect): string => `${collection}\n${id}`;

const differencesAmong = async (
  suspects: readonly Suspect[],
  { inspection }: Sides,
): Promise<readonly Difference[]> => {
  const { live, rebuilt } = inspection;
  const found: Difference[] = [];
  for (const collection of new Set(suspects.map((suspect) => suspect.collection))) {
    const ids = suspects.filter((suspect) => suspect.collection === collection).map(({ id }) => id);
    for (let at = 0; at < ids.length; at += SUSPECTS_AT_ONCE) {
      const some = ids.slice(at, at + SUSPECTS_AT_ONCE);
      const [lives, rebuilts] = [await live.getMany(collection, some), await rebuilt.getMany(collection, some)];
      for (const id of some) {
        const [one, other] = [lives.get(id), rebuilts.get(id)];
        if (!isSame(one, other)) found.push({ collection, id, live: one, rebuilt: other });
      }
    }
  }
  return found;
};

/** Equal apart from the order of members. */
const isSame = (one: Document | undefined, other: Document | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other) || isDeepStrictEqual(one, other);

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
