/**
 * Notes that the other stores keep of the log, by which a start finds out whether they belong to this log and are not
 * older than it.
 */
import type { EventStore, Position, StoredEvent } from '../../domain/ports/event-store.js';
import type { LogNote, NotedStores } from '../../domain/ports/log-note.js';

export type LogToNote = Pick<EventStore, 'head' | 'subscribeAll'>;

/** The first event after a position, undefined at the end of the log. Reads one page, however long the log is. */
export const firstAfter = async (store: LogToNote, position: Position): Promise<StoredEvent | undefined> => {
  if ((await store.head()) <= position) return undefined;
  const { signal } = new AbortController();
  for await (const { events } of store.subscribeAll(position, { batchSize: 1, signal }))
    if (events[0] !== undefined) return events[0];
  return undefined;
};

/** The newest event of the log, undefined for an empty log. */
export const lastOfLog = async (store: LogToNote): Promise<StoredEvent | undefined> =>
  firstAfter(store, (await store.head()) - 1);

/** The note of the log as it ends now, undefined for an empty log. */
export const noteOfLog = async (store: LogToNote): Promise<LogNote | undefined> => {
  const first = await firstAfter(store, 0);
  if (first === undefined) return undefined;
  const last = await lastOfLog(store);
  return last && { instance: first.hash, position: last.position, hash: last.hash };
};

/** True if the log has the noted event at its position. */
export const isOfLog = async (store: LogToNote, { position, hash }: LogNote): Promise<boolean> =>
  (await firstAfter(store, position - 1))?.hash === hash;

/**
 * Notes in each store where the log ends, if that has changed. The keys come last: if they have the note, all stores
 * have it.
 */
export const noteLog = async (store: LogToNote, { keys, files, readModels }: NotedStores): Promise<void> => {
  const now = await noteOfLog(store);
  if (now === undefined) return;
  for (const noted of [files, readModels, keys]) {
    const known = await noted.note();
    if (known?.instance !== now.instance || known.hash !== now.hash) await noted.setNote(now);
  }
};
