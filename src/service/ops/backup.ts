/** Backups: a directory for the log with its files, another for the keys; each says what it is in `backup.json`. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../adapters/clock/system.js';
import { openSqliteEventStore } from '../../adapters/event-store/sqlite.js';
import { copyFiles } from '../../adapters/files/durable.js';
import { openNotedKeys } from '../../adapters/keys/key-table.js';
import { copyDatabase } from '../../adapters/sqlite/database.js';
import { noteOfLog } from '../../commands/core/log-notes.js';
import { settingsToKeep, type Config } from '../settings/config.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { LogNote, NotedKeys } from '../../domain/ports/log-note.js';
import { localStores, placesOf } from '../stores/stores.js';
import { makeDirectory } from '../../shared/files.js';

/** What a backup says of itself. `note` is the newest event of the log in it, or the newest that the keys in it have seen. */
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
  return finish(directory, { kind: 'keys', at: isoTime(nowMs), expiresAt: isoTime(nowMs + days * DAY_MS), note: note ?? null });
};

const begin = (directory: string): void => {
  makeDirectory(directory);
  const entry = readdirSync(directory)[0];
  if (entry !== undefined) throw new Error(`${directory} is not empty (${entry}); a backup wants a directory of its own`);
};

/** Written last: a directory without it holds no whole backup. */
const finish = (directory: string, backup: Backup): Backup => {
  writePrivately(join(directory, DESCRIPTION), `${JSON.stringify(backup, undefined, 2)}\n`);
  return backup;
};

const writePrivately = (file: string, text: string): void => writeFileSync(file, text, { mode: 0o600, flag: 'wx', flush: true });

export const isExpired = ({ expiresAt }: Backup): boolean => expiresAt !== undefined && Date.parse(expiresAt) <= systemClock().now();

/** Throws where the directory holds no whole backup of that kind. */
export const readBackup = (directory: string, kind: Backup['kind']): Backup => {
  const file = join(directory, DESCRIPTION);
  if (!existsSync(file)) throw new Error(`${directory} holds no whole backup: there is no ${DESCRIPTION} in it`);
  const backup = JSON.parse(readFileSync(file, 'utf8')) as Backup;
  if (backup.kind !== kind) throw new Error(`${directory} holds a backup of the ${backup.kind}, not of the ${kind}`);
  if (!existsSync(join(directory, NAMES[kind]))) throw new Error(`${directory} holds no whole backup: there is no ${NAMES[kind]} in it`);
  return backup;
};

/** The database itself comes last, so that an interrupted move is finished by the next. */
const SUFFIXES = ['-shm', '-wal', ''] as const;
const asideOf = (file: string): string => `${file}.replaced`;

/**
 * Puts the store of a backup in its place. The one that stood there is kept under another name until `forgetReplaced`; where an
 * interrupted restore has left one there, that is the original.
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
  if (kind === 'log' && localStores(config).files) await copyFiles({ from: join(directory, 'files'), to: placesOf(config).files });
};

export type Replaced = Readonly<{ log: EventStore | undefined; keys: NotedKeys | undefined; close: () => Promise<void> }>;

/** What a restore has replaced, as far as it can be opened: a store that is damaged is often why there is a restore. */
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
    if (localStores(config)[kind]) for (const suffix of SUFFIXES) rmSync(asideOf(placesOf(config)[kind]) + suffix, { force: true });
};

/** Where a log or keys stand already, their names. */
export const storesThere = (config: Config, kinds: readonly Backup['kind'][]): readonly string[] =>
  kinds.map((kind) => placesOf(config)[kind]).filter((file) => existsSync(file));
