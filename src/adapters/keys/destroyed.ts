/** Which keys were destroyed, told from those that were never there: a destroyed key has left zeros in its row. No master key is needed. */
import type { NotedKeys } from '../../domain/ports/log-note.js';
import { openDatabase, type Database } from '../sqlite/database.js';
import { openLogNote } from '../sqlite/log-note.js';
import { keyIdOf, parseKeyId } from './key-table.js';
import { isDestroyed, keysPerRow } from './wrapping.js';

/** In: the file of the keys, which exists. */
export const openNotedKeys = ({ file }: Readonly<{ file: string }>): NotedKeys => {
  const note = openLogNote({ file });
  const database = openDatabase({ file, synchronous: 'normal', cacheSizeKiB: 64, mustExist: true });
  const select = database.prepare<[number], Buffer>('SELECT wrapped FROM keys WHERE row = ?').pluck();
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

const idsPerBatch = 10_000;

function* destroyedIn(database: Database): Generator<readonly string[]> {
  const selectAfter = database.prepare<[number], { row: number; wrapped: Buffer }>(
    'SELECT row, wrapped FROM keys WHERE row > ? ORDER BY row LIMIT 100',
  );
  let ids: string[] = [];
  for (let after = 0; ;) {
    const rows = selectAfter.all(after);
    for (const { row, wrapped } of rows)
      for (let index = 0; index < keysPerRow; index += 1) if (isDestroyed(wrapped, index)) ids.push(keyIdOf({ row, index }));
    const last = rows.at(-1);
    if (last === undefined || ids.length >= idsPerBatch) {
      if (ids.length > 0) yield ids;
      ids = [];
    }
    if (last === undefined) return;
    after = last.row;
  }
}
