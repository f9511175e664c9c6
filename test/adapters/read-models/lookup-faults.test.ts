/**
 * The lookup fields for filters, sorting and searches are compared with the documents: a change made outside of the
 * program is found.
 */
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openSqliteReadModels } from '../../../src/adapters/read-models/sqlite.js';
import { openDatabase, type Database } from '../../../src/adapters/sqlite/database.js';
import { defineWords } from '../../../src/adapters/read-models/search-index.js';
import type {
  CollectionSpec,
  Document,
  Inspection,
  LookupFault,
  ReadModels,
} from '../../../src/domain/ports/read-models.js';
import { anEmail, emailsSpec, put, timersSpec } from '../../contracts/read-models-fixtures.js';
import { filesHolding, temporaryDirectory } from '../../support/data-directory.js';

const spec: CollectionSpec = { ...emailsSpec, personal: ['text', 'subject'] };

const open = (t: Test, directory = temporaryDirectory(t)): Readonly<{ readModels: ReadModels; directory: string }> => {
  const readModels = openSqliteReadModels({ file: join(directory, 'documents.db') });
  t.teardown(() => readModels.close());
  return { readModels, directory };
};

const inspectionOf = async (readModels: ReadModels): Promise<Inspection> =>
  (await readModels.inspect('emails', [spec, timersSpec]))!;

const faultsIn = async (readModels: ReadModels): Promise<readonly LookupFault[]> => {
  const inspection = await inspectionOf(readModels);
  try {
    const faults: LookupFault[] = [];
    for await (const fault of inspection.lookupFaults()) faults.push(fault);
    return faults;
  } finally {
    await inspection.close();
  }
};

const emailAt = (seq: number) =>
  anEmail(seq, {
    teamId: `team-${seq % 3}`,
    cost: seq % 7 === 0 ? null : seq,
    ...(seq % 5 === 0 ? {} : { text: `Order ${seq} 注文 for anna${seq}@example.com`, subject: `Order ${seq}` }),
    ...(seq % 5 === 0 || seq % 2 === 0 ? {} : { terms: [`to:anna${seq}@example.com`, 'tag:a'] }),
  });

/** More than wait for the search index, some of them changed and removed again, and one far away in positions. */
const filled = async (readModels: ReadModels): Promise<void> => {
  const store = await readModels.projection('emails', [spec, timersSpec]);
  const emails = Array.from({ length: 1_400 }, (_, index) => emailAt(index + 1));
  await put(store, emails.slice(0, 1_300));
  await put(
    store,
    [
      ...emails.slice(1_300),
      { ...emailAt(3), teamId: 'team-9', text: 'another text' },
      emailAt(7),
      { ...emailAt(2 ** 40), text: 'far' },
    ],
    ['id-0011', 'id-0012'],
  );
  await put(store, [{ id: 't', seq: 1, position: 1, dueAt: '2026-01-01' }], [], 'timers');
};

void t.test(
  'what the program wrote has no fault, whatever waits, was changed or removed, and nothing is left of the look',
  async (t) => {
    const { readModels, directory } = open(t);
    await filled(readModels);
    const before = readdirSync(directory);
    t.same(await faultsIn(readModels), []);
    t.same(
      readdirSync(directory).filter((name) => !before.includes(name) && !name.endsWith('.lock')),
      [],
    );
    const rebuild = await readModels.rebuild('emails');
    await put(rebuild.store, [emailAt(1), emailAt(2)]);
    await rebuild.commit();
    t.same(await faultsIn(readModels), [], 'of a rebuilt generation');
  },
);

