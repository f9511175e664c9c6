/** The event store on SQLite: the contract, several processes on one file, and disks that refuse. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { eventStoreOn, openSqliteEventStore, createRecentEvents } from '../../../src/adapters/event-store/sqlite.js';
import Sqlite from 'better-sqlite3';
import { openDatabase, type Database } from '../../../src/adapters/sqlite/database.js';
import type { EventStore, StoredEvent } from '../../../src/domain/ports/event-store.js';
import { anEvent, eventStoreSuite, takeEvents } from '../../contracts/event-store-suite.js';
import { temporaryDirectory } from '../../support/data-directory.js';

const directory = temporaryDirectory(t);

/** The first commit reports an error of fsync, as a disk may after the commit is written or before. */
const losingCommit = (database: Database, when: 'written' | 'not written'): Database => {
  const prepare = database.prepare.bind(database);
  let lost = false;
  database.prepare = ((sql: string) => {
    const statement = prepare(sql);
    if (sql !== 'COMMIT') return statement;
    return {
      run: () => {
        if (lost) return statement.run();
        lost = true;
        if (when === 'written') statement.run();
        throw new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
      },
    };
  }) as typeof database.prepare;
  return database;
};

void t.test('the contract', async (t) => {
  const fileOf = (place: string): string => join(directory, `${place}.db`);
  eventStoreSuite(t, {
    open: async (place) => openSqliteEventStore({ file: fileOf(place) }),
    openLosing: async (place, when) =>
      eventStoreOn(losingCommit(openDatabase({ file: fileOf(place), synchronous: 'full' }), when)),
    settle: () => Promise.resolve(),
    close: () => Promise.resolve(),
  });
});

/** A process that appends 2,000 events, says where they came to stand, and follows the log until it has seen 4,000. */
const writer = fileURLToPath(new URL('./append-and-follow.js', import.meta.url));

void t.test('two processes append to one file at the same time, and both see one order without gaps', async (t) => {
  const file = join(directory, 'two.db');
  await openSqliteEventStore({ file }).close();
  const run = (name: string): Promise<{ appended: number[]; seen: string[] }> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [writer, file, name], { stdio: ['ignore', 'pipe', 'inherit'] });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.on('close', (code) =>
        code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`${name} ended with ${code}`)),
      );
    });
  const [a, b] = await Promise.all([run('a'), run('b')]);
  t.equal(a.seen.length, 4_000);
  t.same(a.seen, b.seen);
  t.same(
    [...a.appended, ...b.appended].sort((x, y) => x - y),
    Array.from({ length: 4_000 }, (_, index) => index + 1),
  );
  const store = openSqliteEventStore({ file });
  t.same(
    (await takeEvents(store.readAll(0), 4_000)).map((event) => `${event.position} ${event.stream}`),
    a.seen,
  );
  await store.close();
});

void t.test('a file that was written before events had a column for their id is read, and goes on', async (t) => {
  const file = join(directory, 'old.db');
  const old = openDatabase({ file, synchronous: 'full' });
  old.exec(`CREATE TABLE events (
    position INTEGER PRIMARY KEY, stream TEXT NOT NULL, revision INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL,
    metadata TEXT NOT NULL, sealed BLOB, hash TEXT NOT NULL, UNIQUE (stream, revision)) STRICT`);
  const insert = old.prepare("INSERT INTO events VALUES (?, 'email-1', ?, 'EmailQueued.v1', '{}', ?, NULL, 'ab')");
  insert.run(1, 0, '{"eventId":"first","teamId":"t"}');
  insert.run(2, 1, 'no JSON at all');
  old.close();
  const [store, beside] = [openSqliteEventStore({ file }), openSqliteEventStore({ file })];
  t.teardown(() => Promise.all([store.close(), beside.close()]));
  await store.append('email-1', 1, [
    anEvent('x', { eventId: 'third' }),
    anEvent('y', { eventId: 'last', metadata: '{"eventId":"last"}' }),
  ]);
  t.same(
    (await beside.readStream('email-1')).map(({ eventId }) => eventId),
    ['first', '', 'third', 'last'],
  );
});

