/**
 * Checks whether the stores belong together, none is older than the others, and none lacks what the log names. Each
 * finding is one sentence.
 */
import { counted } from '../../shared/text.js';
import type { CommandNeeds } from '../needs.js';
import { EventUnknown, EventUnreadable } from '../../domain/core/errors.js';
import { erasingEvents } from '../../domain/events.js';
import type { JsonObject } from '../../domain/core/json.js';
import { type StreamName, splitStream } from '../../domain/core/ids.js';
import type { EventStore, StoredEvent } from '../../domain/ports/event-store.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { NotedFiles, LogNote, NotedStores } from '../../domain/ports/log-note.js';
import { DAY_MS } from '../../domain/core/time.js';
import { namesOf } from '../../event-log/codec.js';
import { recipientsErasedBy, allKeyIds } from '../../event-log/stream-keys.js';
import { readableMetadata } from '../../event-log/hash-chain.js';
import { type LogToNote, isOfLog, noteOfLog } from '../core/log-notes.js';

export type StoreFaultCode =
  | 'LOG_MISSING'
  | 'LOG_OLDER'
  | 'STORE_OF_ANOTHER'
  | 'KEYS_MISSING'
  | 'KEYS_OLDER'
  | 'FILES_MISSING'
  | 'FILES_OLDER'
  | 'STORE_DAMAGED';

/**
 * The message says which file, what it means, and what helps. `isTold`: a start logs it and goes on, because nothing
 * served or sent needs what is missing.
 */
export type StoreFinding = Readonly<{ code: StoreFaultCode; message: string; isTold?: true }>;

/** The stores do not belong together, or one is damaged: nothing may be served or sent. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault';
  readonly code: StoreFaultCode;

  constructor({ code, message }: StoreFinding) {
    super(message);
    this.code = code;
  }
}

export type CheckDeps = Omit<MissingDeps, 'store' | 'files'> &
  Readonly<{
    store: MissingDeps['store'] & LogToNote;
    noted: NotedStores;
    /** The log, as messages name it. */
    logPlace: string;
    /** How far each read model has got. */
    checkpoints: () => Promise<readonly Readonly<{ name: string; position: number }>[]>;
  }>;

type Notes = Readonly<Record<keyof NotedStores, LogNote | undefined>>;

type Seen = Readonly<{ place: string; position: number }>;

type MissingDeps = Pick<CommandNeeds, 'eventLog' | 'clock' | 'limits'> &
  Readonly<{
    store: Pick<EventStore, 'readAll' | 'readStream'>;
    keys: Pick<Keys, 'getMany'>;
    files: Pick<NotedFiles, 'has'>;
  }>;

type MissingOptions = Readonly<{
  /** Positions after which keys and files are looked for. */
  keysAfter: number;
  filesAfter: number;
  /** The search ends when this many are found (default: at the end of the log). */
  foundMax?: number;
  /** Also opens emails without attachments of their own, because their template may show pictures. */
  isThorough?: boolean;
}>;

type Missing = Readonly<{
  /** The streams that lack a key, in the order of the log, with the ids of the missing keys. */
  keys: ReadonlyMap<StreamName, readonly string[]>;
  /** The files that are missing, by their hash. */
  files: readonly string[];
}>;

/** The search for missing parts ends at this many: the message then says "at least". */
const FOUND_MAX = 1_000;

const erasing = namesOf(erasingEvents);
const assetUploaded = namesOf(['AssetUploaded']);
const accepted = namesOf(['EmailQueued', 'EmailScheduled']);

