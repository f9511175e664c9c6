/** Backups: a directory for the log with its files, another for the keys; each says what it is in `backup.json`. */
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '../../adapters/clock/system.js';
import { openSqliteEventStore } from '../../adapters/event-store/sqlite.js';
import { copyFiles } from '../../adapters/files/durable.js';
import { loadMasterKey } from '../../adapters/keys/key-files.js';
import { isWrappedBy, openNotedKeys } from '../../adapters/keys/key-table.js';
import { deriveFrom } from '../../adapters/keys/key-wrap.js';
import { copyDatabase } from '../../adapters/sqlite/database.js';
import { noteOfLog } from '../../commands/core/log-notes.js';
import { settingsToKeep, type Config } from '../settings/config.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { LogNote, NotedKeys } from '../../domain/ports/log-note.js';
import { localStores, placesOf } from '../stores/stores.js';
import { makeDirectory, reasonOf } from '../../shared/files.js';

/** Metadata of a backup. `note` is the newest event of the log in it, or the newest that the keys in it have seen. */
export type Backup = Readonly<{ kind: 'log' | 'keys'; at: string; expiresAt?: string; note: LogNote | null }>;

const NAMES = { log: 'events.db', keys: 'keys.db' } as const;
const DESCRIPTION = 'backup.json';

/** Throws where that store is on a server: what copies it, and puts it back, are the tools of that server. */
export const assertOnThisMachine = (config: Config, kind: Backup['kind']): void => {
  if (localStores(config)[kind]) return;
  throw new Error(
    `the ${kind} ${kind === 'log' ? 'is' : 'are'} at ${placesOf(config)[kind]}: back ${kind === 'log' ? 'it' : 'them'} up, and restore, with the tools of that server; ` +
      'sealpost backup and sealpost restore are for what is in files of this machine. Keep the copies of the keys apart from those of the log, and for days only.',
  );
};

/** The log first, then the files: whatever an event of the copy names is in the copy. Out: how many files there are. */
export const backUpLog = async (config: Config, directory: string): Promise<Backup & Readonly<{ files: number }>> => {
  assertOnThisMachine(config, 'log');
  begin(directory);
  const places = placesOf(config);
  const to = join(directory, NAMES.log);
  await copyDatabase({ from: places.log, to });
  const files = localStores(config).files ? await copyFiles({ from: places.files, to: join(directory, 'files') }) : 0;
  const store = openSqliteEventStore({ file: to });
  const note = await noteOfLog(store);
  await store.close();
  writePrivately(join(directory, 'settings.env'), settingsToKeep());
  return { ...finish(directory, { kind: 'log', at: isoTime(systemClock().now()), note: note ?? null }), files };
};

export const backUpKeys = async (config: Config, directory: string, days: number): Promise<Backup> => {
  assertOnThisMachine(config, 'keys');
  begin(directory);
  const to = join(directory, NAMES.keys);
  const nowMs = systemClock().now();
  await copyDatabase({ from: placesOf(config).keys, to });
  const keys = openNotedKeys({ file: to });
  const note = await keys.note();
  await keys.close();
  return finish(directory, {
    kind: 'keys',
    at: isoTime(nowMs),
    expiresAt: isoTime(nowMs + days * DAY_MS),
    note: note ?? null,
  });
};

const begin = (directory: string): void => {
  makeDirectory(directory);
  const entry = readdirSync(directory)[0];
  if (entry !== undefined)
    throw new Error(`${directory} is not empty (${entry}); a backup wants a directory of its own`);
};

/** Written last: a directory without it holds no whole backup. */
const finish = (directory: string, backup: Backup): Backup => {
  writePrivately(join(directory, DESCRIPTION), `${JSON.stringify(backup, undefined, 2)}\n`);
  return backup;
};

const writePrivately = (file: string, text: string): void =>
  writeFileSync(file, text, { mode: 0o600, flag: 'wx', flush: true });

export const isExpired = ({ expiresAt }: Backup): boolean =>
  expiresAt !== undefined && Date.parse(expiresAt) <= systemClock().now();

/** Throws where the directory holds no whole backup of that kind. */
export const readBackup = (directory: string, kind: Backup['kind']): Backup => {
  const file = join(directory, DESCRIPTION);
  if (!existsSync(file)) throw new Error(`${directory} holds no whole backup: there is no ${DESCRIPTION} in it`);
  const backup = JSON.parse(readFileSync(file, 'utf8')) as Backup;
  if (backup.kind !== kind) throw new Error(`${directory} holds a backup of the ${backup.kind}, not of the ${kind}`);
  if (!existsSync(join(directory, NAMES[kind])))
    throw new Error(`${directory} holds no whole backup: there is no ${NAMES[kind]} in it`);
  return backup;
};

/** The database itself comes last, so that an interrupted move is finished by the next. */
const SUFFIXES = ['-shm', '-wal', ''] as const;
const asideOf = (file: string): string => `${file}.replaced`;

/**
 * Puts the store of a backup in its place. The one that stood there is kept under another name until `forgetReplaced`;
 * where an interrupted restore has left one there, that is the original.
 */
