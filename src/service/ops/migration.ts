/**
 * Moves an instance to stores of another engine: log, keys and files are copied, the log is verified there, read models
 * are made anew.
 */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { openDirectoryFiles } from '../../adapters/files/directory.js';
import { filesIn } from '../../adapters/files/durable.js';
import { openLogger } from '../../adapters/logger/pino.js';
import { loadMasterKey } from '../../adapters/keys/key-files.js';
import { noteLog } from '../../commands/core/log-notes.js';
import { ConfigError } from '../settings/settings.js';
import { keySettings, readConfig, type Config } from '../settings/config.js';
import { LEDGER_STREAM } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import { openEngine, type Engine } from '../engine.js';
import { verifyLog, type Verification } from '../../event-log/verification.js';
import { loadState } from '../../commands/core/handle.js';
import { evolveLedger, sealOf, signSeal, type LedgerState } from '../../event-log/ledger.js';
import { holdStopped } from '../stores/instances.js';
import { withoutCredentials } from '../../shared/addresses.js';
import { replaceDurably } from '../../shared/files.js';
import { pathOf } from '../settings/urls.js';
import type { EventStore, EventToStore, Position, StoredEvent } from '../../domain/ports/event-store.js';

/** Progress of a migration; `total` is 0 if it is unknown. */
export type MigrationProgress = Readonly<{
  keys: (rows: number) => void;
  files: (files: number) => void;
  copied: (events: number, total: number) => void;
  verified: (events: number, total: number) => void;
}>;

export type Migrated = Readonly<{ events: number; keyRows: number; files: number; streams: number; seals: number }>;

/**
 * In: a data directory of the embedded engine, or a file of settings like `.env`. Out: the settings. Throws
 * ConfigError.
 */
export const settingsOf = (place: string): Config => {
  const path = resolve(place);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    throw new ConfigError(`${place} is not there; name a data directory, or a file of settings like .env`);
  return readConfig(
    found.isDirectory()
      ? { ...keySettings(), SEALPOST_DATA_DIR: path }
      : { ...keySettings(), ...parseEnv(readFileSync(path, 'utf8').replace(/^\ufeff/, '')) },
  );
};

/** How far an interrupted migration came; beside the source, so that the target holds nothing that is not its own. */
type State = Readonly<{
  target: string;
  copied: Copied;
  mark: Readonly<{ position: number; hash: string }> | undefined;
}>;

const STATE_FILE = 'migration.json';
/** Events copied since the last save are copied again after a crash and recognized by their ids. */
const SAVE_EVERY_EVENTS = 500;

const stateFileOf = ({ dataDir }: Config): string => join(dataDir, STATE_FILE);

const readState = (config: Config): State | undefined => {
  const file = stateFileOf(config);
  return statSync(file, { throwIfNoEntry: false }) === undefined
    ? undefined
    : (JSON.parse(readFileSync(file, 'utf8')) as State);
};

const saveState = (config: Config, state: State): void => replaceDurably(stateFileOf(config), JSON.stringify(state));

export type MigrateOptions = Readonly<{ from: Config; to: Config; oneAtATime: boolean; progress: MigrationProgress }>;

/**
 * Copies keys, files and log, verifies the log there by chain and seals, seals it anew, and notes in each store which
 * log it belongs to. Interrupted, it goes on where it was when it is called again. Rejects with ConfigError where a
 * service runs on the source, where the target is no other, or holds something else.
 */
export const migrate = async (options: MigrateOptions): Promise<Migrated> => {
  const { from, to } = options;
  assertOther(from, to);
  const lock = await holdStopped(from);
  try {
    const source = await openEngine({ ...from, logLevel: 'silent' });
    try {
      // The copy is sealed anew at its end.
      await source.sealKey();
      return await intoTarget(options, source);
    } finally {
      await source.close();
    }
  } finally {
    await lock.release();
  }
};

const assertOther = ({ urls: from }: Config, { urls: to }: Config): void => {
  if (from.eventStore === to.eventStore)
    throw new ConfigError('the log of --to is that of --from; name another SEALPOST_EVENT_STORE_URL');
  if (from.keys !== to.keys && !(from.keys.startsWith('sqlite:') && to.keys.startsWith('mongodb')))
    throw new ConfigError(
      'keys are copied from SQLite to MongoDB, or stay where they are; set SEALPOST_KEYS_URL to one of these',
    );
  if (from.files !== to.files && !from.files.startsWith('dir:'))
    throw new ConfigError(
      'files are copied from a directory, or stay where they are; set SEALPOST_FILES_URL to that of --from',
    );
};

