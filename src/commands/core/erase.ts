/**
 * Destroys what is personal of streams that the log says are deleted or archived. The fact is appended first; the key goes last, so that
 * as long as it exists something may be left, and once it is gone nothing is.
 */
import type { EventStore, Position, StoredEvent } from '../../domain/ports/event-store.js';
import type { LogNote, NotedStores } from '../../domain/ports/log-note.js';
import { retirements } from '../../event-log/retirement.js';
import type { CommandDeps } from './deps.js';
import { isoTime, CLOCKS_APART_MS, DAY_MS } from '../../domain/core/time.js';
import { erasingEvents } from '../../domain/events.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { Keys, LogMark } from '../../domain/ports/keys.js';
import { namesOf } from '../../event-log/codec.js';
import { isReadable } from '../../event-log/decoding.js';
import { recipientsErasedBy, recipientsErasedNames, allKeyIds } from '../../event-log/stream-keys.js';
import { readableMetadata } from '../../event-log/hash-chain.js';

/* The notes that the stores keep of their log. */

export type LogToNote = Pick<EventStore, 'head' | 'subscribeAll'>;

/** The first event after a position, undefined where there is none. It looks at one page, however long the log is. */
export const firstAfter = async (store: LogToNote, position: Position): Promise<StoredEvent | undefined> => {
  if ((await store.head()) <= position) return undefined;
  const { signal } = new AbortController();
  for await (const { events } of store.subscribeAll(position, { batchSize: 1, signal })) if (events[0] !== undefined) return events[0];
  return undefined;
};

/** The newest event of the log, undefined where it is empty. */
const lastOfLog = async (store: LogToNote): Promise<StoredEvent | undefined> => firstAfter(store, (await store.head()) - 1);

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

/* For how long what was deleted can be taken back, and when it is gone. */

type Deps = Pick<CommandDeps, 'clock' | 'limits'>;

/** What was deleted before that moment cannot be taken back. */
export const restorableSince = ({ clock, limits }: Deps): string => isoTime(clock.now() - limits.restoreDays * DAY_MS);

/** What was deleted before that moment is removed. */
export const removableBefore = ({ clock, limits }: Deps): string => isoTime(clock.now() - limits.restoreDays * DAY_MS - CLOCKS_APART_MS);

export type EraseDeps = Pick<CommandDeps, 'eventLog' | 'files' | 'mailCopies'>;

/** Deletes the files of a stream and the copies of its mail, then destroys its key. Safe to repeat. */
export const eraseStream = async ({ eventLog, files, mailCopies }: EraseDeps, stream: StreamName): Promise<void> => {
  // The files that an unreadable event names stay, and nobody can open them once the key is gone.
  for (const { event, metadata } of (await eventLog.inspect(stream)).filter(isReadable)) {
    if (event.type === 'EmailQueued' || event.type === 'EmailScheduled') {
      for (const { file } of event.sealed?.attachments ?? []) await files.delete(file);
      await mailCopies.forgetCopies(event.data.messageId);
    }
    if (event.type === 'AssetUploaded') await files.delete(event.data.file);
    if (metadata.sealedFile !== undefined) await files.delete(metadata.sealedFile);
  }
  await eventLog.destroyKey(stream);
};

/** Deletes the copies of the mail of an email, which name all its recipients, then destroys the keys of those alone. Safe to repeat. */
export const eraseRecipientsOf = async (
  { eventLog, mailCopies }: Pick<EraseDeps, 'eventLog' | 'mailCopies'>,
  stream: StreamName,
  recipients: readonly number[],
): Promise<void> => {
  for (const { event } of (await eventLog.inspect(stream)).filter(isReadable))
    if (event.type === 'EmailQueued' || event.type === 'EmailScheduled') await mailCopies.forgetCopies(event.data.messageId);
  await eventLog.destroyRecipientKeys(stream, recipients);
};

