/**
 * Sealing keys as documents of MongoDB, wrapped by the master key in the same rows as in a SQLite file. To destroy a key its row is
 * written anew without it. The server keeps what the row was before in its oplog and on its disk until both are overwritten.
 */
import { randomInt, timingSafeEqual } from 'node:crypto';
import type { Keys, LogMark, NewKey, SealingKey } from '../../domain/ports/keys.js';
import type { Logger } from '../../domain/ports/logger.js';
import { isDuplicateKey, openMongo, tellingAway, type Collection, type Mongo } from '../mongodb/client.js';
import { durableWrites } from '../mongodb/log-note.js';
import { gathered } from '../../shared/concurrency.js';
import { keyIdOf, keyPlacesByRow } from './key-ids.js';
import { keyPool } from './key-pool.js';
import { deriveFrom } from './master-key.js';
import { keyRows, type KeyRow, type StoredRow } from './mongodb-rows.js';
import { sealingKey } from './sealing.js';
import { isDestroyed, keysPerRow, makeKeys, openRow, withoutKeys, type Wrapping } from './wrapping.js';

export type MongoKeysOptions = Readonly<{
  url: string;
  setting?: string;
  logger: Logger;
  /** 32 bytes. */
  masterKey: Buffer;
  /** How long the oplog and the backups of the server's data hold what was destroyed. */
  journalMs?: number;
  /** Told once of each row that does not verify. */
  onFault?: (row: number) => void;
}>;

/** The collections of the keys and of what is noted beside them. */
export const keysCollection = 'keys';
export const keysStateCollection = 'keys.state';

/** A week: an oplog that holds more is larger than it need be. */
const journalMsDefault = 7 * 24 * 60 * 60 * 1000;

/** Rejects where the server cannot be used, and where the keys were made with another master key. */
export const openMongoKeys = async ({
  masterKey,
  journalMs = journalMsDefault,
  onFault = () => {},
  ...server
}: MongoKeysOptions): Promise<Keys> => {
  const { wrapping, check, fingerprint } = deriveFrom(masterKey);
  const mongo = await openMongo(server);
  const state = mongo.db.collection<StateRow>(keysStateCollection, { promoteBuffers: true });
  try {
    await checkMasterKey(state, check, placeOf(mongo));
  } catch (error) {
    await mongo.close();
    throw error;
  }
  const stored = mongo.db.collection<KeyRow>(keysCollection, { promoteBuffers: true });
  const rows = keyRows({ stored, wrapping, onFault });
  const openRows = gathered((wanted: ReadonlySet<number>) => rows.open([...wanted]));
  const destroyAll = gathered((ids: ReadonlySet<string>) => destroyIn(stored, wrapping, [...ids]));
  const pool = keyPool(() => makeRow(stored, wrapping), 2 * keysPerRow);
  return tellingAway<Keys>(mongo, 'keys', {
    create: pool.take,
    getMany: async (ids) => {
      const found = new Map<string, SealingKey>();
      const named = keyPlacesByRow(ids);
      if (named.size === 0) return found;
      const opened = await openRows(named.keys());
      for (const [row, keys] of named) {
        for (const { id, index } of keys) {
          const key = opened.get(row)?.(index);
          if (key !== undefined) found.set(id, sealingKey(key));
        }
      }
      return found;
    },
    destroy: async (ids) => {
      await destroyAll(ids);
      return { journalMs };
    },
    faults: () => faultsIn(stored, wrapping, placeOf(mongo)),
    mark: async () => markOf(await state.findOne({ _id: 'mark' })),
    setMark: async ({ position, hash }) =>
      void (await state.updateOne({ _id: 'mark' }, { $set: { position, hash } }, { ...durableWrites, upsert: true })),
    fingerprint,
    close: () => {
      pool.close();
      return mongo.close();
    },
  });
};

/** The master key's check value, and the mark. */
type StateRow = { _id: string; value?: Buffer; position?: number; hash?: string };

const placeOf = ({ host, db }: Mongo): string => `${host}/${db.databaseName} ${keysCollection}`;

const markOf = (row: StateRow | null): LogMark | undefined =>
  row?.position === undefined || row.hash === undefined ? undefined : { position: row.position, hash: row.hash };

