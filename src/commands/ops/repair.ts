/**
 * Repairs stores that were lost or restored, for an operator: verify the files, destroy again what is deleted since, go
 * on without what is lost, and record in the log what was given up.
 */
import { erasingEvents, type Recorded } from '../../domain/events.js';
import { eraseAll, eraseStream } from '../core/erase.js';
import { firstAfter, noteOfLog } from '../core/log-notes.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { NotedKeys, LogNote, NotedStore } from '../../domain/ports/log-note.js';
import { namesOf } from '../../event-log/codec.js';
import { recipientsErasedBy, recipientsErasedNames, allKeyIds } from '../../event-log/stream-keys.js';
import { readableMetadata } from '../../event-log/hash-chain.js';
import type { CommandNeeds } from '../needs.js';
import { FileDamaged } from '../../domain/core/errors.js';
import { type StreamName, INSTANCE_STREAM, splitStream } from '../../domain/core/ids.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Clock } from '../../domain/ports/clock.js';
import { DAY_MS, isoTime } from '../../domain/core/time.js';
import { isReadable, type Unreadable } from '../../event-log/decode.js';
import { handle, loadState, type Fold } from '../core/handle.js';
import { eraseRecipients } from '../privacy/erasure.js';
import { type CheckDeps, missingParts } from './stores.js';
import { assetDecider } from '../../domain/templates/asset.js';
import { emailDecider } from '../../domain/email/decider.js';
import { evolveInstance, type InstanceState } from '../../domain/teams/state.js';
import type { InstanceEvent } from '../../domain/teams/events.js';
import type { Cause } from '../../event-log/event-log.js';

type RepairDeps = CommandNeeds & CheckDeps & Readonly<{ keys: Pick<Keys, 'getMany' | 'setMark'> }>;

type Loss = Omit<Extract<InstanceEvent, { type: 'LossAccepted' }>['data'], 'at'>;

type WithoutKey = Readonly<{ recipients: readonly number[]; cause: Cause }>;

type VerifiedFiles = Readonly<{ files: number; findings: readonly FileFinding[]; unreadable: readonly Unreadable[] }>;

type FileFinding = Readonly<{ file: string; position: number; stream: string; message: string }>;

type Deps = Pick<CommandNeeds, 'eventLog' | 'files'> &
  Readonly<{ clock: Pick<Clock, 'now'>; limits: Pick<Limits, 'generatedFileDays'> }>;

type Named = Readonly<{ file: string; sizeBytes?: number; mayBeGone?: boolean }>;

type DestroyDeps = Readonly<{ keys: Pick<Keys, 'destroy'> }>;

/** Bytes that sealing adds to an attachment: nonce and tag. */
const SEALING_BYTES = 28;

const erasing = namesOf(erasingEvents);

const instanceFold: Fold<InstanceEvent, InstanceState> = { evolve: evolveInstance, initialState: undefined };

/**
 * Makes the log, as it is, the one that all stores belong to. In: the last position that other stores knew of. Out:
 * what was given up.
 */
export const acceptLogAsItIs = async (deps: RepairDeps, knownUpTo = 0): Promise<Loss> => {
  const { keys, files, readModels } = deps.noted;
  const notes = await Promise.all([keys.note(), files.note(), readModels.note()]);
  const seen = [
    ...notes.map((note) => note?.position ?? 0),
    ...(await deps.checkpoints()).map(({ position }) => position),
  ];
  const after = await deps.store.head();
  const upTo = Math.max(after, knownUpTo, ...seen);
  const loss: Loss = { store: 'log', after, upTo, lost: upTo - after };
  await record(deps, loss);
  await deleteWhatHasNoKey(deps);
  await eraseAll(deps, 0);
  const now = await noteOfLog(deps.store);
  if (now === undefined) return loss;
  await deps.keys.setMark({ position: now.position, hash: now.hash });
  // A store that is not newer than this log keeps its note: the next check finds what it lacks.
  for (const [index, store] of [keys, files, readModels].entries()) {
    const note = notes[index];
    if (note !== undefined && !(await isOfLog(deps, note))) await store.setNote(now);
  }
  return loss;
};

/** Fails every waiting email whose key is missing. Out: how many streams have lost their key. */
export const acceptKeysAsTheyAre = async (deps: RepairDeps): Promise<Loss> => {
  const after = (await deps.noted.keys.note())?.position ?? 0;
  const upTo = await deps.store.head();
  const missing = await missingParts({ ...deps, files: deps.noted.files }, { keysAfter: after, filesAfter: upTo });
  const loss: Loss = { store: 'keys', after, upTo, lost: missing.keys.size };
  await record(deps, loss);
  for (const stream of missing.keys.keys()) if (splitStream(stream).kind === 'email') await loseContent(deps, stream);
  await noteIn(deps, deps.noted.keys);
  return loss;
};

