/** Copies the wrapped keys of a SQLite file to MongoDB: the same rows under the same numbers, so every id stays what it is. */
import type { Logger } from '../../domain/ports/logger.js';
import { openMongo } from '../mongodb/client.js';
import { durableWrites } from '../mongodb/log-note.js';
import { openDatabase } from '../sqlite/database.js';
import { openKeyTable } from './key-table.js';
import { deriveFrom } from './master-key.js';
import { keysCollection, keysStateCollection } from './mongodb.js';
import type { KeyRow } from './mongodb-rows.js';
import { bindRow } from './wrapping.js';

export type KeyCopy = Readonly<{
  /** The SQLite file; nothing may write to it meanwhile. */
  file: string;
  /** 32 bytes: the one of both. */
  masterKey: Buffer;
  url: string;
  logger: Logger;
  onCopied: (rows: number) => void;
}>;

const rowsAtOnce = 200;

/**
 * Safe to repeat: a row is written as it stands, a key that was destroyed since the last time included. Rows of before there were tags get
 * one. Rejects where the keys there were made with another master key. Out: how many rows.
 */
export const copyKeysToMongo = async ({ file, masterKey, onCopied, ...server }: KeyCopy): Promise<number> => {
  const { wrapping, check } = deriveFrom(masterKey);
  const database = openDatabase({ file, synchronous: 'full', mustExist: true });
  const mongo = await openMongo(server).catch((error: unknown) => {
    database.close();
    throw error;
  });
  try {
    const table = openKeyTable(database, check);
    const state = mongo.db.collection<{ _id: string; value?: Buffer }>(keysStateCollection, { promoteBuffers: true });
    await state.updateOne({ _id: 'master' }, { $setOnInsert: { value: check } }, { ...durableWrites, upsert: true });
    const known = (await state.findOne({ _id: 'master' }))?.value;
    if (known?.equals(check) !== true) throw new Error('the keys there were made with another master key; copy into an empty database');
    const rows = mongo.db.collection<KeyRow>(keysCollection);
    let copied = 0;
    for (let last = 0; ;) {
      const numbers = table.rowsAfter(last, rowsAtOnce);
      if (numbers.length === 0) return copied;
      const writes = numbers.flatMap((row) => {
        const wrapped = table.wrapped(row);
        if (wrapped === undefined) return [];
        const { bytes, tag } = wrapped.tag === undefined ? bindRow(wrapping, row, wrapped) : wrapped;
        return [{ replaceOne: { filter: { _id: row }, replacement: { wrapped: bytes, tag: tag! }, upsert: true } }];
      });
      await rows.bulkWrite(writes, { ...durableWrites, ordered: true });
      copied += writes.length;
      onCopied(copied);
      last = numbers.at(-1)!;
    }
  } finally {
    database.close();
    await mongo.close();
  }
};