const changes: readonly Readonly<{
  title: string;
  change: (database: Database) => void;
  fault: Partial<LookupFault>;
}>[] = [
  {
    title: 'a column',
    change: (database) => database.prepare(`UPDATE c_emails SET f_cost = 77 WHERE id = 'id-0004'`).run(),
    fault: { id: 'id-0004', field: 'cost', in: 'column' },
  },
  {
    title: 'a column that was empty',
    change: (database) => database.prepare(`UPDATE c_emails SET f_cost = 1 WHERE id = 'id-0007'`).run(),
    fault: { id: 'id-0007', field: 'cost', in: 'column' },
  },
  {
    title: 'an index that is gone',
    change: (database) => database.exec('DROP INDEX c_emails_1'),
    fault: { collection: 'emails', field: 'teamId, status, createdAt', in: 'index' },
  },
  {
    title: 'personal text without a document',
    change: (database) => database.prepare(`INSERT INTO p_emails (seq, text) VALUES (999999, 'secret')`).run(),
    fault: { id: '(seq 999999)', in: 'column' },
  },
  {
    title: 'a document taken out of the search index',
    change: (database) => {
      defineWords(database);
      database.exec(
        `INSERT INTO s_emails (s_emails, rowid, grams)
         SELECT 'delete', p.seq, words_of(f_teamId, p.text) FROM p_emails AS p JOIN c_emails USING (seq) WHERE seq = 4`,
      );
    },
    fault: { id: 'id-0004', field: 'text', in: 'search index' },
  },
  {
    title: 'a number put into the search index for a document that has no such',
    change: (database) => database.exec(`INSERT INTO s_emails (rowid, grams) VALUES (4, '4711')`),
    fault: { id: 'id-0004', field: 'text', in: 'search index' },
  },
  {
    title: 'an entry for no document',
    change: (database) => database.exec(`INSERT INTO s_emails (rowid, grams) VALUES (77777, '4711')`),
    fault: { id: '(row 77777 of the search index)', in: 'search index' },
  },
  {
    title: 'a document that no longer waits for the search index',
    change: (database) => database.exec('DELETE FROM w_emails WHERE seq = 1099511627776'),
    fault: { id: 'id-1099511627776', field: 'text', in: 'search index' },
  },
];

void t.test('each that was changed with a shell is named: collection, document, field', async (t) => {
  const original = open(t);
  await filled(original.readModels);
  await original.readModels.close();
  for (const { title, change, fault } of changes) {
    const directory = temporaryDirectory(t);
    cpSync(original.directory, directory, { recursive: true });
    const { readModels } = open(t, directory);
    const database = openDatabase({ file: join(directory, 'documents.emails.1.db'), synchronous: 'normal' });
    change(database);
    database.close();
    const [first] = await faultsIn(readModels);
    t.match(first, { collection: 'emails', ...fault }, title);
    await readModels.close();
  }
});

void t.test('a text in a column is that of the document, so who changes it changes the document', async (t) => {
  const { readModels, directory } = open(t);
  await filled(readModels);
  const database = openDatabase({ file: join(directory, 'documents.emails.1.db'), synchronous: 'normal' });
  database.exec(`UPDATE c_emails SET f_status = 'other' WHERE id = 'id-0004'`);
  database.exec(`UPDATE c_emails SET f_status = NULL WHERE id = 'id-0005'`);
  database.exec(`UPDATE c_emails SET id = 'id-0006x' WHERE id = 'id-0006'`);
  database.exec(`UPDATE c_timers SET f_dueAt = '2027-01-01'`);
  database.close();
  const inspection = await inspectionOf(readModels);
  t.teardown(() => inspection.close());
  const seen = async (collection: string): Promise<Map<string, Document>> => {
    const documents = new Map<string, Document>();
    for await (const document of inspection.scan(collection, 'live')) documents.set(document.id, document);
    return documents;
  };
  const emails = await seen('emails');
  t.same(emails.get('id-0004'), { ...emailAt(4), position: 1, status: 'other' });
  const { status: _, ...without } = emailAt(5);
  t.same(emails.get('id-0005'), { ...without, position: 1 });
  t.same([emails.has('id-0006'), emails.get('id-0006x')], [false, { ...emailAt(6), position: 1, id: 'id-0006x' }]);
  t.same((await seen('timers')).get('t')?.['dueAt'], '2027-01-01');
});

void t.test('a look that is broken off leaves nothing behind', async (t) => {
  const { readModels, directory } = open(t);
  await filled(readModels);
  const database = openDatabase({ file: join(directory, 'documents.emails.1.db'), synchronous: 'normal' });
  database.exec(`UPDATE c_emails SET f_cost = 77`);
  database.close();
  const inspection = await inspectionOf(readModels);
  for await (const { field } of inspection.lookupFaults()) {
    t.equal(field, 'cost');
    break;
  }
  await inspection.close();
  const holding = filesHolding(directory, 'anna1@example.com').map((file) => file.replace(/-wal$/, ''));
  t.same(
    [...new Set(holding)].map((file) => file.slice(file.lastIndexOf('documents.'))),
    ['documents.emails.1.db'],
  );
});
