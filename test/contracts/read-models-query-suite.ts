/** The contract of every store of read models: queries. */
import type { Test } from 'tap';
import type { Document, ReadModels, Query } from '../../src/domain/ports/read-models.js';
import { anEmail, emailsSpec, placesOf, put, type DocumentsHarness } from './read-models-fixtures.js';

const seqs = async (
  readModels: ReadModels,
  query: Omit<Query, 'limit' | 'where'> & Partial<Pick<Query, 'limit' | 'where'>>,
): Promise<number[]> => (await readModels.find('emails', { where: {}, limit: 100, ...query })).map(({ seq }) => seq);

export const documentsQuerySuite = (t: Test, harness: DocumentsHarness): void => {
  const fresh = placesOf(harness, 'query');
  const many = (count: number): number => (harness.isSlow === true ? count / 4 : count);
  const filled = async (t: Test, emails: readonly Document[]): Promise<ReadModels> => {
    const { readModels } = await fresh(t);
    const store = await readModels.projection('emails', [emailsSpec]);
    const many = Math.floor(emails.length * 0.9);
    // A store may treat what came last in another way than what came before.
    await put(store, emails.slice(0, many));
    await put(store, emails.slice(many));
    await harness.settle();
    return readModels;
  };

  void t.test('conditions narrow, and all of them hold', async (t) => {
    const readModels = await filled(t, [
      anEmail(1, { status: 'sent', cost: 1 }),
      anEmail(2, { status: 'failed', cost: 2.5 }),
      anEmail(3, { status: 'sent', cost: 10, teamId: 'team-2' }),
      anEmail(4, { status: 'sent' }),
      anEmail(5, { status: '7', cost: 7 }),
    ]);
    t.same(await seqs(readModels, { where: { status: { eq: 'sent' } } }), [4, 3, 1]);
    t.same(await seqs(readModels, { where: { status: { eq: 'sent' }, teamId: { eq: 'team-1' } } }), [4, 1]);
    t.same(await seqs(readModels, { where: { cost: { gte: 2.5 } } }), [5, 3, 2]);
    t.same(await seqs(readModels, { where: { cost: { gte: 1, lt: 7 } } }), [2, 1]);
    t.same(await seqs(readModels, { where: { cost: { lte: 7 } } }), [5, 2, 1], 'numbers are compared as numbers');
    t.same(await seqs(readModels, { where: { cost: { eq: 10 } } }), [3]);
    t.same(await seqs(readModels, { where: { status: { eq: '7' } } }), [5], 'a string of digits stays a string');
    t.same(
      await seqs(readModels, {
        where: { createdAt: { gte: '2026-01-01T00:00:00.002Z', lt: '2026-01-01T00:00:00.004Z' } },
      }),
      [3, 2],
    );
    t.same(await seqs(readModels, { where: { status: {} } }), [5, 4, 3, 2, 1]);
    t.same(await seqs(readModels, { where: { status: { eq: "' OR 1=1 --" } } }), []);
  });

  void t.test('the order is seq, newest first, or that of a field with ties by seq', async (t) => {
    const readModels = await filled(t, [
      anEmail(1, { cost: 5 }),
      anEmail(2, { cost: 1 }),
      anEmail(3, { cost: 5 }),
      anEmail(4),
      anEmail(5, { cost: -3 }),
    ]);
    t.same(await seqs(readModels, {}), [5, 4, 3, 2, 1]);
    t.same(await seqs(readModels, { sort: { field: 'seq', direction: 'asc' } }), [1, 2, 3, 4, 5]);
    t.same(
      await seqs(readModels, { sort: { field: 'cost', direction: 'asc' } }),
      [5, 2, 1, 3],
      'a document without the field has no place in the order',
    );
    t.same(await seqs(readModels, { sort: { field: 'cost', direction: 'desc' } }), [3, 1, 2, 5]);
  });

  void t.test('pages follow each other by place and by skipping, with the same result', async (t) => {
    const emails = Array.from({ length: 47 }, (_, index) =>
      anEmail(index + 1, {
        cost: index % 5,
        status: index % 3 === 0 ? 'sent' : 'queued',
        text: `mail number ${index}`,
      }),
    );
    const readModels = await filled(t, emails);
    const orders: readonly Omit<Query, 'limit'>[] = [
      { where: {} },
      { where: { status: { eq: 'queued' } }, sort: { field: 'seq', direction: 'asc' } },
      { where: { teamId: { eq: 'team-1' } }, sort: { field: 'cost', direction: 'asc' } },
      { where: { teamId: { eq: 'team-1' }, status: { eq: 'queued' } }, sort: { field: 'cost', direction: 'desc' } },
      { where: {}, sort: { field: 'createdAt', direction: 'desc' } },
      { where: { teamId: { eq: 'team-1' }, status: { eq: 'queued' } }, search: 'number' },
      { where: { teamId: { eq: 'team-1' } }, search: 'number' },
    ];
    for (const order of orders) {
      const whole = await seqs(readModels, order);
      t.ok(whole.length > 20);
      const byPlace: number[] = [];
      const bySkip: number[] = [];
      let page: readonly Document[] = [];
      do {
        const last = page.at(-1);
        const value = last?.[order.sort?.field ?? 'seq'];
        page = await readModels.find('emails', {
          ...order,
          limit: 4,
          ...(last !== undefined && (typeof value === 'string' || typeof value === 'number')
            ? { after: { value, seq: last.seq } }
            : {}),
        });
        byPlace.push(...page.map(({ seq }) => seq));
        bySkip.push(...(await seqs(readModels, { ...order, limit: 4, skip: bySkip.length })));
      } while (page.length > 0);
      t.same(byPlace, whole, JSON.stringify(order));
      t.same(bySkip, whole, JSON.stringify(order));
    }
  });

  void t.test('counting stops at its bound', async (t) => {
    const readModels = await filled(
      t,
      Array.from({ length: 30 }, (_, index) =>
        anEmail(index + 1, { status: index < 10 ? 'sent' : 'queued', text: index < 5 ? 'anna' : 'berta' }),
      ),
    );
    t.equal(await readModels.count('emails', { where: {} }, 100), 30);
    t.equal(await readModels.count('emails', { where: {} }, 12), 12);
    t.equal(await readModels.count('emails', { where: { status: { eq: 'sent' } } }, 100), 10);
    t.equal(await readModels.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'berta' }, 100), 25);
    t.equal(await readModels.count('emails', { where: { teamId: { eq: 'team-1' } }, search: 'berta' }, 7), 7);
    t.equal(
      await readModels.count(
        'emails',
        { where: { teamId: { eq: 'team-1' }, status: { eq: 'sent' } }, search: 'berta' },
        100,
      ),
      5,
    );
    t.equal(await readModels.count('emails', { where: { teamId: { eq: 'team-9' } }, search: 'berta' }, 100), 0);
  });

  void t.test('every character of a search is literal, and nothing is folded', async (t) => {
    const texts = [
      '100% "sure" o\'clock',
      '100x "sure',
      'a_b*c AND (d OR e) NEAR f',
      'axbxc',
      'ÄÖÜ ГОРОД naïve',
      'mail {text} : ^x - y + z',
      'back\\slash/path',
      '漢字テスト',
      '😀😃😄 smile',
      'line\nbreak\ttab',
      'text : marks',
    ];
    const readModels = await filled(
      t,
      texts.map((text, index) => anEmail(index + 1, { text })),
    );
    const found = (search: string): Promise<number[]> =>
      seqs(readModels, { where: { teamId: { eq: 'team-1' } }, search });
    const expected: readonly (readonly [string, readonly number[]])[] = [
      ['100%', [1]],
      ['"sure"', [1]],
      ['sure', [2, 1]],
      ['SURE', []],
      ["o'c", [1]],
      ['a_b', [3]],
      ['b*c AND (d', [3]],
      ['OR e) NEAR', [3]],
      ['ÄÖÜ', [5]],
      ['äöü', []],
      ['ГОРОД', [5]],
      ['naïve', [5]],
      ['naive', []],
      ['{text} : ^x', [6]],
      ['text : marks', [11]],
      ['- y +', [6]],
      ['back\\slash/', [7]],
      ['字テス', [8]],
      ['😀😃😄', [9]],
      ['e\nb', [10]],
      ['sure" OR "a', []],
      ['su\0re', []],
      ['   ', []],
      ['*'.repeat(200), []],
    ];
    for (const [search, hits] of expected) t.same(await found(search), hits, search);
  });

  void t.test('two characters are enough, at the end of a text too, and one where it is ideographic', async (t) => {
    const texts = [
      'ab',
      'xab',
      'abx',
      'b',
      'a',
      '漢',
      '漢字',
      'テスト 字',
      '가',
      'x "*',
      '',
      '😀',
      '😀😃',
      'é',
      'ab\ufffd',
    ];
    const many = Array.from({ length: 1_300 }, (_, index) =>
      anEmail(100 + index, { teamId: 'team-2', text: `${index} ab 漢` }),
    );
    const readModels = await filled(t, [
      ...texts.map((text, index) => anEmail(index + 1, { text })),
      ...many,
      anEmail(5_000, { text: 'late 字ab' }),
    ]);
    const where = { teamId: { eq: 'team-1' } };
    const expected: readonly (readonly [string, readonly number[]])[] = [
      ['ab', [5_000, 15, 3, 2, 1]],
      ['ba', []],
      ['a', []],
      ['', []],
      ['漢', [7, 6]],
      ['字', [5_000, 8, 7]],
      ['가', [9]],
      ['漢字', [7]],
      ['スト', [8]],
      [' 字', [5_000, 8]],
      ['"*', [10]],
      ['😀', []],
      ['😀😃', [13]],
      ['é', []],
      ['zz', []],
      ['b\ufffd', [15]],
      ['\ufffd\ufffd', []],
      ['b\u0001', []],
    ];
    for (const [search, hits] of expected) {
      t.same(await seqs(readModels, { where, search }), hits, search);
      t.equal(await readModels.count('emails', { where, search }, 100), hits.length, search);
    }
    t.equal(await readModels.count('emails', { where: { teamId: { eq: 'team-2' } }, search: 'ab' }, 5_000), 1_300);
    t.equal(await readModels.count('emails', { where: { teamId: { eq: 'team-2' } }, search: '漢' }, 5_000), 1_300);
    t.equal(await readModels.count('emails', { where: { teamId: { eq: 'team-2' } }, search: ' 1' }, 5_000), 0);
  });

  void t.test(
    'terms are found whole, all of those that are asked for, with filters and a search beside them',
    async (t) => {
      const emails = Array.from({ length: 4_000 }, (_, index) =>
        anEmail(index + 1, {
          teamId: index % 5 === 0 ? 'team-2' : 'team-1',
          status: index % 700 === 13 ? 'bounced' : 'sent',
          text: index % 11 === 0 ? '' : `anna${index % 40}@example.com`,
          ...(index % 13 === 0 ? {} : { terms: ['tag:all', `number:${index % 1_900}`, `order:"${index % 3}" ü`] }),
        }),
      );
      const readModels = await filled(t, emails);
      const tested: readonly Readonly<{ where?: Query['where']; terms: readonly string[]; search?: string }>[] = [
        { terms: ['tag:all'] },
        { terms: ['tag:al'] },
        { terms: ['number:17'] },
        { terms: ['number:17', 'order:"2" ü'] },
        { terms: ['order:"1" ü', 'tag:all'] },
        { terms: ['tag:all'], search: 'anna7@' },
        { terms: ['order:"1" ü'], search: 'a7' },
        { terms: ['number:17'], search: 'example' },
        { terms: ['tag:all'], where: { status: { eq: 'bounced' } } },
        { terms: ['order:"0" ü'], where: { status: { eq: 'sent' } }, search: 'anna1' },
        { terms: ['tag:none'], where: { status: { eq: 'sent' } } },
      ];
      for (const { where = {}, terms, search } of tested) {
        const scoped = { teamId: { eq: 'team-1' }, ...where };
        const expected = emails
          .filter((email) => {
            const own = (email['terms'] ?? []) as readonly string[];
            const text = email['text'] as string;
            return (
              holds(email, scoped) &&
              terms.every((term) => own.includes(term)) &&
              (search === undefined || text.includes(search))
            );
          })
          .map(({ seq }) => seq)
          .reverse();
        const query = { where: scoped, terms, ...(search === undefined ? {} : { search }) };
        const what = JSON.stringify(query);
        t.same(await seqs(readModels, { ...query, limit: 5_000 }), expected, what);
        t.equal(await readModels.count('emails', query, 5_000), expected.length, what);
        t.same(
          await seqs(readModels, { ...query, limit: 3, after: { value: 2_000, seq: 2_000 } }),
          expected.filter((seq) => seq < 2_000).slice(0, 3),
          what,
        );
        const page = await readModels.findCounted('emails', { ...query, limit: 4, skip: 2 }, 900);
        t.same(
          page.documents.map(({ seq }) => seq),
          expected.slice(2, 6),
          what,
        );
        t.ok(page.isLowerBound ? page.count <= expected.length : page.count === expected.length, what);
      }
      const [found] = await readModels.find('emails', {
        where: { teamId: { eq: 'team-1' } },
        terms: ['number:17'],
        limit: 1,
      });
      t.equal(found?.['terms'], undefined, 'a query answers neither text nor terms');
      await t.rejects(readModels.find('emails', { where: {}, terms: ['tag:all'], limit: 1 }), RangeError);
      for (const wrong of [
        { terms: ['a'] },
        { text: '', terms: ['a\u0001b'] },
        { text: '', terms: [] },
        { text: 'a\u0001b' },
        { text: '', terms: 'a' },
      ])
        await t.rejects(filled(t, [anEmail(1, wrong)]), TypeError);
    },
  );

  void t.test('terms that change, come or go are found as they are now, whether they waited or not', async (t) => {
    const { readModels } = await fresh(t);
    const store = await readModels.projection('emails', [emailsSpec]);
    const filling = Array.from({ length: 1_200 }, (_, index) =>
      anEmail(1_000 + index, { text: '', terms: ['tag:filling'] }),
    );
    const found = (term: string): Promise<number[]> =>
      seqs(readModels, { where: { teamId: { eq: 'team-1' } }, terms: [term] });
    for (const round of [0, 1]) {
      const [one, two, three] = [1, 2, 3].map((n) => round * 10 + n) as [number, number, number];
      await put(store, [
        anEmail(one, { text: 'anna', terms: ['tag:a'] }),
        anEmail(two, { text: 'two', terms: ['tag:a'] }),
        anEmail(three, { text: 'anna' }),
      ]);
      if (round === 1) await put(store, filling);
      await put(store, [
        anEmail(one, { text: 'anna', terms: ['tag:b'] }),
        anEmail(two, { text: 'two' }),
        anEmail(three, { text: 'anna', terms: ['tag:a'] }),
      ]);
      await harness.settle();
      t.same(await found('tag:a'), [three]);
      t.same(await found('tag:b'), [one]);
      const kept = await store.getMany('emails', [anEmail(one).id, anEmail(two).id]);
      t.same(kept.get(anEmail(one).id)?.['terms'], ['tag:b'], 'they come back as they were put');
      t.notOk('terms' in kept.get(anEmail(two).id)!);
      await put(store, [anEmail(three, { text: 'anna', teamId: 'team-2', terms: ['tag:a'] })], [anEmail(one).id]);
      await harness.settle();
      t.same([await found('tag:a'), await found('tag:b')], [[], []]);
      await put(store, [], [anEmail(three).id]);
    }
    t.equal(
      await readModels.count('emails', { where: { teamId: { eq: 'team-1' } }, terms: ['tag:filling'] }, 2_000),
      1_200,
    );
  });

  void t.test('one of several sets of conditions holds: their documents are one list in order', async (t) => {
    const emails = Array.from({ length: 300 }, (_, index) =>
      anEmail(index + 1, {
        status: ['sent', 'queued', 'failed', 'lost'][index % 4]!,
        cost: index % 7,
        text: `anna ${index % 3}`,
      }),
    );
    const readModels = await filled(t, emails);
    const where = { teamId: { eq: 'team-1' }, cost: { gte: 2 } };
    const cases: readonly (readonly [NonNullable<Query['anyOf']>, (email: Document) => boolean])[] = [
      [
        [{ status: { eq: 'failed' } }, { status: { eq: 'sent' } }, { status: { eq: 'unknown' } }],
        ({ status }) => status === 'failed' || status === 'sent',
      ],
      [
        [{ status: { eq: 'sent' }, cost: { gte: 2, lt: 3 } }, { status: { in: ['lost', 'failed', 'lost'] } }],
        ({ status, cost }) => status === 'lost' || status === 'failed' || (status === 'sent' && cost === 2),
      ],
      [[{ status: { eq: 'lost' } }], ({ status }) => status === 'lost'],
      // A condition on all documents holds together with a condition of one branch on the same field, also on the team.
      [
        [
          { status: { eq: 'sent' }, cost: { lt: 4 } },
          { status: { eq: 'lost' }, cost: { gte: 1, lt: 3 } },
        ],
        ({ status, cost }) => (status === 'sent' && Number(cost) < 4) || (status === 'lost' && cost === 2),
      ],
      [
        [{ teamId: { eq: 'team-2' } }, { status: { eq: 'lost' }, teamId: { in: ['team-1', 'team-3'] } }],
        ({ status }) => status === 'lost',
      ],
      [[{ status: { in: [] } }], () => false],
      [[], () => false],
    ];
    for (const [anyOf, meets] of cases) {
      const matching = emails.filter((email) => Number(email['cost']) >= 2 && meets(email));
      const what = JSON.stringify(anyOf);
      for (const direction of ['asc', 'desc'] as const) {
        const inOrder = [...matching].sort((a, b) => (direction === 'asc' ? a.seq - b.seq : b.seq - a.seq));
        const expected = inOrder.map(({ seq }) => seq);
        for (const field of ['createdAt', 'seq']) {
          const query = { where, anyOf, sort: { field, direction } };
          t.same(await seqs(readModels, { ...query, limit: 300 }), expected, what);
          t.same(await seqs(readModels, { ...query, limit: 5, skip: 17 }), expected.slice(17, 22), what);
          const last = inOrder[20];
          if (last === undefined) continue;
          const after = { value: field === 'seq' ? last.seq : String(last['createdAt']), seq: last.seq };
          t.same(await seqs(readModels, { ...query, limit: 5, after }), expected.slice(21, 26), what);
        }
      }
      for (const max of [3, 1_000, Number.MAX_SAFE_INTEGER])
        t.equal(await readModels.count('emails', { where, anyOf }, max), Math.min(max, matching.length), what);
      const found = matching
        .filter(({ text }) => text === 'anna 1')
        .map(({ seq }) => seq)
        .reverse();
      t.same(await seqs(readModels, { where, anyOf, search: 'anna 1', limit: 300 }), found, what);
      t.same(
        (await readModels.findCounted('emails', { where, anyOf, search: 'anna 1', limit: 2 }, 900)).count,
        found.length,
        what,
      );
    }
  });

  void t.test('a search keeps to its filters, many hits or few, many documents or few', async (t) => {
    const emails = Array.from({ length: 6_000 }, (_, index) =>
      anEmail(index + 1, {
        teamId: index % 3 === 0 ? 'team-2' : 'team-1',
        status: index % 1_000 === 17 ? 'complained' : index % 2 === 0 ? 'sent' : 'queued',
        text: `${index % 3 === 0 ? 'berta' : 'anna'}${index}@example.com order ${index % 50}`,
      }),
    );
    const readModels = await filled(t, emails);
    const expected = (query: Pick<Query, 'where'>, phrase: string): number[] =>
      emails
        .filter(
          (email) =>
            Object.entries(query.where).every(([field, { eq }]) => email[field] === eq) &&
            String(email['text']).includes(phrase),
        )
        .map(({ seq }) => seq)
        .reverse();
    const wheres: Query['where'][] = [
      { teamId: { eq: 'team-1' } },
      { teamId: { eq: 'team-2' } },
      { teamId: { eq: 'team-2' }, status: { eq: 'sent' } },
      { teamId: { eq: 'team-1' }, status: { eq: 'queued' } },
      { teamId: { eq: 'team-1' }, status: { eq: 'complained' } },
      { teamId: { eq: 'nobody' } },
    ];
    for (const where of wheres) {
      for (const phrase of ['example', 'anna', 'berta', 'order 7', 'anna17@', 'zzz']) {
        t.same(
          await seqs(readModels, { where, search: phrase, limit: 10_000 }),
          expected({ where }, phrase),
          `${JSON.stringify(where)} ${phrase}`,
        );
        t.same(
          await seqs(readModels, { where, search: phrase, limit: 3, after: { value: 3_000, seq: 3_000 } }),
          expected({ where }, phrase)
            .filter((seq) => seq < 3_000)
            .slice(0, 3),
        );
      }
    }
  });

  void t.test(
    'a search between moments, of a status or of a cost finds what a look at each document finds, however the moments lie',
    async (t) => {
      const count = many(20_000);
      const emails = mixedEmails(count);
      const { readModels } = await fresh(t);
      const store = await readModels.projection('emails', [emailsSpec]);
      // The last few of them, and some from their middle, are written one by one.
      const late = (index: number): boolean => index >= count - 50 || index % 900 === 3;
      await put(
        store,
        emails.filter((_, index) => !late(index)),
      );
      for (const email of emails.filter((_, index) => late(index))) await put(store, [email]);
      await harness.settle();
      const [from, to] =
        harness.isSlow === true
          ? ['2026-01-16T00:00:00.000Z', '2026-01-20T12:00:00.000Z']
          : ['2026-03-05T00:00:00.000Z', '2026-03-21T12:00:00.000Z'];
      const wheres: Query['where'][] = [
        { createdAt: { gte: from } },
        { createdAt: { gte: from, lt: to } },
        { createdAt: { lte: emails[many(6_200)]!['createdAt'] as string } },
        { createdAt: { eq: emails[many(7_000)]!['createdAt'] as string } },
        { status: { eq: 'sent' } },
        { status: { eq: 'bounced' } },
        { status: { eq: 'bounced' }, cost: { eq: 3 } },
        { cost: { eq: 3 }, createdAt: { gte: from, lte: to } },
        { status: { eq: 'sent' }, cost: { eq: 2 }, createdAt: { lt: to } },
        { status: { eq: 'bounced' }, createdAt: { gte: from } },
        { seq: { gte: many(50_000), lt: many(300_000) } },
        { seq: { lte: emails[many(9_000)]!.seq }, status: { eq: 'sent' } },
      ];
      for (const scope of [{ teamId: { eq: 'team-1' } }, { teamId: { eq: 'team-2' } }]) {
        const isMain = scope.teamId.eq === 'team-1';
        for (const where of wheres.slice(0, isMain ? undefined : 6).map((one) => ({ ...scope, ...one }))) {
          for (const search of isMain ? ['example', 'berta', 'order 7', 'apart'] : ['example', 'apart']) {
            const what = `${JSON.stringify(where)} ${search}`;
            const expected = emails
              .filter((email) => holds(email, where) && String(email['text']).includes(search))
              .map(({ seq }) => seq)
              .reverse();
            const newest = await seqs(readModels, { where, search, limit: 400 });
            t.equal(newest.join(), expected.slice(0, 400).join(), what);
            t.equal(await readModels.count('emails', { where, search }, 30_000), expected.length, what);
            const place = { value: many(300_000), seq: many(300_000) };
            t.same(
              await seqs(readModels, { where, search, limit: 7, skip: 2, after: place }),
              expected.filter((seq) => seq < place.seq).slice(2, 9),
              what,
            );
            for (const more of [{ skip: 5 }, { after: place }]) {
              const page = await readModels.findCounted('emails', { where, search, limit: 4, ...more }, 900);
              t.same(
                page.documents.map(({ seq }) => seq),
                'skip' in more ? expected.slice(5, 9) : expected.filter((seq) => seq < place.seq).slice(0, 4),
                what,
              );
              t.ok(
                page.isLowerBound ? page.count <= Math.min(900, expected.length) : page.count === expected.length,
                `${what}: ${page.count} of ${expected.length}`,
              );
              t.ok(page.isLowerBound || page.count < 900, 'a count that reached its bound says so');
              t.ok(
                page.count >= page.documents.length + ('skip' in more && page.documents.length > 0 ? 5 : 0),
                'what the page takes is counted',
              );
            }
          }
        }
      }
    },
  );

  void t.test('a document whose moment changes is found at the new one', async (t) => {
    const { readModels } = await fresh(t);
    const store = await readModels.projection('emails', [emailsSpec]);
    const emails = mixedEmails(many(6_000));
    await put(store, emails);
    const moved = [10, many(3_000), many(6_000) - 10].map((index): Document => ({
      ...emails[index]!,
      createdAt: '2031-01-01T00:00:00.000Z',
    }));
    await put(store, moved);
    await put(store, mixedEmails(many(8_000)).slice(many(6_000)));
    await harness.settle();
    const [team1, search] = [{ teamId: { eq: 'team-1' } }, 'example'];
    t.same(
      await seqs(readModels, { where: { ...team1, createdAt: { gte: '2030-01-01' } }, search }),
      moved.map(({ seq }) => seq).reverse(),
    );
    const elsewhere = mixedEmails(many(8_000)).filter(
      (email) =>
        email['teamId'] === 'team-1' &&
        typeof email['createdAt'] === 'string' &&
        !moved.some(({ seq }) => seq === email.seq),
    );
    const stayed = await seqs(readModels, {
      where: { ...team1, createdAt: { lt: '2030-01-01' } },
      search,
      limit: 30_000,
    });
    t.equal(
      stayed.join(),
      elsewhere
        .map(({ seq }) => seq)
        .reverse()
        .join(),
      'the others are where they were',
    );
    const { createdAt: _, ...timeless }: Document = moved[1]!;
    await put(store, [timeless as Document]);
    await harness.settle();
    t.same(await seqs(readModels, { where: { ...team1, createdAt: { gte: '2030-01-01' } }, search }), [
      moved[2]!.seq,
      moved[0]!.seq,
    ]);
    const unscoped = await seqs(readModels, {
      where: { ...team1, status: { eq: String(moved[1]!['status']) } },
      search,
      limit: 30_000,
    });
    t.ok(unscoped.includes(moved[1]!.seq), 'without a moment it is found by other filters');
  });

  void t.test('positions may lie anywhere up to 2^53: a search finds the newest first', async (t) => {
    const wide = [3, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 40 + 5, 2 ** 41, 2 ** 52 + 1, Number.MAX_SAFE_INTEGER];
    const emails = wide.flatMap((seq, index) => [
      {
        ...anEmail(seq, { text: `anna ${index}`, status: index % 2 === 0 ? 'sent' : 'queued' }),
        createdAt: '2026-01-01T00:00:00.000Z',
      },
      ...(seq < 2 ** 50
        ? [{ ...anEmail(seq + 5, { text: `anna ${index}`, teamId: 'team-2' }), createdAt: '2026-01-01T00:00:00.000Z' }]
        : []),
    ]);
    const many = Array.from({ length: 1_500 }, (_, index) =>
      anEmail(2 ** 50 + index, { teamId: 'team-3', text: 'filling' }),
    );
    const readModels = await filled(t, [...emails, ...many]);
    const newest = [...wide].reverse();
    const where = { teamId: { eq: 'team-1' } };
    t.same(await seqs(readModels, { where, search: 'anna' }), newest);
    t.same(await seqs(readModels, { where, search: 'anna', limit: 3 }), newest.slice(0, 3));
    t.same(
      await seqs(readModels, { where, search: 'anna', limit: 3, after: { value: 2 ** 41, seq: 2 ** 41 } }),
      newest.slice(3, 6),
    );
    t.same(await seqs(readModels, { where, sort: { field: 'createdAt', direction: 'desc' } }), newest);
    t.equal(await readModels.count('emails', { where: { teamId: { eq: 'team-2' } }, search: 'anna' }, 100), 6);
  });

  void t.test('a list of two filters finds every row, whichever of them is the rarer', async (t) => {
    const emails = Array.from({ length: 5_000 }, (_, index) =>
      anEmail(index + 1, { status: index % 5 === 0 ? 'sent' : 'queued', cost: index % 1_667 === 0 ? 9 : index % 3 }),
    );
    const readModels = await filled(t, emails);
    for (const [status, cost] of [
      ['sent', 9],
      ['queued', 9],
      ['sent', 1],
      ['queued', 2],
      ['lost', 1],
      ['sent', 77],
    ] as const) {
      const where = { teamId: { eq: 'team-1' }, status: { eq: status }, cost: { eq: cost } };
      const expected = emails
        .filter((email) => email['status'] === status && email['cost'] === cost)
        .sort((a, b) =>
          String(a['createdAt']) < String(b['createdAt'])
            ? 1
            : String(a['createdAt']) > String(b['createdAt'])
              ? -1
              : b.seq - a.seq,
        )
        .map(({ seq }) => seq);
      t.same(
        await seqs(readModels, { where, sort: { field: 'createdAt', direction: 'desc' }, limit: 5_000 }),
        expected,
      );
      t.equal(await readModels.count('emails', { where }, Number.MAX_SAFE_INTEGER), expected.length);
      t.equal(await readModels.count('emails', { where }, 3), Math.min(3, expected.length));
    }
  });
};

