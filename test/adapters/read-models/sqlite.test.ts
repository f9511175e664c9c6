/** Read models on SQLite: the contract, what the files hold and no longer hold, and queries that go by an index. */
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openSqliteReadModels } from '../../../src/adapters/read-models/sqlite.js';
import { openDatabase } from '../../../src/adapters/sqlite/database.js';
import { CheckpointMoved, type Document } from '../../../src/domain/ports/read-models.js';
import { anEmail, emailsSpec, put, timersSpec } from '../../contracts/read-models-fixtures.js';
import { documentsSuite } from '../../contracts/read-models-suite.js';
import { filesHolding, temporaryDirectory } from '../../support/data-directory.js';
import { seededRandom } from '../../support/random.js';
import { eventually } from '../../support/wait.js';

void t.test('the contract', async (t) => {
  const directory = temporaryDirectory(t);
  documentsSuite(t, {
    open: async (place) => openSqliteReadModels({ file: join(directory, `${place}.db`) }),
    settle: () => Promise.resolve(),
    close: () => Promise.resolve(),
  });
});

void t.test('a write that is refused has written nothing', async (t) => {
  const readModels = openSqliteReadModels({ file: join(temporaryDirectory(t), 'documents.db') });
  t.teardown(() => readModels.close());
  const store = await readModels.projection('emails', [emailsSpec]);
  const start = await store.checkpoint();
  await put(store, [anEmail(1)]);
  const now = await store.checkpoint();
  const writes = [
    { collection: 'emails', put: [{ ...anEmail(2), position: 8 }], remove: [{ id: 'id-0001', position: 8 }] },
  ];
  await t.rejects(store.write(writes, start, 9), CheckpointMoved);
  const sameSeq = { ...anEmail(1), id: 'another', position: 8 };
  await t.rejects(
    store.write(
      [{ collection: 'emails', put: [{ ...anEmail(3), position: 8 }, sameSeq], remove: [] }, ...writes],
      now,
      9,
    ),
  );
  t.same(await store.checkpoint(), now);
  t.same(
    (await readModels.find('emails', { where: {}, limit: 9 })).map(({ id }) => id),
    ['id-0001'],
  );
});

void t.test('files of a layout that is not ours are made anew', async (t) => {
  const directory = temporaryDirectory(t);
  const open = () => openSqliteReadModels({ file: join(directory, 'documents.db') });
  const before = open();
  await put(await before.projection('timers', [timersSpec]), [{ id: 't', seq: 1, position: 1 }], [], 'timers');
  await before.close();
  const catalog = openDatabase({ file: join(directory, 'documents.db'), synchronous: 'full' });
  catalog.prepare('UPDATE projections SET specs = ?').run(JSON.stringify([timersSpec]));
  catalog.close();
  const after = open();
  t.teardown(() => after.close());
  t.same(await (await after.projection('timers', [timersSpec])).checkpoint(), { position: 0, generation: 2 });
  t.equal(await after.get('timers', 't'), undefined);
});

void t.test('a rebuild leaves nothing of the old in any file, beside processes that have it open', async (t) => {
  const directory = temporaryDirectory(t);
  const open = () => openSqliteReadModels({ file: join(directory, 'documents.db') });
  const [writer, reader, rebuilder] = [open(), open(), open()];
  t.teardown(() => Promise.all([writer.close(), reader.close(), rebuilder.close()]));
  const live = await writer.projection('emails', [emailsSpec, timersSpec]);
  const emails = Array.from({ length: 500 }, (_, index) =>
    anEmail(index + 1, { text: `secretperson${index}@example.com`, to: 'topsecretname' }),
  );
  await put(live, emails);
  t.equal(await reader.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'secretperson' }, 1_000), 500);
  t.ok(filesHolding(directory, 'secretperson').length > 0);
  const rebuild = await rebuilder.rebuild('emails');
  await put(
    rebuild.store,
    emails.map(({ seq }) => anEmail(seq)),
  );
  await rebuild.commit();
  t.same(filesHolding(directory, 'secret'), []);
  t.equal(await reader.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'secretperson' }, 1_000), 0);
  await put(live, [anEmail(900)]);
  t.same(
    readdirSync(directory).filter((name) => /\.\d+\.db$/.test(name)),
    ['documents.emails.2.db'],
  );
});