void t.test('a new file has pages of 8 KiB, and one with other pages keeps them', async (t) => {
  const [file, older] = [join(directory, 'pages.db'), join(directory, 'older-pages.db')];
  const made = openDatabase({ file: older, synchronous: 'full' });
  made.exec('CREATE TABLE kept (a TEXT)');
  made.close();
  for (const one of [file, older]) {
    const store = openSqliteEventStore({ file: one });
    await store.append('email-1', -1, [anEvent('x'.repeat(10_000), { eventId: 'first' })]);
    t.match(await store.readStream('email-1'), [{ data: `"${'x'.repeat(10_000)}"` }]);
    await store.close();
  }
  const pageSizeOf = (one: string): unknown => {
    const database = openDatabase({ file: one, synchronous: 'full' });
    try {
      return database.pragma('page_size', { simple: true });
    } finally {
      database.close();
    }
  };
  t.same([pageSizeOf(file), pageSizeOf(older)], [8_192, 4_096]);
});

void t.test(
  'the recent events are bounded in number and in bytes, start anew after a gap, and say where they cannot help',
  async (t) => {
    const event = (position: number, data = 'x'): StoredEvent => ({
      ...anEvent(data, { eventId: 'x' }),
      stream: `${position % 2 === 0 ? 'even' : 'odd'}-1`,
      revision: 0,
      position,
    });
    const recent = createRecentEvents({ countMax: 4, bytesMax: 100_000 });
    const batch = (after: number, limit = 100, matches?: (stream: string) => boolean) => {
      const found = recent.after(after, limit, matches);
      return found && { positions: found.events.map(({ position }) => position), position: found.position };
    };
    t.equal(batch(0), undefined);
    for (let position = 1; position <= 11; position += 1) recent.push(event(position));
    t.equal(batch(6), undefined);
    t.same(batch(7), { positions: [8, 9, 10, 11], position: 11 });
    t.same(batch(10), { positions: [11], position: 11 });
    t.equal(batch(11), undefined);
    t.same(batch(7, 2), { positions: [8, 9], position: 9 });
    t.same(
      batch(7, 1, (stream) => stream === 'odd-1'),
      { positions: [9], position: 9 },
    );
    t.same(
      batch(9, 9, () => false),
      { positions: [], position: 11 },
    );
    t.strictSame(recent.after(7, 1, undefined)!.events, [event(8)]);
    recent.push(event(14));
    t.equal(batch(11), undefined);
    t.same(batch(13), { positions: [14], position: 14 });
    recent.push(event(15, 'y'.repeat(60_000)));
    recent.push(event(16, 'y'.repeat(60_000)));
    t.equal(batch(14), undefined);
    t.same(batch(15), { positions: [16], position: 16 });
    recent.push(event(17, 'y'.repeat(200_000)));
    t.same(batch(16), { positions: [17], position: 17 }, 'the newest is always there');
  },
);

/** Checks a full disk: the store refuses the group whole, and accepts the next one when there is room again. */
const refusesAndRecovers = async (t: Test, store: EventStore, code: RegExp, makeRoom: () => void): Promise<void> => {
  const large = 'z'.repeat(20_000);
  let stored = 0;
  let failure: unknown;
  while (failure === undefined && stored < 2_000) {
    const results = await Promise.allSettled(
      Array.from({ length: 3 }, (_, index) => store.append(`email-${stored + index}`, -1, [anEvent(large)])),
    );
    const rejected = results.filter((result) => result.status === 'rejected');
    if (rejected.length === 0) stored += 3;
    else {
      t.equal(rejected.length, 3, 'the whole group is refused');
      failure = rejected[0]?.reason;
    }
  }
  t.match((failure as { code?: string }).code, code);
  t.equal(await store.head(), stored, 'nothing of the group was written');
  await t.rejects(store.append('email-again', -1, [anEvent(large.repeat(4))]), { code });
  makeRoom();
  t.same(await store.append('email-after', -1, [anEvent(large)]), { kind: 'done', revision: 0, position: stored + 1 });
  t.equal((await takeEvents(store.readAll(0), stored + 1)).length, stored + 1);
};

