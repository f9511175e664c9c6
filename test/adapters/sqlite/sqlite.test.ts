/** Code that the SQLite adapters share: the lock of a role, and the commit that concurrent writes share. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setImmediate as turn } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import t, { type Test } from 'tap';
import { damageOf, inTransaction, openDatabase, holdLock } from '../../../src/adapters/sqlite/database.js';
import { groupCommit } from '../../../src/adapters/sqlite/group-commit.js';
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

void t.test(
  'a lock has one holder, in this process and in others, and is free when its holder is killed',
  async (t) => {
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
  },
);

void t.test('a group is committed whole, and rolled back whole where a write throws', async (t) => {
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
      if (n >= 0) insert.run(n);
      return n < 0 ? `refused ${n}` : `stored ${n}`;
    },
    committed: () => groups.push(size),
  });
  t.same(await Promise.all([1, -2, 3, 4, 5, 6, 7].map((n) => commits.run(n))), [
    'stored 1',
    'refused -2',
    'stored 3',
    'stored 4',
    'stored 5',
    'stored 6',
    'stored 7',
  ]);
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

/** A group commit that notes how many requests each commit had, and after how many turns of the event loop it came. */
const countingCommits = (t: Test, nowMs: () => number = () => 0) => {
  const database = openDatabase({ file: join(temporaryDirectory(t), 'batching.db'), synchronous: 'off' });
  t.teardown(() => void database.close());
  const groups: number[] = [];
  let size = 0;
  const commits = groupCommit<null, void>({
    database,
    weight: () => 1,
    begun: () => (size = 0),
    apply: () => void (size += 1),
    committed: () => groups.push(size),
    nowMs,
  });
  return {
    groups,
    commits,
    run: (count: number) => Promise.all(Array.from({ length: count }, () => commits.run(null))),
  };
};

void t.test(
  'where few write nobody waits; where many do, those that come within some turns share a commit',
  async (t) => {
    const { groups, run } = countingCommits(t);
    let turned = 0;
    const turns = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 1) await turn();
    };
    await Promise.all([run(1), turn().then(() => (turned = groups.length))]);
    t.equal(turned, 1, 'the first is committed in the next turn');
    await run(20);
    t.same(groups, [1, 20]);
    const together = [run(1)];
    for (let more = 0; more < 3; more += 1) {
      await turns(1);
      together.push(run(1));
    }
    await Promise.all(together);
    t.same(groups, [1, 20, 4], 'they came one turn after the other');
    await run(1);
    await Promise.all([run(1), turns(1).then(() => run(1))]);
    t.same(groups, [1, 20, 4, 1, 1, 1], 'and where few write again nobody waits');
  },
);

void t.test('where turns take long they are not waited for', async (t) => {
  let ms = 0;
  const { groups, run } = countingCommits(t, () => ms);
  await run(20);
  const together = [run(1)];
  ms += 4;
  await turn();
  together.push(run(1));
  await Promise.all(together);
  t.same(groups, [20, 1, 1]);
});

void t.test(
  'when enough have come they are committed at once, and those after them are a group of their own',
  async (t) => {
    const { groups, run } = countingCommits(t);
    await run(31);
    const early = run(32);
    await turn();
    t.same(groups, [31, 32]);
    await Promise.all([early, run(1)]);
    t.same(groups, [31, 32, 1]);
  },
);

void t.test('whatever the numbers, all are committed', async (t) => {
  const { groups, run } = countingCommits(t);
  const done: Promise<unknown>[] = [];
  for (let round = 0; round < 200; round += 1) {
    done.push(run(round % 7));
    if (round % 3 === 0) await turn();
  }
  await Promise.all(done);
  t.equal(
    groups.reduce((sum, count) => sum + count, 0),
    Array.from({ length: 200 }, (_, round) => round % 7).reduce((sum, count) => sum + count, 0),
  );
});

void t.test('a commit of which nobody knows whether it is durable has a result of its own', async (t) => {
  for (const { code, isCertain } of [
    { code: 'SQLITE_IOERR_FSYNC', isCertain: false },
    { code: 'SQLITE_IOERR', isCertain: false },
    { code: 'SQLITE_FULL', isCertain: true },
    { code: 'SQLITE_BUSY', isCertain: true },
  ]) {
    const database = openDatabase({ file: join(temporaryDirectory(t), 'unknown.db'), synchronous: 'off' });
    t.teardown(() => void database.close());
    const prepare = database.prepare.bind(database);
    const fail = (): never => {
      throw new Sqlite.SqliteError('no', code);
    };
    database.prepare = ((sql: string) => (sql === 'COMMIT' ? { run: fail } : prepare(sql))) as typeof database.prepare;
    const options = { database, weight: () => 1, apply: () => 'stored' };
    const commits = groupCommit<null, string>({ ...options, unknown: ({ message }) => `unknown: ${message}` });
    if (isCertain) await t.rejects(commits.run(null), { code });
    else t.equal(await commits.run(null), 'unknown: no');
    await t.rejects(groupCommit<null, string>(options).run(null), { code }, 'who has no such result is refused');
  }
});

void t.test('an error of a damaged file names the file, at whichever call', async (t) => {
  const file = join(temporaryDirectory(t), 'some.db');
  const made = openDatabase({ file, synchronous: 'off', journal: 'memory' });
  made.exec('CREATE TABLE t (a TEXT)');
  const insert = made.prepare('INSERT INTO t SELECT hex(randomblob(500))');
  for (let row = 0; row < 100; row += 1) insert.run();
  made.close();
  writeFileSync(file, readFileSync(file).fill(0xa5, 3 * 4_096));
  const database = openDatabase({ file, synchronous: 'off' });
  t.teardown(() => database.close());
  const select = database.prepare('SELECT a FROM t');
  const named = {
    code: /^SQLITE_CORRUPT/,
    damagedFile: 'some.db',
    message: new RegExp(`^${file} is damaged \\(database disk image is malformed\\); sealpost doctor`),
  };
  for (const call of [
    () => select.all(),
    () => [...select.iterate()],
    () => database.prepare('DELETE FROM t').run(),
    () => database.exec('DELETE FROM t'),
  ])
    t.throws(call, named);
  t.equal(damageOf({ file })?.includes('sealpost doctor'), false, 'the words of SQLite alone');
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