void t.test('what a crashed rebuild left is removed by the next', async (t) => {
  const directory = temporaryDirectory(t);
  const readModels = openSqliteReadModels({ file: join(directory, 'documents.db') });
  t.teardown(() => readModels.close());
  await readModels.projection('emails', [emailsSpec]);
  openDatabase({ file: join(directory, 'documents.emails.7.db'), synchronous: 'off' }).close();
  openDatabase({ file: join(directory, 'documents.emails.x.7.db'), synchronous: 'off' }).close();
  const rebuild = await readModels.rebuild('emails');
  await rebuild.discard();
  t.same(
    readdirSync(directory).filter((name) => /\d\.db$/.test(name)),
    ['documents.emails.1.db', 'documents.emails.x.7.db'],
  );
});

void t.test('texts that change or go leave no entry in the search index, and keep it whole', async (t) => {
  const directory = temporaryDirectory(t);
  const readModels = openSqliteReadModels({ file: join(directory, 'documents.db') });
  const live = await readModels.projection('emails', [emailsSpec]);
  const text = (seq: number, round: number): string => `person${(seq * 31 + round * 17) % 997}@example${round}.com`;
  for (let round = 0; round < 4; round += 1) {
    for (let from = 0; from < 600; from += 50) {
      await put(
        live,
        Array.from({ length: 50 }, (_, index) =>
          anEmail(from + index + 1, { teamId: `team-${(from + index) % 3}`, text: text(from + index, round) }),
        ),
        round === 2 ? [`id-${String(from + 7).padStart(4, '0')}`] : [],
      );
    }
  }
  for (let seq = 1; seq <= 600; seq += 1) await put(live, [anEmail(seq, { teamId: 'team-1' })]);
  await readModels.close();
  const database = openDatabase({ file: join(directory, 'documents.emails.1.db'), synchronous: 'normal' });
  t.teardown(() => void database.close());
  t.doesNotThrow(() => database.exec("INSERT INTO s_emails (s_emails) VALUES ('integrity-check')"));
  database.exec("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 's_emails', 'row')");
  t.same(database.prepare('SELECT term FROM temp.terms').pluck().all(), [], 'no trigram of any text is left');
});

void t.test('what is personal of an erased document is in no file, while others are written beside it', async (t) => {
  const directory = temporaryDirectory(t);
  const random = seededRandom(7);
  const readModels = openSqliteReadModels({ file: join(directory, 'documents.db') });
  t.teardown(() => readModels.close());
  const live = await readModels.projection('emails', [{ ...emailsSpec, personal: ['subject', 'text'] }]);
  const [all, oldest] = [4_000, 2_000];
  const email = (seq: number, progress: string, isErased = false): Document =>
    anEmail(seq, {
      progress,
      ...(isErased
        ? {}
        : { subject: `for Mark${seq}End`, text: `for Mark${seq}End\nperson@mark${seq}end.example Mark${seq}End` }),
    });
  // Documents grow and shrink while they are young, so that their pages are rebuilt again and again.
  for (let seq = 1; seq <= all; seq += 8) {
    const young = Array.from({ length: 8 }, (_, index) => email(seq + index, 'queued'));
    const older = [8, 16, 32].map((back) => seq - back).filter((known) => known > 0);
    const changed = older.flatMap((from) =>
      Array.from({ length: 8 }, (_, index) => email(from + index, 'x'.repeat(random.between(0, 900)))),
    );
    await put(live, [...changed, ...young]);
  }
  const marks = (): ReadonlySet<number> =>
    new Set(
      readdirSync(directory).flatMap((name) =>
        [
          ...readFileSync(join(directory, name))
            .toString('latin1')
            .matchAll(/mark(\d+)end/gi),
        ].map(([, seq]) => Number(seq)),
      ),
    );
  t.equal(
    (await readModels.find('emails', { where: { teamId: { eq: 'team-1' } }, search: 'mark77end', limit: 9 })).length,
    1,
  );
  t.match(await readModels.get('emails', 'id-0077'), { subject: 'for Mark77End', text: undefined });
  t.equal(marks().size, all);

  for (let seq = 1; seq <= oldest; seq += 2) {
    const { position } = await live.checkpoint();
    const beside = email(all + position, 'queued');
    await put(live, [email(seq, 'archived', true), beside], [`id-${String(seq + 1).padStart(4, '0')}`]);
  }
  const left = (): readonly number[] => [...marks()].filter((seq) => seq <= oldest);
  await eventually('the write-ahead log is cut', () => left().length === 0).catch(() => {});
  t.same(left(), [], 'nothing of those that were erased');
  t.ok(marks().has(oldest + 1), 'the others are there');
  t.same(await readModels.find('emails', { where: { teamId: { eq: 'team-1' } }, search: 'mark77end', limit: 9 }), []);
  t.notMatch(await readModels.get('emails', 'id-0077'), { subject: String });
});

