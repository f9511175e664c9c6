/** Makes the documents of a projection from nothing, beside the live ones; and compares the two. */
import type { Unreadable } from '../event-log/decoding.js';
import type { EventLog } from '../event-log/event-log.js';
import type { Document, ReadModels, Rebuild } from '../domain/ports/read-models.js';
import type { Projection } from './projection.js';
import { openUnitOfWork } from './unit-of-work.js';

const BATCH_SIZE = 1_000;
/** Most events of an email follow its first closely: its document is written once for them all. */
const CHANGED_DOCUMENTS_MAX = 4_096;

type ProjectOptions = Readonly<{
  upTo?: number;
  onProgress?: (position: number) => void;
  /** Told of each event that is damaged and passed over. */
  onUnreadable?: (event: Unreadable) => void;
}>;

/** Folds every event up to `upTo` (default: the head of now) into the collections of a rebuild. Out: how many events there were. */
export const projectInto = async (
  projection: Projection,
  eventLog: Pick<EventLog, 'readAll'>,
  { store }: Pick<Rebuild, 'store'>,
  { upTo = Number.MAX_SAFE_INTEGER, onProgress, onUnreadable }: ProjectOptions = {},
): Promise<number> => {
  const { kinds, decrypts: decrypt } = projection;
  const work = openUnitOfWork(projection, store);
  let checkpoint = await store.checkpoint();
  let seen = checkpoint.position;
  let count = 0;
  for await (const { events, unreadable, position } of eventLog.readAll(seen, { kinds, decrypt, batchSize: BATCH_SIZE })) {
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

/** Rebuilds one projection and puts it in the place of the live one. A running server goes on from the new documents. */
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

/** How far each projection has got. */
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

/** Rebuilds beside the live documents up to their checkpoint and compares byte for byte. Out: the first difference, if any. */
export const compareWithRebuild = async (
  projection: Projection,
  { eventLog, readModels }: Readonly<{ eventLog: Pick<EventLog, 'readAll'>; readModels: ReadModels }>,
  onProgress?: (position: number) => void,
): Promise<Readonly<{ checkpoint: number; documents: number; difference: Difference | undefined }>> => {
  const live = await readModels.projection(projection.name, projection.collections);
  const { position } = await live.checkpoint();
  const rebuild = await readModels.rebuild(projection.name);
  try {
    await projectInto(projection, eventLog, rebuild, { upTo: position, ...(onProgress === undefined ? {} : { onProgress }) });
    let compared = 0;
    for (const { name } of projection.collections) {
      for await (const [liveDocument, rebuilt] of merged(rebuild.scan(name, 'live'), rebuild.scan(name, 'rebuilt'))) {
        compared += 1;
        // A document that moved on while we compared (a server is running) is not a difference.
        if (Math.max(liveDocument?.position ?? 0, rebuilt?.position ?? 0) > position) continue;
        if (JSON.stringify(liveDocument) === JSON.stringify(rebuilt)) continue;
        if (await movedOn(readModels, name, liveDocument ?? rebuilt, position)) continue;
        const id = (liveDocument ?? rebuilt)!.id;
        return { checkpoint: position, documents: compared, difference: { collection: name, id, live: liveDocument, rebuilt } };
      }
    }
    return { checkpoint: position, documents: compared, difference: undefined };
  } finally {
    await rebuild.discard();
  }
};

/** Removed or changed after the checkpoint that is compared. */
const movedOn = async (
  readModels: ReadModels,
  collection: string,
  document: Document | undefined,
  checkpoint: number,
): Promise<boolean> => {
  if (document === undefined) return false;
  const now = await readModels.get(collection, document.id);
  return now !== undefined && now.position > checkpoint;
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