/** Gives up missing files: what needs one fails when it is read. Out: how many files are lost. */
export const acceptFilesAsTheyAre = async (deps: RepairDeps): Promise<Loss> => {
  const after = (await deps.noted.files.note())?.position ?? 0;
  const upTo = await deps.store.head();
  const missing = await missingParts(
    { ...deps, files: deps.noted.files },
    { keysAfter: upTo, filesAfter: after, isThorough: true },
  );
  const loss: Loss = { store: 'files', after, upTo, lost: missing.files.length };
  await record(deps, loss);
  await noteIn(deps, deps.noted.files);
  return loss;
};

/** The position up to which missing keys or files were given up. */
export const givenUp = async ({ eventLog }: Pick<CommandNeeds, 'eventLog'>, store: 'keys' | 'files'): Promise<number> =>
  (await eventLog.load(INSTANCE_STREAM)).reduce(
    (upTo, { event }) => (event.type === 'LossAccepted' && event.data.store === store ? event.data.upTo : upTo),
    0,
  );

/** Writes the note of one store: where the log ends now. */
export const noteIn = async ({ store }: Pick<RepairDeps, 'store'>, noted: NotedStore): Promise<void> => {
  const now = await noteOfLog(store);
  if (now !== undefined) await noted.setNote(now);
};

const record = async (deps: RepairDeps, loss: Loss): Promise<void> => {
  const cause = causeOfRepair(deps);
  const { version } = await loadState(deps.eventLog, INSTANCE_STREAM, instanceFold);
  // Not by `handle`: the operator accepted the loss, and nothing about it is decided.
  await deps.eventLog.append(
    INSTANCE_STREAM,
    version,
    [{ type: 'LossAccepted', data: { at: cause.at, ...loss } }],
    cause,
  );
};

const causeOfRepair = ({ clock }: Pick<CommandNeeds, 'clock'>): Cause => ({
  teamId: '',
  actor: 'cli',
  correlationId: 'repair',
  causationId: 'repair',
  at: isoTime(clock.now()),
});

const isOfLog = async ({ store }: RepairDeps, { position, hash }: LogNote): Promise<boolean> =>
  (await firstAfter(store, position - 1))?.hash === hash;

/** Records in the log the deletions and erasures after its end, which it has lost: their keys are destroyed. */
const deleteWhatHasNoKey = async (deps: RepairDeps): Promise<void> => {
  const head = await deps.store.head();
  const { keys } = await missingParts(
    { ...deps, files: deps.noted.files },
    { keysAfter: await givenUp(deps, 'keys'), filesAfter: head },
  );
  for (const [stream, keyIds] of keys) {
    const destroyed: string[] = [];
    // A key that this store never had is missing, not destroyed.
    for (const keyId of keyIds) if (await deps.noted.keys.isDestroyed(keyId)) destroyed.push(keyId);
    if (destroyed.length === 0) continue;
    const { teamId = '', recipientKeys = [] } = (await deps.eventLog.load(stream))[0]?.metadata ?? {};
    const cause = { ...causeOfRepair(deps), teamId };
    const recipients = recipientKeys.flatMap((keyId, place) => (destroyed.includes(keyId) ? [place] : []));
    if (recipients.length === destroyed.length) await eraseRecipientsWithoutKey(deps, stream, { recipients, cause });
    else await deleteStream(deps, stream, cause);
  }
};

const deleteStream = async (deps: RepairDeps, stream: StreamName, cause: Cause): Promise<void> => {
  const { at } = cause;
  switch (splitStream(stream).kind) {
    case 'email':
      if (await isProcessing(deps, stream)) await loseContent(deps, stream);
      await handle(deps.eventLog, stream, emailDecider, { type: 'DeleteEmail', at }, cause);
      await handle(deps.eventLog, stream, emailDecider, { type: 'ArchiveEmail', at, retentionMs: 0 }, cause);
      break;
    case 'asset':
      await handle(deps.eventLog, stream, assetDecider, { type: 'DeleteAsset', at }, cause);
      break;
  }
  await eraseStream(deps, stream);
};

/** Erases the recipients whose keys are destroyed. The other recipients of the email stay. */
const eraseRecipientsWithoutKey = async (
  deps: RepairDeps,
  stream: StreamName,
  { recipients, cause }: WithoutKey,
): Promise<void> => {
  if (await isProcessing(deps, stream)) await loseContent(deps, stream);
  await eraseRecipients(deps, { stream, recipients, cause });
};

const isProcessing = async ({ eventLog }: RepairDeps, stream: StreamName): Promise<boolean> =>
  (await loadState(eventLog, stream, emailDecider)).state?.status === 'processing';

const loseContent = async (deps: RepairDeps, stream: StreamName): Promise<void> => {
  const cause = causeOfRepair(deps);
  const command = { type: 'LoseContent' as const, at: cause.at, text: 'the key of this email is lost' };
  await handle(deps.eventLog, stream, emailDecider, command, { ...cause, teamId: await teamOf(deps, stream) });
};

