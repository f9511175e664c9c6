/** Sealing keys in a SQLite file of their own, wrapped by the master key, so that a backup of the log carries none. */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import type { Keys, SealingKey } from '../../domain/ports/keys.js';
import { busyTimeoutMs, openDatabase, type Database } from '../sqlite/database.js';
import { groupCommit } from '../sqlite/group-commit.js';
import { openKeyTable } from './key-table.js';
import { deriveFrom } from './master-key.js';
import { randomPool } from './random-pool.js';
import { keySizeBytes, sealingKey } from './sealing.js';

type Change = Readonly<{ kind: 'create'; id: string }> | Readonly<{ kind: 'destroy'; ids: readonly string[] }>;

/**
 * In: the database file, made where there is none, and the master key (32 bytes).
 * Throws where the file was made with another master key.
 */
export const openSqliteKeys = ({ file, masterKey }: Readonly<{ file: string; masterKey: Buffer }>): Keys => {
  const master = deriveFrom(masterKey);
  const database = openDatabase({ file, synchronous: 'full', secureDelete: true });
  try {
    return keysOn(database, master);
  } catch (error) {
    database.close();
    throw error;
  }
};

/** The keys on an open database, which they close with themselves. */
export const keysOn = (database: Database, master: ReturnType<typeof deriveFrom>): Keys => {
  const table = openKeyTable(database, master.check);
  const wrapper = sealingKey(master.wrapping);
  const random = randomPool();

  const find = (id: string): SealingKey | undefined => {
    const wrapped = table.wrapped(id);
    return wrapped === undefined ? undefined : sealingKey(wrapper.open(wrapped, id));
  };

  const make = (id: string): SealingKey => {
    const key = random(keySizeBytes);
    table.put(id, wrapper.seal(key, id));
    return sealingKey(key);
  };

  const commits = groupCommit<Change, SealingKey | undefined>({
    database,
    weight: (change) => (change.kind === 'create' ? 1 : change.ids.length),
    apply: (change) => {
      if (change.kind === 'create') return { result: find(change.id) ?? make(change.id) };
      for (const id of change.ids) table.erase(id);
      return { result: undefined };
    },
  });
  const emptyLog = logTruncation(database);

  return {
    create: async (id) => {
      const key = await commits.run({ kind: 'create', id });
      if (key === undefined) throw new Error('a created key is missing');
      return key;
    },
    getMany: async (ids) => {
      const found = new Map<string, SealingKey>();
      for (const id of ids) {
        const key = find(id);
        if (key !== undefined) found.set(id, key);
      }
      return found;
    },
    destroy: async (ids) => {
      await commits.run({ kind: 'destroy', ids });
      await emptyLog();
    },
    fingerprint: master.fingerprint,
    close: async () => {
      commits.close();
      database.close();
    },
  };
};

const truncationAttemptsMax = 200;
const truncationPauseMs = 50;

/**
 * The write-ahead log still holds the pages as they were: it is copied into the database and cut to nothing.
 * Another process that reads at this moment keeps it from that, so it is tried again, without blocking.
 * Calls of one turn of the event loop share one truncation. Rejects where the log could not be emptied in time.
 */
const logTruncation = (database: Database): (() => Promise<void>) => {
  let shared: Promise<void> | undefined;

  const truncate = async (): Promise<void> => {
    await turn();
    shared = undefined;
    for (let attempt = 1; attempt <= truncationAttemptsMax; attempt += 1) {
      database.pragma('busy_timeout = 0');
      const busy = database.pragma('wal_checkpoint(TRUNCATE)', { simple: true });
      database.pragma(`busy_timeout = ${busyTimeoutMs}`);
      if (busy === 0) return;
      await pause(truncationPauseMs);
    }
    throw new Error('the destroyed keys still stand in the write-ahead log, for another process keeps reading it');
  };

  return () => (shared ??= truncate());
};
