/** Read models on SQLite: the contract, what the files hold and no longer hold, and queries that go by an index. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openSqliteDocuments } from '../../../src/adapters/documents/sqlite.js';
import { openDatabase } from '../../../src/adapters/sqlite/database.js';
import { anEmail, emailsSpec, put, timersSpec } from '../../contracts/documents-fixtures.js';
import { documentsSuite } from '../../contracts/documents-suite.js';
import { filesHolding, temporaryDirectory } from '../../support/data-directory.js';

void t.test('the contract', async (t) => {
  const directory = temporaryDirectory(t);
  documentsSuite(t, {
    open: async (place) => openSqliteDocuments({ file: join(directory, `${place}.db`) }),
    settle: () => Promise.resolve(),
    close: () => Promise.resolve(),
  });
});

void t.test('a rebuild leaves nothing of the old in any file, beside processes that have it open', async (t) => {
  const directory = temporaryDirectory(t);
  const open = () => openSqliteDocuments({ file: join(directory, 'documents.db') });
  const [writer, reader, rebuilder] = [open(), open(), open()];
  t.teardown(() => Promise.all([writer.close(), reader.close(), rebuilder.close()]));
  const live = await writer.projection('emails', [emailsSpec, timersSpec]);
  const emails = Array.from({ length: 500 }, (_, index) => anEmail(index + 1, { text: `secretperson${index}@example.com`, to: 'topsecretname' }));
  await put(live, emails);
  t.equal(await reader.count('emails', { where: {}, search: 'secretperson' }, 1_000), 500);
  t.ok(filesHolding(directory, 'secretperson').length > 0);
  const rebuild = await rebuilder.rebuild('emails');
  await put(rebuild.store, emails.map(({ seq }) => anEmail(seq)));
  await rebuild.commit();
  t.same(filesHolding(directory, 'secret'), []);
  t.equal(await reader.count('emails', { where: {}, search: 'secretperson' }, 1_000), 0);
  await put(live, [anEmail(900)]);
  t.same(readdirSync(directory).filter((name) => /\.\d+\.db$/.test(name)), ['documents.emails.2.db']);
});

void t.test('what a crashed rebuild left is removed by the next', async (t) => {
  const directory = temporaryDirectory(t);
  const documents = openSqliteDocuments({ file: join(directory, 'documents.db') });
  t.teardown(() => documents.close());
  await documents.projection('emails', [emailsSpec]);
  openDatabase({ file: join(directory, 'documents.emails.7.db'), synchronous: 'off' }).close();
  openDatabase({ file: join(directory, 'documents.emails.x.7.db'), synchronous: 'off' }).close();
  const rebuild = await documents.rebuild('emails');
  await rebuild.discard();
  t.same(readdirSync(directory).filter((name) => /\d\.db$/.test(name)), ['documents.emails.1.db', 'documents.emails.x.7.db']);
});

void t.test('texts that change or go leave no entry in the search index, and keep it whole', async (t) => {
  const directory = temporaryDirectory(t);
  const documents = openSqliteDocuments({ file: join(directory, 'documents.db') });
  const live = await documents.projection('emails', [emailsSpec]);
  const text = (seq: number, round: number): string => `person${(seq * 31 + round * 17) % 997}@example${round}.com`;
  for (let round = 0; round < 4; round += 1) {
    for (let from = 0; from < 600; from += 50) {
      await put(
        live,
        Array.from({ length: 50 }, (_, index) => anEmail(from + index + 1, { teamId: `team-${(from + index) % 3}`, text: text(from + index, round) })),
        round === 2 ? [`id-${String(from + 7).padStart(4, '0')}`] : [],
      );
    }
  }
  for (let seq = 1; seq <= 600; seq += 1) await put(live, [anEmail(seq, { teamId: 'team-1' })]);
  await documents.close();
  const database = openDatabase({ file: join(directory, 'documents.emails.1.db'), synchronous: 'normal' });
  t.teardown(() => void database.close());
  t.doesNotThrow(() => database.exec("INSERT INTO s_emails (s_emails) VALUES ('integrity-check')"));
  database.exec("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 's_emails', 'row')");
  t.same(database.prepare('SELECT term FROM temp.terms').pluck().all(), [], 'no trigram of any text is left');
});

void t.test('every query of a list goes along an index, without sorting', async (t) => {
  const directory = temporaryDirectory(t);
  const documents = openSqliteDocuments({ file: join(directory, 'documents.db') });
  await documents.projection('emails', [emailsSpec]);
  await documents.close();
  const database = openDatabase({ file: join(directory, 'documents.emails.1.db'), synchronous: 'normal' });
  t.teardown(() => void database.close());
  const plan = (sql: string): string => database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all().map((row) => (row as { detail: string }).detail).join('; ');
  const list = 'SELECT d.doc FROM c_emails AS d WHERE d.f_teamId = 1';
  for (const sql of [
    `${list} AND d.f_createdAt IS NOT NULL ORDER BY d.f_createdAt DESC, d.seq DESC LIMIT 20`,
    `${list} AND (d.f_createdAt, d.seq) < (1, 2) ORDER BY d.f_createdAt DESC, d.seq DESC LIMIT 20`,
    `${list} AND d.f_createdAt >= 1 AND d.f_createdAt < 2 AND (d.f_createdAt, d.seq) < (1, 2) ORDER BY d.f_createdAt DESC, d.seq DESC LIMIT 20`,
    `${list} AND d.f_status = 2 AND (d.f_createdAt, d.seq) < (1, 2) ORDER BY d.f_createdAt DESC, d.seq DESC LIMIT 20`,
  ]) {
    t.match(plan(sql), /USING INDEX c_emails_[01]/, sql);
    t.notMatch(plan(sql), /TEMP B-TREE/, sql);
  }
  t.match(plan("SELECT rowid FROM s_emails WHERE s_emails MATCH '\"abc\"' AND rowid < 5 ORDER BY rowid DESC LIMIT 3"), /VIRTUAL TABLE INDEX/);
  t.notMatch(plan("SELECT rowid FROM s_emails WHERE s_emails MATCH '\"abc\"' AND rowid < 5 ORDER BY rowid DESC LIMIT 3"), /TEMP B-TREE/);
});