/**
 * Emails far apart in the log, of rising moments but for some that are out of order or have none; most statuses and
 * costs are common, some rare.
 */
const mixedEmails = (count: number): Document[] =>
  Array.from({ length: count }, (_none, index) => {
    const dayAt = index % 401 === 0 ? 300 - index / 100 : index / 200;
    const { createdAt: _, ...email } = anEmail(index + 1, {
      teamId: index % 7 === 0 ? 'team-2' : 'team-1',
      status: index % 9 === 3 ? 'bounced' : index % 3 === 0 ? 'queued' : 'sent',
      cost: index % 5 === 0 ? 3 : index % 2,
      text: `${index % 4 === 0 ? 'berta' : 'anna'}${index}@example.com order ${index % 50}${index % 16 === 3 ? ' apart' : ''}`,
    });
    const seq = (index + 1) * 23;
    const moment =
      index % 9_973 === 17
        ? {}
        : { createdAt: new Date(Date.UTC(2026, 0, 1) + Math.round(dayAt * 86_400_000)).toISOString() };
    return { ...email, ...moment, seq, position: seq, id: `id-${String(seq).padStart(8, '0')}` };
  });

const holds = (email: Document, where: Query['where']): boolean =>
  Object.entries(where).every(([field, { eq, gte, lt, lte }]) => {
    const value = email[field];
    if (typeof value !== 'string' && typeof value !== 'number') return false;
    return (
      (eq === undefined || value === eq) &&
      (gte === undefined || value >= gte) &&
      (lt === undefined || value < lt) &&
      (lte === undefined || value <= lte)
    );
  });
