/** What the SQLite adapters share: the lock of a role, and the commit that concurrent writes share. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { inTransaction, openDatabase } from '../../../src/adapters/sqlite/database.js';
import { groupCommit } from '../../../src/adapters/sqlite/group-commit.js';
import { holdLock } from '../../../src/adapters/sqlite/lock.js';
import { temporaryDirectory } from '../../support/data-directory.js';

const holdElsewhere = async (file: string): Promise<{ said: string; kill: () => Promise<void> }> => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./hold-lock.js', import.meta.url)), file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    said: said.toString(),
    kill: async () => {
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
};

void t.test('a lock has one holder, in this process and in others, and is free when its holder is killed', async (t) => {
  const file = join(temporaryDirectory(t), 'locks', 'projector.lock');
  const lock = holdLock({ file });
  t.ok(lock);
  t.equal(holdLock({ file }), undefined);
  const refused = await holdElsewhere(file);
  t.equal(refused.said, 'refused', 'asking twice has not lost the lock');
  await refused.kill();
  lock?.release();
  const holder = await holdElsewhere(file);
  t.equal(holder.said, 'held');
  t.equal(holdLock({ file }), undefined);
  await holder.kill();
  const again = holdLock({ file });
  t.ok(again);
  again?.release();
});

void t.test('a group is committed whole, refusals apart, and rolled back whole where a write throws', async (t) => {
  const database = openDatabase({ file: join(temporaryDirectory(t), 'group.db'), synchronous: 'full' });
  t.teardown(() => void database.close());
  database.exec('CREATE TABLE numbers (n INTEGER PRIMARY KEY)');
  const insert = database.prepare('INSERT INTO numbers (n) VALUES (?)');
  const groups: number[] = [];
  let size = 0;
  const commits = groupCommit<number, string>({
    database,
    weight: () => 100,
    begun: () => (size = 0),
    apply: (n) => {
      size += 1;
      if (n < 0) return { refused: new RangeError('negative') };
      insert.run(n);
      return { result: `stored ${n}` };
    },
    committed: () => groups.push(size),
  });
  const results = await Promise.allSettled([1, -2, 3, 4, 5, 6, 7].map((n) => commits.run(n)));
  t.same(
    results.map((result) => result.status === 'fulfilled'),
    [true, false, true, true, true, true, true],
  );
  t.same(groups, [5, 2], 'a group ends at its weight');
  const doubled = await Promise.allSettled([8, 9, 1].map((n) => commits.run(n)));
  t.ok(doubled.every((result) => result.status === 'rejected'));
  t.equal(await commits.run(8), 'stored 8');
  const last = commits.run(10);
  commits.close();
  t.equal(await last, 'stored 10');
  await t.rejects(commits.run(11), /closed/);
  t.same(database.prepare('SELECT n FROM numbers').pluck().all(), [1, 3, 4, 5, 6, 7, 8, 10]);
});

void t.test('a transaction inside another is undone alone', async (t) => {
  const database = openDatabase({ file: join(temporaryDirectory(t), 'nested.db'), synchronous: 'normal' });
  t.teardown(() => void database.close());
  database.exec('CREATE TABLE numbers (n)');
  const insert = database.prepare('INSERT INTO numbers (n) VALUES (?)');
  inTransaction(database, () => {
    insert.run(1);
    t.throws(() =>
      inTransaction(database, () => {
        insert.run(2);
        throw new Error('no');
      }),
    );
    inTransaction(database, () => insert.run(3));
  });
  t.equal(database.inTransaction, false);
  t.same(database.prepare('SELECT n FROM numbers').pluck().all(), [1, 3]);
});