void t.test(
  'what is personal of a document that was given another text in between is in no file, once it is erased',
  async (t) => {
    const directory = temporaryDirectory(t);
    const random = seededRandom(11);
    const readModels = openSqliteReadModels({ file: join(directory, 'documents.db') });
    t.teardown(() => readModels.close());
    const live = await readModels.projection('emails', [{ ...emailsSpec, personal: ['subject', 'text'] }]);
    const all = 1_200;
    const email = (seq: number, word?: string): Document => {
      if (word === undefined) return anEmail(seq);
      const subject = `${word}${seq}end ${'y'.repeat(random.between(0, 400))}`;
      return anEmail(seq, { subject, text: `${subject}\n${word}${seq}end@example.org` });
    };
    const seqs = Array.from({ length: all }, (_, index) => index + 1);
    const putAll = async (some: readonly number[], word?: string): Promise<void> => {
      for (let from = 0; from < some.length; from += 40)
        await put(
          live,
          some.slice(from, from + 40).map((seq) => email(seq, word)),
        );
    };
    // Every third has its first text when newer ones have theirs, and every fifth keeps the first that it has.
    const isLate = (seq: number): boolean => seq % 3 === 0;
    const changing = seqs.filter((seq) => seq % 5 !== 0);
    for (let from = 0; from < all; from += 40)
      await put(
        live,
        seqs.slice(from, from + 40).map((seq) => (isLate(seq) ? email(seq) : email(seq, 'first'))),
      );
    await putAll(seqs.filter(isLate), 'first');
    for (const word of ['second', 'third']) await putAll(changing, word);
    for (const [seq, word] of [
      [15, 'first'],
      [16, 'third'],
      [18, 'third'],
    ] as const) {
      const id = `id-00${seq}`;
      t.match(await readModels.get('emails', id), { subject: `${word}${seq}end ` });
      t.match((await live.getMany('emails', [id])).get(id), {
        subject: `${word}${seq}end `,
        text: `${word}${seq}end@example.org`,
      });
      const found = (search: string) =>
        readModels.find('emails', { where: { teamId: { eq: 'team-1' } }, search, limit: 9 });
      t.match(await found(`${word}${seq}end`), [{ id, subject: `${word}${seq}end ` }]);
      t.same(await found(`second${seq}end`), []);
    }
    const inspection = (await readModels.inspect('emails', [{ ...emailsSpec, personal: ['subject', 'text'] }]))!;
    for await (const fault of inspection.lookupFaults()) t.fail('a lookup differs from its document', { fault });
    await inspection.close();

    await putAll(seqs);
    const left = (): readonly string[] =>
      readdirSync(directory).flatMap((name) => [
        ...(readFileSync(join(directory, name), 'latin1').match(/(first|second|third)\d+end|y{40}/g) ?? []),
      ]);
    await eventually('the write-ahead log is cut', () => left().length === 0).catch(() => {});
    t.same(left(), []);
    t.notMatch(await readModels.get('emails', 'id-0016'), { subject: String });
  },
);

void t.test('every query of a list goes along an index, without sorting', async (t) => {
  const directory = temporaryDirectory(t);
  const readModels = openSqliteReadModels({ file: join(directory, 'documents.db') });
  await readModels.projection('emails', [emailsSpec]);
  await readModels.close();
  const database = openDatabase({ file: join(directory, 'documents.emails.1.db'), synchronous: 'normal' });
  t.teardown(() => void database.close());
  const plan = (sql: string): string =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => (row as { detail: string }).detail)
      .join('; ');
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
  const search = plan(
    `SELECT seq, (SELECT d.text FROM c_emails AS d WHERE d.seq = hit.seq) FROM (SELECT seq FROM w_emails WHERE seq < 5
     UNION ALL SELECT rowid FROM s_emails WHERE s_emails MATCH '1 AND 2' AND rowid < 5) AS hit ORDER BY seq DESC`,
  );
  t.match(search, /MERGE .*VIRTUAL TABLE INDEX/);
  t.notMatch(search, /TEMP B-TREE/);
});