export type EraseAllDeps = EraseDeps &
  Readonly<{ store: Pick<EventStore, 'readAll' | 'head' | 'subscribeAll'>; keys: Pick<Keys, 'getMany'> }>;

/** A mark is moved after so many streams at the latest: an interrupted reading begins again there. */
const STREAMS_PER_MARK = 5_000;

type Erasing = Readonly<{
  signal?: AbortSignal;
  /** Told of events up to which all is erased. */
  reached?: (mark: LogMark) => Promise<void> | void;
}>;

/**
 * Looks through the log after a position (0: from the beginning) for streams, and recipients of emails, that are to be erased and whose key
 * still exists, and erases them. Reads the events that say so, and the newest of all. Out: how many there were.
 */
export const eraseAll = async (deps: EraseAllDeps, after: number, { signal, reached }: Erasing = {}): Promise<number> => {
  const names = new Set([...namesOf(erasingEvents), ...recipientsErasedNames]);
  // What is appended while it reads is read or not: the mark is where the log ended before.
  const end = await lastOfLog(deps.store);
  if (end === undefined || end.position <= after) return 0;
  let erased = 0;
  let unmarked = 0;
  let lookedAt = after;
  for await (const { events, position } of deps.store.readAll(after, { types: [...names], ...(signal && { signal }) })) {
    lookedAt = position;
    // Nothing else may be erased, whatever the store left in.
    const ended = events.filter(({ type }) => names.has(type));
    const newest = ended.at(-1);
    if (newest === undefined) continue;
    erased += await eraseThoseLeft(deps, ended);
    unmarked += ended.length;
    if (unmarked < STREAMS_PER_MARK) continue;
    await reached?.({ position: newest.position, hash: newest.hash });
    unmarked = 0;
  }
  if (lookedAt >= end.position) await reached?.({ position: end.position, hash: end.hash });
  return erased;
};

type Ended = Pick<StoredEvent, 'stream' | 'type' | 'data' | 'metadata'>;

const partly = new Set(recipientsErasedNames);

const eraseThoseLeft = async (deps: EraseAllDeps, ended: readonly Ended[]): Promise<number> => {
  const whole = await streamsLeft(
    deps,
    ended.filter(({ type }) => !partly.has(type)),
  );
  for (const stream of whole) await eraseStream(deps, stream as StreamName);
  const recipients = await recipientsLeft(deps, ended);
  for (const { stream, places } of recipients) await eraseRecipientsOf(deps, stream as StreamName, places);
  return whole.size + recipients.length;
};

const streamsLeft = async (deps: EraseAllDeps, ended: readonly Ended[]): Promise<ReadonlySet<string>> => {
  const keyIds = new Map<string, string>();
  const left = new Set<string>();
  for (const { stream, metadata } of ended) {
    const read = readableMetadata({ metadata });
    if (read?.keyId !== undefined) for (const id of allKeyIds(read)) keyIds.set(id, stream);
    // Another event of the stream names the key too.
    else if (read === undefined && (await deps.eventLog.existingKey(stream as StreamName)) !== undefined) left.add(stream);
  }
  for (const keyId of (await deps.keys.getMany([...keyIds.keys()])).keys()) left.add(keyIds.get(keyId)!);
  return left;
};

type RecipientsLeft = Readonly<{ stream: string; places: readonly number[]; keyIds: readonly string[] }>;

const recipientsLeft = async (deps: EraseAllDeps, ended: readonly Ended[]): Promise<readonly RecipientsLeft[]> => {
  const erased = ended.flatMap((event): readonly RecipientsLeft[] => {
    const by = recipientsErasedBy(event);
    return by === undefined ? [] : [{ stream: event.stream, places: by.recipients, keyIds: by.keyIds }];
  });
  if (erased.length === 0) return [];
  const there = await deps.keys.getMany(erased.flatMap(({ keyIds }) => keyIds));
  return erased.filter(({ keyIds }) => keyIds.some((id) => there.has(id)));
};
