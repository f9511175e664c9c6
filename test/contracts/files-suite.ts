/** The contract of every store of files. */
import { createHash } from 'node:crypto';
import type { Test } from 'tap';
import type { Files } from '../../src/domain/ports/files.js';

export type FilesHarness = Readonly<{
  /** A client of the files of that name. */
  open: (place: string) => Promise<Files>;
  close: () => Promise<void>;
}>;

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export const filesSuite = (t: Test, harness: FilesHarness): void => {
  let places = 0;
  const fresh = (): Promise<Files> => harness.open(`files-${(places += 1)}`);
  t.teardown(() => harness.close());

  void t.test('bytes are put under their hash and come back as they were', async (t) => {
    const files = await fresh();
    for (const bytes of [Buffer.alloc(0), Buffer.from('a'), Buffer.alloc(3_000_000, 'xyz')]) {
      t.equal(await files.put(bytes), hashOf(bytes));
      t.same(await files.get(hashOf(bytes)), bytes);
    }
    const view = new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4);
    t.same([...((await files.get(await files.put(view))) ?? [])], [1, 2, 3]);
    t.equal(await files.get('0'.repeat(64)), undefined);
  });

  void t.test('the same bytes may be put again, also at the same time, and deleted twice', async (t) => {
    const files = await fresh();
    const bytes = Buffer.alloc(100_000, 1);
    const hashes = await Promise.all(Array.from({ length: 20 }, () => files.put(bytes)));
    t.equal(new Set(hashes).size, 1);
    t.same(await files.get(hashOf(bytes)), bytes);
    await files.delete(hashOf(bytes));
    await files.delete(hashOf(bytes));
    t.equal(await files.get(hashOf(bytes)), undefined);
    await files.put(bytes);
    t.same(await files.get(hashOf(bytes)), bytes);
  });

  void t.test('a sweep deletes what has expired and counts it', async (t) => {
    const files = await fresh();
    const put = (text: string, expiresAt?: string): Promise<string> =>
      files.put(Buffer.from(text), expiresAt === undefined ? {} : { expiresAt });
    const [early, late, sameDay, never] = [
      await put('early', '2026-01-01T10:00:00.000Z'),
      await put('late', '2026-03-01T00:00:00.000Z'),
      await put('same day', '2026-01-01T22:00:00.000Z'),
      await put('never'),
    ];
    t.equal(await files.sweep('2025-12-31T23:59:59.999Z'), 0);
    t.equal(await files.expired('2025-12-31T23:59:59.999Z'), 0);
    t.equal(await files.expired('2026-01-01T10:00:00.000Z'), 1);
    t.equal(await files.expired('2026-01-02T00:00:00.000Z'), 2);
    t.equal(await files.expired('2030-01-01T00:00:00.000Z'), 3, 'nothing is deleted by counting');
    t.equal(await files.sweep('2026-01-01T10:00:00.000Z'), 1, 'at the very time');
    t.equal(await files.expired('2026-01-01T10:00:00.000Z'), 0);
    t.equal(await files.get(early), undefined);
    t.ok(await files.get(sameDay));
    t.equal(await files.sweep('2026-01-02T00:00:00.000Z'), 1, 'the day before is looked at too');
    t.equal(await files.get(sameDay), undefined);
    t.equal(await files.sweep('2026-01-02T00:00:00.000Z'), 0);
    t.ok(await files.get(late));
    t.equal(await files.sweep('2030-01-01T00:00:00.000Z'), 1);
    t.ok(await files.get(never));
  });

  void t.test('the longest need decides when the same bytes are put again', async (t) => {
    const files = await fresh();
    const put = (text: string, expiresAt?: string): Promise<string> =>
      files.put(Buffer.from(text), expiresAt === undefined ? {} : { expiresAt });
    const [soon, later] = ['2026-01-01T00:00:00.000Z', '2026-06-01T00:00:00.000Z'];
    const kept = [
      (await put('a', soon), await put('a')),
      (await put('b'), await put('b', soon)),
      (await put('c', soon), await put('c', later)),
      (await put('d', later), await put('d', soon)),
    ];
    t.equal(await files.sweep('2026-02-01T00:00:00.000Z'), 0);
    for (const hash of kept) t.ok(await files.get(hash));
    t.equal(await files.sweep('2026-07-01T00:00:00.000Z'), 2);
    const left = await Promise.all(kept.map(async (hash) => (await files.get(hash)) !== undefined));
    t.same(left, [true, true, false, false]);
    await files.delete(await put('e', soon));
    await put('e');
    t.equal(await files.sweep('2026-07-01T00:00:00.000Z'), 0, 'an old expiry does not come back after a deletion');
    t.ok(await files.get(hashOf(Buffer.from('e'))));
  });

  void t.test('times in any form of ISO 8601 count as times', async (t) => {
    const files = await fresh();
    await files.put(Buffer.from('x'), { expiresAt: '2026-01-01T12:00:00+02:00' });
    t.equal(await files.sweep('2026-01-01T09:59:59Z'), 0);
    t.equal(await files.sweep('2026-01-01T10:00:00Z'), 1);
    await t.rejects(files.put(Buffer.from('x'), { expiresAt: 'soon' }));
    await t.rejects(files.sweep('now'));
  });

  void t.test('only a hash names a file', async (t) => {
    const files = await fresh();
    for (const name of [
      '',
      '../../etc/passwd',
      `../${'a'.repeat(61)}`,
      'A'.repeat(64),
      `${'a'.repeat(64)}\n`,
      'a'.repeat(63),
      `${'a'.repeat(62)}/b`,
    ]) {
      await t.rejects(files.get(name), RangeError);
      await t.rejects(files.delete(name), RangeError);
    }
  });
};
