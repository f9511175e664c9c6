/**
 * The end of deleted things: until when they can be restored, and how their personal data is destroyed. The fact of the
 * deletion is appended first and the key is destroyed last: while the key exists something may be left, afterwards
 * nothing is.
 */
import type { EventStore, StoredEvent } from '../../domain/ports/event-store.js';
import type { CorePorts } from './ports.js';
import { lastOfLog } from './log-notes.js';
import { isoTime, CLOCKS_APART_MS, DAY_MS } from '../../domain/core/time.js';
import { messageIdOf } from '../../domain/email/state.js';
import { erasingEvents } from '../../domain/events.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { Keys, LogMark } from '../../domain/ports/keys.js';
import type { MailCopies } from '../../domain/ports/mailbox.js';
import { namesOf } from '../../event-log/codec.js';
import { isReadable } from '../../event-log/decode.js';
import { recipientsErasedBy, recipientsErasedNames, allKeyIds } from '../../event-log/stream-keys.js';
import { readableMetadata } from '../../event-log/hash-chain.js';

type RestoreDeps = Pick<CorePorts, 'clock' | 'limits'>;

/** Things that were deleted before this moment cannot be restored. */
export const restorableSince = ({ clock, limits }: RestoreDeps): string =>
  isoTime(clock.now() - limits.restoreDays * DAY_MS);

/** Things that were deleted before this moment may be removed for good. */
export const removableBefore = ({ clock, limits }: RestoreDeps): string =>
  isoTime(clock.now() - limits.restoreDays * DAY_MS - CLOCKS_APART_MS);

export type ErasePorts = Readonly<{ mailCopies: MailCopies }>;

export type EraseDeps = Pick<CorePorts, 'eventLog' | 'files'> & ErasePorts;

/** Deletes the files of a stream and the copies of its mail, then destroys its key. Safe to repeat. */
export const eraseStream = async ({ eventLog, files, mailCopies }: EraseDeps, stream: StreamName): Promise<void> => {
  // Files of an unreadable event stay; without the key nobody can open them.
  for (const { event, metadata } of (await eventLog.inspect(stream)).filter(isReadable)) {
    if (event.type === 'EmailQueued' || event.type === 'EmailScheduled') {
      for (const { file } of event.sealed?.attachments ?? []) await files.delete(file);
      await mailCopies.forgetCopies(messageIdOf(event));
    }
    if (event.type === 'AssetUploaded') await files.delete(event.data.file);
    if (metadata.sealedFile !== undefined) await files.delete(metadata.sealedFile);
  }
  await eventLog.destroyKey(stream);
};

/**
 * Deletes the copies of the mail of an email, which name all its recipients, then destroys the keys of the given
 * recipients. Safe to repeat.
 */
export const eraseRecipientsOf = async (
  { eventLog, mailCopies }: Pick<EraseDeps, 'eventLog' | 'mailCopies'>,
  stream: StreamName,
  recipients: readonly number[],
): Promise<void> => {
  for (const { event } of (await eventLog.inspect(stream)).filter(isReadable))
    if (event.type === 'EmailQueued' || event.type === 'EmailScheduled')
      await mailCopies.forgetCopies(messageIdOf(event));
  await eventLog.destroyRecipientKeys(stream, recipients);
};

export type EraseAllDeps = EraseDeps &
  Readonly<{ store: Pick<EventStore, 'readAll' | 'head' | 'subscribeAll'>; keys: Pick<Keys, 'getMany'> }>;

/** The mark is moved after this many streams at the latest: an interrupted search continues there. */
const STREAMS_PER_MARK = 5_000;

type Erasing = Readonly<{
  signal?: AbortSignal;
  /** Called with an event of the log up to which everything is erased. */
  reached?: (mark: LogMark) => Promise<void> | void;
}>;

/**
 * Reads the log after a position (0: from the beginning) for events that say that a stream, or recipients of an email,
 * are to be erased, and erases those whose key still exists. Out: how many were erased.
 */
export const eraseAll = async (
  deps: EraseAllDeps,
  after: number,
  { signal, reached }: Erasing = {},
): Promise<number> => {
  const names = new Set([...namesOf(erasingEvents), ...recipientsErasedNames]);
  // Events that are appended meanwhile may be read or not, so the mark goes no further than the end of now.
  const end = await lastOfLog(deps.store);
  if (end === undefined || end.position <= after) return 0;
  let erased = 0;
  let unmarked = 0;
  let lookedAt = after;
  for await (const { events, position } of deps.store.readAll(after, {
    types: [...names],
    ...(signal && { signal }),
  })) {
    lookedAt = position;
    // The store may return other types too; nothing of theirs may be erased.
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

/** An event that says that something is to be erased. */
type Ended = Pick<StoredEvent, 'stream' | 'type' | 'data' | 'metadata'>;

/** Types of event by which only some recipients of a stream are erased. */
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
    // The metadata is damaged, but other events of the stream name the key too.
    else if (read === undefined && (await deps.eventLog.existingKey(stream as StreamName)) !== undefined)
      left.add(stream);
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
