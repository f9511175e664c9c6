/** What somebody with write access to the log's file may do to it, and that `verify` names the first event that it touched. */
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import t, { type Test } from 'tap';
import { openSqliteEventStore } from '../../src/adapters/event-store/sqlite.js';
import { chainHash, chainStart, FIRST_SEAL, merkleRoot, sealRoot } from '../../src/domain/hash-chain.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';
import { verifyLog, type Finding, type NotedRoot } from '../../src/domain/verification.js';
import { advanceUntil, startTestApp, storedEvents } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock } from '../support/fake-clock.js';
import { runCommand } from '../support/server-process.js';

t.setTimeout(170_000);

type Row = { position: number; stream: string; revision: number; type: string; data: string; metadata: string; sealed: Buffer | null; hash: string };
type Database = Sqlite.Database;

const original = temporaryDirectory(t);
const emails: string[] = [];

/** A log with two seals over most of it, and a few events after the second. */
const build = async (): Promise<NotedRoot> => {
  const clock = fakeClock();
  const app = await startTestApp({ dataDir: original, clock, settings: { SEALPOST_LIMIT_LEDGER_SEAL_EVERY_MS: '60000' } });
  const seals = async (): Promise<number> => (await storedEvents(app.engine)).filter(({ stream }) => stream === 'ledger').length;
  for (let seal = 1; seal <= 2; seal += 1) {
    for (let count = 0; count < 3; count += 1) {
      const { id } = await app.send();
      await app.whenStatus(id, 'delivered');
      emails.push(`email-${id}`);
    }
    const before = await seals();
    await advanceUntil(clock, 60_000, `seal ${seal}`, async () => (await seals()) > before);
  }
  const last = await app.send();
  await app.whenStatus(last.id, 'delivered');
  emails.push(`email-${last.id}`);
  await app.whenCaughtUp();
  const { seal } = await verifyLog(app.engine.store, undefined);
  await app.stop();
  return { position: seal!.position, root: seal!.root };
};

const noted = await build();

const rowsOf = (database: Database, stream?: string): Row[] =>
  stream === undefined
    ? database.prepare<[], Row>('SELECT * FROM events ORDER BY position').all()
    : database.prepare<[string], Row>('SELECT * FROM events WHERE stream = ? ORDER BY revision').all(stream);

/** A copy of the data directory, tampered with. */
const tampered = (t: Test, tamper: (database: Database) => void): string => {
  const dataDir = temporaryDirectory(t);
  for (const entry of readdirSync(original, { withFileTypes: true })) {
    if (entry.isFile()) copyFileSync(join(original, entry.name), join(dataDir, entry.name));
    else mkdirSync(join(dataDir, entry.name));
  }
  const database = new Sqlite(join(dataDir, 'events.db'));
  database.transaction(tamper)(database);
  database.close();
  return dataDir;
};

const findingIn = async (dataDir: string, root?: NotedRoot): Promise<Finding | undefined> => {
  const store = openSqliteEventStore({ file: join(dataDir, 'events.db') });
  try {
    return (await verifyLog(store, root)).finding;
  } finally {
    await store.close();
  }
};

const ended = (database: Database): number => rowsOf(database).at(-1)!.position;

const hashed = (previous: string, row: Row): string =>
  chainHash(previous, row.stream, row.revision, { ...row, sealed: row.sealed ?? undefined });

/** Computes the hashes of a stream anew, as somebody would who knows how they are made. */
const rehash = (database: Database, stream: string): void => {
  let previous = chainStart(stream);
  for (const row of rowsOf(database, stream)) {
    previous = hashed(previous, row);
    database.prepare('UPDATE events SET hash = ? WHERE position = ?').run(previous, row.position);
  }
};

/** Moves all positions from `from` on by one, up or down. */
const shift = (database: Database, from: number, by: 1 | -1): void => {
  database.prepare('UPDATE events SET position = -position WHERE position >= ?').run(from);
  database.prepare('UPDATE events SET position = -position + ? WHERE position < 0').run(by);
};

/** Makes all seals anew over what the log holds now. */
const reseal = (database: Database): void => {
  let previousSeal = FIRST_SEAL;
  let from = 0;
  for (const row of rowsOf(database, 'ledger')) {
    const data = JSON.parse(row.data) as { at: string; position: number; count: number; root: string };
    const hashes = rowsOf(database).filter(({ position }) => position > from && position <= data.position).map(({ hash }) => hash);
    previousSeal = sealRoot(previousSeal, merkleRoot(hashes));
    from = data.position;
    database.prepare('UPDATE events SET data = ? WHERE position = ?').run(JSON.stringify({ ...data, count: hashes.length, root: previousSeal }), row.position);
    rehash(database, 'ledger');
  }
};

