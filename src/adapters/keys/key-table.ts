/**
 * The table of wrapped keys: rows of equal size that fill one page each, many keys in each. When a key is destroyed its row is overwritten
 * in place. No row is deleted or outgrows its page, because SQLite would then copy rows from page to page and leave old copies in the free space.
 */
import { timingSafeEqual } from 'node:crypto';
import type { LogMark } from '../../domain/ports/keys.js';
import { inTransaction, type Database, openDatabase, openLogNote } from '../sqlite/database.js';
import { wrappedRowSizeBytes, type WrappedRow, isDestroyed, keysPerRow } from './wrapping.js';
import type { NotedKeys } from '../../domain/ports/log-note.js';
import { keyIdOf, parseKeyId } from './key-ids.js';

/**
 * Rows are numbered by the time in microseconds, so that a table restored from an older backup never gives a number twice: the log may
 * name the first.
 */
const rowsPerMs = 1_000;

export type KeyTable = Readonly<{
  wrapped: (row: number) => WrappedRow | undefined;
  /** Inside a transaction. In: wraps the keys for the row of that number. Out: the number of the new row, higher than any before it. */
  add: (wrap: (row: number) => WrappedRow) => number;
  /** Inside a transaction. */
  replace: (row: number, wrapped: WrappedRow) => void;
  /** The numbers of the rows after one, at most so many, in order. */
  rowsAfter: (row: number, limit: number) => readonly number[];
  mark: () => LogMark | undefined;
  setMark: (mark: LogMark) => void;
}>;

const schema = `
  CREATE TABLE IF NOT EXISTS master (one INTEGER PRIMARY KEY CHECK (one = 1), value BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS mark (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS keys (
    row INTEGER PRIMARY KEY,
    wrapped BLOB NOT NULL CHECK (length(wrapped) = ${wrappedRowSizeBytes}),
    tag BLOB NOT NULL
  ) STRICT`;

/** Throws if the keys were wrapped by another master key than the one whose check value is given. */
export const openKeyTable = (database: Database, masterKeyCheck: Buffer): KeyTable => {
  inTransaction(database, () => {
    database.exec(schema);
    checkMasterKey(database, masterKeyCheck);
  });
  const select = database.prepare<[number], [Buffer, Buffer]>('SELECT wrapped, tag FROM keys WHERE row = ?').raw(true);
  const nextRow = database.prepare<[number], number>('SELECT max(?, coalesce(max(row), 0) + 1) FROM keys').pluck();
  const insert = database.prepare('INSERT INTO keys (row, wrapped, tag) VALUES (?, ?, ?)');
  const update = database.prepare('UPDATE keys SET wrapped = ?, tag = ? WHERE row = ?');
  const selectAfter = database.prepare<[number, number], number>('SELECT row FROM keys WHERE row > ? ORDER BY row LIMIT ?').pluck();
  const selectMark = database.prepare<[], LogMark>('SELECT position, hash FROM mark');
  const upsertMark = database.prepare('INSERT OR REPLACE INTO mark (one, position, hash) VALUES (1, ?, ?)');

  return {
    wrapped: (row) => {
      const found = select.get(row);
      return found && { bytes: found[0], tag: found[1] };
    },
    add: (wrap) => {
      const row = nextRow.get(Date.now() * rowsPerMs)!;
      const { bytes, tag } = wrap(row);
      insert.run(row, bytes, tag);
      return row;
    },
    replace: (row, { bytes, tag }) => void update.run(bytes, tag, row),
    rowsAfter: (row, limit) => selectAfter.all(row, limit),
    mark: () => selectMark.get(),
    setMark: ({ position, hash }) => void upsertMark.run(position, hash),
  };
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

/** Whether the keys of a file, which exists, were wrapped by the master key with that check value. */
export const isWrappedBy = ({ file, check }: Readonly<{ file: string; check: Buffer }>): boolean => {
  const database = openDatabase({ file, synchronous: 'normal', cacheSizeKiB: 64, mustExist: true });
  try {
    const known = database.prepare<[], Buffer>('SELECT value FROM master').pluck().get();
    return known?.byteLength === check.byteLength && timingSafeEqual(known, check);
  } finally {
    database.close();
  }
};

/**
 * Tells destroyed keys from keys that never were: a row has a bit behind its tag for each destroyed key.
 * Needs no master key. In: the file of the keys, which exists.
 */
export const openNotedKeys = ({ file }: Readonly<{ file: string }>): NotedKeys => {
  const note = openLogNote({ file });
  const database = openDatabase({ file, synchronous: 'normal', cacheSizeKiB: 64, mustExist: true });
  const select = database.prepare<[number], Row>('SELECT row, wrapped AS bytes, tag FROM keys WHERE row = ?');
  return {
    ...note,
    isDestroyed: async (id) => {
      const place = parseKeyId(id);
      const wrapped = place && select.get(place.row);
      return wrapped !== undefined && isDestroyed(wrapped, place!.index);
    },
    destroyed: () => destroyedIn(database),
    close: async () => {
      database.close();
      await note.close();
    },
  };
};

type Row = WrappedRow & Readonly<{ row: number }>;

const idsPerBatch = 10_000;

function* destroyedIn(database: Database): Generator<readonly string[]> {
  const selectAfter = database.prepare<[number], Row>('SELECT row, wrapped AS bytes, tag FROM keys WHERE row > ? ORDER BY row LIMIT 100');
  let ids: string[] = [];
  for (let after = 0; ;) {
    const rows = selectAfter.all(after);
    for (const found of rows)
      for (let index = 0; index < keysPerRow; index += 1) if (isDestroyed(found, index)) ids.push(keyIdOf({ row: found.row, index }));
    const last = rows.at(-1);
    if (last === undefined || ids.length >= idsPerBatch) {
      if (ids.length > 0) yield ids;
      ids = [];
    }
    if (last === undefined) return;
    after = last.row;
  }
}