/** Out: what is wrong; empty if all is well. Notes are read before the log, which only grows. */
export const checkStores = async (deps: CheckDeps): Promise<readonly StoreFinding[]> => {
  const { keys, files, readModels } = deps.noted;
  const notes = { keys: await keys.note(), files: await files.note(), readModels: await readModels.note() };
  const checkpoints = await deps.checkpoints();
  const log = await noteOfLog(deps.store);
  const seen = [
    ...(
      [
        ['keys', keys],
        ['files', files],
        ['readModels', readModels],
      ] as const
    ).flatMap(([name, { place }]) => {
      const note = notes[name];
      return note === undefined ? [] : [{ place, ...note }];
    }),
  ];
  const ahead = [
    ...seen,
    ...checkpoints.map(({ name, position }) => ({ place: `${readModels.place} (${name})`, position })),
  ];
  const furthest = ahead.reduce((most, one) => (one.position > most.position ? one : most), { place: '', position: 0 });
  if (log === undefined) return furthest.position === 0 ? [] : [logMissing(deps, furthest)];
  const strangers = seen.filter(({ instance }) => instance !== log.instance);
  if (strangers.length > 0)
    return strangers.map((stranger) => ofAnother(deps, stranger.place, strangers.length === seen.length));
  if (furthest.position > log.position) return [logOlder(deps, log.position, furthest)];
  for (const note of seen) {
    if (!(await isOfLog(deps.store, note))) return [logWentOn(deps, note)];
  }
  return lookForMissing(deps, notes);
};

/** The findings that must be mended before anything is served or sent. */
export const stoppingFindings = (findings: readonly StoreFinding[]): readonly StoreFinding[] =>
  findings.filter(({ isTold }) => isTold !== true);

/** Throws StoreFault with the first finding that must be mended. Out: the other findings. */
export const assertStoresAgree = async (deps: CheckDeps): Promise<readonly StoreFinding[]> => {
  const findings = await checkStores(deps);
  const [finding] = stoppingFindings(findings);
  if (finding !== undefined) throw new StoreFault(finding);
  return findings;
};

const lookForMissing = async (deps: CheckDeps, notes: Notes): Promise<readonly StoreFinding[]> => {
  const { keys, files } = deps.noted;
  // If no store has a note, they were made by a version that wrote none.
  const wereNoted = Object.values(notes).some((note) => note !== undefined);
  const missing = await missingParts(
    { ...deps, files },
    {
      keysAfter: notes.keys?.position ?? 0,
      filesAfter: notes.files?.position ?? (wereNoted ? 0 : Number.MAX_SAFE_INTEGER),
      foundMax: FOUND_MAX,
    },
  );
  const findings: StoreFinding[] = [];
  if (missing.keys.size > 0) findings.push(keysMissing(keys.place, notes.keys, missing));
  if (missing.files.length > 0) findings.push(filesMissing(files.place, notes.files, missing));
  return findings;
};

const logMissing = ({ logPlace }: CheckDeps, { place, position }: Seen): StoreFinding => ({
  code: 'LOG_MISSING',
  message:
    `${logPlace} is missing or empty, but ${place} has seen it up to position ${position}: every email, template and API key is in it. ` +
    'Put it back, or restore a backup (sealpost restore); to begin anew without it: sealpost repair log --accept-loss',
});

const logOlder = ({ logPlace }: CheckDeps, head: number, { place, position }: Seen): StoreFinding => ({
  code: 'LOG_OLDER',
  message:
    `${logPlace} ends at position ${head}, but ${place} has seen it up to position ${position}: it is an older copy, ` +
    'and what was accepted after it was made is not in it. ' +
    'Put the newest one back, or restore a backup (sealpost restore); to go on without what is missing: sealpost repair log --accept-loss',
});

const logWentOn = ({ logPlace }: CheckDeps, { place, position }: Seen): StoreFinding => ({
  code: 'LOG_OLDER',
  message:
    `${logPlace} has another event at position ${position} than ${place} has seen there: it was put back from an older copy and went on, ` +
    'or it was changed (sealpost verify). ' +
    'Put the right one back, or restore a backup (sealpost restore); to go on with it: sealpost repair log --accept-loss',
});

const ofAnother = ({ logPlace, noted }: CheckDeps, place: string, isLogAlone: boolean): StoreFinding => ({
  code: 'STORE_OF_ANOTHER',
  message:
    `${place} belongs to the log of another instance than ${logPlace}: two data directories were mixed. ` +
    (place === noted.readModels.place && !isLogAlone
      ? 'Make the read models anew: sealpost repair read-models'
      : 'Put together what belongs together, or restore a backup (sealpost restore)'),
});

