/** Which keys on MongoDB were destroyed, told by the bit behind the tag of their row. No master key is needed. */
import type { NotedKeys } from '../../domain/ports/log-note.js';
import type { Logger } from '../../domain/ports/logger.js';
import { openMongo, type Collection } from '../mongodb/client.js';
import { mongoLogNote } from '../mongodb/log-note.js';
import { keyIdOf, parseKeyId } from './key-ids.js';
import { keysCollection, keysStateCollection } from './mongodb.js';
import type { KeyRow } from './mongodb-rows.js';
import { isDestroyed, keysPerRow } from './wrapping.js';

export const openMongoNotedKeys = async (server: Readonly<{ url: string; setting?: string; logger: Logger }>): Promise<NotedKeys> => {
  const mongo = await openMongo(server);
  const rows = mongo.db.collection<KeyRow>(keysCollection, { promoteBuffers: true });
  return {
    ...mongoLogNote(mongo, keysStateCollection),
    isDestroyed: async (id) => {
      const place = parseKeyId(id);
      const row = place && (await rows.findOne({ _id: place.row }, { projection: { tag: 1 } }));
      return row?.tag !== undefined && isDestroyed({ bytes: NO_BYTES, tag: row.tag }, place!.index);
    },
    destroyed: () => destroyedIn(rows),
  };
};

const NO_BYTES = Buffer.alloc(0);
const idsPerBatch = 10_000;

async function* destroyedIn(rows: Collection<KeyRow>): AsyncGenerator<readonly string[]> {
  let ids: string[] = [];
  for await (const { _id, tag } of rows.find({}, { projection: { tag: 1 } }).sort({ _id: 1 })) {
    if (tag === undefined) continue;
    for (let index = 0; index < keysPerRow; index += 1)
      if (isDestroyed({ bytes: NO_BYTES, tag }, index)) ids.push(keyIdOf({ row: _id, index }));
    if (ids.length < idsPerBatch) continue;
    yield ids;
    ids = [];
  }
  if (ids.length > 0) yield ids;
}
