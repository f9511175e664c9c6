/** Fills the documents of a projection from nothing, beside the live ones; and compares the two. */
import type { EventLog } from '../event-log/event-log.js';
import type { Document, ReadModels, Rebuild } from '../domain/ports/read-models.js';
import type { Projection } from './projection.js';
import { emptyDesk, foldBatch, writePending } from './runner.js';

const BATCH_SIZE = 1_000;
/** Most events of an email follow its first closely: its document is written once for them all. */
const PENDING_DOCUMENTS_MAX = 2_048;

/** Folds every event up to `upTo` (default: the head of now) into the shadow. Out: how many events there were. */
export const fill = async (
  projection: Projection,
  eventLog: Pick<EventLog, 'readAll'>,
  rebuild: Rebuild,
  options: Readonly<{ upTo?: number; onProgress?: (position: number) => void }> = {},
): Promise<number> => {
  const { upTo = Number.MAX_SAFE_INTEGER, onProgress } = options;
  let checkpoint = await rebuild.store.checkpoint();
  const desk = emptyDesk(checkpoint.position === 0 ? projection.few : []);
  let position = checkpoint.position;
  let events = 0;
  const { kinds, opens: decrypt } = projection;
  for await (const { events: batch, position: lookedAt } of eventLog.readAll(position, { kinds, decrypt, batchSize: BATCH_SIZE })) {
    if (batch.length === 0) {
      onProgress?.(lookedAt);
      continue;
    }
    const wanted = batch.at(-1)!.position <= upTo ? batch : batch.filter((recorded) => recorded.position <= upTo);
    if (wanted.length === 0) break;
    await foldBatch(projection, rebuild.store, desk, wanted);
    position = wanted.at(-1)!.position;
    events += wanted.length;
    if (desk.pending.size >= PENDING_DOCUMENTS_MAX) checkpoint = await writePending(projection, rebuild.store, desk, checkpoint, position);
    onProgress?.(position);
    if (wanted.length < batch.length) break;
  }
  if (position > checkpoint.position) await writePending(projection, rebuild.store, desk, checkpoint, position);
  return events;
};

export type RebuildOutcome = Readonly<{ events: number; durationMs: number }>;

/** Rebuilds one projection and puts it in the place of the live one. A running server goes on from the new documents. */
export const rebuildProjection = async (
  projection: Projection,
  { eventLog, documents }: Readonly<{ eventLog: Pick<EventLog, 'readAll'>; documents: ReadModels }>,
  onProgress?: (position: number) => void,
): Promise<number> => {
  await documents.projection(projection.name, projection.collections);
  const rebuild = await documents.rebuild(projection.name);
  try {
    const events = await fill(projection, eventLog, rebuild, onProgress === undefined ? {} : { onProgress });
    await rebuild.commit();
    return events;
  } catch (fault) {
    await rebuild.discard();
    throw fault;
  }
};

export type Difference = Readonly<{ collection: string; id: string; live: Document | undefined; rebuilt: Document | undefined }>;

/** Rebuilds beside the live documents up to their checkpoint and compares byte for byte. Out: the first difference, if any. */
export const compareWithRebuild = async (
  projection: Projection,
  { eventLog, documents }: Readonly<{ eventLog: Pick<EventLog, 'readAll'>; documents: ReadModels }>,
  onProgress?: (position: number) => void,
): Promise<Readonly<{ checkpoint: number; documents: number; difference: Difference | undefined }>> => {
  const live = await documents.projection(projection.name, projection.collections);
  const { position } = await live.checkpoint();
  const rebuild = await documents.rebuild(projection.name);
  try {
    await fill(projection, eventLog, rebuild, { upTo: position, ...(onProgress === undefined ? {} : { onProgress }) });
    let compared = 0;
    for (const { name } of projection.collections) {
      for await (const [liveDocument, rebuilt] of merged(rebuild.scan(name, 'live'), rebuild.scan(name, 'rebuilt'))) {
        compared += 1;
        // A document that moved on while we compared (a server is running) is not a difference.
        if (Math.max(liveDocument?.position ?? 0, rebuilt?.position ?? 0) > position) continue;
        if (JSON.stringify(liveDocument) === JSON.stringify(rebuilt)) continue;
        if (await movedOn(documents, name, liveDocument ?? rebuilt, position)) continue;
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
const movedOn = async (documents: ReadModels, collection: string, document: Document | undefined, checkpoint: number): Promise<boolean> => {
  if (document === undefined) return false;
  const now = await documents.get(collection, document.id);
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
