/** The collections of a GridFS bucket, and how uploads leave them: whole, and after a crash too. */
import type { Collection, Mongo, ObjectId } from '../mongodb/client.js';
import { durableWrites } from '../mongodb/log-note.js';

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

export type Bucket = Readonly<{ files: Collection<FileRow>; chunks: Collection<ChunkRow> }>;

export const stateCollection = 'files.state';

/** The expiry of an upload that is being removed. */
export const REMOVED = new Date(0);

/** The row goes last, so that a crash leaves what a sweep finds. */
export const removeUploads = async ({ files, chunks }: Bucket, ids: readonly ObjectId[]): Promise<void> => {
  if (ids.length === 0) return;
  const among = [...ids];
  await files.updateMany({ _id: { $in: among } }, { $set: { 'metadata.expiresAt': REMOVED } }, durableWrites);
  await chunks.deleteMany({ files_id: { $in: among } }, durableWrites);
  await files.deleteMany({ _id: { $in: among } }, durableWrites);
};

const uploadsAtOnce = 500;
const BEFORE_ALL = '0'.repeat(24);

type SweptRow = { _id: string; upTo: ObjectId };

/** Looks at the uploads that were begun since the last look and before that time: their ids rise with time. */
export const removeAbandoned = async ({ db, driver }: Mongo, bucket: Bucket, before: Date): Promise<void> => {
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
  for await (const { files_id } of bucket.chunks.find({ files_id: { $gt: from, $lte: to } }, { projection: { _id: 0, files_id: 1 } })) {
    seen.set(files_id.toHexString(), files_id);
    if (seen.size >= uploadsAtOnce) await removeOrphans();
  }
  await removeOrphans();
  await state.updateOne({ _id: 'swept' }, { $set: { upTo: to } }, { ...durableWrites, upsert: true });
};