void t.test('a database that may not grow refuses a group and takes the next when it may', async (t) => {
  const database = openDatabase({ file: join(directory, 'full.db'), synchronous: 'full' });
  database.pragma('max_page_count = 200');
  const store = eventStoreOn(database);
  t.teardown(() => store.close());
  const { signal } = new AbortController();
  const follower = takeEvents(store.subscribeAll(0, { signal }), 10);
  await refusesAndRecovers(t, store, /^SQLITE_FULL/, () => void database.pragma('max_page_count = 100000'));
  t.same((await follower).map((event) => event.position).slice(0, 10), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

/** Mounting needs a privilege that not everyone who runs the tests has. */
const smallDisk = (): string | undefined => {
  const place = mkdtempSync(join(tmpdir(), 'sealpost-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', place], { stdio: 'ignore' });
    return place;
  } catch {
    rmSync(place, { recursive: true });
    return undefined;
  }
};

void t.test('a disk that is full refuses a group, and the service goes on when space returns', async (t) => {
  const place = smallDisk();
  if (place === undefined) {
    t.comment('no file system can be mounted here; max_page_count has shown the same');
    return;
  }
  t.teardown(() => {
    execFileSync('umount', [place]);
    rmSync(place, { recursive: true });
  });
  writeFileSync(join(place, 'ballast'), Buffer.alloc(900_000));
  const store = openSqliteEventStore({ file: join(place, 'events.db') });
  t.teardown(() => store.close());
  await refusesAndRecovers(t, store, /^SQLITE_(FULL|IOERR)/, () => unlinkSync(join(place, 'ballast')));
});

void t.test('a write that fails refuses the group, and the next one is taken when writing works again', async (t) => {
  // A limit on the size of files makes write(2) fail, which SQLite reports as an I/O error.
  const child = fileURLToPath(new URL('./limited-writes.js', import.meta.url));
  const file = join(directory, 'limited.db');
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' });
  } catch {
    t.comment('there is no prlimit here');
    return;
  }
  const output = execFileSync(
    'bash',
    ['-c', `unset NODE_OPTIONS; trap '' XFSZ; ulimit -S -f 1200; exec "$0" "$@"`, process.execPath, child, file],
    { encoding: 'utf8' },
  );
  const { codes, headAfterFailure, stored, recovered } = JSON.parse(output) as {
    codes: string[];
    headAfterFailure: number;
    stored: number;
    recovered: unknown;
  };
  t.ok(codes.length > 0);
  t.ok(
    codes.every((code) => code.startsWith('SQLITE_IOERR') || code === 'SQLITE_FULL'),
    codes.join(),
  );
  t.equal(headAfterFailure, stored);
  t.same(recovered, { kind: 'done', revision: 0, position: stored + 1 });
});

void t.test('a lock that another process holds too long refuses the group with SQLITE_BUSY', async (t) => {
  const file = join(directory, 'busy.db');
  const database = openDatabase({ file, synchronous: 'full' });
  const store = eventStoreOn(database);
  t.teardown(() => store.close());
  database.pragma('busy_timeout = 10');
  const holder = openDatabase({ file, synchronous: 'full' });
  t.teardown(() => void holder.close());
  holder.exec('BEGIN IMMEDIATE');
  const results = await Promise.allSettled([
    store.append('email-1', -1, [anEvent('a')]),
    store.append('email-2', -1, [anEvent('b')]),
  ]);
  t.same(
    results.map((result) => (result.status === 'rejected' ? (result.reason as { code: string }).code : 'stored')),
    ['SQLITE_BUSY', 'SQLITE_BUSY'],
  );
  holder.exec('ROLLBACK');
  t.same(await store.append('email-1', -1, [anEvent('a')]), { kind: 'done', revision: 0, position: 1 });
});

void t.test('an event of another process reaches a waiting subscriber without any append here', async (t) => {
  const file = join(directory, 'foreign.db');
  const [here, there] = [openSqliteEventStore({ file }), openSqliteEventStore({ file })];
  t.teardown(() => Promise.all([here.close(), there.close()]));
  const { signal } = new AbortController();
  const waiting = takeEvents(here.subscribeAll(0, { signal }), 1);
  await turn();
  // The subscriber's timer does not keep a process alive; the test does.
  const alive = setInterval(() => undefined, 1_000);
  t.teardown(() => clearInterval(alive));
  await there.append('email-1', -1, [anEvent('a')]);
  t.same(
    (await waiting).map((event) => event.position),
    [1],
  );
});
