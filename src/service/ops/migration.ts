/** Moves an instance to stores of another engine: log, keys and files are copied, the log is verified there, read models are made anew. */
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
import { copyLog, CopyBroken, nothingCopied, type Copied } from '../../event-log/copy.js';
import { verifyLog, type Verification } from '../../event-log/verification.js';
import { loadState } from '../../commands/core/handle.js';
import { evolveLedger, sealOf, signSeal, type LedgerState } from '../../event-log/ledger.js';
import { holdStopped } from '../stores/instances.js';
import { withoutCredentials } from '../../shared/addresses.js';
import { replaceDurably } from '../../shared/files.js';
import { pathOf } from '../settings/urls.js';

/** Progress of a migration; `total` is 0 if it is unknown. */
export type MigrationProgress = Readonly<{
  keys: (rows: number) => void;
  files: (files: number) => void;
  copied: (events: number, total: number) => void;
  verified: (events: number, total: number) => void;
}>;

export type Migrated = Readonly<{ events: number; keyRows: number; files: number; streams: number; seals: number }>;

/** In: a data directory of the embedded engine, or a file of settings like `.env`. Out: the settings. Throws ConfigError. */
export const settingsOf = (place: string): Config => {
  const path = resolve(place);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new ConfigError(`${place} is not there; name a data directory, or a file of settings like .env`);
  return readConfig(
    found.isDirectory()
      ? { ...keySettings(), SEALPOST_DATA_DIR: path }
      : { ...keySettings(), ...parseEnv(readFileSync(path, 'utf8').replace(/^\ufeff/, '')) },
  );
};

/** How far an interrupted migration came; beside the source, so that the target holds nothing that is not its own. */
type State = Readonly<{ target: string; copied: Copied; mark: Readonly<{ position: number; hash: string }> | undefined }>;

const STATE_FILE = 'migration.json';
/** Events copied since the last save are copied again after a crash and recognized by their ids. */
const SAVE_EVERY_EVENTS = 500;

const stateFileOf = ({ dataDir }: Config): string => join(dataDir, STATE_FILE);

const readState = (config: Config): State | undefined => {
  const file = stateFileOf(config);
  return statSync(file, { throwIfNoEntry: false }) === undefined ? undefined : (JSON.parse(readFileSync(file, 'utf8')) as State);
};

const saveState = (config: Config, state: State): void => replaceDurably(stateFileOf(config), JSON.stringify(state));

export type MigrateOptions = Readonly<{ from: Config; to: Config; oneAtATime: boolean; progress: MigrationProgress }>;

/**
 * Copies keys, files and log, verifies the log there by chain and seals, seals it anew, and notes in each store which log it belongs to.
 * Interrupted, it goes on where it was when it is called again. Rejects with ConfigError where a service runs on the source, where the
 * target is no other, or holds something else.
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
  if (from.eventStore === to.eventStore) throw new ConfigError('the log of --to is that of --from; name another SEALPOST_EVENT_STORE_URL');
  if (from.keys !== to.keys && !(from.keys.startsWith('sqlite:') && to.keys.startsWith('mongodb')))
    throw new ConfigError('keys are copied from SQLite to MongoDB, or stay where they are; set SEALPOST_KEYS_URL to one of these');
  if (from.files !== to.files && !from.files.startsWith('dir:'))
    throw new ConfigError('files are copied from a directory, or stay where they are; set SEALPOST_FILES_URL to that of --from');
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

const copyEvents = async ({ from, oneAtATime, progress }: MigrateOptions, { source, target, place, state }: Place): Promise<State> => {
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
  if (verification.finding !== undefined) throw new CopyBroken(`the copied log does not verify: ${verification.finding.message}`);
  const [fault] = await target.keys.faults();
  if (fault !== undefined) throw new CopyBroken(`the copied keys do not verify: ${fault}`);
  if (verification.events !== events && !isSealedAnew(verification, events))
    throw new CopyBroken(`the copied log has ${verification.events} events, and ${events} were copied; somebody else writes into it`);
  return verification;
};

/** True where a call before this one was interrupted after its seal: that is the one event more, and nothing stands behind it. */
const isSealedAnew = ({ events, unsealed, seal }: Verification, copied: number): boolean =>
  events === copied + 1 && unsealed.length === 1 && seal !== undefined;

/** The seals name positions of the source; one more, over all that is not sealed yet, names where the next begins here. */
const sealAnew = async ({ eventLog, store, clock, sealKey }: Engine, { seal, unsealed }: Verification): Promise<void> => {
  const { version } = await loadState(eventLog, LEDGER_STREAM, { evolve: evolveLedger, initialState: undefined as LedgerState });
  const at = isoTime(clock.now());
  const cause = { teamId: '', actor: 'migrate', correlationId: 'migrate', causationId: 'migrate', at };
  const next = sealOf(seal, unsealed, await store.head());
  await eventLog.append(LEDGER_STREAM, version, [{ type: 'LedgerSealed', data: await signSeal(await sealKey(), at, next) }], cause);
};
