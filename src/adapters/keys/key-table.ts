/**
 * The table of wrapped keys. A wrapped key lives in a slot of fixed size that never moves: it is overwritten in place
 * when its key is destroyed, and used again. Rows that are deleted would not do, for the database copies rows
 * from page to page when it rebalances and leaves the old copies in the free space.
 */
import { timingSafeEqual } from 'node:crypto';
import { inTransaction, type Database } from '../sqlite/database.js';
import { keySizeBytes, sealingOverheadBytes } from './sealing.js';

export type KeyTable = Readonly<{
  wrapped: (id: string) => Buffer | undefined;
  /** Inside a transaction; `id` must have no key. `wrapped` is always of the same size. */
  put: (id: string, wrapped: Uint8Array) => void;
  /** Inside a transaction: zeros in place of the wrapped key. */
  erase: (id: string) => void;
}>;

export const wrappedSizeBytes = keySizeBytes + sealingOverheadBytes;

const schema = `
  CREATE TABLE IF NOT EXISTS master (one INTEGER PRIMARY KEY CHECK (one = 1), value BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS slots (
    slot INTEGER PRIMARY KEY,
    wrapped BLOB NOT NULL CHECK (length(wrapped) = ${wrappedSizeBytes})
  ) STRICT;
  CREATE TABLE IF NOT EXISTS ids (id TEXT PRIMARY KEY, slot INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS free (slot INTEGER PRIMARY KEY) STRICT`;

/** Throws where the keys were wrapped by another master key than the one whose check value is given. */
export const openKeyTable = (database: Database, masterKeyCheck: Buffer): KeyTable => {
  inTransaction(database, () => {
    database.exec(schema);
    checkMasterKey(database, masterKeyCheck);
  });
  const selectWrapped = database
    .prepare<[string], Buffer>('SELECT wrapped FROM ids JOIN slots USING (slot) WHERE id = ?')
    .pluck();
  const selectSlot = database.prepare<[string], number>('SELECT slot FROM ids WHERE id = ?').pluck();
  const selectFree = database.prepare<[], number>('SELECT slot FROM free LIMIT 1').pluck();
  const take = database.prepare('DELETE FROM free WHERE slot = ?');
  const giveBack = database.prepare('INSERT INTO free (slot) VALUES (?)');
  const fill = database.prepare('UPDATE slots SET wrapped = ? WHERE slot = ?');
  const add = database.prepare('INSERT INTO slots (wrapped) VALUES (?)');
  const name = database.prepare('INSERT INTO ids (id, slot) VALUES (?, ?)');
  const unname = database.prepare('DELETE FROM ids WHERE id = ?');
  const zeros = Buffer.alloc(wrappedSizeBytes);

  return {
    wrapped: (id) => selectWrapped.get(id),
    put: (id, wrapped) => {
      const free = selectFree.get();
      if (free === undefined) {
        name.run(id, add.run(wrapped).lastInsertRowid);
        return;
      }
      take.run(free);
      fill.run(wrapped, free);
      name.run(id, free);
    },
    erase: (id) => {
      const slot = selectSlot.get(id);
      if (slot === undefined) return;
      fill.run(zeros, slot);
      unname.run(id);
      giveBack.run(slot);
    },
  };
};

const checkMasterKey = (database: Database, check: Buffer): void => {
  const known = database.prepare<[], Buffer>('SELECT value FROM master').pluck().get();
  if (known === undefined) {
    database.prepare('INSERT INTO master (one, value) VALUES (1, ?)').run(check);
    return;
  }
  if (known.byteLength !== check.byteLength || !timingSafeEqual(known, check)) {
    throw new Error(`the master key given is not the one that ${database.name} was made with; start with that one, or nothing sealed can be opened`);
  }
};