void t.test('counting gives up where few of many hits pass, yet the page is whole', async (t) => {
  const directory = temporaryDirectory(t);
  const readModels = openSqliteReadModels({ file: join(directory, 'documents.db') });
  t.teardown(() => readModels.close());
  const live = await readModels.projection('emails', [emailsSpec]);
  const emails = Array.from({ length: 40_000 }, (_, index) =>
    anEmail(index + 1, {
      createdAt: new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString(),
      status: index % 10 === 0 ? 'bounced' : 'sent',
      text: index % 500 === 0 || index % 10 > 4 ? 'a common word' : 'another',
    }),
  );
  await put(live, emails);
  const both = emails
    .filter((_, index) => index % 500 === 0)
    .map(({ seq }) => seq)
    .reverse();
  const query = { where: { teamId: { eq: 'team-1' }, status: { eq: 'bounced' } }, search: 'common', limit: 10 };
  const first = await readModels.findCounted('emails', query, 1_000);
  t.same(
    first.documents.map(({ seq }) => seq),
    both.slice(0, 10),
  );
  t.same(await readModels.findCounted('emails', query, 1_000), first, 'the same again');
  t.ok(first.isLowerBound && first.count >= 10 && first.count < both.length, `${first.count} of ${both.length}`);
  const last = await readModels.findCounted('emails', { ...query, limit: 1_000 }, 1_000);
  t.same(
    [last.documents.map(({ seq }) => seq), last.count, last.isLowerBound],
    [both, both.length, false],
    'a page that needs them finds them all',
  );
});

const DAMAGED_EMAILS = 300;
const garbage = (sizeBytes: number): Buffer => Buffer.alloc(sizeBytes, 'no database at all ');

/** Overwrites all but the first page, while others have the file open. */
const overwritePages = (file: string): void => {
  const handle = openSync(file, 'r+');
  writeSync(handle, garbage(readFileSync(file).byteLength - 4_096), 0, undefined, 4_096);
  closeSync(handle);
};

void t.test('a file that is damaged is moved aside, named, and the projection begins anew', async (t) => {
  const damages: Readonly<Record<string, (file: string) => void>> = {
    'no database': (file) => writeFileSync(file, garbage(50_000)),
    'a page overwritten': overwritePages,
    'cut to nothing': (file) => truncateSync(file, 0),
    missing: (file) => rmSync(file),
  };
  for (const [name, damage] of Object.entries(damages)) {
    const directory = temporaryDirectory(t);
    const file = join(directory, 'documents.db');
    const first = openSqliteReadModels({ file });
    const filled = await first.projection('emails', [emailsSpec]);
    await put(
      filled,
      Array.from({ length: DAMAGED_EMAILS }, (_, index) => anEmail(index)),
    );
    await first.close();
    damage(join(directory, 'documents.emails.1.db'));
    const told: (readonly [string, string])[] = [];
    const readModels = openSqliteReadModels({ file, onDamaged: (...both) => void told.push(both) });
    t.teardown(() => readModels.close());
    const store = await readModels.projection('emails', [emailsSpec]);
    t.same(await readModels.find('emails', { where: {}, limit: 500 }), [], `${name}: nothing is left`);
    t.match(await store.checkpoint(), { position: 0, generation: 2 }, name);
    await put(store, [anEmail(1)]);
    t.equal((await readModels.find('emails', { where: {}, limit: 9 })).length, 1, name);
    const [was, is] = told[0] ?? [];
    t.equal(told.length, 1, name);
    t.equal(was, join(directory, 'documents.emails.1.db'));
    t.equal(is, `${was}.damaged`);
    t.equal(existsSync(is!), name !== 'missing', name);
    await readModels.close();
    await openSqliteReadModels({ file }).close();
    t.same(
      readdirSync(directory).filter((entry) => entry.includes('damaged')),
      [],
      'the next start deletes it',
    );
  }
});

void t.test(
  'damage that is met while all runs: the writer is told that the checkpoint moved, and goes on',
  async (t) => {
    const directory = temporaryDirectory(t);
    const file = join(directory, 'documents.db');
    const first = openSqliteReadModels({ file });
    await put(
      await first.projection('emails', [emailsSpec]),
      Array.from({ length: DAMAGED_EMAILS }, (_, index) => anEmail(index)),
    );
    await first.close();
    const readModels = openSqliteReadModels({ file });
    const another = openSqliteReadModels({ file });
    t.teardown(async () => {
      await another.close();
      await readModels.close();
    });
    const store = await readModels.projection('emails', [emailsSpec]);
    const follower = await another.projection('emails', [emailsSpec]);
    const from = await store.checkpoint();
    overwritePages(join(directory, 'documents.emails.1.db'));
    await t.rejects(
      store.write([{ collection: 'emails', put: [{ ...anEmail(400), position: 900 }], remove: [] }], from, 900),
      CheckpointMoved,
    );
    t.match(await store.checkpoint(), { position: 0, generation: 2 });
    t.match(await follower.checkpoint(), { position: 0, generation: 2 }, 'another process goes on there too');
  },
);

