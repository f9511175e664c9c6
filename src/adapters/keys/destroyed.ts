/** Which keys were destroyed, told from those that were never there: its row says so, by zeros in the place of the key or by a bit behind its tag. No master key is needed. */
import type { NotedKeys } from '../../domain/ports/log-note.js';
import { openDatabase, type Database } from '../sqlite/database.js';
import { openLogNote } from '../sqlite/log-note.js';
import { keyIdOf, parseKeyId } from './key-ids.js';
import { addTagColumn } from './key-table.js';
import { isDestroyed, keysPerRow, type WrappedRow } from './wrapping.js';

/** In: the file of the keys, which exists. */
export const openNotedKeys = ({ file }: Readonly<{ file: string }>): NotedKeys => {
  const note = openLogNote({ file });
  const database = openDatabase({ file, synchronous: 'normal', cacheSizeKiB: 64, mustExist: true });
  addTagColumn(database);
  const select = database.prepare<[number], Row>('SELECT row, wrapped AS bytes, tag FROM keys WHERE row = ?');
  return {
    ...note,
    isDestroyed: async (id) => {
      const place = parseKeyId(id);
      const wrapped = place && select.get(place.row);
      return wrapped !== undefined && isDestroyed(rowOf(wrapped), place!.index);
    },
    destroyed: () => destroyedIn(database),
    close: async () => {
      database.close();
      await note.close();
    },
  };
};

type Row = Readonly<{ row: number; bytes: Buffer; tag: Buffer | null }>;

const rowOf = ({ bytes, tag }: Row): WrappedRow => ({ bytes, tag: tag ?? undefined });

const idsPerBatch = 10_000;

function* destroyedIn(database: Database): Generator<readonly string[]> {
  const selectAfter = database.prepare<[number], Row>('SELECT row, wrapped AS bytes, tag FROM keys WHERE row > ? ORDER BY row LIMIT 100');
  let ids: string[] = [];
  for (let after = 0; ;) {
    const rows = selectAfter.all(after);
    for (const found of rows) {
      const wrapped = rowOf(found);
      for (let index = 0; index < keysPerRow; index += 1) if (isDestroyed(wrapped, index)) ids.push(keyIdOf({ row: found.row, index }));
    }
    const last = rows.at(-1);
    if (last === undefined || ids.length >= idsPerBatch) {
      if (ids.length > 0) yield ids;
      ids = [];
    }
    if (last === undefined) return;
    after = last.row;
  }
}
