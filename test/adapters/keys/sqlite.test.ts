/** Sealing keys on SQLite: the contract, and that nothing of a destroyed key stays in any file. */
import { createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { deriveFrom, sealingKey } from '../../../src/adapters/keys/key-wrap.js';
import { parseKeyId } from '../../../src/adapters/keys/key-table.js';
import { keysOn, openSqliteKeys } from '../../../src/adapters/keys/sqlite.js';
import { openDatabase } from '../../../src/adapters/sqlite/database.js';
import { keysSuite, masterKeyA } from '../../contracts/keys-suite.js';
import { filesHolding, temporaryDirectory } from '../../support/data-directory.js';

t.setTimeout(900_000);

void t.test('the contract', async (t) => {
  const directory = temporaryDirectory(t);
  keysSuite(t, {
    open: async (place, masterKey) => openSqliteKeys({ file: join(directory, `${place}.db`), masterKey }),
    close: () => Promise.resolve(),
  });
});

void t.test('what is sealed is AES-256-GCM with nonces that do not repeat', (t) => {
  const key = randomBytes(32);
  const { seal, open } = sealingKey(key);
  const nonces = new Set<string>();
  for (let count = 0; count < 1_000; count += 1) {
    const sealed = Buffer.from(seal(`text ${count} ü`, 'context', Uint8Array.of(7)));
    const [prefix, nonce] = [sealed[0], sealed.subarray(1, 13)];
    const decipher = createDecipheriv('aes-256-gcm', createSecretKey(key), nonce);
    decipher.setAAD(Buffer.from('context')).setAuthTag(sealed.subarray(-16));
    const opened = Buffer.concat([decipher.update(sealed.subarray(13, -16)), decipher.final()]);
    if (prefix !== 7 || opened.toString() !== `text ${count} ü`) throw new Error(`${opened.toString()} was opened`);
    if (open(sealed.subarray(1), 'context').compare(opened) !== 0) throw new Error('opened differently');
    nonces.add(nonce.toString('hex'));
  }
  t.equal(nonces.size, 1_000);
  t.notOk(nonces.has('0'.repeat(24)));
  t.end();
});

void t.test('a text is sealed as its UTF-8, however long it is and whatever it holds', (t) => {
  const { seal, open } = sealingKey(randomBytes(32));
  for (const part of ['a', 'é', '€', '😀', '\u0000', '\u007f', '\u0080', '\ud83d', '"\n'])
    for (const count of [1, 100, 2_047, 2_048, 2_049, 20_000]) {
      const text = 'x'.repeat(count) + part;
      for (const plain of [text, part + text, part.repeat(count)])
        t.ok(open(seal(plain, 'context'), 'context').equals(Buffer.from(plain)), `${JSON.stringify(part)} ${count}`);
    }
  t.end();
});

/** The wrapped bytes of those keys, as they stand in the file. */
const wrappedKeys = (file: string, ids: readonly string[]): Map<string, Buffer> => {
  const database = openDatabase({ file, synchronous: 'full' });
  const select = database.prepare<[number], Buffer>('SELECT wrapped FROM keys WHERE row = ?').pluck();
  const wrapped = ids.map((id) => {
    const { row, index } = parseKeyId(id)!;
    return [id, Buffer.from(select.get(row)!.subarray(16 + index * 32, 48 + index * 32))] as const;
  });
  database.close();
  return new Map(wrapped);
};

/** Permutes the ids into an order that looks random and is equal in every run. */
const shuffled = (ids: readonly string[]): string[] =>
  ids
    .map((id, index) => ({ id, rank: (index * 7919) % 3001 }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ id }) => id);

void t.test(
  'nothing of a destroyed key stays in the database or its log, in whatever order keys come and go',
  async (t) => {
    const directory = temporaryDirectory(t);
    const file = join(directory, 'keys.db');
    const keys = openSqliteKeys({ file, masterKey: masterKeyA });
    t.teardown(() => keys.close());
    const gone: Buffer[] = [];
    const kept: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const made = await Promise.all(Array.from({ length: 3_000 }, () => keys.create()));
      const ids = shuffled(made.map(({ id }) => id));
      const wrapped = wrappedKeys(file, ids);
      t.ok(filesHolding(directory, wrapped.get(ids[7]!)!).length > 0, 'the search finds what is there');
      const doomed = ids.filter((_, index) => index % 3 !== round);
      for (let from = 0; from < doomed.length; from += 100)
        t.same(
          await keys.destroy(doomed.slice(from, from + 100)),
          { journalMs: 0 },
          'nothing stands in the write-ahead log',
        );
      gone.push(...doomed.map((id) => wrapped.get(id)!));
      kept.push(...ids.filter((_, index) => index % 3 === round));
      t.equal(statSync(`${file}-wal`).size, 0);
    }
    t.equal(gone.filter((wrapped) => filesHolding(directory, wrapped).length > 0).length, 0);
    t.same([...(await keys.getMany(kept)).keys()].sort(), kept.sort());
  },
);

