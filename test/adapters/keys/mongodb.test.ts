/**
 * Sealing keys on a real server of MongoDB's protocol against the contract of all, and what is their own: rows that
 * were changed, clients that meet, a server that dies.
 */
import t, { type Test } from 'tap';
import { parseKeyId } from '../../../src/adapters/keys/key-table.js';
import { openMongoNotedKeys, type KeyRow, openMongoKeys } from '../../../src/adapters/keys/mongodb.js';
import { openMongo, type Collection } from '../../../src/adapters/mongodb/client.js';
import type { Keys } from '../../../src/domain/ports/keys.js';
import { keysSuite, masterKeyA } from '../../contracts/keys-suite.js';
import { memoryLog } from '../../support/memory-ports.js';
import { mongoServer, mongoUrlOf, ownMongoServer } from '../../support/servers.js';
import { eventually } from '../../support/wait.js';

const logger = memoryLog();

void t.test('the contract', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const places = new Set<string>();
  const urlOf = (place: string): string => mongoUrlOf(server.url, `${server.place}-${place}`);
  keysSuite(t, {
    open: async (place, masterKey) => {
      places.add(place);
      return openMongoKeys({ url: urlOf(place), logger, masterKey });
    },
    close: async () => {
      for (const place of places) {
        const mongo = await openMongo({ url: urlOf(place), logger });
        await mongo.db.dropDatabase();
        await mongo.close();
      }
    },
  });
});

const opened = async (t: Test, url: string, onFault: (row: number) => void = () => {}): Promise<Keys> => {
  const keys = await openMongoKeys({ url, logger, masterKey: masterKeyA, journalMs: 60_000, onFault });
  t.teardown(() => keys.close());
  return keys;
};

const rowsAt = async (t: Test, url: string): Promise<Collection<KeyRow>> => {
  const mongo = await openMongo({ url, logger });
  t.teardown(() => mongo.close());
  return mongo.db.collection<KeyRow>('keys', { promoteBuffers: true });
};

const rowOf = (id: string): number => parseKeyId(id)!.row;
const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1;
  return copy;
};

void t.test(
  'a row that was exchanged or changed gives no key, is told of once, and is found by a look at all',
  async (t) => {
    const changes: Readonly<Record<string, (first: KeyRow, second: KeyRow) => readonly KeyRow[]>> = {
      'two rows exchanged': (first, second) => [
        { ...second, _id: first._id },
        { ...first, _id: second._id },
      ],
      'a row copied over another': (first, second) => [{ ...second, _id: first._id }],
      'a bit of a key': (first) => [{ ...first, wrapped: flipped(first.wrapped, 40) }],
      'a bit of the tag': (first) => [{ ...first, tag: flipped(first.tag!, 3) }],
      'a tag of another size': (first) => [{ ...first, tag: first.tag!.subarray(0, 4) }],
      'no tag': ({ _id, wrapped }) => [{ _id, wrapped }],
      'a key said to be destroyed that is not': (first) => [{ ...first, tag: flipped(first.tag!, 20) }],
    };
    for (const [name, change] of Object.entries(changes)) {
      const server = await mongoServer(t);
      if (server === undefined) return;
      const keys = await opened(t, server.url);
      const made = await Promise.all(Array.from({ length: 130 }, () => keys.create()));
      t.same(await keys.faults(), []);
      const rows = await rowsAt(t, server.url);
      const [first, second] = await rows.find().sort({ _id: 1 }).toArray();
      const changed = change(first!, second!);
      for (const { _id, ...content } of changed) await rows.replaceOne({ _id }, content);
      const lost = new Set(changed.map(({ _id }) => _id));
      const told: number[] = [];
      const reader = await opened(t, server.url, (row) => void told.push(row));
      for (let time = 0; time < 2; time += 1) {
        const found = await reader.getMany(made.map(({ id }) => id));
        t.ok(
          made.every(({ id }) => found.has(id) === !lost.has(rowOf(id))),
          name,
        );
      }
      t.same(told.sort(), [...lost].sort(), `${name}: once each`);
      const faults = await keys.faults();
      t.equal(faults.length, lost.size);
      for (const row of lost) t.ok(faults.some((fault) => fault.includes(` row ${row} `)));
      const doomed = made.find(({ id }) => lost.has(rowOf(id)))!.id;
      t.same(await keys.destroy([doomed]), { journalMs: 60_000 });
      t.notOk((await keys.getMany([doomed])).has(doomed), 'and its key can still be destroyed');
    }
  },
);

void t.test(
  'clients that destroy keys of one row at once lose none of it, and see what others destroyed',
  async (t) => {
    const server = await mongoServer(t);
    if (server === undefined) return;
    const clients = [await opened(t, server.url), await opened(t, server.url), await opened(t, server.url)];
    const made = await Promise.all(Array.from({ length: 100 }, () => clients[0]!.create()));
    const ids = made.map(({ id }) => id);
    t.equal(new Set(ids.map(rowOf)).size, 1);
    for (const client of clients) t.equal((await client.getMany(ids)).size, ids.length);
    const doomed = ids.slice(0, 60);
    // Each client has many under way, and all of them write the same row.
    await Promise.all(doomed.map((id, index) => clients[index % 3]!.destroy([id])));
    for (const client of clients) t.same([...(await client.getMany(ids)).keys()], ids.slice(60));
    t.same(await clients[0]!.faults(), []);
  },
);

void t.test('what is destroyed is told from what never was, without the master key', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const keys = await opened(t, server.url);
  const made = await Promise.all(Array.from({ length: 300 }, () => keys.create()));
  const gone = made.filter((_, index) => index % 3 === 0).map(({ id }) => id);
  await keys.destroy(gone);
  const noted = await openMongoNotedKeys({ url: server.url, logger });
  t.teardown(() => noted.close());
  t.ok(await noted.isDestroyed(gone[0]!));
  t.notOk(await noted.isDestroyed(made[1]!.id));
  for (const never of ['17.0', 'x', '']) t.notOk(await noted.isDestroyed(never));
  const told: string[] = [];
  for await (const ids of noted.destroyed()) told.push(...ids);
  t.same(told.sort(), [...gone].sort());
  t.match(noted.place, /^127\.0\.0\.1:\d+\/t[0-9a-f]+ keys\.state$/);
  t.equal(await noted.note(), undefined);
  await noted.setNote({ instance: 'aa', position: 3, hash: 'bb' });
  await noted.setNote({ instance: 'aa', position: 4, hash: 'cc' });
  t.same(await noted.note(), { instance: 'aa', position: 4, hash: 'cc' });
  t.equal(await keys.mark(), undefined, 'the mark is another thing');
});

void t.test('keys that were given survive the death of the server, and so does their destruction', async (t) => {
  const server = await ownMongoServer(t);
  if (server === undefined) return;
  const keys = await opened(t, server.url);
  const made = await Promise.all(Array.from({ length: 250 }, () => keys.create()));
  const ids = made.map(({ id }) => id);
  await keys.destroy(ids.slice(0, 100));
  await server.kill();
  const asked = keys.getMany(ids).then(
    (found) => found.size,
    () => 'refused',
  );
  await server.restart();
  t.match(await asked, /^(150|refused)$/);
  const found = await eventually('the keys are read again', () => keys.getMany(ids));
  t.same([...found.keys()], ids.slice(100));
  for (const { id, key } of made.slice(100)) found.get(id)!.open(key.seal('x', id), id);
  const more = await Promise.all(Array.from({ length: 130 }, () => keys.create()));
  t.equal((await keys.getMany(more.map(({ id }) => id))).size, 130);
});
