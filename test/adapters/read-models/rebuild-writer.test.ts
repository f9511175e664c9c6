/**
 * The thread that writes a new generation: what goes wrong there is known to whoever writes, and leaves the live side
 * alone.
 */
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { gramsOf } from '../../../src/adapters/read-models/grams.js';
import { openSqliteReadModels } from '../../../src/adapters/read-models/sqlite.js';
import { anEmail, emailsSpec, put } from '../../contracts/read-models-fixtures.js';
import { temporaryDirectory } from '../../support/data-directory.js';

const SAME_SEQ = { id: 'id-other' };

void t.test('a fault of a write rejects what is asked for next, and the rebuild is not put in place', async (t) => {
  const directory = temporaryDirectory(t);
  const readModels = openSqliteReadModels({ file: join(directory, 'documents.db') });
  t.teardown(() => readModels.close());
  const live = await readModels.projection('emails', [emailsSpec]);
  await put(live, [anEmail(1)]);
  const spoilt = async (): Promise<Awaited<ReturnType<typeof readModels.rebuild>>> => {
    const rebuild = await readModels.rebuild('emails');
    await put(rebuild.store, [anEmail(5)]);
    await put(rebuild.store, [anEmail(5, SAME_SEQ)]);
    return rebuild;
  };
  const first = await spoilt();
  await t.rejects(first.store.getMany('emails', ['id-0005']), /same seq/);
  await t.rejects(put(first.store, [anEmail(6)]), /same seq/);
  await first.discard();
  const second = await spoilt();
  await t.rejects(second.commit(), /same seq/);
  const third = await readModels.rebuild('emails');
  await t.rejects(put(third.store, [], [], 'nothing'), /no collection nothing/);
  await t.rejects(put(third.store, [anEmail(7, { cost: 1 }), { ...anEmail(8), status: { no: 'text' } }]), /status/);
  await third.discard();
  t.same(
    (await readModels.find('emails', { where: {}, limit: 9 })).map(({ id }) => id),
    ['id-0001'],
  );
  t.same(
    readdirSync(directory).filter((name) => /\.\d+\.db$/.test(name)),
    ['documents.emails.1.db'],
  );
});

void t.test(
  'more texts than are indexed in one flush, some changed or gone since: all is found, and nothing else',
  async (t) => {
    const readModels = openSqliteReadModels({ file: join(temporaryDirectory(t), 'documents.db') });
    t.teardown(() => readModels.close());
    await readModels.projection('emails', [emailsSpec]);
    const rebuild = await readModels.rebuild('emails');
    const COUNT = 52_000;
    for (let from = 1; from <= COUNT; from += 4_000) {
      await put(
        rebuild.store,
        Array.from({ length: 4_000 }, (_, index) =>
          anEmail(from + index, { text: `text${from + index}.`, teamId: `team-${(from + index) % 3}` }),
        ),
      );
    }
    // 3 is in the index by now, 51,999 still waits.
    await put(
      rebuild.store,
      [anEmail(3, { text: 'new3.', teamId: 'team-1' }), anEmail(51_999, { text: 'new51999.', teamId: 'team-0' })],
      ['id-0006', 'id-51998'],
    );
    await rebuild.commit();
    t.equal(await readModels.count('emails', { where: {} }, COUNT), COUNT - 2);
    const search = async (text: string): Promise<number[]> => {
      const found = await Promise.all(
        [0, 1, 2].map((team) =>
          readModels.find('emails', { where: { teamId: { eq: `team-${team}` } }, search: text, limit: 9 }),
        ),
      );
      return found.flat().map(({ seq }) => seq);
    };
    for (const [text, found] of [
      ['text5.', [5]],
      ['text3.', []],
      ['new3.', [3]],
      ['text6.', []],
      ['text51997.', [51_997]],
      ['text51998.', []],
      ['text51999.', []],
      ['new51999.', [51_999]],
    ] as const) {
      t.same(await search(text), found, text);
    }
  },
);

void t.test('the search index of a rebuild has exactly the numbers of its texts, whatever they hold', async (t) => {
  const readModels = openSqliteReadModels({ file: join(temporaryDirectory(t), 'documents.db') });
  t.teardown(() => readModels.close());
  await readModels.projection('emails', [emailsSpec]);
  const rebuild = await readModels.rebuild('emails');
  const long = Array.from({ length: 9_000 }, (_, n) => String.fromCodePoint(0x61 + (n % 23), 0x3400 + n)).join('');
  const texts = ['', 'a', 'ab', 'abc', 'a lone \ud83d half', '漢字 and \u{1f600}é', long];
  await put(
    rebuild.store,
    texts.map((text, index) => anEmail(index + 1, { text })),
  );
  await rebuild.commit();
  const inspection = (await readModels.inspect('emails', [emailsSpec]))!;
  for await (const fault of inspection.lookupFaults()) t.fail('a fault of the search index', fault);
  for (const [seq, text] of [
    [5, 'half'],
    [6, '漢'],
    [6, '\u{1f600}é'],
    [7, long.slice(-5)],
  ] as const) {
    const found = await readModels.find('emails', {
      where: { teamId: { eq: 'team-1' } },
      search: text,
      limit: 9,
    });
    t.same(
      found.map((one) => one.seq),
      [seq],
      text,
    );
  }
});

void t.test('a text has these numbers in every index that was ever written', (t) => {
  const grams = gramsOf('team-1', 'an é, 漢字 and \u{1f600}', ['recipient:ada@example.com', 'tag:x']);
  t.same(createHash('sha256').update(grams.join()).digest('hex').slice(0, 16), 'e068a42eacb8fb6b');
  t.same(gramsOf(7, '', []), []);
  t.end();
});
