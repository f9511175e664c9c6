/** Sealing keys in a SQLite file of their own, wrapped by the master key, so that a backup of the log carries none. */
import type { KeyObject } from 'node:crypto';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { busyTimeoutMs, type Database, openDatabase, tellingRefusals } from '../sqlite/database.js';
import type { Keys, LogMark, NewKey, SealingKey } from '../../domain/ports/keys.js';
import { boundedCache } from '../../shared/cache.js';
import { groupCommit } from '../sqlite/group-commit.js';
import { keyPool, keyIdOf, keyPlacesByRow, openKeyTable, type KeyTable } from './key-table.js';
import {
  deriveFrom,
  sealingKey,
  isSameRow,
  keysPerRow,
  makeKeys,
  openRow,
  withoutKeys,
  type WrappedRow,
} from './key-wrap.js';

type Change =
  | Readonly<{ kind: 'make' }>
  | Readonly<{ kind: 'destroy'; ids: readonly string[] }>
  | Readonly<{ kind: 'mark'; mark: LogMark }>;

type Options = Readonly<{
  /** Called once for each row that does not verify. */
  onFault?: (row: number) => void;
}>;

type OpenedRows = Readonly<{
  /** Out: a function from index to key; undefined if the row does not verify. */
  open: (row: number, wrapped: WrappedRow) => ReturnType<typeof openRow>;
  forget: (row: number) => void;
}>;

const truncationAttemptsMax = 200;
const truncationPauseMs = 50;

/** Rows of one commit, so that others get their turn. */
const ROWS_AT_ONCE = 64;

const openedRowsMax = 8;

/** Faulty rows that are reported once each. */
const FAULTS_NOTED_MAX = 1_000;

/**
 * In: the database file, made if there is none, and the master key (32 bytes).
 * Throws if the file was made with another master key.
 */
export const openSqliteKeys = ({
  file,
  masterKey,
  ...options
}: Options & Readonly<{ file: string; masterKey: Buffer }>): Keys => {
  const master = deriveFrom(masterKey);
  const database = openDatabase({ file, synchronous: 'full', secureDelete: true });
  try {
    return keysOn(database, master, options);
  } catch (error) {
    database.close();
    throw error;
  }
};

/** The keys on an open database, which they close with themselves. */
export const keysOn = (database: Database, master: ReturnType<typeof deriveFrom>, options: Options = {}): Keys => {
  const { onFault = () => {} } = options;
  const { wrapping } = master;
  const table = openKeyTable(database, master.check);
  const rows = openedRows(wrapping, onFault);
  const commits = groupCommit<Change, readonly NewKey[]>({
    database,
    weight: (change) => (change.kind === 'destroy' ? change.ids.length : 1),
    apply: (change) => {
      switch (change.kind) {
        case 'make':
          return make(table, wrapping);
        case 'destroy':
          return destroy(table, wrapping, rows, change.ids);
        case 'mark':
          table.setMark(change.mark);
          return [];
      }
    },
  });
  const pool = keyPool(() => commits.run({ kind: 'make' }), keysPerRow / 2);
  const emptyLog = logTruncation(database);

  return tellingRefusals<Keys>('keys', {
    create: pool.take,
    getMany: async (ids) => keysAmong(table, rows, ids),
    destroy: async (ids) => {
      await commits.run({ kind: 'destroy', ids });
      await emptyLog();
      return { journalMs: 0 };
    },
    faults: () => faultsOf(table, wrapping, database.name),
    mark: async () => table.mark(),
    setMark: async (mark) => void (await commits.run({ kind: 'mark', mark })),
    fingerprint: master.fingerprint,
    close: async () => {
      pool.close();
      commits.close();
      database.close();
    },
  });
};

const make = (table: KeyTable, wrapping: KeyObject): readonly NewKey[] => {
  const { keys, wrap } = makeKeys();
  const row = table.add((number) => wrap(wrapping, number));
  return keys.map((key, index) => ({ id: keyIdOf({ row, index }), key: sealingKey(key) }));
};

const destroy = (table: KeyTable, wrapping: KeyObject, rows: OpenedRows, ids: readonly string[]): readonly NewKey[] => {
  for (const [row, named] of keyPlacesByRow(ids)) {
    const wrapped = table.wrapped(row);
    rows.forget(row);
    const indexes = named.map(({ index }) => index);
    if (wrapped !== undefined) table.replace(row, withoutKeys(wrapping, row, wrapped, indexes));
  }
  return [];
};

const faultsOf = async (table: KeyTable, wrapping: KeyObject, file: string): Promise<readonly string[]> => {
  const faults: string[] = [];
  for (let last = 0; ;) {
    const rows = table.rowsAfter(last, ROWS_AT_ONCE);
    if (rows.length === 0) return faults;
    for (const row of rows) {
      const wrapped = table.wrapped(row);
      if (wrapped !== undefined && openRow(wrapping, row, wrapped) === undefined)
        faults.push(
          `${file}: row ${row} is not what was written there: it was changed, or put in the place of another`,
        );
    }
    last = rows.at(-1)!;
    await turn();
  }
};

const keysAmong = (table: KeyTable, rows: OpenedRows, ids: readonly string[]): ReadonlyMap<string, SealingKey> => {
  const found = new Map<string, SealingKey>();
  for (const [row, named] of keyPlacesByRow(ids)) {
    const wrapped = table.wrapped(row);
    if (wrapped === undefined) continue;
    const keyAt = rows.open(row, wrapped);
    for (const { id, index } of named) {
      const key = keyAt?.(index);
      if (key !== undefined) found.set(id, sealingKey(key));
    }
  }
  return found;
};

/**
 * Caches the rows opened last: emails that are made together have their keys in one row, and are delivered together.
 * Each use compares the cached row with the database, so a key that another process destroyed is not found here either.
 */
const openedRows = (wrapping: KeyObject, onFault: (row: number) => void): OpenedRows => {
  const opened = boundedCache<number, Readonly<{ wrapped: WrappedRow; keyAt: ReturnType<typeof openRow> }>>({
    entriesMax: openedRowsMax,
  });
  const faulty = boundedCache<number, true>({ entriesMax: FAULTS_NOTED_MAX });
  return {
    open: (row, wrapped) => {
      const known = opened.get(row);
      if (known !== undefined && isSameRow(known.wrapped, wrapped)) return known.keyAt;
      const keyAt = openRow(wrapping, row, wrapped);
      if (keyAt === undefined && faulty.get(row) === undefined) {
        faulty.set(row, true);
        onFault(row);
      }
      opened.set(row, { wrapped, keyAt });
      return keyAt;
    },
    forget: (row) => void opened.delete(row),
  };
};

/**
 * Empties the write-ahead log, which still holds pages with the destroyed keys: SQLite copies it into the database and
 * truncates it. A process that reads at this moment prevents that, so the truncation is tried again, without blocking.
 * Calls of one turn of the event loop share one truncation. Rejects if the log could not be emptied in time.
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
