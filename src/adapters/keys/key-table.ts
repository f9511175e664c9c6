/**
 * The table of wrapped keys: rows of equal size that fill one page each, many keys in each. When a key is destroyed its
 * row is overwritten in place. No row is deleted or outgrows its page, because SQLite would then copy rows from page to
 * page and leave old copies in the free space.
 */
import { timingSafeEqual } from 'node:crypto';
import type { LogMark, NewKey } from '../../domain/ports/keys.js';
import { inTransaction, type Database, openDatabase, openLogNote } from '../sqlite/database.js';
import { wrappedRowSizeBytes, type WrappedRow, isDestroyed, keysPerRow } from './key-wrap.js';
import type { NotedKeys } from '../../domain/ports/log-note.js';

/**
 * Rows are numbered by the time in microseconds, so that a table restored from an older backup never gives a number
 * twice: the log may name the first.
 */
const rowsPerMs = 1_000;

export type KeyTable = Readonly<{
  wrapped: (row: number) => WrappedRow | undefined;
  /**
   * Inside a transaction. In: wraps the keys for the row of that number. Out: the number of the new row, higher than
   * any before it.
   */
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
  const selectAfter = database
    .prepare<[number, number], number>('SELECT row FROM keys WHERE row > ? ORDER BY row LIMIT ?')
    .pluck();
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
  const selectAfter = database.prepare<[number], Row>(
    'SELECT row, wrapped AS bytes, tag FROM keys WHERE row > ? ORDER BY row LIMIT 100',
  );
  let ids: string[] = [];
  for (let after = 0; ;) {
    const rows = selectAfter.all(after);
    for (const found of rows)
      for (let index = 0; index < keysPerRow; index += 1)
        if (isDestroyed(found, index)) ids.push(keyIdOf({ row: found.row, index }));
    const last = rows.at(-1);
    if (last === undefined || ids.length >= idsPerBatch) {
      if (ids.length > 0) yield ids;
      ids = [];
    }
    if (last === undefined) return;
    after = last.row;
  }
}

// The ids of keys, which name a row of wrapped keys and an index in it, and a pool of keys made ahead; for every store
// of keys.

/** The row and index of a key. As text: `<row>.<index>`. */
type KeyPlace = Readonly<{ row: number; index: number }>;

export const keyIdOf = ({ row, index }: KeyPlace): string => `${row}.${index}`;

const KEY_ID = /^([1-9]\d{0,15})\.(0|[1-9]\d{0,2})$/;

/** In: any text. Out: undefined if no key of ours can have that id. */
export const parseKeyId = (id: string): KeyPlace | undefined => {
  const match = KEY_ID.exec(id);
  if (match === null) return undefined;
  const index = Number(match[2]);
  return index < keysPerRow ? { row: Number(match[1]), index } : undefined;
};

type NamedKey = Readonly<{ id: string; index: number }>;

/** Leaves out ids that no key of ours can have. */
export const keyPlacesByRow = (ids: readonly string[]): ReadonlyMap<number, readonly NamedKey[]> => {
  const rows = new Map<number, NamedKey[]>();
  for (const id of ids) {
    const place = parseKeyId(id);
    if (place === undefined) continue;
    const known = rows.get(place.row);
    if (known === undefined) rows.set(place.row, [{ id, index: place.index }]);
    else known.push({ id, index: place.index });
  }
  return rows;
};

type KeyPool = Readonly<{
  /** Answers at once if a key is left. Rejects if none is left and none can be made. */
  take: () => Promise<NewKey>;
  /** Forgets the keys that are left. */
  close: () => void;
}>;

/**
 * Durable keys made ahead and given out one by one: many share one commit, and a caller seldom waits for it.
 * In: a function that makes more keys and resolves when they are durable; called when fewer than `low` are left.
 */
export const keyPool = (make: () => Promise<readonly NewKey[]>, low: number): KeyPool => {
  let ready: NewKey[] = [];
  let making: Promise<void> | undefined;
  let closed = false;

  const refill = (): Promise<void> =>
    (making ??= make().then(
      (made) => {
        making = undefined;
        if (!closed) ready = [...made, ...ready];
      },
      (fault: unknown) => {
        making = undefined;
        throw fault;
      },
    ));

  const left = (): NewKey | undefined => {
    const key = ready.pop();
    // No caller waits for these keys, so a fault is ignored: a caller that finds the pool empty tries again and gets
    // the fault.
    if (key !== undefined && ready.length < low) refill().catch(() => {});
    return key;
  };

  return {
    take: async () => {
      for (;;) {
        const key = left();
        if (key !== undefined) return key;
        if (closed) throw new Error('the keys are closed');
        await refill();
      }
    },
    close: () => {
      closed = true;
      ready = [];
    },
  };
};