export const placeBackup = async (config: Config, kind: Backup['kind'], directory: string): Promise<void> => {
  assertOnThisMachine(config, kind);
  const file = placesOf(config)[kind];
  const aside = asideOf(file);
  const isKept = existsSync(aside);
  for (const suffix of SUFFIXES) {
    if (!existsSync(file + suffix)) continue;
    if (isKept) rmSync(file + suffix);
    else renameSync(file + suffix, aside + suffix);
  }
  await copyDatabase({ from: join(directory, NAMES[kind]), to: file });
  if (kind === 'log' && localStores(config).files)
    await copyFiles({ from: join(directory, 'files'), to: placesOf(config).files });
};

/** Read models that are made anew need some room, too. */
const ROOM_FACTOR = 1.1;

/**
 * Throws, before anything is changed, if the restore would break off: without the master key of the keys, in a
 * directory that this user cannot write or that belongs to another user than root while root restores, or where the
 * disk has too little room.
 */
export const assertRestorable = (
  config: Config,
  given: readonly Readonly<{ kind: Backup['kind']; directory: string }>[],
  freeBytesIn: (directory: string) => number = freeBytes,
): void => {
  assertMasterKey(config, given.find(({ kind }) => kind === 'keys')?.directory);
  const [places, local] = [placesOf(config), localStores(config)];
  const copies = given.flatMap(({ kind, directory }) => [
    { to: dirname(places[kind]), bytes: sizeOf(join(directory, NAMES[kind])) },
    ...(kind === 'log' && local.files ? [{ to: places.files, bytes: sizeOf(join(directory, 'files')) }] : []),
  ]);
  const needed = new Map<number, Readonly<{ to: string; bytes: number }>>();
  for (const { to, bytes } of copies) {
    const there = assertMine(to);
    const { dev } = statSync(there);
    needed.set(dev, { to: there, bytes: (needed.get(dev)?.bytes ?? 0) + bytes });
  }
  const mebibytes = (bytes: number): number => Math.ceil(bytes / 1024 / 1024);
  for (const { to, bytes } of needed.values()) {
    const free = freeBytesIn(to);
    if (free >= bytes * ROOM_FACTOR) continue;
    throw new Error(
      `the restore needs ${mebibytes(bytes * ROOM_FACTOR)} MiB in ${to}, and ${mebibytes(free)} MiB are free: make room, then repeat it. Nothing was changed.`,
    );
  }
};

const assertMasterKey = (config: Config, keysBackup: string | undefined): void => {
  if (!localStores(config).keys) return;
  const masterKey = loadMasterKey({ value: config.masterKey, file: config.masterKeyFile, mayCreate: false });
  const file = keysBackup === undefined ? placesOf(config).keys : join(keysBackup, NAMES.keys);
  if (!existsSync(file) || isWrappedBy({ file, check: deriveFrom(masterKey).check })) return;
  throw new Error(
    `the master key is not the one that ${file} was made with: set SEALPOST_MASTER_KEY or SEALPOST_MASTER_KEY_FILE to that one. Nothing was changed.`,
  );
};

/** Out: the directory itself, or the nearest one above it that is there. */
const assertMine = (directory: string): string => {
  let there = directory;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
  } catch (fault) {
    throw new Error(`${there} cannot be written: ${reasonOf(fault)}. Nothing was changed.`, { cause: fault });
  }
  const { uid } = statSync(there);
  if (process.geteuid?.() === 0 && uid !== 0)
    throw new Error(
      `${there} belongs to uid ${uid}, whose service could not use what root restores there: run this as that user (sudo -u '#${uid}' …). Nothing was changed.`,
    );
  return there;
};

const sizeOf = (path: string): number => {
  if (!existsSync(path)) return 0;
  const found = statSync(path);
  return found.isDirectory() ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0) : found.size;
};

const freeBytes = (directory: string): number => {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
};

export type Replaced = Readonly<{
  log: EventStore | undefined;
  keys: NotedKeys | undefined;
  close: () => Promise<void>;
}>;

/**
 * Stores that a restore has replaced, as far as they can be opened: a damaged store is often the reason for a restore.
 */
export const openReplaced = (config: Config): Replaced => {
  const places = placesOf(config);
  const local = localStores(config);
  const log = local.log ? openedIfSound(asideOf(places.log), (file) => openSqliteEventStore({ file })) : undefined;
  const keys = local.keys ? openedIfSound(asideOf(places.keys), (file) => openNotedKeys({ file })) : undefined;
  return {
    log,
    keys,
    close: async () => {
      await log?.close();
      await keys?.close();
    },
  };
};

const openedIfSound = <Store>(file: string, open: (file: string) => Store): Store | undefined => {
  if (!existsSync(file)) return undefined;
  try {
    return open(file);
  } catch {
    return undefined;
  }
};

/** Deletes what restores have replaced. */
export const forgetReplaced = (config: Config): void => {
  for (const kind of ['log', 'keys'] as const)
    if (localStores(config)[kind])
      for (const suffix of SUFFIXES) rmSync(asideOf(placesOf(config)[kind]) + suffix, { force: true });
};

/** Names of the log and the keys that already exist. */
export const storesThere = (config: Config, kinds: readonly Backup['kind'][]): readonly string[] =>
  kinds.map((kind) => placesOf(config)[kind]).filter((file) => existsSync(file));
