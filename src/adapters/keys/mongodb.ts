/**
 * Sealing keys as documents of MongoDB, wrapped by the master key in the same rows as in a SQLite file. A key is
 * destroyed by writing its row anew without it. The server keeps the old row in its oplog and on its disk until both
 * are overwritten.
 */
import { type KeyObject, randomInt, timingSafeEqual } from 'node:crypto';
import { boundedCache } from '../../shared/cache.js';
import {
  type Collection,
  isDuplicateKey,
  openMongo,
  tellingAway,
  type Mongo,
  durableWrites,
  mongoLogNote,
} from '../mongodb/client.js';
import { openRow, deriveFrom, sealingKey, isDestroyed, keysPerRow, makeKeys, withoutKeys } from './key-wrap.js';
import type { Keys, LogMark, NewKey, SealingKey } from '../../domain/ports/keys.js';
import type { Logger } from '../../domain/ports/logger.js';
import { gathered } from '../../shared/concurrency.js';
import { keyIdOf, keyPlacesByRow, keyPool, parseKeyId, openKeyTable } from './key-table.js';
import type { NotedKeys } from '../../domain/ports/log-note.js';
import { openDatabase } from '../sqlite/database.js';

/** `_id`: the number of the row. The tag is absent if somebody has removed it. */
export type KeyRow = { _id: number; wrapped: Buffer; tag?: Buffer };
type StoredRow = Readonly<KeyRow>;

/** The master key's check value, and the mark. */
type StateRow = { _id: string; value?: Buffer; position?: number; hash?: string };

type KeyAt = (index: number) => Buffer | undefined;

type KeyRows = Readonly<{
  /**
   * Reads rows as they are at the server now. Out: a function from index to key for each row that is there and
   * verifies.
   */
  open: (rows: readonly number[]) => Promise<ReadonlyMap<number, KeyAt>>;
}>;

type MongoKeysOptions = Readonly<{
  url: string;
  setting?: string;
  logger: Logger;
  /** 32 bytes. */
  masterKey: Buffer;
  /** How long the oplog and the backups of the server's data hold a destroyed key. */
  journalMs?: number;
  /** Called once for each row that does not verify. */
  onFault?: (row: number) => void;
}>;

type KeyCopy = Readonly<{
  /** The SQLite file, which must not be written meanwhile. */
  file: string;
  /** 32 bytes, the master key of both. */
  masterKey: Buffer;
  url: string;
  logger: Logger;
  onCopied: (rows: number) => void;
}>;

/** The collections of the keys and of what is noted beside them. */
const keysCollection = 'keys';
const keysStateCollection = 'keys.state';

/** Some 4 KB each. */
const openedRowsMax = 64;
/** Faulty rows that are reported once each. */
const faultsNotedMax = 1_000;
const rowsAtOnce = 250;

/** A week: an oplog that holds more is larger than it need be. */
const journalMsDefault = 7 * 24 * 60 * 60 * 1000;

/**
 * Rows are numbered by the time in microseconds, so that a database restored from an older backup never gives a number
 * twice.
 */
const rowsPerMs = 1_000;
const numbersTriedMax = 20;

const attemptsMax = 100;

const NO_BYTES = Buffer.alloc(0);
const idsPerBatch = 10_000;

const rowsCopiedAtOnce = 200;

/** Rejects if the server cannot be used, or the keys were made with another master key. */
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

/** Caches the rows opened last. Each use reads their tags to see that nothing has changed. */
const keyRows = ({
  stored,
  wrapping,
  onFault,
}: Readonly<{ stored: Collection<KeyRow>; wrapping: KeyObject; onFault: (row: number) => void }>): KeyRows => {
  const opened = boundedCache<number, Readonly<{ tag: Buffer; keyAt: KeyAt }>>({ entriesMax: openedRowsMax });
  const faulty = boundedCache<number, true>({ entriesMax: faultsNotedMax });

  const openOne = ({ _id, wrapped, tag = Buffer.alloc(0) }: StoredRow): KeyAt | undefined => {
    const keyAt = openRow(wrapping, _id, { bytes: wrapped, tag });
    // The bytes of the answer are not kept with it.
    if (keyAt !== undefined) opened.set(_id, { tag: Buffer.from(tag), keyAt });
    else if (faulty.get(_id) === undefined) {
      faulty.set(_id, true);
      onFault(_id);
    }
    return keyAt;
  };

  const readWhole = async (rows: readonly number[], into: Map<number, KeyAt>): Promise<void> => {
    if (rows.length === 0) return;
    for await (const row of stored.find({ _id: { $in: [...rows] } })) {
      const keyAt = openOne(row);
      if (keyAt !== undefined) into.set(row._id, keyAt);
    }
  };

  /** Out: the rows that are not as they were when they were opened. */
  const readTags = async (rows: readonly number[], into: Map<number, KeyAt>): Promise<readonly number[]> => {
    if (rows.length === 0) return [];
    const changed: number[] = [];
    for await (const { _id, tag } of stored.find({ _id: { $in: [...rows] } }, { projection: { tag: 1 } })) {
      const known = opened.get(_id);
      if (known !== undefined && tag !== undefined && known.tag.equals(tag)) into.set(_id, known.keyAt);
      else changed.push(_id);
    }
    return changed;
  };

  const openSome = async (rows: readonly number[], into: Map<number, KeyAt>): Promise<void> => {
    const known = rows.filter((row) => opened.get(row) !== undefined);
    const unknown = rows.filter((row) => !known.includes(row));
    const [changed] = await Promise.all([readTags(known, into), readWhole(unknown, into)]);
    await readWhole(changed, into);
  };

  return {
    open: async (rows) => {
      const found = new Map<number, KeyAt>();
      for (let from = 0; from < rows.length; from += rowsAtOnce)
        await openSome(rows.slice(from, from + rowsAtOnce), found);
      return found;
    },
  };
};

