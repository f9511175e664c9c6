/** The notes that the stores keep of their log. */
import type { EventStore, Position, StoredEvent } from '../../domain/ports/event-store.js';
import type { LogNote, NotedStores } from '../../domain/ports/log-note.js';
import { retirements } from '../../event-log/retirement.js';

export type LogToNote = Pick<EventStore, 'head' | 'subscribeAll'>;

/** The first event after a position, undefined where there is none. It looks at one page, however long the log is. */
export const firstAfter = async (store: LogToNote, position: Position): Promise<StoredEvent | undefined> => {
  if ((await store.head()) <= position) return undefined;
  const { signal } = new AbortController();
  for await (const { events } of store.subscribeAll(position, { batchSize: 1, signal })) if (events[0] !== undefined) return events[0];
  return undefined;
};

/** The newest event of the log, undefined where it is empty. */
export const lastOfLog = async (store: LogToNote): Promise<StoredEvent | undefined> => firstAfter(store, (await store.head()) - 1);

/** What is to be noted of a log that ends where it ends now, undefined where it is empty. */
export const noteOfLog = async (store: LogToNote): Promise<LogNote | undefined> => {
  const first = await firstAfter(store, 0);
  if (first === undefined) return undefined;
  const last = await lastOfLog(store);
  return last && { instance: first.hash, position: last.position, hash: last.hash };
};

/** Whether the log has that event where it is noted, or says that it has left it: a store may be a copy of years ago. */
export const isOfLog = async (store: LogToNote & Pick<EventStore, 'readAll'>, { position, hash }: LogNote): Promise<boolean> => {
  const there = await firstAfter(store, position - 1);
  if (there?.hash === hash) return true;
  for await (const { hashes } of retirements(store)) if (hashes.includes(hash)) return true;
  return false;
};

/** Notes in each store where the log ends, where that has changed. The keys come last: where they have a note, all have. */
export const noteLog = async (store: LogToNote, { keys, files, readModels }: NotedStores): Promise<void> => {
  const now = await noteOfLog(store);
  if (now === undefined) return;
  for (const noted of [files, readModels, keys]) {
    const known = await noted.note();
    if (known?.instance !== now.instance || known.hash !== now.hash) await noted.setNote(now);
  }
};
