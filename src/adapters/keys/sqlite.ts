/** Sealing keys in a SQLite file of their own, wrapped by the master key, so that a backup of the log carries none. */
import type { KeyObject } from 'node:crypto';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import type { Keys, NewKey, SealingKey } from '../../domain/ports/keys.js';
import { busyTimeoutMs, openDatabase, type Database } from '../sqlite/database.js';
import { groupCommit } from '../sqlite/group-commit.js';
import { keyPool } from './key-pool.js';
import { keyIdOf, openKeyTable, parseKeyId } from './key-table.js';
import { deriveFrom } from './master-key.js';
import { sealingKey } from './sealing.js';
import { keysPerRow, makeKeys, openRow, withoutKeys } from './wrapping.js';

type Change = Readonly<{ kind: 'make' }> | Readonly<{ kind: 'destroy'; ids: readonly string[] }>;

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

  const rows = openedRows(master.wrapping);

  const make = (): readonly NewKey[] => {
    const { keys, wrapped } = makeKeys(master.wrapping);
    const row = table.add(wrapped);
    return keys.map((key, index) => ({ id: keyIdOf({ row, index }), key: sealingKey(key) }));
  };
  const destroy = (ids: readonly string[]): readonly NewKey[] => {
    for (const [row, places] of byRow(ids)) {
      const wrapped = table.wrapped(row);
      rows.forget(row);
      if (wrapped !== undefined)
        table.replace(
          row,
          withoutKeys(
            wrapped,
            places.map(({ index }) => index),
          ),
        );
    }
    return [];
  };

  const commits = groupCommit<Change, readonly NewKey[]>({
    database,
    weight: (change) => (change.kind === 'make' ? 1 : change.ids.length),
    apply: (change) => (change.kind === 'make' ? make() : destroy(change.ids)),
  });
  const pool = keyPool(() => commits.run({ kind: 'make' }), keysPerRow / 2);
  const emptyLog = logTruncation(database);

  return {
    create: pool.take,
    getMany: async (ids) => {
      const found = new Map<string, SealingKey>();
      for (const [row, places] of byRow(ids)) {
        const wrapped = table.wrapped(row);
        if (wrapped === undefined) continue;
        const keyAt = rows.open(row, wrapped);
        for (const { id, index } of places) {
          const key = keyAt(index);
          if (key !== undefined) found.set(id, sealingKey(key));
        }
      }
      return found;
    },
    destroy: async (ids) => {
      await commits.run({ kind: 'destroy', ids });
      await emptyLog();
      return { journalMs: 0 };
    },
    fingerprint: master.fingerprint,
    close: async () => {
      pool.close();
      commits.close();
      database.close();
    },
  };
};

const openedRowsMax = 8;

/**
 * Emails that are made together have their keys in one row, and are delivered together: the rows opened last are kept open. What
 * stands in the database is compared each time, so a key that was destroyed, by whatever process, is not found here either.
 */
const openedRows = (wrapping: KeyObject) => {
  const opened = new Map<number, Readonly<{ wrapped: Buffer; keyAt: ReturnType<typeof openRow> }>>();
  return {
    open: (row: number, wrapped: Buffer): ReturnType<typeof openRow> => {
      const known = opened.get(row);
      if (known !== undefined && known.wrapped.equals(wrapped)) return known.keyAt;
      const keyAt = openRow(wrapping, wrapped);
      opened.delete(row);
      opened.set(row, { wrapped, keyAt });
      if (opened.size > openedRowsMax) opened.delete(opened.keys().next().value!);
      return keyAt;
    },
    forget: (row: number): void => void opened.delete(row),
  };
};

type Named = Readonly<{ id: string; index: number }>;

/** Ids that are none of ours are left out: there is no key of that name. */
const byRow = (ids: readonly string[]): ReadonlyMap<number, readonly Named[]> => {
  const rows = new Map<number, Named[]>();
  for (const id of ids) {
    const place = parseKeyId(id);
    if (place === undefined) continue;
    const known = rows.get(place.row);
    if (known === undefined) rows.set(place.row, [{ id, index: place.index }]);
    else known.push({ id, index: place.index });
  }
  return rows;
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