await t.test('the log as it was written is sound, with the noted root too', async (t) => {
  const dataDir = tampered(t, () => undefined);
  t.equal(await findingIn(dataDir, noted), undefined);
  const { code, stdout } = await runCommand(['verify', '--root', `${noted.position}:${noted.root}`], { SEALPOST_DATA_DIR: dataDir });
  t.equal(code, 0);
  t.match(stdout, /under 2 seals|under 3 seals|under 4 seals/);
  t.match(stdout, `${noted.position}:${noted.root}`);
});

type Case = Readonly<{
  name: string;
  /** Does it; answers the position that must be named and what it is called. */
  tamper: (database: Database) => Readonly<{ position: number; kind: Finding['kind'] }>;
  root?: NotedRoot;
}>;

const at = (database: Database, stream: string, revision: number): Row => rowsOf(database, stream)[revision]!;
const victim = (): string => emails[1]!;

/** The event that carries the seal under which a position falls. */
const sealOver = (database: Database, position: number): number =>
  rowsOf(database, 'ledger').find(({ data }) => (JSON.parse(data) as { position: number }).position >= position)!.position;

const cases: readonly Case[] = [
  {
    name: 'changed data',
    tamper: (database) => {
      const { position, data } = at(database, victim(), 0);
      database.prepare('UPDATE events SET data = ? WHERE position = ?').run(data.replace('"normal"', '"low"'), position);
      return { position, kind: 'changed' };
    },
  },
  {
    name: 'one changed bit of a sealed part',
    tamper: (database) => {
      const { position, sealed } = at(database, victim(), 0);
      sealed![20]! ^= 1;
      database.prepare('UPDATE events SET sealed = ? WHERE position = ?').run(sealed, position);
      return { position, kind: 'changed' };
    },
  },
  {
    name: 'a sealed part taken away',
    tamper: (database) => {
      const { position } = at(database, victim(), 0);
      database.prepare('UPDATE events SET sealed = NULL WHERE position = ?').run(position);
      return { position, kind: 'changed' };
    },
  },
  {
    name: 'changed metadata',
    tamper: (database) => {
      const { position, metadata } = at(database, victim(), 1);
      database.prepare('UPDATE events SET metadata = ? WHERE position = ?').run(metadata.replace('processor:', 'apiKey:'), position);
      return { position, kind: 'changed' };
    },
  },
  {
    name: 'changed type',
    tamper: (database) => {
      const { position } = at(database, victim(), 2);
      database.prepare("UPDATE events SET type = 'EmailFailed.v1' WHERE position = ?").run(position);
      return { position, kind: 'changed' };
    },
  },
  {
    name: 'changed hash',
    tamper: (database) => {
      const { position, hash } = at(database, victim(), 2);
      database.prepare('UPDATE events SET hash = ? WHERE position = ?').run([...hash].reverse().join(''), position);
      return { position, kind: 'changed' };
    },
  },
  {
    name: 'data changed and its hash made anew',
    tamper: (database) => {
      const row = at(database, victim(), 1);
      const changed = { ...row, data: row.data.replace('127.0.0.1', '127.0.0.2') };
      database.prepare('UPDATE events SET data = ?, hash = ? WHERE position = ?').run(changed.data, hashed(at(database, victim(), 0).hash, changed), row.position);
      return { position: at(database, victim(), 2).position, kind: 'changed' };
    },
  },
  {
    name: 'removed in the middle of a stream',
    tamper: (database) => {
      const { position } = at(database, victim(), 1);
      database.prepare('DELETE FROM events WHERE position = ?').run(position);
      return { position: position + 1, kind: 'removed' };
    },
  },
  {
    name: 'removed in the middle of a stream, positions closed up',
    tamper: (database) => {
      const { position } = at(database, victim(), 1);
      const next = at(database, victim(), 2).position;
      database.prepare('DELETE FROM events WHERE position = ?').run(position);
      shift(database, position, -1);
      return { position: next - 1, kind: 'removed' };
    },
  },
  {
    name: 'the last event of a stream removed',
    tamper: (database) => {
      const { position } = rowsOf(database, victim()).at(-1)!;
      database.prepare('DELETE FROM events WHERE position = ?').run(position);
      return { position: position + 1, kind: 'removed' };
    },
  },
  {
    name: 'the last event of a stream removed, positions closed up',
    tamper: (database) => {
      const { position } = rowsOf(database, victim()).at(-1)!;
      const seal = sealOver(database, position);
      database.prepare('DELETE FROM events WHERE position = ?').run(position);
      shift(database, position, -1);
      return { position: seal - 1, kind: 'seal-broken' };
    },
  },
  {
    name: 'a whole stream removed, positions closed up',
    tamper: (database) => {
      const rows = rowsOf(database, victim()).reverse();
      const seal = sealOver(database, rows[0]!.position);
      for (const { position } of rows) {
        database.prepare('DELETE FROM events WHERE position = ?').run(position);
        shift(database, position, -1);
      }
      return { position: seal - rows.length, kind: 'seal-broken' };
    },
  },
  {
    name: 'moved to another stream',
    tamper: (database) => {
      const last = rowsOf(database, victim()).at(-1)!;
      const other = rowsOf(database, emails[0]!);
      database.prepare('UPDATE events SET stream = ?, revision = ? WHERE position = ?').run(emails[0], other.length, last.position);
      return { position: last.position, kind: 'changed' };
    },
  },
  {
    name: 'a whole stream under another name',
    tamper: (database) => {
      const { position } = at(database, victim(), 0);
      database.prepare('UPDATE events SET stream = ? WHERE stream = ?').run('email-00000000-0000-4000-8000-000000000000', victim());
      return { position, kind: 'changed' };
    },
  },
  {
    name: 'swapped order in one stream',
    tamper: (database) => {
      const first = at(database, victim(), 1).position;
      const second = at(database, victim(), 2).position;
      database.prepare('UPDATE events SET position = -1 WHERE position = ?').run(first);
      database.prepare('UPDATE events SET position = ? WHERE position = ?').run(first, second);
      database.prepare('UPDATE events SET position = ? WHERE position = -1').run(second);
      return { position: first, kind: 'removed' };
    },
  },
  {
    name: 'swapped order of two streams',
    tamper: (database) => {
      const first = at(database, emails[0]!, 0).position;
      const second = at(database, victim(), 0).position;
      const rows = rowsOf(database).filter(({ stream }) => stream === emails[0] || stream === victim());
      const places = rows.map(({ position }) => position);
      const swapped = [...rows.filter(({ stream }) => stream === victim()), ...rows.filter(({ stream }) => stream === emails[0])];
      for (const { position } of rows) database.prepare('UPDATE events SET position = -position WHERE position = ?').run(position);
      swapped.forEach(({ position }, index) => void database.prepare('UPDATE events SET position = ? WHERE position = ?').run(places[index], -position));
      return { position: sealOver(database, Math.min(first, second)), kind: 'seal-broken' };
    },
  },
  {
    name: 'a forged event slipped in with the right hash',
    tamper: (database) => {
      const last = rowsOf(database, victim()).at(-1)!;
      const seal = sealOver(database, last.position);
      shift(database, last.position + 1, 1);
      const forged: Row = { ...last, position: last.position + 1, revision: last.revision + 1, type: 'EmailDelivered.v1', data: last.data, sealed: null };
      insert(database, { ...forged, hash: hashed(last.hash, forged) });
      return { position: seal + 1, kind: 'seal-broken' };
    },
  },
  {
    name: 'a forged event slipped in between two of a stream',
    tamper: (database) => {
      const before = at(database, victim(), 1);
      shift(database, before.position + 1, 1);
      database.prepare('UPDATE events SET revision = -revision WHERE stream = ? AND revision > ?').run(victim(), before.revision);
      database.prepare('UPDATE events SET revision = -revision + 1 WHERE stream = ? AND revision < 0').run(victim());
      const forged: Row = { ...before, position: before.position + 1, revision: before.revision + 1, sealed: null };
      insert(database, { ...forged, hash: hashed(before.hash, forged) });
      return { position: at(database, victim(), 3).position, kind: 'changed' };
    },
  },
  {
    name: 'a whole stream rewritten with its hashes made anew',
    tamper: (database) => {
      const { position, data } = at(database, victim(), 0);
      database.prepare('UPDATE events SET data = ? WHERE position = ?').run(data.replace('"normal"', '"low"'), position);
      rehash(database, victim());
      return { position: sealOver(database, position), kind: 'seal-broken' };
    },
  },
  {
    name: 'a whole stream rewritten with all seals made anew, against a noted root',
    root: noted,
    tamper: (database) => {
      const { position, data } = at(database, victim(), 0);
      database.prepare('UPDATE events SET data = ? WHERE position = ?').run(data.replace('"normal"', '"low"'), position);
      rehash(database, victim());
      reseal(database);
      return { position: noted.position, kind: 'seal-broken' };
    },
  },
  {
    name: 'the end of the log cut off, against a noted root',
    root: noted,
    tamper: (database) => {
      database.prepare('DELETE FROM events WHERE position >= ?').run(sealOver(database, noted.position));
      return { position: ended(database), kind: 'cut-off' };
    },
  },
  {
    name: 'all of the log gone, against a noted root',
    root: noted,
    tamper: (database) => {
      database.exec('DELETE FROM events');
      return { position: 0, kind: 'cut-off' };
    },
  },
  {
    name: 'a seal removed',
    tamper: (database) => {
      const { position } = rowsOf(database, 'ledger')[0]!;
      database.prepare('DELETE FROM events WHERE position = ?').run(position);
      return { position: position + 1, kind: 'removed' };
    },
  },
  {
    name: 'a forged seal that no reader understands',
    tamper: (database) => {
      const last = rowsOf(database, 'ledger').at(-1)!;
      const forged: Row = { ...last, position: ended(database) + 1, revision: last.revision + 1, type: 'Nonsense.v9', data: '{' };
      insert(database, { ...forged, hash: hashed(last.hash, forged) });
      return { position: forged.position, kind: 'inserted' };
    },
  },
];

