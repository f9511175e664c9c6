/**
 * The table of wrapped keys: rows of equal size that fill one page each, written once, many keys in each. A destroyed key is
 * overwritten in place, and no row is ever deleted or grows, for the database would copy rows from page to page and leave
 * the old copies in the free space.
 */
import { timingSafeEqual } from 'node:crypto';
import type { LogMark } from '../../domain/ports/keys.js';
import { inTransaction, type Database } from '../sqlite/database.js';
import { keysPerRow, wrappedRowSizeBytes } from './wrapping.js';

/**
 * Rows are numbered by the time, in microseconds, so that a table that was put back from an older backup never gives a number
 * again that it gave since: the log may name it.
 */
const rowsPerMs = 1_000;

export type KeyTable = Readonly<{
  wrapped: (row: number) => Buffer | undefined;
  /** Inside a transaction. Out: the number of the new row, higher than any before it. */
  add: (wrapped: Buffer) => number;
  /** Inside a transaction: the row as it now stands. */
  replace: (row: number, wrapped: Buffer) => void;
  mark: () => LogMark | undefined;
  setMark: (mark: LogMark) => void;
}>;

const schema = `
  CREATE TABLE IF NOT EXISTS master (one INTEGER PRIMARY KEY CHECK (one = 1), value BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS mark (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS keys (
    row INTEGER PRIMARY KEY,
    wrapped BLOB NOT NULL CHECK (length(wrapped) = ${wrappedRowSizeBytes})
  ) STRICT`;

/** Throws where the keys were wrapped by another master key than the one whose check value is given. */
export const openKeyTable = (database: Database, masterKeyCheck: Buffer): KeyTable => {
  inTransaction(database, () => {
    database.exec(schema);
    checkMasterKey(database, masterKeyCheck);
  });
  const select = database.prepare<[number], Buffer>('SELECT wrapped FROM keys WHERE row = ?').pluck();
  const insert = database.prepare('INSERT INTO keys (row, wrapped) SELECT max(?, coalesce(max(row), 0) + 1), ? FROM keys');
  const update = database.prepare('UPDATE keys SET wrapped = ? WHERE row = ?');
  const selectMark = database.prepare<[], LogMark>('SELECT position, hash FROM mark');
  const upsertMark = database.prepare('INSERT OR REPLACE INTO mark (one, position, hash) VALUES (1, ?, ?)');

  return {
    wrapped: (row) => select.get(row),
    add: (wrapped) => Number(insert.run(Date.now() * rowsPerMs, wrapped).lastInsertRowid),
    replace: (row, wrapped) => void update.run(wrapped, row),
    mark: () => selectMark.get(),
    setMark: ({ position, hash }) => void upsertMark.run(position, hash),
  };
};

/** Where a key stands. As text: `<row>.<index>`. */
export type KeyPlace = Readonly<{ row: number; index: number }>;

export const keyIdOf = ({ row, index }: KeyPlace): string => `${row}.${index}`;

const KEY_ID = /^([1-9]\d{0,15})\.(0|[1-9]\d{0,2})$/;

/** In: any text. Out: the place, or undefined where no key of ours can have that id. */
export const parseKeyId = (id: string): KeyPlace | undefined => {
  const match = KEY_ID.exec(id);
  if (match === null) return undefined;
  const index = Number(match[2]);
  return index < keysPerRow ? { row: Number(match[1]), index } : undefined;
};

const checkMasterKey = (database: Database, check: Buffer): void => {
  const known = database.prepare<[], Buffer>('SELECT value FROM master').pluck().get();
  if (known === undefined) {
    database.prepare('INSERT INTO master (one, value) VALUES (1, ?)').run(check);
    return;
  }
  if (known.byteLength !== check.byteLength || !timingSafeEqual(known, check)) {
    throw new Error(
      `the master key given is not the one that ${database.name} was made with; start with that one, or nothing sealed can be opened`,
    );
  }
};
