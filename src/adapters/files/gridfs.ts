/**
 * Files in the collections of a GridFS bucket, as its specification lays them out: a row for each file, its bytes in
 * chunks. `filename` is the SHA-256 of the content, `metadata.expiresAt` the expiry.
 *
 * Each put writes an upload of its own, the chunks first and the row last, and then removes the uploads of the same
 * content that expire no later. So nothing that is read is overwritten, and a crash leaves chunks without a row, which
 * a sweep finds. An upload is first marked with the oldest expiry and then removed: readers skip it from then on, and
 * after a crash the next sweep removes it.
 */
import { createHash } from 'node:crypto';
import {
  type Collection,
  type Mongo,
  type ObjectId,
  durableWrites,
  openMongo,
  tellingAway,
  mongoLogNote,
} from '../mongodb/client.js';
import { FileDamaged } from '../../domain/core/errors.js';
import type { Files } from '../../domain/ports/files.js';
import type { NotedFiles } from '../../domain/ports/log-note.js';
import { DAY_MS } from '../../domain/core/time.js';
import type { Logger } from '../../domain/ports/logger.js';
import { checkHash, isoTimeOf } from './durable.js';

export type FileRow = {
  _id: ObjectId;
  length: number;
  chunkSize: number;
  uploadDate: Date;
  /** The SHA-256 of the content. */
  filename: string;
  metadata?: { expiresAt?: Date };
};

export type ChunkRow = { _id: ObjectId; files_id: ObjectId; n: number; data: Buffer };

type Bucket = Readonly<{ files: Collection<FileRow>; chunks: Collection<ChunkRow> }>;

type ServerOptions = Readonly<{ url: string; setting?: string; logger: Logger }>;

type Upload = Readonly<{ hash: string; bytes: Uint8Array; until: Date | undefined }>;

type SweptRow = { _id: string; upTo: ObjectId };

const stateCollection = 'files.state';

/** The expiry of an upload that is being removed. */
const REMOVED = new Date(0);

const uploadsAtOnce = 500;
const BEFORE_ALL = '0'.repeat(24);

/** GridFS's default. */
const chunkSizeBytes = 255 * 1024;
/** Chunks that are sent in one call, some 4 MB. */
const chunksAtOnce = 16;
/** Uploads that one step of a sweep removes. */
const sweptAtOnce = 200;
/** The rows are read so often if an upload is removed during the read. */
const readsMax = 5;

const isThere = { 'metadata.expiresAt': { $ne: REMOVED } } as const;

/** Rejects if the server cannot be used. The functions reject with RangeError if a hash is not 64 hex digits. */
export const openMongoFiles = async (
  server: ServerOptions,
): Promise<Files & Readonly<{ close: () => Promise<void> }>> => {
  const mongo = await openMongo(server);
  const bucket = bucketOf(mongo);
  try {
    await Promise.all([
      bucket.files.createIndexes([{ key: { filename: 1 } }, { key: { 'metadata.expiresAt': 1 } }]),
      bucket.chunks.createIndexes([{ key: { files_id: 1, n: 1 }, unique: true }]),
    ]);
  } catch (error) {
    await mongo.close();
    throw error;
  }
  return tellingAway<Files & Readonly<{ close: () => Promise<void> }>>(mongo, 'files', {
    put: async (bytes, { expiresAt } = {}) => {
      const hash = hashOf(bytes);
      const until = expiresAt === undefined ? undefined : new Date(isoTimeOf(expiresAt));
      await upload(mongo, bucket, { hash, bytes, until });
      return hash;
    },
    get: async (hash) => {
      checkHash(hash);
      return readChecked(bucket, hash);
    },
    delete: async (hash) => {
      checkHash(hash);
      await removeUploads(bucket, await idsOf(bucket.files, { filename: hash }));
    },
    expired: async (now) =>
      (
        await bucket.files.distinct('filename', {
          'metadata.expiresAt': { $gt: REMOVED, $lte: new Date(isoTimeOf(now)) },
        })
      ).length,
    sweep: async (now, { abandonedBefore } = {}) => {
      const limit = new Date(isoTimeOf(now));
      const deleted = await sweepExpired(bucket, limit);
      await removeAbandoned(
        mongo,
        bucket,
        abandonedBefore === undefined ? new Date(limit.getTime() - DAY_MS) : new Date(isoTimeOf(abandonedBefore)),
      );
      return deleted;
    },
    close: mongo.close,
  });
};

/** The note of the log beside the files. */
export const openMongoFilesNote = async (server: ServerOptions): Promise<NotedFiles> => {
  const mongo = await openMongo(server);
  const { files } = bucketOf(mongo);
  return {
    ...mongoLogNote(mongo, stateCollection),
    has: async (hash) => {
      checkHash(hash);
      return (await files.findOne({ filename: hash, ...isThere }, { projection: { _id: 1 } })) !== null;
    },
  };
};

const bucketOf = ({ db }: Mongo): Bucket => ({
  files: db.collection<FileRow>('files.files'),
  chunks: db.collection<ChunkRow>('files.chunks', { promoteBuffers: true }),
});

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const upload = async (mongo: Mongo, bucket: Bucket, { hash, bytes, until }: Upload): Promise<void> => {
  const id = new mongo.driver.ObjectId();
  // An upload that another client begins at this moment is not among them. Then both stay, and are removed together.
  const [others] = await Promise.all([
    bucket.files.find({ filename: hash }).toArray(),
    putChunks(mongo, bucket, id, bytes),
  ]);
  const metadata = until === undefined ? {} : { metadata: { expiresAt: until } };
  const row = {
    _id: id,
    length: bytes.byteLength,
    chunkSize: chunkSizeBytes,
    uploadDate: id.getTimestamp(),
    filename: hash,
    ...metadata,
  };
  await bucket.files.insertOne(row, durableWrites);
  const outlived = others.filter((other) => needOf(other) <= needOf(row));
  await removeUploads(
    bucket,
    outlived.map(({ _id }) => _id),
  );
};