const insert = (database: Database, { position, stream, revision, type, data, metadata, sealed, hash }: Row): void =>
  void database.prepare('INSERT INTO events (position, stream, revision, type, data, metadata, sealed, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
    .run(position, stream, revision, type, data, metadata, sealed, hash);

for (const { name, tamper, root } of cases) {
  await t.test(name, async (t) => {
    let expected: ReturnType<Case['tamper']> | undefined;
    const dataDir = tampered(t, (database) => void (expected = tamper(database)));
    t.match(await findingIn(dataDir, root), expected!);
  });
}

await t.test('an event that repeats a revision, in a store that does not refuse it', async (t) => {
  const store = openSqliteEventStore({ file: join(tampered(t, () => undefined), 'events.db') });
  t.teardown(() => store.close());
  const events: StoredEvent[] = [];
  for await (const batch of store.readAll(0)) events.push(...batch);
  const repeated = { ...events[1]!, position: events.length + 1 };
  const lax = {
    head: async () => repeated.position,
    readAll: async function* () {
      yield [...events, repeated];
    },
  };
  t.match((await verifyLog(lax, undefined)).finding, { kind: 'inserted', position: repeated.position, stream: repeated.stream });
});

await t.test('the command line says it, and exits with 1', async (t) => {
  let position = 0;
  const changed = tampered(t, (database) => {
    position = at(database, victim(), 1).position;
    database.prepare("UPDATE events SET data = '{}' WHERE position = ?").run(position);
  });
  const result = await runCommand(['verify'], { SEALPOST_DATA_DIR: changed });
  t.equal(result.code, 1);
  t.match(result.stderr, `log: BROKEN at position ${position} (changed)`);

  const cut = tampered(t, (database) => void database.prepare('DELETE FROM events WHERE position > ?').run(noted.position));
  const without = await runCommand(['verify'], { SEALPOST_DATA_DIR: cut });
  t.equal(without.code, 1, 'the read models know more than the log');
  t.match(without.stderr, /lies beyond the log/);
  const withRoot = await runCommand(['verify', '--root', `${noted.position}:${noted.root}`], { SEALPOST_DATA_DIR: cut });
  t.equal(withRoot.code, 1);
  t.match(withRoot.stderr, /cut-off/);
  const nonsense = await runCommand(['verify', '--root', 'nonsense'], { SEALPOST_DATA_DIR: cut });
  t.equal(nonsense.code, 1);
  t.match(nonsense.stderr, /POSITION:ROOT/);
});

await t.test('a read model that was changed is found, and a rebuild mends it', async (t) => {
  const dataDir = tampered(t, () => undefined);
  const file = readdirSync(dataDir).find((name) => /^documents\.db\.emails\.\d+\.db$|^documents\.emails\.\d+\.db$/.test(name));
  const database = new Sqlite(join(dataDir, file ?? ''), { fileMustExist: true });
  const tables = database.prepare<[], string>("SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'doc'").pluck().all();
  const changes = tables.map((name) => database.prepare(`UPDATE "${name}" SET doc = replace(doc, 'delivered', 'failed')`).run().changes);
  database.close();
  t.ok(changes.some((count) => count > 0), 'documents were changed');
  const broken = await runCommand(['verify'], { SEALPOST_DATA_DIR: dataDir });
  t.equal(broken.code, 1);
  t.match(broken.stderr, /emails: BROKEN: .* run sealpost rebuild emails/);
  t.match(await runCommand(['rebuild', 'emails'], { SEALPOST_DATA_DIR: dataDir }), { code: 0 });
  t.match(await runCommand(['verify'], { SEALPOST_DATA_DIR: dataDir }), { code: 0 });
});