const checkMasterKey = async (state: Collection<StateRow>, check: Buffer, place: string): Promise<void> => {
  await state
    .updateOne({ _id: 'master' }, { $setOnInsert: { value: check } }, { ...durableWrites, upsert: true })
    .catch((error: unknown) => {
      // Another process has set it in this moment; what it has set is compared like any other.
      if (!isDuplicateKey(error)) throw error;
    });
  const known = (await state.findOne({ _id: 'master' }))?.value;
  if (known?.byteLength !== check.byteLength || !timingSafeEqual(known, check)) {
    throw new Error(
      `the master key given is not the one that ${place} was made with; start with that one, or nothing sealed can be opened`,
    );
  }
};

/** Rows are numbered by the time, in microseconds, so that a database that was put back from an older backup never gives a number again. */
const rowsPerMs = 1_000;
const numbersTriedMax = 20;

const makeRow = async (stored: Collection<KeyRow>, wrapping: Wrapping): Promise<readonly NewKey[]> => {
  const { keys, wrap } = makeKeys();
  for (let tried = 1; ; tried += 1) {
    const row = Date.now() * rowsPerMs + randomInt(rowsPerMs);
    const { bytes, tag } = wrap(wrapping, row, true);
    try {
      await stored.insertOne({ _id: row, wrapped: bytes, tag: tag! }, durableWrites);
      return keys.map((key, index) => ({ id: keyIdOf({ row, index }), key: sealingKey(key) }));
    } catch (error) {
      // The number is taken, by another process or by this very call whose answer was lost; a row that is given to nobody harms nobody.
      if (!isDuplicateKey(error) || tried === numbersTriedMax) throw error;
    }
  }
};

/** Rows that are read and written in one call, some 4 KB each. */
const rowsAtOnce = 250;
const attemptsMax = 100;

const destroyIn = async (stored: Collection<KeyRow>, wrapping: Wrapping, ids: readonly string[]): Promise<void> => {
  const named = [...keyPlacesByRow(ids)].map(([row, keys]) => ({ row, indexes: keys.map(({ index }) => index) }));
  for (let from = 0; from < named.length; from += rowsAtOnce) {
    const doomed = new Map(named.slice(from, from + rowsAtOnce).map(({ row, indexes }) => [row, indexes]));
    let attempt = 1;
    while (!(await destroyOnce(stored, wrapping, doomed))) {
      if (attempt === attemptsMax) throw new Error('the keys could not be destroyed, for others keep changing their rows; repeat it');
      attempt += 1;
    }
  }
};

/** False where another has changed a row between the reading and the writing: then it is to be repeated. */
const destroyOnce = async (
  stored: Collection<KeyRow>,
  wrapping: Wrapping,
  doomed: ReadonlyMap<number, readonly number[]>,
): Promise<boolean> => {
  const changes = [];
  for await (const { _id, wrapped, tag } of stored.find({ _id: { $in: [...doomed.keys()] } })) {
    const before = { bytes: wrapped, tag: tag ?? NO_TAG };
    const indexes = doomed.get(_id)!.filter((index) => !isDestroyed(before, index));
    if (indexes.length === 0) continue;
    const after = withoutKeys(wrapping, _id, before, indexes);
    const filter = { _id, wrapped, ...(tag === undefined ? {} : { tag }) };
    changes.push({ updateOne: { filter, update: { $set: { wrapped: after.bytes, tag: after.tag ?? NO_TAG } } } });
  }
  if (changes.length === 0) return true;
  return (await stored.bulkWrite(changes, { ...durableWrites, ordered: false })).matchedCount === changes.length;
};

const NO_TAG = Buffer.alloc(0);

const faultsIn = async (stored: Collection<KeyRow>, wrapping: Wrapping, place: string): Promise<readonly string[]> => {
  const faults: string[] = [];
  const fault = ({ _id, wrapped, tag }: StoredRow): string | undefined => {
    if (tag === undefined) return `${place}: row ${_id} has lost its tag`;
    if (openRow(wrapping, _id, { bytes: wrapped, tag }) !== undefined) return undefined;
    return `${place}: row ${_id} is not what was written there: it was changed, or put in the place of another`;
  };
  for (let last = 0; ;) {
    const rows = await stored
      .find({ _id: { $gt: last } })
      .sort({ _id: 1 })
      .limit(rowsAtOnce)
      .toArray();
    for (const row of rows) faults.push(...[fault(row)].filter((text) => text !== undefined));
    const end = rows.at(-1);
    if (end === undefined) return faults;
    last = end._id;
  }
};
