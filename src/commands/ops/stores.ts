/** Whether the stores belong together and none of them is older than the others. What it finds is said in one sentence each. */
import { type LogToNote, isOfLog, noteOfLog } from '../core/log-notes.js';
import { missingParts, type Missing, type MissingDeps } from './missing-parts.js';
import { splitStream, type StreamName } from '../../domain/core/ids.js';
import type { LogNote, NotedStores } from '../../domain/ports/log-note.js';

export type StoreFaultCode =
  'LOG_MISSING' | 'LOG_OLDER' | 'STORE_OF_ANOTHER' | 'KEYS_MISSING' | 'KEYS_OLDER' | 'FILES_MISSING' | 'FILES_OLDER' | 'STORE_DAMAGED';

/** The message says which file, what it means, and what helps. `isTold`: nothing that is served or sent needs it, so a start says it and goes on. */
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

/** Looking for what is missing ends at so many: the rest is said as "at least". */
const FOUND_MAX = 1_000;

/** Empty where all is well. Notes are read before the log, which only ever goes on. */
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
  const ahead = [...seen, ...checkpoints.map(({ name, position }) => ({ place: `${readModels.place} (${name})`, position }))];
  const furthest = ahead.reduce((most, one) => (one.position > most.position ? one : most), { place: '', position: 0 });
  if (log === undefined) return furthest.position === 0 ? [] : [logMissing(deps, furthest)];
  const strangers = seen.filter(({ instance }) => instance !== log.instance);
  if (strangers.length > 0) return strangers.map((stranger) => ofAnother(deps, stranger.place, strangers.length === seen.length));
  if (furthest.position > log.position) return [logOlder(deps, log.position, furthest)];
  for (const note of seen) {
    if (!(await isOfLog(deps.store, note))) return [logWentOn(deps, note)];
  }
  return lookForMissing(deps, notes);
};

/** What of the findings must be mended before anything is served or sent. */
export const stopping = (findings: readonly StoreFinding[]): readonly StoreFinding[] => findings.filter(({ isTold }) => isTold !== true);

/** Out: what is only told. Throws StoreFault with what is found first that may not be. */
export const assertStoresAgree = async (deps: CheckDeps): Promise<readonly StoreFinding[]> => {
  const findings = await checkStores(deps);
  const [finding] = stopping(findings);
  if (finding !== undefined) throw new StoreFault(finding);
  return findings;
};

type Notes = Readonly<Record<keyof NotedStores, LogNote | undefined>>;

const lookForMissing = async (deps: CheckDeps, notes: Notes): Promise<readonly StoreFinding[]> => {
  const { keys, files } = deps.noted;
  // A store that never had a note was made before there were any, unless another has one.
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

type Seen = Readonly<{ place: string; position: number }>;

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

const atLeast = (count: number): string => (count >= FOUND_MAX ? `at least ${count}` : `${count}`);

const keysMissing = (place: string, note: LogNote | undefined, { keys }: Missing): StoreFinding => {
  if (note !== undefined && isOfOriginsAlone(keys.keys())) return originsMissing(place, note, keys.size);
  return {
    code: note === undefined ? 'KEYS_MISSING' : 'KEYS_OLDER',
    message:
      `${place} ${note === undefined ? 'is missing or empty' : `is older than the log: it has seen it up to position ${note.position}`}, ` +
      `and the keys of ${atLeast(keys.size)} emails or assets are not in it, which the log does not say are destroyed: what they seal cannot be read or sent. ` +
      'Put the newest one back, or restore a backup of the keys (sealpost restore); to go on without them: sealpost repair keys --accept-loss',
  };
};

/** From where was called is kept for auditors alone, under a key that the first call of a month makes, so even a copy of today may lack it. */
export const isOfOriginsAlone = (streams: Iterable<StreamName>): boolean =>
  [...streams].every((stream) => splitStream(stream).kind === 'auditOrigins');

const originsMissing = (place: string, note: LogNote, count: number): StoreFinding => ({
  code: 'KEYS_OLDER',
  isTold: true,
  message:
    `${place} is older than the log: it has seen it up to position ${note.position}. What is lost is from where ${atLeast(count)} people or teams called in a month: ` +
    'the audit log shows those entries without network and agent, and keeps none for them in that month. Everything else is whole. ' +
    'Where you have a newer copy, put it back before the service goes on.',
});

const filesMissing = (place: string, note: LogNote | undefined, { files }: Missing): StoreFinding => ({
  code: note === undefined ? 'FILES_MISSING' : 'FILES_OLDER',
  message:
    `${place} ${note === undefined ? 'is missing or empty' : `is older than the log: it has seen it up to position ${note.position}`}, ` +
    `and ${atLeast(files.length)} files that the log names are not in it (attachments, assets, large templates). ` +
    'Put it back, or restore a backup (sealpost restore); to go on without them: sealpost repair files --accept-loss',
});