const placeOf = ({ host, db }: Mongo): string => `${host}/${db.databaseName} ${keysCollection}`;

const markOf = (row: StateRow | null): LogMark | undefined =>
  row?.position === undefined || row.hash === undefined ? undefined : { position: row.position, hash: row.hash };

const checkMasterKey = async (state: Collection<StateRow>, check: Buffer, place: string): Promise<void> => {
  await state
    .updateOne({ _id: 'master' }, { $setOnInsert: { value: check } }, { ...durableWrites, upsert: true })
    .catch((error: unknown) => {
      // Another process has set the value at this moment. It is compared below.
      if (!isDuplicateKey(error)) throw error;
    });
  const known = (await state.findOne({ _id: 'master' }))?.value;
  if (known?.byteLength !== check.byteLength || !timingSafeEqual(known, check)) {
    throw new Error(
      `the master key given is not the one that ${place} was made with; start with that one, or nothing sealed can be opened`,
    );
  }
};

const makeRow = async (stored: Collection<KeyRow>, wrapping: KeyObject): Promise<readonly NewKey[]> => {
  const { keys, wrap } = makeKeys();
  for (let tried = 1; ; tried += 1) {
    const row = Date.now() * rowsPerMs + randomInt(rowsPerMs);
    const { bytes, tag } = wrap(wrapping, row);
    try {
      await stored.insertOne({ _id: row, wrapped: bytes, tag }, durableWrites);
      return keys.map((key, index) => ({ id: keyIdOf({ row, index }), key: sealingKey(key) }));
    } catch (error) {
      // Another process has the number, or this call wrote the row and its answer was lost: then the keys of that row
      // stay unused.
      if (!isDuplicateKey(error) || tried === numbersTriedMax) throw error;
    }
  }
};

const destroyIn = async (stored: Collection<KeyRow>, wrapping: KeyObject, ids: readonly string[]): Promise<void> => {
  const named = [...keyPlacesByRow(ids)].map(([row, keys]) => ({ row, indexes: keys.map(({ index }) => index) }));
  for (let from = 0; from < named.length; from += rowsAtOnce) {
    const doomed = new Map(named.slice(from, from + rowsAtOnce).map(({ row, indexes }) => [row, indexes]));
    let attempt = 1;
    while (!(await destroyOnce(stored, wrapping, doomed))) {
      if (attempt === attemptsMax)
        throw new Error('the keys could not be destroyed, for others keep changing their rows; repeat it');
      attempt += 1;
    }
  }
};

/** Out: false if another process has changed a row between the read and the write. Then the caller repeats it. */
const destroyOnce = async (
  stored: Collection<KeyRow>,
  wrapping: KeyObject,
  doomed: ReadonlyMap<number, readonly number[]>,
): Promise<boolean> => {
  const changes = [];
  for await (const { _id, wrapped, tag } of stored.find({ _id: { $in: [...doomed.keys()] } })) {
    const before = { bytes: wrapped, tag: tag ?? NO_BYTES };
    const indexes = doomed.get(_id)!.filter((index) => !isDestroyed(before, index));
    if (indexes.length === 0) continue;
    const after = withoutKeys(wrapping, _id, before, indexes);
    const filter = { _id, wrapped, ...(tag === undefined ? {} : { tag }) };
    changes.push({ updateOne: { filter, update: { $set: { wrapped: after.bytes, tag: after.tag } } } });
  }
  if (changes.length === 0) return true;
  return (await stored.bulkWrite(changes, { ...durableWrites, ordered: false })).matchedCount === changes.length;
};

const faultsIn = async (stored: Collection<KeyRow>, wrapping: KeyObject, place: string): Promise<readonly string[]> => {
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

/** Tells which keys were destroyed, by the bits behind the tag of their row. Needs no master key. */
export const openMongoNotedKeys = async (
  server: Readonly<{ url: string; setting?: string; logger: Logger }>,
): Promise<NotedKeys> => {
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

/**
 * Copies the wrapped keys of a SQLite file to MongoDB, each row under its number, so that every id stays valid.
 * Safe to repeat: a key that was destroyed since the last copy is then destroyed in the copy too.
 * Rejects if the keys in MongoDB were made with another master key. Out: the number of rows.
 */
export const copyKeysToMongo = async ({ file, masterKey, onCopied, ...server }: KeyCopy): Promise<number> => {
  const { check } = deriveFrom(masterKey);
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
    if (known?.equals(check) !== true)
      throw new Error('the keys there were made with another master key; copy into an empty database');
    const rows = mongo.db.collection<KeyRow>(keysCollection);
    let copied = 0;
    for (let last = 0; ;) {
      const numbers = table.rowsAfter(last, rowsCopiedAtOnce);
      if (numbers.length === 0) return copied;
      const writes = numbers.flatMap((row) => {
        const wrapped = table.wrapped(row);
        if (wrapped === undefined) return [];
        const { bytes, tag } = wrapped;
        return [{ replaceOne: { filter: { _id: row }, replacement: { wrapped: bytes, tag }, upsert: true } }];
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