void t.test('a damaged catalog: all read models begin anew, and the files of before are gone', async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'documents.db');
  const first = openSqliteReadModels({ file });
  await put(await first.projection('emails', [emailsSpec]), [anEmail(1)]);
  await first.close();
  writeFileSync(file, garbage(50_000));
  const readModels = openSqliteReadModels({ file });
  t.teardown(() => readModels.close());
  t.match(await (await readModels.projection('emails', [emailsSpec])).checkpoint(), { position: 0 });
  t.same(await readModels.find('emails', { where: {}, limit: 9 }), []);
  t.ok(existsSync(`${file}.damaged`));
});

void t.test(
  'what another process, or a write that failed, has left is not taken for what was written here',
  async (t) => {
    const directory = temporaryDirectory(t);
    const open = () => openSqliteReadModels({ file: join(directory, 'documents.db') });
    const [one, other] = [open(), open()];
    t.teardown(() => Promise.all([one.close(), other.close()]));
    const specs = [{ ...emailsSpec, personal: ['text', 'subject'] }];
    const [mine, theirs] = [await one.projection('emails', specs), await other.projection('emails', specs)];
    const write = async (store: typeof mine, position: number, status: string, text: string): Promise<void> =>
      store.write(
        [{ collection: 'emails', put: [anEmail(1, { status, text, position })], remove: [] }],
        await store.checkpoint(),
        position,
      );
    const found = async (): Promise<unknown> => [
      await one.find('emails', { where: { status: { eq: 'queued' } }, limit: 9 }).then((rows) => rows.length),
      ...(await Promise.all(
        ['first', 'second', 'third'].map(async (search) => {
          const where = { teamId: { eq: anEmail(1)['teamId'] as string } };
          return (await one.find('emails', { where, search, limit: 9 })).length;
        }),
      )),
    ];
    await write(mine, 2, 'queued', 'the first');
    await write(theirs, 3, 'sent', 'the second');
    await write(mine, 4, 'queued', 'the first');
    t.same(await found(), [1, 1, 0, 0]);
    const refused = { ...anEmail(1), id: 'another', position: 5 };
    await t.rejects(
      mine.write(
        [
          {
            collection: 'emails',
            put: [anEmail(1, { status: 'sent', text: 'the third', position: 5 }), refused],
            remove: [],
          },
        ],
        await mine.checkpoint(),
        5,
      ),
    );
    await write(mine, 5, 'sent', 'the third');
    t.same(await found(), [0, 0, 0, 1]);
    const inspection = (await one.inspect('emails', specs))!;
    for await (const fault of inspection.lookupFaults()) t.fail('a fault', fault);
    await inspection.close();
  },
);

void t.test('a document comes back as it was, whatever its declared fields hold', async (t) => {
  const readModels = openSqliteReadModels({ file: join(temporaryDirectory(t), 'documents.db') });
  t.teardown(() => readModels.close());
  const values = [
    null,
    '',
    'plain',
    `"'\\{},:\n\u0001é😀`,
    'half \ud800 of one',
    'a\u0000b',
    '1',
    0,
    -1,
    0.1 + 0.2,
    2 ** 53,
    1e300,
  ];
  const spec = { name: 'odd', version: 1, fields: ['one', 'other'], indexes: [['one']] };
  const store = await readModels.projection('odd', [spec]);
  const documents: Document[] = [
    { id: 'only-an-id', seq: 1, position: 1 },
    { id: `"odd" \ud800 id`, seq: 2, position: 2, one: 'a', rest: { one: 'b', list: [] } },
    ...values.flatMap((one, index) =>
      values.map((other, at) => ({
        id: `id-${index}-${at}`,
        seq: 100 * index + at + 3,
        position: 3,
        one,
        rest: at,
        other,
      })),
    ),
  ];
  await store.write([{ collection: 'odd', put: documents, remove: [] }], await store.checkpoint(), 3);
  const all = await readModels.find('odd', { where: {}, limit: 1_000 });
  t.same(new Map(all.map((document) => [document.seq, document])), new Map(documents.map((one) => [one.seq, one])));
  const whole = await store.getMany(
    'odd',
    documents.map(({ id }) => id),
  );
  for (const document of documents.slice(2)) t.same(whole.get(document.id), document);
  t.same(await readModels.get('odd', 'only-an-id'), documents[0]);
});