const keysMissing = (place: string, note: LogNote | undefined, { keys }: Missing): StoreFinding => {
  if (note !== undefined && isOfOriginsAlone(keys.keys())) return originsMissing(place, note, keys.size);
  return {
    code: note === undefined ? 'KEYS_MISSING' : 'KEYS_OLDER',
    message:
      `${place} ${note === undefined ? 'is missing or empty' : `is older than the log: it has seen it up to position ${note.position}`}, ` +
      `and the keys of ${atLeast(keys.size, 'email or asset', 'emails or assets')} are not in it, which the log does not say are destroyed: what they seal cannot be read or sent. ` +
      'Put the newest one back, or restore a backup of the keys (sealpost restore); to go on without them: sealpost repair keys --accept-loss',
  };
};

const originsMissing = (place: string, note: LogNote, count: number): StoreFinding => ({
  code: 'KEYS_OLDER',
  isTold: true,
  message:
    `${place} is older than the log: it has seen it up to position ${note.position}. What is lost is from where ${atLeast(count, 'person or team', 'people or teams')} called in a month: ` +
    'the audit log shows those entries without network and agent, and keeps none for them in that month. Everything else is whole. ' +
    'If you have a newer copy, restore it before you start the service.',
});

const filesMissing = (place: string, note: LogNote | undefined, { files }: Missing): StoreFinding => ({
  code: note === undefined ? 'FILES_MISSING' : 'FILES_OLDER',
  message:
    `${place} ${note === undefined ? 'is missing or empty' : `is older than the log: it has seen it up to position ${note.position}`}, ` +
    `and ${atLeast(files.length, 'file that the log names is', 'files that the log names are')} not in it (attachments, assets, large templates). ` +
    'Put it back, or restore a backup (sealpost restore); to go on without them: sealpost repair files --accept-loss',
});

const atLeast = (count: number, one: string, many: string): string =>
  `${count >= FOUND_MAX ? 'at least ' : ''}${counted(count, one, many)}`;

/**
 * True if only keys of call origins are missing. They encrypt the network and agent of calls for auditors; the first
 * call of a month makes one, so even a recent copy may lack it.
 */
export const isOfOriginsAlone = (streams: Iterable<StreamName>): boolean =>
  [...streams].every((stream) => splitStream(stream).kind === 'auditOrigins');

/** Reads the log for keys that are missing although no event says that they are destroyed, and for missing files. */
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

/** Out: the keys that the log does not say are destroyed. */
const notErased = async (
  { store }: MissingDeps,
  stream: StreamName,
  keyIds: readonly string[],
): Promise<readonly string[]> => {
  const events = await store.readStream(stream);
  if (events.some(({ type }) => erasing.has(type))) return [];
  const erased = events.flatMap((event) => recipientsErasedBy(event)?.keyIds ?? []);
  return keyIds.filter((keyId) => !erased.includes(keyId));
};

const missingFiles = async (
  deps: MissingDeps,
  events: readonly StoredEvent[],
  isThorough: boolean,
): Promise<readonly string[]> => {
  const missing: string[] = [];
  for (const event of events) {
    for (const file of await filesNamedBy(deps, event, isThorough)) {
      if (!(await deps.files.has(file)) && !(await isErased(deps, event.stream as StreamName))) missing.push(file);
    }
  }
  return missing;
};

const isErased = async ({ store }: MissingDeps, stream: StreamName): Promise<boolean> =>
  (await store.readStream(stream)).some(({ type }) => erasing.has(type));

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
const attachmentsOf = async (
  { eventLog, clock, limits }: MissingDeps,
  stream: StreamName,
): Promise<readonly string[]> => {
  const loaded = await eventLog.load(stream).catch((fault: unknown) => {
    if (fault instanceof EventUnreadable || fault instanceof EventUnknown) return [];
    throw fault;
  });
  const first = loaded[0]?.event;
  if (first?.type !== 'EmailQueued' && first?.type !== 'EmailScheduled') return [];
  const dueAt = loaded.reduce(
    (latest, { event }) =>
      event.type === 'EmailRescheduled' && event.data.scheduledAt > latest ? event.data.scheduledAt : latest,
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
