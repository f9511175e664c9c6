/** Opens every file that the log names: each must be there, whole, and of the size that the log says. */
import type { CommandDeps } from '../core/deps.js';
import { FileDamaged } from '../../domain/core/errors.js';
import { erasingEvents, type Recorded } from '../../domain/events.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Clock } from '../../domain/ports/clock.js';
import { DAY_MS } from '../../domain/core/time.js';
import { isReadable, type Unreadable } from '../../event-log/decoding.js';

export type FileFinding = Readonly<{ file: string; position: number; stream: string; message: string }>;

type Deps = Pick<CommandDeps, 'eventLog' | 'files'> & Readonly<{ clock: Pick<Clock, 'now'>; limits: Pick<Limits, 'generatedFileDays'> }>;

/** What sealing adds to an attachment: its nonce and its tag. */
const SEALING_BYTES = 28;

type Named = Readonly<{ file: string; sizeBytes?: number; mayBeGone?: boolean }>;

export type VerifiedFiles = Readonly<{ files: number; findings: readonly FileFinding[]; unreadable: readonly Unreadable[] }>;

/** Reads the whole log once, decrypting what has a key. `unreadable` are the events that it could not read, and so not look behind. */
export const verifyFiles = async (deps: Deps, onProgress: (position: number) => void = () => {}): Promise<VerifiedFiles> => {
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

/** What a stream that is being erased lacks is no fault, and only its whole stream tells that it is. */
const isReadableInStream = async ({ eventLog }: Deps, { stream, position }: Unreadable): Promise<boolean> =>
  (await eventLog.inspect(stream as StreamName)).some((one) => one.position === position && isReadable(one));

const namedBy = ({ clock, limits }: Deps, { event, metadata }: Recorded): readonly Named[] => {
  const { dataFile, sealedFile } = metadata;
  const named: Named[] = [dataFile, sealedFile].flatMap((file) => (file === undefined ? [] : [{ file }]));
  if (event.type === 'AssetUploaded') return [...named, { file: event.data.file, sizeBytes: event.data.sizeBytes + SEALING_BYTES }];
  if (event.type !== 'EmailQueued' && event.type !== 'EmailScheduled') return named;
  // Documents are deleted some days after the email is due.
  const dueAt = event.type === 'EmailScheduled' ? event.data.scheduledAt : event.data.at;
  const mayBeGone = Date.parse(dueAt) + limits.generatedFileDays * DAY_MS <= clock.now();
  const attachments = event.sealed?.attachments ?? [];
  return [...named, ...attachments.map(({ file, sizeBytes }) => ({ file, sizeBytes: sizeBytes + SEALING_BYTES, mayBeGone }))];
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
  (await eventLog.inspect(stream as StreamName)).some((one) => isReadable(one) && erasingEvents.includes(one.event.type));