const intoTarget = async (options: MigrateOptions, source: Engine): Promise<Migrated> => {
  const { from, to, progress } = options;
  const place = withoutCredentials(to.urls.eventStore);
  const state = readState(from);
  if (state !== undefined && state.target !== place)
    throw new ConfigError(
      `a migration from here into ${state.target} was interrupted; finish it, or delete ${stateFileOf(from)} and empty what it has filled`,
    );
  const keyRows = await copyKeys(options);
  const target = await openEngine({ ...to, logLevel: 'silent' });
  try {
    if (state === undefined && (await target.store.head()) > 0)
      throw new ConfigError(`the log at ${place} is not empty; name an empty one`);
    const files = await copyFiles(options, target);
    const copied = await copyEvents(options, { source, target, place, state });
    const verification = await verified(target, copied.copied.events, progress);
    if (!isSealedAnew(verification, copied.copied.events)) await sealAnew(target, verification);
    if (copied.mark !== undefined) await target.keys.setMark(copied.mark);
    await noteLog(target.store, target.noted);
    rmSync(stateFileOf(from), { force: true });
    const { events, streams, seals } = verification;
    return { events, streams, seals, keyRows, files };
  } finally {
    await target.close();
  }
};

const copyKeys = async ({ from, to, progress }: MigrateOptions): Promise<number> => {
  if (from.urls.keys === to.urls.keys) return 0;
  const masterKey = loadMasterKey({ value: from.masterKey, file: from.masterKeyFile, mayCreate: false });
  const { copyKeysToMongo } = await import('../../adapters/keys/mongodb.js');
  return copyKeysToMongo({
    file: pathOf(from.urls.keys),
    masterKey,
    url: to.urls.keys,
    logger: openLogger({ level: 'silent' }),
    onCopied: progress.keys,
  });
};

const copyFiles = async ({ from, to, progress }: MigrateOptions, target: Engine): Promise<number> => {
  if (from.urls.files === to.urls.files) return 0;
  const directory = pathOf(from.urls.files);
  const files = openDirectoryFiles({ directory });
  let copied = 0;
  for await (const { hash, expiresAt } of filesIn(directory)) {
    const bytes = await files.get(hash);
    if (bytes === undefined) continue;
    await target.files.put(bytes, expiresAt === undefined ? {} : { expiresAt });
    copied += 1;
    progress.files(copied);
  }
  return copied;
};

type Place = Readonly<{ source: Engine; target: Engine; place: string; state: State | undefined }>;

const copyEvents = async (
  { from, oneAtATime, progress }: MigrateOptions,
  { source, target, place, state }: Place,
): Promise<State> => {
  const marked = await source.keys.mark();
  const total = source.store.positions === 'dense' ? await source.store.head() : 0;
  let mark = state?.mark;
  const saved = (copied: Copied): State => ({ target: place, copied, mark });
  saveState(from, saved(state?.copied ?? nothingCopied));
  const copied = await copyLog({
    source: source.store,
    target: target.store,
    ...(state === undefined ? {} : { resumed: state.copied }),
    ...(oneAtATime ? { inFlightMax: 1 } : {}),
    onCopied: (event, sofar) => {
      if (event.hash === marked?.hash) mark = { position: sofar.to, hash: event.hash };
      if (sofar.events % SAVE_EVERY_EVENTS === 0) saveState(from, saved(sofar));
      progress.copied(sofar.events, total);
    },
  });
  saveState(from, saved(copied));
  return saved(copied);
};

const verified = async (target: Engine, events: number, progress: MigrationProgress): Promise<Verification> => {
  const verification = await verifyLog(target.store, undefined, {
    onProgress: (done) => progress.verified(done, events),
  });
  if (verification.finding !== undefined)
    throw new CopyBroken(`the copied log does not verify: ${verification.finding.message}`);
  const [fault] = await target.keys.faults();
  if (fault !== undefined) throw new CopyBroken(`the copied keys do not verify: ${fault}`);
  if (verification.events !== events && !isSealedAnew(verification, events))
    throw new CopyBroken(
      `the copied log has ${verification.events} events, and ${events} were copied; somebody else writes into it`,
    );
  return verification;
};

/**
 * True where a call before this one was interrupted after its seal: that is the one event more, and nothing stands
 * behind it.
 */
const isSealedAnew = ({ events, unsealed, seal }: Verification, copied: number): boolean =>
  events === copied + 1 && unsealed.length === 1 && seal !== undefined;

/**
 * The seals name positions of the source; one more, over all that is not sealed yet, names where the next begins here.
 */
const sealAnew = async (
  { eventLog, store, clock, sealKey }: Engine,
  { seal, unsealed }: Verification,
): Promise<void> => {
  const { version } = await loadState(eventLog, LEDGER_STREAM, {
    evolve: evolveLedger,
    initialState: undefined as LedgerState,
  });
  const at = isoTime(clock.now());
  const cause = { teamId: '', actor: 'migrate', correlationId: 'migrate', causationId: 'migrate', at };
  const next = sealOf(seal, unsealed, await store.head());
  await eventLog.append(
    LEDGER_STREAM,
    version,
    [{ type: 'LedgerSealed', data: await signSeal(await sealKey(), at, next) }],
    cause,
  );
};