void t.test('destroying waits for another process that reads, without blocking', async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'keys.db');
  const keys = openSqliteKeys({ file, masterKey: masterKeyA });
  t.teardown(() => keys.close());
  const { id } = await keys.create();
  const reader = openDatabase({ file, synchronous: 'full' });
  t.teardown(() => void reader.close());
  reader.exec('BEGIN');
  t.equal(reader.prepare('SELECT count(*) FROM keys').pluck().get(), 1);
  let resolved = false;
  const destroyed = keys.destroy([id]).then(() => (resolved = true));
  for (let turns = 0; turns < 20; turns += 1) await turn();
  t.equal(resolved, false, 'the log cannot be emptied yet');
  t.equal((await keys.getMany([id])).size, 0);
  reader.exec('COMMIT');
  await destroyed;
  t.equal(statSync(`${file}-wal`).size, 0);
});

void t.test('a full disk refuses a group of keys, and the next is made when space returns', async (t) => {
  const database = openDatabase({ file: join(temporaryDirectory(t), 'keys.db'), synchronous: 'full' });
  const keys = keysOn(database, deriveFrom(masterKeyA));
  t.teardown(() => keys.close());
  database.pragma('max_page_count = 12');
  const results = await Promise.allSettled(Array.from({ length: 3_000 }, () => keys.create()));
  const refused = results.flatMap((result) =>
    result.status === 'rejected' ? [(result.reason as { code: string }).code] : [],
  );
  t.ok(refused.length >= 500);
  t.ok(refused.every((code) => code === 'SQLITE_FULL'));
  const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.id] : []));
  t.ok(made.length > 0);
  t.same([...(await keys.getMany(made)).keys()], made);
  database.pragma('max_page_count = 10000');
  const { id } = await keys.create();
  t.equal((await keys.getMany([id])).size, 1);
});

void t.test('the file is for its owner alone', async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'deep', 'keys.db');
  const keys = openSqliteKeys({ file, masterKey: masterKeyA });
  t.teardown(() => keys.close());
  await keys.create();
  for (const name of ['keys.db', 'keys.db-wal', 'keys.db-shm'])
    t.equal(statSync(join(directory, 'deep', name)).mode & 0o077, 0, name);
});

type Tampered = Readonly<{ row: number; wrapped: Buffer; tag: Buffer | null }>;
const rowsIn = (file: string): readonly Tampered[] => {
  const database = openDatabase({ file, synchronous: 'full' });
  const rows = database.prepare<[], Tampered>('SELECT row, wrapped, tag FROM keys ORDER BY row').all();
  database.close();
  return rows;
};
const write = (file: string, rows: readonly Tampered[]): void => {
  const database = openDatabase({ file, synchronous: 'full' });
  for (const { row, wrapped, tag } of rows)
    database.prepare('UPDATE keys SET wrapped = ?, tag = ? WHERE row = ?').run(wrapped, tag, row);
  database.close();
};
const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1;
  return copy;
};

void t.test(
  'a row of keys that was exchanged or changed gives no key, is told of once, and is found by a look at all',
  async (t) => {
    const changes: Readonly<Record<string, (first: Tampered, second: Tampered) => readonly Tampered[]>> = {
      'two rows exchanged': (first, second) => [
        { ...second, row: first.row },
        { ...first, row: second.row },
      ],
      'a row copied over another': (first, second) => [{ ...second, row: first.row }],
      'a bit of a key': (first) => [{ ...first, wrapped: flipped(first.wrapped, 40) }],
      'a bit of the nonce': (first) => [{ ...first, wrapped: flipped(first.wrapped, 3) }],
      'a bit of the tag': (first) => [{ ...first, tag: flipped(first.tag!, 3) }],
      'a tag of another size': (first) => [{ ...first, tag: first.tag!.subarray(0, 4) }],
      'a key said to be destroyed that is not': (first) => [{ ...first, tag: flipped(first.tag!, 20) }],
    };
    for (const [name, change] of Object.entries(changes)) {
      const file = join(temporaryDirectory(t), 'keys.db');
      const told: number[] = [];
      const keys = openSqliteKeys({ file, masterKey: masterKeyA, onFault: (row) => void told.push(row) });
      t.teardown(() => keys.close());
      const made = await Promise.all(Array.from({ length: 250 }, () => keys.create()));
      t.same(await keys.faults(), []);
      const [first, second] = rowsIn(file);
      const changed = change(first!, second!);
      write(file, changed);
      const lost = new Set(changed.map(({ row }) => row));
      const rowOf = (id: string): number => parseKeyId(id)!.row;
      for (let reader = 0; reader < 2; reader += 1) {
        const found = await keys.getMany(made.map(({ id }) => id));
        t.ok(
          made.every(({ id }) => found.has(id) === !lost.has(rowOf(id))),
          name,
        );
        for (const { id, key } of made) found.get(id)?.open(key.seal('x', 'c'), 'c');
      }
      t.same(told.sort(), [...lost].sort(), `${name}: once each`);
      const faults = await keys.faults();
      t.equal(faults.length, lost.size);
      for (const row of lost)
        t.ok(faults.some((fault) => fault.startsWith(`${file}: row ${row} is not what was written`)));
      const doomed = made.find(({ id }) => lost.has(rowOf(id)))!.id;
      await keys.destroy([doomed]);
      t.notOk((await keys.getMany([doomed])).has(doomed), 'and its key can still be destroyed');
    }
  },
);