const teamOf = async ({ eventLog }: Pick<CommandNeeds, 'eventLog'>, stream: StreamName): Promise<string> =>
  (await eventLog.load(stream))[0]?.metadata.teamId ?? '';

/** Destroys the keys that the replaced store of keys says are destroyed, after older ones were put back. */
export const destroyAsIn = async ({ keys }: DestroyDeps, replaced: Pick<NotedKeys, 'destroyed'>): Promise<void> => {
  for await (const ids of replaced.destroyed()) await keys.destroy(ids);
};

/**
 * Destroys the keys of everything that the replaced log says is deleted, archived or erased, as far as it can be read.
 */
export const destroyAsDeletedIn = async (
  { keys }: DestroyDeps,
  replaced: Pick<EventStore, 'readAll'>,
): Promise<void> => {
  for await (const { events } of replaced.readAll(0, { types: [...erasing, ...recipientsErasedNames] })) {
    const ids = events.flatMap((event) =>
      erasing.has(event.type) ? allKeyIds(readableMetadata(event) ?? {}) : (recipientsErasedBy(event)?.keyIds ?? []),
    );
    if (ids.length > 0) await keys.destroy(ids);
  }
};

/** Out: where the replaced log ends, if it is of the same instance as the restored one; otherwise 0. */
export const endOfReplaced = async (restored: EventStore, replaced: EventStore): Promise<number> => {
  const [ours, theirs] = [await firstAfter(restored, 0), await firstAfter(replaced, 0)];
  return ours !== undefined && ours.hash === theirs?.hash ? replaced.head() : 0;
};

/**
 * Opens every file that the log names: each must exist, be whole, and have the size that the log says. Reads the whole
 * log once, decrypting what has a key. `unreadable`: the events that could not be read, whose files are not checked.
 */
export const verifyFiles = async (
  deps: Deps,
  onProgress: (position: number) => void = () => {},
): Promise<VerifiedFiles> => {
  const findings: FileFinding[] = [];
  const unreadable: Unreadable[] = [];
  let files = 0;
  for await (const batch of deps.eventLog.readAll(0, { unknown: 'listed' })) {
    for (const event of batch.unreadable) if (!(await isReadableInStream(deps, event))) unreadable.push(event);
    for (const recorded of batch.events) {
      for (const named of namedBy(deps, recorded)) {
        files += 1;
        const message = await faultOf(deps, recorded, named);
        if (message === undefined) continue;
        findings.push({ file: named.file, position: recorded.position, stream: recorded.stream, message });
      }
    }
    onProgress(batch.position);
  }
  return { files, findings, unreadable };
};

/**
 * A stream that is being erased lacks parts without being damaged. Only the whole stream tells that it is being erased.
 */
const isReadableInStream = async ({ eventLog }: Deps, { stream, position }: Unreadable): Promise<boolean> =>
  (await eventLog.inspect(stream as StreamName)).some((one) => one.position === position && isReadable(one));

const namedBy = ({ clock, limits }: Deps, { event, metadata }: Recorded): readonly Named[] => {
  const { dataFile, sealedFile } = metadata;
  const named: Named[] = [dataFile, sealedFile].flatMap((file) => (file === undefined ? [] : [{ file }]));
  if (event.type === 'AssetUploaded')
    return [...named, { file: event.data.file, sizeBytes: event.data.sizeBytes + SEALING_BYTES }];
  if (event.type !== 'EmailQueued' && event.type !== 'EmailScheduled') return named;
  // Documents are deleted some days after the email is due.
  const dueAt = event.type === 'EmailScheduled' ? event.data.scheduledAt : event.data.at;
  const mayBeGone = Date.parse(dueAt) + limits.generatedFileDays * DAY_MS <= clock.now();
  const attachments = event.sealed?.attachments ?? [];
  return [
    ...named,
    ...attachments.map(({ file, sizeBytes }) => ({ file, sizeBytes: sizeBytes + SEALING_BYTES, mayBeGone })),
  ];
};

const faultOf = async ({ eventLog, files }: Deps, { stream }: Recorded, named: Named): Promise<string | undefined> => {
  const { file, sizeBytes, mayBeGone = false } = named;
  try {
    const bytes = await files.get(file);
    if (bytes === undefined) return mayBeGone || (await isErased(eventLog, stream)) ? undefined : 'it is missing';
    if (sizeBytes !== undefined && bytes.byteLength !== sizeBytes)
      return `it has ${bytes.byteLength} bytes, and the log says ${sizeBytes}, sealed`;
    return undefined;
  } catch (fault) {
    if (fault instanceof FileDamaged) return 'it is not what was put there, or the disk cannot read it';
    throw fault;
  }
};

/** Erasing deletes files after the fact is recorded and before the key is destroyed: a crash in between leaves some. */
const isErased = async (eventLog: Deps['eventLog'], stream: string): Promise<boolean> =>
  (await eventLog.inspect(stream as StreamName)).some(
    (one) => isReadable(one) && erasingEvents.includes(one.event.type),
  );