const putChunks = async ({ driver }: Mongo, { chunks }: Bucket, id: ObjectId, bytes: Uint8Array): Promise<void> => {
  const parts = Math.ceil(bytes.byteLength / chunkSizeBytes);
  for (let from = 0; from < parts; from += chunksAtOnce) {
    const rows = Array.from({ length: Math.min(chunksAtOnce, parts - from) }, (_, index) => {
      const start = (from + index) * chunkSizeBytes;
      // A view of the bytes, and no copy.
      const part = bytes.subarray(start, start + chunkSizeBytes);
      const data = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
      return { _id: new driver.ObjectId(), files_id: id, n: from + index, data };
    });
    await chunks.insertMany(rows, durableWrites);
  }
};

/** The time until which an upload is needed. */
const needOf = ({ metadata }: FileRow): number => metadata?.expiresAt?.getTime() ?? Infinity;

/** Reads one whole upload of the content, of which there may be several. */
const readChecked = async (bucket: Bucket, hash: string): Promise<Buffer | undefined> => {
  for (let read = 1; ; read += 1) {
    const rows = await bucket.files.find({ filename: hash, ...isThere }).toArray();
    if (rows.length === 0) return undefined;
    for (const row of rows) {
      const bytes = await bytesOf(bucket.chunks, row);
      if (bytes !== undefined && hashOf(bytes) === hash) return bytes;
    }
    const isStillThere =
      (await bucket.files.countDocuments({ _id: { $in: rows.map(({ _id }) => _id) }, ...isThere })) === rows.length;
    if (isStillThere || read === readsMax) throw new FileDamaged(hash, 'its content has another hash');
  }
};

/** Out: undefined if chunks are missing. */
const bytesOf = async (chunks: Collection<ChunkRow>, { _id, length }: FileRow): Promise<Buffer | undefined> => {
  const found: Buffer[] = [];
  for await (const { n, data } of chunks.find({ files_id: _id }, { projection: { n: 1, data: 1 } })) found[n] = data;
  const parts = Array.from(found, (part) => part ?? Buffer.alloc(0));
  const bytes = Buffer.concat(parts);
  return bytes.byteLength === length ? bytes : undefined;
};

const idsOf = async (files: Collection<FileRow>, filter: Parameters<typeof files.find>[0]) =>
  (await files.find(filter, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);

/** Out: how many contents were deleted because their upload had expired. */
const sweepExpired = async ({ files, chunks }: Bucket, limit: Date): Promise<number> => {
  let deleted = 0;
  for (;;) {
    const due = await files
      .find({ 'metadata.expiresAt': { $lte: limit } }, { projection: { filename: 1, metadata: 1 } })
      .limit(sweptAtOnce)
      .toArray();
    if (due.length === 0) return deleted;
    await removeUploads(
      { files, chunks },
      due.map(({ _id }) => _id),
    );
    // An upload that was marked earlier was counted then, or has been replaced by a newer one.
    const names = new Set(due.filter((row) => needOf(row) !== REMOVED.getTime()).map(({ filename }) => filename));
    for (const { filename } of await files
      .find({ filename: { $in: [...names] } }, { projection: { filename: 1 } })
      .toArray())
      names.delete(filename);
    deleted += names.size;
  }
};

/** Removes the rows last, so that a sweep finds them after a crash. */
const removeUploads = async ({ files, chunks }: Bucket, ids: readonly ObjectId[]): Promise<void> => {
  if (ids.length === 0) return;
  const among = [...ids];
  await files.updateMany({ _id: { $in: among } }, { $set: { 'metadata.expiresAt': REMOVED } }, durableWrites);
  await chunks.deleteMany({ files_id: { $in: among } }, durableWrites);
  await files.deleteMany({ _id: { $in: among } }, durableWrites);
};

/**
 * Removes chunks without a row. Looks at uploads begun since the last sweep and before that time: their ids increase
 * with time.
 */
const removeAbandoned = async ({ db, driver }: Mongo, bucket: Bucket, before: Date): Promise<void> => {
  const state = db.collection<SweptRow>(stateCollection);
  const from = (await state.findOne({ _id: 'swept' }))?.upTo ?? driver.ObjectId.createFromHexString(BEFORE_ALL);
  const to = driver.ObjectId.createFromTime(Math.max(0, Math.floor(before.getTime() / 1000)));
  if (to.toHexString() <= from.toHexString()) return;
  let seen = new Map<string, ObjectId>();
  const removeOrphans = async (): Promise<void> => {
    const ids = [...seen.values()];
    for (const { _id } of await bucket.files.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray())
      seen.delete(_id.toHexString());
    if (seen.size > 0) await bucket.chunks.deleteMany({ files_id: { $in: [...seen.values()] } }, durableWrites);
    seen = new Map();
  };
  for await (const { files_id } of bucket.chunks.find(
    { files_id: { $gt: from, $lte: to } },
    { projection: { _id: 0, files_id: 1 } },
  )) {
    seen.set(files_id.toHexString(), files_id);
    if (seen.size >= uploadsAtOnce) await removeOrphans();
  }
  await removeOrphans();
  await state.updateOne({ _id: 'swept' }, { $set: { upTo: to } }, { ...durableWrites, upsert: true });
};
