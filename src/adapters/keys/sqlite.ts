/** Sealing keys in a SQLite file of their own, wrapped by the master key, so that a backup of the log carries none. */
import type { KeyObject } from 'node:crypto';
import type { Keys, LogMark, NewKey, SealingKey } from '../../domain/ports/keys.js';
import { boundedCache } from '../../shared/bounded-cache.js';
import { openDatabase, type Database } from '../sqlite/database.js';
import { groupCommit } from '../sqlite/group-commit.js';
import { logTruncation } from './journal.js';
import { keyPool } from './key-pool.js';
import { keyIdOf, openKeyTable, parseKeyId, type KeyTable } from './key-table.js';
import { deriveFrom } from './master-key.js';
import { sealingKey } from './sealing.js';
import { keysPerRow, makeKeys, openRow, withoutKeys } from './wrapping.js';

type Change =
  Readonly<{ kind: 'make' }> | Readonly<{ kind: 'destroy'; ids: readonly string[] }> | Readonly<{ kind: 'mark'; mark: LogMark }>;

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
  const commits = groupCommit<Change, readonly NewKey[]>({
    database,
    weight: (change) => (change.kind === 'destroy' ? change.ids.length : 1),
    apply: (change) => {
      switch (change.kind) {
        case 'make':
          return make(table, master.wrapping);
        case 'destroy':
          return destroy(table, rows, change.ids);
        case 'mark':
          table.setMark(change.mark);
          return [];
      }
    },
  });
  const pool = keyPool(() => commits.run({ kind: 'make' }), keysPerRow / 2);
  const emptyLog = logTruncation(database);

  return {
    create: pool.take,
    getMany: async (ids) => keysAmong(table, rows, ids),
    destroy: async (ids) => {
      await commits.run({ kind: 'destroy', ids });
      await emptyLog();
      return { journalMs: 0 };
    },
    mark: async () => table.mark(),
    setMark: async (mark) => void (await commits.run({ kind: 'mark', mark })),
    fingerprint: master.fingerprint,
    close: async () => {
      pool.close();
      commits.close();
      database.close();
    },
  };
};

const make = (table: KeyTable, wrapping: KeyObject): readonly NewKey[] => {
  const { keys, wrapped } = makeKeys(wrapping);
  const row = table.add(wrapped);
  return keys.map((key, index) => ({ id: keyIdOf({ row, index }), key: sealingKey(key) }));
};

const destroy = (table: KeyTable, rows: ReturnType<typeof openedRows>, ids: readonly string[]): readonly NewKey[] => {
  for (const [row, named] of byRow(ids)) {
    const wrapped = table.wrapped(row);
    rows.forget(row);
    const indexes = named.map(({ index }) => index);
    if (wrapped !== undefined) table.replace(row, withoutKeys(wrapped, indexes));
  }
  return [];
};

const keysAmong = (table: KeyTable, rows: ReturnType<typeof openedRows>, ids: readonly string[]): ReadonlyMap<string, SealingKey> => {
  const found = new Map<string, SealingKey>();
  for (const [row, named] of byRow(ids)) {
    const wrapped = table.wrapped(row);
    if (wrapped === undefined) continue;
    const keyAt = rows.open(row, wrapped);
    for (const { id, index } of named) {
      const key = keyAt(index);
      if (key !== undefined) found.set(id, sealingKey(key));
    }
  }
  return found;
};

const openedRowsMax = 8;

/**
 * Emails that are made together have their keys in one row, and are delivered together: the rows opened last are kept open. What
 * stands in the database is compared each time, so a key that was destroyed, by whatever process, is not found here either.
 */
const openedRows = (wrapping: KeyObject) => {
  const opened = boundedCache<number, Readonly<{ wrapped: Buffer; keyAt: ReturnType<typeof openRow> }>>({ entriesMax: openedRowsMax });
  return {
    open: (row: number, wrapped: Buffer): ReturnType<typeof openRow> => {
      const known = opened.get(row);
      if (known !== undefined && known.wrapped.equals(wrapped)) return known.keyAt;
      const keyAt = openRow(wrapping, wrapped);
      opened.set(row, { wrapped, keyAt });
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
