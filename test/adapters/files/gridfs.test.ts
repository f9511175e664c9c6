/**
 * Files on a real server of MongoDB's protocol against the contract of all, and what the bucket looks like after
 * faults.
 */
import t, { type Test } from 'tap';
import { type ChunkRow, type FileRow, openMongoFiles, openMongoFilesNote } from '../../../src/adapters/files/gridfs.js';
import { openMongo } from '../../../src/adapters/mongodb/client.js';
import { filesSuite } from '../../contracts/files-suite.js';
import { memoryLog } from '../../support/memory-ports.js';
import { mongoServer, mongoUrlOf, ownMongoServer } from '../../support/servers.js';
import { eventually } from '../../support/wait.js';

const logger = memoryLog();

void t.test('the contract', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const places: string[] = [];
  filesSuite(t, {
    open: async (place) => {
      const url = mongoUrlOf(server.url, `${server.place}-${place}`);
      places.push(url);
      const files = await openMongoFiles({ url, logger });
      t.teardown(() => files.close());
      return files;
    },
    close: async () => {
      for (const url of places) {
        const mongo = await openMongo({ url, logger });
        await mongo.db.dropDatabase();
        await mongo.close();
      }
    },
  });
});

const opened = async (t: Test, url: string) => {
  const files = await openMongoFiles({ url, logger });
  t.teardown(() => files.close());
  return files;
};

const bucketAt = async (t: Test, url: string) => {
  const mongo = await openMongo({ url, logger });
  t.teardown(() => mongo.close());
  return {
    driver: mongo.driver,
    db: mongo.db,
    rows: mongo.db.collection<FileRow>('files.files'),
    chunks: mongo.db.collection<ChunkRow>('files.chunks', { promoteBuffers: true }),
  };
};

const large = Buffer.alloc(6_000_000, 'abc');

void t.test('other programs read the bucket as GridFS', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const files = await opened(t, server.url);
  const hash = await files.put(large);
  const { driver, db } = await bucketAt(t, server.url);
  const parts: Buffer[] = [];
  for await (const part of new driver.GridFSBucket(db, { bucketName: 'files' }).openDownloadStreamByName(hash))
    parts.push(part as Buffer);
  t.ok(Buffer.concat(parts).equals(large));
});

void t.test(
  'bytes that were changed or are missing are not handed out, and putting them again mends that',
  async (t) => {
    const server = await mongoServer(t);
    if (server === undefined) return;
    const files = await opened(t, server.url);
    const { rows, chunks } = await bucketAt(t, server.url);
    const faults: readonly (() => Promise<unknown>)[] = [
      () => chunks.updateMany({ n: 3 }, { $set: { data: Buffer.alloc(261_120, 'x') } }),
      () => chunks.deleteMany({ n: 2 }),
      () => chunks.deleteMany({}),
      () => rows.updateMany({}, { $set: { length: 5 } }),
    ];
    for (const damage of faults) {
      const hash = await files.put(large);
      await damage();
      await t.rejects(files.get(hash), { name: 'FileDamaged', code: 'FILE_DAMAGED' });
      await files.put(large);
      t.ok(large.equals((await files.get(hash))!));
      t.equal(await rows.countDocuments(), 1, 'the damaged upload is gone');
    }
  },
);

void t.test('two clients that put, delete and sweep the same content leave it whole or not at all', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const [one, two] = [await opened(t, server.url), await opened(t, server.url)];
  const { rows, chunks } = await bucketAt(t, server.url);
  const past = '2026-01-01T00:00:00.000Z';
  for (let round = 0; round < 10; round += 1) {
    const bytes = Buffer.alloc(600_000, `round ${round}`);
    const hash = await one.put(bytes, { expiresAt: past });
    const reads = Array.from({ length: 4 }, () => two.get(hash));
    const [, , swept] = await Promise.all([
      one.put(bytes),
      two.put(bytes, { expiresAt: past }),
      two.sweep('2026-02-01T00:00:00.000Z'),
      one.get(hash),
    ]);
    // The first upload, and the second where it began after the first had been swept.
    t.ok(swept <= 2, `${swept} uploads were swept`);
    for (const read of await Promise.all(reads)) t.ok(read === undefined || read.equals(bytes));
    t.ok((await two.get(hash))!.equals(bytes), 'who needs it for ever has it');
    const [, read] = await Promise.all([one.delete(hash), two.get(hash)]);
    t.ok(read === undefined || read.equals(bytes));
    await two.delete(hash);
  }
  t.equal(await rows.countDocuments(), 0);
  t.equal(await chunks.countDocuments(), 0);
});

void t.test(
  'what a crash leaves is gone after the next sweeps: chunks without a row, and uploads whose removal had begun',
  async (t) => {
    const server = await mongoServer(t);
    if (server === undefined) return;
    const files = await opened(t, server.url);
    const { driver, rows, chunks } = await bucketAt(t, server.url);
    const day = 86_400_000;
    const now = Date.now();
    const chunkAt = (ms: number, n: number): ChunkRow => {
      const id = driver.ObjectId.createFromTime(Math.floor(ms / 1000));
      return { _id: new driver.ObjectId(), files_id: id, n, data: Buffer.from('half') };
    };
    const [kept, halfRemoved] = [await files.put(Buffer.from('kept')), await files.put(Buffer.from('half removed'))];
    await rows.updateOne({ filename: halfRemoved }, { $set: { 'metadata.expiresAt': new Date(0) } });
    t.equal(await files.get(halfRemoved), undefined);
    await chunks.insertMany([chunkAt(now - 2 * day, 0), chunkAt(now - 2 * day, 1), chunkAt(now - day / 2, 0)]);
    t.equal(await files.sweep(new Date(now).toISOString()), 0);
    t.equal(await chunks.countDocuments(), 2, 'one is kept, and one may still be on its way');
    t.equal(await files.sweep(new Date(now + day).toISOString()), 0);
    t.equal(await chunks.countDocuments(), 1);
    t.ok(await files.get(kept));
  },
);

void t.test('the note of the log, and whether a file is there', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const files = await opened(t, server.url);
  const noted = await openMongoFilesNote({ url: server.url, logger });
  t.teardown(() => noted.close());
  t.equal(await noted.note(), undefined);
  await noted.setNote({ instance: 'aa', position: 3, hash: 'bb' });
  t.same(await noted.note(), { instance: 'aa', position: 3, hash: 'bb' });
  const hash = await files.put(Buffer.from('x'));
  t.ok(await noted.has(hash));
  await files.delete(hash);
  t.notOk(await noted.has(hash));
  await t.rejects(noted.has('x'), RangeError);
});

void t.test(
  'a file whose put has resolved survives the death of the server; one whose put has not is whole or absent',
  async (t) => {
    const server = await ownMongoServer(t);
    if (server === undefined) return;
    const files = await opened(t, server.url);
    const hash = await files.put(large);
    const others = Array.from({ length: 6 }, (_, index) => Buffer.alloc(4_000_000, `other ${index}`));
    const puts = others.map((bytes) => files.put(bytes).catch(() => undefined));
    await server.kill();
    await server.restart();
    const hashes = await Promise.all(puts);
    t.ok((await eventually('the file is read again', () => files.get(hash))).equals(large));
    for (const [index, bytes] of others.entries()) {
      const put = hashes[index];
      if (put !== undefined) t.ok((await files.get(put))!.equals(bytes));
      t.ok((await files.get(await files.put(bytes)))!.equals(bytes), 'and it can be put again');
    }
  },
);