// Copies a log into another of any engine: the same events in the same total order, under the same ids and hashes.

/** How far a copy is: where the source was read to, and where that stands in the target. */
type Copied = Readonly<{ from: Position; to: Position; events: number }>;

type LogCopy = Readonly<{
  source: Pick<EventStore, 'readAll'>;
  target: Pick<EventStore, 'append'>;
  /**
   * Progress of an earlier copy into this target that was interrupted; events that it had begun to copy after that are
   * recognized by their ids.
   */
  resumed?: Copied;
  /** Appends under way at once; they must end in their order, or the total order would be another. Default: 64. */
  inFlightMax?: number;
  /**
   * Called for each event that is stored in the target, in order, with its place there; a group of events shares the
   * place of its last.
   */
  onCopied: (event: StoredEvent, copied: Copied) => void;
}>;

/** The target cannot be a copy of the source any more. */
export class CopyBroken extends Error {
  override readonly name = 'CopyBroken';
}

/**
 * Before every position that a store can hold: what was slipped in before the first event is copied too, and found by
 * verification.
 */
const nothingCopied: Copied = { from: Number.MIN_SAFE_INTEGER, to: 0, events: 0 };
/** Characters of one append; an event store takes a megabyte at least. */
const GROUP_CHARS_MAX = 400_000;
const GROUP_EVENTS_MAX = 50;
const IN_FLIGHT_MAX = 64;
/** After a resumption, this many groups may already be stored in the target, in any order. */
const OVERLAP_GROUPS = 1_000;

/**
 * Rejects with CopyBroken where the target holds something else, or does not keep the order. Out: how far it came,
 * which is the end.
 */
export const copyLog = async ({
  source,
  target,
  resumed,
  inFlightMax = IN_FLIGHT_MAX,
  onCopied,
}: LogCopy): Promise<Copied> => {
  let copied: Copied = resumed ?? nothingCopied;
  let overlap = resumed === undefined ? 0 : OVERLAP_GROUPS;
  const underWay: Readonly<{ group: readonly StoredEvent[]; done: Promise<Position> }>[] = [];

  const settleFirst = async (): Promise<void> => {
    const first = underWay.shift();
    if (first === undefined) return;
    const to = await first.done;
    if (overlap === 0 && to <= copied.to)
      throw new CopyBroken(
        'the target has taken events in another order; empty it, and copy again with --one-at-a-time',
      );
    overlap = Math.max(0, overlap - 1);
    for (const event of first.group) {
      copied = { from: event.position, to: Math.max(to, copied.to), events: copied.events + 1 };
      onCopied(event, copied);
    }
  };

  try {
    for await (const { events } of source.readAll(copied.from)) {
      for (const group of groupsOf(events)) {
        while (underWay.length > 0 && underWay.length >= (overlap > 0 ? 1 : inFlightMax)) await settleFirst();
        const done = append(target, group);
        // It is awaited in its turn; until then its fault is nobody's.
        done.catch(() => {});
        underWay.push({ group, done });
      }
    }
    while (underWay.length > 0) await settleFirst();
  } finally {
    await Promise.allSettled(underWay.map(({ done }) => done));
  }
  return copied;
};

/** Events that follow each other in one stream go in one append. */
function* groupsOf(events: readonly StoredEvent[]): Generator<readonly StoredEvent[]> {
  let group: StoredEvent[] = [];
  let chars = 0;
  for (const event of events) {
    const size = sizeOf(event);
    const last = group.at(-1);
    const joins = last?.stream === event.stream && last.revision + 1 === event.revision;
    if (last !== undefined && (!joins || group.length >= GROUP_EVENTS_MAX || chars + size > GROUP_CHARS_MAX)) {
      yield group;
      [group, chars] = [[], 0];
    }
    group.push(event);
    chars += size;
  }
  if (group.length > 0) yield group;
}

const sizeOf = ({ data, metadata, sealed }: StoredEvent): number =>
  data.length + metadata.length + (sealed?.byteLength ?? 0) * 2;

const append = async (target: LogCopy['target'], group: readonly StoredEvent[]): Promise<Position> => {
  const { stream, revision } = group[0]!;
  const outcome = await target.append(stream, revision - 1, group.map(toStore));
  switch (outcome.kind) {
    case 'done':
      return outcome.position;
    case 'conflict':
      throw new CopyBroken(
        `the target holds other events in ${stream}, which is at revision ${outcome.actualRevision} there`,
      );
    case 'unknown':
      throw new Error(
        `the target did not answer; the copy goes on from here when it is called again (${outcome.cause.message})`,
        {
          cause: outcome.cause,
        },
      );
  }
};

const toStore = ({ eventId, type, data, metadata, sealed, hash }: StoredEvent): EventToStore => ({
  eventId,
  type,
  data,
  metadata,
  sealed,
  hash,
});
