/** Looks through the log for what should stand in other stores and does not: keys that nothing says are destroyed, files that are named. */
import type { CommandDeps } from '../core/deps.js';
import { EventUnknown, EventUnreadable } from '../../domain/core/errors.js';
import { erasingEvents } from '../../domain/events.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { EventStore, StoredEvent } from '../../domain/ports/event-store.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { NotedFiles } from '../../domain/ports/log-note.js';
import { DAY_MS } from '../../domain/core/time.js';
import { namesOf } from '../../event-log/codec.js';
import { recipientsErasedBy } from '../../event-log/erased-recipients.js';
import { readableMetadata } from '../../event-log/metadata.js';
import { allKeyIds } from '../../event-log/stream-keys.js';

export type MissingDeps = Pick<CommandDeps, 'eventLog' | 'clock' | 'limits'> &
  Readonly<{ store: Pick<EventStore, 'readAll' | 'readStream'>; keys: Pick<Keys, 'getMany'>; files: Pick<NotedFiles, 'has'> }>;

export type MissingOptions = Readonly<{
  /** Positions after which keys and files are looked for. */
  keysAfter: number;
  filesAfter: number;
  /** Looking ends when so many are found (default: it goes on to the end). */
  foundMax?: number;
  /** Also opens emails without attachments of their own, for the pictures that their template shows. */
  isThorough?: boolean;
}>;

export type Missing = Readonly<{
  /** The streams of which a key is missing, each once, in the order of the log, with the ids of those keys. */
  keys: ReadonlyMap<StreamName, readonly string[]>;
  /** The files that are missing, by their hash. */
  files: readonly string[];
}>;

export const missingParts = async (
  deps: MissingDeps,
  { keysAfter, filesAfter, foundMax, isThorough = false }: MissingOptions,
): Promise<Missing> => {
  const keys = new Map<StreamName, readonly string[]>();
  const files = new Set<string>();
  for await (const { events } of deps.store.readAll(Math.min(keysAfter, filesAfter))) {
    for (const [stream, keyIds] of await streamsWithoutKey(deps, after(events, keysAfter))) keys.set(stream, keyIds);
    for (const file of await missingFiles(deps, after(events, filesAfter), isThorough)) files.add(file);
    if (foundMax !== undefined && keys.size + files.size >= foundMax) break;
  }
  return { keys, files: [...files] };
};

const after = (events: readonly StoredEvent[], position: number): readonly StoredEvent[] =>
  (events[0]?.position ?? 0) > position ? events : events.filter((event) => event.position > position);

const streamsWithoutKey = async (
  deps: MissingDeps,
  events: readonly StoredEvent[],
): Promise<readonly (readonly [StreamName, readonly string[]])[]> => {
  const streams = new Map<StreamName, readonly string[]>();
  for (const event of events) {
    // Keys are made with the first event of their stream.
    const keyIds = event.revision === 0 ? allKeyIds(readableMetadata(event) ?? {}) : [];
    if (keyIds.length > 0) streams.set(event.stream as StreamName, keyIds);
  }
  if (streams.size === 0) return [];
  const there = await deps.keys.getMany([...streams.values()].flat());
  const without: [StreamName, readonly string[]][] = [];
  for (const [stream, keyIds] of streams) {
    const absent = keyIds.filter((keyId) => !there.has(keyId));
    const missing = absent.length === 0 ? [] : await notErased(deps, stream, absent);
    if (missing.length > 0) without.push([stream, missing]);
  }
  return without;
};

/** Those of the keys of which the log does not say that they are destroyed. */
const notErased = async ({ store }: MissingDeps, stream: StreamName, keyIds: readonly string[]): Promise<readonly string[]> => {
  const events = await store.readStream(stream);
  if (events.some(({ type }) => erasing.has(type))) return [];
  const erased = events.flatMap((event) => recipientsErasedBy(event)?.keyIds ?? []);
  return keyIds.filter((keyId) => !erased.includes(keyId));
};

const erasing = namesOf(erasingEvents);
const assetUploaded = namesOf(['AssetUploaded']);
const accepted = namesOf(['EmailQueued', 'EmailScheduled']);

const isErased = async ({ store }: MissingDeps, stream: StreamName): Promise<boolean> =>
  (await store.readStream(stream)).some(({ type }) => erasing.has(type));

const missingFiles = async (deps: MissingDeps, events: readonly StoredEvent[], isThorough: boolean): Promise<readonly string[]> => {
  const missing: string[] = [];
  for (const event of events) {
    for (const file of await filesNamedBy(deps, event, isThorough)) {
      if (!(await deps.files.has(file)) && !(await isErased(deps, event.stream as StreamName))) missing.push(file);
    }
  }
  return missing;
};

const filesNamedBy = async (deps: MissingDeps, event: StoredEvent, isThorough: boolean): Promise<readonly string[]> => {
  const { dataFile, sealedFile } = readableMetadata(event) ?? {};
  const named = [dataFile, sealedFile].filter((file) => file !== undefined);
  if (assetUploaded.has(event.type)) {
    const file = dataOf(event)?.['file'];
    return typeof file === 'string' ? [...named, file] : named;
  }
  if (!accepted.has(event.type)) return named;
  return isThorough || dataOf(event)?.['attachmentCount'] !== 0
    ? [...named, ...(await attachmentsOf(deps, event.stream as StreamName))]
    : named;
};

/** Documents are deleted some days after the email is due, so the attachments of older emails are not looked for. */
const attachmentsOf = async ({ eventLog, clock, limits }: MissingDeps, stream: StreamName): Promise<readonly string[]> => {
  const loaded = await eventLog.load(stream).catch((fault: unknown) => {
    if (fault instanceof EventUnreadable || fault instanceof EventUnknown) return [];
    throw fault;
  });
  const first = loaded[0]?.event;
  if (first?.type !== 'EmailQueued' && first?.type !== 'EmailScheduled') return [];
  const dueAt = loaded.reduce(
    (latest, { event }) => (event.type === 'EmailRescheduled' && event.data.scheduledAt > latest ? event.data.scheduledAt : latest),
    first.type === 'EmailScheduled' ? first.data.scheduledAt : first.data.at,
  );
  const mayBeGone = Date.parse(dueAt) + limits.generatedFileDays * DAY_MS <= clock.now();
  return mayBeGone ? [] : (first.sealed?.attachments ?? []).map(({ file }) => file);
};

const dataOf = ({ data }: StoredEvent): JsonObject | undefined => {
  try {
    return JSON.parse(data) as JsonObject;
  } catch {
    return undefined;
  }
};
